# SPDX-License-Identifier: Apache-2.0
"""Rules about the CPU over real PyTorch programs: the trouble is found, and its twin has none."""

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

SECONDS = 8

Rules = dict[str, dict]
Record = Callable[..., Rules]


@pytest.fixture
def record(footplate: Path, package: Path, tmp_path: Path) -> Record:
    """record("gil"): runs the program with that trouble to its end; its rules by name."""
    need("torch")
    env = os.environ | {
        "FOOTPLATE_DIR": str(tmp_path / "runs"),
        "FOOTPLATE_HOOKS": str(package / "footplate" / "_bootstrap"),
        "FOOTPLATE_NVML": "/nonexistent.so",
        "XDG_RUNTIME_DIR": str(tmp_path),
    }

    def run(script: str, *words: object) -> Rules:
        command = [str(footplate), "run", "--interval", "100ms", "--", sys.executable]
        done = subprocess.run(
            [*command, str(SCRIPTS / script), *map(str, words)],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        run.stderr = done.stderr  # type: ignore[attr-defined]
        (path,) = (tmp_path / "runs").glob("*/findings.json")
        return {r["rule"]: r for r in json.loads(path.read_text())["rules"]}

    return run


def marked(stderr: str) -> tuple[str, list[str]] | None:
    """The rank whose iterations the last lines show, and the part that they point at. None: they
    are about another finding, such as a shared machine."""
    if "(Straggler): " not in stderr:
        return None
    (rank,) = re.findall(r"^  iteration .* iterations of (rank \d+); ", stderr, re.MULTILINE)
    return rank, re.findall(r"^    (\w+) .* %  <-- here$", stderr, re.MULTILINE)


def test_too_many_threads_are_found_and_their_number_is_advised(record):
    rule = record("cpu_troubles.py", "threads", SECONDS)["ThreadOversubscription"]
    assert rule["state"] == "issue", rule
    (found,) = rule["findings"]
    cores = len(os.sched_getaffinity(0))
    assert found["numbers"]["runnable"] > 2 * cores == 2 * found["numbers"]["cores"]
    assert f"OMP_NUM_THREADS={cores} " in found["advice"]


def test_a_python_thread_beside_the_loop_is_found_and_named(record):
    rule = record("cpu_troubles.py", "gil", SECONDS)["GilContention"]
    assert rule["state"] == "issue", rule
    (found,) = rule["findings"]
    assert "refresh_statistics() at cpu_troubles.py:" in found["message"]
    assert found["numbers"]["beside"] > found["numbers"]["main"]


PAUSES = """\
import time, footplate, torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for (x,) in DataLoader(TensorDataset(torch.rand(100, 8)), batch_size=1):
    model(x).square().mean().backward()
    optimizer.step()
    with footplate.span("log"):
        time.sleep(0.05)
    if x[0, 0] > 0.9:
        with torch.no_grad():
            for (y,) in DataLoader(TensorDataset(torch.rand(2, 8))):
                model(y)
"""


def test_time_between_steps_is_found_with_its_place_and_the_span_that_took_it(record, tmp_path):
    (tmp_path / "train.py").write_text(PAUSES)
    rule = record(tmp_path / "train.py")["TimeBetweenSteps"]
    assert rule["state"] == "issue", rule
    (found,) = rule["findings"]
    assert "; between train.py:8 and train.py:6" in found["message"]
    assert int(re.findall(r"; (\d+) % of it in 'log'", found["message"])[0]) > 80


@pytest.mark.parametrize("twin", ["none", "helper"])
def test_a_loop_that_computes_and_a_thread_without_the_lock_are_no_issue(record, twin):
    rules = record("cpu_troubles.py", twin, SECONDS)
    for name in ("ThreadOversubscription", "GilContention"):
        assert rules[name]["state"] == "clear", rules[name]


def test_the_rank_that_the_others_wait_for_is_named(record):
    rule = record("slow_rank.py", 1, SECONDS)["Straggler"]
    assert rule["state"] == "issue", rule
    (found,) = rule["findings"]
    assert found["entity"] == "rank 1"
    assert found["numbers"]["excess"] == pytest.approx(20, abs=10)
    if shown := marked(record.stderr):
        rank, parts = shown
        assert rank == "rank 1" and len(parts) == 1 and f"'{parts[0]}' took" in found["message"]


def test_a_rank_that_computes_more_inside_backward_is_named(record):
    rule = record("slow_rank.py", 1, SECONDS, "backward")["Straggler"]
    assert rule["state"] == "issue", rule
    (found,) = rule["findings"]
    assert found["entity"] == "rank 1" and "inside 'backward'" in found["message"], found
    assert marked(record.stderr) in (None, ("rank 1", ["backward"]))


def test_ranks_that_are_alike_have_no_straggler(record):
    rule = record("slow_rank.py", -1, SECONDS)["Straggler"]
    assert rule["state"] == "clear", rule
