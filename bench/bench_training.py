# SPDX-License-Identifier: Apache-2.0
"""What recording costs the job: the step time of a training with and without Footplate.

Two trainings take turns, plain and recorded, many times; which one goes first changes with each
round. A round's result is the recorded one's median step over the plain one's, so what slows the
machine for longer than a round cancels out, and what hits single steps does not count. The
confidence interval of the median over all rounds is taken by bootstrap. Plain is also compared with
plain, taken in the same way, which shows what difference this machine makes out of nothing."""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import tempfile

from harness import Context, Line, Result, bootstrap_median, spread

GOAL_PERCENT = 0.5


def median_step(context: Context, steps: int, recorded: bool, folder: pathlib.Path) -> float:
    out = folder / "steps.json"
    script = str(context.tool_source("train_step.py"))
    command = [context.python, script, str(steps), str(out)]
    if recorded:
        ours = [context.footplate, "run", "--quiet", "--dir", str(folder), "--interval", "100ms"]
        command = [*ours, "--", *command]
    subprocess.run(command, check=True, capture_output=True)
    times: list[float] = json.loads(out.read_text())
    return statistics.median(times)


def one_round(context: Context, steps: int, turn: int, folder: pathlib.Path) -> dict[str, float]:
    order = ["plain", "recorded", "plain again"]
    order = order[turn % 3 :] + order[: turn % 3]
    return {kind: median_step(context, steps, kind == "recorded", folder) for kind in order}


def run(context: Context, result: Result) -> None:
    rounds, steps = (6, 200) if context.quick else (30, 500)
    with tempfile.TemporaryDirectory(dir=context.scratch) as folder:
        taken = [one_round(context, steps, i, pathlib.Path(folder)) for i in range(rounds)]

    def percent(kind: str) -> list[float]:
        base = {"recorded": "plain", "plain again": "plain"}[kind]
        return [100 * (r[kind] / r[base] - 1) for r in taken]

    recorded, again = percent("recorded"), percent("plain again")
    low, high = bootstrap_median(recorded)
    none_low, none_high = bootstrap_median(again)
    middle, nothing = statistics.median(recorded), statistics.median(again)
    step = spread([r["plain"] for r in taken])
    result.lines += [
        Line(
            "longer step with recording at 100 ms",
            middle,
            "%",
            "below 0.5 %",
            middle < GOAL_PERCENT,
            "plain against plain",
            nothing,
        ),
        Line("the interval's upper end", high, "%", "below 0.5 %", high < GOAL_PERCENT),
    ]
    result.notes += [
        f"{rounds} rounds of {steps} steps of {step.median:.2f} ms ({step.low:.2f} to "
        f"{step.high:.2f}); 95 % interval of the difference {low:+.2f} to {high:+.2f} %, of plain "
        f"against plain {none_low:+.2f} to {none_high:+.2f} %",
        f"within noise (the interval holds 0): {'yes' if low <= 0 <= high else 'no'}",
    ]
    result.detail = {"rounds": taken, "interval": [low, high], "plain": [none_low, none_high]}
