# SPDX-License-Identifier: Apache-2.0
"""Keras on its three backends: every way of training of scripts/keras_loops.py, from outside."""

from __future__ import annotations

import re

import pytest
from talk import Run, Runner, Talk, need

UNSEEN = ["keras data: fetched inside a compiled function"]
SAMPLES, BATCH, BATCHES = 200, 32, 7  # as in the script


@pytest.fixture(scope="module")
def runner(package, ring_dump, tmp_path_factory) -> Runner:
    return Runner(package, ring_dump, tmp_path_factory.mktemp("keras"))


@pytest.fixture(scope="module", params=["tensorflow", "jax", "torch"])
def run(request, runner) -> Run:
    """All scenes of the script on one backend."""
    need("keras", request.param)
    run = runner.hooked("keras_loops.py", env={"KERAS_BACKEND": request.param})
    run.backend = request.param
    assert run.status == 0, run.stderr
    assert run.losses() == (UNSEEN if request.param == "tensorflow" else [])
    return run


@pytest.fixture
def scene(run):
    """scene(name): what was said while it ran, and what the script counted."""
    talk = run.talk()

    def get(name: str) -> tuple[Talk, dict]:
        facts = run.said[name]
        return talk.between(facts["begin"], facts["end"]), facts

    return get


def modes(facts: dict) -> dict[str, int]:
    return {mode: facts[mode] for mode in ("train", "eval", "predict")}


def test_fit_evaluate_and_predict_have_a_step_for_every_batch(scene):
    talk, facts = scene("fit_evaluate_predict")
    assert talk.modes() == modes(facts) == {"train": 14, "eval": 7, "predict": 7}


def test_steps_are_numbered_from_zero_for_each_mode_and_go_on_over_epochs(scene):
    talk, _ = scene("fit_evaluate_predict")
    assert [s.value for s in talk.steps("train")] == list(range(14))
    assert [s.value for s in talk.steps("eval")] == list(range(7))
    assert [s.value for s in talk.steps("predict")] == list(range(7))


def test_numbers_go_on_from_one_fit_to_the_next(run):
    numbers = [s.value for s in run.talk().steps("train")]
    assert numbers == sorted(set(numbers))


def test_fit_says_how_many_steps_it_plans_and_what_its_batches_come_from(scene):
    talk, facts = scene("fit_evaluate_predict")
    first = talk.steps("train")[0].value
    assert set(talk.counts("steps.total")) == {first + facts["train"]}
    assert set(talk.counts("loader.framework")) == {2}  # arrays


def test_a_generator_without_an_end_plans_nothing(scene):
    talk, _ = scene("unknown_size")
    assert talk.counts("steps.total") == []
    assert 4 in talk.counts("loader.framework")


def test_an_epoch_is_a_span_around_its_steps(scene):
    talk, _ = scene("fit_evaluate_predict")
    epochs = talk.spans("epoch")
    assert [e.value for e in epochs] == [0, 1]
    assert [e.names()["step"] for e in epochs] == [BATCHES, BATCHES]


def test_validation_in_fit_is_told_from_training(scene):
    talk, facts = scene("validation")
    assert talk.modes() == modes(facts) == {"train": 14, "eval": 14, "predict": 0}
    for epoch in talk.spans("epoch"):
        steps = [s.mode for s in epoch.inside if s.name == "step"]
        assert steps == ["train"] * BATCHES + ["eval"] * BATCHES


def test_samples_of_a_step_are_counted_once_also_in_the_short_last_batch(scene, run):
    talk, _ = scene("fit_evaluate_predict")
    if run.backend == "torch":
        pytest.skip("batches are counted by the hooks of torch")
    inside = [s for s in talk.steps()]
    sizes = [
        e["value"]
        for s in inside
        for e in talk.events
        if e["name"] == "batch.size" and s.begin <= e["t_ns"] <= s.end
    ]
    assert sizes == ([BATCH] * (BATCHES - 1) + [SAMPLES % BATCH]) * 4


def test_steps_are_told_by_the_thread_that_trains_when_callbacks_run_in_another(scene):
    talk, facts = scene("no_callbacks")
    assert talk.modes() == modes(facts) == {"train": BATCHES, "eval": 0, "predict": 0}


def test_several_batches_per_execution_are_one_step_that_tells_how_many(scene):
    talk, facts = scene("steps_per_execution")
    if facts["train"] == 0:
        pytest.skip("this backend has no steps_per_execution")
    steps = talk.steps("train")
    assert len(steps) == facts["train"] == 3
    assert [s.value - steps[0].value for s in steps] == [0, 3, 6]
    assert talk.counts("step.batches") == [3, 3]  # the last one has a single batch


def test_an_eager_step_shows_its_data_and_optimizer(scene, run):
    talk, facts = scene("run_eagerly")
    steps = talk.steps("train")
    assert len(steps) == facts["train"] == BATCHES
    wanted = {"tensorflow": ["data", "optimizer"], "jax": ["data"], "torch": ["optimizer"]}
    for step in steps:
        names = step.names()
        assert all(names[name] == 1 for name in wanted[run.backend])


