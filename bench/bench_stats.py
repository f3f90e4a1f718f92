# SPDX-License-Identifier: Apache-2.0
"""All quantiles of all series of the 24-h node, against numpy on the same values in memory."""

from __future__ import annotations

import json
import subprocess

from harness import Context, Line, Result
from victoria import SERIES

GOAL_MS = 100.0
TICK_PERCENT = 10.0  # a core's tick at 100 ms


def run(context: Context, result: Result) -> None:
    hours, repeats = (6.0, 5) if context.quick else (24.0, 15)
    node = context.node(hours)
    ours = context.store("stats", node, hours, repeats)
    path = context.scratch / "cells"
    path.write_bytes(context.cells(hours))
    script = str(context.tool_source("numpy_stats.py"))
    command = [context.python, script, str(path), str(SERIES), "3"]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    path.unlink()
    result.lines.append(
        Line(
            f"all quantiles, all series, {hours:g} h",
            ours["ms"],
            "ms",
            "at most 100 ms",
            ours["ms"] <= GOAL_MS,
            "numpy.percentile",
            theirs["ms"],
            theirs["ms"] / ours["ms"],
            f"worst of {repeats}: {ours['worst_ms']:.2f} ms; ours answers from the blocks' exact "
            "histograms, numpy from values in memory",
        )
    )
    same = [ours["p50"], ours["p95"], ours["p99"]] == [v * TICK_PERCENT for v in theirs["first"]]
    result.notes.append(f"p50, p95 and p99 of the first series agree: {'yes' if same else 'NO'}")
    result.detail = {"ours": ours, "numpy": theirs}
