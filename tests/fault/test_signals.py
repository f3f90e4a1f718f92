# SPDX-License-Identifier: Apache-2.0
"""Signals to the recorder are the job's, once each, and the run says which one ended it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from faultkit import NS, PYTHON, Lab, children_of, is_alive, text_of, wait_for
from terminals import Terminal

# Counts every signal, says so in a file, and goes on until a second after the first.
COUNTING = """
import signal, sys, time
names = ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGWINCH"]
got = []
for name in names:
    signal.signal(getattr(signal, name), lambda n, frame: got.append(signal.Signals(n).name))
open("ready", "w").close()
while not got:
    time.sleep(0.02)
until = time.monotonic() + 0.5
while time.monotonic() < until:
    time.sleep(0.02)
open("got", "w").write(" ".join(got))
sys.exit(7)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH"])
def test_a_signal_reaches_the_job_exactly_once(lab: Lab, name: str):
    recording = lab.start("--", PYTHON, "-c", COUNTING)
    wait_for((lab.folder / "ready").exists, "the job's handlers")
    recording.signal(getattr(signal, name))
    assert recording.end() == 7, "a job that handles a signal decides on its own status"
    assert (lab.folder / "got").read_text() == name


# Waits for any signal and prints its number.
ANY = """
import os, signal, sys
every = [n for n in signal.valid_signals() if n not in (signal.SIGKILL, signal.SIGSTOP)]
every = [n for n in every if n not in (signal.SIGCHLD, signal.SIGCONT)]
signal.pthread_sigmask(signal.SIG_BLOCK, every)
open("ready", "w").close()
open("got", "w").write(str(int(signal.sigwait(every))))
sys.exit(7)
"""
STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
NOT_PASSED = {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGCONT, *STOPS}


@pytest.mark.parametrize("number", sorted(signal.valid_signals() - NOT_PASSED))
def test_every_signal_that_can_be_caught_is_the_jobs_and_ends_no_recorder(lab: Lab, number: int):
    recording = lab.start("-q", "--no-rules", "--", PYTHON, "-S", "-c", ANY)
    wait_for((lab.folder / "ready").exists, "the job")
    recording.signal(number)
    assert recording.end() == 7
    assert (lab.folder / "got").read_text() == str(number)
    assert lab.show()["exit_status"] == 7


@pytest.mark.parametrize("number", [32, 33])
def test_a_signal_of_the_c_library_does_not_end_the_recorder(lab: Lab, number: int):
    job = "while [ ! -e sent ]; do sleep 0.05; done; grep SigIgn /proc/$$/status; exit 7"
    recording = lab.start("--", "sh", "-c", job, stdout=subprocess.PIPE, text=True)
    send = f"kill -{number} {recording.pid}"
    subprocess.run(["sh", "-c", send], check=True)
    (lab.folder / "sent").touch()
    plain = subprocess.run(
        ["sh", "-c", "grep SigIgn /proc/$$/status"], capture_output=True, text=True
    )
    assert recording.process.stdout.readline() == plain.stdout, (
        "the job ignores what it would alone"
    )
    assert recording.end() == 7


def test_a_hundred_queued_signals_arrive_one_by_one(lab: Lab):
    job = (
        "import signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 1])\n"
        "open('ready', 'w').close()\n"
        "for i in range(100): signal.sigwait([signal.SIGRTMIN + 1])\n"
        "sys.exit(7)\n"
    )
    recording = lab.start("-q", "--no-rules", "--", PYTHON, "-S", "-c", job)
    wait_for((lab.folder / "ready").exists, "the job")
    for _ in range(100):
        recording.signal(signal.SIGRTMIN + 1)
    assert recording.end() == 7


@pytest.mark.parametrize("number", [signal.SIGRTMIN, signal.SIGIO, signal.SIGPROF, signal.SIGXFSZ])
def test_a_signal_to_a_recorder_that_attached_ends_neither_it_nor_the_job(lab: Lab, number: int):
    job = subprocess.Popen(["sleep", "2"], env=lab.env)
    recording = lab.start("--pid", job.pid, command="attach")
    recording.signal(number)
    assert recording.end() == 0
    assert job.wait() == 0
    assert lab.show()["status"] == "finished"


def test_sigterm_is_recorded_with_its_time_and_the_run_counts_as_interrupted(lab: Lab):
    recording = lab.start("--interval", "100ms", "--", "sleep", "30")
    recording.job_pid()
    sent_ns = time.time_ns()
    recording.signal(signal.SIGTERM)
    assert recording.end() == 128 + signal.SIGTERM
    (mark,) = lab.marks("signal")
    assert (mark["number"], mark["text"]) == (signal.SIGTERM, "SIGTERM")
    assert abs(mark["time_ns"] - sent_ns) < NS // 2
    (node,) = lab.show()["nodes"]
    assert (node["status"], node["why"]) == ("interrupted", "SIGTERM")
    assert "interrupted: SIGTERM" in lab.fp("show", "last").stdout


def test_sigusr1_is_recorded_but_does_not_make_a_run_interrupted(lab: Lab):
    recording = lab.start("--", PYTHON, "-c", COUNTING)
    wait_for((lab.folder / "ready").exists, "the job's handlers")
    recording.signal(signal.SIGUSR1)
    recording.end()
    assert [m["text"] for m in lab.marks("signal")] == ["SIGUSR1"]
    assert lab.show()["status"] == "failed", "it ended with status 7"


