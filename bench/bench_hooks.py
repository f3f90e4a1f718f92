# SPDX-License-Identifier: Apache-2.0
"""What the hooks add to a training step: fetch, zero_grad, forward, backward, optimizer all marked.

One process below `footplate run` trains in blocks: with hooks, without, and without but with
torch.profiler over the same steps (hooks_step.py). A round's result is the difference to its plain
block. What hooks add does not depend on how long the model computes, so it is measured on a model
whose steps are very short, where it stands out from the noise, and held against a step of 5 ms.
What gates add to calls that wait for a GPU needs no GPU to be measured."""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from harness import Context, Line, Result, bootstrap_median

GOAL_US = 20.0
GOAL_PERCENT = 0.5
GOAL_WAIT_NS = 1000.0
GOAL_CPU_NS = 100.0
STEP_US = 5000.0

Blocks = dict[str, list[float]]  # median step of each block in us, by kind


def train(context: Context, model: str, rounds: int) -> Blocks:
    with tempfile.TemporaryDirectory(dir=context.scratch) as folder:
        out = pathlib.Path(folder) / "steps.json"
        script = str(context.tool_source("hooks_step.py"))
        command = [context.footplate, "run", "--quiet", "--dir", folder, "--"]
        command += [context.python, script, model, str(rounds), str(out)]
        hooks = str(context.build / "python" / "footplate" / "_bootstrap")
        env = os.environ | {"FOOTPLATE_HOOKS": hooks}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-400:])
        blocks: Blocks = json.loads(out.read_text())
        return blocks


def run(context: Context, result: Result) -> None:
    rounds = 30 if context.quick else 100
    taken = train(context, "tiny", rounds)
    added = {
        kind: [with_it - plain for with_it, plain in zip(taken[kind], taken["plain"], strict=True)]
        for kind in ("hooks", "profiler")
    }
    ours, theirs = (statistics.median(added[kind]) for kind in ("hooks", "profiler"))
    low, high = bootstrap_median(added["hooks"])
    small = train(context, "small", 3)
    result.lines += [
        Line(
            "hooks, added to a step",
            ours,
            "us",
            "at most 20 us",
            ours <= GOAL_US,
            "torch.profiler",
            theirs,
            theirs / ours if ours > 0 else None,
            f"95 % interval {low:.2f} to {high:.2f} us over {rounds} rounds; a bare step takes "
            f"{statistics.median(taken['plain']):.0f} us",
        ),
        Line(
            "of a step of 5 ms",
            100 * ours / STEP_US,
            "%",
            "at most 0.5 %",
            100 * ours / STEP_US <= GOAL_PERCENT,
            "torch.profiler",
            100 * theirs / STEP_US,
            note=f"a step of the small model takes {statistics.median(small['plain']) / 1e3:.2f} "
            f"ms here, with hooks {statistics.median(small['hooks']) / 1e3:.2f} ms",
        ),
    ]
    waits = train(context, "waits", rounds)
    wait, cpu = (
        statistics.median(waits[kind]) - statistics.median(waits["plain"])
        for kind in ("wait", "cpu")
    )
    plain_ns = statistics.median(waits["plain"])
    result.lines += [
        Line(
            "item(), added to a wait for the GPU",
            wait,
            "ns",
            "below 1000 ns",
            wait < GOAL_WAIT_NS,
            note=f"counted, timed and placed; the call alone takes {plain_ns:.0f} ns on the CPU",
        ),
        Line(
            "item(), added on a CPU tensor",
            cpu,
            "ns",
            "below 100 ns",
            cpu < GOAL_CPU_NS,
            note="of a program that uses CUDA; in others nothing is in place",
        ),
    ]
    result.detail = {"taken_us": taken, "added_us": added, "small_us": small, "waits_ns": waits}
