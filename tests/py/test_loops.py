# SPDX-License-Identifier: Apache-2.0
"""Loops on top of torch, and XGBoost: each step once, with what torch does in it."""

from __future__ import annotations

import re

import pytest
from talk import Runner, need


@pytest.fixture(scope="module")
def runner(package, ring_dump, tmp_path_factory) -> Runner:
    return Runner(package, ring_dump, tmp_path_factory.mktemp("loops"))


@pytest.fixture(scope="module", params=["lightning", "pytorch_lightning"])
def lightning(request, runner):
    need(request.param)
    run = runner.hooked("lightning_loops.py", request.param)
    assert run.status == 0, run.stderr
    assert run.losses() == []
    return run


def test_lightning_has_a_train_step_for_every_optimizer_step(lightning):
    facts, talk = lightning.said, lightning.talk()
    assert facts["batches"] == 18 and facts["optimizer"] == 10
    assert [s.value for s in talk.steps("train")] == list(range(10))
    assert talk.voids == []


def test_lightning_says_how_many_steps_it_plans(lightning):
    facts, talk = lightning.said, lightning.talk()
    assert talk.counts("steps.total") == [len(talk.steps("train"))], facts


def test_lightning_tells_validation_test_and_prediction_from_training(lightning):
    facts, talk = lightning.said, lightning.talk()
    modes = {"train": facts["optimizer"], "eval": facts["eval"], "predict": facts["predict"]}
    assert talk.modes() == modes == {"train": 10, "eval": 29, "predict": 9}  # 2 are a sanity check


def test_a_step_of_lightning_holds_what_torch_did_in_it_once(lightning):
    for step in lightning.talk().steps("train"):
        names = step.names()
        assert 1 <= names["forward"] == names["backward"] <= 2
    for step in lightning.talk().steps("eval"):
        assert step.names()["forward.eval"] == 1


def test_every_batch_of_lightning_is_fetched_once(lightning):
    facts, talk = lightning.said, lightning.talk()
    batches = facts["batches"] + facts["eval"] + facts["predict"]
    assert len(talk.spans("data")) == len(talk.counts("batch.size")) == batches


def test_a_checkpoint_of_lightning_is_one_although_torch_saves_in_it(lightning):
    assert len(lightning.talk().spans("checkpoint")) == 2


def test_an_epoch_of_lightning_is_around_its_steps_and_their_validation(lightning):
    epochs = lightning.talk().spans("epoch")
    assert [e.value for e in epochs] == [0, 1]
    assert [sum(s.mode == "train" for s in e.inside) for e in epochs] == [5, 5]


def test_no_callback_is_added_to_the_trainer_of_lightning(lightning):
    assert lightning.said["callbacks"] == ["ModelCheckpoint"]


def test_a_step_of_lightning_that_is_interrupted_does_not_count(runner):
    need("lightning")
    run = runner.hooked("lightning_loops.py", "lightning", "interrupt")
    talk = run.talk()
    assert len(talk.steps("train")) == run.said["optimizer"] == 1
    assert len(talk.voids) == 1


@pytest.fixture(scope="module", params=["trainer", "own"])
def trainer(request, runner):
    need("transformers", "accelerate")
    run = runner.hooked("transformers_loops.py", request.param)
    assert run.status == 0, run.stderr
    assert run.losses() == []
    return run


def test_transformers_has_a_train_step_for_every_optimizer_step(trainer):
    facts, talk = trainer.said, trainer.talk()
    assert len(talk.steps("train")) == facts["train"] == facts["steps"] == 10
    for step in talk.steps("train"):
        names = step.names()
        assert names["optimizer"] == 1
        assert 1 <= names["forward"] == names["backward"] <= 2


def test_transformers_says_how_many_steps_it_plans_and_that_the_loader_is_its_own(trainer):
    talk = trainer.talk()
    assert talk.counts("steps.total") == [len(talk.steps("train"))]
    assert talk.counts("loader.framework") == [1]


def test_transformers_tells_evaluation_and_prediction_apart(trainer):
    facts, talk = trainer.said, trainer.talk()
    assert talk.modes() == {"train": 10, "eval": 18, "predict": 9}
    assert facts["predictions"] == 27
    for step in talk.steps("eval"):
        assert step.names()["forward.eval"] == 1


def test_a_checkpoint_of_transformers_is_one_although_much_is_saved_in_it(trainer):
    assert len(trainer.talk().spans("checkpoint")) == trainer.said["saves"] == 2


def test_no_callback_is_added_to_the_trainer_of_transformers(trainer):
    assert trainer.said["callbacks"] == ["DefaultFlowCallback", "Count", "PrinterCallback"]


# Of the results, and of log lines.
TIMES = re.compile(r"'\w+(runtime|per_second)': '[^']+'|\[\d{4}-[\d-]+ [\d:,]+\]")


def test_the_output_of_transformers_is_what_it_is_without_us(runner):
    need("transformers", "accelerate")
    without, with_us = runner.plain("transformers_loops.py"), runner.hooked("transformers_loops.py")
    assert TIMES.sub("", with_us.stdout) == TIMES.sub("", without.stdout)
    assert with_us.stderr == without.stderr


