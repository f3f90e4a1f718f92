# SPDX-License-Identifier: Apache-2.0
"""Detail windows through the profilers of TensorFlow and JAX."""

from __future__ import annotations

import pytest
from talk import Run, Runner, need

WINDOW = {"detail": [{"start_step": 5, "steps": 3}]}


@pytest.fixture(scope="module")
def runner(package, ring_dump, tmp_path_factory) -> Runner:
    return Runner(package, ring_dump, tmp_path_factory.mktemp("detail"))


@pytest.fixture(scope="module", params=["tensorflow", "jax"])
def backend(request) -> str:
    need("keras", request.param)
    return request.param


@pytest.fixture(scope="module")
def run(runner, backend) -> Run:
    run = runner.hooked("keras_window.py", env={"KERAS_BACKEND": backend}, config=WINDOW)
    assert run.said == {"files": 0}
    return run


def test_a_window_holds_its_steps_and_their_operators(run, backend):
    (trace,) = run.details
    about, events = trace["footplate"], trace["traceEvents"]
    assert (about["start_step"], about["end_step"]) == (5, 7)
    steps = [e for e in events if e["cat"] == "user_annotation"]
    assert [s["name"] for s in steps] == ["ProfilerStep#5", "ProfilerStep#6", "ProfilerStep#7"]
    operators = [e for e in events if e["cat"] == "cpu_op"]
    assert len(operators) > 10
    begin, end = steps[0]["ts"], steps[-1]["ts"] + steps[-1]["dur"]
    inside = [e for e in operators if begin - 1000 <= e["ts"] <= end + 1000]
    assert len(inside) > 0.9 * len(operators)
    if backend == "tensorflow":  # the wait for data that is not seen otherwise
        assert sum(e["name"].startswith("IteratorGetNext") for e in operators) >= 3


def test_the_times_of_a_window_are_those_of_its_steps(run):
    (trace,) = run.details
    told = {s.value: s for s in run.talk().steps("train")}
    first = [e for e in trace["traceEvents"] if e["name"] == "ProfilerStep#6"][0]
    assert first["dur"] / 1e6 == pytest.approx(told[6].seconds, rel=0.5, abs=5e-3)
    about = trace["footplate"]
    assert told[4].end <= about["start_ns"] <= told[5].end
    assert told[7].begin <= about["end_ns"] <= told[8].begin


def test_a_profiler_of_the_programs_own_has_the_right_of_way(runner, backend):
    env = {"KERAS_BACKEND": backend}
    run = runner.hooked("keras_window.py", "own", env=env, config=WINDOW)
    assert run.said == {"files": 1}  # what it left itself, as it does without us
    assert run.details == []
    assert any("own profiler" in loss for loss in run.losses())
