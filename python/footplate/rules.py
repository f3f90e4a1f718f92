# SPDX-License-Identifier: Apache-2.0
"""User-defined rules, for `footplate check RUN --rule-file my_rules.py`.

    from footplate.rules import Finding, Param, Rule

    class ColdGpu(Rule):
        name = "ColdGpu"
        recommendation = "Find out what the GPU waits for."
        params = {"degrees": Param(40, 0, 100, "C", "a GPU below this temperature is cold")}
        needs = ["gpu.temp"]

        def check(self, run):
            for s in run.series("gpu.temp"):
                if s.max() < self.p["degrees"]:
                    yield Finding(f"{s.entity} never got warm", s.node, s.entity)

Rules run in a separate Python process, never in the training job. They read the run through the
program `footplate`. A rule with findings is an issue, one without has passed, and one that raises
`NotEvaluated` is skipped with its text as the reason.
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
    """Skips the rule; its text is the reason."""


@dataclass(frozen=True)
class Param:
    """A number that users can set with --set Rule.param=value."""

    default: float
    lo: float = float("-inf")
    hi: float = float("inf")
    unit: str = ""
    help: str = ""


@dataclass
class Finding:
    """One finding. Times are nanoseconds since the epoch."""

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
    """Means where readings were merged; `lo` and `hi` are the extremes."""
    lo: list[float]
    hi: list[float]

    def mean(self) -> float:
        return sum(self.v) / len(self.v) if self.v else float("nan")

    def min(self) -> float:
        return min(self.lo, default=float("nan"))

    def max(self) -> float:
        return max(self.hi, default=float("nan"))

    def quantile(self, q: float) -> float:
        """With linear interpolation; q from 0 to 1."""
        v = sorted(self.v)
        if not v:
            return float("nan")
        at = q * (len(v) - 1)
        i = int(at)
        return v[i] + (at - i) * (v[min(i + 1, len(v) - 1)] - v[i])


class Run:
    """A recorded run, read through the JSON output of the program."""

    def __init__(self, path: str, program: str | None = None) -> None:
        self.path = path
        self._program = program or os.environ.get("FOOTPLATE_BIN") or "footplate"
        self._kept: dict[tuple[str, ...], Any] = {}

    def ask(self, *words: str) -> Any:
        """The output of `footplate COMMAND RUN ... --json`."""
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
        """The output of `footplate show`."""
        return self.ask("show")

    def stats(self) -> list[dict[str, Any]]:
        """The output of `footplate stats`: quantiles of each resource of each node."""
        return self.ask("stats")

    def steps(self) -> dict[str, Any]:
        """The output of `footplate steps`: "ranks" and "steps"."""
        return self.ask("steps")

    def findings(self) -> list[dict[str, Any]]:
        """The output of `footplate check`: the verdicts of all built-in rules."""
        return self.ask("check")

    def series(
        self,
        metric: str,
        entity: str | None = None,
        node: str | None = None,
        points: int | None = None,
    ) -> list[Series]:
        """All matching series; every reading, or at most `points` of each."""
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
    """Base class of rules. Each subclass in the rule file with its own `name` is a rule."""

    name: ClassVar[str] = ""
    title: ClassVar[str] = "custom rule"
    description: ClassVar[str] = ""
    recommendation: ClassVar[str] = ""
    severity: ClassVar[str] = "warning"
    params: ClassVar[dict[str, Param]] = {}
    needs: ClassVar[list[str]] = []
    """Metrics, or "steps": without them the rule is skipped."""

    def __init__(self, values: dict[str, float] | None = None) -> None:
        self.p: dict[str, float] = {k: v.default for k, v in self.params.items()}
        self.p.update(values or {})
        self.why = ""
        """Optional: what was seen when the rule passed."""

    def check(self, run: Run) -> Iterable[Finding] | None:
        raise NotImplementedError(f"{type(self).__name__} has no method check")
