# SPDX-License-Identifier: Apache-2.0
"""torch_standin.py - a job with a GPU for machines that have none.

It marks its steps, and a torch that is played here has a profiler that hands over a window of two
steps as Kineto wrote it on an H200 (tests/data/traces), moved to the time, the process and the
steps of the window that was asked for. Everything else is real: the window, its file, the recorder
that takes it. Goes on until it is ended.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import footplate

TRACE = Path(__file__).parent.parent / "data" / "traces" / "h200_window.json.gz"
STEP = "ProfilerStep#"
PARTS = {"data": 4, "forward": 10, "backward": 12, "optimizer": 4}  # ms

metadata: dict[str, Any] = {}
ranges: list[str] = []  # that were opened in the window


class record_function:
    def __init__(self, name: str) -> None:
        ranges.append(name)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class profile:
    def __init__(self, use_kineto: bool, use_cpu: bool, use_device: str) -> None:
        assert use_kineto and use_cpu and use_device == "cuda"
        self.start_ns = 0
        self.kineto_results: Recorded | None = None

    def _prepare_trace(self) -> None:
        ranges.clear()

    def _start_trace(self) -> None:
        self.start_ns = time.time_ns()

    def __exit__(self, *error: object) -> None:
        self.kineto_results = Recorded(self.start_ns, ranges.copy(), metadata.copy())


class Recorded:
    """The trace, as if it had been recorded from then on."""

    def __init__(self, start_ns: int, steps: list[str], about: dict[str, Any]) -> None:
        self.start_ns, self.steps, self.about = start_ns, steps, about

    def _move(self, event: dict[str, Any], pid: int, steps: dict[str, str]) -> None:
        for key in ("pid", "tid"):
            if event.get(key) == pid:
                event[key] = os.getpid()
        event["name"] = steps.get(event["name"], event["name"])
        if event["name"] == "thread_name":
            named = event["args"]["name"].replace(str(pid), str(os.getpid()))
            event["args"]["name"] = named

    def save(self, path: str) -> None:
        trace = json.loads(gzip.decompress(TRACE.read_bytes()))
        events = trace["traceEvents"]
        recorded = sorted({e["name"] for e in events if e["name"].startswith(STEP)})
        first_us = min(e["ts"] for e in events if e["name"] == recorded[0])
        names = dict(zip(recorded, self.steps, strict=False))  # a window may be cut
        for event in events:
            self._move(event, trace["footplate"]["pid"], names)
        trace["baseTimeNanoseconds"] = self.start_ns - round(first_us * 1000)
        Path(path).write_text(json.dumps(trace | self.about))


def play_torch() -> None:
    torch: Any = ModuleType("torch")
    profiler = SimpleNamespace(profile=profile, record_function=record_function)
    torch.autograd = SimpleNamespace(profiler=profiler)
    add = lambda key, text: metadata.update({key: json.loads(text)})  # noqa: E731
    torch._C = SimpleNamespace(_autograd=SimpleNamespace(_add_metadata_json=add))
    torch.cuda = SimpleNamespace(is_initialized=lambda: True)
    sys.modules["torch"] = torch


def main() -> None:
    play_torch()
    footplate.init()
    from footplate.detail import windows  # noqa: F401 - as the hooks of torch do

    step = 0
    while True:
        with footplate.step(step):
            for part, ms in PARTS.items():
                with footplate.span(part):
                    time.sleep(ms / 1000)
        step += 1


main()
