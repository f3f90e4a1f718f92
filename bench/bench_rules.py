# SPDX-License-Identifier: Apache-2.0
"""All rules over a finished 24-h node, over many nodes, and once a minute while a run lives."""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess

from harness import BENCH, Context, Line, Result, Skipped

GOAL_NODE_S, GOAL_64_S, GOAL_LIVE_MS = 1.0, 30.0, 5.0
CORES, GPUS = 96, 8


def tool(context: Context, *words: str | pathlib.Path) -> dict:
    command = [context.tool("bench_rules"), *map(str, words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def pandas_s(context: Context, hours: float, steps: int) -> float:
    file = context.scratch / "rules-cells"
    file.write_bytes(context.cells(hours))
    command = [context.python, str(BENCH / "peer_rules.py"), str(file)]
    command += [str(CORES), str(GPUS), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    file.unlink()
    if done.returncode:
        raise Skipped(done.stderr.strip()[-200:])
    return json.loads(done.stdout)["s"]


def one_node(context: Context, result: Result, day: pathlib.Path, hours: float) -> dict:
    rounds = [tool(context, "check", day) for _ in range(3 if context.quick else 7)]
    middle = statistics.median_low([r["total_s"] for r in rounds])
    (got,) = [r for r in rounds if r["total_s"] == middle][:1]
    result.lines.append(
        Line(
            f"all {got['rules']} rules, a node of {hours:g} h, from the medium",
            middle,
            "s",
            f"at most {GOAL_NODE_S:g} s",
            middle <= GOAL_NODE_S,
            note=f"worst of {len(rounds)}: {max(r['total_s'] for r in rounds):.2f} s; CPU time "
            f"{statistics.median(r['cpu_s'] for r in rounds):.2f} s; peak memory "
            f"{got['peak_mb']:.0f} MB; opening is {got['open_s'] * 1e3:.0f} ms of it",
        )
    )
    return got


def many_nodes(context: Context, result: Result, day: pathlib.Path, hours: float) -> list[dict]:
    curve = []
    for n in (4, 16, 64):
        folder = context.scratch / f"rules-{n}"
        tool(context, "nodes", folder, day, str(n))
        got = tool(context, "check", folder)
        curve.append(got)
        each = got["total_s"] / n
        goal = "" if n < 64 else f"at most {GOAL_64_S:g} s"
        met = None if n < 64 else got["total_s"] <= GOAL_64_S
        result.lines.append(Line(f"{n} nodes of {hours:g} h", got["total_s"], "s", goal, met))
        result.notes.append(
            f"{n} nodes: {each * 1e3:.0f} ms a node, {got['cpu_s'] / n * 1e3:.0f} ms of CPU time, "
            f"peak memory {got['peak_mb']:.0f} MB"
        )
    return curve


def living(context: Context, result: Result, hours: float, steps: int) -> dict:
    """A minute of new data in a run that is evaluated every minute, as the helper process does."""
    got = tool(context, "live", context.scratch / "rules-live", str(hours), str(steps))
    ms = got["minute_ms"]
    result.lines.append(
        Line(
            f"a minute of new data in a living run of {hours:g} h, CPU time",
            ms,
            "ms",
            f"at most {GOAL_LIVE_MS:g} ms",
            ms <= GOAL_LIVE_MS,
            note=f"opening the files is {got['open_ms']:.1f} ms of it; the first evaluation takes "
            f"{got['first_ms']:.0f} ms; between evaluations it holds {got['kept_mb']:.0f} MB",
        )
    )
    return got


def run(context: Context, result: Result) -> None:
    hours, steps = (6.0, 50_000) if context.quick else (24.0, 200_000)
    day = context.scratch / "rules-day"
    tool(context, "day", day, str(hours), str(steps))
    node = one_node(context, result, day, hours)
    nodes = many_nodes(context, result, day, hours)
    live = living(context, result, hours, steps)
    try:
        theirs = pandas_s(context, hours, steps)
        ours = node["total_s"]
        result.lines.append(Line("one node", ours, "s", "", None, "pandas", theirs, theirs / ours))
        result.lines.append(
            Line(
                "64 nodes",
                nodes[-1]["total_s"],
                "s",
                "",
                None,
                "pandas, one node x 64",
                theirs * 64,
                theirs * 64 / nodes[-1]["total_s"],
            )
        )
        result.notes.append(
            "pandas: windows, quantiles and counts of the same series in memory; no decoding, "
            "no steps found in events, no words; its 64 nodes are one node's time times 64"
        )
    except Skipped as why:
        result.notes.append(f"SKIPPED pandas: {why}")
    result.detail = {"node": node, "nodes": nodes, "live": live}
