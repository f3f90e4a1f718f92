# SPDX-License-Identifier: Apache-2.0
"""Python functions of chosen steps: how often they were called and how long they took, for the
whole window and for each phase of its steps. Main thread only.

cprofile counts every call. Its timers: total_time and default (the clock), cpu_time (the thread's
CPU), off_cpu_time (the difference of the two: waiting). `sampling` looks at the stack about every
millisecond instead, costs less, and knows no numbers of calls.

What is in the file is in docs/hooks.md.
"""

import cProfile
import json
import os
import sys
import threading
import time

from .. import _safe
from ..hooks import torch_marks as marks
from . import boundary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .config import Ask

    Key = tuple[str, int, str]  # file, line, name
    Row = tuple[int, int, float, float]  # calls, primitive calls, self s, total s
    Table = dict[Key, Row]

PHASES = ("data", "forward", "backward", "optimizer", "zero_grad", "checkpoint")
MOST_FUNCTIONS = 5000
MOST_TAKEN = 256  # phases whose statistics are kept whole
MOST_FRAMES = 5000  # of the tree of stacks
MOST_DEPTH = 60  # the innermost frames of a deeper stack
PERIOD_S = 0.001
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _off_cpu(clock: "Any" = time.perf_counter, cpu: "Any" = time.thread_time) -> float:
    return float(clock() - cpu())


_TIMERS: "dict[str, tuple[Any, ...]]" = {
    "default": (),
    "total_time": (),
    "cpu_time": (time.thread_time,),
    "off_cpu_time": (_off_cpu,),
}


def key_of(code: "Any") -> "Key":
    if isinstance(code, str):
        return "~", 0, code
    return code.co_filename, code.co_firstlineno, getattr(code, "co_qualname", code.co_name)


def table_of(stats: "Any") -> "Table":
    """cProfile's statistics without our own functions and what they called."""
    table: Table = {}
    of_ours: list[Any] = []
    for one in stats:
        key = key_of(one.code)
        if key[0].startswith(_OURS):
            of_ours += one.calls or ()
        else:
            primitive = one.callcount - one.reccallcount
            table[key] = one.callcount, primitive, one.inlinetime, one.totaltime
    for one in of_ours:
        key = key_of(one.code)
        row = table.get(key)
        if row is not None:
            primitive = one.callcount - one.reccallcount
            given = (one.callcount, primitive, one.inlinetime, one.totaltime)
            table[key] = tuple(max(r - g, 0) for r, g in zip(row, given, strict=True))
    return {key: row for key, row in table.items() if row[0]}


def add_difference(table: "Table", later: "Table", earlier: "Table") -> None:
    """What was added from `earlier` to `later`, to the table."""
    none = (0, 0, 0.0, 0.0)
    for key, row in later.items():
        before = earlier.get(key, none)
        if row != before:
            old = table.get(key, none)
            table[key] = tuple(o + r - b for o, r, b in zip(old, row, before, strict=True))  # type: ignore[assignment]


def rows(table: "Table") -> "list[dict[str, Any]]":
    """As in the file: the ones with the most time of their own first."""
    theirs = sorted(table.items(), key=lambda item: -item[1][2])
    return [
        {
            "file": key[0],
            "line": key[1],
            "name": key[2],
            "calls": row[0],
            "primitive_calls": row[1],
            "self_s": round(max(row[2], 0.0), 9),
            "total_s": round(max(row[3], 0.0), 9),
        }
        for key, row in theirs[:MOST_FUNCTIONS]
    ]


class Frame:
    """A function below the functions that called it, and the time of all samples in it."""

    __slots__ = ("calls", "self_s", "total_s")

    def __init__(self) -> None:
        self.calls: dict[Key, Frame] = {}
        self.self_s = 0.0
        self.total_s = 0.0


def stack_rows(root: Frame) -> "list[dict[str, Any]]":
    """The tree as in the file: each frame before those that it called, with its depth."""
    out: list[dict[str, Any]] = []
    todo = [(0, key, frame) for key, frame in root.calls.items()]
    todo.sort(key=lambda one: one[2].total_s)
    while todo:
        depth, (file, line, name), frame = todo.pop()
        out.append(
            {
                "depth": depth,
                "file": file,
                "line": line,
                "name": name,
                "self_s": round(frame.self_s, 9),
                "total_s": round(frame.total_s, 9),
            }
        )
        below = [(depth + 1, key, one) for key, one in frame.calls.items()]
        todo += sorted(below, key=lambda one: one[2].total_s)
    return out


class _PhaseWindow:
    """Knows in which phase the main thread is. Phases within phases belong to the outer one."""

    profiler = ""
    timer = "default"

    def __init__(self) -> None:
        self.main = threading.get_ident()
        self.inner = 0
        self.phase = "other"
        self.listeners: list[tuple[str, Any, Any]] = []

    def prepare(self) -> None:
        """Nothing is slow the first time."""

    def _listen(self) -> None:
        for phase in PHASES:
            begin = _safe.guard("python window")(self._begin_of(phase))
            end = _safe.guard("python window")(self._end)
            marks.listen(phase, begin, end)
            self.listeners.append((phase, begin, end))

    def _enter_first(self) -> None:
        """The window begins where a phase does, and nobody tells us of that one."""
        if boundary.phase():
            self.inner = 1
            self.entered(boundary.phase())

    def _unlisten(self) -> None:
        for phase, begin, end in self.listeners:
            marks.unlisten(phase, begin, end)
        self.listeners.clear()

    def _begin_of(self, phase: str) -> "Callable[[], None]":
        def begin() -> None:
            if threading.get_ident() != self.main:
                return
            self.inner += 1
            if self.inner == 1:
                self.entered(phase)

        return begin

    def _end(self) -> None:
        if threading.get_ident() == self.main and self.inner:
            self.inner -= 1
            if self.inner == 0:
                self.left()

    def entered(self, phase: str) -> None:
        self.phase = phase

    def left(self) -> None:
        self.phase = "other"

    def _file(self, about: "dict[str, Any]", whole: "Table", phases: "dict[str, Table]") -> "Any":
        return {
            "version": 1,
            "profiler": self.profiler,
            "timer": self.timer,
            **about,
            "functions": rows(whole),
            "phases": {name: rows(table) for name, table in phases.items() if table},
        }


