# SPDX-License-Identifier: Apache-2.0
"""Operators and breakdown of a trace of two million events, from the stored run."""

from __future__ import annotations

import json
import subprocess
import time

import traces
from bench_import import cpu_and_memory
from harness import BENCH, Context, Line, Result

EVENTS = 2_000_000
GOAL_S = 0.5
GOAL_PANDAS = 20.0


def _make_run(context: Context, events: int) -> tuple[traces.Trace, str, int]:
    """A run with that many events at least."""
    source = traces.short(context)[0]
    home = str(context.scratch / "ops")
    command = [context.footplate, "import", "--json", "--dir", home]
    out = subprocess.run([*command, str(source.path)], check=True, capture_output=True).stdout
    each = json.loads(out)["counts"]["kept"]
    long = traces.long(context, source, source.json_bytes * (events // each + 1))
    out = subprocess.run([*command, str(long.path)], check=True, capture_output=True).stdout
    long.path.unlink()
    answer = json.loads(out)
    return source, answer["run"], answer["counts"]["kept"]


def _turn(command: list[str]) -> tuple[float, float, float]:
    """CPU seconds, peak MB, seconds of the clock."""
    begin = time.perf_counter()
    cpu, mb = cpu_and_memory(command)
    return cpu, mb, time.perf_counter() - begin


def _best(turns: list[tuple[float, float, float]]) -> dict[str, float]:
    return {
        "s": min(t[0] for t in turns),
        "wall_s": min(t[2] for t in turns),
        "mb": max(t[1] for t in turns),
    }


def _peer(title: str, seconds: float, peer: str, theirs: float, goal: float = 0) -> Line:
    ratio = theirs / seconds
    text, met = (f"at least {goal:.0f} x", ratio >= goal) if goal else ("", None)
    return Line(title, seconds, "s", text, met, peer, theirs, ratio)


def _lines(what: str, ours: dict[str, float], pandas: dict[str, float], n: int) -> list[Line]:
    alone = pandas[f"{what}_s"]
    loaded = alone + pandas["load_s"]
    title = f"{what} of {n / 1e6:.1f} M events"
    return [
        Line(title, ours["s"], "s", "at most 0.5 s", ours["s"] <= GOAL_S),
        _peer(title, ours["s"], "pandas groupby, columns in memory", alone),
        _peer(title, ours["s"], "pandas, from the trace", loaded, GOAL_PANDAS),
        Line(f"{title}, by the clock", ours["wall_s"], "s"),
    ]


def run(context: Context, result: Result) -> None:
    events, rounds = (500_000, 3) if context.quick else (EVENTS, 7)
    source, path, n = _make_run(context, events)
    script = str(BENCH / "peer_pandas.py")
    command = [context.python, script, str(source.path), str(n), str(rounds)]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    for what in ("ops", "breakdown"):
        command = [context.footplate, what, "--json", path]
        ours = _best([_turn(command) for _ in range(rounds)])
        result.lines += _lines(what, ours, theirs, n)
        result.detail[what] = ours
    result.detail["pandas"] = theirs
    result.notes.append(
        "ours: CPU time of the whole command. It opens the run, decodes it, nests the spans, ties "
        "kernels to their operators and prints. pandas: groupby of count, sum, mean and max over "
        "columns of categories in memory, with no nesting and no self time"
    )