def test_accelerate_has_no_step_of_its_own_and_every_fetch_once(runner):
    """Steps are derived from what torch does: a fetch, of which one is read ahead, before each."""
    need("accelerate", "torch")
    run = runner.hooked("accelerate_loop.py")
    talk, steps = run.talk(), run.said["steps"]
    assert talk.steps() == []
    assert len(talk.spans("optimizer")) == len(talk.counts("batch.size")) == steps == 10
    order = [s.name for s in talk.all if s.name in ("data", "optimizer")]
    one_epoch = ["data", *["data", "optimizer"] * 5]
    assert order == one_epoch * 2  # the last fetch of each finds the loader empty


def test_torchdata_tells_every_batch_its_workers_and_what_they_fetched(runner):
    need("torchdata", "torch")
    run, plain = runner.hooked("torchdata_loop.py"), runner.plain("torchdata_loop.py")
    assert run.status == 0, run.stderr
    assert run.said == plain.said and run.said["batches"] == 5
    talk = run.talk()
    assert len(talk.counts("batch.size")) == len(talk.spans("optimizer")) == 5
    fetched = [e for e in run.events if e["kind"] == "span_begin" and e["name"] == "worker.fetch"]
    main = {e["pid"] for e in run.events if e["name"] == "optimizer"}
    assert len(fetched) >= 5 and main.isdisjoint(e["pid"] for e in fetched)


def test_deepspeed_has_a_step_for_every_second_batch(runner):
    need("deepspeed", "torch")
    run = runner.hooked("deepspeed_loop.py")
    assert run.status == 0, run.stderr
    talk = run.talk()
    assert run.said["steps"] == run.said["boundaries"] == 6 and run.said["batches"] == 12
    assert len(talk.spans("optimizer")) == 6
    assert len(talk.spans("forward")) == len(talk.spans("backward")) == 12


def test_xgboost_has_a_step_for_every_round(runner):
    need("xgboost")
    run = runner.hooked("xgboost_loops.py")
    assert run.status == 0, run.stderr
    assert len(run.talk().steps("train")) == run.said["rounds"]
    assert run.losses() == []


def test_xgboost_says_how_many_rounds_it_plans_and_counts_on(runner):
    need("xgboost")
    run = runner.hooked("xgboost_loops.py")
    first, second, third, fourth = run.talk().counts("steps.total")
    done = run.said["rounds"]
    assert (first, second, fourth) == (5, 55, done)
    assert third == done - 4 - 3 + 5  # of five, a callback refused to go on after the third


@pytest.fixture(scope="module")
def lightgbm(runner):
    need("lightgbm")
    run = runner.hooked("lightgbm_loops.py")
    assert run.status == 0, run.stderr
    assert run.losses() == []
    return run


def test_lightgbm_has_a_step_for_every_round(lightgbm):
    assert len(lightgbm.talk().steps("train")) == sum(lightgbm.said["rounds"])
    assert lightgbm.said["rounds"][2:] == [2, 4, 6, 3]


def test_lightgbm_says_how_many_rounds_it_plans_and_counts_on(lightgbm):
    planned = [5, 50, 5, 4, 6]  # the last three rounds are the program's own
    done = [0]
    for rounds in lightgbm.said["rounds"]:
        done.append(done[-1] + rounds)
    expected = [done[i] + planned[i] for i in range(len(planned))]
    assert lightgbm.talk().counts("steps.total") == expected


def test_a_round_of_lightgbm_that_a_callback_ends_does_not_count(lightgbm):
    assert len(lightgbm.talk().voids) == 1


@pytest.fixture(scope="module")
def sklearn(runner):
    need("sklearn")
    run = runner.hooked("sklearn_fits.py")
    assert run.status == 0, run.stderr
    assert run.losses() == []
    return run


def test_fits_of_scikit_learn_are_spans_with_the_fits_inside(sklearn):
    (search,) = sklearn.talk().spans("fit GridSearchCV")
    assert search.names()["fit Pipeline"] == 5  # two folds of two values, and the best of them
    (first, failed) = sklearn.talk().spans("fit LinearRegression")
    assert first.end <= search.begin <= search.end <= failed.begin


def test_a_partial_fit_of_scikit_learn_is_a_step(sklearn):
    assert [s.value for s in sklearn.talk().steps("train")] == list(range(7))


def test_methods_of_scikit_learn_stay_functions_and_their_exceptions_pass(sklearn):
    assert sklearn.said == {"raised": "ValueError", "function": True}


def test_an_engine_of_deepspeed_ends_its_accumulation_with_one_optimizer_span(runner):
    """The engine is played by a stand-in with the methods that the hook uses, around an optimizer
    of torch's own, whose step is the same one."""
    need("torch")
    run = runner.hooked("deepspeed_standin.py")
    talk = run.talk()
    assert len(talk.spans("optimizer")) == run.said["boundaries"] == 3
    assert run.said["heard"] == ["begin", "end"] * 3  # nothing of calls that only accumulate
    assert talk.modes() == {"train": 2, "eval": 1, "predict": 0}
