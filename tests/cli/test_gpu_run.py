# SPDX-License-Identifier: Apache-2.0
"""A run recorded on an NVIDIA H200, by hooks that the training script knew nothing of."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).parent.parent / "data" / "runs" / "h200"
STEPS, BATCH = 150, 64


@pytest.fixture
def fp_json(run_fp):
    """What a command prints as JSON; it must succeed."""

    def call(*words) -> Any:
        done = run_fp(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture
def said(fp_json) -> list[dict]:
    return fp_json("events", RUN, "--json")


def the(said: list[dict], name: str, on: str = "thread") -> dict:
    (one,) = [s for s in said if s["name"] == name and s["on"] == on and s["worker"] is None]
    return one


def test_every_step_is_there_with_its_parts(fp_json):
    shown = fp_json("steps", RUN, "--json")
    train = [s for s in shown["steps"] if s["mode"] == "train"]
    assert [s["step"] for s in train] == list(range(STEPS))
    for s in train:
        assert sum(s["events"].values()) == pytest.approx(s["duration_s"], abs=1e-6)
        assert s["events"]["backward"] > 0 and s["events"]["h2d"] > 0
    assert sum(s["mode"] == "eval" for s in shown["steps"]) == 20


def test_phases_tile_the_run(fp_json):
    shown = fp_json("show", RUN, "--json")
    phases = shown["phases"]
    assert [p["phase"] for p in phases] == ["initialization", "train", "eval", "finalization"]
    for one, other in zip(phases, phases[1:], strict=False):
        assert one["end_ns"] == other["start_ns"]
    shares = [shown[f"{name}_pct"] for name in ("initialization", "loop", "finalization")]
    assert sum(shares) == pytest.approx(100)


def test_phases_have_their_time_on_the_gpu_near_that_on_the_cpu(said):
    for name in ("forward", "backward", "optimizer"):
        gpu, cpu = the(said, name, "device"), the(said, name)
        assert gpu["track"] == "gpu0"
        assert 0.5 < gpu["p50_s"] / cpu["p50_s"] < 3


def test_the_allocator_and_the_loader_are_told(said):
    assert the(said, "cuda.peak")["last"] >= the(said, "cuda.allocated")["last"] > 1e8
    assert the(said, "cuda.reserved")["last"] >= the(said, "cuda.allocated")["last"]
    assert the(said, "batch.size")["count"] == STEPS and the(said, "batch.size")["last"] == BATCH
    assert the(said, "loader.num_workers")["last"] == 2
    assert {s["worker"] for s in said if s["name"] == "worker.fetch"} == {0, 1}


def test_the_detail_window_has_kernels_tied_to_their_operators(fp_json):
    ops = fp_json("ops", RUN, "--json")
    kernels = [o for o in ops if o["device"] == "gpu"]
    assert len(kernels) > 10 and all(o["self_s"] > 0 for o in kernels)
    assert any(o["name"] == "aten::addmm" for o in ops if o["device"] == "cpu")
    steps = fp_json("breakdown", RUN, "--json")["steps"]
    assert [s["step"] for s in steps] == [30, 31]
    for s in steps:
        parts = [v for k, v in s.items() if k.endswith("_us") and k != "total_us"]
        assert sum(parts) == pytest.approx(s["total_us"], rel=1e-3)
        assert s["kernel_us"] > 0


def test_the_window_can_be_narrowed(fp_json, said):
    first = fp_json("events", RUN, "--json", "--to", "+11200ms")
    fewer = the(first, "forward")["count"]
    assert 0 < fewer < the(said, "forward")["count"]


def test_csv_has_a_row_for_each(run_fp, said):
    done = run_fp("events", RUN, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == len(said)
    assert [r["name"] for r in rows] == [s["name"] for s in said]


def test_the_table_names_the_processes(run_fp):
    shown = run_fp("events", RUN).stdout
    assert "worker 1" in shown and "gpu0" in shown and "cuda.allocated" in shown


def test_a_run_that_said_nothing_says_how_it_could(run_fp, tmp_path):
    assert run_fp("run", "-q", "--dir", tmp_path, "--", "true").returncode == 0
    assert (
        "no events were recorded; see docs/steps.md"
        in run_fp("events", "--dir", tmp_path, "last").stdout
    )
    assert json.loads(run_fp("events", "--dir", tmp_path, "last", "--json").stdout) == []


# ---- a slow loader, and the same with more workers ----

SLOW, QUICK = RUN.parent / "h200-1-worker", RUN.parent / "h200-12-workers"


def test_operators_are_those_of_the_detail_window_alone(fp_json):
    names = {o["name"] for o in fp_json("ops", SLOW, "--json")}
    assert any(n.startswith("aten::") for n in names)
    assert not names & {"worker.fetch", "forward", "data"}, "hooks saw these all through the run"


def test_a_slow_loader_is_found_and_explains_the_idle_gpu(fp_json):
    said = {r["rule"]: r for r in fp_json("check", SLOW, "--json")}
    issues = [name for name, r in said.items() if r["state"] == "issue"]
    assert set(issues) == {"Dataloader", "BatchSize", "LowGPUUtilization"}
    loader = said["Dataloader"]["findings"][0]
    assert loader["numbers"]["num_workers"] == 1 and "num_workers" in loader["advice"]
    for name in ("BatchSize", "LowGPUUtilization"):
        assert said[name]["findings"][0]["explained_by"] == ["Dataloader"]


def test_people_hear_first_of_what_explains_the_rest(run_fp):
    text = run_fp("check", SLOW).stdout
    heads = ("\nData loading (Dataloader): ", "explains  Batch size (BatchSize): info")
    places = [text.index(words) for words in heads]
    assert places == sorted(places) and "\nBatch size (" not in text


def test_more_workers_make_the_step_faster_and_the_finding_goes(fp_json):
    got = fp_json("compare", SLOW, QUICK, "--json")
    assert got["verdict"] == "faster"
    steps = got["step_time"]
    assert -0.95 < steps["ci_low"] < steps["diff_share"] < steps["ci_high"] < -0.5
    assert "Dataloader" in [f["rule"] for f in got["findings"]["went"]]
    parts = {p["part"]: p for p in got["parts"]}
    assert parts["data"]["verdict"] == "faster"
    hours = got["b"]["duration_s"] / 3600
    assert got["b"]["cost"] == pytest.approx(hours * 6.88)


def test_compared_with_itself_a_real_run_shows_no_difference(fp_json):
    got = fp_json("compare", QUICK, QUICK, "--json")
    assert got["verdict"] == "no_difference" and got["step_time"]["diff_share"] == 0
