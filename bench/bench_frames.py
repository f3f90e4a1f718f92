# SPDX-License-Identifier: Apache-2.0
"""Every sample of a day of one node into a pandas frame in long form, against reading JSON lines
record by record."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import bench_sagemaker
from harness import BENCH, Context, Line, Result, Skipped, spread

GOAL_S, GOAL_SAMPLES = 1.0, 90e6


def python(context: Context, script: str, *words: str | pathlib.Path) -> dict:
    env = os.environ | {"PYTHONPATH": str(context.build / "python")}
    command = [context.python, str(BENCH / script), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        raise Skipped(done.stderr.strip()[-300:])
    return json.loads(done.stdout)


def run(context: Context, result: Result) -> None:
    hours, rounds, records = (6.0, 4, 100_000) if context.quick else (24.0, 7, 400_000)
    ours = python(context, "frames_load.py", context.node(hours), str(rounds))
    # The first rounds wait for pages that the machine has never touched; later ones measure us.
    warm = spread(ours["s"][2:])
    per_sample = warm.median / ours["samples"]
    lines = context.scratch / "frames.jsonl"
    bench_sagemaker.make(lines, records)
    theirs = python(context, "peer_records.py", lines)
    lines.unlink()
    theirs_per_sample = theirs["s"] / theirs["records"]
    seconds = per_sample * GOAL_SAMPLES
    result.lines.append(
        Line(
            f"{GOAL_SAMPLES / 1e6:g} M samples into a frame",
            seconds,
            "s",
            f"at most {GOAL_S:g} s",
            seconds <= GOAL_S,
            "JSON lines, record by record",
            theirs_per_sample * GOAL_SAMPLES,
            theirs_per_sample / per_sample,
            f"measured on {ours['samples'] / 1e6:.1f} M samples in {warm.median:.2f} s "
            f"({warm.low:.2f} to {warm.high:.2f}), CPU time {min(ours['cpu_s']):.2f} s, frame of "
            f"{ours['bytes'] / 1e9:.2f} GB; the peer on {theirs['records']:,} records, "
            f"{1 / theirs_per_sample / 1e6:.2f} M a second",
        )
    )
    result.notes.append(
        "long form: time (datetime64[ns, UTC]) and value (float64) of every sample decoded, node, "
        "metric, entity and unit as categoricals; opening the run is in it"
    )
    result.notes.append(f"first round, pages not touched before: {ours['s'][0]:.2f} s")
    result.detail = {"ours": ours, "peer": theirs}
