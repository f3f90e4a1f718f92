# SPDX-License-Identifier: Apache-2.0
"""Waits for the GPU: counted, timed and placed, with a GPU that scripts/torch_waits.py plays."""

from __future__ import annotations

import json
import re

import pytest
from talk import SCRIPTS, Runner, need_torch

WAITS = SCRIPTS / "torch_waits.py"
OPS = ["item", "cpu", "tolist", "numpy", "bool", "int", "float", "index"]
OPS += ["nonzero", "nonzero", "masked_select", "masked_select", "mask", "mask", "to", "to", "to"]
OPS += ["synchronize", "stream.synchronize", "event.synchronize", "h2d", "h2d", "h2d"]


@pytest.fixture
def run(hooked, ring):
    def go(scene: str) -> list[dict]:
        done = hooked(WAITS, scene, env={"FOOTPLATE_CLOCK": "monotonic"})
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        events = ring.events()
        assert ring.losses() == []
        return events

    return go


def places(events: list[dict], what: str = "calls") -> dict[str, int]:
    """The last value of each place's counter."""
    start = f"sync.{what} "
    counts = [e for e in events if e["kind"] == "count" and e["name"].startswith(start)]
    return {e["name"][len(start) :]: e["value"] for e in counts}


def line_of(text: str) -> int:
    lines = WAITS.read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.strip() == text)


def test_every_kind_of_wait_is_counted_at_its_line(run):
    found = places(run("each"))
    first = line_of("x.item()")
    assert found == {f"{op} torch_waits.py:{first + i}": 1 for i, op in enumerate(OPS)}


def test_what_does_not_wait_is_not_counted(run):
    events = run("none")
    assert places(events) == {}
    assert not [e for e in events if e["name"].startswith(("sync", "h2d"))]


def test_a_copy_to_the_device_is_a_span_and_waits_unless_it_is_asynchronous(run):
    events = run("copies")
    spans = [e["value"] for e in events if e["name"] == "h2d" and e["kind"] == "span_begin"]
    assert spans == [40] * 3  # the one inside of a forward pass is a part of that
    assert sum(places(events).values()) == 2
    assert {place.split()[0] for place in places(events)} == {"h2d"}


@pytest.mark.parametrize("clock", ["monotonic", None])
def test_long_waits_are_spans_and_short_ones_fall_into_their_phase(hooked, ring, clock):
    for _ in range(5):  # a sleep of 0.1 ms may last longer on a busy machine
        done = hooked(WAITS, "long_and_short", env={"FOOTPLATE_CLOCK": clock})
        assert done.returncode == 0, done.stderr
        ring._events.clear()
        events = ring.events()
        kept = [e for e in events if e["kind"].startswith(("span", "past"))]
        kept += [e for e in events if e["name"] == "sync.short"]
        kept.sort(key=events.index)
        words = [f"{e['kind']} {e['name']}" for e in kept]
        if words.count("past_begin sync") == 1:
            break
    assert words == [
        "span_begin forward",
        "count sync.short",
        "span_end forward",
        "count sync.short",
        "span_begin backward",
        "span_end backward",
        "past_begin sync",
        "past_end sync",
    ]
    short = [e["value"] for e in kept if e["name"] == "sync.short"]
    assert 300_000 <= short[0] < 3_000_000 and 100_000 <= short[1] < 1_000_000
    begin = next(e["value"] for e in kept if e["kind"] == "past_begin")
    assert begin >= 3_000_000
    assert sum(places(events, "ns").values()) == pytest.approx(sum(short) + begin, abs=100_000)


def test_waits_between_steps_come_before_the_next_step(run):
    events = run("steps")
    names = [e["kind"] for e in events if e["kind"].startswith("step") or "sync" in e["name"]]
    first, second = (i for i, kind in enumerate(names) if kind == "step_begin")
    assert set(names[first + 2 : second]) & {"count", "past_begin"}


def test_a_wait_inside_of_another_counts_once(run):
    assert list(places(run("nested")).values()) == [1]


def test_places_beyond_the_first_64_are_one(run):
    found = places(run("many"))
    assert found.pop("any elsewhere") == 36
    assert len(found) == 64 and set(found.values()) == {1}


def test_what_the_call_raises_goes_on_and_is_no_wait(run):
    assert places(run("raises")) == {}


def test_threads_wait_at_the_same_time(run):
    assert list(places(run("threads")).values()) == [4000]


def test_the_child_of_a_fork_counts_from_zero(run):
    events = run("forks")
    assert len({e["pid"] for e in events}) == 2
    assert set(places(events).values()) == {1}


def test_a_wait_costs_less_than_a_microsecond_and_a_cpu_tensor_next_to_nothing(hooked):
    done = hooked(WAITS, "cost")
    cost = json.loads(done.stdout)
    assert cost["cuda gate"] - cost["cuda plain"] < 1000
    assert cost["cpu gate"] - cost["cpu plain"] < 300  # a loaded machine; see bench_hooks.py


def test_nothing_is_counted_when_nobody_records(hooked):
    done = hooked(WAITS, "each", env={"FOOTPLATE_DISABLE": None}, cwd="/")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("when", ["gates", "late"])
def test_compilers_and_overrides_see_nothing_of_the_gates(package, ring_dump, tmp_path, when):
    need_torch(2, 2, what="a compiler that takes gates for functions")
    runner = Runner(package, ring_dump, tmp_path)
    plain = runner.plain("torch_sync_compiles.py", "plain")
    gates = runner.hooked("torch_sync_compiles.py", when)
    assert plain.status == gates.status == 0, gates.stderr
    hide = re.compile(r"0x[0-9a-f]+")
    assert hide.sub("", gates.stdout) == hide.sub("", plain.stdout)
    assert "graph_break" in plain.stdout
    assert gates.losses() == []
