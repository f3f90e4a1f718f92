# SPDX-License-Identifier: Apache-2.0
"""What windows of TensorFlow and JAX share: a profiler of the framework's own leaves files in a
folder, which are read back and written again in the shape that the importer knows. A profiler of
the program's own has the right of way: when one runs the window is left out, and when one starts
the window ends.
"""

import glob
import re
import shutil
import tempfile
import time

from .. import _safe
from . import chrome_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

DEVICE = re.compile(r"/device:\w+:(\d+)")
STREAM = re.compile(r"[Ss]tream\D*(\d+)")


class _State:
    running: "TraceWindow | None" = None  # one at a time
    starting = False


def make_way() -> None:
    """Somebody starts a profiler."""
    ours = _State.running
    if ours is not None and not _State.starting:
        _safe.report_loss("detail window", "the program started its own profiler")
        ours.drop()


class TraceWindow:
    """See windows.py for the order of calls. A framework adds how its profiler is used."""

    files = ""  # what the profiler leaves, as a pattern of names

    def __init__(self) -> None:
        self.steps = chrome_file.Steps()
        self.base_ns = 0
        self.folder = ""

    def own_runs(self) -> bool:
        """Whether the program profiles by itself; when that cannot be told, starting fails."""
        return False

    def begin_trace(self) -> None:
        raise NotImplementedError

    def end_trace(self, keep: bool) -> None:
        """Its files are there then, or are not wanted."""
        raise NotImplementedError

    def rows_of(self, path: str) -> "Iterable[dict[str, Any]]":
        raise NotImplementedError

    def prepare(self) -> None:
        if _State.running is not None or self.own_runs():
            raise _safe.Refusal("another profiler is active")

    def start(self, step: int) -> None:
        self.prepare()
        self.folder = tempfile.mkdtemp(prefix="footplate-")
        _State.starting = True
        try:
            self.base_ns = time.time_ns()
            self.begin_trace()
        finally:
            _State.starting = False
        _State.running = self
        self.steps.begin(step, time.time_ns())

    def _check(self) -> None:
        if _State.running is not self:
            raise _safe.Refusal("the program uses its own profiler")

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
        self.end_trace(keep=True)

        def finish(path: str) -> None:
            try:
                chrome_file.write(path, about, self.base_ns, self._rows())
            finally:
                self._remove()

        return finish

    def _rows(self) -> "Iterator[dict[str, Any]]":
        yield from self.steps.rows(self.base_ns)
        for path in glob.glob(f"{self.folder}/**/{self.files}", recursive=True):
            yield from self.rows_of(path)

    def drop(self) -> None:
        if _State.running is self:
            _State.running = None
            self.end_trace(keep=False)
        self._remove()

    def _remove(self) -> None:
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
