# SPDX-License-Identifier: Apache-2.0
"""Operators of chosen steps through JAX's own profiler, whose trace is written again in the shape
that the importer knows. A profiler of the program's own has the right of way: when one runs the
window is left out, and when one starts the window ends.
"""

import glob
import gzip
import json
import re
import shutil
import sys
import tempfile
import time

from .. import _safe
from . import chrome_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .config import Ask

_DEVICE = re.compile(r"/device:\w+:(\d+)")
_STREAM = re.compile(r"[Ss]tream\D*(\d+)")


class _State:
    running: "JaxWindow | None" = None
    starting = False


def make_way() -> None:
    """Somebody starts a trace."""
    ours = _State.running
    if ours is not None and not _State.starting:
        _safe.tell_loss("detail window", "the program started its own profiler")
        ours.drop()


class JaxWindow:
    """See windows.py for the order of calls."""

    def __init__(self) -> None:
        self.profiler: Any = sys.modules["jax"].profiler
        self.steps = chrome_file.Steps()
        self.base_ns = 0
        self.folder = ""

    def prepare(self) -> None:
        """Nothing is slow the first time."""

    def _options(self) -> "dict[str, Any]":
        """Without a call of every Python function, where that can be said."""
        if not hasattr(self.profiler, "ProfileOptions"):
            return {}
        options = self.profiler.ProfileOptions()
        options.python_tracer_level = 0
        return {"profiler_options": options}

    def start(self, step: int) -> None:
        self.folder = tempfile.mkdtemp(prefix="footplate-")
        _State.starting = True
        try:
            self.base_ns = time.time_ns()
            self.profiler.start_trace(self.folder, **self._options())
        finally:
            _State.starting = False
        _State.running = self
        self.steps.begin(step, time.time_ns())

    def _check(self) -> None:
        if _State.running is not self:
            raise RuntimeError("the program uses its own profiler")

    def step(self, number: "int | None") -> None:
        self._check()
        if number is None:
            self.steps.end(time.time_ns())
        else:
            self.steps.begin(number, time.time_ns())

    def stop(self, about: "dict[str, Any]") -> "Callable[[str], None]":
        self._check()
        self.steps.end(time.time_ns())
        _State.running = None
        self.profiler.stop_trace()

        def finish(path: str) -> None:
            try:
                chrome_file.write(path, about, self.base_ns, self._rows())
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)

        return finish

    def _rows(self) -> "Iterator[dict[str, Any]]":
        yield from self.steps.rows(self.base_ns)
        for path in glob.glob(f"{self.folder}/**/*.trace.json.gz", recursive=True):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                yield from rows_of(json.load(file)["traceEvents"])

    def drop(self) -> None:
        if _State.running is self:
            _State.running = None
            self.profiler.stop_trace()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


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
        device, stream = _DEVICE.search(plane), _STREAM.search(line)
        at, took = float(event["ts"]), float(event.get("dur", 0.0))
        if device and stream:
            name = str(event["name"])
            yield chrome_file.device_span(name, int(device[1]), int(stream[1]), at, took)
        elif not device:
            category = "python_function" if str(event["name"]).startswith("$") else "cpu_op"
            yield chrome_file.span(event["name"], category, f"{line} {tid}", at, took)


def make(ask: "Ask") -> JaxWindow:
    return JaxWindow()
