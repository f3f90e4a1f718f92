# SPDX-License-Identifier: Apache-2.0
"""GPU times, allocator statistics and copies, with a CUDA that scripts/torch_fake_cuda.py plays."""

from __future__ import annotations

import json

import pytest
from talk import SCRIPTS

FAKE = SCRIPTS / "torch_fake_cuda.py"
LANE = 3  # 1 + device 2


@pytest.fixture
def run(torch_hooked, ring):
    def go(scene: str) -> tuple[dict, list[dict]]:
        done = torch_hooked(FAKE, scene, env={"FOOTPLATE_CLOCK": "monotonic"})
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        events = ring.events()
        assert ring.losses() == []
        said = json.loads(done.stdout)
        assert said["syncs"] == []
        return said, events

    return go


def past_spans(events: list[dict]) -> list[tuple[str, int, int, int]]:
    """Name, lane, begin and end of what was told afterwards."""
    past = [e for e in events if e["kind"].startswith("past")]
    pairs = zip(past[::2], past[1::2], strict=True)
    return [
        (b["name"], b["mode"], b["t_ns"] - b["value"], e["t_ns"] - e["value"]) for b, e in pairs
    ]


def test_each_phase_has_its_time_on_the_device(run):
    said, events = run("train")
    spans = past_spans(events)
    assert [s[0] for s in spans][:3] == ["forward", "backward", "optimizer"]
    assert {s[1] for s in spans} == {LANE}
    forwards = [s for s in spans if s[0] == "forward"]
    assert 3 <= len(forwards) <= 5  # the last ones may not be read any more
    gaps = [b - a for a, b in zip(said["done_at"], said["done_at"][1:], strict=False)]
    for (_, _, begin, end), told in zip(forwards, said["begins"], strict=False):
        assert begin - told >= -1_000_000
        assert end - begin >= 2_900_000  # what the fake kernel takes, or more on a busy machine
        assert min(abs(gap - (end - begin)) for gap in gaps) < 50_000


def test_the_device_s_clock_is_tied_to_the_host_s(run):
    said, events = run("train")
    for name, _, begin, end in past_spans(events):
        for at in (begin, end):
            assert min(abs(at - done) for done in said["done_at"]) < 1_000_000, name


def test_the_allocator_is_asked_and_the_device_told(run):
    _, events = run("train")
    counts = {e["name"]: e["value"] for e in events if e["kind"] == "count"}
    assert counts["process.device"] == 2
    assert counts["cuda.allocated"] == 1002
    assert counts["cuda.peak"] == 2000
    assert counts["cuda.reserved"] == 3000
    assert counts["cuda.alloc_retries"] == 4


@pytest.mark.parametrize(("scene", "tf32"), [("train", 0), ("tf32", 1), ("autocast", 0)])
def test_tf32_is_reported_where_it_is_allowed_and_nothing_else_is_used(run, scene, tf32):
    _, events = run(scene)
    assert {e["value"] for e in events if e["name"] == "cuda.tf32"} == {tf32}


def test_statistics_are_asked_at_the_first_step_and_at_the_end_not_at_every_step(run):
    _, events = run("train")
    assert sum(e["name"] == "cuda.allocated" for e in events) == 2


def test_nothing_is_recorded_while_a_graph_is_captured(run):
    _, events = run("capture")  # the fake event fails when it is
    names = [s[0] for s in past_spans(events)]
    assert names.count("forward") <= 4 and names.count("forward") >= 2


def test_a_device_that_does_not_answer_is_not_waited_for_and_events_stay_few(run):
    said, events = run("dead")
    assert past_spans(events) == []
    assert said["events"] <= 2 * 256 + 2 + 100  # and an event for each time that it was asked


def test_events_are_used_again(run):
    said, _ = run("train")
    assert said["events"] < 5 * 3 * 2 + 6


def test_short_steps_are_timed_only_as_often_as_they_can_bear(run):
    said, events = run("short")
    steps = len(said["begins"])
    forwards = sum(s[0] == "forward" for s in past_spans(events))
    assert 2 <= forwards <= steps // 10  # timing one costs far more than a five-hundredth of it


def test_between_timed_steps_the_timer_is_not_called(run):
    said, events = run("short")
    names = [s[0] for s in past_spans(events)]
    assert names.count("forward") == names.count("backward") == names.count("optimizer") >= 2
    # The three phases of a timed step, and the first of the one after it.
    assert said["heard"] <= 4 * (names.count("forward") + 1) < len(said["begins"])


def test_steps_that_differ_with_a_period_are_timed_in_their_true_shares(hooked):
    done = hooked(SCRIPTS / "torch_sampling.py")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    said = json.loads(done.stdout)
    for phase, share in said["true"].items():
        assert abs(said["timed"][phase] - share) < 2, phase
    assert said["cost_share"] < 0.00125
    assert len(set(said["counts"].values())) == 1  # whole steps


def test_a_step_that_loses_a_phase_is_not_timed_at_all(run):
    _, events = run("half_captured")
    names = [s[0] for s in past_spans(events)]
    assert names.count("forward") == names.count("backward") == names.count("optimizer") == 5


def test_a_closure_s_passes_do_not_count_for_the_optimizer_too(run):
    _, events = run("closure")
    spans = past_spans(events)
    for name, _, begin, end in spans:
        if name == "optimizer":
            assert end - begin < 2_500_000  # the kernel of 3 ms is the forward pass's
    assert sum(s[0] == "optimizer" for s in spans) >= 2


def test_the_allocator_s_peak_is_told_at_the_end(run):
    _, events = run("peak")
    peaks = [e["value"] for e in events if e["name"] == "cuda.peak"]
    assert peaks[-1] == 5000


def test_cpu_time_is_told_about_once_a_second(run):
    _, events = run("peak")
    for name in ("cpu.process", "cpu.thread"):
        values = [e["value"] for e in events if e["name"] == name]
        assert 1 <= len(values) <= 4 and values == sorted(values)
    assert values[-1] > 1_000_000


def test_evaluation_passes_count_as_steps_that_are_not_timed(run):
    said, events = run("rest_then_evaluation")
    passes = [s for s in past_spans(events) if s[0] == "forward.eval"]
    assert 2 <= len(passes) < 100  # of 300
    # A pass that is not timed reaches no listener.
    timed = [s for s in past_spans(events) if s[0] == "forward"]
    assert said["heard"] <= 4 * (len(timed) + 1) + 3 * (len(passes) + 1)


def test_evaluation_is_told_apart_on_the_device_too(run):
    _, events = run("evaluation")
    assert past_spans(events)[0][0] == "forward.eval"


def test_copies_to_the_device_have_their_bytes(run):
    _, events = run("copies")
    copies = [e["value"] for e in events if e["name"] == "h2d" and e["kind"] == "span_begin"]
    assert copies == [40] * 4


def test_nothing_of_cuda_is_hooked_when_it_is_not_used(torch_hooked, ring):
    code = """
import torch
assert "to" not in vars(torch.Tensor) and "cuda" not in vars(torch.Tensor)
torch.ones(1).to(torch.float64)
"""
    done = torch_hooked("-c", code)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert ring.names() == ["hooks.loaded"]
