# SPDX-License-Identifier: Apache-2.0
"""TensorFlow without Keras' loops."""

from __future__ import annotations

import json

import pytest
from talk import Runner, Talk, need

SCRIPT = "tensorflow_loop.py"


@pytest.fixture(scope="module")
def runner(package, ring_dump, tmp_path_factory) -> Runner:
    need("tensorflow")
    return Runner(package, ring_dump, tmp_path_factory.mktemp("tensorflow"))


@pytest.fixture(scope="module")
def run(runner):
    run = runner.hooked(SCRIPT)
    assert run.status == 0, run.stderr
    assert run.losses() == []
    return run


def part(run, begin: str, end: str) -> Talk:
    return run.talk().between(run.said[begin], run.said[end])


def test_a_batch_that_python_takes_is_waited_for_as_long_as_the_script_measured(run):
    waits = part(run, "begin", "python").spans("data")
    assert len(waits) == 10
    assert sum(w.seconds for w in waits) == pytest.approx(run.said["waited"], rel=0.05, abs=2e-3)


def test_samples_of_each_batch_are_counted(run):
    assert part(run, "begin", "python").counts("batch.size") == [4] * 10


def test_a_batch_that_a_compiled_function_takes_is_not_seen(run):
    assert part(run, "python", "graph").spans("data") == []


def test_tracing_a_function_is_compiling_once_however_many_lie_in_it(run):
    first = part(run, "begin", "python")
    compiles = first.spans("compile")
    assert compiles and all(c.names()["compile"] == 0 for c in compiles)


def test_making_an_iterator_starts_a_loader(run):
    assert len(part(run, "begin", "python").spans("loader.start")) == 1


def test_a_checkpoint_is_told_once_by_a_manager_too(run):
    assert len(part(run, "graph", "end").spans("checkpoint")) == 2


PLACES = [
    ({"type": "chief", "index": 0}, (0, 3)),
    ({"type": "worker", "index": 1}, (2, 3)),
    ({"type": "ps", "index": 0}, None),
    ({"type": "worker", "index": 9}, None),
]


@pytest.mark.parametrize(("task", "place"), PLACES, ids=lambda p: str(p))
def test_tf_config_gives_the_rank_of_those_that_train(package, monkeypatch, task, place):
    monkeypatch.syspath_prepend(str(package))
    hook = pytest.importorskip("footplate.hooks.tensorflow_hook")
    cluster = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
    assert hook.cluster_place(json.dumps({"cluster": cluster, "task": task})) == place
