# SPDX-License-Identifier: Apache-2.0
"""Runs of examples/gpu that were recorded on a GPU: the right cause first, and quiet when healthy.

A fixture is tests/data/runs/gpu/NAME.tar.xz as examples/gpu/trial.py packs it: `run`, the folder of
the run, and `truth.json`, what the program measured itself. Each is checked as it was recorded, and
healthy ones also cut to the first 10 s of their loop and resampled to 5 s.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

FIXTURES = sorted((Path(__file__).parent.parent / "data" / "runs" / "gpu").glob("*.tar.xz"))
SEVERE = ("warning", "critical")
NS = 1_000_000_000
CUT_S = 10
COARSE_S = 5

if not FIXTURES:
    pytest.skip(
        "no run was recorded on a GPU: tests/data/runs/gpu is empty", allow_module_level=True
    )


class Fixture:
    """A recorded run and the truth about it."""

    def __init__(self, archive: Path, folder: Path, ask: Callable[..., Any]) -> None:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        self.name = archive.name.removesuffix(".tar.xz")
        self.folder = folder
        self.run = folder / "run"
        self.truth: dict[str, Any] = json.loads((folder / "truth.json").read_text())
        self.ask = ask

    def json(self, command: str, run: Path | None = None) -> Any:
        return json.loads(self.ask(command, run or self.run, "--json"))

    def train(self) -> dict[str, Any]:
        (rank,) = [r for r in self.json("steps")["ranks"] if r["mode"] == "train"]
        return rank

    def lines(self, *options: str) -> list[dict[str, Any]]:
        """The run as JSON lines."""
        text = self.ask("export", self.run, "--format", "jsonl", *options)
        return [json.loads(line) for line in text.splitlines()]

    def made_of(self, lines: Iterable[dict[str, Any]], name: str) -> Path:
        """A run that consists of these lines."""
        file, run = self.folder / f"{name}.jsonl", self.folder / name  # known by its first bytes
        file.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        self.ask("import", file, "-o", run)
        return run

    def cut(self) -> Path:
        """The run as it would be if it had ended after CUT_S of its loop."""
        until = self.json("show")["loop_start_ns"] + CUT_S * NS
        return self.made_of(ended(self.lines("--to", str(until)), until), "cut")

    def coarse(self) -> Path:
        """The run as it would be with a sample every COARSE_S."""
        return self.made_of(resampled(self.lines(), COARSE_S * NS), "coarse")


def ended(lines: list[dict[str, Any]], until: int) -> Iterator[dict[str, Any]]:
    """The recorder, the job and the run end at that time, if they did later."""
    for line in lines:
        late = [key for key in ("time_ns", "end_ns") if line.get(key, 0) > until]
        yield line | dict.fromkeys(late, until)


def resampled(lines: list[dict[str, Any]], period_ns: int) -> Iterator[dict[str, Any]]:
    """Of the samples of each series in a period one is left: the mean of what is a share or a rate,
    else the last. All other lines stay."""
    bins: dict[tuple[str, str, str, int], list[dict[str, Any]]] = {}
    for line in lines:
        if line["type"] == "sample":
            key = (line["node"], line["metric"], line["entity"], line["time_ns"] // period_ns)
            bins.setdefault(key, []).append(line)
    last = {id(samples[-1]): samples for samples in bins.values()}
    for line in lines:
        if line["type"] == "series":
            yield line | {"period_ns": max(line["period_ns"], period_ns)}
        elif line["type"] != "sample":
            yield with_interval(line, period_ns)
        elif id(line) in last:
            yield line | {"value": one_of(last[id(line)])}


def with_interval(line: dict[str, Any], period_ns: int) -> dict[str, Any]:
    about = line.get("about")
    if line["type"] == "footplate" and about:
        return line | {"about": about | {"interval_ms": period_ns // 1_000_000}}
    if line["type"] == "node" and about:
        return line | {"about": about | {"interval_ns": period_ns}}
    return line


def one_of(samples: list[dict[str, Any]]) -> float:
    values = [s["value"] for s in samples]
    if samples[0]["unit"] != "%" and not samples[0]["unit"].endswith("/s"):
        return values[-1]
    return sum(values) / len(values)


@pytest.fixture(params=FIXTURES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def fixture(request, run_fp, tmp_path) -> Fixture:
    def ask(*words: object) -> str:
        done = run_fp(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return Fixture(request.param, tmp_path, ask)


def issues(check: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rule for rule in check if rule["state"] == "issue"]


def severe(check: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Rules that would alarm somebody, and the first words of why."""
    return [
        (rule["rule"], rule["findings"][0]["message"])
        for rule in issues(check)
        if rule["severity"] in SEVERE
    ]


def need(wanted: bool, why: str) -> None:
    if not wanted:
        pytest.skip(why)


def test_the_first_finding_is_the_cause(fixture):
    need(not fixture.truth["healthy"], "a healthy run has no cause")
    found = issues(fixture.json("check"))
    assert found, "nothing was found"
    assert found[0]["rule"] == fixture.truth["cause"]
    assert found[0]["findings"][0]["explained_by"] == []


def test_a_healthy_run_has_no_warning(fixture):
    need(fixture.truth["healthy"], "it is not healthy")
    assert severe(fixture.json("check")) == []


def test_a_healthy_run_has_no_warning_after_ten_seconds(fixture):
    need(fixture.truth["healthy"], "it is not healthy")
    run = fixture.cut()
    shown = fixture.json("show", run)
    assert 0 < shown["loop_duration_s"] <= CUT_S + 1 and shown["finalization_s"] < 1
    assert severe(fixture.json("check", run)) == []


def test_a_healthy_run_has_no_warning_with_a_sample_every_five_seconds(fixture):
    need(fixture.truth["healthy"], "it is not healthy")
    run = fixture.coarse()
    assert fixture.json("show", run)["interval_ms"] == COARSE_S * 1000
    assert severe(fixture.json("check", run)) == []


def test_every_step_is_found(fixture):
    count, true = fixture.train()["count"], fixture.truth["steps"]
    assert true <= count <= true + fixture.truth.get("steps_before", 0)


def test_iteration_and_throughput_are_those_of_the_program(fixture):
    rank, truth = fixture.train(), fixture.truth
    need("iteration_s" in rank, "this Footplate has no iterations")
    assert 1e3 * rank["iteration_s"]["p50"] == pytest.approx(truth["iteration_ms_p50"], rel=0.01)
    shown = rank["throughput"]
    assert shown["steady"] == pytest.approx(truth["throughput_steady"], rel=0.01)
    assert shown["overall"] == pytest.approx(truth["throughput_overall"], rel=0.01)


def test_peak_memory_is_that_of_the_allocator(fixture):
    shown = fixture.json("show").get("gpu")
    need(bool(shown), "this Footplate shows nothing of the GPU")
    need(shown["peak_memory_bytes"] is not None, "the framework does not report its memory")
    assert shown["peak_memory_bytes"] == fixture.truth["peak_bytes"]


def test_a_report_can_be_made(fixture):
    file = fixture.folder / "report.html"
    fixture.ask("report", fixture.run, "-o", file)
    text = file.read_text()
    for rule in issues(fixture.json("check")):
        assert rule["title"] in text
