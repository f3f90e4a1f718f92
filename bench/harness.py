# SPDX-License-Identifier: Apache-2.0
"""What all benches share: where things are, how a result looks, how it is shown and kept."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parent


class Skipped(Exception):
    """A bench, or a peer of it, cannot run here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Line:
    """One row of a bench's table. A line without a goal is there to be read, not to be met."""

    what: str
    ours: float | None
    unit: str
    goal: str = ""
    met: bool | None = None
    peer: str = ""
    peer_value: float | None = None
    ratio: float | None = None
    note: str = ""


@dataclasses.dataclass
class Result:
    name: str
    title: str
    lines: list[Line] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    detail: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Context:
    """How this run of the benches is to be done."""

    quick: bool
    hour: bool
    build: pathlib.Path
    venv: pathlib.Path
    scratch: pathlib.Path

    @property
    def footplate(self) -> str:
        return str(self.build / "src" / "cmd" / "footplate")

    def tool(self, name: str) -> str:
        return str(self.build / "bench" / name)

    @property
    def python(self) -> str:
        return str(self.venv / "bin" / "python")

    @staticmethod
    def readable(path: str) -> bool:
        return os.access(path, os.R_OK)

    def tool_source(self, name: str) -> pathlib.Path:
        return BENCH / name

    def store(self, what: str, folder: pathlib.Path, hours: float, repeats: int = 5) -> Any:
        """One part of bench_store, which answers with a JSON object."""
        folder.mkdir(parents=True, exist_ok=True)
        command = [self.tool("bench_store"), what, str(folder), str(hours), str(repeats)]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    def cells(self, hours: float) -> bytes:
        """The synthetic node's cells, a byte each, series after series."""
        command = [self.tool("bench_store"), "dump", "-", str(hours)]
        return subprocess.run(command, check=True, capture_output=True).stdout

    def node(self, hours: float) -> pathlib.Path:
        """The synthetic node as a run folder; written once for all benches."""
        folder = self.scratch / f"synth-{hours:g}h"
        if not (folder / "run.json").exists():
            self.store("memory", folder, hours)
        return folder


Run = Callable[[Context, Result], None]


@dataclasses.dataclass(frozen=True)
class Bench:
    name: str
    title: str
    run: Run
    needs: Sequence[str] = ()  # names in peers.py


@dataclasses.dataclass(frozen=True)
class Spread:
    """The middle of repeated measurements, and how far they lie apart."""

    median: float
    low: float
    high: float
    n: int


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values), len(values))


def bootstrap_median(
    values: Sequence[float], rounds: int = 10000, level: float = 0.95
) -> tuple[float, float]:
    """Confidence interval of the median, by drawing the rounds again with replacement."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(rounds))
    cut = (1 - level) / 2
    return medians[int(cut * rounds)], medians[min(int((1 - cut) * rounds), rounds - 1)]


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    model = ""
    for text in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            model = text.partition(":")[2].strip()
            break
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load_1min": os.getloadavg()[0],
    }


def number(value: float | None) -> str:
    if value is None:
        return "-"
    if value == 0 or 0.001 <= abs(value) < 100000:
        digits = max(0, 4 - len(str(int(abs(value)))))
        return f"{value:.{digits}f}"
    return f"{value:.3g}"


def _cells(line: Line) -> list[str]:
    verdict = {None: "", True: "met", False: "not met"}[line.met]
    ratio = "-" if line.ratio is None else f"{line.ratio:.2f} x"
    peer = "-" if line.peer_value is None else f"{number(line.peer_value)} {line.unit}"
    return [
        line.what,
        line.goal or "-",
        f"{number(line.ours)} {line.unit}",
        line.peer or "-",
        peer,
        ratio,
        verdict,
    ]


def show(result: Result) -> None:
    """The bench's table, then what has to be said about it."""
    head = ["what", "goal", "ours", "peer or floor", "its number", "ratio", ""]
    rows = [head] + [_cells(line) for line in result.lines]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    print(f"\n== {result.name}: {result.title}")
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )
    for text in [line.note for line in result.lines if line.note] + result.notes:
        print(f"  * {text}")


def keep(result: Result, folder: pathlib.Path, context: Context) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    what = dataclasses.asdict(result) | {"machine": machine(), "quick": context.quick}
    (folder / f"{result.name}.json").write_text(json.dumps(what, indent=1) + "\n")
