# SPDX-License-Identifier: Apache-2.0
"""torch_sampling.py: GPU times of a loop whose steps differ with period 7, on a clock of its own.

Steps of 2 ms; every seventh has a long backward pass, as with gradient accumulation or an auxiliary
loss. What the timer does costs what it costs on a virtual machine. Prints the shares that the timed
steps have, those of all steps, how many were timed and what share of the time that took.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

from footplate import _core
from footplate.detail import boundary
from footplate.hooks import torch_cuda

STEPS, PERIOD = 5600, 7
COSTS_NS = {"record": 3000, "query": 750, "elapsed": 750}
TIMES_NS = {"forward": 500_000, "backward": 900_000, "optimizer": 400_000}
LONG_NS = 3_000_000  # the backward pass of every seventh

clock = SimpleNamespace(ns=1_000_000_000, own_ns=0)


def pay(what: str) -> None:
    clock.ns += COSTS_NS[what]
    clock.own_ns += COSTS_NS[what]


class Event:
    def __init__(self, enable_timing=False):
        pass

    def record(self, stream=None):
        pay("record")
        self.at = clock.ns

    def query(self):
        pay("query")
        return True

    def elapsed_time(self, end):
        pay("elapsed")
        return (end.at - self.at) / 1e6


told: list[tuple[str, int]] = []
names: dict[int, str] = {}


def intern(name: str) -> int:
    number = _core.intern(name)
    names[number] = name
    return number


torch_cuda._core = SimpleNamespace(
    now_ns=lambda: clock.ns,
    intern=intern,
    past=lambda name, lane, begin, end: told.append((names[name], begin - end)),
    Gate=SimpleNamespace(rest=lambda steps: 0),  # here all phases reach the timer
)
cuda = SimpleNamespace(
    Event=Event, Stream=lambda device: None, is_current_stream_capturing=lambda: False
)
timer = torch_cuda.PhaseTimer(cuda, 0)
true = dict.fromkeys(TIMES_NS, 0)
start_ns = clock.ns
for step in range(STEPS):
    for phase, usual_ns in TIMES_NS.items():
        kind = torch_cuda.PHASES[phase]
        if phase == "optimizer":
            boundary.optimizer(1)
        timer.begin(intern(phase), kind)
        took = LONG_NS if phase == "backward" and step % PERIOD == 3 else usual_ns
        true[phase] += took
        clock.ns += took
        timer.end(kind)
timer.close_unit()
timer.resolve()


def shares(sums: dict[str, int]) -> dict[str, float]:
    return {phase: 100 * ns / sum(sums.values()) for phase, ns in sums.items()}


timed = {phase: sum(ns for name, ns in told if name == phase) for phase in TIMES_NS}
counts = {phase: sum(name == phase for name, _ in told) for phase in TIMES_NS}
about = {
    "timed": shares(timed),
    "true": shares(true),
    "counts": counts,
    "cost_share": clock.own_ns / (clock.ns - start_ns),
}
print(json.dumps(about))
