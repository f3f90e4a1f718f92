# SPDX-License-Identifier: Apache-2.0
"""A run as SageMaker's profiler would have written it."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parent.parent / "data" / "runs" / "h200"
KNOWN = {
    ("cpu", "CPUUtilization"), ("cpu", "I/OWaitPercentage"), ("gpu", "GPUUtilization"),
    ("gpu", "GPUMemoryUtilization"), ("memory", "MemoryUsedPercent"), ("i/o", "IOPS"),
    ("i/o", "ReadThroughputInBytesPerSecond"), ("i/o", "WriteThroughputInBytesPerSecond"),
    ("network", "ReceiveBytesPerSecond"), ("network", "TransmitBytesPerSecond"),
}  # fmt: skip


@pytest.fixture
def folder(run_fp, tmp_path) -> Path:
    out = tmp_path / "profiler-output"
    done = run_fp("export", RUN, "--format", "sagemaker", "-o", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "" and [p.name for p in tmp_path.iterdir()] == ["profiler-output"]
    return out


def readings(folder: Path) -> list[dict]:
    out = []
    for path in sorted(folder.glob("system/incremental/*/*.json")):
        out += [json.loads(x) for x in path.read_text().splitlines()]
    return out


def test_system_files_are_of_a_node_and_a_minute_in_folders_of_an_hour(folder):
    paths = list(folder.glob("system/incremental/*/*"))
    assert paths
    for path in paths:
        match = re.fullmatch(r"(\d{10})\.algo-1\.json", path.name)
        minute = int(match[1])
        assert minute % 60 == 0
        assert path.parent.name == datetime.fromtimestamp(minute, UTC).strftime("%Y%m%d%H")
        times = [json.loads(x)["Timestamp"] for x in path.read_text().splitlines()]
        assert times == sorted(times) and minute <= times[0] and times[-1] < minute + 60


def test_readings_are_of_the_kinds_that_its_readers_know(folder):
    got = readings(folder)
    for r in got:
        assert set(r) == {"Type", "Name", "Dimension", "Value", "NodeId", "Timestamp"}
        assert r["NodeId"] == "algo-1"
        named = r["Type"] in ("cpu", "gpu")
        assert (r["Type"], r["Dimension"] if named else r["Name"]) in KNOWN
        assert not named or re.fullmatch(r"[cg]pu\d+", r["Name"])
    assert {(r["Type"], r["Dimension"] or r["Name"]) for r in got if r["Type"] != "network"} == {
        k for k in KNOWN if k[0] != "network"
    }


def test_values_are_those_of_the_run(folder, run_fp):
    def series(*words):
        rows = csv.DictReader(io.StringIO(run_fp("export", RUN, *words).stdout))
        return [float(r["value"]) for r in rows]

    got = readings(folder)
    busy = [r["Value"] for r in got if r["Dimension"] == "CPUUtilization" and r["Name"] == "cpu3"]
    assert busy == series("-m", "cpu.util", "-e", "cpu3")
    reads, writes = (series("-m", f"disk.{x}_ops", "-e", "total") for x in ("read", "write"))
    ops = [r["Value"] for r in got if r["Name"] == "IOPS"]
    assert ops == pytest.approx([a + b for a, b in zip(reads, writes, strict=True)])


def test_timelines_have_a_base_lanes_and_steps(folder, run_fp):
    steps = json.loads(run_fp("steps", RUN, "--json").stdout)["steps"]
    [path] = folder.glob("framework/pevents/*/*_417-algo-1_pythontimeline.json")
    events = json.loads(path.read_text())
    base = events[0]["args"]["start_time_since_epoch_in_micros"]
    lanes = {e["pid"]: e["args"]["name"] for e in events[2:] if e["name"] == "process_name"}
    spans = [e for e in events if e["ph"] == "X"]
    assert all(type(e["ts"]) is int and type(e["dur"]) is int for e in spans)
    end_us = max(base + e["ts"] + e["dur"] for e in spans)
    assert path.name.split("_")[0] == str(end_us)
    train = [e for e in spans if lanes[e["pid"]] == "Step:ModeKeys.TRAIN"]
    said = [s for s in steps if s["mode"] == "train"]
    assert [int(e["args"]["step_num"]) for e in train] == [s["step"] for s in said]
    assert [base + e["ts"] for e in train] == [s["start_ns"] // 1000 for s in said]
    for e in train[:-1]:
        assert abs(e["args"]["iteration_us"] - e["dur"] - e["args"]["between_us"]) <= 2
    assert {"Forward", "Backward(post-forward)", "DataLoaderIter"} <= set(lanes.values())
    assert any(x.startswith("gpu_functions-dev:0") for x in lanes.values())


def test_markers_say_that_the_job_is_over(folder):
    for part in ("system", "framework"):
        assert (folder / part / "training_job_end.ts").read_bytes() == b""


def test_a_folder_must_be_named_and_new(run_fp, tmp_path):
    done = run_fp("export", RUN, "--format", "sagemaker")
    assert done.returncode == 2 and "--output" in done.stderr
    done = run_fp("export", RUN, "--format", "sagemaker", "-o", tmp_path)
    assert done.returncode == 1 and "exists already" in done.stderr
    assert list(tmp_path.iterdir()) == []