def test_a_job_that_ignores_sigterm_goes_on_and_so_does_its_recording(lab: Lab):
    job = "trap '' TERM; touch ready; sleep 1.5; exit 4"
    recording = lab.start("--interval", "100ms", "--", "sh", "-c", job)
    wait_for((lab.folder / "ready").exists, "the job's trap")
    recording.signal(signal.SIGTERM)
    sent_ns = time.time_ns()
    assert recording.end() == 4
    times = lab.series("job.processes")["t_ns"]
    assert times[-1] > sent_ns + NS, "sampling stopped at the signal"
    assert lab.node(lab.show()["nodes"][0]["id"])["status"] == "interrupted"


def test_a_signal_reaches_every_process_of_the_jobs_group(lab: Lab):
    job = "sleep 30 & sleep 30 & wait"
    recording = lab.start("--", "sh", "-c", job)
    shell = recording.job_pid()
    sleepers = wait_for(lambda: len(c := children_of(shell)) == 2 and c, "both sleeps")
    recording.signal(signal.SIGTERM)
    assert recording.end() == 128 + signal.SIGTERM
    assert not any(is_alive(pid) for pid in sleepers)


def test_a_signal_that_comes_while_only_the_rest_of_the_tree_runs_reaches_that_rest(lab: Lab):
    recording = lab.start("--", "sh", "-c", "sleep 30 & exit 3")
    wait_for(lambda: "exited with status 3" in recording.stderr, "word that it waits")
    recording.signal(signal.SIGTERM)
    assert recording.end(10) == 3, "the status is that of the command"
    assert lab.left_processes() == []


def test_a_recorder_under_nohup_does_not_end_the_job_on_sighup(lab: Lab):
    def ignore_hangup() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    recording = lab.start("--", "sh", "-c", "sleep 1; exit 2", preexec_fn=ignore_hangup)
    recording.job_pid()
    recording.signal(signal.SIGHUP)
    assert recording.end() == 2
    assert lab.show()["status"] == "failed"


# -- terminal --


def test_the_job_can_read_from_the_terminal(lab: Lab):
    ask = "printf 'name? '; read name; echo \"hello $name\"; test -t 0 && test -t 1"
    words = [str(lab.footplate), "run", "-q", "--", "sh", "-c", ask]
    terminal = Terminal(words, lab.env, lab.folder)
    terminal.expect("name? ")
    terminal.type("ada\n")
    terminal.expect("hello ada")
    assert terminal.end() == 0


def test_ctrl_c_on_the_terminal_ends_the_job_once_and_the_status_is_130(lab: Lab):
    terminal = Terminal([str(lab.footplate), "run", "--", "sleep", "30"], lab.env, lab.folder)
    terminal.expect("recording to")  # said when the job runs
    terminal.type("\x03")
    assert terminal.end() == 130
    (node,) = lab.show()["nodes"]
    assert (node["status"], node["why"]) == ("interrupted", "SIGINT")


def test_a_job_that_handles_ctrl_c_gets_it_once(lab: Lab):
    words = [str(lab.footplate), "run", "-q", "--", PYTHON, "-c", COUNTING]
    terminal = Terminal(words, lab.env, lab.folder)
    wait_for((lab.folder / "ready").exists, "the job's handlers")
    terminal.type("\x03")
    assert terminal.end() == 7
    assert (lab.folder / "got").read_text() == "SIGINT"


def state_of(pid: int) -> str:
    return text_of(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[0]


LAST_TICK = 60
TICKING = (
    f"i=0; while [ $i -lt {LAST_TICK} ]; do i=$((i+1)); echo $i > tick; sleep 0.05; done; exit 6"
)


def ticks(lab: Lab) -> int:
    return int(text_of(lab.folder / "tick") or 0)


def test_ctrl_z_stops_job_and_recorder_and_fg_continues_both(lab: Lab, shell: Terminal):
    shell.type(f"$fp run --interval 100ms -- sh -c '{TICKING}'; echo status=$?\n")
    wait_for(lambda: ticks(lab) >= 5, "some ticks")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.expect("status=148")  # 128 + SIGTSTP: bash has the prompt back
    (recorder,) = children_of(shell.pid)
    (job,) = children_of(recorder)[:1]
    wait_for(lambda: state_of(recorder) == "T" and state_of(job) == "T", "both stopped")
    before = ticks(lab)
    time.sleep(1.2)
    assert ticks(lab) == before
    shell.type("fg; echo after=$?\n")
    shell.expect("after=6")
    assert ticks(lab) == LAST_TICK
    assert lab.show()["status"] == "failed"
    assert lab.losses("paused"), "the gap has a reason"
    shell.type("exit\n")


def test_a_stopped_run_goes_on_in_the_background_too(lab: Lab, shell: Terminal):
    shell.type(f"$fp run -- sh -c '{TICKING}'\n")
    wait_for(lambda: ticks(lab) >= 5, "some ticks")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.type("bg; wait $!; wait %1; echo after\n")
    wait_for(lambda: ticks(lab) == LAST_TICK, "the last tick")
    wait_for(lambda: lab.show()["status"] == "failed", "the run's end")
    shell.type("exit\n")


def test_sigstop_of_the_job_and_sigcont_leave_the_run_whole(lab: Lab):
    recording = lab.start("--interval", "100ms", "--", "sh", "-c", TICKING)
    job = recording.job_pid()
    wait_for(lambda: ticks(lab) >= 5, "some ticks")
    os.kill(job, signal.SIGSTOP)
    time.sleep(0.5)
    assert recording.process.poll() is None
    os.kill(job, signal.SIGCONT)
    assert recording.end() == 6
