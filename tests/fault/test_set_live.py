# SPDX-License-Identifier: Apache-2.0
"""A recording is changed while it goes on, by its owner only."""

from __future__ import annotations

import os
import socket
import stat
import time
from contextlib import suppress

import pytest
from faultkit import NOBODY, NS, Lab, assert_sentence, wait_for


def between(times: list[int], begin_ns: int, end_ns: int) -> list[int]:
    return [t for t in times if begin_ns < t < end_ns]


def test_a_new_interval_holds_within_a_second_and_is_marked(lab: Lab):
    recording = lab.start("--interval", "1s", "--", "sleep", "5")
    time.sleep(1.5)
    done = lab.fp("set", "last", "interval=100ms")
    set_ns = time.time_ns()
    assert done.returncode == 0, done.stderr
    assert "100 ms" in done.stdout
    assert recording.end() == 0
    (mark,) = lab.marks("interval")
    assert (mark["number"], mark["text"]) == (100_000_000, "100 ms")
    assert abs(mark["time_ns"] - set_ns) < NS
    times = lab.series("job.cpu")["t_ns"]
    assert len(between(times, set_ns - 2 * NS, set_ns)) <= 3
    assert len(between(times, set_ns + NS, set_ns + 3 * NS)) >= 14
    assert lab.show()["interval_ms"] == 100


def test_a_longer_interval_holds_too(lab: Lab):
    recording = lab.start("--interval", "50ms", "--", "sleep", "4.5")
    time.sleep(1)
    assert lab.fp("set", "last", "interval=1s").returncode == 0
    set_ns = time.time_ns()
    assert recording.end() == 0
    times = lab.series("job.cpu")["t_ns"]
    assert 2 <= len(between(times, set_ns, set_ns + 3.2 * NS)) <= 4
    assert all(v <= 100 * (os.cpu_count() or 1) for v in lab.series("job.cpu")["v"])


BUSY = "while :; do :; done"


def test_monitoring_off_leaves_a_gap_and_resumes_without_a_spike(lab: Lab):
    recording = lab.start("--interval", "100ms", "--", "timeout", "5", "sh", "-c", BUSY)
    time.sleep(1.5)
    assert lab.fp("set", "last", "monitoring=off").returncode == 0
    off_ns = time.time_ns()
    time.sleep(2)
    on_ns = time.time_ns()
    assert lab.fp("set", "last", "monitoring=on").returncode == 0
    assert recording.end() == 124  # of timeout: the job never noticed
    assert [m["number"] for m in lab.marks("monitoring")] == [0, 1]
    assert lab.losses("paused"), "the gap has a reason"
    cores = os.cpu_count() or 1
    for metric, most in (("job.cpu", 105 * cores), ("cpu.util", 100), ("cgroup.cpu", 150 * cores)):
        found = lab.query(metric, "--entity", "total")
        for series in found:
            times, values = series["t_ns"], series["v"]
            assert between(times, off_ns, on_ns) == [], f"{metric} was read while it was off"
            assert between(times, 0, off_ns) and between(times, on_ns, on_ns + 5 * NS)
            assert max(values) <= most, f"{metric} has a spike"


# Busy from the moment a file appears until another does, idle before and after.
BUSY_BETWEEN = "until [ -e go ]; do sleep 0.02; done; until [ -e stop ]; do :; done; sleep 1.5"


def test_what_happened_while_monitoring_was_off_is_in_no_reading(lab: Lab):
    recording = lab.start("--interval", "100ms", "--", "sh", "-c", BUSY_BETWEEN)
    time.sleep(1.2)
    assert lab.fp("set", "last", "monitoring=off").returncode == 0
    (lab.folder / "go").touch()
    time.sleep(2)
    (lab.folder / "stop").touch()
    time.sleep(0.1)
    assert lab.fp("set", "last", "monitoring=on").returncode == 0
    assert recording.end() == 0
    assert len(lab.series("job.cpu")["v"]) > 10
    assert max(lab.series("job.cpu")["v"]) < 20


