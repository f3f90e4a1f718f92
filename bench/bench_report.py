# SPDX-License-Identifier: Apache-2.0
"""The report of a day: 96 cores, 8 GPUs, 10 samples a second; its time and size."""

from __future__ import annotations

import pathlib
import statistics
import subprocess
import time

from bench_rules import pandas_s
from harness import Context, Line, Result, Skipped

GOAL_S, GOAL_BYTES = 1.0, 1_000_000
STEPS_AN_HOUR = 200_000 / 24  # of the node that the rules are measured with
MANY_STEPS_AN_HOUR = 36_000  # ten a second


def day(context: Context, hours: int, steps: int) -> pathlib.Path:
    folder = context.scratch / "report-runs" / f"day-{steps}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        command = [context.tool("bench_rules"), "day", folder, hours, steps]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return folder


def seconds(context: Context, *words: str | pathlib.Path) -> float:
    begin = time.monotonic()
    command = [context.footplate, *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def measure(
    context: Context, folder: pathlib.Path, page: pathlib.Path
) -> tuple[float, float, list[tuple[float, float]]]:
    rounds = [
        (seconds(context, "report", folder, "-o", page), seconds(context, "check", folder))
        for _ in range(3 if context.quick else 7)
    ]
    ours = statistics.median(whole for whole, _ in rounds)
    return ours, statistics.median(alone for _, alone in rounds), rounds


def note(rounds: list[tuple[float, float]], rules: float) -> str:
    worst = max(whole for whole, _ in rounds)
    return f"worst of {len(rounds)}: {worst:.2f} s; 'check' alone, the same rules: {rules:.2f} s"


def run(context: Context, result: Result) -> None:
    hours = 6 if context.quick else 24
    steps, many = round(hours * STEPS_AN_HOUR), hours * MANY_STEPS_AN_HOUR
    page = context.scratch / "report.html"
    ours, rules, rounds = measure(context, day(context, hours, steps), page)
    size = page.stat().st_size
    try:
        peer: float | None = pandas_s(context, hours, steps)
    except Skipped as why:
        peer = None
        result.notes.append(f"no peer: {why}")
    result.lines.append(
        Line(
            f"report of a node of {hours} h, {steps // 1000} 000 steps",
            ours,
            "s",
            f"at most {GOAL_S:g} s",
            ours <= GOAL_S,
            "pandas, five rules alone" if peer else "",
            peer,
            peer / ours if peer else None,
            note(rounds, rules),
        )
    )
    result.lines.append(
        Line(
            "size of the page", size / 1000, "kB", f"at most {GOAL_BYTES // 1000} kB",
            size <= GOAL_BYTES,
        )
    )  # fmt: skip
    ours, rules, more = measure(context, day(context, hours, many), page)
    name = f"the same with {many // 1000} 000 steps"
    result.lines.append(Line(name, ours, "s", "", None, note=note(more, rules)))
    result.detail = {"rounds": rounds, "rounds_many_steps": more, "bytes": size}
