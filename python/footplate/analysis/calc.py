# SPDX-License-Identifier: Apache-2.0
"""Numbers of numbers, with numpy where it is installed and the same without. Quantiles are linear
between neighbours, as everywhere in Footplate."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from .frames import numpy

SUMMARY = ("count", "mean", "min", "max", "p50", "p95", "p99")


def quantile(ordered: Sequence[float], q: float) -> float:
    """Of sorted values."""
    if not ordered:
        return math.nan
    at = q * (len(ordered) - 1)
    i = int(at)
    low, high = ordered[i], ordered[min(i + 1, len(ordered) - 1)]
    return low + (high - low) * (at - i)


def median(values: Iterable[float]) -> float:
    return quantile(sorted(values), 0.5)


def summary(values: Any) -> dict[str, Any]:
    """count, mean, min, max, p50, p95, p99; all but the count None when there are none."""
    np = numpy()
    if np is not None:
        a = np.asarray(values, dtype=float)
        a = a[~np.isnan(a)]
        if len(a) == 0:
            return dict.fromkeys(SUMMARY) | {"count": 0}
        p50, p95, p99 = (float(v) for v in np.quantile(a, (0.5, 0.95, 0.99)))
        whole = {"mean": float(a.mean()), "min": float(a.min()), "max": float(a.max())}
        return {"count": len(a), **whole, "p50": p50, "p95": p95, "p99": p99}
    v = sorted(x for x in values if x == x)
    if not v:
        return dict.fromkeys(SUMMARY) | {"count": 0}
    whole = {"mean": math.fsum(v) / len(v), "min": v[0], "max": v[-1]}
    return {
        "count": len(v),
        **whole,
        **{f"p{q}": quantile(v, q / 100) for q in (50, 95, 99)},
    }


def inside(starts: Sequence[int], ends: Sequence[int], moments: Sequence[int]) -> list[int]:
    """For each moment the row of the interval that holds it, -1: none. Intervals are sorted and do
    not overlap; a moment at an end is outside."""
    np = numpy()
    if np is not None and len(starts):
        s, e, m = (np.asarray(v, dtype=np.int64) for v in (starts, ends, moments))
        at = np.searchsorted(s, m, side="right") - 1
        good = (at >= 0) & (m < e[np.maximum(at, 0)])
        return np.where(good, at, -1).tolist()  # type: ignore[no-any-return]
    out = []
    for m in moments:
        i = bisect_right(starts, m) - 1
        out.append(i if i >= 0 and m < ends[i] else -1)
    return out


def histogram(values: Sequence[float], low: float, high: float, bins: int) -> list[int]:
    """How many values lie in each of so many equal bins; the last one holds `high` too. Values
    outside are left out."""
    counts = [0] * bins
    width = (high - low) / bins
    np = numpy()
    if np is not None and len(values) > 1000:
        a = np.asarray(values, dtype=float)
        return np.histogram(a, bins=bins, range=(low, high))[0].tolist()  # type: ignore[no-any-return]
    for v in values:
        if low <= v <= high:
            i = min(int((v - low) / width), bins - 1) if width else 0
            counts[i] += 1
    return counts


def within(ordered: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """Rows of sorted times in [start, end)."""
    return bisect_left(ordered, start), bisect_left(ordered, end)


def union(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """As few intervals as say the same, in order."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        elif end > start:
            out.append((start, end))
    return out
