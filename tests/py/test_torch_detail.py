# SPDX-License-Identifier: Apache-2.0
"""Detail windows of PyTorch programs: exactly the steps that were asked for, and no harm done."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest
from pykit import Ring
from talk import SCRIPTS, torch_version

STEPS = SCRIPTS / "torch_steps.py"


# Torch 1.13's profiler tells stderr what it does, and nothing makes it silent.
TOLD_BY_PROFILER = re.compile(r"^(STAGE|ERROR):.*\] .*\n", re.MULTILINE)


def of_the_program(stderr: str) -> str:
    return TOLD_BY_PROFILER.sub("", stderr) if torch_version() < (2, 0) else stderr


@pytest.fixture
def train(torch_hooked, ring):
    """train(steps, how, **asked): runs it with windows; it must succeed in silence."""

    def run(steps: int, how: str = "loader", env: dict[str, str] | None = None, **asked: Any):
        ring.ask(**asked)
        done = torch_hooked(STEPS, str(steps), how, env=env)
        assert (done.returncode, of_the_program(done.stderr)) == (0, ""), done.stderr
        return json.loads(done.stdout)

    return run


def the_file(ring: Ring, kind: str, pid: int) -> dict:
    (path,) = ring.files(kind)
    assert path.name == f"{kind}-{pid}-0.json"
    assert not list(ring.folder.glob(f".{kind}*"))
    return json.loads(path.read_text())


def steps_in(trace: dict) -> list[int]:
    marks = [e["name"] for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#")]
    return sorted({int(name.partition("#")[2]) for name in marks})


def count(trace: dict, name: str) -> int:
    return sum(e["name"] == name and e.get("ph") == "X" for e in trace["traceEvents"])


@pytest.mark.parametrize("how", ["loader", "plain"])
@pytest.mark.parametrize(("start", "steps"), [(5, 2), (0, 1), (1, 3)])
def test_a_window_holds_exactly_the_steps_asked_for(train, ring, how, start, steps):
    said = train(8, how, detail=[{"start_step": start, "steps": steps}])
    trace = the_file(ring, "detail", said["pid"])
    assert ring.losses() == []
    assert steps_in(trace) == list(range(start, start + steps))
    for name, each in (("Optimizer.step#SGD.step", 1), ("aten::linear", 2), ("aten::addmm", 2)):
        assert count(trace, name) == each * steps, name
    about = trace["footplate"]
    assert (about["start_step"], about["end_step"]) == (start, start + steps - 1)
    assert about["start_ns"] <= said["times"][start][0] + 5_000_000_000
    assert about["end_ns"] >= said["times"][start + steps - 1][1]


def test_a_loader_s_fetch_is_in_its_step(train, ring):
    said = train(6, detail=[{"start_step": 3, "steps": 2}])
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert count(the_file(ring, "detail", said["pid"]), name) == 2


def test_several_windows_make_several_files(train, ring):
    train(9, detail=[{"start_step": 6, "steps": 1}, {"start_step": 2, "steps": 2}])
    traces = [json.loads(path.read_text()) for path in ring.files("detail")]
    assert [steps_in(t) for t in traces] == [[2, 3], [6]]


def test_a_window_may_begin_where_another_ends(train, ring):
    train(9, detail=[{"start_step": 2, "steps": 2}, {"start_step": 4, "steps": 1}])
    traces = [json.loads(path.read_text()) for path in ring.files("detail")]
    assert [steps_in(t) for t in traces] == [[2, 3], [4]]
    assert ring.losses() == []


def test_of_two_windows_that_overlap_the_first_is_taken_and_the_other_told(train, ring):
    train(9, detail=[{"start_step": 2, "steps": 3}, {"start_step": 2, "steps": 1}])
    traces = [json.loads(path.read_text()) for path in ring.files("detail")]
    assert [steps_in(t) for t in traces] == [[2, 3, 4]]
    assert ring.losses() == ["detail window: another profiler is active"]


def test_evaluation_between_epochs_counts_for_no_step(train, ring):
    said = train(9, "epochs", detail=[{"start_step": 6, "steps": 1}])  # right after one
    trace = the_file(ring, "detail", said["pid"])
    assert steps_in(trace) == [6]
    assert count(trace, "aten::linear") == 2


def test_steps_that_the_program_marks_are_the_ones_that_count(train, ring, package):
    env = {"PYTHONPATH": str(package)}
    said = train(6, "explicit", env=env, detail=[{"start_step": 2, "steps": 2}])
    trace = the_file(ring, "detail", said["pid"])
    assert steps_in(trace) == [2, 3]
    assert count(trace, "aten::linear") == 4


def test_a_window_by_time_begins_with_a_step_and_ends_with_one(train, ring):
    asked = [{"start_s": 0.0, "seconds": 0.2}]
    said = train(40, env={"PAUSE_S": "0.02"}, detail=asked)
    trace = the_file(ring, "detail", said["pid"])
    taken = steps_in(trace)
    assert taken == list(range(taken[0], taken[-1] + 1))
    assert 1 <= len(taken) <= 11
    assert count(trace, "Optimizer.step#SGD.step") == len(taken)


def test_other_ranks_are_left_alone(train, ring):
    train(
        4,
        env={"RANK": "1", "WORLD_SIZE": "2"},
        detail_ranks=[0],
        detail=[{"now": True, "steps": 1}],
    )
    assert ring.files("detail") == [] and ring.losses() == []


def test_a_window_that_the_program_does_not_reach_makes_no_file(train, ring):
    train(3, detail=[{"start_step": 50, "steps": 1}])
    assert ring.files("detail") == []
    assert ring.losses() == ["detail window: the program ended before step 50"]


def test_a_process_that_trains_nothing_says_nothing_of_windows(ring, torch_hooked):
    ring.ask(detail=[{"start_step": 50, "steps": 1}])
    done = torch_hooked("-c", "import torch; torch.nn.Linear(1, 1)(torch.ones(1))")
    assert (done.returncode, done.stderr) == (0, "")
    assert ring.losses() == []


def test_a_window_that_the_program_s_end_cuts_keeps_what_there_is(train, ring):
    said = train(5, detail=[{"start_step": 3, "steps": 10}])
    trace = the_file(ring, "detail", said["pid"])
    assert steps_in(trace)[:2] == [3, 4]  # and the fetch that found no more
    assert (trace["footplate"]["start_step"], trace["footplate"]["end_step"]) == (3, 4)
    assert count(trace, "Optimizer.step#SGD.step") == 2


def test_the_program_s_own_profiler_goes_first(train, ring):
    train(6, "own_profiler", detail=[{"start_step": 1, "steps": 4}])
    assert ring.files("detail") == []
    assert any("profiler" in loss for loss in ring.losses())


OPTIONS = """
import inspect, torch
from footplate.detail import torch_window
class Old:
    def __init__(self, enabled=True, *, use_cuda=False, use_kineto=False, use_cpu=True,
                 experimental_config=None): pass
