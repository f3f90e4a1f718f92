# SPDX-License-Identifier: Apache-2.0
"""Operators of chosen steps through TensorFlow's own profiler.

TensorFlow writes a protocol buffer (xplane.pb) and nothing else from 2.11 on; its own class reads
it back, and it is written again as a Chrome trace. A profiler of the program's own has the
right of way: when one runs the window is left out, and when one starts the window ends.
"""

import glob
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

_EPOCH_NS = 10**15  # a time above it is a wall clock's, not one since the profile's start
_DEVICE = re.compile(r"/device:\w+:(\d+)")
_STREAM = re.compile(r"[Ss]tream\D*(\d+)")


class _State:
    running: "TfWindow | None" = None


def make_way() -> None:
    """The program starts a profiler of its own."""
    ours = _State.running
    if ours is not None and ours.session is not None:
        _safe.tell_loss("detail window", "the program started its own profiler")
        ours.drop()


class TfWindow:
    """See windows.py for the order of calls."""

    def __init__(self) -> None:
        profiler: Any = sys.modules["tensorflow.python.profiler.profiler_v2"]
        self.own_runs: Callable[[], bool] = lambda: profiler._profiler is not None
        self.options = profiler.ProfilerOptions(host_tracer_level=2, device_tracer_level=1)
        self.make_session: Any = profiler._pywrap_profiler.ProfilerSession
        self.session: Any = None
        self.steps = chrome_file.Steps()
        self.base_ns = 0
        self.dropped = False

    def prepare(self) -> None:
        if self.own_runs():
            raise RuntimeError("another profiler is active")

    def start(self, step: int) -> None:
        self.prepare()
        self.session = self.make_session()
        self.folder = tempfile.mkdtemp(prefix="footplate-")
        self.base_ns = time.time_ns()
        self.session.start(self.folder, dict(self.options._asdict()))
        _State.running = self
        self.steps.begin(step, time.time_ns())

    def step(self, number: "int | None") -> None:
        if self.dropped:
            raise RuntimeError("the program uses its own profiler")
        if number is None:
            self.steps.end(time.time_ns())
        else:
            self.steps.begin(number, time.time_ns())

    def stop(self, about: "dict[str, Any]") -> "Callable[[str], None]":
        if self.dropped:
            raise RuntimeError("the program uses its own profiler")
        self.steps.end(time.time_ns())
        session, self.session, _State.running = self.session, None, None
        session.export_to_tb()

        def finish(path: str) -> None:
            try:
                chrome_file.write(path, about, self.base_ns, self._rows())
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)

        return finish

    def _rows(self) -> "Iterator[dict[str, Any]]":
        yield from self.steps.rows(self.base_ns)
        for path in glob.glob(f"{self.folder}/**/*.xplane.pb", recursive=True):
            with open(path, "rb") as file:
                yield from rows_of(file.read(), self.base_ns)

    def drop(self) -> None:
        self.dropped = True
        session, self.session, _State.running = self.session, None, None
        if session is not None:
            session.stop()
            shutil.rmtree(self.folder, ignore_errors=True)


def rows_of(xspace: bytes, base_ns: int) -> "Iterator[dict[str, Any]]":
    """Threads of the CPU, and streams of devices; not what the profiler has made of them."""
    try:
        from tensorflow.tsl.profiler.protobuf import xplane_pb2  # type: ignore
    except ImportError:
        from tensorflow.core.profiler.protobuf import xplane_pb2  # type: ignore

    for plane in xplane_pb2.XSpace.FromString(xspace).planes:
        device = _DEVICE.search(plane.name)
        names = {number: about.name for number, about in plane.event_metadata.items()}
        for line in plane.lines:
            stream = _STREAM.search(line.name)
            if (device is None) != plane.name.startswith("/host:") or (device and not stream):
                continue
            begin_ns = line.timestamp_ns
            if begin_ns > _EPOCH_NS:
                begin_ns -= base_ns
            for event in line.events:
                at, took = begin_ns / 1e3 + event.offset_ps / 1e6, event.duration_ps / 1e6
                name = names.get(event.metadata_id, "?")
                if device and stream:
                    yield chrome_file.device_span(name, int(device[1]), int(stream[1]), at, took)
                elif event.duration_ps:
                    yield chrome_file.span(name, "cpu_op", line.name, at, took)


def make(ask: "Ask") -> "Any":
    """Keras on JAX may have TensorFlow loaded for its datasets only."""
    config = sys.modules.get("keras.src.backend.config")
    if config is not None and config.backend() == "jax" and "jax" in sys.modules:
        from . import jax_window

        return jax_window.make(ask)
    return TfWindow()
