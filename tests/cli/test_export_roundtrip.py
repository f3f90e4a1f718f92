# SPDX-License-Identifier: Apache-2.0
"""Export and import again: the run is the same, to the nanosecond."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parent.parent / "data" / "runs" / "h200"
BASE_NS = 1_711_964_646_000_000_123

# Everything that is shown of a run.
LOOKS = [
    ["stats", "--json"],
    ["steps", "--json"],
    ["events", "--detail", "--json"],
    ["ops", "--json"],
    ["breakdown", "--json"],
    ["query", "-m", "cpu.", "--json"],
    ["export", "--what", "metrics"],
    ["export", "--what", "events"],
]


def span(cat: str, name: str, ts: float, dur: float, **more) -> dict:
    return {"ph": "X", "cat": cat, "name": name, "pid": 42, "tid": 42, "ts": ts, "dur": dur} | more


def kineto() -> dict:
    """A trace of PyTorch's profiler with all that is awkward: quotes, arguments, numbers, marks."""
    events = [{"ph": "M", "name": "process_name", "pid": 42, "args": {"name": 'py "x" \\ é'}}]
    for i in range(4):
        at = 1000.125 + 100 * i
        ids = {"External id": i + 1, "correlation": 100 + i}
        where = ids | {"device": 0, "stream": 7, "grid": [1, 2, 3], "block": [4, 5, 6]}
        events += [
            span("user_annotation", f"ProfilerStep#{i + 5}", at, 100),
            span("cpu_op", 'aten::"mm"\n\\', at + 10, 50, args=ids | {"Input Dims": [[1, 2], []]}),
            span("cpu_op", "aten::to", at + 62, 3),  # around the next; the clock is coarse
            span("cpu_op", "aten::copy_", at + 62, 3),
            span("cuda_runtime", "cudaLaunchKernel", at + 20, 5.001, args=ids),
            span("kernel", "gemm<é>", at + 30, 40, pid=0, tid=7, args=where),
            span("gpu_memcpy", "Memcpy HtoD", at + 71, 3, pid=0, tid=7, args=ids | {"bytes": 4096}),
            {"ph": "i", "name": "[memory]", "pid": 42, "tid": 42, "ts": at + 15, "s": "t",
             "args": {"Addr": 2**60 + i, "Bytes": -512, "Total Allocated": 2**40 + i,
                      "Total Reserved": 2**41, "Device Type": 1, "Device Id": 0}},
            {"ph": "C", "name": "loss", "pid": 42, "tid": 42, "ts": at, "args": {"loss": 0.1 + i}},
            {"ph": "i", "name": "here", "pid": 42, "tid": 42, "ts": at + 1, "s": "t"},
        ]  # fmt: skip
    return {
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
        "traceEvents": events,
        "baseTimeNanoseconds": BASE_NS,
    }


@pytest.fixture
def look(run_fp):
    def call(run: Path) -> dict:
        out = {}
        for words in LOOKS:
            done = run_fp(words[0], run, *words[1:])
            # A run may have no metrics; then that is the same too.
            out[" ".join(words)] = (done.returncode, done.stdout)
        shown = json.loads(run_fp("show", run, "--json").stdout)
        for key in ("path", "id", "version"):
            del shown[key]
        del shown["self"]["file_bytes"]
        shown["losses"].sort(key=json.dumps)
        return out | {"show": shown}

    return call


@pytest.fixture
def again(run_fp, tmp_path):
    """Exports a run and imports that; returns the new run."""

    def call(run: Path, form: str, name: str = "again") -> Path:
        file = tmp_path / f"{name}.{form}.gz"
        done = run_fp("export", run, "--format", form, "-o", file)
        assert done.returncode == 0, done.stderr
        done = run_fp("import", file, "-o", tmp_path / name, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["format"] == "footplate"
        return tmp_path / name

    return call


def check_same(one: dict, other: dict) -> None:
    for key in one:
        assert other[key] == one[key], key


@pytest.mark.parametrize("form", ["chrome", "jsonl"])
def test_a_recorded_run_comes_back_as_it_was(look, again, form):
    check_same(look(RUN), look(again(RUN, form)))


@pytest.mark.parametrize("form", ["chrome", "jsonl"])
def test_an_imported_trace_comes_back_as_it_was(run_fp, look, again, tmp_path, form):
    (tmp_path / "t.json").write_text(json.dumps(kineto()))
    assert run_fp("import", tmp_path / "t.json", "-o", tmp_path / "run").returncode == 0
    before = look(tmp_path / "run")
    assert len(json.loads(before["steps --json"][1])["steps"]) == 4
    assert '"gemm' in before["ops --json"][1]
    ops = {op["name"]: op["self_s"] for op in json.loads(before["ops --json"][1])}
    assert ops["aten::copy_"] > ops["aten::to"] == 0
    check_same(before, look(again(tmp_path / "run", form)))


def test_the_second_export_is_the_first(run_fp, again, tmp_path):
    first = again(RUN, "chrome", "first")
    second = again(first, "chrome", "second")
    a, b = (
        json.loads(gzip.decompress((tmp_path / f"{x}.chrome.gz").read_bytes()))
        for x in ("first", "second")
    )
    assert a["traceEvents"] == b["traceEvents"]
    for key in ("tracks", "series", "marks"):
        assert a["footplate"][key] == b["footplate"][key]
    assert second.is_dir()


def test_both_formats_give_the_same_run(look, again):
    check_same(look(again(RUN, "chrome", "c")), look(again(RUN, "jsonl", "j")))


def test_a_part_that_was_exported_is_a_run_of_its_own(run_fp, tmp_path):
    file = tmp_path / "part.json"
    run_fp("export", RUN, "--format", "chrome", "--steps", "20:29", "-o", file)
    assert run_fp("import", file, "-o", tmp_path / "part").returncode == 0
    steps = json.loads(run_fp("steps", tmp_path / "part", "--json").stdout)
    assert [(r["mode"], r["count"]) for r in steps["ranks"]] == [("train", 10)]
    shown = json.loads(run_fp("show", tmp_path / "part", "--json").stdout)
    assert "torn" not in json.dumps(shown["losses"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"footplate":{"version":1},"traceEvents":[]}', "no readings and no events"),
        ('{"footplate":{"version":9},"traceEvents":[]}', "newer version"),
        ('{"type":"footplate","version":1}\n', "no readings and no events"),
        ('{"footplate":{"version":1', "no readings and no events"),
        ('{"footplate":{}} x', "no readings and no events"),
    ],
)
def test_what_is_no_whole_export_is_refused_and_leaves_nothing(run_fp, tmp_path, text, words):
    (tmp_path / "x.json").write_text(text)
    done = run_fp("import", tmp_path / "x.json", "-o", tmp_path / "runs" / "run")
    assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["x.json"]


def test_an_export_that_was_cut_gives_what_it_has_and_says_so(run_fp, tmp_path):
    text = run_fp("export", RUN, "--format", "jsonl").stdout
    (tmp_path / "cut.jsonl").write_text(text[: len(text) // 2])
    done = run_fp("import", tmp_path / "cut.jsonl", "-o", tmp_path / "run")
    assert done.returncode == 0 and "truncated input" in done.stdout
    shown = run_fp("show", tmp_path / "run").stdout
    assert "truncated input" in shown
