# SPDX-License-Identifier: Apache-2.0
"""Operators of chosen steps through TensorFlow's own profiler.

TensorFlow writes a protocol buffer (xplane.pb) and nothing else from 2.11 on; its own class reads
it back.
"""

import sys

from . import chrome_file
from .trace_window import DEVICE, STREAM, TraceWindow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .config import Ask

_EPOCH_NS = 10**15  # a time above it is a wall clock's, not one since the profile's start


class TfWindow(TraceWindow):
    files = "*.xplane.pb"

    def __init__(self) -> None:
        super().__init__()
        self.profiler: Any = sys.modules["tensorflow.python.profiler.profiler_v2"]
        self.session: Any = None

    def own_runs(self) -> bool:
        return self.profiler._profiler is not None

    def begin_trace(self) -> None:
        options = self.profiler.ProfilerOptions(host_tracer_level=2, device_tracer_level=1)
        self.session = self.profiler._pywrap_profiler.ProfilerSession()
        self.session.start(self.folder, dict(options._asdict()))

    def end_trace(self, keep: bool) -> None:
        session, self.session = self.session, None
        if keep:
            session.export_to_tb()
        else:
            session.stop()

    def rows_of(self, path: str) -> "Iterator[dict[str, Any]]":
        with open(path, "rb") as file:
            yield from rows_of(file.read(), self.base_ns)


def rows_of(xspace: bytes, base_ns: int) -> "Iterator[dict[str, Any]]":
    """Threads of the CPU, and streams of devices; not what the profiler has made of them."""
    try:
        from tensorflow.tsl.profiler.protobuf import xplane_pb2  # type: ignore
    except ImportError:
        from tensorflow.core.profiler.protobuf import xplane_pb2  # type: ignore

    for plane in xplane_pb2.XSpace.FromString(xspace).planes:
        device = DEVICE.search(plane.name)
        names = {number: about.name for number, about in plane.event_metadata.items()}
        for line in plane.lines:
            stream = STREAM.search(line.name)
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
