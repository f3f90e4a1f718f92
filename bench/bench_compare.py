# SPDX-License-Identifier: Apache-2.0
"""Two days against each other: 24 h, 96 cores, 8 GPUs and 864 000 steps each, rules included."""

from __future__ import annotations

import json
import pathlib
import shutil
import statistics
import subprocess
import time

from harness import BENCH, Context, Line, Result, Skipped

GOAL_S = 2.0


def _days(context: Context, hours: float, steps: int) -> list[pathlib.Path]:
    first, second = (context.scratch / f"compare-{name}" for name in "ab")
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


def run(context: Context, result: Result) -> None:
    hours, steps, rounds = (6.0, 216_000, 3) if context.quick else (24.0, 864_000, 7)
    days = _days(context, hours, steps)
    turns = [_turn(context, days) for _ in range(rounds)]
    seconds = statistics.median(t[0] for t in turns)
    told = turns[0][1]
    result.lines.append(
        Line(
            f"two runs of {hours:g} h with {steps // 1000} 000 steps, rules included",
            seconds,
            "s",
            f"at most {GOAL_S:g} s",
            seconds <= GOAL_S,
            note=f"worst of {rounds}: {max(t[0] for t in turns):.2f} s; verdict "
            f"{told['verdict']} over {told['step_time']['a']['count']} steps",
        )
    )
    result.detail = {"s": [t[0] for t in turns]}
    try:
        theirs = _numpy_s(context, steps)
    except Skipped as why:
        result.notes.append(f"SKIPPED numpy: {why}")
        return
    result.lines.append(
        Line("the same", seconds, "s", "", None, "numpy, interval alone", theirs, theirs / seconds)
    )
    result.notes.append(
        "numpy: a moving-block bootstrap of the difference of means, 999 draws of all steps, from "
        "arrays in memory; no reading, no rules, no parts, no quantiles"
    )
