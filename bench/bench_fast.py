# SPDX-License-Identifier: Apache-2.0
"""Sampling every 10 ms: the job's processes and control group at 10 ms, the machine at 100 ms."""

from __future__ import annotations

import contextlib
import statistics
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


def one_turn(contender: Contender, context: Context, seconds: int) -> tuple[list[float], float]:
    """Percent of a core in each second, and waits per second."""
    with contender(context) as process:
        time.sleep(SETTLE_S)
        waits = procs.wakeups(process.pid)
        shares = procs.cpu_by_window(process.pid, seconds)
        waits = procs.wakeups(process.pid) - waits
    return [100 * share for share in shares], waits / seconds


def run(context: Context, result: Result) -> None:
    rounds, seconds = (3, 4) if context.quick else (8, 5)
    turns: dict[str, list[tuple[list[float], float]]] = {name: [] for name in CONTENDERS}
    for _ in range(rounds):
        for name, contender in CONTENDERS.items():
            turns[name].append(one_turn(contender, context, seconds))
    for what, measure in (("median second", statistics.median), ("mean", statistics.fmean)):
        percent = {
            name: measure([share for windows, _ in values for share in windows])
            for name, values in turns.items()
        }
        ours = percent["footplate"]
        for name in ("miniagent", "empty wake-up"):
            first = name == "miniagent"
            result.lines.append(
                Line(
                    f"share of one core at 10 ms, {what}",
                    ours,
                    "%",
                    "at most 1 %" if first else "",
                    ours <= 1 if first else None,
                    name,
                    percent[name],
                    ours / percent[name],
                )
            )
    by_turn = spread([statistics.median(windows) for windows, _ in turns["footplate"]])
    waits = statistics.median(waits for _, waits in turns["footplate"])
    result.notes.append(
        f"medians over the seconds of {rounds} turns of {seconds} s; ours {by_turn.low:.2f} to "
        f"{by_turn.high:.2f} % from turn to turn; {waits:.0f} waits a second, all threads together"
    )
    result.detail = {"percent_each_second_and_waits": turns}
