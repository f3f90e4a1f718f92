# SPDX-License-Identifier: Apache-2.0
"""Steps and phases of a real training program, beside what it measured itself."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import time

import pytest

PARTS = ["data", "forward", "backward", "optimizer"]
RANK_KEYS = {
    "node", "rank", "mode", "count", "mean_s", "min_s", "p50_s", "p95_s", "p99_s", "max_s",
    "stddev_s", "outliers", "iteration_s", "throughput", "host_parts_s", "gpu_parts_s",
    "gpu_timed_steps", "sync",
}  # fmt: skip
STEP_KEYS = {
    "node", "rank", "mode", "step", "start_ns", "duration_s", "between_s", "iteration_s", "events",
    "warmup", "disturbed",
}  # fmt: skip


@pytest.fixture(scope="module")
def trained(footplate, train, tmp_path_factory):
    """A recorded run of the example, with a few epochs: its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("trained")
    done = subprocess.run(
        [footplate, "run", "--name", "digits", "--interval", "100ms", "--"]
        + [train, "--epochs", "3", "--hidden", "32"],
        env=os.environ | {"FOOTPLATE_DIR": str(folder), "FOOTPLATE_NVML": "/nonexistent.so"},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture
def fpt(run_fp, trained):
    """Runs a command on that run; it must succeed. Returns its stdout."""

    def call(*words) -> str:
        done = run_fp(*words, env=os.environ | {"FOOTPLATE_DIR": str(trained[0])})
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    return call


def test_every_step_of_the_program_is_there_numbered_and_in_order(fpt, trained):
    count = int(re.search(r"done: (\d+) steps", trained[1])[1])
    data = json.loads(fpt("steps", "last", "--json"))
    assert set(data) >= {"ranks", "steps"}
    # Its evaluation has all its data beforehand, and says nothing about that.
    assert [(x["what"], x["mode"]) for x in data["losses"]] == [("data", "eval")]
    for mode, expected in (("train", count), ("eval", 3)):
        steps = [s for s in data["steps"] if s["mode"] == mode]
        assert [s["step"] for s in steps] == list(range(expected))
        (rank,) = [r for r in data["ranks"] if r["mode"] == mode]
        assert set(rank) >= RANK_KEYS and rank["count"] == expected and rank["rank"] == 0
    ends = [s["start_ns"] + s["duration_s"] * 1e9 for s in data["steps"]]
    starts = [s["start_ns"] for s in data["steps"]]
    assert all(e <= s + 1000 for e, s in zip(ends, starts[1:], strict=False))


def test_the_parts_of_a_step_are_all_named_and_add_up(fpt):
    data = json.loads(fpt("steps", "last", "--json"))
    for step in data["steps"]:
        assert set(step) >= STEP_KEYS and set(step["events"]) >= {*PARTS, "other"}
        known = [v for v in step["events"].values() if v is not None]
        assert sum(known) == pytest.approx(step["duration_s"], abs=1e-9)
        assert (step["events"]["data"] is None) == (step["mode"] == "eval")
        assert step["cut"] is False
    train = [s for s in data["steps"] if s["mode"] == "train"]
    assert all(s["events"]["forward"] > 0 and s["events"]["backward"] > 0 for s in train)


def test_numbers_of_a_rank_are_those_of_its_steps(fpt):
    data = json.loads(fpt("steps", "last", "--json", "--mode", "train"))
    (rank,) = data["ranks"]
    took = sorted(s["duration_s"] for s in data["steps"])
    mean = sum(took) / len(took)
    assert rank["min_s"] == pytest.approx(took[0]) and rank["max_s"] == pytest.approx(took[-1])
    assert rank["mean_s"] == pytest.approx(mean)
    assert took[(len(took) - 1) // 2] - 1e-9 <= rank["p50_s"] <= took[len(took) // 2] + 1e-9
    deviation = (sum((t - mean) ** 2 for t in took) / len(took)) ** 0.5
    assert rank["stddev_s"] == pytest.approx(deviation)


def test_an_iteration_lasts_to_the_begin_of_the_next_step(fpt):
    steps = json.loads(fpt("steps", "last", "--json"))["steps"]
    for one, following in zip(steps, steps[1:], strict=False):
        took_s = (following["start_ns"] - one["start_ns"]) / 1e9
        assert one["iteration_s"] == pytest.approx(took_s, abs=1e-8)
        assert one["between_s"] == pytest.approx(took_s - one["duration_s"], abs=1e-8)
    assert steps[-1]["iteration_s"] is None and steps[-1]["between_s"] is None


def test_statistics_of_iterations_leave_the_warm_up_out(fpt):
    data = json.loads(fpt("steps", "last", "--json", "--mode", "train"))
    (rank,) = data["ranks"]
    steady = [s for s in data["steps"] if not s["warmup"] and s["iteration_s"] is not None]
    took = [s["iteration_s"] for s in steady]
    mean = sum(took) / len(took)
    assert data["steps"][0]["warmup"] and len(steady) > len(data["steps"]) / 2
    assert rank["iteration_s"]["mean"] == pytest.approx(mean)
    assert rank["iteration_s"]["max"] == pytest.approx(max(took))
    deviation = (sum((t - mean) ** 2 for t in took) / len(took)) ** 0.5
    long = {s["step"] for s in steady if s["iteration_s"] > mean + 3 * deviation}
    assert {*rank["outliers"]} <= long
    parts = rank["host_parts_s"]
    assert sum(parts.values()) == pytest.approx(mean) and parts["between"] > 0
    assert rank["gpu_parts_s"] is None and rank["gpu_timed_steps"] == 0 and rank["sync"] == []


def test_shares_are_those_that_the_program_measured(fpt, trained):
    run = json.loads(fpt("show", "last", "--json"))
    data = json.loads(fpt("steps", "last", "--json"))
    loop_s = (run["loop_end_ns"] - run["loop_start_ns"]) / 1e9
    own = dict(re.findall(r"^  (\w[\w ]*?) +([\d.]+) %$", trained[1], re.MULTILINE))
    for part in ("forward", "backward", "optimizer"):
        total_s = sum(s["events"][part] for s in data["steps"] if s["mode"] == "train")
        assert 100 * total_s / loop_s == pytest.approx(float(own[part]), abs=3)


def test_phases_tile_the_job(fpt):
    run = json.loads(fpt("show", "last", "--json"))
    phases = run["phases"]
    assert [p["phase"] for p in phases][:2] == ["initialization", "train"]
    assert phases[-1]["phase"] == "finalization"
    assert sum(p["phase"] == "eval" for p in phases) == 3
    assert phases[0]["start_ns"] == run["job_start_ns"]
    assert phases[-1]["end_ns"] == run["job_end_ns"]
    assert run["start_ns"] <= run["job_start_ns"] and run["job_end_ns"] <= run["end_ns"] + 10**9
    for one, two in zip(phases, phases[1:], strict=False):
        assert one["start_ns"] < one["end_ns"] == two["start_ns"]
    parts = [run[f"{x}_pct"] for x in ("initialization", "loop", "finalization")]
    assert sum(parts) == pytest.approx(100) and all(p > 0 for p in parts)
    assert run["loop_start_ns"] == phases[1]["start_ns"]
    assert run["loop_duration_s"] == pytest.approx(
        (run["loop_end_ns"] - run["loop_start_ns"]) / 1e9
    )
    seconds = run["initialization_s"] + run["loop_duration_s"] + run["finalization_s"]
    assert seconds == pytest.approx(run["job_duration_s"])
    assert seconds == pytest.approx(run["duration_s"], abs=0.5)
    assert run["self"]["events_dropped"] == 0
    assert not [x for x in run["losses"] if x["what"] == "steps"]


def test_a_job_that_lives_has_no_finalization(footplate, train, run_fp, tmp_path):
    """Its steps are over, but it goes on: nobody knows whether more follow."""
    job = f"'{train}' --epochs 1 --hidden 8; sleep 60"
    command = [footplate, "run", "--dir", tmp_path, "--interval", "100ms", "--", "sh", "-c", job]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            done = run_fp("show", "last", "--dir", tmp_path, "--json")
            run = json.loads(done.stdout) if done.returncode == 0 else {"phases": []}
            late = run["phases"] and run["phases"][-1]["phase"] == "eval"  # an epoch ends with it
            if late and run["phases"][-1]["end_ns"] - run["phases"][-1]["start_ns"] > 1e9:
                break
            time.sleep(0.1)
        assert run["status"] == "running" and run["loop_end_ns"] is None
        assert run["finalization_s"] is None and run["finalization_pct"] is None
        assert [p["phase"] for p in run["phases"]] == ["initialization", "train", "eval"]
        assert run["phases"][-1]["end_ns"] == run["job_end_ns"]
        assert run["initialization_pct"] + run["loop_pct"] == pytest.approx(100)
        assert "finalization" not in run_fp("show", "last", "--dir", tmp_path).stdout
        report = run_fp("report", "last", "--dir", tmp_path, "--format", "text").stdout
        assert re.search(r"^ *Training loop end +still running$", report, re.MULTILINE)
        assert re.search(
            r"^ *Finalization +not known: the job is still running$", report, re.MULTILINE
        )
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=30)
    run = json.loads(run_fp("show", "last", "--dir", tmp_path, "--json").stdout)
    assert run["loop_end_ns"] is not None and run["finalization_s"] > 0.5


def test_show_tells_people_the_same(fpt):
    run, text = json.loads(fpt("show", "last", "--json")), fpt("show", "last")
    block = text.split("\nphases\n")[1].split("\n\n")[0]
    shares = dict(re.findall(r"^(\w+) .* ([\d.]+) %$", block, re.MULTILINE))
    assert list(shares) == ["initialization", "train", "eval", "finalization"]
    for phase, share in shares.items():
        assert float(share) == pytest.approx(run[f"{phase}_pct"], abs=0.1)
    assert sum(map(float, shares.values())) == pytest.approx(100)
    assert re.search(r"^step duration +\d+ train, p50 [\d.]+ [um]?s, p95", block, re.MULTILINE)


def test_the_tables_are_iterations_then_shares_by_clock_then_the_last_steps(fpt):
    top, shares, below = fpt("steps", "last", "--last", "4").strip().split("\n\n")
    head, *rows = [line.split() for line in top.splitlines()]
    assert head == [
        "NODE", "RANK", "MODE", "STEPS", "ITERATION", "P50", "P95", "MAX", "SAMPLES/S", "OVERALL",
    ]  # fmt: skip
    assert [row[2] for row in rows[:2]] == ["train", "eval"]
    assert re.fullmatch(
        r"warm-up: \d+ steps excluded from the statistics above", top.splitlines()[3]
    )
    head, *rows = shares.splitlines()
    assert {*head.split()} >= {"FORWARD", "BACKWARD", "OPTIMIZER", "OTHER", "BETWEEN"}
    assert "COMM" not in head and "GPU" not in shares
    assert all(" host time  " in row for row in rows) and len(rows) == 2
    for row in rows:
        percents = [float(x) for x in re.findall(r"([\d.]+) %", row)]
        assert sum(percents) == pytest.approx(100, abs=0.01)
    lines = below.splitlines()
    assert lines[0].split()[:7] == [
        "NODE", "RANK", "MODE", "STEP", "AFTER", "ITERATION", "HOST",
    ]  # fmt: skip
    assert len(lines) == 5
    assert len(fpt("steps", "last").split("\n\n")[2].strip().splitlines()) == 11
    assert fpt("steps", "last", "--last", "0").count("\n\n") == 1


def test_last_rank_and_mode_choose(fpt):
    every = json.loads(fpt("steps", "last", "--json"))
    few = json.loads(fpt("steps", "last", "--json", "--last", "5"))
    assert few["steps"] == every["steps"][-5:] and few["ranks"] == every["ranks"]
    evals = json.loads(fpt("steps", "last", "--json", "--mode", "eval", "--last", "2"))
    assert [(s["mode"], s["step"]) for s in evals["steps"]] == [("eval", 1), ("eval", 2)]
    assert [r["mode"] for r in evals["ranks"]] == ["eval"]
    assert json.loads(fpt("steps", "last", "--json", "--rank", "0")) == every


def test_csv_has_the_same_steps(fpt):
    data = json.loads(fpt("steps", "last", "--json"))
    rows = list(csv.DictReader(io.StringIO(fpt("steps", "last", "--csv"))))
    assert len(rows) == len(data["steps"])
    for row, step in zip(rows, data["steps"], strict=True):
        assert (row["mode"], int(row["step"])) == (step["mode"], step["step"])
        assert float(row["duration_s"]) == step["duration_s"]
        assert float(row["forward_s"]) == step["events"]["forward"]
        assert row["cut"] == "0" and row["samples"] == ""


def test_a_rank_that_is_not_there_is_refused(run_fp, trained):
    env = os.environ | {"FOOTPLATE_DIR": str(trained[0])}
    done = run_fp("steps", "last", "--rank", "7", env=env)
    assert done.returncode == 1 and done.stdout == ""
    assert re.fullmatch(r"footplate: run 'digits' has no steps of rank 7; .* 0 to 0\n", done.stderr)
    assert run_fp("steps", "last", "--mode", "walk", env=env).returncode == 2
    assert run_fp("steps", "last", "--json", "--csv", env=env).returncode == 2


def test_a_run_without_steps_says_how_to_get_them(fp):
    text = fp("steps", "last")
    assert re.fullmatch(r"no steps were detected: .*footplate\.step\(\).*docs/steps\.md.*\n", text)
    data = json.loads(fp("steps", "last", "--json"))
    assert data["ranks"] == [] and data["steps"] == []
    assert data["losses"][0]["what"] == "steps" and data["losses"][0]["why"] in text
    assert fp("steps", "last", "--csv").count("\n") == 1


def test_a_program_killed_in_mid_step_leaves_a_cut_one(run_fp, footplate, train, tmp_runs):
    """SIGKILL of the job itself; the recorder lives on."""
    env = os.environ | {"FOOTPLATE_DIR": str(tmp_runs), "FOOTPLATE_NVML": "/nonexistent.so"}
    script = f"{train} --seconds 60 & until [ -e enough ]; do sleep 0.02; done; kill -9 $!; wait"
    command = [footplate, "run", "--", "sh", "-c", script]
    recording = subprocess.Popen(command, env=env, cwd=tmp_runs, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        done = run_fp("steps", "last", "--json", env=env)
        if done.returncode == 0 and len(json.loads(done.stdout)["steps"]) > 5:
            break
    (tmp_runs / "enough").touch()
    recording.wait(60)
    data = json.loads(run_fp("steps", "last", "--json", env=env).stdout)
    assert len(data["steps"]) > 5
    assert [s["cut"] for s in data["steps"]].index(True) == len(data["steps"]) - 1
    train_rank = next(r for r in data["ranks"] if r["mode"] == "train")
    assert train_rank["count"] == sum(not s["cut"] for s in data["steps"] if s["mode"] == "train")
    line = run_fp("steps", "last", "--last", "1", env=env).stdout.splitlines()[-1]
    assert line.split()[3] == f"!{data['steps'][-1]['step']}"
