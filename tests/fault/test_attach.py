# SPDX-License-Identifier: Apache-2.0
"""attach watches a job that runs already and never touches it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from faultkit import NS, Lab, Recording, assert_sentence, children_of, is_alive, wait_for


@contextmanager
def job(lab: Lab, *words: str) -> Iterator[subprocess.Popen]:
    """A process that somebody else started."""
    process = subprocess.Popen(words, env=lab.env, cwd=lab.folder, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def attach(lab: Lab, pid: int, *words: str) -> Recording:
    return lab.start("--pid", pid, "--interval", "100ms", *words, command="attach")


def test_a_running_process_and_its_children_are_recorded_to_its_end(lab: Lab):
    with job(lab, "sh", "-c", "sleep 3 & sleep 3 & wait") as process:
        wait_for(lambda: len(children_of(process.pid)) == 2, "both children")
        recording = attach(lab, process.pid)
        assert process.wait() == 0
        ended = time.monotonic()
        assert recording.end() == 0
        assert time.monotonic() - ended < 1.5
    shown = lab.show()
    assert shown["command"] == ["sh", "-c", "sleep 3 & sleep 3 & wait"]
    assert (shown["status"], shown["exit_status"]) == ("finished", None)
    assert "attached" in shown["nodes"][0]["why"]
    assert max(lab.series("job.processes")["v"]) == 3
    times = lab.series("job.cpu")["t_ns"]
    assert times[-1] - times[0] > 2 * NS


def test_what_cannot_be_seen_of_a_running_python_is_said_at_once_with_what_to_do(lab: Lab):
    with job(lab, sys.executable, "-c", "import time; time.sleep(30)") as process:
        recording = attach(lab, process.pid)
        wait_for(lambda: "no steps" in recording.stderr, "the line about steps")
        line = next(x for x in recording.stderr.splitlines() if "no steps" in x)
        assert "footplate run --" in line and "footplate.start()" in line
        recording.signal(signal.SIGINT)
        assert recording.end(5) == 0


def test_ctrl_c_ends_the_recording_and_leaves_the_job_alone(lab: Lab):
    with job(lab, "sleep", "30") as process:
        recording = attach(lab, process.pid)
        lab.wait_readings(1)
        recording.signal(signal.SIGINT)
        assert recording.end(5) == 0
        assert is_alive(process.pid) and process.poll() is None
    (node,) = lab.show()["nodes"]
    assert (node["status"], node["why"]) == ("stopped", "detached")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_recorder_does_not_reach_a_job_that_is_not_its_own(lab: Lab, number: int):
    with job(lab, "sleep", "30") as process:
        recording = attach(lab, process.pid)
        recording.signal(number)
        assert recording.end(5) == 0
        time.sleep(0.2)
        assert is_alive(process.pid)
    assert lab.show()["status"] == "interrupted"
    assert f"Recording was stopped ({number.name})" in recording.stderr


def test_a_killed_recorder_does_the_attached_job_no_harm(lab: Lab):
    with job(lab, "sleep", "30") as process:
        recording = attach(lab, process.pid)
        lab.wait_readings(1)
        recording.process.kill()
        recording.end()
        assert is_alive(process.pid)
    assert lab.show()["status"] == "died"


def test_a_process_that_does_not_exist_gets_a_sentence_and_no_run(lab: Lab):
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = lab.fp("attach", "--pid", gone.pid)
    assert_sentence(done, 1, f"no process with pid {gone.pid}")
    assert lab.run_folders() == []


@pytest.mark.parametrize("pid", ["0", "-1", "x", "99999999999"])
def test_what_cannot_be_a_process_id_is_refused(lab: Lab, pid: str):
    assert_sentence(lab.fp("attach", "--pid", pid), 2, "--pid")
    assert lab.run_folders() == []


def test_attach_without_a_process_asks_for_one(lab: Lab):
    assert_sentence(lab.fp("attach"), 2, "--pid")


def test_a_zombie_is_a_job_that_has_ended(lab: Lab):
    zombie = subprocess.Popen(["true"])
    wait_for(lambda: not is_alive(zombie.pid), "the end of the process")
    done = lab.fp("attach", "--pid", zombie.pid, timeout=10)
    zombie.wait()
    assert done.returncode in (0, 1)
    assert done.stderr.startswith("footplate: ")


def test_the_process_of_another_user_can_be_watched_or_a_sentence_says_why_not(lab: Lab):
    other = lab.as_nobody()
    lab.runs.mkdir()
    os.chown(lab.runs, 65534, 65534)
    with job(lab, "sleep", "2") as process:
        done = lab.fp("attach", "--pid", process.pid, "--interval", "100ms", **other)
    assert done.returncode == 0, done.stderr
    assert lab.show()["command"] == ["sleep", "2"]
    assert lab.series("job.processes")["v"][0] == 1


def test_two_recorders_may_watch_one_job(lab: Lab):
    with job(lab, "sleep", "2") as process:
        one, two = (attach(lab, process.pid, "--name", name) for name in ("one", "two"))
        assert [one.end(), two.end()] == [0, 0]
    for name in ("one", "two"):
        assert lab.show(name)["status"] == "finished"
        assert len(lab.series("job.cpu", name)["v"]) > 5
