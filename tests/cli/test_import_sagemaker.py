# SPDX-License-Identifier: Apache-2.0
"""What SageMaker's profiler leaves becomes a run with metrics, steps and events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

START_S = 1_700_000_000


def line(kind: str, name: str, what: str, value: float, at_s: float, node: str) -> str:
    return (
        f'{{"Type":"{kind}","Name":"{name}","Dimension":"{what}","Value":{value},'
        f'"NodeId":"{node}","Timestamp":{at_s:.7f}}}\n'
    )


def minute(start_s: int, node: str, sweeps: int = 6, cores: int = 4) -> str:
    """Sweeps every half second; the first one of the job has no CPU."""
    out = []
    for i in range(sweeps):
        at = start_s + i / 2 + 0.25
        if start_s > START_S or i:
            for core in range(cores):
                out.append(line("cpu", f"cpu{core}", "CPUUtilization", 10 * core, at, node))
        out.append(line("gpu", "gpu0", "GPUUtilization", 80, at + 0.002, node))
        out.append(line("memory", "MemoryUsedPercent", "", 12.07, at + 0.003, node))
    return "".join(out)


def timeline(worker_pid: int, base_us: int, first_step: int, steps: int) -> str:
    lanes = {1: "Step:ModeKeys.TRAIN", 2: "Forward"}
    head = {"name": "process_name", "ph": "M", "pid": 0}
    rows: list[dict] = [head | {"args": {"start_time_since_epoch_in_micros": base_us}}]
    rows += [head | {"pid": n, "args": {"name": name}} for n, name in lanes.items()]
    for i in range(first_step, first_step + steps):
        args = {"pid": worker_pid, "step_num": str(i)}
        event = {"ph": "X", "ts": 100_000 * i, "args": args}
        rows.append(event | {"name": lanes[1], "pid": 1, "dur": 83_000})
        rows.append(event | {"name": "ResNet", "pid": 2, "dur": 80_000})
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def job(root: Path, hours: bool) -> None:
    """Two machines of two ranks, two minutes; the last file of one is still being written."""
    hour = ("2023111422/",) if hours else ("",)
    for n in (1, 2):
        for m in range(2):
            start = START_S + 60 * m
            name = f"system/incremental/{hour[0]}{start}.algo-{n}.json"
            put(root / name, minute(start, f"algo-{n}"))
        for rank in (2 * n - 2, 2 * n - 1):
            for part in range(2):
                end = (START_S + 1 + part) * 1_000_000
                name = f"framework/pevents/2023111422/{end}_{rank}-algo-{n}_pythontimeline.json"
                put(root / name, timeline(905, START_S * 1_000_000 + rank, 10 * part, 10))
    put(root / "framework" / "0-algo-1_pythontimeline.json.tmp", "[\n")
    put(root / "system" / "training_job_end.ts", "")


def imported(run_fp, *words) -> dict:
    done = run_fp("import", "--json", *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def values(run_fp, run: str, metric: str, node: str) -> dict[str, list[float]]:
    """All values of a metric, by entity."""
    done = run_fp("query", run, "--json", "--metric", metric, "--node", node)
    assert done.returncode == 0, done.stderr
    return {s["entity"]: s["v"] for s in json.loads(done.stdout)}


@pytest.mark.parametrize("hours", [True, False])
def test_a_profiler_output_is_one_run(run_fp, tmp_path, hours):
    job(tmp_path / "profiler-output", hours)
    got = imported(run_fp, tmp_path / "profiler-output", "-o", tmp_path / "run")
    assert got["nodes"] == ["algo-1", "algo-2"]
    assert got["counts"]["readings"] == 2 * (2 * 6 * 6 - 4)
    assert {f["path"].rpartition("/")[2] for f in got["files"] if "skipped" in f} == {
        "0-algo-1_pythontimeline.json.tmp",
        "training_job_end.ts",
    }
    steps = json.loads(run_fp("steps", got["run"], "--json").stdout)
    assert [(r["rank"], r["node"]) for r in steps["ranks"]] == [
        (0, "algo-1"),
        (1, "algo-1"),
        (2, "algo-2"),
        (3, "algo-2"),
    ]
    of_rank = [s["step"] for s in steps["steps"] if s["rank"] == 3]
    assert of_rank == list(range(20))
    stats = json.loads(run_fp("stats", got["run"], "--json").stdout)
    cpu = [r for r in stats if r["metric"] == "cpu"]
    assert [r["p50"] for r in cpu] == pytest.approx([15.0, 15.0])
    assert [r["count"] for r in cpu] == [11, 11]  # none in the first sweep
    assert values(run_fp, got["run"], "mem.util", "algo-2") == {"total": [12.07] * 12}
    node = json.loads((tmp_path / "run" / "node-algo-2" / "node.json").read_text())
    assert node["cores"] == 4 and len(node["gpus"]) == 1
    assert node["interval_ns"] == 500_000_000
    shown = run_fp("show", got["run"]).stdout
    assert "not available: this run was not recorded by Footplate" in shown


def test_a_single_file_of_metrics_is_a_run(run_fp, tmp_path):
    path = tmp_path / f"{START_S}.algo-7.json"
    put(path, minute(START_S, "algo-7") + '{"Type":"gpu","Name":"gp')
    got = imported(run_fp, path, "-o", tmp_path / "run")
    assert got["format"] == "sagemaker_system"
    assert got["counts"]["readings"] == 32 and got["faults"]["cut"] == 1
    assert (tmp_path / "run" / "node-algo-7" / "metrics.fp").exists()
    text = run_fp("import", path, "-o", tmp_path / "again").stdout
    assert "32 readings" in text and "broken: truncated input (1)" in text


def test_several_machines_in_one_file_are_several_nodes(run_fp, tmp_path):
    path = tmp_path / "all.json"
    put(path, minute(START_S, "algo-1") + minute(START_S, "algo-2"))
    imported(run_fp, path, "-o", tmp_path / "run")
    nodes = sorted(p.name for p in (tmp_path / "run").iterdir() if p.is_dir())
    assert nodes == ["node-algo-1", "node-algo-2"]


def test_profiles_that_only_python_reads_are_lost_by_name(run_fp, tmp_path):
    job(tmp_path / "out", True)
    stats = "framework/pytorch/cprofile/0-algo-1/train-0-stepstart-1.0_train-0-stepend-2.0"
    put(tmp_path / "out" / stats / "python_stats", "marshal")
    done = run_fp("import", tmp_path / "out", "-o", tmp_path / "run")
    assert "marshal" in done.stdout and "python_stats" in done.stdout
    assert "python_stats" in run_fp("show", tmp_path / "run").stdout


def test_profiles_of_pyinstrument_are_read(run_fp, tmp_path):
    stats = "framework/pytorch/pyinstrument/0-algo-1/" + (
        f"train-0-stepstart-{START_S}000000.0_train-0-stepend-{START_S}900000.0"
    )
    root = {"function": "main", "file_path": "/x/t.py", "line_no": 3, "time": 0.5, "children": []}
    put(tmp_path / "out" / stats / "python_stats.json", json.dumps({"root_frame": root}))
    put(tmp_path / "out" / stats / "python_stats.html", "<html>")
    got = imported(run_fp, tmp_path / "out", "-o", tmp_path / "run")
    assert got["nodes"] == ["algo-1"] and got["start_ns"] == START_S * 10**9
    assert "main (x/t.py:3)" in run_fp("events", tmp_path / "run").stdout


# ---- files that others wrote ----


def test_the_numbers_of_a_real_job_come_out(run_fp, tmp_path, foreign):
    got = imported(run_fp, foreign("sagemaker/test_traces"), "-o", tmp_path / "run")
    assert got["counts"]["readings"] == 78
    by_file = [f["counts"]["readings"] for f in got["files"] if "readings" in f["counts"]]
    assert by_file == [14, 32, 32]
    steps = json.loads(run_fp("steps", got["run"], "--json").stdout)
    assert [s["duration_s"] for s in steps["steps"]] == pytest.approx([1.0] * 4)
    assert [s["step"] for s in steps["steps"]] == [1, 2, 3, 4]
    cores = values(run_fp, got["run"], "cpu.util", "algo-1")
    del cores["total"]  # made of the others
    assert sum(map(len, cores.values())) == 68
    assert cores["cpu11"] == [51.1, 55.99]


def test_the_numbers_of_real_horovod_timelines_come_out(run_fp, tmp_path, foreign):
    got = imported(run_fp, foreign("sagemaker/horovod_timeline_traces"), "-o", tmp_path / "run")
    assert got["counts"]["capped"] == 19
    seconds = (got["end_ns"] - got["start_ns"]) / 1e9
    assert seconds == pytest.approx(9.3, abs=0.1)


def test_the_numbers_of_a_real_tensorflow_profile_come_out(run_fp, tmp_path, foreign):
    got = imported(run_fp, foreign("sagemaker/tfprofiler_timeline_traces"), "-o", tmp_path / "run")
    base = 1_596_659_864_545_103_000
    trace = [f for f in got["files"] if f.get("format") == "tensorflow"]
    assert len(trace) == 1 and trace[0]["counts"]["kept"] >= 798
    assert got["start_ns"] == base + 21_307_000
    assert got["end_ns"] == base + 293_205_000
