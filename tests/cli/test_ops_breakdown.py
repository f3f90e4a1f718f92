# SPDX-License-Identifier: Apache-2.0
"""Operators and breakdowns of an imported trace, through the commands."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

OPS_KEYS = {"device", "name", "calls", "self_s", "total_s", "mean_s", "share"}
STEP_KEYS = {
    "rank", "step", "total_us", "kernel_us", "memcpy_us", "memset_us", "communication_us",
    "runtime_us", "dataloader_us", "cpu_us", "other_us",
}  # fmt: skip
DEVICE_KEYS = {
    "rank", "device", "span_us", "idle_us", "compute_us", "non_compute_us", "comm_us",
    "comm_overlap_us", "computation_us", "exposed_comm_us", "exposed_memcpy_us",
}  # fmt: skip
BASE_US = 1_700_000_000_000_000
KERNEL = "void at::native::gemm<4, at::native::Add<float> >(int, float*)"


def span(cat: str, name: str, where: tuple[int, int], begin: int, dur: int, **args: int) -> dict:
    pid, tid = where
    return {
        "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
        "ts": BASE_US + begin, "dur": dur, "args": args,
    }  # fmt: skip


def trace() -> dict:
    """One step of 1000 us: 600 wait for the loader, an operator launches a kernel of 200."""
    host, stream = (4242, 4242), (0, 7)
    gpu = {"device": 0, "stream": 7}
    return {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        "traceEvents": [
            span("user_annotation", "ProfilerStep#12", host, 0, 1000),
            span("user_annotation", "enumerate(DataLoader)#_Iter.__next__", host, 0, 600),
            span("cpu_op", "aten::linear", host, 610, 100),
            span("cpu_op", "aten::addmm", host, 620, 60),
            span("cuda_runtime", "cudaLaunchKernel", host, 630, 10, correlation=9),
            span("kernel", KERNEL, stream, 700, 200, correlation=9, **gpu),
        ],
    }


@pytest.fixture
def run(run_fp, tmp_path) -> Path:
    source, folder = tmp_path / "t.json", tmp_path / "run"
    source.write_text(json.dumps(trace()))
    done = run_fp("import", source, "-o", folder)
    assert done.returncode == 0, done.stderr
    return folder


def ask(run_fp, *words) -> str:
    done = run_fp(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ops_have_the_keys_that_others_build_on_and_are_ranked(run_fp, run):
    rows = json.loads(ask(run_fp, "ops", run, "--json"))
    assert all(set(row) >= OPS_KEYS for row in rows)
    assert [r["self_s"] for r in rows] == sorted((r["self_s"] for r in rows), reverse=True)
    by = {row["name"]: row for row in rows}
    assert by["aten::addmm"]["self_s"] == pytest.approx(50e-6)
    assert by["aten::addmm"]["device_self_s"] == pytest.approx(200e-6)
    assert by["aten::linear"]["device_self_s"] == 0
    assert by["aten::linear"]["device_total_s"] == pytest.approx(200e-6)
    assert by["gemm<4, Add<float>>"]["full_name"] == KERNEL


def test_ops_can_be_limited_to_a_device_and_to_some_rows(run_fp, run):
    gpu = json.loads(ask(run_fp, "ops", run, "--device", "gpu", "--json"))
    assert [row["device"] for row in gpu] == ["gpu"]
    assert len(json.loads(ask(run_fp, "ops", run, "-d", "cpu", "-n", "2", "--json"))) == 2
    rows = list(csv.DictReader(io.StringIO(ask(run_fp, "ops", run, "--csv", "-n", "1"))))
    assert [row["device"] for row in rows] == ["cpu", "gpu"]


def test_times_of_the_gpu_are_shown_where_there_are_any(run_fp, run, tmp_path):
    assert "GPU SELF  GPU TOTAL" in ask(run_fp, "ops", run)
    host = trace()
    host["traceEvents"] = [e for e in host["traceEvents"] if e["cat"] != "kernel"]
    (tmp_path / "host.json").write_text(json.dumps(host))
    ask(run_fp, "import", tmp_path / "host.json", "-o", tmp_path / "host")
    assert "GPU" not in ask(run_fp, "ops", tmp_path / "host")


def test_breakdown_has_the_keys_that_others_build_on(run_fp, run):
    got = json.loads(ask(run_fp, "breakdown", run, "--json"))
    (step,), (device,) = got["steps"], got["devices"]
    assert set(step) >= STEP_KEYS and set(device) >= DEVICE_KEYS
    assert (step["rank"], step["step"], step["total_us"]) == (3, 12, 1000)
    assert (step["dataloader_us"], step["kernel_us"], step["runtime_us"]) == (600, 200, 10)
    assert (step["cpu_us"], step["other_us"]) == (80, 110)
    assert (device["rank"], device["device"], device["span_us"]) == (3, 0, 200)


def test_breakdown_of_a_run_without_a_gpu_has_no_columns_of_devices(run_fp, run, tmp_path):
    host = trace()
    host["traceEvents"] = [
        e for e in host["traceEvents"] if e["cat"] not in ("kernel", "cuda_runtime")
    ]
    (tmp_path / "host.json").write_text(json.dumps(host))
    ask(run_fp, "import", tmp_path / "host.json", "-o", tmp_path / "host")
    head, row = ask(run_fp, "breakdown", tmp_path / "host").splitlines()[:2]
    assert head.split() == ["RANK", "STEP", "TIME", "LOADER", "CPU", "OTHER"]
    assert row.split()[4:] == ["60.0", "%", "10.0", "%", "30.0", "%"]
    (step,) = json.loads(ask(run_fp, "breakdown", tmp_path / "host", "--json"))["steps"]
    assert set(step) >= STEP_KEYS
    assert "KERNEL" in ask(run_fp, "breakdown", run).splitlines()[0].split()


def test_breakdown_says_in_a_sentence_what_a_step_waits_for(run_fp, run):
    text = ask(run_fp, "breakdown", run)
    assert "step 12: 60 % waiting for the data loader" in text


def test_breakdown_as_csv_is_the_table_that_was_asked_for(run_fp, run):
    (step,) = csv.DictReader(io.StringIO(ask(run_fp, "breakdown", run, "--csv")))
    assert step["step"] == "12" and float(step["dataloader_us"]) == 600
    text = ask(run_fp, "breakdown", run, "--csv", "--table", "streams")
    (stream,) = csv.DictReader(io.StringIO(text))
    assert stream["stream"] == "7" and float(stream["delay_p50_us"]) == 60


@pytest.mark.parametrize("command", ["ops", "breakdown"])
def test_a_rank_that_is_not_there_is_an_error(run_fp, run, command):
    assert json.loads(ask(run_fp, command, run, "--rank", "3", "--json"))
    done = run_fp(command, run, "--rank", "5")
    assert done.returncode == 1 and done.stdout == ""
    assert "has no events of rank 5" in done.stderr


@pytest.mark.parametrize("command", ["ops", "breakdown"])
def test_results_that_an_earlier_version_cached_in_the_run_are_ignored(run_fp, run, command):
    fresh = ask(run_fp, command, run, "--json")
    (run / "derived").mkdir()
    for name in ("ops.fpd", "modules.fpd", "breakdown.fpd"):
        (run / "derived" / name).write_bytes(b"\x89FPD\r\n\x1a\n" + bytes(16) + b"cached")
    assert ask(run_fp, command, run, "--json") == fresh
    assert run_fp("show", run).returncode == 0


def nameless(pid: int, step: int) -> str:
    """A trace that does not say its rank, as of a program that nobody launched."""
    whole = trace()
    del whole["distributedInfo"]
    for event in whole["traceEvents"]:
        event |= {"pid": pid, "tid": pid} if event["pid"] == 4242 else {}
        event["name"] = event["name"].replace("#12", f"#{step}")
    return json.dumps(whole)


def test_who_did_not_say_its_rank_has_the_one_that_steps_show(run_fp, tmp_path):
    traces, run = tmp_path / "traces", tmp_path / "run"
    traces.mkdir()
    (traces / "a.json").write_text(nameless(4242, 12))
    ask(run_fp, "import", traces / "a.json", "-o", tmp_path / "one")
    one = json.loads(ask(run_fp, "breakdown", tmp_path / "one", "--rank", "0", "--json"))
    assert (one["steps"][0]["rank"], one["devices"][0]["rank"]) == (0, 0)
    (traces / "b.json").write_text(nameless(777, 90))
    ask(run_fp, "import", traces, "-o", run)
    for command in (["steps"], ["breakdown"]):
        rows = json.loads(ask(run_fp, *command, run, "--json"))["steps"]
        shown = {(row["rank"], row["step"]) for row in rows}
        assert shown == {(0, 90), (1, 12)}, command  # in order of their processes
    (step,) = json.loads(ask(run_fp, "breakdown", run, "--rank", "1", "--json"))["steps"]
    assert step["step"] == 12
    assert "rank 0, step 90: 60 % waiting for the data loader" in ask(run_fp, "breakdown", run)
    assert run_fp("ops", run, "--rank", "2").returncode == 1


@pytest.mark.parametrize("command", ["ops", "breakdown"])
def test_a_run_without_a_trace_says_what_is_missing(fp, run_fp, runs, command):
    done = run_fp(command, "last", "--dir", runs)
    assert done.returncode == 0 and done.stdout == ""
    assert "import a trace" in done.stderr


def test_kernels_have_a_group_and_can_be_summed_by_it(run_fp, run):
    rows = json.loads(ask(run_fp, "ops", run, "--json"))
    assert {r["name"]: r["group"] for r in rows if r["group"]} == {"gemm<4, Add<float>>": "matmul"}
    (group,) = json.loads(ask(run_fp, "ops", run, "--by", "group", "--json"))
    assert (group["name"], group["calls"], group["share"]) == ("matmul", 1, 1)
    (row,) = json.loads(ask(run_fp, "breakdown", run, "--json"))["groups"]
    assert (row["rank"], row["group"], row["ops"], row["time_us"]) == (3, "matmul", 1, 200)
    assert "matmul" in ask(run_fp, "ops", run) and "matmul" in ask(run_fp, "breakdown", run)


def arrow(ph: str, where: tuple[int, int], at: int, number: int) -> dict:
    pid, tid = where
    return {
        "ph": ph, "cat": "fwdbwd", "name": "fwdbwd", "id": number, "bp": "e",
        "pid": pid, "tid": tid, "ts": BASE_US + at,
    }  # fmt: skip


def window_with_modules() -> dict:
    """A window of the hooks: ranges of modules around their forward passes, backward elsewhere."""
    host, engine, stream = (4242, 4242), (4242, 4300), (0, 7)
    gpu = {"device": 0, "stream": 7}
    linear = "module: encoder.layers.0.linear1 (Linear)"
    return {
        "schemaVersion": 1,
        "traceEvents": [
            span("user_annotation", "ProfilerStep#12", host, 0, 1000),
            span("user_annotation", "module: encoder (Encoder)", host, 10, 200),
            span("user_annotation", linear, host, 20, 100),
            span("cpu_op", "aten::addmm", host, 30, 60),
            arrow("s", host, 30, 1),
            span("cuda_runtime", "cudaLaunchKernel", host, 40, 10, correlation=9),
            span("kernel", "sgemm_forward", stream, 60, 50, correlation=9, **gpu),
            span("cpu_op", "AddmmBackward0", engine, 300, 80),
            arrow("f", engine, 300, 1),
            span("cuda_runtime", "cudaLaunchKernel", engine, 310, 10, correlation=10),
            span("kernel", "sgemm_backward", stream, 330, 100, correlation=10, **gpu),
            span("user_annotation", "Optimizer.step#SGD.step", host, 500, 100),
            span("cuda_runtime", "cudaLaunchKernel", host, 510, 10, correlation=11),
            span("kernel", "multi_tensor_apply_kernel", stream, 530, 30, correlation=11, **gpu),
        ],
    }


def test_modules_of_a_window_have_the_kernels_of_their_backward_pass_too(run_fp, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(window_with_modules()))
    ask(run_fp, "import", tmp_path / "t.json", "-o", tmp_path / "run")
    rows = json.loads(ask(run_fp, "ops", tmp_path / "run", "--by", "module", "--json"))
    gpu = {r["name"]: (r["self_s"], r["total_s"]) for r in rows if r["device"] == "gpu"}
    assert gpu["encoder.layers.0.linear1 (Linear)"] == pytest.approx((150e-6, 150e-6))
    assert gpu["encoder (Encoder)"] == pytest.approx((0, 150e-6))
    assert gpu["Optimizer.step#SGD.step"] == pytest.approx((30e-6, 30e-6))
    assert "(no module)" not in gpu
    names = {r["name"] for r in json.loads(ask(run_fp, "ops", tmp_path / "run", "--json"))}
    assert "aten::addmm" in names and not any("encoder" in name for name in names)


def profile(start_s: int, timer: str, own_s: float) -> str:
    """A window of --python-profile-steps: g() runs in the forward pass, f() all the time."""

    def took(name: str, self_s: float, total_s: float) -> dict:
        times = {"self_s": self_s, "total_s": total_s}
        return {"file": "/home/me/train.py", "line": 7, "name": name, "calls": 4} | times

    ends = {"start_ns": start_s * 10**9, "end_ns": (start_s + 1) * 10**9}
    steps = {"version": 1, "pid": 4242, "start_step": 9, "end_step": 11}
    return json.dumps(
        steps | ends | {"profiler": "cprofile", "timer": timer}
        | {"functions": [took("f", own_s, 3 * own_s), took("g", own_s / 4, own_s / 4)],
           "phases": {"forward": [took("g", own_s / 4, own_s / 4)]}}
    )  # fmt: skip


@pytest.fixture
def profiled(run_fp, tmp_path) -> Path:
    traces, run = tmp_path / "traces", tmp_path / "profiled"
    traces.mkdir()
    (traces / "t.json").write_text(json.dumps(trace()))
    (traces / "a.json").write_text(profile(1_700_000_000, "total_time", 0.25))
    (traces / "b.json").write_text(profile(1_700_000_002, "total_time", 0.5))
    (traces / "c.json").write_text(profile(1_700_000_004, "cpu_time", 0.125))
    done = run_fp("import", traces, "-o", run)
    assert done.returncode == 0, done.stderr
    return run


def test_functions_of_python_are_ranked_in_each_phase_and_by_each_timer(run_fp, profiled):
    rows = json.loads(ask(run_fp, "ops", profiled, "--by", "function", "--json"))
    shown = [(r["phase"], r["timer"], r["name"], r["calls"], r["self_s"]) for r in rows]
    f, g = "f (me/train.py:7)", "g (me/train.py:7)"
    assert shown == [
        (None, "total_time", f, 8, 0.75),
        (None, "total_time", g, 8, 0.1875),
        (None, "cpu_time", f, 4, 0.125),
        (None, "cpu_time", g, 4, 0.03125),
        ("forward", "total_time", g, 8, 0.1875),
        ("forward", "cpu_time", g, 4, 0.03125),
    ]
    assert [r["share"] for r in rows] == [0.8, 0.2, 0.8, 0.2, 1, 1]
    assert rows[0]["total_s"] == 2.25 and rows[0]["mean_s"] == 2.25 / 8
    text = ask(run_fp, "ops", profiled, "--by", "function", "-n", "1")
    heads = [line.partition("  ")[0] for line in text.splitlines() if line.startswith("PYTHON")]
    assert heads == ["PYTHON", "PYTHON (cpu_time)", "PYTHON, forward", "PYTHON, forward (cpu_time)"]
    assert text.count(f) == 2 and text.count(g) == 2


def test_functions_that_were_sampled_have_no_calls_and_say_so(run_fp, tmp_path):
    sampled = json.loads(profile(1_700_000_000, "default", 0.25)) | {"profiler": "sampling"}
    for f in (*sampled["functions"], *sampled["phases"]["forward"]):
        f["calls"] = 0
    (tmp_path / "s.json").write_text(json.dumps(sampled))
    assert run_fp("import", tmp_path / "s.json", "-o", tmp_path / "run").returncode == 0
    text = ask(run_fp, "ops", tmp_path / "run", "--by", "function")
    heads = [line.partition("  ")[0] for line in text.splitlines() if line.startswith("PYTHON")]
    assert heads == ["PYTHON (sampled)", "PYTHON, forward (sampled)"]
    rows = json.loads(ask(run_fp, "ops", tmp_path / "run", "--by", "function", "--json"))
    assert {(r["calls"], r["mean_s"]) for r in rows} == {(None, None)}


def test_functions_of_python_are_no_operators(run_fp, profiled, run):
    for command in ("ops", "breakdown"):
        shown = ask(run_fp, command, profiled, "--json")
        assert shown == ask(run_fp, command, run, "--json")


def test_a_rank_that_was_not_profiled_is_no_unknown_rank(run_fp, run):
    done = run_fp("ops", run, "--by", "function", "--rank", "3", "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    done = run_fp("ops", run, "--by", "function", "--rank", "7", "--json")
    assert done.returncode == 1 and "has no events of rank 7" in done.stderr


def test_a_run_without_a_profile_says_how_to_get_one(run_fp, run):
    done = run_fp("ops", run, "--by", "function")
    assert (done.returncode, done.stdout) == (0, "")
    assert "--python-profile-steps" in done.stderr
