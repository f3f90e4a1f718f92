# SPDX-License-Identifier: Apache-2.0
"""CPU time of one full sample at 100 ms: stat, meminfo, net/dev, diskstats, pressure x 3, one
process. All contenders take turns, since the machine's speed changes by the minute."""

from __future__ import annotations

import contextlib
import http.client
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import procs
from harness import Context, Line, Result, Spread, spread

PERIOD_S = 0.1
DISK_THREAD = "fp-disk"  # Footplate's thread that writes once a second
SETTLE_S = 1.5  # start-up, left out of the measurement

# The job's control group: version 1 where it is the root one, and version 2.
GROUP_CPU_FILES = (
    "/sys/fs/cgroup/cpuacct/cpuacct.usage",
    "/sys/fs/cgroup/cpu/cpu.stat",
    "/sys/fs/cgroup/cpu.stat",
)
GROUP_FILES = (*GROUP_CPU_FILES, "/sys/fs/cgroup/memory/memory.usage_in_bytes")

Contender = Callable[[Context], contextlib.AbstractContextManager["subprocess.Popen[bytes]"]]


@contextlib.contextmanager
def footplate(context: Context) -> Iterator[subprocess.Popen[bytes]]:
    with procs.recorder(context, "100ms") as (process, _):
        yield process


def mini(every: int, files: Sequence[str] = ()) -> Contender:
    """The floor; with `files` also what else Footplate reads each time."""

    @contextlib.contextmanager
    def contender(context: Context) -> Iterator[subprocess.Popen[bytes]]:
        more = [path for path in files if context.readable(path)]
        with procs.sleeper() as job:
            command = [context.tool("miniagent"), "100", str(every), str(job.pid), *more]
            with procs.running(command) as process:
                yield process

    return contender


@contextlib.contextmanager
def psutil_loop(context: Context) -> Iterator[subprocess.Popen[bytes]]:
    script = str(context.tool_source("psutil_loop.py"))
    with (
        procs.sleeper() as job,
        procs.running([context.python, script, str(PERIOD_S), str(job.pid)]) as process,
    ):
        yield process


def _scrape(port: int, ended: threading.Event) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    due = time.monotonic()
    while not ended.is_set():
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/metrics")
            connection.getresponse().read()
        due += PERIOD_S
        ended.wait(max(0.0, due - time.monotonic()))


@contextlib.contextmanager
def node_exporter(context: Context) -> Iterator[subprocess.Popen[bytes]]:
    """Only the exporter's own CPU time counts, not that of whoever scrapes it."""
    port, ended = procs.free_port(), threading.Event()
    collectors = ("cpu", "meminfo", "netdev", "diskstats", "pressure")
    command = [
        "prometheus-node-exporter",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.disable-exporter-metrics",
        "--collector.disable-defaults",
        *(f"--collector.{name}" for name in collectors),
    ]
    with procs.running(command) as process:
        scraper = threading.Thread(target=_scrape, args=(port, ended))
        time.sleep(0.3)
        scraper.start()
        try:
            yield process
        finally:
            ended.set()
            scraper.join()


CONTENDERS: dict[str, Contender] = {
    "footplate": footplate,
    "miniagent": mini(1),
    "miniagent + cgroup": mini(1, GROUP_FILES),
    "empty wake-up": mini(0),
    "psutil": psutil_loop,
    "node-exporter": node_exporter,
}


def one_turn(contender: Contender, context: Context, seconds: float) -> tuple[float, float]:
    """Microseconds of CPU time per period, and how many of them are the disk thread's."""
    with contender(context) as process:
        time.sleep(SETTLE_S)
        disk = procs.thread_seconds(process.pid).get(DISK_THREAD, 0.0)
        cpu, wall = procs.cpu_seconds(process.pid), time.monotonic()
        time.sleep(seconds)
        cpu = procs.cpu_seconds(process.pid) - cpu
        wall = time.monotonic() - wall
        disk = procs.thread_seconds(process.pid).get(DISK_THREAD, 0.0) - disk
    periods = wall / PERIOD_S
    return cpu / periods * 1e6, disk / periods * 1e6


def measure(context: Context, rounds: int, seconds: float) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    times[DISK_THREAD] = []
    for _ in range(rounds):
        for name, contender in CONTENDERS.items():
            total, disk = one_turn(contender, context, seconds)
            times[name].append(total)
            if name == "footplate":
                times[DISK_THREAD].append(disk)
    return times


def ratio(times: dict[str, list[float]], over: str, under: str) -> Spread:
    """Turn by turn, so that what slows the machine for a while slows both."""
    return spread([a / b for a, b in zip(times[over], times[under], strict=True)])


def run(context: Context, result: Result) -> None:
    rounds, seconds = (3, 4.0) if context.quick else (5, 8.0)
    times = measure(context, rounds, seconds)
    us = {name: spread(values) for name, values in times.items()}
    floor = ratio(times, "footplate", "miniagent")
    python = ratio(times, "psutil", "footplate")
    exporter = ratio(times, "node-exporter", "footplate")
    ours = us["footplate"].median

    def line(peer: str, goal: str, value: float, met: bool | None) -> Line:
        return Line("CPU per sample", ours, "us", goal, met, peer, us[peer].median, value)

    result.lines += [
        line("miniagent", "at most 1.25 x", floor.median, floor.median <= 1.25),
        line("psutil", "at least 3.5 x below", python.median, python.median >= 3.5),
        line("node-exporter", "at least 10 x below", exporter.median, exporter.median >= 10),
        line(
            "miniagent + cgroup", "", ratio(times, "footplate", "miniagent + cgroup").median, None
        ),
        line("empty wake-up", "", ratio(times, "footplate", "empty wake-up").median, None),
    ]
    result.notes += [
        f"medians of {rounds} rounds of {seconds:g} s each, in turns; ratios are medians of the "
        f"rounds' ratios: to the floor {floor.low:.2f} to {floor.high:.2f}",
        "footplate runs all its probes here and stores durably: beside what miniagent reads it "
        "reads the control group each time, looks for new processes, reads two files of the "
        "process and its own memory once or twice a second, and writes to disk once a second "
        f"({us[DISK_THREAD].median:.1f} us a sample in the thread that does that)",
    ]
    result.detail = {"us_per_sample": times}
