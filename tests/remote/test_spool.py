# SPDX-License-Identifier: Apache-2.0
"""--to-only: a run that is sent while only a bounded part of it is on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hub_server import Hub
from test_living import OnStub, Sent, to_its_end, wait_for
from test_s3_stub import DEST, files, objects

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = os.environ.get("FOOTPLATE_PYTHON", str(ROOT / "build/release/python"))
MIB = 1 << 20


@pytest.fixture
def sent(footplate, stub, stub_env, tmp_path):
    yield from to_its_end(Sent(footplate, OnStub(stub), stub_env, tmp_path / "runs"))


def names(stub) -> set[str]:
    """The runs in the bucket."""
    keys = [k.removeprefix("bucket/team/runs/") for k in stub.objects]
    return {k.split("/")[0] for k in keys if k.endswith("/run.json")}


def hole(path: Path) -> int:
    """Where the hole of a file ends; 0: there is none."""
    with path.open("rb") as f:
        begin = os.lseek(f.fileno(), 0, os.SEEK_HOLE)
        return 0 if begin >= path.stat().st_size else os.lseek(f.fileno(), begin, os.SEEK_DATA)


def test_the_folder_goes_when_all_of_the_run_has_arrived(sent, stub, run_fp):
    sent.start("--to-only", job="sleep 1; exit 3")
    status, said = sent.end()
    assert status == 3 and "the run is at" in said and "show last" not in said, said
    assert not list(sent.folder.glob("*/run.json"))
    (name,) = names(stub)
    there = objects(stub, name)
    assert {"run.json", "findings.json", "report.html", "report.json"} < there.keys()
    assert not [x for x in there if ".tail" in x or ".fp." in x], there.keys()
    assert (
        json.loads(run_fp("show", f"{DEST}/{name}", "--json", env=sent.env).stdout)["exit_status"]
        == 3
    )


def test_it_stays_when_something_is_missing_there_and_push_sends_the_rest(sent, stub, run_fp):
    stub.faults = lambda asked: (503, "SlowDown")
    sent.start("--to-only=64MiB", job="sleep 1")
    status, said = sent.end()
    assert status == 0 and "not all of the run was sent" in said, said
    stub.faults = lambda asked: None
    assert run_fp("push", sent.run, DEST, env=sent.env).returncode == 0
    assert sent.is_same()


def test_without_a_destination_the_whole_run_stays_and_a_line_says_so(run_fp, tmp_path):
    done = run_fp("run", "--dir", tmp_path / "runs", "--to-only", "--", "true")
    assert done.returncode == 0 and "--to-only has no effect without --to" in done.stderr
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 1


def test_nodes_of_a_shared_folder_remove_only_what_is_their_own(
    footplate, stub, stub_env, tmp_path
):
    runs = tmp_path / "runs"
    words = [footplate, "run", "--dir", runs, "--run", "job-1", "--quiet", "--to", DEST]
    env = stub_env | {"SLURM_JOB_ID": ""}
    with subprocess.Popen([*words, "--node", "n1", "--", "sleep", "4"], env=env) as first:
        wait_for(lambda: (runs / "job-1/node-n1/node.json").exists(), "the first node")
        done = subprocess.run([*words, "--node", "n2", "--to-only", "--", "sleep", "0.5"], env=env)
        assert done.returncode == 0
        assert [p.name for p in (runs / "job-1").glob("node-*")] == ["node-n1"]
        first.wait(60)
    assert {"node-n1/metrics.fp", "node-n2/metrics.fp"} < objects(stub, "job-1").keys()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--to-only=1MiB"], "at least 4MiB"), (["--to-only=much"], "at least 4MiB")],
)
def test_a_size_that_is_none_is_refused(run_fp, words, said):
    done = run_fp("run", *words, "--", "true")
    assert done.returncode == 2 and said in done.stderr


# ---- what is no longer here comes from there


@pytest.fixture(scope="module")
def large(footplate, tmp_path_factory) -> Path:
    """A run with a large file of events, in several segments."""
    folder = tmp_path_factory.mktemp("large")
    return record(footplate, folder, 180)


def record(footplate: Path, folder: Path, bursts: int) -> Path:
    env = os.environ | {"PYTHONPATH": PACKAGE, "FOOTPLATE_NVML": "/nonexistent.so"}
    job = [sys.executable, HERE / "spool_job.py", str(bursts)]
    words = [footplate, "run", "--dir", folder, "--name", "large", "--quiet", "--", *job]
    subprocess.run(words, env=env, check=True, timeout=120)
    return next(p.parent for p in folder.glob("*/run.json"))


def segments(data: bytes) -> list[int]:
    """Where segments end: after blocks with the flag of the last one (docs/format.md)."""
    found, at = [], 64
    while data[at : at + 4] == b"FPBK":
        flags = int.from_bytes(data[at + 6 : at + 8], "little")
        at += (48 + int.from_bytes(data[at + 8 : at + 12], "little") + 7) // 8 * 8
        if flags & 1:
            found.append(at)
    return found


def begin_and_rest(large: Path, folder: Path, kept: int) -> tuple[Path, Path]:
    """The run as it was after `kept` segments of events; and as it is, but these are a hole."""
    part, whole = folder / "part" / large.name, folder / "whole" / large.name
    for copy in (part, whole):
        shutil.copytree(large, copy)
    (events,) = part.glob("node-*/events.fp")
    ends = segments(events.read_bytes())
    assert len(ends) >= 2, ends
    os.truncate(events, ends[kept - 1])
    rest = whole / events.relative_to(part)
    end = ends[kept - 1] // 4096 * 4096
    words = ["fallocate", "--punch-hole", "--offset", "4096", "--length", str(end - 4096), rest]
    if subprocess.run(words, capture_output=True).returncode:
        pytest.skip("no holes on this file system")
    assert hole(rest) == end
    return part, whole


@pytest.mark.parametrize("kept", [1, 2])
def test_a_bucket_gets_the_whole_file_from_its_own_parts(
    large, run_fp, stub, stub_env, tmp_path, kept
):
    part, whole = begin_and_rest(large, tmp_path, kept)
    assert run_fp("push", part, DEST, env=stub_env).returncode == 0
    assert any("events.fp.0" in x for x in objects(stub, large.name))
    done = run_fp("push", whole, DEST, env=stub_env)
    assert done.returncode == 0, done.stderr
    assert objects(stub, large.name) == files(large)


def test_a_hub_gets_the_rest_only(large, run_fp, hub: Hub, footplate, tmp_path):
    part, whole = begin_and_rest(large, tmp_path, 1)
    hub.push(footplate, part)
    hub.push(footplate, whole)
    there = files(hub.runs / large.name)
    del there["received.json"]
    assert there == files(large)


def test_elsewhere_a_run_without_its_beginning_is_refused(large, run_fp, stub, stub_env, tmp_path):
    _, whole = begin_and_rest(large, tmp_path, 1)
    done = run_fp("push", whole, "s3://bucket/other", env=stub_env)
    assert done.returncode and "no longer on this machine" in done.stderr, done.stderr
    assert not [k for k in stub.objects if "other" in k and "events.fp" in k]


# ---- all of it


@pytest.fixture
def busy(sent):
    """Starts a job with many events, that is sent with a spool of 4 MiB."""
    sent.env["PYTHONPATH"] = PACKAGE

    def start(bursts: int) -> float:
        job = f"exec {sys.executable} {HERE / 'spool_job.py'} {bursts}"
        sent.start("--to-only=4MiB", job=job)
        return time.monotonic()

    return start


def test_a_long_run_takes_no_more_than_its_spool_and_nothing_is_lost(sent, stub, busy, run_fp):
    busy(420)
    most, larger = 0, 0
    while sent.job.poll() is None:
        for path in sent.folder.glob("*/node-*/events.fp"):
            st = path.stat()
            most, larger = max(most, st.st_blocks * 512), max(larger, st.st_size)
        time.sleep(0.2)
    status, said = sent.end()
    assert status == 0 and "the run is at" in said, said
    assert most < 6 * MIB and larger > 2.4 * MIB, (most, larger)
    (name,) = names(stub)
    shown = json.loads(run_fp("show", f"{DEST}/{name}", "--json", env=sent.env).stdout)
    bad = {"damaged", "torn", "spool-full"}
    assert not [x for x in shown["losses"] if x["kind"] in bad], shown["losses"]
    assert "findings.json" in objects(stub, name), "the rules were evaluated there"


def test_with_a_dead_destination_what_does_not_fit_is_a_counted_loss(sent, stub, busy, run_fp):
    stub.faults = lambda asked: (503, "SlowDown")
    begin = busy(420)
    sent.job.wait(60)
    assert time.monotonic() - begin < 30, "the job did not wait"
    status, said = sent.end()
    assert status == 0 and "the spool is full" in said, said
    assert sum(p.stat().st_size for p in sent.run.glob("node-*/*")) < 8 * MIB
    stub.faults = lambda asked: None
    assert run_fp("push", sent.run, DEST, env=sent.env).returncode == 0
    assert sent.is_same()
    losses = json.loads(sent.show().stdout)["losses"]
    assert [x for x in losses if x["kind"] == "spool-full" and x["count"] > 1000], losses
