# SPDX-License-Identifier: Apache-2.0
"""Rules over real PyTorch programs: each has one trouble, and that is found and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from talk import SCRIPTS, need

SCRIPT = SCRIPTS / "torch_troubles.py"
# Steps of milliseconds jitter on a busy machine, memory is read once a second, and what else the
# machine does is not this test's.
USUAL = (
    "StepOutlier.min_lost=20",
    "HostMemoryIncrease.min_points=5",
    "SharedMachine.threshold=100",
)
LEAK_S = 7

Record = Callable[..., "Recorded"]


class Recorded:
    """A run that is over: what the terminal showed, and what the rules said."""

    def __init__(self, stderr: str, folder: Path) -> None:
        self.stderr = stderr
        (path,) = folder.glob("*/findings.json")
        self.written = json.loads(path.read_text())
        self.rules = {r["rule"]: r for r in self.written["rules"]}

    def issues(self) -> list[str]:
        """Not that the machine is shared: other tests may run beside this one."""
        found = [name for name, r in self.rules.items() if r["state"] == "issue"]
        return [name for name in found if name != "SharedMachine"]

    def finding(self, rule: str) -> dict:
        assert self.issues() == [rule], self.stderr
        return self.rules[rule]["findings"][0]


@pytest.fixture
def env(package: Path, tmp_path: Path) -> dict[str, str]:
    need("torch")
    return os.environ | {
        "FOOTPLATE_DIR": str(tmp_path / "runs"),
        "FOOTPLATE_HOOKS": str(package / "footplate" / "_bootstrap"),
        "FOOTPLATE_NVML": "/nonexistent.so",
        "XDG_RUNTIME_DIR": str(tmp_path),
        "OMP_NUM_THREADS": "1",
    }


@pytest.fixture
def record(footplate: Path, env: dict[str, str], tmp_path: Path) -> Record:
    """record("slow"): runs the program with that trouble to its end."""

    def run(*trouble: object, options: tuple[str, ...] = ()) -> Recorded:
        values = [word for value in USUAL for word in ("--set", value)]
        command = [footplate, "run", "--interval", "100ms", *values, *options, "--"]
        done = subprocess.run(
            [*map(str, command), sys.executable, str(SCRIPT), *map(str, trouble)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return Recorded(done.stderr, tmp_path / "runs")

    return run


def test_a_slow_loader_is_found_and_sized_and_there_is_advice(record):
    run = record("slow", 3)
    found = run.finding("Dataloader")
    assert run.rules["Dataloader"]["lost_share"] > 0.25
    assert "num_workers is 0" in found["message"] and "Set num_workers to" in found["advice"]
    assert "footplate: Data loading (Dataloader): " in run.stderr
    assert f"  why         {found['message']}\n" in run.stderr
    assert f"  fix         {found['advice']}\n" in run.stderr
    assert re.search(r"^    data .* %  <-- here$", run.stderr, re.MULTILINE)


def test_a_fast_loader_is_no_issue_and_the_verdict_says_so(record):
    run = record("none", options=("--set", "StepOutlier.min_lost=60"))
    assert run.issues() == [], run.stderr
    assert run.rules["Dataloader"]["state"] == run.rules["StepOutlier"]["state"] == "clear"
    assert "footplate: No issues found (" in run.stderr


def test_a_stall_in_every_fiftieth_step_is_found(record):
    run = record("stall")
    # 14 are planted; a busy machine adds some.
    assert 12 <= run.finding("StepOutlier")["numbers"]["outliers"] <= 40
    assert (
        1 < run.rules["StepOutlier"]["lost_s"] < 4
    )  # 14 times 100 ms, and what a busy machine adds


def test_memory_that_every_step_keeps_is_found(record):
    found = record("leak", LEAK_S).finding("HostMemoryIncrease")
    grown = found["numbers"]["memory_after"] - found["numbers"]["memory_before"]
    assert grown > 30 << 20


def test_checkpoints_that_take_long_are_found(record):
    run = record("checkpoint")
    assert "3 checkpoints" in run.finding("CheckpointStall")["message"]
    assert run.rules["CheckpointStall"]["lost_s"] == pytest.approx(0.9, rel=0.3)


def test_while_the_run_lives_a_finding_is_a_line_and_sets_an_action_off(record, tmp_path):
    told = tmp_path / "told.json"
    seen = (
        f"cat > {told}.new && mv {told}.new {told}; pgrep -f {SCRIPT.name} >/dev/null && echo yes"
    )
    options = ("--scan-interval", "1s", "--action", f"do: exec, command: '{seen}'")
    run = record("slow", 4, options=options)
    lines = run.stderr.splitlines()
    line = next(x for x in lines if x.endswith("(Dataloader)"))
    last = next(x for x in lines if x.startswith("footplate: Data loading (Dataloader): "))
    assert lines.index(line) < lines.index(last)
    assert json.loads(told.read_text())["rule"] == "Dataloader"
    assert "footplate: exec cat: yes" in lines


def test_a_short_job_without_steps_gets_one_honest_line_and_all_findings_are_written(
    footplate, env, tmp_path
):
    done = subprocess.run(
        [
            str(footplate),
            "run",
            "--set",
            "ProfilerReport.Dataloader_wait_threshold=99",
            "--",
            "true",
        ],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    said = [x for x in done.stderr.splitlines() if "rule" in x]
    assert len(said) == 1 and said[0].startswith("footplate: No rules ran: no training steps")
    run = Recorded(done.stderr, tmp_path / "runs")
    assert run.issues() == []
    assert run.rules["Dataloader"]["params"]["wait_threshold"] == 99


def test_quiet_and_no_rules_print_no_verdict(footplate, env, tmp_path):
    for word, written in [("--quiet", 1), ("--no-rules", 0)]:
        runs = tmp_path / str(written)
        done = subprocess.run(
            [str(footplate), "run", word, "--dir", str(runs), "--", "sh", "-c", "exit 3"],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 3
        assert "evaluated" not in done.stderr and "held" not in done.stderr
        assert len(list(runs.glob("*/findings.json"))) == written
