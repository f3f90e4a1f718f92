# SPDX-License-Identifier: Apache-2.0
"""Traces of TensorFlow and JAX, timelines of Horovod, logs of nvidia-smi, plain Chrome traces."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest


def meta(pid: int, what: str, name: str, **more) -> dict:
    return {"ph": "M", "pid": pid, "name": what, "args": {"name": name}} | more


def span(pid: int, tid: int, ts: float, dur: float, name: str, **args) -> dict:
    return {"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": name, "args": args}


def imported(run_fp, *words, **options) -> dict:
    done = run_fp("import", "--json", *words, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def asked(run_fp, command: str, run: str, *words):
    done = run_fp(command, run, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(run_fp, path: Path, *words) -> str:
    done = run_fp("import", path, "-o", path.parent / "refused", *words)
    assert done.returncode == 1 and done.stdout == ""
    assert not (path.parent / "refused").exists()
    return done.stderr


# ---- TensorFlow ----

KERNEL = (
    "_ZN2at6native29vectorized_elementwise_kernel"
    "ILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"
)


def tensorflow_trace(steps: int = 2) -> dict:
    """A device first, as they are written: streams, a view of the same time, then the host."""
    device = [
        meta(1, "process_name", "/device:GPU:0"),
        meta(1, "thread_name", "Stream #14(Compute)", tid=14),
        meta(1, "thread_name", "XLA Ops", tid=3),
    ]
    host = [meta(701, "process_name", "/host:CPU"), meta(701, "thread_name", "python", tid=33)]
    for i in range(steps):
        at = 100.0 * i
        device += [
            span(1, 14, at + 50, 20, KERNEL, correlation_id=str(9 + i)),
            span(1, 3, at + 50, 20, "fusion.1"),
        ]
        host += [
            span(701, 33, at, 90, "train", step_num=str(i), group_id=str(i)),
            span(701, 33, at + 5, 10, "IteratorGetNext:IteratorGetNext"),
            span(701, 33, at + 20, 20, "dense/MatMul:MatMul"),
            span(701, 33, at + 25, 5, "cuLaunchKernel", correlation_id=str(9 + i)),
        ]
    events = [*device, *host, {}]
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}


@pytest.fixture
def tensorflow_run(run_fp, tmp_path) -> dict:
    path = tmp_path / "host.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(tensorflow_trace()).encode()))
    return imported(run_fp, path, "-o", tmp_path / "run")


def test_a_trace_of_tensorflow_has_steps(run_fp, tensorflow_run):
    assert tensorflow_run["format"] == "tensorflow"
    steps = asked(run_fp, "steps", tensorflow_run["run"])
    assert [s["step"] for s in steps["steps"]] == [0, 1]


def test_operators_of_tensorflow_are_told_the_time_of_their_kernels(run_fp, tensorflow_run):
    rows = {(r["device"], r["name"]): r for r in asked(run_fp, "ops", tensorflow_run["run"])}
    op = rows["cpu", "dense/MatMul:MatMul"]
    assert op["calls"] == 2 and op["device_self_s"] == pytest.approx(40e-6)
    gpu = [r for r in rows.values() if r["device"] == "gpu"]
    assert len(gpu) == 1, "the view of the same time is no kernel"
    assert gpu[0]["full_name"] == KERNEL
    short = "vectorized_elementwise_kernel<FillFunctor<float>>"
    assert gpu[0]["name"] == short


def test_a_trace_whose_beginning_is_not_told_says_so(run_fp, tensorflow_run):
    assert tensorflow_run["counts"]["no-base"] == 1
    assert "without an absolute start time" in run_fp("show", tensorflow_run["run"]).stdout


def test_the_real_trace_of_tensorflow_gives_its_numbers(run_fp, tmp_path, foreign):
    (trace,) = foreign("sagemaker/tfprofiler_timeline_traces").rglob("*.trace.json.gz")
    got = imported(run_fp, trace, "-o", tmp_path / "run")
    base_ns = 1596659864545103000
    assert got["counts"]["kept"] == 798
    assert got["start_ns"] == base_ns + 21_307_000
    assert got["end_ns"] == base_ns + 293_205_000


# ---- Horovod ----

TIMELINE = """[
{"name": "process_name", "ph": "M", "pid": 0, "args":
 {"start_time_since_epoch_in_micros":1592860687560103}},
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "grad/dense_0"}},
{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 10, "pid": 1},
{"ph": "X", "name": "1", "ts": 12, "pid": 1, "dur": 0},
{"ph": "E", "ts": 15, "pid": 1},
{"ph": "B", "name": "ALLREDUCE", "ts": 20, "pid": 1},
{"ph": "E", "ts": 50, "pid": 1, "args": {"dtype": "float32"}},
{"ph": "i", "name": "CYCLE_START", "ts": 60, "s": "g"},
"""


def test_a_timeline_of_horovod_that_is_not_closed_is_communication(run_fp, tmp_path):
    path = tmp_path / "timeline.json"
    path.write_text(TIMELINE)
    got = imported(run_fp, path, "-o", tmp_path / "run")
    assert got["format"] == "horovod"
    assert got["counts"]["kept"] == 4 and got["faults"]["cut"] == 0
    assert got["start_ns"] == 1592860687560103000 + 10_000
    rows = {r["name"]: r for r in asked(run_fp, "ops", got["run"])}
    assert rows["ALLREDUCE"]["category"] == "comm"
    assert rows["ALLREDUCE"]["total_s"] == pytest.approx(30e-6)


def test_an_old_timeline_of_horovod_says_that_its_times_are_not_of_the_day(run_fp, tmp_path):
    path = tmp_path / "timeline.json"
    path.write_text(
        "[" + TIMELINE[TIMELINE.index('{"name": "process_name", "ph": "M", "pid": 1') :]
    )
    got = imported(run_fp, path, "-o", tmp_path / "run")
    assert got["counts"]["no-base"] == 1


# ---- nvidia-smi ----

SMI = """timestamp, index, name, utilization.gpu [%], memory.used [MiB], \
memory.total [MiB], power.draw [W]
2026/11/15 16:00:01.000, 0, NVIDIA H200, 80 %, 10240 MiB, 40960 MiB, 300.00 W
2026/11/15 16:00:01.003, 1, NVIDIA H200, 10 %, 1024 MiB, 40960 MiB, [N/A]
2026/11/15 16:00:02.000, 0, NVIDIA H200, 90 %, 20480 MiB, 40960 MiB, 500.00 W
2026/11/15 16:00:02.003, 1, NVIDIA H200, 20 %, 1024 MiB, 40960 MiB, [N/A]
"""


def no_zone() -> dict:
    return {k: v for k, v in os.environ.items() if k != "TZ"}


def test_a_log_of_nvidia_smi_gives_the_series_of_its_gpus(run_fp, tmp_path):
    path = tmp_path / "smi.csv"
    path.write_text(SMI)
    got = imported(run_fp, path, "-o", tmp_path / "run", env=no_zone())
    assert got["format"] == "nvidia_smi"
    assert got["start_ns"] == 1794758401_000_000_000
    found = run_fp("query", got["run"], "--metric", "gpu.util", "--entity", "gpu0", "--csv").stdout
    assert "80" in found and "90" in found
    shown = run_fp("show", got["run"]).stdout
    assert "gpu1: power draw: no value from nvidia-smi (2 times)" in shown


def test_times_of_nvidia_smi_are_of_the_zone_that_is_named(run_fp, tmp_path):
    path = tmp_path / "smi.csv"
    path.write_text(SMI)
    got = imported(run_fp, path, "-o", tmp_path / "run", env=no_zone() | {"TZ": "UTC-2"})
    assert got["start_ns"] == (1794758401 - 7200) * 1_000_000_000


def test_a_log_without_its_header_is_refused_with_the_header_it_needs(run_fp, tmp_path):
    path = tmp_path / "smi.csv"
    path.write_text(SMI.split("\n", 1)[1])
    assert "--query-gpu=timestamp,index" in refused(run_fp, path)


def test_gpus_that_nothing_tells_apart_are_refused(run_fp, tmp_path):
    path = tmp_path / "smi.csv"
    path.write_text(
        "timestamp, utilization.gpu [%]\n"
        "2026/11/15 16:00:01.000, 10 %\n2026/11/15 16:00:01.002, 20 %\n"
    )
    assert "add index to --query-gpu" in refused(run_fp, path)


# ---- plain Chrome traces ----


def test_a_chrome_trace_of_anything_becomes_a_run(run_fp, tmp_path):
    path = tmp_path / "any.json"
    events = [
        meta(1, "process_name", "Browser"),
        span(1, 2, 1_700_000_000_000_000, 50, "layout"),
        {"ph": "B", "name": "paint", "pid": 1, "tid": "ui", "ts": "1700000000000010"},
        {"ph": "E", "pid": 1, "tid": "ui", "ts": "1700000000000030"},
        {"ph": "C", "name": "heap", "pid": 1, "ts": 1_700_000_000_000_020, "args": {"used": 7}},
        {"ph": "i", "name": "vsync", "pid": 1, "ts": 1_700_000_000_000_040},
        {
            "ph": "b",
            "name": "load",
            "cat": "net",
            "id": "0x1",
            "pid": 1,
            "ts": 1_700_000_000_000_005,
        },
        {
            "ph": "e",
            "name": "load",
            "cat": "net",
            "id": "0x1",
            "pid": 1,
            "ts": 1_700_000_000_000_045,
        },
        {"ph": "O", "name": "object", "id": "0x2", "pid": 1, "ts": 1_700_000_000_000_045},
    ]
    path.write_text(json.dumps(events))
    got = imported(run_fp, path, "-o", tmp_path / "run")
    assert got["format"] == "kineto"
    assert got["counts"]["kept"] == 5 and got["counts"]["phases"] == 1
    listed = run_fp("events", got["run"]).stdout
    for name in ("layout", "paint", "heap.used", "vsync"):
        assert name in listed


# ---- modules and their backward passes ----


def test_kernels_of_the_backward_pass_count_for_their_module(run_fp, tmp_path):
    def torch(cat, name, ts, dur, tid=1, **args):
        return span(9, tid, ts, dur, name, **args) | {"cat": cat}

    def arrow(ph, tid, ts):
        return {
            "ph": ph,
            "id": 5,
            "pid": 9,
            "tid": tid,
            "ts": ts,
            "cat": "fwdbwd",
            "name": "fwdbwd",
        }

    def kernel(name, ts, dur, link):
        args = {"device": 0, "stream": 7, "correlation": link}
        return torch("kernel", name, ts, dur, tid=7, **args) | {"pid": 0}

    events = [
        torch("python_function", "nn.Module: Linear_0", 10, 30),
        torch("cpu_op", "aten::addmm", 15, 20),
        arrow("s", 1, 15),
        torch("cuda_runtime", "cudaLaunchKernel", 20, 5, correlation=11),
        torch("cpu_op", "AddmmBackward0", 200, 50, tid=2),
        arrow("f", 2, 200) | {"bp": "e"},
        torch("cuda_runtime", "cudaLaunchKernel", 210, 5, tid=2, correlation=12),
        kernel("forward_gemm", 1000, 40, 11),
        kernel("backward_gemm", 1100, 60, 12),
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    got = imported(run_fp, path, "-o", tmp_path / "run")
    rows = asked(run_fp, "ops", got["run"], "--by", "module", "--device", "gpu")
    assert [(r["name"], r["calls"]) for r in rows] == [("Linear_0", 2)]
    assert rows[0]["self_s"] == pytest.approx(100e-6)
