# SPDX-License-Identifier: Apache-2.0
"""footplate.analysis says what the program says: every number, on runs of every kind, with pandas
and without."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from analysis_kit import Runs, opened, records
from pykit import plain_env


def close(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and abs(a - b) <= 1e-12 * max(abs(a), abs(b))
    return bool(a == b)


def same(ours: list[dict[str, Any]], theirs: list[dict[str, Any]], names: dict[str, str]) -> None:
    """`names`: our column, and the program's key."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        for column, key in names.items():
            assert close(a[column], b[key]), (column, a[column], b[key])


@pytest.mark.parametrize("name", Runs.NAMES)
def test_a_run_is_what_show_says(runs, frames, name):
    run, said = opened(runs, name, frames), runs.said("show", name)
    assert run.info == said
    assert (run.name, run.status, run.command) == (said["name"], said["status"], said["command"])
    assert run.nodes == [n["id"] for n in said["nodes"]]
    assert run.start.timestamp() == pytest.approx(said["start_ns"] / 1e9, abs=2e-6)
    assert run.end.timestamp() == pytest.approx(said["end_ns"] / 1e9, abs=2e-6)


@pytest.mark.parametrize("name", ["recorded", "cpu", "two_nodes", "sagemaker"])
def test_samples_are_those_of_query_to_the_last_bit(runs, frames, name):
    run = opened(runs, name, frames)
    metrics = {k.metric for k in run._series()}
    ours = records(run.system_metrics())
    at = 0
    for metric in sorted(metrics):
        for s in runs.said("query", name, "--metric", metric):
            mine = [
                r
                for r in ours
                if (r["node"], r["metric"], r["entity"]) == (s["node"], metric, s["entity"])
            ]
            assert [r["time"] for r in mine] == s["t_ns"]
            assert [r["value"] for r in mine] == s["v"]
            assert {r["unit"] for r in mine} == {s["unit"]}
            at += len(mine)
    assert at == len(ours)


def test_points_are_those_of_query(runs, frames):
    (said,) = runs.said("query", "cpu", "--metric", "gpu.util", "--points", "17")
    ours = records(opened(runs, "cpu", frames).system_metrics("gpu.util", points=17))
    assert [r["time"] for r in ours] == said["t_ns"]
    for column, key in (("value", "v"), ("min", "min"), ("max", "max")):
        assert [r[column] for r in ours] == said[key]


