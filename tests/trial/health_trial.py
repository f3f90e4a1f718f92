#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the programs of health_scenes.py and checks what Footplate says of their training.

    health_trial.py                       all scenes with seed 0, healthy ones with 20 further seeds
    health_trial.py --only p08,h1         some scenes
    health_trial.py --seeds 0             with seed 0 alone

A sick program must have the findings that its scene names, the first at its step and module, and
nothing critical besides. What follows from the first names it as its cause. A healthy program must
have no finding but information."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LIMIT_S = 180
FURTHER = range(21, 41)  # seeds with which no threshold was chosen


@dataclass(frozen=True)
class Want:
    """The first and last step that findings of `rules` may name, and the module of the first one as
    a regular expression."""

    rules: tuple[str, ...]  # all of them
    follow: tuple[str, ...] = ()  # explained by the first one, where they are found
    steps: tuple[int, int] | None = None
    module: str = ""


SICK = {
    "p01": Want(
        ("VanishingGradient",),
        follow=("UpdateTooSmall", "LossNotDecreasing"),
        module=r"^[0246]\.weight",  # the gradient fades towards the input
    ),
    "p02": Want(
        ("NonFinite",),
        follow=("LossSpike", "GradientSpike", "UpdateTooLarge", "DeadRelu", "ZeroGradient"),
        steps=(3, 4),
        module=r"^2",
    ),
    "p03": Want(
        ("DeadRelu",),
        follow=("ZeroGradient", "LossNotDecreasing", "UpdateTooSmall"),
        module=r"^[135]",
    ),
    "p04": Want(("SaturatedActivation",), module=r"^[135]"),
    "p05": Want(
        ("PoorWeightInitialization",),
        follow=("VanishingGradient", "UpdateTooSmall", "LossNotDecreasing"),
        steps=(0, 2),
        module=r"^15$",  # the last activation
    ),
    "p06": Want(("UpdateTooSmall",), follow=("LossNotDecreasing",), module=r"^[0246]\.weight"),
    "p07": Want(("NoGradient",), follow=("LossNotDecreasing",), steps=(0, 0)),
    "p08": Want(("NonFinite",), steps=(150, 150), module=r"^2"),
    "p08b": Want(("NonFinite",), steps=(150, 150), module=r"^0\.\.3"),
    "p09": Want(("LossSpike", "GradientSpike"), steps=(300, 300)),
    "p10": Want(("Overfit",), steps=(49, 49)),
    "p11": Want(("LossNotDecreasing",)),
    "p12": Want(("DuplicatedData",)),
    "p13": Want(("LossScale",), steps=(100, 120)),
    "p14 bit": Want(("RankDivergence",), steps=(50, 60), module=r"^2\.weight"),
    "p14 noise": Want(("RankDivergence",), steps=(50, 60), module=r"^2\.weight"),
    "p14 scale": Want(("RankDivergence",), steps=(50, 60), module=r"^6\.bias"),
    "p15": Want(("LowPrecisionUpdate",), follow=("LossNotDecreasing",), module=r"^[0246]\.weight"),
}
HEALTHY = (*(f"h{i}" for i in range(1, 10)), "p13h")


def issues_of(footplate: Path, scene: str, seed: int, folder: Path) -> list[dict[str, Any]]:
    """The issues about the training; RuntimeError when it could not be recorded."""
    name, *words = scene.split()
    job = [sys.executable, str(HERE / "health_scenes.py"), name, str(seed), *words]
    quick = ["--no-report", "--no-rules", "--quiet", "--dir", str(folder)]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FOOTPLATE_", "PYTHONPATH"))}
    env["OMP_NUM_THREADS"] = "1"
    done = subprocess.run(
        [str(footplate), "run", *quick, "--", *job],
        capture_output=True, text=True, timeout=LIMIT_S, env=env, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {done.stderr.strip()[-300:]}")
    (run,) = folder.glob("*/run.json")
    check = [str(footplate), "check", str(run.parent), "--json"]
    said = subprocess.run(check, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return [v for v in json.loads(said.stdout) if v.get("health") and v["state"] == "issue"]


def wrong_of(scene: str, issues: list[dict[str, Any]]) -> str:
    """What is wrong with these findings; "": nothing."""
    if scene not in SICK:
        loud = [v for v in issues if v["severity"] != "info"]
        return f"{loud[0]['rule']}: {loud[0]['findings'][0]['message']}" if loud else ""
    want = SICK[scene]
    by = {v["rule"]: v for v in issues}
    for rule in want.rules:
        if rule not in by:
            return f"no {rule}, but {', '.join(by) or 'nothing'}"
        step = by[rule]["findings"][0].get("step")
        if want.steps and not (step is not None and want.steps[0] <= step <= want.steps[1]):
            return f"{rule} at step {step}, not {want.steps[0]} to {want.steps[1]}"
    first = want.rules[0]
    module = by[first]["findings"][0].get("module") or ""
    if want.module and not re.search(want.module, module):
        return f"{first} in {module!r}, not {want.module!r}"
    for rule in want.follow:
        if rule in by and first not in by[rule]["findings"][0].get("explained_by", ()):
            return f"{rule} is not explained by {first}"
    critical = {v["rule"] for v in issues if v["severity"] == "critical"}
    others = sorted(critical - {*want.rules, *want.follow})
    return f"critical: {', '.join(others)}" if others else ""


# On a busy machine torch aborts now and then when a rank ends, without hooks as with them, because
# a thread of its own still runs. Such a run is tried again.
ABORTED = "terminate called without an active exception"


def try_scene(footplate: Path, scene: str, seed: int, tries: int = 4) -> tuple[str, list[str]]:
    """(what is wrong, names of the findings)"""
    with tempfile.TemporaryDirectory(prefix="footplate-health-") as folder:
        try:
            issues = issues_of(footplate, scene, seed, Path(folder))
        except (RuntimeError, ValueError, subprocess.SubprocessError) as error:
            if ABORTED in str(error) and tries > 1:
                return try_scene(footplate, scene, seed, tries - 1)
            return str(error), []
    return wrong_of(scene, issues), [v["rule"] for v in issues]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--footplate", type=Path, default=HERE.parents[1] / "build/footplate")
    parser.add_argument("--only", help="scenes, with commas between")
    parser.add_argument("--seeds", help="seeds, with commas between, for all scenes")
    args = parser.parse_args()
    only = args.only.split(",") if args.only else [*SICK, *HEALTHY]
    given = [int(s) for s in args.seeds.split(",")] if args.seeds else None
    tried = wrong = 0
    for scene in only:
        for seed in given or ([0] if scene in SICK else [0, *FURTHER]):
            begin = time.monotonic()
            why, found = try_scene(args.footplate, scene, seed)
            tried += 1
            wrong += bool(why)
            took = time.monotonic() - begin
            print(
                f"{scene:10}seed {seed:<4}{'WRONG' if why else 'ok':7}{took:5.1f} s  "
                f"{why or ', '.join(found)}",
                flush=True,
            )
    print(f"{tried - wrong} of {tried} as wanted")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
