# SPDX-License-Identifier: Apache-2.0
"""A hub on one core: synthetic nodes that each send a part every two seconds over a connection of
their own, and where that ends; and a real recorder: the lag of its run on the hub, and what the
process that sends it costs."""

from __future__ import annotations

import contextlib
import dataclasses
import heapq
import json
import os
import pathlib
import selectors
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator

import procs
from harness import Context, Line, Result, Skipped

TOKEN = "write-token-of-the-hub-bench"
NODES = (1000, 2000, 4000)  # the server takes 4096 connections
PERIOD_S = 2.0
PART = 5000  # bytes that a node with 244 series at 100 ms has new every 2 s
GOAL_NODES = 1000
GOAL_LAG_S = 2.0
GOAL_SHIPPER = 0.001  # of a core
GOAL_SHIPPER_MB = 20.0


@contextlib.contextmanager
def hub(context: Context, folder: pathlib.Path) -> Iterator[tuple[int, int]]:
    """A hub that only has the first core; gives its port and process id."""
    tokens = folder / "tokens"
    tokens.write_text(f"write {TOKEN} name=bench\nread read-token-of-the-hub-bench\n")
    tokens.chmod(0o600)
    port = procs.free_port()
    command = [context.footplate, "serve", "--quiet", "--api-only", "--port", str(port)]
    command += ["--receive", "--token-file", str(tokens), str(folder / "hub")]
    with procs.running(["taskset", "-c", "0", *command]) as process:
        until = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                if time.monotonic() > until:
                    raise Skipped("the hub does not start") from None
                time.sleep(0.05)
        yield port, process.pid


def head_of_a_file(context: Context, folder: pathlib.Path) -> tuple[bytes, bytes]:
    """run.json of a recorded run, and the 64 bytes that its file of readings begins with."""
    command = [context.footplate, "run", "--quiet", "--dir", str(folder / "one"), "--", "true"]
    subprocess.run(command, check=True, capture_output=True)
    (run,) = (folder / "one").iterdir()
    (file,) = run.glob("node-*/metrics.fp")
    return (run / "run.json").read_bytes(), file.read_bytes()[:64]


@dataclasses.dataclass
class Node:
    socket: socket.socket
    name: str
    size: int = 0
    sent_at: float = 0.0
    waits: bool = False


