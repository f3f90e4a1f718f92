# SPDX-License-Identifier: Apache-2.0
"""Traces of other profilers become runs like any other."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

BASE_NS = 1_711_964_646_000_000_000


def span(cat: str, name: str, ts: float, dur: float, **more) -> dict:
    return {"ph": "X", "cat": cat, "name": name, "pid": 42, "tid": 42, "ts": ts, "dur": dur} | more


def trace(steps: int = 3) -> dict:
    """Steps of 100 us, each with an operator, its launch and its kernel."""
    events = []
    for i in range(steps):
        at = 1000.125 + 100 * i
        ids = {"External id": i + 1, "correlation": 100 + i}
        events += [
            span("user_annotation", f"ProfilerStep#{i + 5}", at, 100),
            span("cpu_op", "aten::mm", at + 10, 50, args={"External id": i + 1}),
            span("cuda_runtime", "cudaLaunchKernel", at + 20, 5, args=ids),
            span(
                "kernel", "gemm", at + 30, 40, pid=0, tid=7, args=ids | {"device": 0, "stream": 7}
            ),
        ]
    return {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
        "traceEvents": events,
        "baseTimeNanoseconds": BASE_NS,
    }


@pytest.fixture
def trace_file(tmp_path) -> Path:
    path = tmp_path / "resnet.123.pt.trace.json"
    path.write_text(json.dumps(trace(), indent=2))
    return path


def imported(run_fp, *words) -> dict:
    done = run_fp("import", "--json", *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def left_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*"))


def test_times_are_those_of_the_trace_to_the_nanosecond(run_fp, trace_file, tmp_path):
    imported(run_fp, trace_file, "-o", tmp_path / "run")
    lines = run_fp("export", tmp_path / "run", "--format", "jsonl", "-o", "-").stdout.splitlines()
    events = [x for x in map(json.loads, lines) if x.get("name") == "aten::mm"]
    want = [BASE_NS + 1_010_125 + 100_000 * i for i in range(3)]
    assert [x["time_ns"] for x in events] == want


def test_a_trace_becomes_a_run_with_steps(run_fp, trace_file, tmp_path):
    got = imported(run_fp, trace_file, "-o", tmp_path / "out" / "run")
    assert got["run"] == str(tmp_path / "out" / "run")
    assert got["format"] == "kineto"
    assert got["counts"]["kept"] == 14  # twelve, and what the process is
    assert got["start_ns"] == BASE_NS + 1_000_125
    steps = json.loads(run_fp("steps", got["run"], "--json").stdout)
    assert [r["rank"] for r in steps["ranks"]] == [1]
    assert [s["step"] for s in steps["steps"]] == [5, 6, 7]
    assert [s["duration_s"] for s in steps["steps"]] == pytest.approx([1e-4] * 3)


def test_parts_that_the_profiler_names_are_those_of_its_steps(run_fp, tmp_path):
    what = trace()
    names = {"enumerate(DataLoader)#_Iter.__next__": 30, "Optimizer.step#SGD.step": 20}
    names |= {"Optimizer.zero_grad#SGD.zero_grad": 5}
    steps = [e for e in what["traceEvents"] if str(e.get("name")).startswith("ProfilerStep")]
    for step in steps:
        at = step["ts"]
        for name, dur in names.items():
            span = {"ph": "X", "cat": "user_annotation", "name": name, "ts": at, "dur": dur}
            what["traceEvents"].append(span | {"pid": step["pid"], "tid": step["tid"]})
            at += dur
    (tmp_path / "t.json").write_text(json.dumps(what))
    imported(run_fp, tmp_path / "t.json", "-o", tmp_path / "run")
    shown = json.loads(run_fp("steps", tmp_path / "run", "--json").stdout)["steps"]
    assert len(shown) == len(steps) == 3
    for step in shown:
        parts = step["events"]
        assert parts["data"] == pytest.approx(30e-6)
        assert parts["optimizer"] == pytest.approx(25e-6)
        assert parts["forward"] is None and parts["backward"] is None  # it does not name them
        assert parts["other"] == pytest.approx(step["duration_s"] - 55e-6)


def test_what_a_trace_does_not_say_of_its_machine_is_not_known(run_fp, trace_file, tmp_path):
    run = tmp_path / "run"
    imported(run_fp, trace_file, "-o", run)
    (node,) = json.loads(run_fp("show", run, "--json").stdout)["nodes"]
    assert (node["cores"], node["gpus"], node["memory_bytes"]) == (None, None, None)
    for text in (run_fp("show", run).stdout, run_fp("stats", run).stdout):
        assert "no GPU" not in text  # it has a kernel
        assert "GPU          not measured: no readings were recorded" in text


def test_gzip_gives_the_same_as_plain(run_fp, trace_file, tmp_path):
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress(trace_file.read_bytes()))
    plain = imported(run_fp, trace_file, "-o", tmp_path / "a")
    gz = imported(run_fp, packed, "-o", tmp_path / "b")
    assert gz.pop("gzip") is True and plain.pop("gzip") is False
    del gz["run"], plain["run"]
    assert gz == plain


def test_without_a_place_the_run_joins_the_others(run_fp, trace_file, tmp_path):
    got = imported(run_fp, trace_file, "--dir", tmp_path / "runs")
    folder = Path(got["run"])
    assert folder.parent == tmp_path / "runs"
    assert folder.name.startswith("resnet-2024")
    assert left_in(tmp_path / "runs")[0] != ".import"
    shown = run_fp("show", "last", "--dir", tmp_path / "runs")
    assert shown.returncode == 0 and "finished" in shown.stdout
    assert "resnet" in run_fp("ls", "--dir", tmp_path / "runs").stdout


def test_what_was_left_out_is_said(run_fp, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(
        '[{"ph": "X", "name": "a", "ts": 1, "args": {"x": NaN}}, {"ph": "X", "name": "no time"},'
        ' {"ph": "s", "cat": "ac2g", "ts": 1, "id": 1}, {"ph": "X", "name": "cut'
    )
    done = run_fp("import", path, "-o", tmp_path / "run")
    assert done.returncode == 0
    assert "events without a time ignored: 1" in done.stdout
    assert "launch arrows ignored" in done.stdout
    assert "broken: bare words such as NaN" in done.stdout
    assert "broken: truncated input" in done.stdout
    shown = run_fp("show", tmp_path / "run")
    assert "events without a time" in shown.stdout + shown.stderr


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.json", b"", "the file is empty"),
        ("text.txt", b"hello\n", "unknown format"),
        ("other.json", b'{"a": 1}', "no traceEvents"),
        ("none.json", b'{"traceEvents": []}', "no event"),
        ("cut.json.gz", gzip.compress(json.dumps(trace(500)).encode())[:-200], "ends early"),
        ("bad.json.gz", gzip.compress(b"x" * 99)[:-8] + b"?" * 8, "gzip data is damaged"),
    ],
    # gzip writes the time of day: as part of the test's name it would differ between two workers
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_trace_is_refused_and_leaves_nothing(run_fp, tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    done = run_fp("import", path, "-o", tmp_path / "runs" / "run")
    assert done.returncode == 1 and done.stdout == ""
    assert words in done.stderr and name in done.stderr
    assert done.stderr.count("\n") == 1
    assert left_in(tmp_path) == [name]


def test_a_missing_file_is_refused(run_fp, tmp_path):
    done = run_fp("import", tmp_path / "absent.json", "-o", tmp_path / "run")
    assert done.returncode == 1 and "absent.json" in done.stderr
    assert left_in(tmp_path) == []


def test_a_run_that_is_there_is_not_touched(run_fp, trace_file, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").write_text("x")
    done = run_fp("import", trace_file, "-o", tmp_path / "run")
    assert done.returncode == 1 and "exists already" in done.stderr
    assert left_in(tmp_path / "run") == ["mine"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_import_that_is_interrupted_takes_everything_back(footplate, tmp_path, name):
    which = signal.Signals[name]
    line = json.dumps(span("cpu_op", "aten::mm", 1000, 5)).encode() + b",\n"
    path, home = tmp_path / "long.json.gz", tmp_path / "runs"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"[\n")
        for _ in range(400):
            file.write(line * 5000)
    child = subprocess.Popen(
        [footplate, "import", "--dir", home, path],
        stdout=subprocess.DEVNULL,
        # What starts the tests may ignore it, and what is ignored stays so.
        preexec_fn=lambda: signal.signal(which, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 30
    while not list(home.glob(".import-*/*/events.fp")) and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(which)
    assert child.wait(timeout=30) == -which
    assert not home.exists()
