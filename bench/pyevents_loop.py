# SPDX-License-Identifier: Apache-2.0
"""pyevents_loop.py OUT ROUNDS LIBRARY [near]: what calls cost in this Python, in ns, as JSON.

A burst is shorter than a ring and is read before the next, so that no event is dropped: that would
be another path. By a recorder: this then runs below `footplate run`, and pauses for it. Or `near`,
by this process itself, which only says that it has read: what the instructions cost when the ring's
memory is in the CPU's cache, as it is for a program that does not emit at full rate.
"""

from __future__ import annotations

import cProfile
import ctypes
import json
import mmap
import os
import pathlib
import statistics
import struct
import sys
import time
from collections.abc import Callable
from itertools import repeat

from footplate import _core

BURST = 3000  # calls; a span is two events, and a ring holds 16320
PAUSE_S = 0.03

# src/ring/ring_layout.h: where the heads of the rings are, and in each its head, owner and tail
HEADS_AT, HEAD_BYTES, OWNER_AT, TAIL_AT, RINGS = 4096, 128, 16, 64, 64

Loop = Callable[[], float]


def timed(statement: str, **names: object) -> Loop:
    """A function that runs the statement BURST times and gives ns for one. Its names are local
    variables of the loop, as timeit has them."""
    source = (
        f"def loop({', '.join(['it', 'clock', *names])}):\n    begin = clock()\n    for _ in it:\n"
        f"        {statement}\n    return clock() - begin\n"
    )
    scope: dict[str, Callable[..., int]] = {}
    exec(source, scope)
    loop = scope["loop"]
    return lambda: loop(repeat(None, BURST), time.perf_counter_ns, **names) / BURST


def profiled() -> float:
    """One call of a Python function under cProfile."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        return call()
    finally:
        profile.disable()


def near_reader() -> Callable[[], None]:
    """Stands in for the recorder: all that was written counts as read."""
    folder = pathlib.Path(os.environ["FOOTPLATE_RING"])
    with next(folder.glob(f"ring-{os.getpid()}-*")).open("r+b") as file:
        ring = mmap.mmap(file.fileno(), HEADS_AT + RINGS * HEAD_BYTES)
    heads = [HEADS_AT + i * HEAD_BYTES for i in range(RINGS)]
    mine = next(
        at for at in heads if struct.unpack_from("I", ring, at + OWNER_AT)[0] == os.getpid()
    )

    def read() -> None:
        ring[mine + TAIL_AT : mine + TAIL_AT + 8] = ring[mine : mine + 8]

    return read


def function() -> None:
    pass


name = _core.intern("bench")
call = timed("f()", f=function)
library = ctypes.CDLL(sys.argv[3])
library.fp_mark.argtypes = [ctypes.c_uint32]
library.fp_mark.restype = None
library.fp_intern.argtypes = [ctypes.c_char_p]
library.fp_intern.restype = ctypes.c_uint32

LOOPS: dict[str, Loop] = {
    "empty": timed("pass"),
    "bare": timed("f(n)", f=_core.nothing, n=name),
    "tick": timed("f(n)", f=_core.tick, n=name),
    "mark": timed("f(n)", f=_core.mark, n=name),
    "begin": timed("f(n)", f=_core.begin, n=name),
    "count": timed("f(n, 5)", f=_core.count, n=name),
    "span": timed("with s: pass", s=_core.Span(name)),
    "call": call,
    "cprofile": profiled,
    "ctypes": timed("f(n)", f=library.fp_mark, n=library.fp_intern(b"bench")),
}
try:
    from torch.profiler import record_function

    LOOPS["record_function"] = timed("with f('bench'): pass", f=record_function)
except ImportError:
    pass

assert _core.enabled()
_core.mark(name)
near = near_reader() if "near" in sys.argv else None
if near:
    del LOOPS["ctypes"]  # has a ring of its own
taken: dict[str, list[float]] = {key: [] for key in LOOPS}
for _ in range(int(sys.argv[2])):
    for key, one in LOOPS.items():
        taken[key].append(one())
        if near:
            near()
        else:
            time.sleep(PAUSE_S)
with open(sys.argv[1], "w") as out:
    json.dump(
        {
            "python": sys.version.split()[0],
            "median": {key: statistics.median(values) for key, values in taken.items()},
            "best": {key: min(values) for key, values in taken.items()},
        },
        out,
    )
