# SPDX-License-Identifier: Apache-2.0
"""The timeline's drawing in a headless browser: 100 000 slices in sight, frame by frame, against
the plain way (a rectangle for each slice) on the same canvas in the same run."""

from __future__ import annotations

import json
import statistics
import subprocess

from bench_zoom import WEB, bundle
from harness import BENCH, Context, Line, Result, Skipped

GOAL_SLICES, GOAL_MS = 100_000, 16.7


def run(context: Context, result: Result) -> None:
    rounds = 20 if context.quick else 60
    script = bundle(
        BENCH / "timeline_page.ts", context.scratch / "timeline.js", WEB / "node_modules"
    )
    command = ["node", str(BENCH / "timeline_drive.mjs"), str(WEB), script, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise Skipped(f"the browser: {done.stderr.strip()[-400:]}")
    sizes = json.loads(done.stdout)
    for size in sizes:
        own, plain = (statistics.median(size[how]["ms"]) for how in ("ours", "plain"))
        goal = size["slices"] == GOAL_SLICES
        result.lines.append(
            Line(
                f"a frame of {size['slices']} slices in sight",
                own,
                "ms",
                goal=f"at most {GOAL_MS:g} ms" if goal else "",
                met=own <= GOAL_MS if goal else None,
                peer="a rectangle for each",
                peer_value=plain,
                ratio=plain / own,
            )
        )
        slow = statistics.quantiles(size["ours"]["ms"], n=20)[-1]
        result.lines.append(Line(f"the same, p95 of {rounds} frames", slow, "ms"))
    result.notes.append("1500 x 900 pixels, until a pixel was read back; drawn by the CPU")
    result.detail = {"sizes": sizes}
