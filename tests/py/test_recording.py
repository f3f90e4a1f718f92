# SPDX-License-Identifier: Apache-2.0
"""footplate.start() and footplate.stop(): a process that starts a recorder for itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pykit import Done, plain_env
from talk import QUIET, need

Script = Callable[..., Done]

# What the scripts below begin with, and how they report.
HEAD = """
import json, os, sys, time
import footplate

def finish(**said):
    print(json.dumps(said))
"""


@pytest.fixture
def script(package: Path, footplate: Path, tmp_path: Path) -> Script:
    """script(code): runs it in a process without hooks that can import the package and find the
    program; its runs are in `runs`."""

    def run(code: str, *words: str, env: dict[str, str | None] | None = None) -> Done:
        more = {"PYTHONPATH": str(package), "PATH": f"{footplate.parent}:{os.environ['PATH']}"}
        more |= {"FOOTPLATE_DIR": str(tmp_path / "runs"), **QUIET}
        return subprocess.run(
            [sys.executable, *words, "-c", HEAD + code],
            env=plain_env({**more, **(env or {})}),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


def said(done: Done) -> Any:
    """What finish() was given; nothing else may be printed."""
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


STEPS = """
def steps(n):
    for _ in range(n):
        with footplate.step():
            with footplate.span("work"):
                time.sleep(0.001)
"""


def test_a_process_records_itself_between_start_and_stop(script):
    facts = said(
        script(
            STEPS
            + """
steps(3)
started = footplate.start(name="mine", interval=0.1, labels={"kind": "test"})
inside = footplate.enabled()
steps(20)
stopped = footplate.stop()
steps(3)
with footplate.open(stopped) as run:
    finish(same=started is stopped, inside=inside, after=footplate.enabled(), name=run.name,
           status=run.status, steps=len(run.steps()), path=stopped.path, shown=run.path,
           error=stopped.error, messages=stopped.messages,
           found=os.path.exists(os.path.join(run.path, "findings.json")))
"""
        )
    )
    assert facts["same"] and facts["inside"] and not facts["after"]
    assert (facts["name"], facts["status"], facts["steps"]) == ("mine", "finished", 20)
    assert facts["path"] == facts["shown"] and os.path.isabs(facts["path"])
    assert (facts["error"], facts["messages"]) == ("", [])
    assert facts["found"]


def test_each_recording_of_a_process_has_its_own_steps_with_their_names(script):
    facts = said(
        script(
            STEPS
            + """
counts = []
for n in (5, 7):
    with footplate.start() as recording:
        steps(n)
    with recording.open() as run:
        events = run.framework_events("work")
        counts.append([len(run.steps()), len(events)])
maps = open("/proc/self/maps").read()
finish(counts=counts, mapped="footplate-" in maps)
"""
        )
    )
    assert facts == {"counts": [[5, 5], [7, 7]], "mapped": False}


TORCH = """
import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if "scheduler" in sys.argv:
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
loader = DataLoader(TensorDataset(torch.randn(48, 8)), batch_size=4)

def train():
    for (batch,) in loader:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

train()
footplate.start()
train()
recording = footplate.stop()
train()
with recording.open() as run:
    table = run.steps()
    finish(steps=len(table), parts=[float(sum(table[c])) > 0 for c in
           ("data_s", "forward_s", "backward_s", "optimizer_s")],
           losses=[v["what"] for v in run.info["losses"] if v["kind"] == "hook"])
"""


@pytest.mark.parametrize("with_scheduler", ["", "scheduler"])
def test_a_model_that_was_trained_before_start_is_recorded_with_all_parts(script, with_scheduler):
    need("torch")
    code = TORCH.replace("sys.argv", repr(with_scheduler))
    facts = said(script(code))
    assert facts == {"steps": 12, "parts": [True] * 4, "losses": []}


def test_child_processes_of_the_time_between_are_recorded_and_cannot_stop_it(script):
    facts = said(
        script(
            STEPS
            + """
before = dict(os.environ)
footplate.start()
if os.fork() == 0:
    steps(4)
    stopped = footplate.stop()
    os._exit(stopped is not None)
status = os.wait()[1]
code = "import footplate\\nfor _ in range(6):\\n  with footplate.step(): pass\\n"
os.system(f"{sys.executable} -c '{code}'")
steps(2)
recording = footplate.stop()
with recording.open() as run:
    counts = {}
    for pid in run.steps()["pid"]:
        counts[pid] = counts.get(pid, 0) + 1
finish(status=status, counts=sorted(counts.values()), same=dict(os.environ) == before)
"""
        )
    )
    assert facts == {"status": 0, "counts": [2, 4, 6], "same": True}


def test_the_recorder_is_no_child_of_the_process(script):
    facts = said(
        script(
            """
footplate.start()
try:
    children = os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    children = None
recording = footplate.stop()
with recording.open() as run:
    processes = run.system_metrics("job.processes")["value"]
    finish(children=children, processes=max(processes))
"""
        )
    )
    assert facts == {"children": None, "processes": 1}


def test_a_process_that_ends_without_stop_leaves_a_whole_run(script, run_fp, tmp_path):
    done = script(STEPS + "footplate.start()\nsteps(5)\n", "-X", "dev")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for _ in range(100):
        shown = json.loads(
            run_fp(
                "show",
                "last",
                "--json",
                cwd=tmp_path,
                env=os.environ | {"FOOTPLATE_DIR": str(tmp_path / "runs")},
            ).stdout
        )
        if shown["status"] != "running":
            break
    assert shown["status"] == "finished"


def test_without_the_program_there_is_one_warning_and_no_harm(script, package, tmp_path):
    shutil.copytree(package / "footplate", tmp_path / "alone" / "footplate")
    code = "r = footplate.start(); finish(ok=bool(r), error=r.error, none=footplate.stop())"
    done = script(code, env={"PYTHONPATH": str(tmp_path / "alone"), "PATH": "/nonexistent"})
    facts = json.loads(done.stdout)
    assert done.returncode == 0 and not facts["ok"] and facts["none"] is None
    assert facts["error"].startswith("the program 'footplate' was not found")
    assert done.stderr.count("not found") == 1 and "RuntimeWarning" in done.stderr


@pytest.mark.parametrize("words", [(), ("-W", "error")])
def test_a_recorder_that_cannot_start_is_one_warning_with_its_reason(script, tmp_path, words):
    (tmp_path / "runs").write_text("no folder")
    done = script("r = footplate.start(); finish(error=r.error, on=footplate.enabled())", *words)
    facts = json.loads(done.stdout)
    assert done.returncode == 0 and not facts["on"]
    assert "runs" in facts["error"]
    assert done.stderr.count(facts["error"]) == 1


def test_a_process_below_footplate_run_is_not_recorded_twice(package, run_fp, tmp_path):
    code = HEAD + "r = footplate.start(); finish(error=r.error, stop=footplate.stop())"
    env = plain_env({"PYTHONPATH": str(package), "FOOTPLATE_DIR": str(tmp_path / "runs")})
    done = run_fp("run", "-q", "--", sys.executable, "-c", code, env=env, cwd=tmp_path)
    facts = json.loads(done.stdout)
    assert facts == {"error": "it is already recorded by 'footplate run'", "stop": None}
    assert len(list((tmp_path / "runs").iterdir())) == 1
