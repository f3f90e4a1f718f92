# SPDX-License-Identifier: Apache-2.0
"""The report of a day: 96 cores, 8 GPUs, 10 samples and 10 steps a second; its time and size."""

from __future__ import annotations

import pathlib
import statistics
import subprocess
import time

from bench_rules import pandas_s
from harness import Context, Line, Result, Skipped

GOAL_S, GOAL_BYTES = 1.0, 1_000_000


def day(context: Context, hours: int) -> pathlib.Path:
    folder = context.scratch / "report-runs" / "day"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        command = [context.tool("bench_rules"), "day", folder, hours, hours * 36_000]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return folder


def seconds(context: Context, *words: str | pathlib.Path) -> float:
    begin = time.monotonic()
    command = [context.footplate, *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def run(context: Context, result: Result) -> None:
    hours = 6 if context.quick else 24
    folder = day(context, hours)
    page = context.scratch / "report.html"
    rounds = [
        (seconds(context, "report", folder, "-o", page), seconds(context, "check", folder))
        for _ in range(3 if context.quick else 7)
    ]
    ours = statistics.median(whole for whole, _ in rounds)
    rules = statistics.median(alone for _, alone in rounds)
    try:
        peer: float | None = pandas_s(context, hours, hours * 36_000)
    except Skipped as why:
        peer = None
        result.notes.append(f"no peer: {why}")
    result.lines.append(
        Line(
            f"report of a node of {hours} h",
            ours,
            "s",
            f"at most {GOAL_S:g} s",
            ours <= GOAL_S,
            "pandas, five rules alone" if peer else "",
            peer,
            peer / ours if peer else None,
            f"worst of {len(rounds)}: {max(whole for whole, _ in rounds):.2f} s; 'check' alone, "
            f"with the same rules: {rules:.2f} s",
        )
    )
    size = page.stat().st_size
    result.lines.append(
        Line(
            "size of the page", size / 1000, "kB", f"at most {GOAL_BYTES // 1000} kB",
            size <= GOAL_BYTES,
        )
    )  # fmt: skip
    result.detail = {"rounds": rounds, "bytes": size}
