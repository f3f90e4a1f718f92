# SPDX-License-Identifier: Apache-2.0
"""Resident memory of the recorder over time, and of the store while it seals a wide node."""

from __future__ import annotations

import time

import procs
from harness import Context, Line, Result

LIMIT_MB = 6.0
FLAT_KB_PER_HOUR = 256.0


def slope(points: list[tuple[float, float]]) -> float:
    """Least squares, units of y per unit of x."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    over = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / over


def watch(context: Context, seconds: float) -> tuple[list[tuple[float, float]], int]:
    """(hours, kB) once a second, and the peak."""
    points = []
    with procs.recorder(context, "100ms") as (process, _):
        start = time.monotonic()
        while (now := time.monotonic() - start) < seconds:
            points.append((now / 3600, float(procs.status_kb(process.pid, "VmRSS"))))
            time.sleep(1)
        peak = procs.status_kb(process.pid, "VmHWM")
    return points, peak


def run(context: Context, result: Result) -> None:
    seconds = 3600 if context.hour else 60 if context.quick else 300
    points, peak = watch(context, seconds)
    half = points[len(points) // 2 :]
    growth = half[-1][1] - half[0][1]
    per_hour = slope(half)
    wide = context.store("memory", context.scratch / "memory", 1)
    result.lines += [
        Line(
            f"resident after {seconds} s",
            points[-1][1] / 1024,
            "MB",
            "at most 6 MB",
            points[-1][1] / 1024 <= LIMIT_MB,
        ),
        Line("peak", peak / 1024, "MB", "at most 6 MB", peak / 1024 <= LIMIT_MB),
        Line(
            "growth in the second half",
            growth,
            "kB",
            "flat",
            growth <= max(64.0, FLAT_KB_PER_HOUR * seconds / 7200),
            note=f"the slope of the second half is {per_hour:.0f} kB an hour",
        ),
        Line(
            "store alone, 104 series, 1 h with sealing: peak",
            wide["peak_kb"] / 1024,
            "MB",
            "at most 6 MB",
            wide["peak_kb"] / 1024 <= LIMIT_MB,
        ),
    ]
    result.detail = {"hours_and_kb": points, "peak_kb": peak, "wide": wide}
