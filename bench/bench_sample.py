# SPDX-License-Identifier: Apache-2.0
"""CPU time of one full sample at 100 ms: stat, meminfo, net/dev, diskstats, pressure x 3, one
process. All contenders take turns, since the machine's speed changes by the minute."""

from __future__ import annotations

import contextlib
import http.client
import statistics
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

Turns = dict[str, list[list[float]]]  # by contender: for each turn, the CPU time of each second
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


def one_turn(contender: Contender, context: Context, seconds: int) -> tuple[list[float], float]:
    """Microseconds of CPU time per period in each second, and the disk thread's share of them."""
    with contender(context) as process:
        time.sleep(SETTLE_S)
        disk = procs.thread_seconds(process.pid).get(DISK_THREAD, 0.0)
        shares = procs.cpu_by_window(process.pid, seconds)
        disk = procs.thread_seconds(process.pid).get(DISK_THREAD, 0.0) - disk
    return [share * PERIOD_S * 1e6 for share in shares], disk / seconds * PERIOD_S * 1e6


def measure(context: Context, rounds: int, seconds: int) -> tuple[Turns, list[float]]:
    turns: Turns = {name: [] for name in CONTENDERS}
    disk_us = []
    for _ in range(rounds):
        for name, contender in CONTENDERS.items():
            windows, disk = one_turn(contender, context, seconds)
            turns[name].append(windows)
            if name == "footplate":
                disk_us.append(disk)
    return turns, disk_us


def middle(turns: Turns, name: str) -> float:
    """Over all seconds of all turns."""
    return statistics.median(us for windows in turns[name] for us in windows)


def mean(turns: Turns, name: str) -> float:
    return statistics.fmean(us for windows in turns[name] for us in windows)


def ratios(turns: Turns, over: str, under: str) -> Spread:
    """Turn by turn, which shows how far they can be trusted."""
    pairs = zip(turns[over], turns[under], strict=True)
    return spread([statistics.median(a) / statistics.median(b) for a, b in pairs])


def run(context: Context, result: Result) -> None:
    rounds, seconds = (3, 4) if context.quick else (8, 6)
    turns, disk_us = measure(context, rounds, seconds)
    us = {name: middle(turns, name) for name in CONTENDERS}
    ours = us["footplate"]

    def line(peer: str, goal: str, value: float, met: bool | None) -> Line:
        return Line("CPU per sample", ours, "us", goal, met, peer, us[peer], value)

    floor = ours / us["miniagent"]
    python, exporter = us["psutil"] / ours, us["node-exporter"] / ours
    by_turn = ratios(turns, "footplate", "miniagent")
    result.lines += [
        line("miniagent", "at most 1.25 x", floor, floor <= 1.25),
        line("psutil", "at least 3.5 x below", python, python >= 3.5),
        line("node-exporter", "at least 10 x below", exporter, exporter >= 10),
        line("miniagent + cgroup", "", ours / us["miniagent + cgroup"], None),
        line("empty wake-up", "", ours / us["empty wake-up"], None),
    ]
    result.notes += [
        f"medians over the seconds of {rounds} turns of {seconds} s for each; from turn to turn "
        f"the ratio to miniagent is {by_turn.low:.2f} to {by_turn.high:.2f}",
        "means instead of medians: "
        + ", ".join(f"{name} {mean(turns, name):.0f} us" for name in CONTENDERS),
        "footplate runs all its probes here and stores durably: beside what miniagent reads it "
        "reads the control group each time, looks for new processes, reads two files of the "
        "process and its own memory once or twice a second, and writes to disk once a second "
        f"({statistics.median(disk_us):.1f} us a sample in the thread that does that)",
    ]
    result.detail = {"us_per_sample_each_second": turns, "disk_thread_us": disk_us}
