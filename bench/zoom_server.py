#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""zoom_server.py RUNS [--footplate PROGRAM]...: what the requests of one zoom cost the server.

Each request of the Nodes tab is asked alone, as browsers do, of windows that nothing was kept of.
CPU time is that of the whole server, all its threads, from before the request to after the answer:
unlike the time that passes it does not grow with the number of requests that wait for a core. The
clock runs from the request to the last byte of the answer; both cores of a small machine may work
on one. Each window is asked for three times, moved by a nanosecond, and the least counts: what
others do to the caches is not ours. --first asks each once, as a user does: what the page cache or
the processor's caches do not have yet is then in it. Several programs are asked in turns, the same
windows each."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import http.client
import json
import math
import pathlib
import random
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import procs
from bench_serve import wait_until_up

PIXELS = 1200  # of a chart in a window 1280 wide
MARGIN = 0.1  # that line charts ask for on each side
LINES = ("cpu.util", "net.rx", "net.tx", "gpu.util", "gpu.mem", "gpu.mem_used", "cpu.iowait")
TIMES = 3
WHAT = ("grid", "heatmap", "histograms", "timeline")
SHORTEST_S = 60.0
BUCKETS = (40, 240)  # samples in a summary
FITS = (1.05, 1.25)  # summaries in a column, from which on they are used: of regular blocks, of all


@dataclasses.dataclass(frozen=True)
class Window:
    start: int
    end: int

    @property
    def hours(self) -> float:
        return (self.end - self.start) / 3.6e12


@dataclasses.dataclass(frozen=True)
class Cost:
    """One request."""

    what: str
    window: Window
    cpu_ms: float
    clock_ms: float
    sent: int


class Asked:
    """A server and a run of it that has been looked at, so that its steps are known."""

    def __init__(self, pid: int, port: int) -> None:
        self.pid = pid
        self.encoding = "identity"
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.run = json.loads(self.get("/api/v1/runs"))[0]["run"]
        self.about: dict[str, Any] = json.loads(self.wait_for(self.path("")))
        self.encoding = "gzip"

    def path(self, rest: str) -> str:
        return f"/api/v1/runs/{self.run}{rest}"

    def wait_for(self, path: str) -> bytes:
        while not (body := self.get(path)):
            time.sleep(0.2)
        return body

    def get(self, path: str) -> bytes:
        """The body as it comes; empty when it is still being worked out."""
        self.connection.request("GET", path, headers={"Accept-Encoding": self.encoding})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status not in (200, 202):
            raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
        return body if answer.status == 200 else b""

    def whole(self) -> Window:
        return Window(self.about["start_ns"], self.about["end_ns"] or self.about["updated_ns"])

    def cost(self, what: str, w: Window, pixels: int, times: int) -> Cost:
        cpu, clock, sent = [], [], 0
        for i in range(times):
            moved = Window(w.start + i, w.end + i)
            path = self.path(question(self.about, what, moved, self.whole(), pixels))
            before, began = procs.cpu_seconds(self.pid), time.perf_counter()
            sent = len(self.get(path))
            clock.append((time.perf_counter() - began) * 1e3)
            cpu.append((procs.cpu_seconds(self.pid) - before) * 1e3)
        return Cost(what, w, min(cpu), min(clock), sent)


def lines(about: dict[str, Any]) -> list[str]:
    """What the line charts of the tab ask for: one line for each metric."""
    asks = []
    for m in about["metrics"]:
        if m["metric"] in LINES:
            only = m["entities"][0] if len(m["entities"]) == 1 else "*mean*"
            asks.append(f"{m['metric']}:{'total' if 'total' in m['entities'] else only}")
    return asks


