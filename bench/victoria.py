# SPDX-License-Identifier: Apache-2.0
"""VictoriaMetrics on loopback with a folder of its own, given the synthetic node."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import pathlib
import subprocess
import time
import urllib.parse
from collections.abc import Iterator

import procs
from harness import Context, Skipped

SERIES = 104
CORES = 96


@dataclasses.dataclass
class Victoria:
    port: int
    folder: pathlib.Path
    process: subprocess.Popen[bytes]

    def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"victoria-metrics: {path}: {answer.status} {text[:200]!r}")
        return text

    def flush(self) -> None:
        """Everything to disk and merged as far as it will ever be."""
        self.ask("GET", "/internal/force_flush")
        self.ask("GET", "/internal/force_merge")
        for _ in range(60):  # the merge goes on in the background
            before = self.size()
            time.sleep(1)
            if self.size() == before:
                return

    def size(self) -> int:
        data = self.folder / "data"
        total = 0
        for path in data.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                total += path.stat().st_size if path.is_file() else 0
        return total

    def query_range(self, start: float, end: float, points: int) -> int:
        """Length of the answer for all series of the window."""
        ask = urllib.parse.urlencode(
            {
                "query": '{__name__=~"cpu_util|gpu_util"}',
                "start": f"{start:.3f}",
                "end": f"{end:.3f}",
                "step": f"{(end - start) / points:.3f}s",
                "nocache": "1",
            }
        )
        return len(self.ask("GET", f"/api/v1/query_range?{ask}"))


@contextlib.contextmanager
def running(context: Context) -> Iterator[Victoria]:
    port = procs.free_port()
    folder = context.scratch / f"victoria-{port}"
    command = [
        "victoria-metrics",
        f"-httpListenAddr=127.0.0.1:{port}",
        f"-storageDataPath={folder}",
        "-retentionPeriod=100y",
        "-search.latencyOffset=0s",
        "-search.maxPointsPerTimeseries=100000",
        "-loggerLevel=ERROR",
    ]
    with procs.running(command) as process:
        server = Victoria(port, folder, process)
        for _ in range(100):
            with contextlib.suppress(OSError):
                server.ask("GET", "/health")
                break
            if process.poll() is not None:
                raise Skipped(f"victoria-metrics ended with status {process.returncode}")
            time.sleep(0.1)
        else:
            raise Skipped("victoria-metrics did not answer within 10 s")
        yield server


def name_of(series: int) -> dict[str, str]:
    core = series < CORES
    number = series if core else series - CORES
    return {"__name__": "cpu_util" if core else "gpu_util", "entity": str(number)}


def load(server: Victoria, cells: bytes, start_ms: int, period_ms: int = 100) -> float:
    """Imports the node and returns the seconds that the server took for it."""
    rows = len(cells) // SERIES
    stamps = json.dumps([start_ms + i * period_ms for i in range(rows)]).encode()
    seconds = 0.0
    for series in range(SERIES):
        values = json.dumps(list(cells[series * rows : (series + 1) * rows])).encode()
        metric = json.dumps(name_of(series)).encode()
        body = b'{"metric":' + metric + b',"values":' + values + b',"timestamps":' + stamps + b"}\n"
        begin = time.monotonic()
        server.ask("POST", "/api/v1/import", body)
        seconds += time.monotonic() - begin
    return seconds
