# SPDX-License-Identifier: Apache-2.0
"""Several runs become one timeline, by the clock or by their steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chrome_check import check_trace

RUN = Path(__file__).resolve().parent.parent / "data" / "runs" / "h200"


def trace_of(rank: int, start_us: int, step_us: int, host: int) -> dict:
    """Six steps of a rank, numbered from 3."""
    events = []
    for i in range(6):
        at = start_us + i * step_us
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i + 3}", "pid": host,
             "tid": host, "ts": at, "dur": step_us},
            {"ph": "X", "cat": "cpu_op", "name": f"op{rank}", "pid": host, "tid": host,
             "ts": at + 1, "dur": step_us // 2},
        ]  # fmt: skip
    return {
        "schemaVersion": 1,
        "distributedInfo": {"rank": rank, "world_size": 2},
        "traceEvents": events,
        "baseTimeNanoseconds": 1_794_752_780_000_000_000,
    }


@pytest.fixture
def two(run_fp, tmp_path) -> list[Path]:
    """Two imported traces; the second begins a second later and is slower."""
    runs = []
    for rank, (start, step) in enumerate([(100, 1000), (1_000_100, 3000)]):
        path = tmp_path / f"t{rank}.json"
        path.write_text(json.dumps(trace_of(rank, start, step, 70 + rank)))
        assert run_fp("import", path, "-o", tmp_path / f"run{rank}").returncode == 0
        runs.append(tmp_path / f"run{rank}")
    return runs


@pytest.fixture
def merged(run_fp, tmp_path):
    def call(*words) -> tuple[Path, dict]:
        done = run_fp("merge", *words, "-o", tmp_path / "both")
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{tmp_path / 'both'}\n"
        return tmp_path / "both", json.loads(run_fp("steps", tmp_path / "both", "--json").stdout)

    return call


def starts(steps: dict) -> dict[tuple, int]:
    return {(s["rank"], s["step"]): s["start_ns"] for s in steps["steps"]}


def test_by_time_everything_stays_when_it_was(run_fp, two, merged):
    run, steps = merged(*two)
    want = {}
    for one in two:
        want |= starts(json.loads(run_fp("steps", one, "--json").stdout))
    assert starts(steps) == want and len(want) == 12
    assert {o["name"] for o in json.loads(run_fp("ops", run, "--json").stdout)} >= {"op0", "op1"}


def test_by_step_the_same_step_begins_at_the_same_time(two, merged):
    _, steps = merged(*two, "--align", "step")
    when = starts(steps)
    assert when[0, 3] == when[1, 3]
    assert when[1, 4] - when[1, 3] == 3_000_000 and when[0, 4] - when[0, 3] == 1_000_000


def test_a_range_of_steps_is_cut_from_each_run_by_its_own_count(two, merged):
    _, steps = merged(*two, "--align", "step", "--steps", "5:6")
    when = starts(steps)
    assert sorted(when) == [(0, 5), (0, 6), (1, 5), (1, 6)]
    assert when[0, 5] == when[1, 5]


def test_nodes_of_the_same_name_are_told_apart_by_their_run(run_fp, two, merged):
    run, _ = merged(*two)
    nodes = [n["id"] for n in json.loads(run_fp("show", run, "--json").stdout)["nodes"]]
    assert len(nodes) == len(set(nodes)) == 2
    assert all(n.startswith(("t0-", "t1-")) for n in nodes)


def test_metrics_and_losses_come_along(run_fp, two, merged):
    run, steps = merged(RUN, two[0])
    for words in (["-m", "cpu.util", "-e", "total"], ["-m", "gpu.power"]):
        asked = [json.loads(run_fp("query", r, *words, "--json").stdout) for r in (RUN, run)]
        assert asked[0] == asked[1]
    lost = [json.loads(run_fp("show", r, "--json").stdout)["losses"] for r in (RUN, run)]
    assert all(x in lost[1] for x in lost[0] if x["node"])  # others say why a number is null
    assert len(steps["steps"]) == 170 + 6


def test_the_merged_run_is_one_trace_in_a_viewer(run_fp, two, merged):
    run, _ = merged(RUN, *two)
    trace = check_trace(run_fp("export", run, "--format", "chrome").stdout)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert sum(" · " in n for n in names) == 3 + 2


def test_a_run_merged_alone_is_itself(run_fp, merged):
    run, _ = merged(RUN)
    for words in (["steps", "--json"], ["events", "--detail", "--json"], ["ops", "--json"]):
        assert run_fp(words[0], run, *words[1:]).stdout == run_fp(words[0], RUN, *words[1:]).stdout


def test_what_cannot_be_merged_is_refused_and_leaves_nothing(run_fp, two, tmp_path):
    before = sorted(p.name for p in tmp_path.iterdir())
    out = tmp_path / "out" / "both"
    for words, why in (
        ([two[0], "/nowhere"], "nowhere"),
        ([*two, "--steps", "90:91"], "no training step"),
        ([*two, "--align", "step", "--steps", "7:"], "not a range of steps"),
    ):
        done = run_fp("merge", *words, "-o", out)
        assert done.returncode in (1, 2) and why in done.stderr and done.stdout == ""
    done = run_fp("merge", *two, "-o", tmp_path / "run0")
    assert done.returncode == 1 and "exists already" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before
