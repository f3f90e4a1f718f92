# SPDX-License-Identifier: Apache-2.0
"""Any window of a 24-h node (104 series x 864 000 samples) reduced to 1800 points."""

from __future__ import annotations

import statistics
import subprocess
import time

import victoria
from harness import Context, Line, Result, Skipped

POINTS = 1800
GOAL_ALL_MS, GOAL_ONE_MS = 10.0, 1.0


def victoria_ms(context: Context, repeats: int) -> float:
    """All series over one hour to 1800 points, its cache off; an answer in JSON over loopback."""
    start = int(time.time() * 1000) - 2 * 3600_000
    with victoria.running(context) as server:
        victoria.load(server, context.cells(1.0), start)
        server.flush()
        times = []
        for _ in range(repeats + 2):
            begin = time.monotonic()
            server.query_range(start / 1000, start / 1000 + 3600, POINTS)
            times.append((time.monotonic() - begin) * 1e3)
    return statistics.median(times[2:])


def command_ms(context: Context, node: str, repeats: int) -> float:
    """The whole program, from start to the last byte of its JSON."""
    command = [context.footplate, "query", node, "--points", str(POINTS), "--json"]
    command += ["--metric", "cpu.util"]
    times = []
    for _ in range(repeats):
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True)
        if done.returncode:
            raise Skipped(done.stderr.decode().strip()[-200:])
        times.append((time.monotonic() - begin) * 1e3)
    return statistics.median(times)


def run(context: Context, result: Result) -> None:
    hours, repeats = (6.0, 25) if context.quick else (24.0, 101)
    node = context.node(hours)
    windows = context.store("windows", node, hours, repeats)["windows"]
    hour = context.node(1.0)
    one_hour = context.store("windows", hour, 1.0, repeats)["windows"][0]
    worst_all = max(windows, key=lambda w: w["all_ms"])
    worst_one = max(windows, key=lambda w: w["one_ms"])
    for key, worst, goal in (("all", worst_all, GOAL_ALL_MS), ("one", worst_one, GOAL_ONE_MS)):
        ms = worst[f"{key}_ms"]
        series = "all 104 series" if key == "all" else "one series"
        result.lines.append(
            Line(
                f"{series}, worst window ({worst['hours']:g} h)",
                ms,
                "ms",
                f"at most {goal:g} ms",
                ms <= goal,
                note=f"{series}: p99 over {repeats} places is {worst[f'{key}_p99_ms']:.2f} ms",
            )
        )
    slowest = max(windows, key=lambda w: w["all_p99_ms"])
    result.lines.append(
        Line(
            f"all 104 series, 99 of 100 places of any length ({slowest['hours']:g} h)",
            slowest["all_p99_ms"],
            "ms",
            f"at most {GOAL_ALL_MS:g} ms",
            slowest["all_p99_ms"] <= GOAL_ALL_MS,
        )
    )
    for w in windows:
        result.lines.append(Line(f"all series, {w['hours']:g} h", w["all_ms"], "ms"))
    cold = [context.store("cold", node, hours) for _ in range(5)]
    opening = statistics.median(c["open_ms"] for c in cold)
    first = statistics.median(c["first_window_ms"] for c in cold)
    result.lines.append(Line(f"open {hours:g} h from the medium", opening, "ms"))
    result.lines.append(Line("first window of it", first, "ms"))
    try:
        result.lines.append(
            Line("footplate query --json, 96 series", command_ms(context, str(node), 9), "ms")
        )
    except Skipped as why:
        result.notes.append(f"SKIPPED footplate query: {why}")
    try:
        theirs = victoria_ms(context, 15)
        ours = one_hour["all_ms"]
        result.lines.append(
            Line(
                "all series of a 1 h run",
                ours,
                "ms",
                "",
                None,
                "VictoriaMetrics",
                theirs,
                theirs / ours,
            )
        )
        result.notes.append("VictoriaMetrics' number has JSON and loopback in it, ours has not")
    except Skipped as why:
        result.notes.append(f"SKIPPED VictoriaMetrics: {why}")
    result.detail = {"windows": windows, "one_hour": one_hour, "cold": cold}
