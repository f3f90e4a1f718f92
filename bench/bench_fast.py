# SPDX-License-Identifier: Apache-2.0
"""Sampling every 10 ms: the job's processes and control group at 10 ms, the machine at 100 ms."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator

import procs
from bench_sample import GROUP_CPU_FILES, Contender
from harness import Context, Line, Result, spread

SETTLE_S = 1.5


@contextlib.contextmanager
def footplate(context: Context) -> Iterator[subprocess.Popen[bytes]]:
    with procs.recorder(context, "10ms") as (process, _):
        yield process


def mini(every: int) -> Contender:
    @contextlib.contextmanager
    def contender(context: Context) -> Iterator[subprocess.Popen[bytes]]:
        files = [path for path in GROUP_CPU_FILES if context.readable(path)]
        with procs.sleeper() as job:
            command = [context.tool("miniagent"), "10", str(every), str(job.pid), *files]
            with procs.running(command) as process:
                yield process

    return contender


CONTENDERS: dict[str, Contender] = {
    "footplate": footplate,
    "miniagent": mini(10),
    "empty wake-up": mini(0),
}


def one_turn(contender: Contender, context: Context, seconds: float) -> tuple[float, float]:
    """Percent of a core, and waits per second."""
    with contender(context) as process:
        time.sleep(SETTLE_S)
        cpu, wall = procs.cpu_seconds(process.pid), time.monotonic()
        waits = procs.wakeups(process.pid)
        time.sleep(seconds)
        cpu = procs.cpu_seconds(process.pid) - cpu
        wall = time.monotonic() - wall
        waits = procs.wakeups(process.pid) - waits
    return 100 * cpu / wall, waits / wall


def run(context: Context, result: Result) -> None:
    rounds, seconds = (3, 4.0) if context.quick else (5, 6.0)
    turns: dict[str, list[tuple[float, float]]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name, contender in CONTENDERS.items():
            turns[name].append(one_turn(contender, context, seconds))
    percent = {name: spread([t[0] for t in values]) for name, values in turns.items()}
    ours = percent["footplate"]
    for name in ("miniagent", "empty wake-up"):
        over = [a[0] / b[0] for a, b in zip(turns["footplate"], turns[name], strict=True)]
        first = name == "miniagent"
        result.lines.append(
            Line(
                "share of one core at 10 ms",
                ours.median,
                "%",
                "at most 1 %" if first else "",
                ours.median <= 1 if first else None,
                name,
                percent[name].median,
                spread(over).median,
            )
        )
    waits = spread([t[1] for t in turns["footplate"]]).median
    result.notes.append(
        f"{rounds} rounds of {seconds:g} s in turns; ours {ours.low:.2f} to {ours.high:.2f} %; "
        f"{waits:.0f} waits a second, all threads together"
    )
    result.detail = {"percent_and_waits": turns}
