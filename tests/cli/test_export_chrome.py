# SPDX-License-Identifier: Apache-2.0
"""A run as a Chrome trace: valid, complete, exact; for Perfetto and chrome://tracing."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
from chrome_check import check_trace

RUN = Path(__file__).resolve().parent.parent / "data" / "runs" / "h200"


@pytest.fixture(scope="module")
def text(footplate) -> str:
    """The export of a real run: hooks, a detail window with kernels, metrics of a GPU."""
    done = subprocess.run(
        [footplate, "export", RUN, "--format", "chrome"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def trace(text) -> dict:
    return check_trace(text)


def of(trace: dict, **want) -> list[dict]:
    return [e for e in trace["traceEvents"] if all(e.get(k) == v for k, v in want.items())]


def names(trace: dict, kind: str) -> dict[tuple, str]:
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in of(trace, ph="M", name=kind)}


def test_the_trace_is_as_documented(trace):
    assert len(trace["traceEvents"]) > 10000


def test_a_viewer_of_perfetto_reads_it(text, tmp_path):
    api = pytest.importorskip("perfetto.trace_processor", reason="perfetto is not installed")
    shell = Path.home() / ".local/share/perfetto/prebuilts"
    found = sorted(shell.glob("trace_processor_shell*")) if shell.is_dir() else []
    if not found:
        pytest.skip("no trace processor of Perfetto on this machine, and none is downloaded")
    path = tmp_path / "t.json"
    path.write_text(text)
    config = api.TraceProcessorConfig(bin_path=str(found[-1]))
    with api.TraceProcessor(trace=str(path), config=config) as tp:
        bad = list(tp.query("select name, value from stats where severity = 'error' and value > 0"))
        assert bad == []
        slices = next(iter(tp.query("select count(*) as n from slice"))).n
    assert slices >= text.count('"ph":"X"')


def test_every_rank_is_a_process_with_its_threads_and_streams(trace):
    processes = names(trace, "process_name")
    assert "run gpu" in processes.values() and "node vm" in processes.values()
    [rank] = [k for k, v in processes.items() if v == "pid 417 · python3 gpu_train.py · vm"]
    threads = {v for k, v in names(trace, "thread_name").items() if k[0] == rank[0]}
    assert {"main", "gpu0 (GPU time)", "gpu0 stream 7 (detail)"} <= threads


def test_phases_and_steps_stand_on_top_with_their_parts(trace, run_fp):
    threads = names(trace, "thread_name")
    steps = [e for e in of(trace, ph="X", cat="step") if e["pid"] == 1]
    assert {threads[e["pid"], e["tid"]] for e in steps} == {"steps of rank 0 (host)"}
    said = json.loads(run_fp("steps", RUN, "--json").stdout)["steps"]
    assert len(steps) == len(said)
    for e, s in zip(steps, said, strict=True):
        assert e["args"]["step"] == s["step"] and e["args"]["mode"] == s["mode"]
        assert e["dur"] / 1e6 == pytest.approx(s["duration_s"])
        assert e["args"].get("forward_ms", 0) / 1e3 == pytest.approx(s["events"]["forward"])
    for e in steps[:-1]:
        a = e["args"]
        assert a["iteration_ms"] == pytest.approx(e["dur"] / 1e3 + a["between_ms"])
    parts = of(trace, ph="C", name="rank 0 host parts of an iteration ms")
    assert len(parts) == len(steps) and all("between" in e["args"] for e in parts)
    phases = [e["name"] for e in of(trace, ph="X", cat="phase") if e["pid"] == 1]
    assert phases[0] == "initialization" and phases[-1] == "finalization"
    order = {e["pid"]: e["args"]["sort_index"] for e in of(trace, name="process_sort_index")}
    assert order[1] == min(order.values())


def test_metrics_are_counters_of_their_node_with_their_unit(trace, run_fp):
    rows = csv.DictReader(io.StringIO(run_fp("export", RUN, "-m", "gpu.power").stdout))
    want = [(int(r["time_ns"]), float(r["value"])) for r in rows]
    base = trace["baseTimeNanoseconds"]
    got = of(trace, ph="C", name="gpu.power gpu0")
    assert [(base + round(e["ts"] * 1000), e["args"]["W"]) for e in got] == want
    assert {names(trace, "process_name")[e["pid"], 0] for e in got} == {"node vm"}


def test_times_keep_every_nanosecond(text, run_fp):
    """ts as decimal text, not as a double, is base + ts to the nanosecond; so it is as a double."""
    rows = csv.DictReader(io.StringIO(run_fp("export", RUN, "--what", "events").stdout))
    want = {(int(r["time_ns"]), int(r["duration_ns"] or 0), r["name"]) for r in rows}
    exact = json.loads(text, parse_float=Decimal)
    base = exact["baseTimeNanoseconds"]
    processes = {k[0] for k, v in names(exact, "process_name").items() if " · " in v}
    events = [e for e in exact["traceEvents"] if e["ph"] in "XiC" and e["pid"] in processes]
    got = {(base + int(e["ts"] * 1000), int(e.get("dur", 0) * 1000), e["name"]) for e in events}
    assert got == want
    for e in events:
        assert round(float(e["ts"]) * 1000) == int(e["ts"] * 1000)


def test_launches_are_tied_to_their_kernels(trace):
    kernels = of(trace, ph="X", cat="kernel")
    arrows = {(e["pid"], e["tid"], e["ts"]) for e in of(trace, ph="f")}
    assert kernels and all((e["pid"], e["tid"], e["ts"]) in arrows for e in kernels)
    launch = {e["args"]["correlation"] for e in of(trace, ph="X", cat="runtime") if "args" in e}
    assert {e["args"]["correlation"] for e in kernels} <= launch


def test_gzip_by_name_holds_the_same(run_fp, text, tmp_path):
    done = run_fp("export", RUN, "--format", "chrome", "-o", tmp_path / "t.json.gz")
    assert done.returncode == 0, done.stderr
    packed = (tmp_path / "t.json.gz").read_bytes()
    assert gzip.decompress(packed).decode() == text
    assert len(packed) < len(text) / 5


def test_steps_cut_the_trace_to_their_time(run_fp, trace):
    done = run_fp("export", RUN, "--format", "chrome", "--steps", "10:12")
    part = check_trace(done.stdout)
    assert part["baseTimeNanoseconds"] == trace["baseTimeNanoseconds"]
    steps = [e for e in of(part, ph="X", cat="step") if e["pid"] == 1 and e["ts"] > 0]
    assert [e["args"]["step"] for e in steps if e["args"]["mode"] == "train"] == [10, 11, 12]
    begin, end = steps[0]["ts"], steps[-1]["ts"] + steps[-1]["dur"]
    for e in part["traceEvents"]:
        if e["ph"] == "X" and e["cat"] != "phase":
            assert e["ts"] < end and e["ts"] + e["dur"] >= begin
        elif e["ph"] in ("C", "i") and "cat" not in e:
            assert begin <= e["ts"] < end


def test_what_is_no_range_of_steps_is_refused(run_fp):
    for words, why in (
        (["--steps", "x"], "not a range of steps"),
        (["--steps", "9:3"], "not a range of steps"),
        (["--steps", "5000:5001"], "has no training step"),
        (["--steps", "1", "--from", "+1s"], "cannot be combined with --from"),
        (["--what", "steps"], "cannot be combined with --what steps"),
    ):
        done = run_fp("export", RUN, "--format", "chrome", *words)
        assert done.returncode in (1, 2) and done.stdout == "" and why in done.stderr


def test_spans_that_overlap_get_lanes_of_their_own(run_fp, tmp_path):
    """Kernels of one stream that overlap would be lost in viewers on one line."""
    spans = [
        {"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 25,
         "args": {"device": 0, "stream": 7}}
        for i in range(20)
    ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps({"traceEvents": spans, "schemaVersion": 1}))
    assert run_fp("import", tmp_path / "t.json", "-o", tmp_path / "run").returncode == 0
    part = check_trace(run_fp("export", tmp_path / "run", "--format", "chrome").stdout)
    kernels = of(part, ph="X", cat="kernel")
    assert len(kernels) == 20 and len({e["tid"] for e in kernels}) == 3
