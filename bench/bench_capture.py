# SPDX-License-Identifier: Apache-2.0
"""What the capture of training health costs: health_step.py, below `footplate run`, on steps of
about 1 ms and 50 ms with the default settings, and on 10 M parameters with a sample at every step.

The share is the time spent in the capture, per step; the difference to blocks without it is a note,
because it is below the noise of a busy machine. Peers run in the same process."""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import peers
from harness import Context, Line, Result

GOALS = {"short": 2.0, "long": 0.5}  # % of the loop
PEERS = {"anomaly": "autograd anomaly mode", "wandb": "wandb.watch", "smdebug": "smdebug hook"}
Taken = dict[str, list[float]]


def watchers(context: Context) -> pathlib.Path:
    return context.venv.with_name(context.venv.name + "-watchers")


def train(context: Context, model: str, rounds: int, *options: str) -> Taken:
    with tempfile.TemporaryDirectory(dir=context.scratch) as folder:
        out = pathlib.Path(folder) / "steps.json"
        script = context.tool_source("health_step.py")
        command = [context.footplate, "run", "--quiet", "--no-rules", "--dir", folder, *options]
        command += ["--", watchers(context) / "bin/python", script, model, rounds, out]
        hooks = context.build / "python"
        env = os.environ | {
            "FOOTPLATE_HOOKS": str(hooks / "footplate" / "_bootstrap"),
            "PYTHONPATH": str(hooks),
            "WANDB_SILENT": "true",
        }
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, env=env, cwd=folder
        )
        if done.returncode or not out.exists():
            raise RuntimeError(done.stderr.strip()[-400:])
        taken: Taken = json.loads(out.read_text())
        return taken


def line(what: str, taken: Taken, goal: float | None) -> Line:
    plain, spent = statistics.median(taken["plain"]), statistics.median(taken["spent"])
    added = [a - b for a, b in zip(taken["health"], taken["plain"], strict=True)]
    share = 100 * spent / plain
    others = {kind: 100 * (statistics.median(taken[kind]) - plain) / plain for kind in PEERS}
    shown = ", ".join(f"{PEERS[kind]} {value:.1f} %" for kind, value in others.items())
    note = (
        f"a step takes {plain / 1e3:.2f} ms; difference of blocks "
        f"{100 * statistics.median(added) / plain:+.2f} %; a sample takes "
        f"{taken['sample_us'][0]:.0f} us, one in {taken['interval'][0]:.0f} steps; peers: {shown}"
    )
    return Line(
        what,
        share,
        "%",
        f"at most {goal} %" if goal else "",
        share <= goal if goal else None,
        PEERS["anomaly"],
        others["anomaly"],
        others["anomaly"] / share if share > 0 else None,
        note,
    )


def run(context: Context, result: Result) -> None:
    peers.ensure_watchers(watchers(context))
    rounds = 5 if context.quick else 15
    for model, goal in GOALS.items():
        taken = train(context, model, rounds if model == "short" else max(rounds // 3, 2))
        step = statistics.median(taken["plain"]) / 1e3
        result.lines.append(line(f"default capture, steps of {step:.1f} ms", taken, goal))
        result.detail[model] = taken
    taken = train(context, "large", 2, "--health", "on", "--health-every", "1")
    result.lines.append(line("every step, 10 M parameters", taken, None))
    result.detail["large"] = taken
