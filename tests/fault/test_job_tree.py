# SPDX-License-Identifier: Apache-2.0
"""The job is a tree of processes that come and go; the recording lasts as long as the tree."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from faultkit import LONG, NS, PYTHON, Lab, Recording, is_alive, wait_for

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        open("daemon", "w").write(str(os.getpid()))
        os.execvp("sleep", ["sleep", "30"])
    os._exit(0)
while not os.path.exists("daemon"):
    time.sleep(0.01)
time.sleep(0.3)
"""


def test_a_job_that_leaves_a_child_behind_is_recorded_to_the_childs_end(lab: Lab):
    began = time.monotonic()
    done = lab.record("--interval", "100ms", "--", "sh", "-c", "sleep 3 & exit 5")
    took_s = time.monotonic() - began
    assert done.returncode == 5
    assert 3 <= took_s < 4.5
    shown = lab.show()
    assert shown["duration_s"] == pytest.approx(3, abs=1)
    processes = lab.series("job.processes")
    assert processes["t_ns"][-1] - processes["t_ns"][0] > 2.5 * NS
    assert processes["v"][-1] == 1, "the sleep was the job by then"
    exit_mark, end_mark = lab.marks("job-exit")[0], lab.marks("job-end")[0]
    assert end_mark["time_ns"] - exit_mark["time_ns"] > 2.5 * NS


def test_a_daemon_does_not_hold_the_recorder_and_is_said_to_be_left_running(lab: Lab):
    done = lab.record("--", PYTHON, "-c", DAEMON, timeout=15)
    daemon = int((lab.folder / "daemon").read_text())
    assert done.returncode == 0
    assert is_alive(daemon), "it was not ours to end"
    assert f"still running: pid {daemon} (sleep)" in done.stderr
    (mark,) = lab.marks("left-running")
    assert (mark["number"], mark["text"]) == (daemon, "sleep")
    assert "left-running: sleep" in lab.fp("show", "last").stdout


def test_a_job_that_execs_another_program_is_recorded_through_it(lab: Lab):
    job = "timeout 1.2 sh -c 'while :; do :; done'; exec sleep 1.2"
    recording = lab.start("--interval", "100ms", "--", "sh", "-c", job)
    pid = recording.job_pid()
    assert recording.end() == 0
    (mark,) = lab.marks("exec")
    assert (mark["number"], mark["text"]) == (pid, "sleep")
    processes = lab.series("job.processes")
    assert processes["v"][-1] == 1
    assert processes["t_ns"][-1] > mark["time_ns"] - NS // 10
    assert lab.show()["duration_s"] > 2.4
    used_s = cpu_seconds(lab)
    assert 0.3 < used_s < 1.4, "the loop was the job's, before and after the exec, and only once"


def cpu_seconds(lab: Lab) -> float:
    """The area under job.cpu."""
    cpu = lab.series("job.cpu")
    times = [lab.show()["start_ns"], *cpu["t_ns"]]
    spans = [(b - a) / NS for a, b in zip(times, times[1:], strict=False)]
    return sum(span * v / 100 for span, v in zip(spans, cpu["v"], strict=True))


def test_the_jobs_cpu_is_never_more_than_the_machine_has(lab: Lab):
    cores = len(os.sched_getaffinity(0))
    busy = "timeout 2.5 sh -c 'while :; do :; done' & "
    job = "sleep 0.2; " + busy * cores + "wait; exit 0"
    assert lab.record("--interval", "100ms", "--", "sh", "-c", job).returncode == 0
    # Clocks of processes are read one after the other, hence the twentieth.
    assert max(lab.series("job.cpu")["v"]) <= 105 * cores


def test_the_cpu_of_children_that_come_and_go_is_the_jobs(lab: Lab):
    burn = "while :; do :; done"
    job = f"for i in 1 2 3 4 5 6 7 8; do timeout 0.25 sh -c '{burn}'; done; exit 0"
    assert lab.record("--interval", "100ms", "--", "sh", "-c", job).returncode == 0
    cpu = lab.series("job.cpu")
    mean = sum(cpu["v"]) / len(cpu["v"])
    assert 20 < mean <= 105, f"a loop on one core, shared with others, and never more: {mean}"
    assert max(cpu["v"]) < 200


def fds_of(recording: Recording) -> int:
    return len(os.listdir(f"/proc/{recording.pid}/fd"))


def rss_kb_of(recording: Recording) -> int:
    status = Path(f"/proc/{recording.pid}/status").read_text()
    return int(next(x for x in status.splitlines() if x.startswith("VmRSS")).split()[1])


