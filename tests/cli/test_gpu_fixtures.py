# SPDX-License-Identifier: Apache-2.0
"""Runs of examples/gpu that were recorded on a GPU: the right cause first, and quiet when healthy.

A fixture is tests/data/gpu/NAME.tar.xz as examples/gpu/trial.py packs it: `run`, the folder of
the run, and `truth.json`, what the program measured itself. Each is checked as it was recorded, and
healthy ones also cut to the first 10 s of their loop and resampled to 5 s.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "data" / "gpu"
SEVERE = ("warning", "critical")
NS = 1_000_000_000
CUT_S = 10
COARSE_S = 5


def truth_of(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as tar:
        file = tar.extractfile("truth.json")
        assert file is not None
        return json.load(file)


def name_of(archive: Path) -> str:
    return archive.name.removesuffix(".tar.xz")


TRUTHS = {path: truth_of(path) for path in sorted(FOLDER.glob("*.tar.xz"))}


def each(wanted: Callable[[dict[str, Any]], Any]) -> pytest.MarkDecorator:
    """The fixtures whose truth is so."""
    chosen = [path for path, truth in TRUTHS.items() if wanted(truth)]
    assert len(chosen) > 1
    return pytest.mark.parametrize("fixture", chosen, ids=name_of, indirect=True)


class Fixture:
    """A recorded run and the truth about it."""

    def __init__(self, archive: Path, folder: Path, ask: Callable[..., Any]) -> None:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        self.folder = folder
        self.run = folder / "run"
        self.truth = TRUTHS[archive]
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


@pytest.fixture
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


def always(truth: dict[str, Any]) -> bool:
    return True


def is_healthy(truth: dict[str, Any]) -> bool:
    return truth["healthy"]


def is_torch(truth: dict[str, Any]) -> bool:
    """JAX says neither how large a batch is nor what its allocator holds."""
    return truth["program"] != "jax"


@each(lambda truth: not truth["healthy"])
def test_the_first_finding_is_the_cause(fixture):
    found = issues(fixture.json("check"))
    assert found, "nothing was found"
    assert found[0]["rule"] == fixture.truth["cause"]
    assert found[0]["findings"][0]["explained_by"] == []


@each(lambda truth: not truth["healthy"])
def test_symptoms_follow_their_cause_and_alarm_nobody(fixture):
    found = issues(fixture.json("check"))
    explained = [bool(rule["findings"][0]["explained_by"]) for rule in found]
    assert explained == sorted(explained)
    for rule in found:
        if rule["findings"][0]["explained_by"]:
            assert rule["severity"] == "info"
    lost = [r["lost_share"] or 0 for r in found if not r["findings"][0]["explained_by"]]
    assert sum(lost) <= 1.001


@each(is_healthy)
def test_a_healthy_run_has_no_warning(fixture):
    assert severe(fixture.json("check")) == []


@each(is_healthy)
def test_a_healthy_run_has_no_warning_after_ten_seconds(fixture):
    run = fixture.cut()
    shown = fixture.json("show", run)
    assert 0 < shown["loop_duration_s"] <= CUT_S + 1 and shown["finalization_s"] < 1
    assert severe(fixture.json("check", run)) == []


@each(is_healthy)
def test_a_healthy_run_has_no_warning_with_a_sample_every_five_seconds(fixture):
    run = fixture.coarse()
    assert fixture.json("show", run)["interval_ms"] == COARSE_S * 1000
    assert severe(fixture.json("check", run)) == []


@each(always)
def test_every_step_is_found(fixture):
    count, true = fixture.train()["count"], fixture.truth["steps"]
    assert true <= count <= true + fixture.truth.get("steps_before", 0)


@each(always)
def test_iterations_are_those_of_the_program(fixture):
    p50_s = fixture.train()["iteration_s"]["p50"]
    assert 1e3 * p50_s == pytest.approx(fixture.truth["iteration_ms_p50"], rel=0.01)


@each(is_torch)
def test_throughput_is_that_of_the_program(fixture):
    shown, truth = fixture.train()["throughput"], fixture.truth
    assert shown["steady"] == pytest.approx(truth["throughput_steady"], rel=0.01)
    if truth.get("steps_before"):  # which the program leaves out
        return
    # The loop ends with its last step; a checkpoint may follow.
    outside_s = [(end - begin) / NS for _, begin, end in truth.get("outsides_ns") or []]
    most = truth["samples"] / (truth["loop_wall_s"] - max(outside_s, default=0))
    assert truth["throughput_overall"] * 0.99 <= shown["overall"] <= most * 1.01


@each(lambda truth: "forward" in (truth.get("gpu_ms") or {}))
def test_gpu_times_are_those_of_the_programs_own_events(fixture):
    shown, truth = fixture.train(), fixture.truth["gpu_ms"]
    assert 0 < shown["gpu_timed_steps"] <= shown["count"]
    # The program's are of one pass; with gradient accumulation a step has several.
    true = {k: v["mean"] * len(v["steps"]) / len({*v["steps"]}) for k, v in truth.items()}
    for phase in ("forward", "backward", "optimizer"):
        shown_ms = 1e3 * shown["gpu_parts_s"][phase]
        assert 100 * (shown_ms - true[phase]) / sum(true.values()) == pytest.approx(0, abs=2)


@each(lambda truth: truth.get("tflops") and truth["program"] != "tiny")
def test_the_share_of_peak_is_that_of_the_operations_that_the_program_counts(fixture):
    shown, truth = fixture.json("show")["gpu"], fixture.truth
    # Checkpoints and evaluation are in the loop, compilation is warm-up.
    outside = (truth.get("outside_s") or {}).keys() - {"compile"}
    true = truth["tflops_loop" if outside else "tflops"]
    assert shown["peak_tflops"] == 989
    assert shown["mfu_pct"] == pytest.approx(100 * true / 989, abs=5)


@each(lambda truth: not truth.get("tflops") or truth["program"] == "tiny")
def test_without_tensor_cores_there_is_no_share_of_peak(fixture):
    assert fixture.json("show")["gpu"]["mfu_pct"] is None


@each(is_torch)
def test_peak_memory_is_that_of_the_allocator(fixture):
    assert fixture.json("show")["gpu"]["peak_memory_bytes"] == fixture.truth["peak_bytes"]


@each(always)
def test_a_report_can_be_made(fixture):
    file = fixture.folder / "report.html"
    fixture.ask("report", fixture.run, "-o", file)
    text = file.read_text()
    for rule in issues(fixture.json("check")):
        assert rule["title"] in text


MARKED = {"Dataloader": "data", "SyncBound": "sync"}  # parts of a step that a rule is about


@each(lambda truth: truth.get("cause"))
def test_show_begins_with_the_cause_in_at_most_15_lines(fixture):
    lines = fixture.ask("show", fixture.run).split("\n\n")[0].splitlines()
    cause = fixture.truth["cause"]
    assert f"({cause}): " in lines[0] and len(lines) <= 15
    assert lines[1].startswith("  why         ") and lines[2].startswith("  fix         ")
    saving = r" Would save up to .* \d+ % of the (training loop|job)\.$"
    (lost,) = (v["lost_share"] for v in fixture.json("check") if v["rule"] == cause)
    assert lost is None or "Expected: " in lines[2] or re.search(saving, lines[2])
    marked = [line.split()[0] for line in lines if line.endswith("<-- here")]
    assert marked == ([MARKED[cause]] if cause in MARKED else [])
