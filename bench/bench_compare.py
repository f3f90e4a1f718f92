# SPDX-License-Identifier: Apache-2.0
"""Two days against each other: 24 h, 96 cores and 8 GPUs each, rules included."""

from __future__ import annotations

import json
import pathlib
import shutil
import statistics
import subprocess
import time

from bench_report import MANY_STEPS_AN_HOUR, STEPS_AN_HOUR
from harness import BENCH, Context, Line, Result, Skipped

GOAL_S = 2.0


def _days(context: Context, hours: float, steps: int) -> list[pathlib.Path]:
    first, second = (context.scratch / f"compare-{steps}-{name}" for name in "ab")
    command = [context.tool("bench_rules"), "day", str(first), f"{hours:g}", str(steps)]
    subprocess.run(command, check=True, capture_output=True)
    shutil.copytree(first, second)
    file = second / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"id": "b", "name": "b"}))
    return [first, second]


def _turn(context: Context, days: list[pathlib.Path]) -> tuple[float, dict]:
    command = [context.footplate, "compare", "--json", *map(str, days)]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start, json.loads(done.stdout)


def _numpy_s(context: Context, steps: int) -> float:
    command = [context.python, str(BENCH / "peer_bootstrap.py"), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Skipped(done.stderr.strip()[-200:])
    return json.loads(done.stdout)["s"]


def _measure(
    context: Context, hours: float, steps: int, rounds: int, goal_s: float | None
) -> tuple[Line, list[float]]:
    days = _days(context, hours, steps)
    turns = [_turn(context, days) for _ in range(rounds)]
    seconds = statistics.median(t[0] for t in turns)
    told = turns[0][1]
    line = Line(
        f"two runs of {hours:g} h with {steps // 1000} 000 steps, rules included",
        seconds,
        "s",
        f"at most {goal_s:g} s" if goal_s else "",
        seconds <= goal_s if goal_s else None,
        note=f"worst of {rounds}: {max(t[0] for t in turns):.2f} s; verdict "
        f"{told['verdict']} over {told['step_time']['a']['count']} steps",
    )
    return line, [t[0] for t in turns]


def run(context: Context, result: Result) -> None:
    hours, rounds = (6.0, 3) if context.quick else (24.0, 7)
    steps, many = round(hours * STEPS_AN_HOUR), round(hours * MANY_STEPS_AN_HOUR)
    line, turns = _measure(context, hours, steps, rounds, GOAL_S)
    more_line, more = _measure(context, hours, many, rounds, None)
    result.lines += [line, more_line]
    result.detail = {"s": turns, "s_many_steps": more}
    seconds = statistics.median(turns)
    try:
        theirs = _numpy_s(context, steps)
    except Skipped as why:
        result.notes.append(f"SKIPPED numpy: {why}")
        return
    result.lines.append(
        Line(
            "the first of these",
            seconds,
            "s",
            "",
            None,
            "numpy, interval alone",
            theirs,
            theirs / seconds,
        )
    )
    result.notes.append(
        "numpy: a moving-block bootstrap of the difference of means, 999 draws of all steps, from "
        "arrays in memory; no reading, no rules, no parts, no quantiles"
    )
