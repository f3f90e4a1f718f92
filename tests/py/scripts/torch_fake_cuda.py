# SPDX-License-Identifier: Apache-2.0
"""torch_fake_cuda.py SCENE: trains with a torch.cuda whose device is played by this script.

The fake device has a clock of its own, runs what is recorded on a stream after what was there
before, and answers as CUDA does. SYNCS counts what the hooks must never do.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time

import torch
from torch import nn

SYNCS = []
DEVICE_OFFSET_NS = 123_456_789_000  # its clock is not the host's
KERNEL_NS = 3_000_000  # that each phase takes


class Stream:
    """Work that is queued is done one after the other."""

    def __init__(self, device=None):
        self.free_at = 0  # host ns at which all of it is done

    def run(self, ns):
        self.free_at = max(self.free_at, time.monotonic_ns()) + ns
        return self.free_at


CURRENT = Stream()
STATE = {"capturing": False, "dead": False, "events": 0, "heard": 0}
PEAK = {"bytes": 2000}
DONE_AT = []  # host ns at which each recorded event is


class Event:
    costs_s = 0.0  # the host, to record it

    def __init__(self, enable_timing=False):
        assert enable_timing
        STATE["events"] += 1
        self.done_at = None

    def record(self, stream=None):
        assert not STATE["capturing"]
        time.sleep(self.costs_s)
        self.done_at = (stream or CURRENT).run(0)
        DONE_AT.append(self.done_at)

    def query(self):
        return not STATE["dead"] and time.monotonic_ns() >= self.done_at

    def elapsed_time(self, end):
        assert self.query() and end.query()
        device = [e.done_at + DEVICE_OFFSET_NS for e in (self, end)]
        return (device[1] - device[0]) / 1e6

    def synchronize(self):
        SYNCS.append("event")


class Model(nn.Module):
    """Queues a kernel in its forward pass."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        CURRENT.run(KERNEL_NS)
        return self.layer(x)


def fake() -> None:
    # A busy machine makes timing look dear; only one scene is about that.
    sys.modules["footplate.hooks.torch_cuda"].SHARE = 1.0
    cuda = torch.cuda
    cuda.Event, cuda.Stream = Event, Stream
    cuda.current_device = lambda: 2
    cuda.is_initialized = lambda: True
    cuda.is_current_stream_capturing = lambda: STATE["capturing"]
    cuda.synchronize = lambda *args: SYNCS.append("device")
    cuda.memory_stats_as_nested_dict = lambda device: {
        "allocated_bytes": {"all": {"current": 1000 + device, "peak": PEAK["bytes"]}},
        "reserved_bytes": {"all": {"current": 3000}},
        "num_alloc_retries": 4,
    }
    cuda._lazy_init._footplate_after((), None)  # as after the first use of CUDA


def train(steps: int, pause_s: float = 0.05) -> list[int]:
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    begins = []
    for _ in range(steps):
        begins.append(time.monotonic_ns())
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        time.sleep(pause_s)
    return begins


def capture() -> list[int]:
    train(2)
    STATE["capturing"] = True
    train(2)
    STATE["capturing"] = False
    return train(2)


def dead() -> list[int]:
    STATE["dead"] = True
    return train(400, 0)


def short(share: float = 0.002) -> list[int]:
    sys.modules["footplate.hooks.torch_cuda"].SHARE = share
    Event.costs_s = 20e-6
    timer = sys.modules["footplate.hooks.torch_cuda"]._State.timer
    begin = timer.begin

    def counted(*args):
        STATE["heard"] += 1
        begin(*args)

    timer.begin = counted
    return train(300, 0.001)


def rest_then_evaluation() -> list[int]:
    """Evaluation passes end the rest that training began, though no optimizer steps any more."""
    global KERNEL_NS
    KERNEL_NS = 100_000  # so that the device keeps up
    begins = short(share=0.02)
    model = Model()
    with torch.no_grad():
        for _ in range(300):
            model(torch.ones(1, 4))
            time.sleep(0.001)
    return begins


def evaluation() -> list[int]:
    with torch.no_grad():
        Model()(torch.ones(1, 4))
    return train(2)


def half_captured() -> list[int]:
    """A graph is captured while step 2 goes on: of its phases only the backward pass is left."""
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(6):
        loss = model(torch.ones(1, 4)).sum()
        STATE["capturing"] = step == 2
        loss.backward()
        STATE["capturing"] = False
        optimizer.step()
        time.sleep(0.03)
    model(torch.ones(1, 4))  # the step before is over; this one is not
    return []


def closure() -> list[int]:
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def passes():
        loss = model(torch.ones(1, 4)).sum()
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(passes)
        time.sleep(0.03)
    return []


def peak() -> list[int]:
    """Memory grows in the last step."""
    begins = train(3, 0.5)
    PEAK["bytes"] = 5000
    return begins


def tf32() -> list[int]:
    torch.set_float32_matmul_precision("high")
    return train(2)


def autocast() -> list[int]:
    torch.set_float32_matmul_precision("high")
    entered = torch.autocast.__enter__
    with torch.autocast("cpu", torch.bfloat16):
        begins = train(2)
    assert torch.autocast.__enter__ is not entered  # the hook is off again
    return begins


def copies() -> list[int]:
    x = torch.ones(10, dtype=torch.float32)
    for where in ("cpu", torch.float64, "cuda:0", 1, torch.device("cuda")):
        with contextlib.suppress(Exception):
            x.to(where)
    with contextlib.suppress(Exception):
        x.cuda()
    return []


fake()
begins = {"train": lambda: train(5), "capture": capture, "dead": dead}
begins |= {"evaluation": evaluation, "short": short, "copies": copies, "peak": peak}
begins |= {"half_captured": half_captured, "closure": closure, "tf32": tf32, "autocast": autocast}
begins["rest_then_evaluation"] = rest_then_evaluation
told = begins[sys.argv[1]]()
about = {"begins": told, "done_at": DONE_AT, "syncs": SYNCS, "events": STATE["events"]}
about["heard"] = STATE["heard"]
print(json.dumps(about))
