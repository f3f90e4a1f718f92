# SPDX-License-Identifier: Apache-2.0
"""The place for runs is full, read-only, gone or somebody else's: the job does not notice."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from faultkit import NS, Lab, assert_sentence, fill, text_of, wait_for

GOES_ON = "the job continues, but the recording cannot be written"
AGAIN = "writing the recording again"


def proc_of_a_huge_machine(lab: Lab, cores: int) -> str:
    """A /proc with so many cores that their readings cannot all wait in memory for a disk."""
    folder = lab.folder / "proc"
    folder.mkdir()
    for name in ("meminfo", "net", "pressure", "diskstats", "self", "cpuinfo"):
        (folder / name).symlink_to(f"/proc/{name}")
    lines = ["cpu  1 0 0 100 0 0 0 0 0 0"]
    lines += [f"cpu{i} 1 0 0 100 0 0 0 0 0 0" for i in range(cores)]
    (folder / "stat").write_text("\n".join(lines) + "\nbtime 1\n")
    return str(folder)


def test_a_disk_that_fills_up_costs_nothing_when_room_comes_soon(lab: Lab):
    disk = lab.small_disk("2m")
    recording = lab.start("--dir", disk, "--interval", "100ms", "--", "sh", "-c", "sleep 6; exit 9")
    time.sleep(1)
    with fill(disk):
        wait_for(lambda: GOES_ON in recording.stderr, "word of the full disk")
        assert os.strerror(errno.ENOSPC) in recording.stderr
        full_ns = time.time_ns()
        time.sleep(1.5)
    wait_for(lambda: AGAIN in recording.stderr, "word that there is room")
    assert recording.end() == 9
    (run,) = [x for x in disk.iterdir() if x.is_dir()]
    assert lab.show(run)["status"] == "failed"
    times = lab.series("job.cpu", run)["t_ns"]
    while_full = [t for t in times if full_ns < t < full_ns + 1.5 * NS]
    assert len(while_full) >= 8, "what waited in memory came to the disk"
    assert times[-1] > full_ns + 2.5 * NS


def test_a_disk_that_stays_full_costs_rows_which_are_counted_and_recording_resumes(lab: Lab):
    disk = lab.small_disk("24m")
    env = lab.env | {"FOOTPLATE_PROC": proc_of_a_huge_machine(lab, 12000)}
    recording = lab.start("--dir", disk, "--interval", "100ms", "--", "sleep", "60", env=env)
    (run,) = [x for x in disk.iterdir() if x.is_dir()]
    time.sleep(2.5)
    with fill(disk):
        wait_for(lambda: GOES_ON in recording.stderr, "word of the full disk")
        full_ns = time.time_ns()
        time.sleep(8)
        free_ns = time.time_ns()
    wait_for(lambda: AGAIN in recording.stderr, "word that there is room")
    wait_for(lambda: lab.losses("disk-full", run), "the loss, in the living run")
    time.sleep(1)
    recording.signal(signal.SIGTERM)
    assert recording.end() == 128 + signal.SIGTERM
    losses = lab.losses("disk-full", run)
    assert [x["what"] for x in losses] == ["rows"]
    assert losses[0]["count"] > 20
    assert losses[0]["why"] == os.strerror(errno.ENOSPC)
    assert "No space left" in lab.fp("show", run).stdout
    assert re.search(r"lost \d+ rows? because the run folder", recording.stderr)
    times = lab.series("cpu.util", run)["t_ns"]
    assert [t for t in times if t < full_ns], "what came before is there"
    assert [t for t in times if t > free_ns], "what came after is there"
    pairs = zip(times, times[1:], strict=False)
    holes = [(a, b) for a, b in pairs if b - a > 2 * NS and full_ns < b and a < free_ns]
    assert holes, "the rows that were lost are missing, not zero"
    assert not lab.losses("damaged", run)


def test_a_disk_that_is_full_to_the_end_changes_nothing_for_the_job(lab: Lab):
    disk = lab.small_disk("1m")
    lab.env["FOOTPLATE_DISABLE"] = "1"  # the file for events, removed at the end, would make room
    job = "sleep 3; echo output; exit 6"
    recording = lab.start(
        "--dir", disk, "--interval", "100ms", "--", "sh", "-c", job, stdout=subprocess.PIPE
    )
    time.sleep(1.2)
    with fill(disk):
        assert recording.end(10) == 6
        assert recording.process.stdout.read() == b"output\n"
    (run,) = [x for x in disk.iterdir() if x.is_dir()]
    assert "could not" in recording.stderr
    shown = lab.show(run)
    assert shown["self"]["samples"] > 0, "what was written before is readable"
    assert not lab.losses("damaged", run)


def test_output_that_finds_no_room_is_a_failure(lab: Lab):
    assert lab.record("--", "true").returncode == 0
    with open("/dev/full", "w") as full:
        for command in (["show", "last"], ["stats", "last"], ["export", "last"]):
            done = lab.fp(*command, stdout=full, stderr=subprocess.PIPE, capture_output=False)
            assert_sentence(done, 1, "No space left on device")


def test_a_folder_that_may_not_be_written_gets_a_sentence_and_the_job_runs(lab: Lab):
    other = lab.as_nobody()
    lab.runs.mkdir(mode=0o755)
    done = lab.record("--", "sh", "-c", "exit 7", **other)
    assert_sentence(done, 7, "Permission denied", str(lab.runs), "not recorded")
    assert lab.run_folders() == []


def test_a_run_that_may_not_be_read_gets_a_sentence(lab: Lab):
    other = lab.as_nobody()
    assert lab.record("--", "true").returncode == 0
    (run,) = lab.run_folders()
    run.chmod(0o700)
    assert_sentence(lab.fp("show", run, **other), 1, "Permission denied", str(run))
    run.chmod(0o755)
    (run / "run.json").chmod(0o600)
    assert_sentence(lab.fp("show", run, **other), 1, "Permission denied", "run.json")


def test_a_run_made_read_only_while_it_is_recorded_does_not_disturb_the_job(lab: Lab):
    other = lab.as_nobody()
    lab.runs.mkdir()
    os.chown(lab.runs, 65534, 65534)
    job = "sleep 3; exit 8"
    recording = lab.start("--interval", "100ms", "--", "sh", "-c", job, **other)
    time.sleep(1)
    (run,) = lab.run_folders()
    for folder in [run, *run.glob("node-*")]:
        folder.chmod(0o555)
    assert recording.end() == 8
    assert "Permission denied" in recording.stderr
    times = lab.series("job.cpu")["t_ns"]
    assert times[-1] - times[0] > 2 * NS, "files that are open could still be written"


def test_a_run_folder_deleted_while_it_is_recorded_does_not_disturb_the_job(lab: Lab):
    job = "sleep 2.5; echo fine > result; exit 8"
    recording = lab.start("--interval", "100ms", "--", "sh", "-c", job)
    time.sleep(1)
    (run,) = lab.run_folders()
    shutil.rmtree(run)
    assert recording.end() == 8
    assert text_of(lab.folder / "result") == "fine\n"
    assert "could not" in recording.stderr, "a message says that the run is lost"
    assert_sentence(lab.fp("show", "last"), 1, "no runs in")


@pytest.mark.parametrize("what", ["runs", "run id"])
def test_a_file_where_a_folder_should_be_gets_a_sentence_and_the_job_runs(lab: Lab, what: str):
    if what == "runs":
        lab.runs.write_text("")
        done = lab.record("--", "sh", "-c", "exit 7")
    else:
        lab.runs.mkdir()
        (lab.runs / "taken").write_text("")
        done = lab.record("--run", "taken", "--", "sh", "-c", "exit 7")
    assert_sentence(done, 7, str(lab.runs), "Not a directory" if what == "run id" else "")