# Starts a child every `pause` seconds; every fifth has a child of its own.
CHURN = """
import os, subprocess, sys, time
pause, until, n = float(sys.argv[1]), time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < until:
    n += 1
    subprocess.run(["true"] if n % 5 else ["sh", "-c", "true; sleep 0.01 & wait"])
    time.sleep(pause)
open("children", "w").write(str(n))
"""
# By default the children of some minutes in a fraction of one; the long way at the real pace.
CHURN_S, PAUSE_S, LEAST = (300, 0.055, 4000) if LONG else (22, 0.005, 700)


def test_a_thousand_children_a_minute_leak_no_descriptor_and_no_memory(lab: Lab):
    recording = lab.start("--interval", "100ms", "--", PYTHON, "-c", CHURN, PAUSE_S, CHURN_S)
    time.sleep(4)  # by then all buffers have their size
    fds, rss = [], []
    while recording.process.poll() is None and not (lab.folder / "children").exists():
        try:
            fds.append(fds_of(recording))
            rss.append(rss_kb_of(recording))
        except (FileNotFoundError, StopIteration):
            break
        time.sleep(0.25)
    assert recording.end() == 0
    children = int((lab.folder / "children").read_text())
    print(f"{children} children; descriptors {fds[0]}..{max(fds)}; RSS {rss[0]}..{max(rss)} kB")
    assert children >= LEAST
    quarter = len(fds) // 4
    # One process is open at the moment of a look or it is not; a leak would grow with the children.
    assert max(fds[-quarter:]) <= max(fds[:quarter]) + 4
    assert max(rss[-quarter:]) <= max(rss[:quarter]) + 512
    processes, cpu = lab.series("job.processes")["v"], lab.series("job.cpu")["v"]
    assert min(processes) >= 1 and max(processes) <= 5
    assert max(cpu) <= 100 * (os.cpu_count() or 1) + 50
    followed = lab.query("proc.cpu")
    assert len(followed) < 50, "short children must not become series"


def test_a_tree_that_forks_deeply_is_seen_whole(lab: Lab):
    deep = "n=$1; if [ $n -gt 0 ]; then sh deep $((n-1)); else sleep 1.5; fi; exit 0"
    (lab.folder / "deep").write_text(deep)
    assert lab.record("--interval", "100ms", "--", "sh", "deep", "20").returncode == 0
    assert max(lab.series("job.processes")["v"]) == 22


def test_the_recording_ends_although_a_child_was_handed_to_another_parent(lab: Lab):
    job = "(setsid sh -c 'sleep 0.5' &) ; exit 0"
    recording = lab.start("--", "sh", "-c", job)
    assert recording.end(10) == 0
    wait_for(lambda: not lab.left_processes(), "the end of the sleep")


@pytest.fixture
def namespaces(lab: Lab) -> list[str]:
    """A command line that begins a pid namespace and leaves /proc as it was."""
    words = ["unshare", "--pid", "--fork", "--kill-child"]
    done = subprocess.run([*words, "true"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"no pid namespace can be made here: {done.stderr.strip()}")
    return words


def in_namespace(lab: Lab, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=lab.env, cwd=lab.folder, capture_output=True, text=True, timeout=30
    )


def test_a_proc_of_another_namespace_gives_no_process_metrics_and_says_so(
    lab: Lab, namespaces: list[str]
):
    job = ["run", "--interval", "50ms", "--", "sh", "-c", "sleep 1 & sleep 1.5; exit 7"]
    done = in_namespace(lab, [*namespaces, str(lab.footplate), *job])
    assert done.returncode == 7
    assert "processes are not recorded: /proc shows another pid namespace" in done.stderr
    assert lab.query("cpu.util", "--entity", "total")
    for metric in ("proc.cpu", "proc.rss", "job.cpu", "job.processes"):
        found = lab.fp("query", "last", "--metric", metric, "--json")
        assert found.returncode != 0 or json.loads(found.stdout) == [], found.stdout
    (loss,) = [x for x in lab.losses("absent") if x["what"] == "proc"]
    assert "another pid namespace" in loss["why"]


def test_a_proc_of_ones_own_namespace_shows_the_jobs_processes(lab: Lab, namespaces: list[str]):
    job = ["run", "--interval", "50ms", "--", "sh", "-c", "sleep 1.5; exit 7"]
    done = in_namespace(lab, [*namespaces, "--mount-proc", str(lab.footplate), *job])
    assert done.returncode == 7
    assert max(lab.series("job.processes")["v"]) == 2


def test_attach_refuses_a_process_that_proc_does_not_show(lab: Lab, namespaces: list[str]):
    line = f"sleep 5 & '{lab.footplate}' attach --pid $!; exit $?"
    done = in_namespace(lab, [*namespaces, "sh", "-c", line])
    assert done.returncode == 1
    assert "another pid namespace" in done.stderr
    assert lab.run_folders() == []
