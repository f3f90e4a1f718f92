# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs as steps, what a detail window costs and says of modules. No GPU is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from talk import SCRIPTS

GRAPHS = SCRIPTS / "torch_graph_steps.py"
STEPS = SCRIPTS / "torch_steps.py"


@pytest.fixture
def replay(torch_hooked, ring):
    def run(how: str, **asked) -> dict:
        if asked:
            ring.ask(**asked)
        done = torch_hooked(GRAPHS, how, env={"FOOTPLATE_CLOCK": "monotonic"})
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return run


def replays(ring) -> Counter[int]:
    begins = [e for e in ring.events() if e["kind"] == "span_begin"]
    return Counter(e["value"] for e in begins if e["name"] == "graph.replay")


def test_each_replay_is_a_span_that_tells_graphs_apart(replay, ring):
    replay("two")
    assert replays(ring) == {1: 10, 2: 10}
    assert ring.losses() == []


def test_a_replay_inside_of_a_forward_pass_is_a_part_of_it(replay, ring):
    replay("nested")
    assert replays(ring) == {}


@pytest.mark.parametrize("how", ["alone", "two", "loader", "with_optimizer"])
def test_steps_of_replays_are_counted(replay, how):
    assert replay(how)["ended"] >= 9  # the last one ends with what would follow it


@pytest.mark.parametrize("how", ["alone", "two", "loader", "with_optimizer"])
def test_a_window_holds_the_replays_of_its_steps(replay, ring, how):
    replay(how, detail=[{"start_step": 4, "steps": 2}])
    assert ring.losses() == []
    (path,) = ring.files("detail")
    names = [e["name"] for e in json.loads(path.read_text())["traceEvents"]]
    assert {n for n in names if n.startswith("ProfilerStep#")} == {
        "ProfilerStep#4",
        "ProfilerStep#5",
    }
    each = {"alone": 1, "two": 2, "loader": 3, "with_optimizer": 1}[how]
    assert names.count("aten::ones") == 2 * each


def test_a_window_is_a_span_from_its_warm_up_to_its_end(torch_hooked, ring):
    ring.ask(detail=[{"start_step": 3, "steps": 2}])
    done = torch_hooked(STEPS, "8", "loader", env={"FOOTPLATE_CLOCK": "monotonic"})
    assert done.returncode == 0, done.stderr
    events = ring.events()
    past = [e for e in events if e["name"] == "detail.window"]
    begin, end = (e["t_ns"] - e["value"] for e in past)
    optimizers = [e["t_ns"] for e in events if e["name"] == "optimizer" and e["kind"] == "span_end"]
    assert sum(t < begin for t in optimizers) == 2  # step 2 warms up
    assert sum(t < end for t in optimizers) == 5


def test_modules_have_their_paths_in_a_window_and_no_ranges_after_it(torch_hooked, ring):
    code = """
import torch
from torch import nn
from footplate.hooks import torch_marks
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    def forward(self, x):
        return self.inner(x) + 1
model = Block()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
assert torch_marks.gates("forward")[0]._footplate_range is None
assert not nn.modules.module._has_any_global_hook()
"""
    ring.ask(detail=[{"start_step": 2, "steps": 3}])
    done = torch_hooked("-c", code)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    (path,) = ring.files("detail")
    names = Counter(e["name"] for e in json.loads(path.read_text())["traceEvents"])
    modules = {name: n for name, n in names.items() if name.startswith("nn.Module: ")}
    paths = ["Block", "Block.inner", "Block.inner.0", "Block.inner.1"]
    assert modules == {f"nn.Module: {path}": 3 for path in paths}


def test_ops_by_module_works_for_a_window_of_ours(footplate, package, tmp_path):
    env = os.environ | {
        "FOOTPLATE_DIR": str(tmp_path),
        "FOOTPLATE_HOOKS": str(package / "footplate" / "_bootstrap"),
        "FOOTPLATE_NVML": "/nonexistent.so",
        "OMP_NUM_THREADS": "1",
    }
    script = (sys.executable, SCRIPTS / "torch_phases.py", "12", "0", "0")
    record = (footplate, "run", "-q", "--detail-steps", "5:2", "--", *script)
    assert subprocess.run(record, env=env, capture_output=True).returncode == 0
    by_module = (footplate, "ops", "last", "--by", "module", "--json")
    rows = json.loads(subprocess.run(by_module, env=env, capture_output=True).stdout)
    assert any(row["name"] == "Linear" and row["calls"] == 2 for row in rows), rows
    by_name = (footplate, "ops", "last", "--json")
    names = {
        r["name"] for r in json.loads(subprocess.run(by_name, env=env, capture_output=True).stdout)
    }
    assert "aten::linear" in names and "Linear" not in names


TEARDOWN = """
import os, torch
from types import SimpleNamespace as N
from footplate.detail import torch_window as w
def tried(version, cuda, used=True):
    os.environ.pop("TEARDOWN_CUPTI", None)
    there = N(is_initialized=lambda: used)
    w._release_cupti(N(__version__=version, version=N(cuda=cuda), cuda=there))
    return os.environ.get("TEARDOWN_CUPTI")
assert tried("2.11.0+cu130", "13.0") == tried("2.13.0", "13.1") == "1"
for no in (("2.10.0", "13.0"), ("2.11.0", "12.8"), ("2.13.0+cpu", None), ("3.0", "14.0")):
    assert tried(*no) is None, no
assert tried("2.11.0", "13.0", used=False) is None
os.environ["TEARDOWN_CUPTI"] = "0"
w._release_cupti(N(__version__="2.11", version=N(cuda="13.0"), cuda=N(is_initialized=lambda: True)))
assert os.environ["TEARDOWN_CUPTI"] == "0"
"""


def test_cupti_is_let_go_of_where_that_was_tried_unless_the_user_said_otherwise(torch_hooked):
    done = torch_hooked("-c", TEARDOWN)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