profile = torch.autograd.profiler.profile
torch.cuda.is_initialized = lambda: True
for kind, told in ((profile, {"use_device", "use_cuda"}), (Old, {"use_cuda"})):
    torch.autograd.profiler.profile = kind
    options = torch_window._options(torch)
    inspect.signature(kind).bind(**options)
    assert told & set(options)
"""


def test_a_profiler_is_asked_for_cuda_in_the_way_that_its_version_knows(torch_hooked):
    done = torch_hooked("-c", OPTIONS)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_window_asked_for_while_the_program_runs_is_seen(ring, torch_hooked):
    """The recorder stores the new generation into the ring files; here the program does."""
    ring.ask()
    script = f"""
import json, os, pathlib, runpy, struct, sys
from torch.nn import functional
ASKED_AT = 88  # in struct ring_file
folder, real, count = pathlib.Path({str(ring.folder)!r}), functional.cross_entropy, [0]
def cross_entropy(*args):
    count[0] += 1
    if count[0] == 4:
        (folder / "config.json").write_text(json.dumps(
            {{"version": 1, "job_start_ns": 0, "generation": 2,
              "detail": [{{"now": True, "steps": 2}}]}}))
        (path,) = folder.glob(f"ring-{{os.getpid()}}-*")
        with open(path, "r+b") as file:
            file.seek(ASKED_AT)
            file.write(struct.pack("<Q", 2))
    return real(*args)
functional.cross_entropy = cross_entropy
sys.argv = ["x", "9"]
runpy.run_path({str(STEPS)!r}, None, "__main__")
"""
    done = torch_hooked("-c", script)
    assert (done.returncode, of_the_program(done.stderr)) == (0, "")
    (path,) = ring.files("detail")
    taken = steps_in(json.loads(path.read_text()))
    assert len(taken) == 2 and taken[0] >= 3


WRONG = [
    {"version": 2},
    {"detail": "all"},
    {"detail": [{"start_step": "__import__('os')", "steps": 1}]},
    {"detail": [{"steps": 1}, 5, None, {"start_step": 1}, {"now": True, "steps": -1}]},
    {"python": [{"start_step": 1, "steps": 1, "profiler": "magic"}]},
    {"python": [{"start_step": 1, "steps": 1, "timer": "sundial"}]},
]


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_understood_is_told_and_left_out(train, ring, what):
    train(3, **what)
    assert ring.files("detail") == ring.files("python") == []
    assert ring.losses() or what == {"detail": "all"}


def test_a_configuration_that_is_no_json_is_told_and_left_out(torch_hooked, ring):
    (ring.folder / "config.json").write_text("{")
    done = torch_hooked(STEPS, "3")
    assert (done.returncode, of_the_program(done.stderr)) == (0, "")
    assert ring.losses()


def test_a_folder_that_is_gone_costs_the_window_and_not_a_word(torch_hooked, ring):
    ring.ask(detail=[{"start_step": 1, "steps": 1}])
    script = f"""