def test_a_run_that_was_paused_still_ends_with_its_job(lab: Lab):
    recording = lab.start("--interval", "100ms", "--", "sh", "-c", "sleep 1.5; exit 2")
    assert lab.fp("set", "last", "monitoring=off").returncode == 0
    assert recording.end(5) == 2
    assert lab.show()["status"] == "failed"


@pytest.mark.parametrize(
    "setting", ["interval=5ms", "interval=61s", "interval=", "monitoring=maybe", "colour=blue"]
)
def test_a_setting_that_does_not_exist_is_refused_and_changes_nothing(lab: Lab, setting: str):
    recording = lab.start("--interval", "100ms", "--", "sleep", "0.5")
    assert_sentence(lab.fp("set", "last", setting), 2, setting.split("=")[0])
    assert recording.end() == 0
    assert lab.marks("interval") == lab.marks("monitoring") == []


def test_setting_a_finished_run_says_that_it_is_over(lab: Lab):
    assert lab.record("--name", "over", "--", "true").returncode == 0
    done = lab.fp("set", "last", "interval=100ms")
    assert_sentence(done, 1, "'over' is not being recorded", "finished")


def test_setting_a_run_whose_recorder_was_killed_says_so(lab: Lab):
    recording = lab.start("--", "sleep", "5")
    recording.process.kill()
    recording.end()
    assert_sentence(lab.fp("set", "last", "interval=100ms"), 1, "not being recorded", "died")


def socket_of(lab: Lab) -> str:
    (path,) = wait_for(lambda: list((lab.runtime / "footplate").glob("*.sock")), "the socket")
    return str(path)


def test_the_socket_is_gone_when_the_run_is_over(lab: Lab):
    recording = lab.start("--", "sleep", "1")
    path = socket_of(lab)
    mode = os.stat(os.path.dirname(path)).st_mode
    assert stat.S_IMODE(mode) == 0o700
    assert recording.end() == 0
    assert not os.path.exists(path)


def ask_as_nobody(path: str, request: bytes) -> bytes:
    """What the recorder answers to another user who reaches its socket."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            client.settimeout(3)
            client.connect(path)
            os.write(start, b"connected ")
            client.sendall(request)
            os.write(start, client.recv(256))
        os._exit(0)
    os.close(start)
    os.waitpid(child, 0)
    with os.fdopen(end, "rb") as pipe:
        return pipe.read()


def test_another_user_cannot_change_the_recording(lab: Lab):
    other = lab.as_nobody()
    recording = lab.start("--interval", "500ms", "--", "sleep", "2.5")
    path = socket_of(lab)
    done = lab.fp("set", lab.run_folders()[0], "interval=100ms", **other)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert ask_as_nobody(path, b"interval=100ms\n") == b"", "the folder keeps others out"
    # Even where every folder on the way is open to all: the recorder asks who it is.
    for folder in (lab.runtime, lab.runtime / "footplate"):
        folder.chmod(0o777)
    os.chmod(path, 0o777)
    assert ask_as_nobody(path, b"interval=100ms\n") == b"connected "
    assert recording.end() == 0
    assert lab.marks("interval") == []


def test_clients_that_say_nothing_or_nonsense_do_not_keep_others_out(lab: Lab):
    recording = lab.start("--interval", "100ms", "--", "sleep", "3")
    path = socket_of(lab)
    silent = []
    for data in [b"", b"x" * 5000, b"\0\xff\n", b"interval=100ms", b"status\nstatus\n"] * 6:
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        with suppress(BrokenPipeError, ConnectionResetError):  # hung up on, as it should be
            client.sendall(data)
        silent.append(client)
    done = lab.fp("set", "last", "interval=200ms")
    assert done.returncode == 0, done.stderr
    for client in silent:
        client.close()
    assert recording.end() == 0
    assert [m["text"] for m in lab.marks("interval")] == ["200 ms"]
    late = sum(x["count"] for x in lab.losses("late"))
    assert len(lab.series("job.cpu")["t_ns"]) + late >= 12