class CallWindow(_PhaseWindow):
    """Every call, by cProfile. What a phase adds is the difference of the statistics at its end and
    at its beginning; they are taken apart later."""

    profiler = "cprofile"

    def __init__(self, timer: str) -> None:
        super().__init__()
        self.timer = timer
        self.profile: cProfile.Profile | None = None
        self.begun: Any = None
        self.taken: list[tuple[str, Any, Any]] = []
        self.phases: dict[str, Table] = {}

    def start(self, step: int) -> None:
        if sys.getprofile() is not None:
            raise _safe.Refusal("another profiler is active")
        self.profile = cProfile.Profile(*_TIMERS[self.timer])
        self._listen()
        self._enter_first()
        self.profile.enable()

    def entered(self, phase: str) -> None:
        super().entered(phase)
        self.begun = self.profile.getstats()  # type: ignore[union-attr]

    def left(self) -> None:
        self.taken.append((self.phase, self.begun, self.profile.getstats()))  # type: ignore[union-attr]
        super().left()
        if len(self.taken) >= MOST_TAKEN:
            self._fold()

    def _fold(self) -> None:
        for phase, begun, ended in self.taken:
            add_difference(self.phases.setdefault(phase, {}), table_of(ended), table_of(begun))
        self.taken.clear()

    def _end_profile(self) -> None:
        self._unlisten()
        if self.profile is not None:
            self.profile.disable()

    def stop(self, about: "dict[str, Any]") -> "Callable[[str], None]":
        self._end_profile()
        whole = self.profile.getstats()  # type: ignore[union-attr]

        def finish(path: str) -> None:
            self._fold()
            write(path, self._file(about, table_of(whole), self.phases))

        return finish

    def drop(self) -> None:
        self._end_profile()


class SampleWindow(_PhaseWindow):
    """The main thread's stack, about every millisecond, from a thread of ours."""

    profiler = "sampling"

    def __init__(self) -> None:
        super().__init__()
        self.over = threading.Event()
        self.thread: threading.Thread | None = None
        self.phases: dict[str, Table] = {}
        self.root = Frame()
        self.frames = 0

    def start(self, step: int) -> None:
        self._listen()
        self._enter_first()
        self.thread = threading.Thread(
            target=self._run, args=(time.perf_counter(),), name="footplate-sampler", daemon=True
        )
        self.thread.start()

    @_safe.guard("python window")
    def _run(self, last: float) -> None:
        while not self.over.wait(PERIOD_S):
            now = time.perf_counter()
            if self.over.is_set():  # the main thread waits for us: that is not the program
                return
            phase = self.phase  # right before the look: no other thread runs in between
            frame = sys._current_frames().get(self.main)
            if frame is not None:
                self._take(phase, frame, now - last)
            last = now

    def _take(self, phase: str, frame: "Any", took: float) -> None:
        table = self.phases.setdefault(phase, {})
        seen = set()
        stack: list[Key] = []
        own = took  # to the innermost function that is not ours
        while frame is not None:
            key = key_of(frame.f_code)
            if not key[0].startswith(_OURS):
                calls, primitive, self_s, total = table.get(key, (0, 0, 0.0, 0.0))
                table[key] = calls, primitive, self_s + own, total + (0 if key in seen else took)
                seen.add(key)
                stack.append(key)
                own = 0.0
            frame = frame.f_back
        self._add_stack(stack[:MOST_DEPTH], took)

    def _add_stack(self, stack: "list[Key]", took: float) -> None:
        """Innermost first. When the tree is full, the time goes to the frame that is known."""
        at = self.root
        for key in reversed(stack):
            below = at.calls.get(key)
            if below is None:
                if self.frames >= MOST_FRAMES:
                    break
                below = at.calls[key] = Frame()
                self.frames += 1
            below.total_s += took
            at = below
        at.self_s += took

    def _end_thread(self) -> None:
        self._unlisten()
        self.over.set()
        if self.thread is not None:
            self.thread.join()

    def stop(self, about: "dict[str, Any]") -> "Callable[[str], None]":
        self._end_thread()
        whole: Table = {}
        for table in self.phases.values():
            add_difference(whole, table, {})
        if not whole:
            _safe.report_loss("python window", "over before the first sample")
        self.phases.pop("other", None)

        def finish(path: str) -> None:
            stacks = {"stacks": stack_rows(self.root)}
            write(path, self._file(about, whole, self.phases) | stacks)

        return finish

    def drop(self) -> None:
        self._end_thread()


def write(path: str, what: "Any") -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file)


def make(ask: "Ask") -> _PhaseWindow:
    return SampleWindow() if ask.profiler == "sampling" else CallWindow(ask.timer)
