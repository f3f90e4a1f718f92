# SPDX-License-Identifier: Apache-2.0
"""What readings cost that grow with the job or its neighbours: the waits of each thread for a core,
and the look at programs outside of the job while the node is busy."""

from __future__ import annotations

import contextlib
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import procs
from harness import Context, Line, Result

INTERVAL = "500ms"
SETTLE_S = 5.0
THREADS = (64, 256)
OFF = "--no-other-processes"
# Idle threads, and one that wakes up now and then.
JOB = """
import sys, threading, time
for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)
"""


@contextlib.contextmanager
def busy_node() -> Iterator[None]:
    with contextlib.ExitStack() as all_of_them:
        for _ in range(os.cpu_count() or 1):
            all_of_them.enter_context(procs.running(["sh", "-c", "while :; do :; done"]))
        yield


def one_turn(context: Context, threads: int, seconds: int, *options: str) -> float:
    """Percent of a core that the recorder used."""
    job = [sys.executable, "-S", "-c", JOB, str(threads)]
    folder = context.scratch / "readings"
    command = [context.footplate, "run", "-q", "--no-hooks", "--no-rules", "--interval", INTERVAL]
    with procs.running([*command, *options, "--dir", str(folder), "--", *job]) as process:
        time.sleep(SETTLE_S)
        before = procs.cpu_seconds(process.pid)
        time.sleep(seconds)
        return 100 * (procs.cpu_seconds(process.pid) - before) / seconds


def processes() -> int:
    return sum(entry.name.isdigit() for entry in Path("/proc").iterdir())


def run(context: Context, result: Result) -> None:
    rounds, seconds = (2, 20) if context.quick else (6, 40)
    turns: dict[str, list[float]] = {}

    def turn(name: str, threads: int, *options: str) -> None:
        turns.setdefault(name, []).append(one_turn(context, threads, seconds, *options))

    for _ in range(rounds):
        turn("one", 1)
        for threads in THREADS:
            turn(str(threads), threads)
        with busy_node():
            turn("named", 1)
            turn("not named", 1, OFF)
    percent = {name: statistics.median(values) for name, values in turns.items()}
    for threads in THREADS:
        added = percent[str(threads)] - percent["one"]
        result.lines.append(
            Line(
                f"share of one core at {INTERVAL}, a job of {threads} threads",
                percent[str(threads)],
                "%",
                "at most 0.15 % more",
                added <= 0.15,
                "of one thread",
                percent["one"],
                percent[str(threads)] / percent["one"],
            )
        )
    result.lines.append(
        Line(
            f"share of one core at {INTERVAL} on a busy node, programs of others named",
            percent["named"],
            "%",
            "at most 0.05 % more",
            percent["named"] - percent["not named"] <= 0.05,
            OFF,
            percent["not named"],
            percent["named"] / percent["not named"],
        )
    )
    result.notes.append(
        f"medians of {rounds} turns of {seconds} s; about {processes()} processes on the machine"
    )
    result.detail = {"percent": turns}
