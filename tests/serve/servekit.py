# SPDX-License-Identifier: Apache-2.0
"""A server of one test: started on a port of the kernel's, asked over loopback, ended by its id."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CRASH_WORDS = ("Sanitizer", "runtime error", "Assertion", "Fatal error")
START_S = 30


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 20) -> Any:
    """Polls until the condition holds and hands back what it returned."""
    until = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < until, f"waited {timeout_s} s in vain for {what}"
        time.sleep(0.02)
    return found


class Answer:
    """Status, headers and body of one answer."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """A `footplate serve` that runs."""

    def __init__(self, process: subprocess.Popen[str], line: str) -> None:
        self.process = process
        self.line = line
        found = re.search(r"dashboard at (https?)://(.*):(\d+)/", line)
        assert found, line
        self.scheme, self.host, self.port = found[1], found[2], int(found[3])

    def connect(self, timeout: float = 30) -> http.client.HTTPConnection:
        if self.scheme == "http":
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> Answer:
        """One request on a connection of its own; Content_Type becomes Content-Type."""
        connection = self.connect()
        try:
            named = {key.replace("_", "-"): value for key, value in headers.items()}
            connection.request(method, path, body=body, headers=named)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def api(self, path: str) -> Any:
        """The JSON of a GET that must succeed."""
        answer = self.ask("/api/v1" + path)
        assert answer.status == 200, answer.body
        return answer.json

    def error(self, path: str, status: int, **request: Any) -> str:
        """The sentence of a request that must fail with this status."""
        answer = self.ask(path, **request)
        assert answer.status == status, (answer.status, answer.body)
        return str(answer.json["error"])

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def raw(self, data: bytes, hang_up: bool = True) -> bytes:
        """What comes back for these bytes until the server closes; nothing more is sent."""
        got = b""
        with self.socket() as s:
            try:
                s.sendall(data)
                if hang_up:
                    s.shutdown(socket.SHUT_WR)
                while chunk := s.recv(65536):
                    got += chunk
            except OSError:
                pass
        return got

    def get(self, path: str, host: str = "localhost") -> bytes:
        """A request whose path and host go out letter by letter as they are given."""
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        return self.raw(head.encode(), hang_up=False)

    def memory(self) -> int:
        """Resident bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def sleeps(self) -> float:
        """CPU seconds so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")")[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stream:
    """A client of server-sent events."""

    def __init__(self, server: Server, path: str) -> None:
        self.connection = server.connect()
        self.connection.request("GET", "/api/v1" + path)
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.headers["Content-Type"] == "text/event-stream"

    def next(self, kind: str | None = None) -> tuple[str, Any]:
        """The next event, or the next of a kind."""
        name = ""
        while line := self.response.readline():
            word, _, rest = line.decode().rstrip("\n").partition(": ")
            if word == "event":
                name = rest
            elif word == "data" and kind in (None, name):
                return name, json.loads(rest)
        raise EOFError

    def close(self) -> None:
        self.connection.close()


def end(process: subprocess.Popen[str]) -> str:
    """Ends it as Ctrl-C does and checks that it ended well. Returns what it said."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert not any(word in said for word in CRASH_WORDS), said
    assert process.returncode == 0, (process.returncode, said)
    return said


def start(
    footplate: Path, *words: str | Path, env: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(footplate), "serve", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=8"} | (env or {}),
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stderr
    line = process.stderr.readline()
    while line and "dashboard at" not in line:
        line = process.stderr.readline()
    return line


@contextmanager
def serving(
    footplate: Path, *words: str | Path, env: dict[str, str] | None = None, port: str = "0"
) -> Iterator[Server]:
    """A server that answers as long as the block runs."""
    process = start(footplate, "--port", port, *words, env=env)
    try:
        line = first_line(process)
        assert line, "the server did not start"
        yield Server(process, line)
    except BaseException:
        process.kill()
        _, said = process.communicate()
        print(said)
        raise
    end(process)


def import_scene(footplate: Path, scene: Path, out: Path) -> Path:
    """A run of what the scene tells, in the folder `out`."""
    done = subprocess.run(
        [str(footplate), "import", str(scene), "-o", str(out)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return out