import runpy, sys
import footplate.detail.windows as w
w.config.folder = lambda: "/nonexistent"  # what was asked for has been read
sys.argv = ["x", "4"]
runpy.run_path({str(STEPS)!r}, None, "__main__")
"""
    done = torch_hooked("-c", script)
    assert (done.returncode, of_the_program(done.stderr)) == (0, "")
    assert any("window file" in loss for loss in ring.losses())


# ---- Python functions ----

# Which class a function is of is known since Python 3.11; before, a name may be several functions.
with_classes = pytest.mark.skipif(sys.version_info < (3, 11), reason="needs Python 3.11")


def functions(table: list[dict]) -> dict[str, dict]:
    """By name; of several, which Python 3.10 does not tell apart, the one that took longest."""
    return {one["name"]: one for one in sorted(table, key=lambda one: one["total_s"])}


@with_classes
@pytest.mark.parametrize("timer", ["total_time", "cpu_time", "off_cpu_time", "default"])
def test_a_profile_counts_the_calls_of_its_steps(train, ring, timer):
    asked = [{"start_step": 3, "steps": 2, "profiler": "cprofile", "timer": timer}]
    said = train(8, env={"PAUSE_S": "0.02"}, python=asked)
    profile = the_file(ring, "python", said["pid"])
    assert ring.losses() == []
    assert (profile["version"], profile["profiler"], profile["timer"]) == (1, "cprofile", timer)
    assert (profile["start_step"], profile["end_step"], profile["rank"]) == (3, 4, 0)
    found = functions(profile["functions"])
    assert not [one for one in found if "_wait_for_tstate_lock" in one]  # for the sampler
    assert found["work_hard"]["calls"] == found["step"]["calls"] == 2
    assert found["work_hard"]["file"] == str(STEPS) and found["work_hard"]["line"] > 0
    slept = found["<built-in method time.sleep>"]
    assert slept["calls"] == 2
    if timer == "cpu_time":
        assert slept["self_s"] < 0.01
    else:
        assert 0.04 <= slept["self_s"] <= found["step"]["total_s"] + 0.001


@with_classes
def test_functions_are_told_for_each_phase(train, ring):
    asked = [{"start_step": 3, "steps": 2, "profiler": "cprofile"}]
    profile = the_file(ring, "python", train(8, python=asked)["pid"])
    phases = {name: functions(table) for name, table in profile["phases"].items()}
    assert set(phases) == {"data", "zero_grad", "forward", "backward", "optimizer"}
    assert phases["forward"]["Linear.forward"]["calls"] == 4
    assert phases["data"]["TensorDataset.__getitem__"]["calls"] == 8
    assert "Linear.forward" not in phases["backward"]
    assert "step" not in phases["forward"]  # it has not returned yet


def test_nothing_of_ours_is_in_a_profile(train, ring):
    asked = [{"start_step": 1, "steps": 4, "profiler": "cprofile"}]
    profile = the_file(ring, "python", train(8, python=asked)["pid"])
    for table in (profile["functions"], *profile["phases"].values()):
        assert not [one for one in table if "footplate" in one["file"]]
        assert not [one for one in table if "getstats" in one["name"]]


@pytest.mark.parametrize("name", ["sampling", "pyinstrument"])
def test_samples_show_where_the_time_goes(train, ring, name):
    asked = [{"start_step": 2, "steps": 10, "profiler": name}]
    said = train(14, env={"PAUSE_S": "0.04"}, python=asked)
    profile = the_file(ring, "python", said["pid"])
    assert profile["profiler"] == "sampling"
    found = functions(profile["functions"])
    window = (profile["end_ns"] - profile["start_ns"]) / 1e9
    # 0.4 s were slept; a sampler that comes late gives time to whoever runs then
    assert 0.3 <= found["step"]["total_s"] <= window * 1.05
    assert found["step"]["self_s"] == max(one["self_s"] for one in profile["functions"])
    assert "step" not in functions(profile["phases"].get("data", []))
    stacks = profile["stacks"]
    assert stacks[0]["depth"] == 0 and stacks[0]["total_s"] == max(f["total_s"] for f in stacks)
    assert all(b["depth"] <= a["depth"] + 1 for a, b in zip(stacks, stacks[1:], strict=False))
    outermost = sum(f["total_s"] for f in stacks if f["depth"] == 0)
    assert sum(f["self_s"] for f in stacks) == pytest.approx(outermost, abs=1e-6)
    assert outermost == pytest.approx(sum(f["self_s"] for f in profile["functions"]), abs=1e-6)
    assert not [f for f in stacks if "footplate" in f["file"]]


def test_both_kinds_of_window_can_cover_the_same_steps(train, ring):
    train(
        6,
        detail=[{"start_step": 2, "steps": 2}],
        python=[{"start_step": 2, "steps": 2, "profiler": "cprofile"}],
    )
    (trace,), (profile,) = ring.files("detail"), ring.files("python")
    assert steps_in(json.loads(trace.read_text())) == [2, 3]
    assert functions(json.loads(profile.read_text())["functions"])["step"]["calls"] == 2