def test_on_torch_nothing_is_marked_twice(scene, run):
    if run.backend != "torch":
        pytest.skip("torch is not what computes")
    talk, _ = scene("fit_evaluate_predict")
    once = {"forward": 1, "backward": 1, "optimizer": 1}
    for step in talk.steps("train"):
        names = step.names()
        assert {name: names[name] for name in once} == once
        assert names["data"] == names["step"] == 0
    for step in talk.steps("eval") + talk.steps("predict"):
        assert step.names() == {"forward.eval": 1}
    assert len(talk.spans("data")) == 4 * BATCHES + 1  # one batch more to build the model with


def test_stop_training_ends_the_last_step(scene):
    talk, facts = scene("stop_training")
    assert talk.modes() == modes(facts)
    assert len(talk.spans("epoch")) == 1
    assert talk.voids == []


def test_an_interrupted_step_does_not_count_and_what_follows_does(scene):
    talk, facts = scene("interrupted")
    assert talk.modes() == modes(facts) == {"train": 2, "eval": BATCHES, "predict": 0}
    assert len(talk.voids) == 1
    assert len(talk.spans("epoch")) == 1
    assert talk.spans("epoch")[0].names()["step"] == 3  # evaluate() is behind it


def test_asking_an_empty_generator_for_one_more_batch_is_no_step(scene):
    talk, facts = scene("unknown_size")
    assert talk.modes() == modes(facts) == {"train": BATCHES, "eval": BATCHES, "predict": 0}


def test_a_loop_inside_a_step_is_a_part_of_it(scene):
    talk, facts = scene("nested_predict")
    assert talk.modes() == modes(facts) == {"train": BATCHES, "eval": 0, "predict": 0}


def test_train_on_batch_is_a_step(scene):
    talk, facts = scene("train_on_batch")
    assert talk.modes() == modes(facts)


def test_saving_a_model_is_a_checkpoint_once(scene):
    talk, facts = scene("checkpoints")
    outer = talk.spans("checkpoint")
    inner = sum(s.names()["checkpoint"] for s in outer)  # torch.save, by the hooks of torch
    assert len(outer) - inner == facts["checkpoints"]


def test_a_train_step_of_the_users_own_is_a_step(scene, run):
    talk, facts = scene("custom_train_step")
    if run.backend == "jax":
        pytest.skip("one of JAX has another signature")
    assert talk.modes()["train"] == facts["train"] == BATCHES


def test_a_thousand_steps_are_counted_and_numbered(scene):
    talk, facts = scene("thousand")
    steps = talk.steps("train")
    assert len(steps) == facts["train"] == 1000
    assert [s.value - steps[0].value for s in steps] == list(range(1000))


def test_steps_take_the_time_that_the_script_measured(scene):
    talk, facts = scene("measured")
    seconds = sum(s.seconds for s in talk.steps("train"))
    assert seconds == pytest.approx(facts["seconds"], rel=0.01)


# What differs from run to run: durations that Keras prints, times and process ids in TensorFlow's
# log, addresses.
VARIES = re.compile(r"\d+[mu]?s(/step)?|(?m:^[IWE]\d{4} .*?\d+ (?=\S+\]))|0x[0-9a-f]+")


def steady(text: str) -> str:
    return VARIES.sub("", text)


@pytest.fixture(scope="module", params=["tensorflow", "jax", "torch"])
def looks(request, runner) -> Run:
    """keras_looks.py without hooks."""
    need("keras", request.param)
    run = runner.plain("keras_looks.py", env={"KERAS_BACKEND": request.param})
    run.backend = request.param
    assert run.status == 0, run.stderr
    return run


def test_callbacks_history_and_output_are_what_they_are_without_us(runner, looks):
    with_us = runner.hooked("keras_looks.py", env={"KERAS_BACKEND": looks.backend})
    assert with_us.status == 0, with_us.stderr
    assert steady(with_us.stdout) == steady(looks.stdout)
    assert steady(with_us.stderr) == steady(looks.stderr)
    assert with_us.losses() == (UNSEEN if looks.backend == "tensorflow" else [])
    assert len(with_us.talk().steps("train")) > 0


def test_a_hook_that_fails_leaves_the_training_as_it_is_and_is_told(runner, looks):
    if looks.backend != "tensorflow":
        pytest.skip("one backend is enough")
    env = {"KERAS_BACKEND": looks.backend, "BREAK_HOOK": "1"}
    with_us = runner.hooked("keras_looks.py", env=env)
    assert with_us.status == 0
    assert steady(with_us.stdout) == steady(looks.stdout)
    assert any(loss.startswith("keras step: ") for loss in with_us.losses())


def test_exceptions_have_the_tracebacks_that_they_have_without_us(runner):
    need("keras", "tensorflow")
    env = {"KERAS_BACKEND": "tensorflow"}
    without = runner.plain("keras_raises.py", env=env)
    with_us = runner.hooked("keras_raises.py", env=env)
    assert without.status == with_us.status == 1
    for where in ("callback", "train_step", "generator"):
        assert re.search(f"^ValueError: mine, in (a )?{where}", without.stderr, re.MULTILINE)
    assert steady(with_us.stderr) == steady(without.stderr)
    assert with_us.stdout == without.stdout
