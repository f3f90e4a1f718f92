# SPDX-License-Identifier: Apache-2.0
"""What an event costs from Python, and what the hooks add to Python's start.

Calls are measured in bursts that fit into a ring, one kind after the other in each round; a number
is the median over the rounds. The start is measured as CPU time of
`python -c pass`, with and without hooks in turn."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import resource
import subprocess
import tempfile
from collections.abc import Iterator

from harness import Context, Line, Result, spread

CALL_NS = 15.0
SPAN_NS = {"3.10": 65.0, "3.11": 65.0}
SPAN_NEWER_NS = 110.0
IMPORT_MS = 30.0


Calls = dict[str, dict[str, float]]


def loop(context: Context, rounds: int, near: bool) -> Calls:
    out = context.scratch / "pyevents.json"
    library = context.build / "src" / "emit" / "libfootplate.so"
    script = str(context.tool_source("pyevents_loop.py"))
    command = [context.python, script, str(out), str(rounds), str(library)]
    if near:
        with ring_folder() as ring:
            env = os.environ | {"FOOTPLATE_RING": ring, "PYTHONPATH": str(package(context))}
            subprocess.run([*command, "near"], check=True, env=env)
    else:
        runs = str(context.scratch / "runs")
        run = [context.footplate, "run", "--quiet", "--dir", runs, "--"]
        subprocess.run([*run, *command], check=True, capture_output=True)
    return json.loads(out.read_text())


def package(context: Context) -> pathlib.Path:
    return context.build / "python"


@contextlib.contextmanager
def ring_folder() -> Iterator[str]:
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="footplate-bench-", dir=where) as folder:
        yield folder


def start_ms(python: str, env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([python, "-c", "pass"], check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def starts(context: Context, rounds: int) -> tuple[list[float], list[float]]:
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "FOOTPLATE_RING")}
    plain.pop("PYTHONDONTWRITEBYTECODE", None)  # else our modules are compiled at each start
    with ring_folder() as ring:
        bootstrap = package(context) / "footplate" / "_bootstrap"
        hooked = plain | {"PYTHONPATH": str(bootstrap), "FOOTPLATE_RING": ring}
        start_ms(context.python, hooked)
        taken: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            taken[0].append(start_ms(context.python, plain))
            taken[1].append(start_ms(context.python, hooked))
            for file in pathlib.Path(ring).iterdir():
                file.unlink()
    return taken


def call_lines(near: Calls, recorded: Calls, result: Result) -> None:
    ns, far = near["median"], recorded["median"]
    version = str(near["python"])
    span_goal = SPAN_NS.get(version.rpartition(".")[0], SPAN_NEWER_NS)
    call, span = ns["mark"] - ns["bare"], ns["span"] - ns["empty"]
    whole, tick = ns["mark"] - ns["empty"], ns["tick"] - ns["bare"]
    cprofile = ns["cprofile"] - ns["call"]
    ctypes = far["ctypes"] - far["empty"]
    torch = ns["record_function"] - ns["empty"]
    read = "read by a recorder in between, from memory that has gone to another core:"
    result.lines += [
        Line(
            "one event, over a bare call",
            *(call, "ns", f"at most {CALL_NS:g} ns", call <= CALL_NS),
            *("cProfile, per call", cprofile, cprofile / call),
            f"Python {version}; a bare call of a C function is {ns['bare'] - ns['empty']:.1f} ns",
        ),
        Line(
            "the same without reading the CPU's counter",
            *(call - tick, "ns", "", None, "the counter, over a bare call", tick),
        ),
        Line(
            "one event, the whole call",
            *(whole, "ns", "", None, "ctypes", ctypes, ctypes / whole),
            f"one event, {read} {far['mark'] - far['bare']:.1f} ns over a bare call",
        ),
        Line("one counter, the whole call", ns["count"] - ns["empty"], "ns"),
        Line(
            "with span: (two events)",
            *(span, "ns", f"at most {span_goal:g} ns", span <= span_goal),
            *("torch record_function, no profiler", torch, torch / span),
            f"with span, {read} {far['span'] - far['empty']:.1f} ns",
        ),
    ]


def run(context: Context, result: Result) -> None:
    near = loop(context, 200 if context.quick else 1000, True)
    recorded = loop(context, 15 if context.quick else 60, False)
    call_lines(near, recorded, result)
    plain, hooked = starts(context, 15 if context.quick else 50)
    added = spread(hooked).median - spread(plain).median
    result.lines.append(
        Line(
            "start of Python, added",
            *(added, "ms", f"at most {IMPORT_MS:g} ms", added <= IMPORT_MS),
            *("start without hooks", spread(plain).median),
            note=f"CPU time, medians of {len(plain)} starts in turn",
        )
    )
    result.detail = {
        "near": near,
        "recorded": recorded,
        "plain_ms": plain,
        "hooked_ms": hooked,
    }
