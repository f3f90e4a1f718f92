# SPDX-License-Identifier: Apache-2.0
"""Tables of training health, from the answers of the program or of a server."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from .frames import Table

if TYPE_CHECKING:
    from .source import Source

MODES: Final = ("train", "eval", "predict")

_SCALARS: Final = {
    "name": "category",
    "rank": "int",
    "mode": "category",
    "step": "int?",
    "time": "time",
    "value": "float",
    "min": "float",
    "max": "float",
    "nonfinite": "int",
}
_TENSORS: Final = {
    "name": "category",
    "rank": "int",
    "step": "int?",
    "time": "time",
    "value": "float",
}


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def scalar_table(
    source: Source,
    index: dict[str, Any],
    which: tuple[str | None, int | None, str | None],
    points: int,
) -> Table:
    """One row per value, or per point of a thinned curve."""
    rows: list[dict[str, Any]] = []
    for s in index["scalars"]:
        own = (s["name"], s["rank"], s["mode"])
        if any(w is not None and w != o for w, o in zip(which, own, strict=True)):
            continue
        curve = source.health_scalar(s["name"], s["rank"], s["mode"], points)
        for step, time, mean, low, high, bad in zip(
            *(curve[k] for k in ("step", "time_ns", "mean", "min", "max", "bad")), strict=True
        ):
            rows.append(
                {
                    "name": s["name"],
                    "rank": s["rank"],
                    "mode": s["mode"],
                    "step": step,
                    "time": time,
                    "value": _number(mean),
                    "min": _number(low),
                    "max": _number(high),
                    "nonfinite": bad,
                }
            )
    return Table.of_rows(rows, _SCALARS)


def tensor_table(found: dict[str, Any]) -> Table:
    """One row per tensor and sample in which it was measured."""
    rows: list[dict[str, Any]] = []
    for t in found["tensors"]:
        bad = set(t["bad"])
        for i, (step, time, value) in enumerate(
            zip(found["step"], found["time_ns"], t["values"], strict=True)
        ):
            if value is None and i not in bad:
                continue
            rows.append(
                {
                    "name": t["name"],
                    "rank": found["rank"],
                    "step": step,
                    "time": time,
                    "value": math.inf if i in bad else float(value),
                }
            )
    return Table.of_rows(rows, _TENSORS)
