# SPDX-License-Identifier: Apache-2.0
"""Operators of chosen steps through JAX's own profiler."""

import gzip
import json
import sys

from . import chrome_file
from .trace_window import DEVICE, STREAM, TraceWindow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .config import Ask


class JaxWindow(TraceWindow):
    files = "*.trace.json.gz"

    def __init__(self) -> None:
        super().__init__()
        self.profiler: Any = sys.modules["jax"].profiler

    def _options(self) -> "dict[str, Any]":
        """Without a call of every Python function, where that can be set."""
        if not hasattr(self.profiler, "ProfileOptions"):
            return {}
        options = self.profiler.ProfileOptions()
        options.python_tracer_level = 0
        return {"profiler_options": options}

    def begin_trace(self) -> None:
        self.profiler.start_trace(self.folder, **self._options())

    def end_trace(self, keep: bool) -> None:
        self.profiler.stop_trace()

    def rows_of(self, path: str) -> "Iterator[dict[str, Any]]":
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from rows_of(json.load(file)["traceEvents"])


def rows_of(events: "list[dict[str, Any]]") -> "Iterator[dict[str, Any]]":
    """Threads of the CPU, and streams of devices; not what the profiler has made of them."""
    names: dict[tuple[Any, ...], str] = {}
    for event in events:
        if event.get("ph") == "M" and event.get("name") in ("process_name", "thread_name"):
            key = (event["name"][0], event["pid"], event.get("tid") or 0)
            names[key] = event["args"]["name"]
    for event in events:
        if event.get("ph") != "X":
            continue
        pid, tid = event["pid"], event.get("tid") or 0
        plane, line = names.get(("p", pid, 0), ""), names.get(("t", pid, tid), "")
        device, stream = DEVICE.search(plane), STREAM.search(line)
        at, took = float(event["ts"]), float(event.get("dur", 0.0))
        if device and stream:
            name = str(event["name"])
            yield chrome_file.device_span(name, int(device[1]), int(stream[1]), at, took)
        elif not device:
            category = "python_function" if str(event["name"]).startswith("$") else "cpu_op"
            yield chrome_file.span(event["name"], category, f"{line} {tid}", at, took)


def make(ask: "Ask") -> JaxWindow:
    return JaxWindow()
