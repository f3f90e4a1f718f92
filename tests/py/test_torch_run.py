# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program below `footplate run`: what the commands say is what the script measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from talk import SCRIPTS, need

NS = 1_000_000_000
PATIENCE_S = 120
SCRIPT = SCRIPTS / "torch_phases.py"
Run = Callable[..., Any]


@pytest.fixture
def fp(footplate: Path, package: Path, tmp_path: Path) -> Run:
    """fp("steps", "last"): a command on this test's runs; what it prints, as JSON if it is."""
    need("torch")
    env = os.environ | {
        "FOOTPLATE_DIR": str(tmp_path / "runs"),
        "FOOTPLATE_HOOKS": str(package / "footplate" / "_bootstrap"),
        "FOOTPLATE_NVML": "/nonexistent.so",
        "XDG_RUNTIME_DIR": str(tmp_path),
        "OMP_NUM_THREADS": "1",
    }

    def run(*words: object, start: bool = False) -> Any:
        command = [str(footplate), *map(str, words)]
        if start:
            return subprocess.Popen(
                command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout[:1] in "[{" else done.stdout

    return run


def train_steps(fp: Run) -> list[dict]:
    return [s for s in fp("steps", "last", "--json")["steps"] if s["mode"] == "train"]


def test_every_step_of_a_thousand_is_counted_numbered_and_adds_up(fp):
    fp("run", "-q", "--", sys.executable, SCRIPT, 1000, 0, 0)
    steps = train_steps(fp)
    assert [s["step"] for s in steps] == list(range(1000))
    for s in steps:
        assert sum(s["events"].values()) == pytest.approx(s["duration_s"], abs=1e-9)
        assert all(s["events"][part] > 0 for part in ("data", "forward", "backward", "optimizer"))
    assert fp("show", "last", "--json")["self"]["events_dropped"] == 0


def test_steps_and_phases_are_what_the_script_measured(fp):
    facts = fp("run", "-q", "--", sys.executable, SCRIPT, 60, 50, 20)
    shown = fp("show", "last", "--json")
    spans = {p["phase"]: p for p in shown["phases"]}
    loop_s = (facts["end_ns"] - facts["loop_ns"]) / NS
    close = loop_s / 100 * NS
    assert spans["train"]["start_ns"] == pytest.approx(facts["loop_ns"], abs=close)
    assert spans["eval"]["start_ns"] == pytest.approx(facts["eval_ns"], abs=close)
    assert shown["loop_end_ns"] == pytest.approx(facts["end_ns"], abs=close)
    took = sum(s["duration_s"] for s in train_steps(fp))
    assert took == pytest.approx(facts["steps_s"], rel=0.01)
    shares = [shown[f"{name}_pct"] for name in ("initialization", "loop", "finalization")]
    assert sum(shares) == pytest.approx(100)


def test_a_detail_window_becomes_columns_of_the_run(fp, tmp_path):
    fp("run", "-q", "--detail-steps", "5:2", "--", sys.executable, SCRIPT, 100, 10, 0)
    ops = fp("ops", "last", "--json")
    assert any(o["name"] == "aten::linear" and o["calls"] == 2 for o in ops)
    assert [s["step"] for s in fp("breakdown", "last", "--json")["steps"]] == [5, 6]
    report = fp("report", "last", "--format", "text")
    assert "The steps in the detail window" in report.partition("Most expensive operators")[2]
    assert list((tmp_path / "runs").rglob("trace-*.fp"))
    assert not list((tmp_path / "runs").rglob("detail*"))


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.1)


def test_detail_can_be_asked_for_while_the_run_goes_on(fp, tmp_path):
    enough = tmp_path / "enough"
    words = (sys.executable, SCRIPT, 100000, 10, 0, enough)
    recorder = fp("run", "-q", "--", *words, start=True)
    try:
        until(lambda: _count(fp, "steps") > 5)
        fp("set", "last", "detail=now:3")
        until(lambda: _count(fp, "breakdown") == 3)
        fp("set", "last", "detail=2:1")
        until(lambda: "step 2 had already ended" in _losses(fp))
        enough.touch()
        assert recorder.wait(PATIENCE_S) == 0
    finally:
        recorder.kill()
        recorder.wait()
    assert _count(fp, "breakdown") == 3
    marks = [m["mark"] for m in fp("show", "last", "--json")["marks"]]
    assert "detail" in marks


def _losses(fp: Run) -> list[str]:
    return [loss["why"] for loss in fp("show", "last", "--json")["losses"]]


def _count(fp: Run, what: str) -> int:
    """How many steps the command knows."""
    try:
        return len(fp(what, "last", "--json")["steps"])
    except AssertionError:  # there is no run yet, or no detail
        return 0


def test_a_python_profile_names_the_functions_of_its_steps(fp):
    fp("run", "-q", "--python-profile-steps", "3:2", "--", sys.executable, SCRIPT, 10, 5, 0)
    told = fp("events", "last", "--detail", "--json")
    names = [e["name"] for e in told if e["category"] == "python"]
    assert any("__getitem__" in name for name in names)
    hot = fp("ops", "last", "--by", "function", "--json")
    assert {"data", "forward", "backward", "optimizer"} <= {f["phase"] for f in hot}
    assert any("__getitem__" in f["name"] for f in hot if f["phase"] == "data")
    assert not any(f["name"] == "python profile" for f in fp("ops", "last", "--json"))
