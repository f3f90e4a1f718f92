# SPDX-License-Identifier: Apache-2.0
"""What a job says survives its own death, the recorder's, and a full disk."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from faultkit import NS, Lab, Recording, is_alive, wait_for

STEPS_ENOUGH = 40
LATE_S = 1.0  # the most that a killed recorder may cost


def steps_of(lab: Lab, run: str = "last") -> list[dict]:
    done = lab.fp("steps", run, "--json", "--last", "1000000")
    assert done.returncode == 0, done.stderr
    return [s for s in json.loads(done.stdout)["steps"] if s["mode"] == "train"]


def training(lab: Lab, train: Path, *words: object) -> Recording:
    """A recorder and a job that tells its steps, some of which have been kept already."""
    recording = lab.start("--interval", "100ms", *words, "--", train, "--seconds", "60")
    wait_for(lambda: len(steps_of(lab)) > STEPS_ENOUGH, "some steps in the run folder")
    return recording


def ring_of(job: int) -> Path:
    """Where the job was told to say what it does."""
    for entry in Path(f"/proc/{job}/environ").read_bytes().split(b"\0"):
        if entry.startswith(b"FOOTPLATE_RING="):
            return Path(entry.partition(b"=")[2].decode())
    raise AssertionError("the job was told nothing")


def fill(disk: Path) -> Path:
    """Takes what is left of the disk; the file that does so."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as out, suppress(OSError):
        while out.write(b"x" * 4096):
            pass
    return ballast


def test_every_step_of_a_job_that_ends_well_is_there(lab: Lab, train: Path):
    done = lab.record("--", train, "--epochs", "2")
    assert done.returncode == 0, done.stderr
    said = int(done.stdout.partition("done: ")[2].partition(" steps")[0])
    steps = steps_of(lab)
    assert [s["step"] for s in steps] == list(range(said))
    assert lab.show()["self"]["events_dropped"] == 0
    for s in steps:
        assert abs(sum(s["events"].values()) - s["duration_s"]) < 1e-6, s


def test_a_job_killed_in_the_middle_leaves_all_that_it_had_said(lab: Lab, train: Path):
    recording = training(lab, train)
    os.kill(recording.job_pid(), signal.SIGKILL)
    killed_ns = time.time_ns()
    assert recording.end() == 128 + signal.SIGKILL
    steps = steps_of(lab)
    assert [s["step"] for s in steps] == list(range(len(steps)))
    last = steps[-1]
    end_ns = last["start_ns"] + last["duration_s"] * NS
    assert killed_ns - end_ns < NS, "the last second of the job is missing"


def test_a_killed_recorder_costs_at_most_a_second_of_events_and_the_job_goes_on(
    lab: Lab, train: Path
):
    recording = training(lab, train)
    job = recording.job_pid()
    time.sleep(1.3)
    killed_ns = time.time_ns()
    recording.signal(signal.SIGKILL)
    recording.end()
    steps = steps_of(lab)
    assert [s["step"] for s in steps] == list(range(len(steps)))
    assert killed_ns - steps[-1]["start_ns"] < (LATE_S + 0.2) * NS
    time.sleep(1)
    assert is_alive(job), "the job died with its recorder"


def test_rings_are_gone_when_the_run_has_ended(lab: Lab, train: Path):
    recording = training(lab, train)
    ring = ring_of(recording.job_pid())
    assert any(name.startswith("ring-") for name in os.listdir(ring))
    recording.signal(signal.SIGTERM)
    recording.end()
    assert not ring.exists()


def test_a_full_disk_costs_events_that_are_counted_and_the_rest_follows(lab: Lab, train: Path):
    disk = lab.small_disk("3m")
    lab.env["FOOTPLATE_DIR"] = str(disk)
    recording = training(lab, train)
    job = recording.job_pid()
    ballast = fill(disk)
    time.sleep(2)
    assert is_alive(job)
    before = len(steps_of(lab))
    ballast.unlink()
    wait_for(lambda: len(steps_of(lab)) > before + STEPS_ENOUGH, "steps after there was room again")
    recording.signal(signal.SIGTERM)
    recording.end()
    steps = [s["step"] for s in steps_of(lab)]
    assert steps == sorted(set(steps))


def test_what_is_switched_off_says_nothing_and_costs_nothing(lab: Lab, train: Path):
    lab.env["FOOTPLATE_DISABLE"] = "1"
    done = lab.record("--", train, "--epochs", "1")
    assert done.returncode == 0, done.stderr
    assert not list(lab.runs.rglob("events*"))
    assert steps_of(lab) == []
