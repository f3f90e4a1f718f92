# SPDX-License-Identifier: Apache-2.0
"""What the capture of training health tells, kept in this process: `told = Told.listen()` before
the training. The statistics themselves are computed by _core."""

from __future__ import annotations

import math
from typing import Any

from footplate import _core
from footplate.hooks import _scalars


class Told:
    """Stands in for the part of _core that takes values."""

    def __init__(self) -> None:
        self.names: list[str] = [""]
        self.numbers: dict[str, int] = {}
        self.at = (-1, 0, 0)
        self.values: list[tuple[str, str, int, int, Any]] = []  # statistic, name, step, mode, value
        self.lost: list[tuple[int, int]] = []
        self.statistics = {at: name for name, at in _scalars.STATISTICS.items()}

    @classmethod
    def listen(cls) -> Told:
        told = cls()
        _scalars.core = told
        return told

    def __getattr__(self, name: str) -> Any:
        return getattr(_core, name)

    def health_name(self, text: str) -> int:
        if text not in self.numbers:
            self.numbers[text] = len(self.names)
            self.names.append(text)
        return self.numbers[text]

    def health_begin(self, step: int, mode: int = 0, ago_ns: int = 0) -> None:
        self.at = (step, mode, ago_ns)

    def health_value(self, stat: int, name: int, value: Any) -> None:
        step, mode, _ = self.at
        self.values.append((self.statistics[stat], self.names[name], step, mode, value))

    def health_count(self, stat: int, name: int, value: int) -> None:
        assert isinstance(value, int)
        self.health_value(stat, name, value)

    def health_values(self, stat: int, names: Any, values: Any) -> None:
        assert type(names) is list and type(values) is list and len(names) == len(values)
        for name, value in zip(names, values, strict=True):
            self.health_value(stat, name, value)

    def health_flush(self) -> int:
        return 0

    def health_lost(self, count: int, reason: int = 0) -> None:
        self.lost.append((count, reason))

    # ---- for tests ----

    def scalar(self, name: str, mode: int = 0) -> dict[int, Any]:
        """By step."""
        found = [v for v in self.values if v[:2] == ("scalar", name) and v[3] == mode]
        return {step: value for _, _, step, _, value in found}

    def scalars(self) -> set[str]:
        return {name for stat, name, _, _, _ in self.values if stat == "scalar"}

    def tensor(self, stat: str) -> dict[str, dict[int, Any]]:
        """By name and step."""
        found: dict[str, dict[int, Any]] = {}
        for what, name, step, _, value in self.values:
            if what == stat:
                found.setdefault(name, {})[step] = value
        return found

    def steps(self, stat: str = "gradient.l2") -> list[int]:
        """That were sampled."""
        return sorted({step for what, _, step, _, _ in self.values if what == stat})

    def origin(self) -> list[tuple[str, str, int]]:
        """Kind, module and step of numbers that were not finite."""
        word = "nonfinite.origin/"
        found = [v for v in self.values if v[1].startswith(word)]
        return [(*v[1][len(word) :].split("/", 1), v[2]) for v in found]  # type: ignore[misc]


def mean(values: list[float]) -> float:
    finite = [v for v in values if math.isfinite(v)]
    return sum(finite) / len(finite) if finite else math.nan
