# SPDX-License-Identifier: Apache-2.0
"""Python profiles of a run: windows in which functions were counted or the stack was looked at,
recorded by Footplate or imported (pyinstrument). cProfile's own files, which only Python can read,
are read by read_cprofile."""

from __future__ import annotations

import marshal
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from .frames import Frames, Table, to_ns
from .loader import arguments

TRACK: Final = "python profile"
JOB_PHASES: Final = ("initialization", "training_loop", "finalization")
SORTS: Final = ("self_s", "total_s", "calls", "primitive_calls")


class Window(NamedTuple):
    """One profile: from when to when, of whom."""

    profiler: str | None
    timer: str | None
    node: str
    rank: int | None
    pid: int
    phase: str | None
    start_step: int | None
    end_step: int | None
    start_ns: int
    end_ns: int
    functions: list[dict[str, Any]]
    start_mode: str | None = None  # what the job was doing when it began, and ended
    end_mode: str | None = None


def _step(text: str | None) -> int | None:
    number = int(text) if text and text.lstrip("-").isdigit() else -1
    return number if number >= 0 else None


def _function(name: str, calls: Any, seconds: float, args: Mapping[str, str]) -> dict[str, Any]:
    counted = int(args.get("calls") or calls or 0)
    return {
        "function": name,
        "file": args.get("file"),
        "line": _step(args.get("line")),
        "calls": counted or None,
        "primitive_calls": int(args["primitive_calls"]) if "primitive_calls" in args else None,
        "self_s": seconds,
        "total_s": float(args.get("total_s") or seconds),
    }


def windows_of(events: Table) -> list[Window]:
    """All profiles; the functions of each are on its track, in its time."""
    threads = [w.startswith(TRACK) for w in events["thread"].words]
    rows = [i for i, c in enumerate(events["thread"].data) if c >= 0 and threads[c]]
    starts, ends = events["start"].data, events["end"].data
    found: dict[tuple[Any, ...], Window] = {}
    loose: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for i, e in zip(rows, events.take(rows).itertuples(), strict=True):
        key = (e.node, e.pid, e.thread, int(starts[i]))
        args = arguments(e.args)
        if e.name != TRACK:
            loose.append((key, _function(e.name, e.value, e.duration_s, args)))
            continue
        phase = e.thread.removeprefix(TRACK).removeprefix(": ") or None
        steps = _step(args.get("start_step")), _step(args.get("end_step"))
        who = (args.get("profiler") or None, args.get("timer") or None, e.node, e.rank, e.pid)
        found[key] = Window(*who, phase, *steps, int(starts[i]), int(ends[i]), [])
    for key, function in loose:
        if key in found:
            found[key].functions.append(function)
    return sorted(found.values(), key=lambda w: (w.start_ns, w.node, w.pid, w.phase or ""))


class Profiles:
    """`list()` lists the profiles; `stats()` sums up the functions of the chosen ones."""

    def __init__(self, events: Table, info: Mapping[str, Any], frame: Frames) -> None:
        self._info = info
        self._frame = frame
        self._windows = [self._with_modes(w) for w in windows_of(events)]

    @classmethod
    def of_windows(cls, windows: Iterable[Window], frame: Frames) -> Profiles:
        """Of windows that recorded what the job was doing."""
        self = cls.__new__(cls)
        self._info, self._frame = {}, frame
        self._windows = sorted(windows, key=lambda w: (w.start_ns, w.node, w.pid))
        return self

    def _with_modes(self, w: Window) -> Window:
        phases = self._info.get("phases") or []

        def at(t: int) -> str | None:
            """What begins before the job or ends after it belongs to its first or last phase."""
            later = [p["phase"] for p in phases if t < p["end_ns"]]
            return later[0] if later else phases[-1]["phase"] if phases else None

        return w._replace(start_mode=at(w.start_ns), end_mode=at(max(w.end_ns - 1, w.start_ns)))

    def __len__(self) -> int:
        return len(self._windows)

    def list(self) -> Any:
        """profiler, timer, node, rank, pid, phase, job_phase, start_mode, end_mode, start_step,
        end_step, start, end, duration_s, functions."""
        rows = [
            w._asdict()
            | {"start": w.start_ns, "end": w.end_ns, "job_phase": self._job_phase(w)}
            | {"functions": len(w.functions), "duration_s": (w.end_ns - w.start_ns) / 1e9}
            for w in self._windows
        ]
        kinds = dict.fromkeys(("profiler", "timer", "node"), "category")
        kinds |= {"rank": "int?", "pid": "int", "phase": "category", "job_phase": "category"}
        kinds |= {"start_mode": "category", "end_mode": "category"}
        kinds |= {"start_step": "int?", "end_step": "int?", "start": "time", "end": "time"}
        return self._frame(Table.of_rows(rows, kinds | {"duration_s": "float", "functions": "int"}))

    def stats(
        self,
        *,
        steps: tuple[int, int] | None = None,
        start: Any = None,
        end: Any = None,
        phase: str | None = None,
        job_phase: str | None = None,
        modes: tuple[str, str] | None = None,
        node: str | None = None,
        rank: int | None = None,
        sort: str = "self_s",
        top: int | None = 10,
    ) -> Any:
        """Functions of the matching profiles, summed up: function, file, line, calls,
        primitive_calls, self_s, total_s; longest first, `top` of them (None: all).

        steps=(a, b): profiles of steps that overlap these. start, end: that begin or end in this
        time. phase: data, forward, backward, ... (None: those of whole windows). job_phase:
        initialization (before the first step), training_loop, finalization (after the last).
        modes=(a, b): that began while the job was in the one and ended in the other (train, eval,
        initialization, finalization)."""
        if sort not in SORTS:
            raise ValueError(f"sort must be one of {', '.join(SORTS)}")
        if job_phase is not None and job_phase not in JOB_PHASES:
            raise ValueError(f"job_phase must be one of {', '.join(JOB_PHASES)}")
        chosen = [
            w
            for w in self._windows
            if w.phase == phase
            and (node is None or w.node == node)
            and (rank is None or w.rank == rank)
            and (steps is None or _has_steps(w, steps))
            and _in_time(w, to_ns(start), to_ns(end))
            and (job_phase is None or self._job_phase(w) == job_phase)
            and (modes is None or (w.start_mode, w.end_mode) == modes)
        ]
        return self._frame(_added(chosen, sort, top))

    def by_phase(self, *, sort: str = "self_s", top: int | None = 10) -> dict[str, Any]:
        """stats() for each recorded phase of the steps."""
        phases = dict.fromkeys(w.phase for w in self._windows if w.phase)
        return {p: self.stats(phase=p, sort=sort, top=top) for p in phases}

    def by_job_phase(self, *, sort: str = "self_s", top: int | None = 10) -> dict[str, Any]:
        """stats() before the first step, in the training loop, and after the last step."""
        return {p: self.stats(job_phase=p, sort=sort, top=top) for p in JOB_PHASES}

    def _job_phase(self, w: Window) -> str:
        if not self._info:
            mode = w.start_mode or ""
            return mode if mode in JOB_PHASES else "training_loop"
        start, end = self._info.get("loop_start_ns"), self._info.get("loop_end_ns")
        if start is None or w.end_ns <= start:
            return "initialization"
        return "finalization" if end is not None and w.start_ns >= end else "training_loop"


