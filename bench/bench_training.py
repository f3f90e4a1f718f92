# SPDX-License-Identifier: Apache-2.0
"""What recording costs the job: the step time of a training with and without Footplate.

One training runs through; a recorder is attached to it and taken away again, block by block. A
round has three blocks, plain, recorded and plain again, whose order changes from round to round.
The first part of a block, in which the recorder starts, is left out. A round's result is the
recorded block over the mean of its two plain ones, so what slows the machine for longer than a
round cancels out; the result is the median over all rounds with its confidence interval
(bootstrap). Plain against plain, from the same rounds, shows what difference this machine makes out
of nothing.

A block counts twice: by its median step, and by the mean of all but its slowest hundredth. A sample
every 100 ms can meet one step in twenty, which the median does not see and the mean does."""

from __future__ import annotations

import bisect
import contextlib
import json
import pathlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator

import procs
from harness import Context, Line, Result, bootstrap_median, spread

GOAL_PERCENT = 0.5
KINDS = ("plain", "recorded", "plain again")
START_S = 0.5  # of a block, left out
FEWEST_STEPS = 20  # in a block

Block = tuple[str, float, float]  # kind, from, to
Steps = list[tuple[float, float]]  # when, ms


@contextlib.contextmanager
def training(context: Context, seconds: float, out: pathlib.Path) -> Iterator[int]:
    """The process id, once it trains."""
    script = str(context.tool_source("train_step.py"))
    command = [context.python, script, str(seconds), str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout
        process.stdout.readline()
        yield process.pid
        process.wait(timeout=60)
    finally:
        procs.stop(process)


def one_block(context: Context, kind: str, pid: int, seconds: float, folder: str) -> Block:
    command = [context.footplate, "attach", "--quiet", "--dir", folder, "--interval", "100ms"]
    with contextlib.ExitStack() as stack:
        if kind == "recorded":
            stack.enter_context(procs.running([*command, "--pid", str(pid)]))
        time.sleep(START_S)
        begin = time.monotonic()
        time.sleep(seconds)
        return kind, begin, time.monotonic()


def take_rounds(context: Context, rounds: int, seconds: float) -> tuple[list[list[Block]], Steps]:
    whole = rounds * len(KINDS) * (seconds + START_S + 0.2)
    taken = []
    with tempfile.TemporaryDirectory(dir=context.scratch) as folder:
        out = pathlib.Path(folder) / "steps.json"
        with training(context, whole, out) as pid:
            for turn in range(rounds):
                first = turn % len(KINDS)
                order = KINDS[first:] + KINDS[:first]
                taken.append([one_block(context, k, pid, seconds, folder) for k in order])
        steps: Steps = [(at, ms) for at, ms in json.loads(out.read_text())]
    return taken, steps


def mean_but_slowest(times: list[float]) -> float:
    return statistics.fmean(sorted(times)[: max(1, len(times) * 99 // 100)])


MEASURES: dict[str, Callable[[list[float]], float]] = {
    "median step": statistics.median,
    "mean of 99 % of the steps": mean_but_slowest,
}

Rounds = list[dict[str, list[float]]]  # step times by kind of block


def sort_steps(taken: list[list[Block]], steps: Steps) -> Rounds:
    """The steps of each block. A round that the training did not live through is left out."""
    starts = [at for at, _ in steps]
    rounds: Rounds = []
    for blocks in taken:
        one = {}
        for kind, begin, end in blocks:
            part = steps[bisect.bisect_left(starts, begin) : bisect.bisect_left(starts, end)]
            one[kind] = [ms for _, ms in part]
        if min(len(times) for times in one.values()) >= FEWEST_STEPS:
            rounds.append(one)
    return rounds


def compare(rounds: Rounds, what: str, result: Result) -> None:
    measure = MEASURES[what]
    by_round = [{kind: measure(times) for kind, times in r.items()} for r in rounds]
    recorded = [100 * (2 * r["recorded"] / (r["plain"] + r["plain again"]) - 1) for r in by_round]
    plain = [100 * (r["plain again"] / r["plain"] - 1) for r in by_round]
    low, high = bootstrap_median(recorded)
    plain_low, plain_high = bootstrap_median(plain)
    middle = statistics.median(recorded)
    decided = high < GOAL_PERCENT or low > GOAL_PERCENT
    verdict = middle < GOAL_PERCENT if decided else None
    result.lines.append(
        Line(
            f"{what}: longer with recording",
            middle,
            "%",
            "below 0.5 %",
            verdict,
            "plain against plain",
            statistics.median(plain),
            note=f"{what}: 95 % interval {low:+.2f} to {high:+.2f} %, of plain against plain "
            f"{plain_low:+.2f} to {plain_high:+.2f} %; the difference is "
            f"{'within' if low <= 0 <= high else 'NOT within'} noise"
            f"{'' if decided else ', and the noise too large to say on which side of 0.5 % it is'}",
        )
    )
    result.detail[what] = {
        "rounds": by_round,
        "percent": recorded,
        "interval": [low, high],
        "plain_interval": [plain_low, plain_high],
    }


def run(context: Context, result: Result) -> None:
    rounds, seconds = (12, 1.5) if context.quick else (40, 2.0)
    taken, steps = take_rounds(context, rounds, seconds)
    kept = sort_steps(taken, steps)
    for what in MEASURES:
        compare(kept, what, result)
    step = spread([statistics.median(r["plain"]) for r in kept])
    result.notes.append(
        f"{len(kept)} rounds of 3 blocks of {seconds:g} s, {len(steps)} steps of "
        f"{step.median:.2f} ms ({step.low:.2f} to {step.high:.2f} between rounds)"
    )