def test_a_window_is_half_open_and_may_be_said_in_many_ways(runs, frames):
    run = opened(runs, "cpu", frames)
    whole = records(run.system_metrics("gpu.util"))
    a, b = whole[3]["time"], whole[9]["time"]
    cut = records(run.system_metrics("gpu.util", start=a, end=b))
    assert [r["time"] for r in cut] == [r["time"] for r in whole[3:9]]
    from datetime import datetime, timedelta, timezone

    utc = timezone.utc  # noqa: UP017
    moment = datetime(1970, 1, 1, tzinfo=utc) + timedelta(microseconds=-(-a // 1000))
    for start in (moment, moment.isoformat(), moment.replace(tzinfo=None)):
        later = records(run.system_metrics("gpu.util", start=start))
        assert [r["time"] for r in later] == [
            r["time"] for r in whole if r["time"] * 1 >= -(-a // 1000) * 1000
        ]


def test_wide_frames_have_a_row_for_each_sweep(runs, frames):
    run = opened(runs, "sagemaker", frames)
    wide = records(run.system_metrics("cpu.util", node="algo-2", form="wide"))
    long = records(run.system_metrics("cpu.util", node="algo-2"))
    for entity in ("cpu0", "cpu3"):
        values = [r[f"cpu.util {entity}"] for r in wide]
        assert values == [r["value"] for r in long if r["entity"] == entity]
    import footplate

    with pytest.raises(footplate.RunError, match="one node"):
        run.system_metrics(form="wide")


@pytest.mark.parametrize("name", ["recorded", "data", "kineto", "sagemaker"])
def test_steps_and_ranks_are_those_of_steps(runs, frames, name):
    run, said = opened(runs, name, frames), runs.said("steps", name)
    ours = records(run.steps())
    keys = {k: k for k in ("node", "rank", "mode", "step", "duration_s", "samples", "cut")}
    keys |= {k: k for k in ("between_s", "warmup", "disturbed")}
    same(ours, said["steps"], keys | {"start": "start_ns"})
    for row, step in zip(ours, said["steps"], strict=True):
        assert row["end"] == row["start"] + round(step["duration_s"] * 1e9)
        for part, seconds in step["events"].items():
            assert row[part + "_s"] == seconds
        whole = step["iteration_s"]
        assert row["iteration_s"] == (None if whole is None else pytest.approx(whole))
    numbers = (
        "count",
        "mean_s",
        "min_s",
        "p50_s",
        "p95_s",
        "p99_s",
        "max_s",
        "stddev_s",
        "outliers",
    )
    objects = ("host_parts_s", "gpu_parts_s", "gpu_timed_steps", "sync", "warmup_steps")
    keys = {k: k for k in ("node", "rank", "mode", *numbers, *objects)}
    same(records(run.ranks()), said["ranks"], keys)
    for row, rank in zip(records(run.ranks()), said["ranks"], strict=True):
        assert row["iteration_mean_s"] == rank["iteration_s"]["mean"]
        assert row["throughput_steady"] == rank["throughput"]["steady"]
        assert row["throughput_overall"] == rank["throughput"]["overall"]
        host = [p for p in records(run.parts(rank["rank"], rank["mode"])) if p["clock"] == "host"]
        assert {p["part"]: p["seconds"] for p in host} == {
            k: v for k, v in rank["host_parts_s"].items() if v is not None
        }


@pytest.mark.parametrize("name", ["recorded", "kineto", "sagemaker"])
def test_events_add_up_to_what_events_says(runs, frames, name):
    run = opened(runs, name, frames)
    found: dict[tuple[Any, ...], list[float]] = {}
    for e in records(run.framework_events()):
        key = (e["node"], e["pid"], e["thread"], e["kind"], e["name"])
        found.setdefault(key, []).append(e["duration_s"])
    said = runs.said("events", name, "--detail")
    assert len(said) == len(found)
    for s in said:
        key = (s["node"], s["pid"], s["track"], s["kind"], s["name"])
        assert len(found[key]) == s["count"]
        if s["total_s"] is not None:
            assert sum(found[key]) == pytest.approx(s["total_s"], rel=1e-9)
            assert max(found[key]) == s["max_s"]


@pytest.mark.parametrize("by", ["name", "module"])
def test_ops_are_those_of_ops(runs, frames, by):
    said = runs.said("ops", "kineto", "--by", by)
    ours = records(opened(runs, "kineto", frames).ops(by=by))
    assert said
    same(ours, said, {k: k for k in said[0]})


@pytest.mark.parametrize("table", ["steps", "devices", "streams", "groups", "memory", "windows"])
def test_breakdowns_are_those_of_breakdown(runs, frames, table):
    said = runs.said("breakdown", "kineto")[table]
    ours = records(opened(runs, "kineto", frames).breakdown(table))
    assert said or table in ("memory", "windows")
    same(ours, said, {k.removesuffix("_ns"): k for k in (said[0] if said else {})})


@pytest.mark.parametrize("name", Runs.NAMES)
def test_stats_are_those_of_stats(runs, frames, name):
    run = opened(runs, name, frames)
    numbers = ("count", "min", "p50", "p90", "p95", "p99", "max", "mean")
    keys = {k: k for k in ("node", "metric", "unit", *numbers)}
    same(records(run.stats()), runs.said("stats", name), keys)
    every = runs.said("stats", name, "--all") if run._series() else []
    same(records(run.stats(all=True)), every, keys | ({"entity": "entity"} if every else {}))


@pytest.mark.parametrize("name", Runs.NAMES)
def test_findings_are_those_of_check(runs, frames, name):
    found = opened(runs, name, frames).findings()
    said = runs.said("check", name)
    assert found.verdicts == said
    rows = records(found)
    flat = [(v, f) for v in said for f in (v["findings"] or [None])]
    for row, (v, f) in zip(rows, flat, strict=True):
        assert (row["rule"], row["state"]) == (v["rule"], v["state"])
        assert row["severity"] == (v["severity"] if v["state"] == "issue" else None)
        if f:
            same([row], [f], {"message": "message", "start": "start_ns", "lost_s": "lost_s"})


def test_parameters_of_rules_are_set_in_three_ways(runs, frames):
    run = opened(runs, "cpu", frames)
    said = runs.said("check", "cpu", "--set", "CPUBottleneck.threshold=60")
    assert any(v["state"] == "clear" for v in said if v["rule"] == "CPUBottleneck")
    for params in (
        {"CPUBottleneck": {"threshold": 60}},
        {"CPUBottleneck_threshold": 60},
        {"CPUBottleneck.threshold": 60},
    ):
        assert run.findings(**params).verdicts == said
    only = run.findings(rules=["CPUBottleneck"])
    assert {r["rule"] for r in records(only)} == {"CPUBottleneck"}
    import footplate

    for wrong in ({"CPUBottleneck": {"no_such": 1}}, {"NoSuchRule_x": 1}):
        with pytest.raises(footplate.RunError, match="no"):
            run.findings(**wrong)
    with pytest.raises(TypeError):
        run.findings(whatever=1)


def test_rules_in_files_are_evaluated_too(runs, frames, footplate, monkeypatch, tmp_path):
    monkeypatch.setenv("FOOTPLATE_BIN", str(footplate))
    file = tmp_path / "own.py"
    file.write_text(
        "from footplate.rules import Finding, Param, Rule\n"
        "class Cold(Rule):\n"
        "    name = 'Cold'\n"
        "    params = {'below': Param(101)}\n"
        "    def check(self, run):\n"
        "        for s in run.series('gpu.util'):\n"
        "            if s.max() < self.p['below']:\n"
        "                yield Finding('never busy', s.node, s.entity)\n"
    )
    run = opened(runs, "cpu", frames)
    (row,) = (r for r in records(run.findings(rule_files=[file])) if r["rule"] == "Cold")
    assert (row["state"], row["message"], row["entity"]) == ("issue", "never busy", "gpu0")
    (row,) = (
        r
        for r in records(run.findings(rule_files=[file], Cold={"below": 1}))
        if r["rule"] == "Cold"
    )
    assert row["state"] == "clear"


def test_a_run_is_found_by_its_name(runs, frames):
    import footplate

    listed = records(footplate.runs(runs.folder, frames=frames))
    assert {r["path"].rpartition("/")[2] for r in listed} == set(Runs.NAMES)
    run = footplate.open("sagem", runs.folder, frames=frames)
    assert run.path == runs.path("sagemaker")
    assert footplate.open("last", runs.folder, frames=frames).path
    for name in ("no-such-run", runs.path("trace.json.gz")):
        with pytest.raises(footplate.RunError):
            footplate.open(name, runs.folder)


def test_what_is_not_there_is_refused_with_what_is(runs, frames):
    import footplate

    run = opened(runs, "cpu", frames)
    with pytest.raises(footplate.RunError, match="gpu.util"):
        run.system_metrics("gpu.utl")
    with pytest.raises(footplate.RunError, match="no node 'b'"):
        run.system_metrics(node="b")
    with pytest.raises(footplate.RunError, match="no steps"):
        run.system_metrics(steps=(1, 2))
    run = opened(runs, "cpu", frames)
    run.close()
    with pytest.raises(footplate.RunError, match="closed"):
        run.ranks()


def test_comparing_gives_the_object_of_compare(runs, frames):
    import footplate

    ours = footplate.compare(runs.path("data"), runs.path("two_nodes"), frames=frames)
    said = runs.said("compare", "data", runs.path("two_nodes"))
    assert ours.json == said
    assert ours.verdict == said["verdict"] and ours.sentence == said["sentence"]
    assert len(ours.table("phases")) == len(said["phases"])
    assert "<table" in ours._repr_html_() and ours.verdict in repr(ours)
    alike = footplate.compare(runs.path("data"), runs.path("data"), frames=frames)
    assert alike.verdict == runs.said("compare", "data", runs.path("data"))["verdict"]
    with pytest.raises(footplate.RunError):
        footplate.compare(runs.path("data"), runs.path("nothing"))


def test_several_threads_may_ask_one_run(runs, frames):
    import threading

    run = opened(runs, "sagemaker", frames)
    right = records(run.system_metrics("cpu.util"))
    wrong = []

    def ask():
        for _ in range(20):
            if records(run.system_metrics("cpu.util")) != right:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_arrays_are_not_copied(runs):
    np = pytest.importorskip("numpy")
    pytest.importorskip("pandas")
    run = opened(runs, "cpu", "table")
    table = run.system_metrics()
    memory = np.asarray(table["value"].data)
    frame = table.to_pandas()
    assert np.shares_memory(frame["value"].to_numpy(), memory)
    assert np.shares_memory(frame["time"].array.asi8, np.asarray(table["time"].data))
    assert str(frame["time"].dtype) == "datetime64[ns, UTC]"
    assert str(frame["entity"].dtype) == "category"


def test_damaged_columns_are_left_out_and_nothing_else(runs, tmp_path):
    import shutil

    folder = tmp_path / "cpu"
    shutil.copytree(runs.path("cpu"), folder)
    file = folder / "node-a" / "metrics.fp"
    data = bytearray(file.read_bytes())
    right = {
        (r["metric"], r["entity"], r["time"]): r["value"]
        for r in records(opened(runs, "cpu", "table").system_metrics())
    }
    import footplate

    for at in range(len(data) // 3, len(data), len(data) // 8):
        hurt = bytearray(data)
        hurt[at] ^= 0x55
        file.write_bytes(hurt)
        try:
            got = records(footplate.open(folder, frames="table").system_metrics())
        except footplate.RunError:
            continue
        for r in got:
            assert right[r["metric"], r["entity"], r["time"]] == r["value"]


def test_importing_the_package_does_not_import_the_analysis(package):
    code = (
        "import sys, footplate; before = set(sys.modules); assert not any("
        "m.startswith(('footplate.analysis', 'footplate._query', 'numpy', 'pandas', 'json'))"
        " for m in before), before; footplate.open; assert 'footplate.analysis' in sys.modules;"
        " assert 'pandas' not in sys.modules and 'numpy' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=plain_env({"PYTHONPATH": str(package)}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