def _has_steps(w: Window, steps: tuple[int, int]) -> bool:
    if w.start_step is None:
        return False
    last = w.end_step if w.end_step is not None else w.start_step
    return w.start_step <= steps[1] and last >= steps[0]


def _in_time(w: Window, start: int, end: int) -> bool:
    if not start and not end:
        return True
    return any((not start or t >= start) and (not end or t <= end) for t in (w.start_ns, w.end_ns))


def _added(windows: Iterable[Window], sort: str, top: int | None) -> Table:
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for w in windows:
        for f in w.functions:
            key = (f["file"], f["line"], f["function"])
            row = rows.get(key)
            if row is None:
                rows[key] = dict(f)
                continue
            for name in SORTS:
                if f[name] is not None:
                    row[name] = (row[name] or 0) + f[name]
    found = sorted(rows.values(), key=lambda r: -(r[sort] or 0))[:top]
    kinds = {"function": "object", "file": "object", "line": "int?", "calls": "int?"}
    kinds |= {"primitive_calls": "int?", "self_s": "float", "total_s": "float"}
    return Table.of_rows(found, kinds)


# ---- files of cProfile ----

# train-0-stepstart-1700000009000000.5_train-1-stepend-1700000010000000.0, or older
# 1700000009000000.0_1700000010000000.0_27-algo-1_3
_SIDE: Final = r"([a-z]+)-(\d+|\*)-([a-z]+)-(\d+)(?:\.\d+)?"
_NEW: Final = re.compile(f"{_SIDE}_{_SIDE}$")
_OLD: Final = re.compile(r"(\d{16})(?:\.\d+)?_(\d{16})(?:\.\d+)?_(.+)_(-?\d+)$")
_MODES: Final = {"prestepzero": "initialization", "posthookclose": "finalization"}


def read_cprofile(folder: str | os.PathLike[str], *, frames: str | None = None) -> Profiles:
    """The cProfile files (`python_stats`) below a folder, as SageMaker's profiler left them. They
    are in Python's own marshal format, which is not safe against manipulated files."""
    windows = []
    for root, folders, files in os.walk(folder):
        folders.sort()
        if "python_stats" in files:
            window = _window_of(root)
            if window is not None:
                with open(os.path.join(root, "python_stats"), "rb") as f:
                    windows.append(window._replace(functions=_rows_of(marshal.load(f))))
    return Profiles.of_windows(windows, Frames(frames))


def _window_of(path: str) -> Window | None:
    name, worker = os.path.basename(path), os.path.basename(os.path.dirname(path))
    new, old = _NEW.match(name), _OLD.match(name)
    if new:
        mode, step, _, start, end_mode, end_step, _, end = new.groups()
        steps = _step(step), _step(end_step)
        modes: tuple[str | None, str | None] = (
            _MODES.get(mode, mode),
            _MODES.get(end_mode, end_mode),
        )
    elif old:
        start, end, worker, step = old.groups()
        steps = _step(step), _step(step)
        modes = ("initialization", None) if step == "-1" else (None, None)
    else:
        return None
    pid, _, node = worker.partition("-")
    who = ("cprofile", None, node or worker, None, int(pid) if pid.isdigit() else 0)
    return Window(*who, None, *steps, int(start) * 1000, int(end) * 1000, [], *modes)


def _rows_of(stats: Mapping[tuple[str, int, str], tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [
        {
            "function": name,
            "file": file,
            "line": line,
            "calls": calls,
            "primitive_calls": primitive,
            "self_s": self_s,
            "total_s": total_s,
        }
        for (file, line, name), (primitive, calls, self_s, total_s, *_) in stats.items()
    ]
