# SPDX-License-Identifier: Apache-2.0
"""Python threads that compute beside the training loop: their CPU time, and in which function. And
where the loop itself is between two steps.

Read about once a second at the end of a step, from the loop's thread, which costs some
microseconds per thread. A thread's CPU clock is read by its number: one that has ended gives an
error and is left out. The function is where the thread happens to be, in a file of the program.
Between steps is from where a step ends to where the loop began to iterate over its loader.
"""

import sys
import time

from .. import _core, _safe
from . import _waits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

_BESIDE = _core.intern("cpu.beside")
BUSY_NS = 50_000_000  # since the last reading: less is not worth a name
MOST_PLACES = 32
MOST_FRAMES = 24
MOST_FUNCTION, MOST_FILE, MOST_LINE = 22, 20, 22  # characters; a name has 62 bytes


class _State:
    total = 0
    seen: "dict[int, int]" = {}  # CPU time by thread
    places: "dict[str, tuple[int, int]]" = {}  # name: its number, CPU time or readings
    fetched = ""  # where the loop iterates over its loader


def _clock(tid: int) -> "int | None":
    """The CPU time of a thread in ns; None: it has ended."""
    try:
        return time.clock_gettime_ns((~tid << 3) | 6)  # CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED
    except OSError:
        return None


def _place(frame: "FrameType | None") -> str:
    """ "thread.ns FUNCTION FILE:LINE" of the innermost function that is the program's own."""
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        code = frame.f_code
        file = _waits.describe(code.co_filename)
        if file and not code.co_filename.startswith(sys.base_prefix + "/lib/"):
            name = code.co_name.strip("<>").replace(" ", "_")
            return f"thread.ns {name[:MOST_FUNCTION]} {file[-MOST_FILE:]}:{code.co_firstlineno}"
        frame = frame.f_back
    return ""


def _add(name: str, ns: int) -> None:
    if not name or (name not in _State.places and len(_State.places) >= MOST_PLACES):
        return
    number, before = _State.places.get(name) or (_core.intern(name), 0)
    _State.places[name] = number, before + ns
    _core.count(number, before + ns)


def _line(frame: "FrameType | None") -> str:
    """ "FILE:LINE" where the innermost function of the program is."""
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        path = frame.f_code.co_filename
        if _waits.is_own(path):
            return f"{_waits.describe(path)}:{frame.f_lineno}".replace(" ", "_")[-MOST_LINE:]
        frame = frame.f_back
    return ""


def iterates() -> None:
    """The loop begins to iterate over its loader here."""
    _State.fetched = _line(sys._getframe(1))


def _look_between() -> None:
    ended = _line(sys._getframe(1)) if _State.fetched else ""
    if ended and ended != _State.fetched:
        _add(f"between.calls {ended} {_State.fetched}", 1)


def _look(threading: "Any") -> None:
    seen: dict[int, int] = {}
    me = threading.get_ident()
    busy: list[tuple[int, int]] = []
    for ident, thread in list(threading._active.items()):
        tid: int = getattr(thread, "_native_id", 0) or 0  # Dynamo would compile its property
        now = _clock(tid) if tid and ident != me else None
        if now is None:
            continue
        grown = max(now - _State.seen.get(tid, 0), 0)
        seen[tid] = now
        _State.total += grown
        if grown >= BUSY_NS:
            busy.append((ident, grown))
    _State.seen = seen
    _core.count(_BESIDE, _State.total)
    frames = sys._current_frames() if busy else {}
    for ident, grown in busy:
        _add(_place(frames.get(ident)), grown)


@_safe.guard("threads")
def look() -> None:
    _look_between()
    threading = sys.modules.get("threading")
    if threading is not None:
        _look(threading)


def watch() -> None:
    """From now on; can be called again."""
    _waits.find_roots()
    _core.each_second(look)
