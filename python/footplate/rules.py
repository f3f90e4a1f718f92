# SPDX-License-Identifier: Apache-2.0
"""Rules of your own, for `footplate check RUN --rule-file my_rules.py`.

    from footplate.rules import Finding, Param, Rule

    class ColdGpu(Rule):
        name = "ColdGpu"
        recommendation = "Look for what the GPU waits for."
        params = {"degrees": Param(40, 0, 100, "C", "below this a GPU is cold")}
        needs = ["gpu.temp"]

        def check(self, run):
            for s in run.series("gpu.temp"):
                if s.max() < self.p["degrees"]:
                    yield Finding(f"{s.entity} never got warm", s.node, s.entity)

A rule runs in a Python process of its own, never in the training job. What it knows of the run it
asks the program `footplate` for. Findings mean an issue, none means clear, and `NotEvaluated` says
why there is no answer.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

__all__ = ["Finding", "NotEvaluated", "Param", "Rule", "Run", "Series"]

SEVERITIES = ("info", "warning", "critical")


class NotEvaluated(Exception):  # noqa: N818 - it is an answer, not an error
    """The rule cannot answer; its text says why."""


@dataclass(frozen=True)
class Param:
    """A number that users may set with --set Rule.param=value."""

    default: float
    lo: float = float("-inf")
    hi: float = float("inf")
    unit: str = ""
    help: str = ""


@dataclass
class Finding:
    """One thing found. Times are nanoseconds since the epoch."""

    message: str
    node: str = ""
    entity: str = ""
    ranges: list[tuple[int, int]] = field(default_factory=list)
    advice: str | None = None
    numbers: dict[str, tuple[float, str]] = field(default_factory=dict)
    """By name: value and unit."""
    lost_s: float | None = None
    lost_gpu_s: float | None = None


@dataclass(frozen=True)
class Series:
    """Readings of one metric of one entity of one node."""

    node: str
    metric: str
    entity: str
    unit: str
    t_ns: list[int]
    v: list[float]
    """Means where points were put together; `lo` and `hi` keep the extremes."""
    lo: list[float]
    hi: list[float]

    def mean(self) -> float:
        return sum(self.v) / len(self.v) if self.v else float("nan")

    def min(self) -> float:
        return min(self.lo, default=float("nan"))

    def max(self) -> float:
        return max(self.hi, default=float("nan"))

    def quantile(self, q: float) -> float:
        """Linear between neighbours, q in 0..1."""
        v = sorted(self.v)
        if not v:
            return float("nan")
        at = q * (len(v) - 1)
        i = int(at)
        return v[i] + (at - i) * (v[min(i + 1, len(v) - 1)] - v[i])


class Run:
    """A recorded run, through the JSON that the program prints."""

    def __init__(self, path: str, program: str | None = None) -> None:
        self.path = path
        self._program = program or os.environ.get("FOOTPLATE_BIN") or "footplate"
        self._kept: dict[tuple[str, ...], Any] = {}

    def ask(self, *words: str) -> Any:
        """What `footplate COMMAND RUN ... --json` says."""
        if words not in self._kept:
            command, *rest = words
            done = subprocess.run(
                [self._program, command, self.path, *rest, "--json"],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                why = done.stderr.strip().removeprefix("footplate: ")
                raise NotEvaluated(why or f"footplate {command} failed")
            self._kept[words] = json.loads(done.stdout)
        return self._kept[words]

    def info(self) -> dict[str, Any]:
        """As `footplate show`."""
        return self.ask("show")

    def stats(self) -> list[dict[str, Any]]:
        """As `footplate stats`: quantiles of each resource of each node."""
        return self.ask("stats")

    def steps(self) -> dict[str, Any]:
        """As `footplate steps`: "ranks" and "steps"."""
        return self.ask("steps")

    def findings(self) -> list[dict[str, Any]]:
        """As `footplate check`: the verdicts of all built-in rules."""
        return self.ask("check")

    def series(
        self,
        metric: str,
        entity: str | None = None,
        node: str | None = None,
        points: int | None = None,
    ) -> list[Series]:
        """All series that match; every sample, or at most `points` of each."""
        words = ["query", "--metric", metric]
        words += ["--entity", entity] if entity else []
        words += ["--node", node] if node else []
        words += ["--points", str(points)] if points else []
        return [
            Series(
                s["node"],
                s["metric"],
                s["entity"],
                s["unit"],
                s["t_ns"],
                s["v"],
                s["min"],
                s["max"],
            )
            for s in self.ask(*words)
        ]


class Rule:
    """The base of all rules. A class in the rule file that has a `name` of its own is one."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = "custom rule"
    description: ClassVar[str] = ""
    recommendation: ClassVar[str] = ""
    severity: ClassVar[str] = "warning"
    params: ClassVar[dict[str, Param]] = {}
    needs: ClassVar[list[str]] = []
    """Metrics, or "steps": without them the rule is not evaluated."""

    def __init__(self, values: dict[str, float] | None = None) -> None:
        self.p: dict[str, float] = {k: v.default for k, v in self.params.items()}
        self.p.update(values or {})
        self.why = ""
        """May say what a clear verdict saw."""

    def check(self, run: Run) -> Iterable[Finding] | None:
        raise NotImplementedError(f"{type(self).__name__} has no check")