def question(about: dict[str, Any], what: str, w: Window, whole: Window, pixels: int) -> str:
    """As web/src/views asks."""
    readings = -(-(w.end - w.start) // (about["interval_ms"] * 1_000_000))
    if what == "grid":
        more = int((w.end - w.start) * MARGIN)
        w = Window(max(w.start - more, whole.start), min(w.end + more, whole.end))
    span = f"from={w.start}&to={w.end}"
    columns = max(2, min(pixels, readings))
    asks = "".join(f"&metric={m}" for m in lines(about))
    return {
        "grid": f"/grid?{span}&points={columns}{asks}",
        "heatmap": f"/heatmap?{span}&columns={columns}",
        "histograms": f"/histograms?{span}",
        "timeline": f"/timeline?{span}&px={pixels}&detail=0",
    }[what]


def windows(whole: Window, interval_s: float, pixels: int, n: int) -> list[Window]:
    """From everything down to a minute, anywhere; half of them just too fine for a summary, which
    is where a query has most to do."""
    rng = random.Random(6)
    all_s = (whole.end - whole.start) / 1e9
    worst = [0.998 * fits * b * interval_s * pixels for b in BUCKETS for fits in FITS]
    lengths = [all_s * (SHORTEST_S / all_s) ** (i / n) for i in range(n)]
    lengths += [x for x in worst if x < all_s for _ in range(n // 4)]
    out = []
    for seconds in lengths:
        first = whole.start + int(rng.random() * (all_s - seconds) * 1e9)
        out.append(Window(first, first + int(seconds * 1e9)))
    return out


@contextlib.contextmanager
def asked(footplate: str, folder: pathlib.Path) -> Iterator[Asked]:
    command = [footplate, "serve", "--quiet", "--port", str(port := procs.free_port()), str(folder)]
    with procs.running(command) as server:
        wait_until_up(port)
        yield Asked(server.pid, port)


def measure(
    programs: Sequence[str],
    folder: pathlib.Path,
    n: int,
    pixels: int = PIXELS,
    times: int = TIMES,
) -> list[list[Cost]]:
    """Costs by program, in the same order for each."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(asked(p, folder)) for p in programs]
        time.sleep(1)  # what a first look at the list sets off ends
        for server in servers:
            server.connection.close()  # the first may have waited too long; it opens by itself
        about = servers[0].about
        costs: list[list[Cost]] = [[] for _ in servers]
        for w in windows(servers[0].whole(), about["interval_ms"] / 1e3, pixels, n):
            for what in WHAT:
                for server, mine in zip(servers, costs, strict=True):
                    mine.append(server.cost(what, w, pixels, times))
    return costs


def p99(values: Sequence[float]) -> float:
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def spread(values: Sequence[float]) -> str:
    return f"median {statistics.median(values):.1f}, p99 {p99(values):.1f}, most {max(values):.1f}"


def print_costs(what: str, costs: Sequence[Cost]) -> None:
    worst = sorted(costs, key=lambda c: -c.cpu_ms)[:3]
    hours = ", ".join(f"{c.window.hours:.3g} h" for c in worst)
    print(f"  {what:10} CPU ms: {spread([c.cpu_ms for c in costs])} (at {hours});", end=" ")
    print(f"clock ms: {spread([c.clock_ms for c in costs])};", end=" ")
    print(f"{max(c.sent for c in costs)} B at most")


def main() -> None:
    parser = argparse.ArgumentParser(description=re.sub(r"^\S+ .*?: ", "", __doc__ or ""))
    parser.add_argument("folder", type=pathlib.Path, metavar="RUNS", help="with one run in it")
    parser.add_argument("--footplate", action="append", metavar="PROGRAM")
    parser.add_argument("--windows", type=int, default=60)
    parser.add_argument("--pixels", type=int, default=PIXELS)
    parser.add_argument("--first", action="store_true", help="ask for each window once")
    ask = parser.parse_args()
    programs = ask.footplate or ["footplate"]
    times = 1 if ask.first else TIMES
    for program, costs in zip(
        programs, measure(programs, ask.folder, ask.windows, ask.pixels, times), strict=True
    ):
        print(program)
        for what in WHAT:
            print_costs(what, [c for c in costs if c.what == what])


if __name__ == "__main__":
    main()
