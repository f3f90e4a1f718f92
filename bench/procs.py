# SPDX-License-Identifier: Apache-2.0
"""Processes under measurement: started, watched, ended by their own id."""

from __future__ import annotations

import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence

from harness import Context


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process, to the nanosecond, also while it runs.

    This is its CPU clock (see clock_getcpuclockid); /proc/PID/stat counts in ticks of 10 ms and
    /proc/PID/schedstat covers one thread."""
    return time.clock_gettime((~pid << 3) | 2)


def cpu_by_window(pid: int, windows: int, seconds: float = 1.0) -> list[float]:
    """Share of a core in each of several windows. Their median is not moved by a few that are far
    off, as happens on a shared host; their mean is."""
    shares = []
    cpu, wall = cpu_seconds(pid), time.monotonic()
    for _ in range(windows):
        time.sleep(seconds)
        next_cpu, next_wall = cpu_seconds(pid), time.monotonic()
        shares.append((next_cpu - cpu) / (next_wall - wall))
        cpu, wall = next_cpu, next_wall
    return shares


def thread_seconds(pid: int) -> dict[str, float]:
    """CPU time of each thread by its name."""
    times: dict[str, float] = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().strip()
        ns = int((task / "schedstat").read_text().split()[0])
        times[name] = times.get(name, 0.0) + ns / 1e9
    return times


def status_kb(pid: int, key: str) -> int:
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise KeyError(key)


def wakeups(pid: int) -> int:
    """How often its threads gave up the CPU to wait for something."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def stop(process: subprocess.Popen[bytes], sig: int = signal.SIGTERM) -> None:
    if process.poll() is None:
        process.send_signal(sig)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def running(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        stop(process)


@contextlib.contextmanager
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A job that does nothing, so that only its watchers are measured."""
    with running(["sleep", "86400"]) as process:
        yield process


@contextlib.contextmanager
def recorder(
    context: Context, interval: str, job: Sequence[str] = ("sleep", "86400")
) -> Iterator[tuple[subprocess.Popen[bytes], pathlib.Path]]:
    """Footplate recording a job; gives its process and its folder of runs. Ending it with SIGTERM
    ends the job."""
    with tempfile.TemporaryDirectory(dir=context.scratch) as folder:
        command = [context.footplate, "run", "--quiet", "--dir", folder, "--interval", interval]
        with running([*command, "--", *job]) as process:
            yield process, pathlib.Path(folder)


def node_json(folder: pathlib.Path) -> dict[str, object]:
    """node.json of the only run in a folder of runs."""
    (path,) = folder.glob("*/node-*/node.json")
    about: dict[str, object] = json.loads(path.read_text())
    return about
