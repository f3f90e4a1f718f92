# SPDX-License-Identifier: Apache-2.0
"""Traces made to do harm, all the way into a run and out of it again. Small versions: the bench
imports large ones."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

FIRST_US = 1_661_203_462_000_000


def write(path: Path, events: Iterator[str], tail: str = "") -> Path:
    with gzip.open(path, "wt", compresslevel=1) as to:
        to.write('{"schemaVersion": 1, "traceEvents": [')
        for number, event in enumerate(events):
            to.write(("," if number else "") + event)
        to.write("]" + tail + "}")
    return path


def span(name: str, at: int, dur: int, pid: int = 1, tid: int = 1, cat: str = "cpu_op") -> str:
    return (
        f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},'
        f'"ts":{FIRST_US + at},"dur":{dur}}}'
    )


def imported(run_fp, path: Path) -> dict:
    done = run_fp("import", "--json", "-o", path.parent / "run", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def asked(run_fp, run: Path, what: str) -> dict:
    done = run_fp(what, "--json", run)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def calls(ops: dict) -> int:
    """Of all operators, wherever the answer lists them."""
    total = 0
    stack: list = [ops]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            total += one["calls"] if isinstance(one.get("calls"), int) else 0
            stack += one.values()
        elif isinstance(one, list):
            stack += one
    return total


def test_threads_and_processes_beyond_the_limit_are_dropped_and_counted(run_fp, tmp_path):
    n = 70_000
    path = write(tmp_path / "t.json.gz", (span("a", i, 1, pid=i + 1, tid=i) for i in range(n)))
    counts = imported(run_fp, path)["counts"]
    assert counts["kept"] == 65536
    assert counts["too-many-tracks"] == n - 65536
    asked(run_fp, tmp_path / "run", "breakdown")


def test_times_in_any_order_come_out_sorted(run_fp, tmp_path):
    rng = random.Random(1)
    ends = [rng.randrange(1_000_000) for _ in range(30_000)]
    path = write(tmp_path / "t.json.gz", (span("a", at, rng.randrange(-9, 9)) for at in ends))
    counts = imported(run_fp, path)["counts"]
    assert counts["kept"] == len(ends)
    assert counts["negative"] > 10_000
    assert calls(asked(run_fp, tmp_path / "run", "ops")) == len(ends)


def test_operators_nested_a_hundred_thousand_deep_are_all_there(run_fp, tmp_path):
    n = 100_000
    path = write(tmp_path / "t.json.gz", (span(f"op{i % 10}", i, 2 * (n - i)) for i in range(n)))
    assert imported(run_fp, path)["counts"]["kept"] == n
    assert calls(asked(run_fp, tmp_path / "run", "ops")) == n


def test_names_that_never_repeat_are_all_kept(run_fp, tmp_path):
    n = 250_000
    path = write(tmp_path / "t.json.gz", (span(f"op {i}", i * 10, 5) for i in range(n)))
    assert imported(run_fp, path)["counts"]["kept"] == n
    asked(run_fp, tmp_path / "run", "breakdown")


def test_a_base_time_that_no_clock_shows_refuses_the_trace_and_leaves_nothing(run_fp, tmp_path):
    events = ('{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":5,"dur":1}' for _ in "ab")
    tail = ',"baseTimeNanoseconds":9223372036854775807'
    path = write(tmp_path / "t.json.gz", events, tail)
    done = run_fp("import", "-o", tmp_path / "run", path)
    assert done.returncode == 1
    assert "times of its events are invalid" in done.stderr and done.stderr.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.json.gz"]
