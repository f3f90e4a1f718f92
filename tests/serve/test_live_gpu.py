# SPDX-License-Identifier: Apache-2.0
"""Kernels of a run that goes on: a detail window as a GPU's profiler wrote it comes the same way as
any, and the API has its operators, its lanes and its breakdown while the job runs."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servekit import Server, serving, wait_for

TESTS = Path(__file__).parent.parent
JOB = TESTS / "standin" / "torch_standin.py"
TRACE = TESTS / "data" / "traces" / "h200_window.json.gz"
ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")


@pytest.fixture(scope="module")
def recorded() -> dict[str, tuple[int, float]]:
    """How often what ran on the GPU in the trace, and how many seconds in all, by its name."""
    all_of: dict[str, tuple[int, float]] = {}
    for event in json.loads(gzip.decompress(TRACE.read_bytes()))["traceEvents"]:
        if event.get("cat") in ON_GPU:
            calls, seconds = all_of.get(event["name"], (0, 0.0))
            all_of[event["name"]] = (calls + 1, seconds + event["dur"] / 1e6)
    assert sum(calls for calls, _ in all_of.values()) == 84
    return all_of


def job_env() -> dict[str, str]:
    """With the package that was built, where the program has none beside it."""
    package = os.environ.get("FOOTPLATE_PYTHON")
    hooks = {"FOOTPLATE_HOOKS": f"{package}/footplate/_bootstrap"} if package else {}
    return os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"} | hooks


@pytest.fixture
def server(footplate: Path, tmp_runs: Path) -> Iterator[Server]:
    """Of a job whose steps 10 and 11 are recorded in detail."""
    process = subprocess.Popen(
        [footplate, "run", "--dir", tmp_runs, "--interval", "100ms", "-q", "--detail-steps", "10:2"]
        + ["--", sys.executable, JOB],
        env=job_env(),
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: list(tmp_runs.glob("*/node-*/metrics.*")), "the run to begin")
        with serving(footplate, tmp_runs) as s:
            yield s
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def ask(s: Server, what: str) -> Any:
    """Once it is worked out."""
    run = s.api("/runs")[0]["run"]
    path = f"/api/v1/runs/{run}/{what}"
    return wait_for(lambda: (a := s.ask(path)).status == 200 and a, what).json


def on_gpu(s: Server) -> dict[str, dict[str, Any]]:
    return {o["full_name"]: o for o in ask(s, "ops?device=gpu&limit=2000")}


def check(ops: dict[str, dict[str, Any]], recorded: dict[str, tuple[int, float]], n: int) -> None:
    """They are those of n windows."""
    assert {name: o["calls"] for name, o in ops.items()} == {
        name: n * calls for name, (calls, _) in recorded.items()
    }
    for name, (_, seconds) in recorded.items():
        assert ops[name]["self_s"] == pytest.approx(n * seconds, abs=1e-8)
        assert ops[name]["total_s"] == pytest.approx(n * seconds, abs=1e-8)
    assert sum(o["share"] for o in ops.values()) == pytest.approx(1)


def test_kernels_of_a_living_job_are_those_of_its_windows(
    server: Server, recorded: dict[str, tuple[int, float]]
) -> None:
    wait_for(lambda: on_gpu(server), "kernels")
    check(on_gpu(server), recorded, 1)
    launched = sum(o["device_self_s"] or 0 for o in ask(server, "ops?device=cpu&limit=2000"))
    assert launched == pytest.approx(sum(s for _, s in recorded.values()), rel=0.01)
    run = server.api("/runs")[0]["run"]
    answer = server.ask(
        f"/api/v1/runs/{run}/control",
        method="POST",
        body=b'{"set": "detail=now:2"}',
        Content_Type="application/json",
    )
    assert answer.status == 200, answer.body
    wait_for(lambda: sum(o["calls"] for o in on_gpu(server).values()) > 84, "a second window")
    check(on_gpu(server), recorded, 2)
    # The second has the numbers of the first, as after a profiler that was closed between.
    both = ask(server, "breakdown")
    assert [s["total_us"] for s in both["steps"][:2]] == pytest.approx(
        [s["total_us"] for s in both["steps"][2:]], abs=1
    )
    assert len(both["steps"]) == 4 and both["devices"][0]["span_us"] < 20_000
    assert server.api("/runs")[0]["live"]


def test_lanes_and_breakdown_of_a_living_job_have_its_kernels(server: Server) -> None:
    wait_for(lambda: on_gpu(server), "kernels")
    steps = ask(server, "breakdown")["steps"]
    assert [s["step"] for s in steps] == [10, 11]
    assert all(s["kernel_us"] > 0 and s["memcpy_us"] > 0 for s in steps)
    start = steps[0]["start_ns"]
    end = start + int(sum(s["total_us"] for s in steps) * 1000) + 10_000_000
    lines = ask(server, f"timeline?px=10000&detail=1&from={start}&to={end}")
    lanes = {lane["id"] for lane in lines["lanes"] if lane["kind"] == "gpu"}
    slices = lines["slices"]
    kernels = [
        lines["names"][name]
        for lane, name in zip(slices["lane"], slices["name"], strict=True)
        if lane in lanes
    ]
    assert len(kernels) >= 84
    assert any("gemm" in name for name in kernels)
    (device,) = ask(server, "breakdown")["devices"]
    assert device["device"] == 0 and device["computation_us"] > 0
