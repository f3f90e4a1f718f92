# SPDX-License-Identifier: Apache-2.0
"""The write path: samples per second and core, safe on the medium once a second."""

from __future__ import annotations

from harness import Context, Line, Result

GOAL = 50.0


def run(context: Context, result: Result) -> None:
    hours, repeats = (1.0, 3) if context.quick else (6.0, 7)
    ours = context.store("write", context.scratch / "write", hours, repeats)
    group = ours["group_commit"]
    each = ours["each_recorded_second_synced"]
    result.lines += [
        Line(
            "group commit of 1 s, per second of a core",
            group["per_cpu_s"],
            "M samples/s",
            "at least 50",
            group["per_cpu_s"] >= GOAL,
            note=f"{repeats} times {hours:g} h of the node: {group['per_cpu_s_worst']:.1f} to "
            f"{group['per_cpu_s_best']:.1f}",
        ),
        Line("the same, per second of the clock", group["per_s"], "M samples/s"),
        Line(
            "each second recorded synced by itself, per second of the clock",
            each["per_s"],
            "M samples/s",
            note="then the medium is the limit: one sync per 1040 samples; a live node makes "
            "0.001 M samples/s",
        ),
    ]
    result.detail = ours
