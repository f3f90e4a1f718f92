# SPDX-License-Identifier: Apache-2.0
"""Requests a second that the dashboard's server answers, against nginx with the same bytes in a
file; and how long a list of a thousand runs and a first look at a day take."""

from __future__ import annotations

import contextlib
import grp
import http.client
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator

import procs
from harness import Context, Line, Result, Skipped, spread

GOAL = 20_000.0
GOAL_LIST_MS = 200.0
BODY = 60_000
CONNECTIONS = (16, 127, 128, 129, 256)
COMPARED = (16, 256)
THREADS = 2

NGINX = """daemon off;
user {user} {group};
worker_processes {threads};
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    default_type application/json;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


def get(port: int, path: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise Skipped(f"{path}: {answer.status} {body[:200]!r}")
    return body


def wait_until_up(port: int) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            http.client.HTTPConnection("127.0.0.1", port, timeout=5).connect()
            return
        except OSError:
            if time.monotonic() > until:
                raise Skipped(f"nothing listens on port {port}") from None
            time.sleep(0.05)


@contextlib.contextmanager
def serving(context: Context, folder: pathlib.Path) -> Iterator[int]:
    port = procs.free_port()
    command = [context.footplate, "serve", "--quiet", "--port", str(port), str(folder)]
    with procs.running(command):
        wait_until_up(port)
        yield port


@contextlib.contextmanager
def nginx(context: Context, body: bytes) -> Iterator[int]:
    port = procs.free_port()
    with tempfile.TemporaryDirectory(dir=context.scratch) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "series.json").write_bytes(body)
        conf = folder / "nginx.conf"
        user = pwd.getpwuid(os.getuid()).pw_name  # whose the folder is
        group = grp.getgrgid(os.getgid()).gr_name
        conf.write_text(
            NGINX.format(threads=THREADS, folder=folder, port=port, user=user, group=group)
        )
        with procs.running(["/usr/sbin/nginx", "-c", str(conf), "-p", name]):
            wait_until_up(port)
            yield port


def wrk(port: int, path: str, connections: int, seconds: int) -> float:
    """Requests a second; an answer that is no 200, or none at all, ends the bench."""
    command = ["wrk", f"-t{THREADS}", f"-c{connections}", f"-d{seconds}s"]
    done = subprocess.run(
        [*command, f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, check=True
    )
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    if not rate or "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise Skipped(done.stdout.strip()[-300:])
    return float(rate[1])


def question(port: int, run: str) -> str:
    """A series answer of about 60 kB."""
    path = f"/api/v1/runs/{run}/series?metric=gpu.util&points="
    points = 200
    for _ in range(6):
        points = max(2, round(points * BODY / len(get(port, f"{path}{points}"))))
    return f"{path}{points}"


def measure_rates(context: Context, result: Result, node: pathlib.Path, seconds: int) -> None:
    with serving(context, node) as port:
        path = question(port, node.name)
        body = get(port, path)
        ours = {n: wrk(port, path, n, seconds) for n in CONNECTIONS}
        memory = status_memory(port)
    with nginx(context, body) as port:
        theirs = {n: wrk(port, "/series.json", n, seconds) for n in COMPARED}
    for n in CONNECTIONS:
        goal = n in COMPARED
        result.lines.append(
            Line(
                f"a series answer of {len(body) / 1000:.0f} kB, {n} connections",
                ours[n],
                "req/s",
                goal=f"at least {GOAL:.0f}" if goal else "",
                met=ours[n] >= GOAL if goal else None,
                peer="nginx, a file" if goal else "",
                peer_value=theirs.get(n),
                ratio=ours[n] / theirs[n] if goal else None,
            )
        )
    result.lines.append(Line("resident memory of the server afterwards", memory, "MB"))


def status_memory(port: int) -> float:
    return float(json.loads(get(port, "/api/v1/status"))["memory_bytes"]) / 1e6


def measure_list(context: Context, result: Result, repeats: int) -> None:
    """A folder of a thousand runs, listed while something changes in it each time."""
    with tempfile.TemporaryDirectory(dir=context.scratch) as name:
        folder = pathlib.Path(name)
        subprocess.run(
            [context.footplate, "run", "-q", "--dir", name, "--name", "r", "--", "sleep", "1"],
            check=True,
        )
        first = next(folder.iterdir())
        for i in range(999):
            shutil.copytree(first, folder / f"copy-{i}")
        with serving(context, folder) as port:
            times = []
            for _ in range(repeats):
                time.sleep(0.6)  # so long a list counts as fresh
                begin = time.monotonic()
                get(port, "/api/v1/runs")
                times.append((time.monotonic() - begin) * 1e3)
    s = spread(times)
    result.lines.append(
        Line(
            "a list of 1000 runs, looked through anew",
            s.median,
            "ms",
            goal=f"at most {GOAL_LIST_MS:.0f}",
            met=s.median <= GOAL_LIST_MS,
            note=f"{s.low:.0f} to {s.high:.0f}",
        )
    )


def run(context: Context, result: Result) -> None:
    hours, seconds, repeats = (1.0, 2, 5) if context.quick else (24.0, 8, 15)
    measure_rates(context, result, context.node(hours), seconds)
    measure_list(context, result, repeats)
    result.notes.append(
        f"wrk with {THREADS} threads on the same machine: what it takes is missing to both servers"
    )