class Load:
    """Nodes over keep-alive connections. All is in one thread: what it sends is precomputed."""

    def __init__(self, port: int, head: bytes, n: int) -> None:
        self.head, self.file_id = head, head[40:56].hex()
        self.data = os.urandom(PART)
        self.waiting = selectors.DefaultSelector()
        self.latency: list[float] = []
        self.late = 0  # parts that were due while the part before was not answered
        self.refused: dict[str, int] = {}
        self.nodes = []
        for i in range(n):
            s = socket.create_connection(("127.0.0.1", port), timeout=30)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            node = Node(s, f"n{i}")
            self.nodes.append(node)
            self.waiting.register(s, selectors.EVENT_READ, node)

    def send(self, node: Node) -> None:
        body = self.head + self.data[64:] if node.size == 0 else self.data
        request = (
            f"PATCH /api/v1/ingest/bench/node-{node.name}/metrics.fp HTTP/1.1\r\n"
            f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Type: application/partial-upload\r\n"
            f"Upload-Offset: {node.size}\r\nFootplate-File: {self.file_id}\r\n"
            f"Footplate-Control: 2\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        node.waits, node.sent_at = True, time.monotonic()
        node.socket.sendall(request.encode() + body)

    def receive(self, node: Node) -> None:
        answer = node.socket.recv(4096)
        status = answer[9:12].decode() if answer else "closed"
        node.waits = False
        if status == "204":
            self.latency.append(time.monotonic() - node.sent_at)
            node.size += PART
        else:
            self.refused[status] = self.refused.get(status, 0) + 1
        if not answer:
            self.waiting.unregister(node.socket)
            node.waits = True  # nothing more comes of it

    def run(self, seconds: float) -> None:
        begin = time.monotonic()
        n = len(self.nodes)
        due = [(begin + PERIOD_S * i / n, i) for i in range(n)]  # spread over the period
        while (now := time.monotonic()) < begin + seconds:
            while due and due[0][0] <= now:
                at, i = heapq.heappop(due)
                heapq.heappush(due, (at + PERIOD_S, i))
                if self.nodes[i].waits:
                    self.late += 1
                else:
                    self.send(self.nodes[i])
            for key, _ in self.waiting.select(max(0.0, due[0][0] - time.monotonic())):
                self.receive(key.data)
        end = time.monotonic() + 10
        while any(x.waits for x in self.nodes) and time.monotonic() < end:
            for key, _ in self.waiting.select(0.1):
                self.receive(key.data)

    def close(self) -> None:
        for node in self.nodes:
            node.socket.close()


def put_run(port: int, about: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        head = (
            "PUT /api/v1/ingest/bench/run.json HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(about)}\r\n\r\n"
        )
        s.sendall(head.encode() + about)
        if s.recv(4096)[9:12] != b"201":
            raise Skipped("the hub refused the run")


def measure_nodes(context: Context, result: Result, n: int, seconds: float) -> bool:
    """Whether the hub kept up."""
    with tempfile.TemporaryDirectory(dir=context.scratch) as name:
        folder = pathlib.Path(name)
        about, head = head_of_a_file(context, folder)
        with hub(context, folder) as (port, pid):
            put_run(port, about)
            load = Load(port, head, n)
            try:
                cpu, wall = procs.cpu_seconds(pid), time.monotonic()
                load.run(seconds)
                share = (procs.cpu_seconds(pid) - cpu) / (time.monotonic() - wall)
                memory_mb = procs.status_kb(pid, "VmHWM") / 1024
            finally:
                load.close()
        sent = sum(x.size for x in load.nodes)
        arrived = sum(f.stat().st_size for f in (folder / "hub").glob("bench/node-*/metrics.fp"))
    expected = n * int(seconds / PERIOD_S)
    kept_up = sent == arrived and not load.refused and load.late <= expected / 1000
    p99 = statistics.quantiles(load.latency, n=100)[98] if len(load.latency) > 100 else float("nan")
    goal = n == GOAL_NODES
    result.lines += [
        Line(
            f"{n} nodes: share of the hub's core",
            100 * share,
            "%",
            "100" if goal else "",
            kept_up if goal else None,
            "the core",
            100.0,
            1 / share if share else None,
            note=f"{len(load.latency) / seconds:.0f} parts/s of {PART} B, "
            f"sent {sent} B, arrived {arrived} B, late {load.late}, refused {load.refused or 0}",
        ),
        Line(f"{n} nodes: p99 of an upload", 1000 * p99, "ms"),
        Line(f"{n} nodes: peak memory of the hub", memory_mb, "MB"),
    ]
    return kept_up


def shipper() -> int:
    """The process that has libcurl and the token of this bench."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (
                TOKEN.encode() in (folder / "environ").read_bytes()
                and b"libcurl" in (folder / "maps").read_bytes()
            ):
                return int(folder.name)
    raise Skipped("no process sends the run (libcurl is missing?)")


def newest_ns(context: Context, run: pathlib.Path) -> int:
    command = [context.footplate, "show", str(run), "--json"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    updated: int = json.loads(shown)["updated_ns"]
    return updated


def measure_recorder(context: Context, result: Result, seconds: float) -> None:
    with tempfile.TemporaryDirectory(dir=context.scratch) as name:
        folder = pathlib.Path(name)
        with hub(context, folder) as (port, _):
            command = [context.footplate, "run", "--quiet", "--dir", str(folder / "runs")]
            command += ["-i", "100ms", "--to", f"http://127.0.0.1:{port}", "--", "sleep", "86400"]
            with procs.running(["env", f"FOOTPLATE_TOKEN={TOKEN}", *command]):
                until = time.monotonic() + 30
                while not (there := list((folder / "hub").glob("*/node-*/metrics.tail"))):
                    if time.monotonic() > until:
                        raise Skipped("the run does not arrive")
                    time.sleep(0.1)
                run = there[0].parent.parent
                pid = shipper()
                time.sleep(5)
                cpu, wall, lags = procs.cpu_seconds(pid), time.monotonic(), []
                while time.monotonic() < wall + seconds:
                    lags.append((time.time_ns() - newest_ns(context, run)) / 1e9)
                    time.sleep(0.37)  # drifts over the interval of the uploads
                share = (procs.cpu_seconds(pid) - cpu) / (time.monotonic() - wall)
                memory_mb = procs.status_kb(pid, "VmRSS") / 1024
                written = there[0].stat().st_size
    lag = statistics.median(lags)
    result.lines += [
        Line("lag of a run on the hub, median", lag, "s", f"{GOAL_LAG_S:g}", lag <= GOAL_LAG_S,
             note=f"{len(lags)} looks, largest {max(lags):.2f} s"),
        Line("shipper: share of a core", 100 * share, "%", f"{100 * GOAL_SHIPPER:g}",
             share <= GOAL_SHIPPER, note=f"recording every 100 ms, tail of {written} B"),
        Line("shipper: resident memory", memory_mb, "MB", f"{GOAL_SHIPPER_MB:g}",
             memory_mb <= GOAL_SHIPPER_MB),
    ]  # fmt: skip


def run(context: Context, result: Result) -> None:
    seconds = 10.0 if context.quick else 20.0
    result.notes.append(
        f"nodes send {PART} B every {PERIOD_S:g} s for {seconds:g} s over loopback; the hub has "
        "one core, the load the other"
    )
    os.sched_setaffinity(0, set(range(1, os.cpu_count() or 1)) or {0})
    try:
        for n in NODES:
            if not measure_nodes(context, result, n, seconds):
                result.notes.append(f"it ends below {n} nodes")
                break
        else:
            result.notes.append(f"it did not end at {NODES[-1]}; 4096 connections are the limit")
    finally:
        os.sched_setaffinity(0, set(range(os.cpu_count() or 1)))
    measure_recorder(context, result, seconds)
