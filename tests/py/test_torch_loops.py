# SPDX-License-Identifier: Apache-2.0
"""PyTorch: every way of training of scripts/torch_loops.py, seen from outside."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest
from talk import Run, Runner, Talk, need

STEP = ["data", "zero_grad", "forward", "backward", "optimizer"]


@pytest.fixture(scope="module")
def runner(package, ring_dump, tmp_path_factory) -> Runner:
    return Runner(package, ring_dump, tmp_path_factory.mktemp("torch"))


@pytest.fixture(scope="module")
def run(runner) -> Run:
    """All scenes of the script in one process, and its workers."""
    need("torch")
    run = runner.hooked("torch_loops.py")
    assert (run.status, run.stderr) == (0, ""), run.stderr
    assert run.losses() == []
    return run


@pytest.fixture(scope="module")
def threads(run) -> dict[int, list[dict]]:
    """Events by thread, of all processes."""
    by_thread = defaultdict(list)
    for event in run.events:
        by_thread[event["tid"]].append(event)
    return by_thread


@pytest.fixture
def scene(run, threads):
    """scene(name): what the main thread said while it ran, and what the script counted."""
    whole = Talk(threads[run.said["pid"]])

    def get(name: str) -> tuple[Talk, dict]:
        facts = run.said[name]
        if "lacks" in facts:
            pytest.skip(facts["lacks"])
        return whole.between(facts["begin"], facts["end"]), facts

    return get


@pytest.fixture
def workers(run, threads):
    """workers(name): what the loader's workers of a scene said, by the worker's number."""

    def get(name: str) -> dict[int, Talk]:
        facts, found = run.said[name], {}
        for tid, events in threads.items():
            talk = Talk(events)
            number = talk.counts("process.worker")
            if number and facts["begin"] <= events[-1]["t_ns"] <= facts["end"]:
                assert tid == events[0]["pid"] != run.said["pid"]
                found[number[0]] = talk
        return found

    return get


def outer(talk: Talk) -> list[str]:
    """Names of the spans that lie in no other, in their order; how a loader starts is left out."""
    inner = {id(i) for s in talk.all for i in s.inside}
    return [s.name for s in talk.all if id(s) not in inner and s.name != "loader.start"]


def test_a_step_is_fetch_zero_grad_forward_backward_and_optimizer(scene):
    talk, _ = scene("no_workers")
    assert outer(talk) == STEP * 3 + ["data"]  # the last fetch finds nothing


def test_the_short_last_batch_has_its_own_size(scene):
    talk, _ = scene("no_workers")
    assert talk.counts("batch.size") == [32, 32, 6]


def test_a_loader_says_how_it_was_made(scene):
    talk, _ = scene("persistent_workers")
    assert talk.counts("loader.num_workers") == [2, 2]  # once for each epoch
    assert talk.counts("loader.batch_size") == [32, 32]
    assert talk.counts("loader.prefetch_factor") == [2, 2]
    assert talk.counts("loader.persistent_workers") == [1, 1]
    assert talk.counts("loader.pin_memory") == [0, 0]


def test_what_a_loader_without_workers_does_not_have_is_not_told(scene):
    talk, _ = scene("no_workers")
    assert talk.counts("loader.prefetch_factor") == []
    assert talk.counts("loader.queue") == []
    assert talk.counts("loader.num_workers") == [0]


@pytest.mark.parametrize("name", ["two_workers", "spawned_workers"])
def test_workers_tell_each_batch_they_make_from_their_own_process(scene, workers, name):
    talk, _ = scene(name)
    told = workers(name)
    assert sorted(told) == [0, 1]
    assert {n: len(w.spans("worker.fetch")) for n, w in told.items()} == {0: 2, 1: 1}
    assert outer(talk) == STEP * 3 + ["data"]


def test_persistent_workers_go_on_over_epochs(workers):
    told = workers("persistent_workers")
    assert {n: len(w.spans("worker.fetch")) for n, w in told.items()} == {0: 4, 1: 2}


def test_workers_tell_nothing_but_what_they_fetch(workers):
    for name in ("two_workers", "persistent_workers", "spawned_workers", "transforms_in_a_worker"):
        assert workers(name)
        for talk in workers(name).values():
            assert {s.name for s in talk.all} == {"worker.fetch"}


def test_waiting_for_a_slow_dataset_takes_as_long_as_it_sleeps(scene):
    talk, _ = scene("slow_loader")
    waits = [s.seconds for s in talk.spans("data")]
    assert waits[0] >= 0.2 and waits[1] >= 0.2 and waits[2] < 0.2


def test_the_queue_is_full_when_workers_are_ahead_of_the_loop(scene):
    talk, _ = scene("slow_step")
    depths = talk.counts("loader.queue")
    assert len(depths) == 36  # 35 batches and the fetch that finds nothing
    assert max(depths) == 4  # prefetch_factor x workers
    assert depths[0] == depths[-1] == 0
    assert depths.count(4) > len(depths) // 3


def test_an_iterable_dataset_gives_what_it_gives_without_us(scene):
    talk, facts = scene("iterable")
    assert facts["batches"] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert talk.counts("batch.size") == [4, 4, 2]


def test_modules_that_make_the_data_are_no_forward_pass(scene):
    talk, _ = scene("transforms")
    assert outer(talk) == ["data"] * 3
    assert all(not s.inside for s in talk.spans("data"))


def test_batch_sizes_are_found_in_nested_containers_and_generators_are_left_alone(scene):
    talk, facts = scene("containers")
    assert talk.counts("batch.size") == [2]
    assert facts["left"] == [1, 2]


def test_accumulated_gradients_have_one_optimizer_step(scene):
    talk, _ = scene("accumulation")
    one = ["data", "forward", "backward"]
    assert outer(talk) == [*(one * 3), "optimizer", "zero_grad"] * 2 + [*one, "data"]


def test_the_optimizers_of_a_gan_have_different_numbers(scene):
    talk, _ = scene("gan")
    first, second, *rest = [s.value for s in talk.spans("optimizer")]
    assert first != second and rest == [first, second]


def test_every_root_module_is_a_forward_pass_of_its_own(scene):
    talk, _ = scene("several_forwards")
    one = ["data", "zero_grad", "forward", "forward", "backward", "optimizer"]
    assert outer(talk) == one * 3 + ["data"]


def test_each_time_step_of_a_cell_is_a_forward_pass(scene):
    talk, _ = scene("recurrent")
    assert outer(talk) == ["data", *["forward"] * 4, "backward", "optimizer"] * 3 + ["data"]


def test_forward_passes_without_gradients_are_evaluation(scene):
    talk, _ = scene("evaluation")
    assert outer(talk) == ["data", "forward.eval"] * 3 + ["data", "forward.eval"]


def test_the_optimizer_of_a_closure_is_what_follows_its_last_call(scene):
    talk, facts = scene("closure")
    assert facts["calls"] == 6
    assert outer(talk) == ["zero_grad", "forward", "backward"] * 6
    past = [e for e in talk.events if e["kind"].startswith("past")]
    assert [e["kind"] for e in past] == ["past_begin", "past_end"] * 2
    assert all(e["name"] == "optimizer" and e["mode"] == 0 for e in past)
    last = talk.spans("backward")[2].end
    first_step = past[0]
    assert first_step["t_ns"] - first_step["value"] >= last


def test_a_step_that_the_scaler_skips_is_an_optimizer_step(scene):
    talk, _ = scene("scaler")
    assert outer(talk) == ["zero_grad", "forward", "backward", "optimizer"] * 2
    first, second = talk.spans("optimizer")
    assert first.value == second.value
    assert not first.inside and not second.inside


def test_optimizers_that_step_in_backward_lie_in_it(scene):
    talk, _ = scene("in_backward")
    assert outer(talk) == ["forward", "backward"]
    assert [s.name for s in talk.spans("backward")[0].inside] == ["optimizer"] * 2


def test_what_is_computed_again_in_backward_is_no_forward_pass(scene):
    talk, _ = scene("recompute")
    assert outer(talk) == ["forward", "backward"]
    assert not talk.spans("backward")[0].inside


def test_gradients_of_inputs_are_a_backward_pass(scene):
    talk, _ = scene("gradients")
    assert outer(talk) == ["forward", "backward"]


def test_a_model_clears_its_gradients(scene):
    talk, _ = scene("model_zero_grad")
    assert outer(talk) == ["zero_grad"]


def test_checkpoints_are_saves_to_files_or_of_dictionaries(scene):
    talk, _ = scene("checkpoints")
    assert outer(talk) == ["checkpoint"] * 2


@pytest.mark.parametrize("name", ["own_call", "scripted"])
def test_a_root_of_any_kind_is_marked_once(scene, name):
    talk, _ = scene(name)
    assert outer(talk) == ["forward"]


def test_forward_passes_are_seen_after_torch_fx_has_traced(scene):
    talk, _ = scene("after_fx")
    assert outer(talk) == ["forward", "backward", "optimizer"] * 2


def test_what_the_program_raises_goes_on_and_its_spans_end(scene):
    talk, facts = scene("raising")
    assert facts["caught"] == ["RuntimeError", "TypeError", "RuntimeError", "RuntimeError"]
    assert outer(talk) == ["forward", "data", "backward", "checkpoint", "forward"]


def test_threads_are_told_apart(run, threads):
    facts = run.said["threads"]
    others = {
        e["tid"]
        for e in run.events
        if e["pid"] == run.said["pid"] and facts["begin"] <= e["t_ns"] <= facts["end"]
    }
    assert len(others) == 2 and run.said["pid"] not in others
    assert all([s.name for s in Talk(threads[tid]).all] == ["forward"] for tid in others)


def test_the_script_says_the_same_without_hooks(run, runner):
    plain = runner.plain("torch_loops.py", "iterable", "containers", "closure", "raising")
    told = json.loads(plain.stdout)
    for name in ("iterable", "containers", "closure", "raising"):
        same = {k: v for k, v in told[name].items() if k not in ("begin", "end")}
        assert same == {k: v for k, v in run.said[name].items() if k not in ("begin", "end")}
