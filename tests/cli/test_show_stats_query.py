# SPDX-License-Identifier: Apache-2.0
"""What a recorded run looks like through ls, show, stats and query."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

SHOW_KEYS = {
    "name", "id", "status", "command", "nodes", "interval_ms", "start_ns", "end_ns", "duration_s",
    "loop_start_ns", "loop_end_ns", "loop_duration_s", "initialization_s", "finalization_s",
    "initialization_pct", "loop_pct", "finalization_pct", "phases", "exit_status", "self", "losses",
}  # fmt: skip
STATS_KEYS = {"node", "metric", "unit", "min", "max", "p50", "p90", "p95", "p99", "count"}
STATS_ROWS = ["cpu", "gpu", "cpu_memory", "gpu_memory", "io_wait", "net_in", "net_out"]
QUERY_KEYS = {"node", "metric", "entity", "unit", "t_ns", "v", "min", "max"}


# -- ls --


def test_ls_shows_the_run_and_its_command(fp):
    lines = fp("ls").splitlines()
    assert lines[0].split() == ["RUN", "STATUS", "START", "DURATION", "NODES", "GPUS", "COMMAND"]
    assert re.match(r"demo-\d{8}-\d{6}-[0-9a-f]{4}  finished  \d{4}-\d\d-\d\d ", lines[1])
    assert lines[1].rstrip().endswith("sleep 1'")


def test_ls_in_json_csv_and_names_agree(fp):
    (run,) = json.loads(fp("ls", "--json"))
    (row,) = csv.DictReader(io.StringIO(fp("ls", "--csv")))
    assert run["name"] == row["name"] == "demo"
    assert run["status"] == row["status"] == "finished"
    assert int(row["start_ns"]) == run["start_ns"]
    assert fp("ls", "--names").split() == [run["id"]]


def test_a_run_that_cannot_be_read_is_listed_with_the_reason(fp, runs, run_fp, tmp_path):
    folder = tmp_path / "runs"
    shutil.copytree(runs, folder)
    broken = folder / "broken-20260101-000000-0000"
    broken.mkdir()
    (broken / "run.json").write_text("{ this is no JSON")
    listed = {x["name"]: x for x in json.loads(run_fp("ls", "--json", "--dir", folder).stdout)}
    assert listed["demo"]["status"] == "finished"
    assert listed[broken.name]["status"] is None and listed[broken.name]["error"]
    assert "unreadable: " in run_fp("ls", "--dir", folder).stdout


def test_a_thousand_runs_are_all_listed(fp, runs, tmp_path):
    (original,) = runs.iterdir()
    folder = tmp_path / "many"
    for i in range(1000):
        copy = folder / f"demo-20260101-{i // 60:04d}{i % 60:02d}-{i:04x}"
        shutil.copytree(original, copy, ignore=shutil.ignore_patterns("*.fp"))
    assert len(json.loads(fp("ls", "--json", "--dir", folder))) == 1000


# -- show --


def test_show_json_has_the_keys_that_others_build_on(fp, job):
    run = json.loads(fp("show", "last", "--json"))
    assert set(run) >= SHOW_KEYS
    assert run["name"] == "demo" and run["id"].startswith("demo-")
    assert run["status"] == "finished" and run["exit_status"] == 0
    assert run["command"] == ["sh", "-c", job]
    assert run["interval_ms"] == 100
    assert set(run["self"]) >= {"cpu_s", "bytes_written", "events_dropped", "samples"}
    assert run["self"]["cpu_s"] > 0 and run["self"]["samples"] > 100
    (node,) = run["nodes"]
    assert set(node) >= {"id", "cores", "gpus", "memory_bytes"}
    assert node["cores"] == os.cpu_count() and node["gpus"] == 0 and node["memory_bytes"] > 0


def test_show_times_are_those_of_the_job(fp):
    run = json.loads(fp("show", "last", "--json"))
    assert run["duration_s"] == pytest.approx((run["end_ns"] - run["start_ns"]) / 1e9)
    assert 1.5 < run["duration_s"] < 20
    assert abs(time.time_ns() - run["end_ns"]) < 3600e9


def test_what_is_not_known_without_steps_is_null_and_says_why(fp):
    run = json.loads(fp("show", "last", "--json"))
    for key in ("loop_start_ns", "loop_duration_s", "initialization_s", "initialization_pct"):
        assert run[key] is None
    for loss in run["losses"]:
        assert set(loss) >= {"what", "why", "count"} and loss["why"]
    (steps,) = [x for x in run["losses"] if x["what"] == "steps"]
    assert steps["why"] and steps["count"] == 1
    assert (steps["metric"], steps["entity"], steps["part"]) == (None, None, "steps")
    assert f"no steps were detected: {steps['why']}. " in fp("show", "last")
    assert run["phases"] == []


def test_show_tells_people_the_same(fp):
    run, text = json.loads(fp("show", "last", "--json")), fp("show", "last")
    fields = dict(re.findall(r"^(\w[\w ]*?) {2,}(\S.*)$", text, re.MULTILINE))
    assert fields["run"] == "demo" and fields["status"] == "finished"
    assert fields["command"].startswith("sh -c 'i=0; while")
    start = datetime.fromtimestamp(run["start_ns"] // 10**9).strftime("%Y-%m-%d %H:%M:%S")
    assert fields["started"].startswith(start)
    samples = run["self"]["samples"]
    count = f"{samples:,}".replace(",", " ") if samples > 9999 else str(samples)
    assert fields["recorded"].startswith(f"every 100 ms, {count} ")
    cost = fields["overhead"]
    assert re.fullmatch(r"[\d.]+ s of CPU.*, disk writes [\d.]+ [KM]?i?B", cost)
    assert ("% of one core" in cost) == (run["duration_s"] >= 5)


def test_no_gpu_found_is_said_once(fp):
    text = fp("show", "last")
    assert text.count("no GPU found: ") == 1
    assert text.count("/nonexistent.so") <= 1


def without_folder(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("folder ")]


def test_a_run_is_found_by_its_folder_its_name_and_the_start_of_its_name(fp, runs):
    (folder,) = runs.iterdir()
    expected = fp("show", "last")
    for ref in (folder, folder.name, "demo", "dem", f"{folder}/"):
        assert without_folder(fp("show", ref)) == without_folder(expected)


def test_a_job_that_fails_and_one_that_is_killed_are_told_apart(run_fp, tmp_runs, footplate):
    env = os.environ | {"FOOTPLATE_DIR": str(tmp_runs)}
    assert run_fp("run", "--name", "bad", "--", "sh", "-c", "exit 7", env=env).returncode == 7
    bad = json.loads(run_fp("show", "bad", "--json", env=env).stdout)
    assert bad["status"] == "failed" and bad["exit_status"] == 7
    assert "failed, exit status 7" in run_fp("show", "bad", env=env).stdout
    killed = subprocess.Popen(
        [footplate, "run", "--name", "cut", "--", "sleep", "60"], env=env, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 30
    while run_fp("show", "cut", env=env).returncode != 0 and time.monotonic() < until:
        time.sleep(0.05)
    killed.send_signal(signal.SIGTERM)
    assert killed.wait(timeout=30) == 128 + signal.SIGTERM
    cut = json.loads(run_fp("show", "cut", "--json", env=env).stdout)
    assert cut["status"] == "interrupted"
    assert any(m["mark"] == "signal" and m["number"] == signal.SIGTERM for m in cut["marks"])
    assert "SIGTERM" in run_fp("show", "cut", env=env).stdout


# -- stats --


def test_stats_json_has_every_row_of_every_node(fp):
    rows = json.loads(fp("stats", "last", "--json"))
    assert [x["metric"] for x in rows] == STATS_ROWS
    for row in rows:
        assert set(row) >= STATS_KEYS
        assert row["unit"]


def test_stats_are_in_order_and_within_their_bounds(fp):
    for row in json.loads(fp("stats", "last", "--json")):
        if row["count"] == 0:
            continue
        steps = [row[k] for k in ("min", "p50", "p90", "p95", "p99", "max")]
        assert steps == sorted(steps) and row["losses"] == []
        if row["unit"] == "%":
            assert row["min"] >= 0 and row["max"] <= 100
    cpu = json.loads(fp("stats", "last", "--json"))[0]
    assert cpu["max"] > 0 and cpu["count"] > 5


def test_a_row_that_was_not_measured_is_null_with_a_reason(fp):
    gpu = json.loads(fp("stats", "last", "--json"))[1]
    assert gpu["metric"] == "gpu" and gpu["count"] == 0
    for key in ("min", "max", "p50", "p90", "p95", "p99"):
        assert gpu[key] is None
    assert gpu["losses"][0]["why"]
    assert re.search(r"GPU +not measured: \S", fp("stats", "last"))
    row = next(
        x for x in csv.DictReader(io.StringIO(fp("stats", "last", "--csv"))) if x["metric"] == "gpu"
    )
    assert row["min"] == row["max"] == "" and row["count"] == "0"


def test_stats_agree_with_the_samples_themselves(fp):
    series = json.loads(fp("query", "last", "--metric", "cpu.util", "--entity", "total", "--json"))[
        0
    ]
    cpu = json.loads(fp("stats", "last", "--json"))[0]
    assert cpu["count"] == len(series["v"])
    assert cpu["min"] == pytest.approx(min(series["v"]))
    assert cpu["max"] == pytest.approx(max(series["v"]))
    middle = sorted(series["v"])
    half = (len(middle) - 1) / 2
    exact = (middle[int(half)] + middle[int(half + 0.5)]) / 2
    assert cpu["p50"] == pytest.approx(exact)


def test_stats_of_all_series_name_their_entities(fp):
    rows = json.loads(fp("stats", "last", "--all", "--json"))
    cores = {x["entity"] for x in rows if x["metric"] == "cpu.util"}
    assert cores == {"total"} | {f"cpu{i}" for i in range(os.cpu_count() or 1)}
    table = list(csv.DictReader(io.StringIO(fp("stats", "last", "--all", "--csv"))))
    assert len(table) == len(rows)


# -- what GPUs achieved --

H200 = Path(__file__).resolve().parents[1] / "data" / "runs" / "h200"
GPU_KEYS = {
    "tflops", "peak_tflops", "mfu_pct", "tensor_active_pct", "sm_active_pct", "dram_active_pct",
    "energy_j", "energy_per_sample_j", "peak_memory_bytes",
}  # fmt: skip


def test_show_has_every_number_of_the_gpu_or_the_reason_why_not(run_fp):
    run = json.loads(run_fp("show", H200, "--json").stdout)
    gpu = run["gpu"]
    assert set(gpu) >= GPU_KEYS
    assert gpu["window"] == "loop" and gpu["gpus_used"] == 1 and gpu["peak_format"] == "BF16"
    assert gpu["start_ns"] >= run["loop_start_ns"] and gpu["end_ns"] <= run["loop_end_ns"]
    assert gpu["energy_j"] > gpu["loop_energy_j"] > 0
    assert gpu["energy_per_step_j"] == pytest.approx(gpu["loop_energy_j"] / gpu["steps"], rel=0.05)
    assert gpu["energy_per_sample_j"] == pytest.approx(gpu["energy_per_step_j"] / 64)
    why = {x["what"]: x["why"] for x in run["losses"]}
    for key, value in gpu.items():
        if value is None:
            assert why[f"gpu.{key}"]
    assert gpu["mfu_pct"] is None and "tensor cores were hardly used" in why["gpu.mfu_pct"]


def test_peak_memory_is_that_of_the_allocator(run_fp):
    gpu = json.loads(run_fp("show", H200, "--json").stdout)["gpu"]
    events = json.loads(run_fp("events", H200, "--json").stdout)
    assert gpu["peak_memory_bytes"] == max(e["max"] for e in events if e["name"] == "cuda.peak")
    assert gpu["reserved_memory_bytes"] == max(
        e["max"] for e in events if e["name"] == "cuda.reserved"
    )


def test_show_begins_with_the_training_loop(run_fp):
    text = run_fp("show", H200).stdout
    assert text.index("\ntraining loop (") < text.index("\nphases\n")
    assert text.index("\nphases\n") < text.index("\nutilization, whole job\n")
    assert re.search(r"^GPU +busy [\d.]+ %, SMs [\d.]+ %, tensor cores", text, re.MULTILINE)
    assert re.search(
        r"^power +\d+ W, [\d.]+ m?J per step, [\d.]+ m?J per sample$", text, re.MULTILINE
    )


def test_a_run_without_a_gpu_has_nulls_and_one_reason(fp):
    run = json.loads(fp("show", "last", "--json"))
    assert all(run["gpu"][key] is None for key in GPU_KEYS)
    assert [x["what"] for x in run["losses"]].count("gpu") == 1
    assert not [x for x in run["losses"] if x["what"].startswith("gpu.mfu")]


def test_stats_of_the_loop_are_those_of_its_window(run_fp):
    job = json.loads(run_fp("stats", H200, "--json").stdout)
    loop = json.loads(run_fp("stats", H200, "--json", "--window", "loop").stdout)
    both = json.loads(run_fp("stats", H200, "--json", "--window", "both").stdout)
    assert {r["window"] for r in job} == {"job"} and {r["window"] for r in loop} == {"loop"}
    assert both == loop + job
    gpu = json.loads(run_fp("show", H200, "--json").stdout)["gpu"]
    given = json.loads(
        run_fp("stats", H200, "--json", "--from", gpu["start_ns"], "--to", gpu["end_ns"]).stdout
    )
    assert [r | {"window": "loop"} for r in given] == loop
    assert {r["metric"] for r in job} >= {"gpu_sm", "gpu_tensor", "gpu_dram", "gpu_power"}


def test_stats_show_people_the_loop_first(run_fp, fp):
    text = run_fp("stats", H200).stdout
    assert text.startswith("training loop\n") and "\nwhole job\n" in text
    assert fp("stats", "last").startswith("NODE")  # it has no steps


def test_a_loop_that_is_not_there_is_an_error(refused):
    assert "has no training steps" in refused("stats", "last", "--window", "loop")
    assert "cannot be combined" in refused("stats", "last", "--window", "job", "--from", "+1s")


# -- query --


def test_query_json_has_the_keys_that_others_build_on(fp):
    series = json.loads(fp("query", "last", "--metric", "cpu.util", "--json"))
    assert {x["entity"] for x in series} >= {"total", "cpu0"}
    for s in series:
        assert set(s) == QUERY_KEYS
        assert s["metric"] == "cpu.util" and s["unit"] == "%"
        assert len(s["t_ns"]) == len(s["v"]) == len(s["min"]) == len(s["max"]) > 5
        assert s["t_ns"] == sorted(s["t_ns"])


def test_points_are_at_most_so_many_and_keep_the_extremes(fp):
    whole = json.loads(fp("query", "last", "-m", "cpu.util", "-e", "total", "--json"))[0]
    for points in (1, 3, 7):
        few = json.loads(
            fp("query", "last", "-m", "cpu.util", "-e", "total", "-n", str(points), "--json")
        )[0]
        assert 1 <= len(few["v"]) <= points
        assert max(few["max"]) == max(whole["v"])
        assert min(few["min"]) == min(whole["v"])


def test_a_window_holds_only_its_own_samples(fp):
    run = json.loads(fp("show", "last", "--json"))
    whole = json.loads(fp("query", "last", "-m", "cpu.util", "-e", "total", "--json"))[0]["t_ns"]

    def times(*window) -> list[int]:
        found = json.loads(fp("query", "last", "-m", "cpu.util", "-e", "total", "--json", *window))
        return found[0]["t_ns"] if found else []

    middle = run["start_ns"] + 10**9
    second = datetime.fromtimestamp(middle // 10**9, tz=UTC)
    exact = second.strftime("%Y-%m-%dT%H:%M:%S.") + f"{middle % 10**9:09d}Z"
    expected = [t for t in whole if t >= middle]
    assert 0 < len(expected) < len(whole)
    assert times("--from", "+1s") == expected
    assert times("--from", str(middle)) == expected
    assert times("--from", exact) == expected
    assert times("--to", "+1s") == [t for t in whole if t < middle]
    late = run["end_ns"] - 10**9
    assert times("--from", "-1s") == [t for t in whole if t >= late]


def test_a_prefix_with_a_dot_means_all_below_it(fp):
    found = {x["metric"] for x in json.loads(fp("query", "last", "-m", "mem.", "--json"))}
    assert found == {"mem.util", "mem.used", "mem.available"}


def test_few_points_are_a_table_and_many_a_chart(fp):
    table = fp("query", "last", "-m", "cpu.util", "-e", "total", "-n", "4").splitlines()
    assert table[0].startswith("cpu.util total, node ")
    assert table[1].split() == ["TIME", "VALUE", "MIN", "MAX"]
    assert 3 <= len(table) <= 6
    chart = fp("query", "last", "-m", "cpu.util")
    assert re.search(r"cpu\.util total +max +[ ▁▂▃▄▅▆▇█]{20,}", chart)
    assert "start 20" in chart and "full height of cpu.util: 100.0 %" in chart


def test_query_csv_is_one_row_per_point(fp):
    rows = list(
        csv.DictReader(io.StringIO(fp("query", "last", "-m", "cpu.util", "-n", "5", "--csv")))
    )
    assert list(rows[0]) == ["node", "metric", "entity", "unit", "time_ns", "value", "min", "max"]
    series = json.loads(fp("query", "last", "-m", "cpu.util", "-n", "5", "--json"))
    assert len(rows) == sum(len(s["v"]) for s in series)
    assert [float(r["value"]) for r in rows] == [v for s in series for v in s["v"]]


@pytest.mark.parametrize(
    "words, part",
    [
        (["-m", "cpu.utl"], "unknown metric 'cpu.utl' (did you mean 'cpu.util'?); 'footplate"),
        (["-m", "zzz"], "unknown metric 'zzz'; 'footplate metrics' lists all metrics"),
        (["-m", "gpu.util"], "gpu.util was not measured: "),
        (["-m", "cpu.util", "-e", "cpu999"], "cpu.util has no entity 'cpu999'; available: cpu0"),
        (["-m", "cpu.util", "--node", "mars"], "cpu.util has no node 'mars'; available: "),
        (["-m", "cpu.util", "--from", "soon"], "--from: 'soon' is not a time (examples: "),
        (["-m", "cpu.util", "--from", "+2s", "--to", "+1s"], "--from +2s is not before --to +1s"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_a_query_for_what_is_not_there_says_what_is(refused, words, part):
    assert part in refused("query", "last", *words)


def test_a_name_that_fits_several_runs_says_which_one_is_taken(run_fp, tmp_path):
    scene = "scene 1\nnode a cores=2\na cpu.util total 0s..20s 5\n"
    for name in ("alike-1", "alike-2", "other"):
        (tmp_path / f"{name}.scene").write_text(scene)
        run_fp("import", tmp_path / f"{name}.scene", "-o", tmp_path / "runs" / name)
    several = run_fp("show", "alike", "--json", "--dir", tmp_path / "runs")
    assert several.returncode == 0
    taken = json.loads(several.stdout)["path"].rsplit("/", 1)[-1]
    assert several.stderr == f"footplate: 'alike' matches 2 runs; using the newest, {taken}\n"
    for exact in ("alike-1", "oth", "last", tmp_path / "runs" / "alike-2"):
        assert run_fp("show", exact, "--dir", tmp_path / "runs").stderr == ""


def test_the_steps_that_a_program_plans_are_its_progress(run_fp, tmp_path):
    scene = "scene 1\nnode a cores=2\nrank 0 on a: count steps.total 500 at 1s\n"
    scene += "rank 0 on a: count steps.total 400 at 2s\nrank 0 on a: steps 100 x 50ms from 5s\n"
    (tmp_path / "planned.scene").write_text(scene)
    run_fp("import", tmp_path / "planned.scene", "-o", tmp_path / "runs" / "planned")
    shown = run_fp("show", "last", "--dir", tmp_path / "runs").stdout
    assert "progress       100 of 400 steps, 25 %\n" in shown
