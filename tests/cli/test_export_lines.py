# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON lines: every record that other commands show, with the same numbers."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parent.parent / "data" / "runs" / "h200"


def table(run_fp, *words) -> list[dict]:
    done = run_fp("export", RUN, *words)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def lines(run_fp, *words) -> list[dict]:
    done = run_fp("export", RUN, "--format", "jsonl", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(x) for x in done.stdout.splitlines()]


@pytest.mark.parametrize("what", ["metrics", "events", "steps", "ops"])
def test_csv_and_json_lines_hold_the_same_records(run_fp, what):
    rows = table(run_fp, "--what", what)
    records = [x for x in lines(run_fp, "--what", what) if x["type"] != "track"]
    assert len(rows) == len(records) > 20
    for row, record in zip(rows, records, strict=True):
        for key in set(row) & set(record) - {"track"}:
            assert row[key] == str(record[key]) or float(row[key]) == record[key], key
        assert all(row[k] == "" for k in set(row) - set(record) - {"node", "rank", "pid", "on"})


def test_steps_are_those_of_footplate_steps(run_fp):
    said = json.loads(run_fp("steps", RUN, "--json").stdout)["steps"]
    rows = table(run_fp, "--what", "steps")
    assert len(rows) == len(said)
    for row, s in zip(rows, said, strict=True):
        assert (row["mode"], int(row["step"]), int(row["start_ns"])) == (
            s["mode"], s["step"], s["start_ns"],
        )  # fmt: skip
        assert float(row["duration_s"]) == s["duration_s"]
        assert float(row["backward_s"]) == s["events"]["backward"]


def test_steps_have_their_iteration_and_say_when_they_do_not_count(run_fp):
    rows = table(run_fp, "--what", "steps")
    for row in rows[:-1]:
        took = float(row["duration_s"]) + float(row["between_s"])
        assert float(row["iteration_s"]) == pytest.approx(took)
    assert {row["warmup"] for row in rows} | {row["disturbed"] for row in rows} <= {"0", "1"}
    assert {"warmup", "disturbed", "between_s", "iteration_s"} <= set(
        lines(run_fp, "--what", "steps")[0]
    )


def test_parts_of_steps_that_nobody_told_are_empty(run_fp, tmp_path):
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 1e9, "dur": 50}
    events = [step | {"pid": 1, "tid": 1}]
    (tmp_path / "t.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    assert run_fp("import", tmp_path / "t.json", "-o", tmp_path / "run").returncode == 0
    (row,) = csv.DictReader(
        run_fp("export", tmp_path / "run", "--what", "steps").stdout.splitlines()
    )
    assert (row["forward_s"], row["data_s"], float(row["other_s"])) == ("", "", 50e-6)


def test_operators_are_those_of_footplate_ops(run_fp):
    said = json.loads(run_fp("ops", RUN, "--json").stdout)
    rows = table(run_fp, "--what", "ops")
    assert [(r["device"], r["name"], int(r["calls"])) for r in rows] == [
        (o["device"], o["name"], o["calls"]) for o in said
    ]


def test_one_stream_holds_everything_and_says_what_each_line_is(run_fp):
    kinds = Counter(x["type"] for x in lines(run_fp))
    shown = json.loads(run_fp("show", RUN, "--json").stdout)
    assert kinds["footplate"] == 1 and kinds["node"] == 1
    assert kinds["sample"] == shown["self"]["samples"]
    assert kinds["event"] == len(table(run_fp, "--what", "events"))
    assert kinds["loss"] == sum(bool(x["node"]) for x in shown["losses"])  # others: why it is null
    assert set(kinds) == {
        "footplate", "node", "loss", "mark", "series", "sample", "track", "event",
    }  # fmt: skip


def test_a_window_cuts_events_and_steps_too(run_fp):
    rows = table(run_fp, "--what", "events", "--steps", "30:31")
    steps = table(run_fp, "--what", "steps", "--steps", "30:31")
    assert [r["step"] for r in steps] == ["30", "31"]
    begin = int(steps[0]["start_ns"])
    end = int(steps[1]["start_ns"]) + round(float(steps[1]["duration_s"]) * 1e9)
    assert rows
    for r in rows:
        assert int(r["time_ns"]) < end
        assert int(r["time_ns"]) + int(r["duration_ns"] or 0) >= begin


def test_a_name_that_ends_in_gz_is_compressed(run_fp, tmp_path):
    plain = run_fp("export", RUN).stdout
    assert run_fp("export", RUN, "-o", tmp_path / "run.csv.gz").returncode == 0
    assert gzip.decompress((tmp_path / "run.csv.gz").read_bytes()).decode() == plain
    assert [p.name for p in tmp_path.iterdir()] == ["run.csv.gz"]


def test_csv_is_of_one_kind_of_record(run_fp):
    done = run_fp("export", RUN, "--what", "all")
    assert done.returncode == 2 and "--format csv cannot be combined with --what all" in done.stderr
