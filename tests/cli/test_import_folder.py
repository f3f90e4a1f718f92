# SPDX-License-Identifier: Apache-2.0
"""A folder of traces is one run with all its ranks and machines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

BASE_NS = 1_711_964_646_000_000_000


def trace(rank: int, pid: int = 27, told: bool = True) -> dict:
    """Three steps, longer by one microsecond for each rank, of a process that all ranks call 27."""
    events = []
    for i in range(3):
        at = 1000 + 200 * i
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "ts": at}
            | {"pid": pid, "tid": pid, "dur": 100 + rank},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": at + 10}
            | {"pid": pid, "tid": pid, "dur": 50},
        ]
    whole: dict = {"schemaVersion": 1, "traceEvents": events, "baseTimeNanoseconds": BASE_NS}
    if told:
        whole["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 4}
    return whole


def put(path: Path, what: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(what).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def imported(run_fp, *words) -> dict:
    done = run_fp("import", "--json", *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def ranks_of(run_fp, run: str) -> dict[int, tuple[str, list[float]]]:
    """Node and lengths of steps, by rank."""
    steps = json.loads(run_fp("steps", run, "--json").stdout)
    out: dict[int, tuple[str, list[float]]] = {}
    for s in steps["steps"]:
        out.setdefault(s["rank"], (s["node"], []))[1].append(round(s["duration_s"] * 1e6))
    return out


def test_ranks_that_share_a_pid_on_one_machine_stay_apart(run_fp, tmp_path):
    for rank in range(4):
        put(tmp_path / "t" / f"trace-{rank}.json", trace(rank))
    got = imported(run_fp, tmp_path / "t", "-o", tmp_path / "run")
    assert got["nodes"] == ["trace"]
    assert [f["path"] for f in got["files"]] == [f"trace-{i}.json" for i in range(4)]
    assert all(f["counts"]["kept"] == 8 for f in got["files"])
    assert got["counts"]["kept"] == 32
    want = {rank: ("trace", [100 + rank] * 3) for rank in range(4)}
    assert ranks_of(run_fp, got["run"]) == want


def test_a_rank_that_only_the_name_tells_counts(run_fp, tmp_path):
    for rank in (3, 5):
        put(tmp_path / "t" / f"rank{rank}.json", trace(rank, told=False))
    got = imported(run_fp, tmp_path / "t", "-o", tmp_path / "run")
    assert sorted(ranks_of(run_fp, got["run"])) == [3, 5]


def test_machines_that_names_tell_are_nodes(run_fp, tmp_path):
    for rank in range(4):
        name = f"host-{rank // 2}_27.17119646{rank}.pt.trace.json.gz"
        put(tmp_path / "t" / ("a" if rank % 2 else "b") / name, trace(rank, pid=27 + rank % 2))
    got = imported(run_fp, tmp_path / "t", "-o", tmp_path / "run")
    assert sorted(got["nodes"]) == ["host-0", "host-1"]
    ranks = ranks_of(run_fp, got["run"])
    assert {r: node for r, (node, _) in ranks.items()} == {
        0: "host-0",
        1: "host-0",
        2: "host-1",
        3: "host-1",
    }
    node = json.loads((tmp_path / "run" / "node-host-1" / "node.json").read_text())
    assert node["host"] == "host-1" and node["status"] == "finished"
    assert sorted(p.name for p in (tmp_path / "run" / "node-host-1").iterdir()) == [
        "events.fp",
        "metrics.fp",
        "node.json",
    ]


def test_two_windows_of_one_process_are_one_rank(run_fp, tmp_path):
    put(tmp_path / "t" / "h_27.1.pt.trace.json", trace(0))
    later = trace(0)
    later["baseTimeNanoseconds"] += 10**9
    put(tmp_path / "t" / "h_27.2.pt.trace.json", later)
    got = imported(run_fp, tmp_path / "t", "-o", tmp_path / "run")
    steps = json.loads(run_fp("steps", got["run"], "--json").stdout)
    assert len(steps["ranks"]) == 1 and len(steps["steps"]) == 6


def test_files_that_are_no_traces_are_skipped_and_said(run_fp, tmp_path):
    folder = tmp_path / "t"
    put(folder / "trace.json", trace(0))
    put(folder / "config.json", {"layers": 3})
    (folder / "notes.txt").write_text("hello")
    (folder / ".hidden").write_text("x")
    got = imported(run_fp, folder, "-o", tmp_path / "run")
    skipped = {f["path"]: f["skipped"] for f in got["files"] if "skipped" in f}
    assert skipped == {"config.json": "not a trace", "notes.txt": "not a trace"}
    done = run_fp("import", folder, "-o", tmp_path / "run2")
    assert "1 of 3 files" in done.stdout
    assert "skipped 2 files that are not traces: config.json" in done.stdout


def test_one_broken_file_among_good_ones_is_a_loss_that_names_it(run_fp, tmp_path):
    folder = tmp_path / "t"
    put(folder / "good.json", trace(0))
    whole = gzip.compress(json.dumps(trace(1)).encode())
    (folder / "bad.pt.trace.json.gz").write_bytes(whole[:-9])
    got = imported(run_fp, folder, "-o", tmp_path / "json")
    assert got["end_ns"] - got["start_ns"] < 10**9
    done = run_fp("import", folder, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "not read completely" in done.stdout and "bad.pt.trace.json.gz" in done.stdout
    shown = run_fp("show", tmp_path / "run").stdout
    assert "bad.pt.trace.json.gz" in shown and "ends early" in shown
    assert 0 in ranks_of(run_fp, str(tmp_path / "run"))
    about = json.loads(run_fp("show", tmp_path / "run", "--json").stdout)
    assert about["duration_s"] < 1  # what does not say when it was does not stretch the run


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "the folder is empty"),
        ({"a.txt": b"hello", "b/c.bin": b"\0\1"}, "none of the 2 files in the folder is a trace"),
        ({"a.json": b'{"a": 1}'}, "none of the 1 files in the folder is a trace"),
        ({"a.pt.trace.json": b'{"traceEvents": ['}, "no file in the folder could be read"),
    ],
)
def test_a_folder_with_nothing_to_read_is_refused_and_leaves_nothing(
    run_fp, tmp_path, files, words
):
    folder = tmp_path / "t"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    done = run_fp("import", folder, "-o", tmp_path / "runs" / "run")
    assert done.returncode == 1 and done.stdout == ""
    assert words in done.stderr and done.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t"]


def test_the_run_is_named_after_the_folder(run_fp, tmp_path):
    put(tmp_path / "resnet.v2" / "a.json", trace(0))
    got = imported(run_fp, tmp_path / "resnet.v2", "--dir", tmp_path / "runs")
    assert Path(got["run"]).name.startswith("resnet.v2-2024")
    assert [p.name for p in (tmp_path / "runs").iterdir()] == [Path(got["run"]).name]


def test_a_format_can_be_forced_on_a_folder(run_fp, tmp_path):
    put(tmp_path / "t" / "a.json", trace(0))
    got = imported(run_fp, tmp_path / "t", "--format", "kineto", "-o", tmp_path / "run")
    assert got["files"][0]["format"] == "kineto"
    done = run_fp("import", tmp_path / "t", "--format", "sagemaker_system", "-o", tmp_path / "run2")
    assert done.returncode == 1 and not (tmp_path / "run2").exists()
