# SPDX-License-Identifier: Apache-2.0
"""Clients that are slow, broken, many, or mean harm. Whatever they do, others are answered."""

from __future__ import annotations

import random
import socket
import threading
from pathlib import Path

import pytest
from servekit import CRASH_WORDS, Server, serving, wait_for

SECRET = "never told to anybody"


def alive(s: Server) -> bool:
    return s.ask("/api/v1/runs").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "/assets/../../secret",
        "/assets/..%2f..%2fsecret",
        "//etc/passwd",
        "/api/v1/runs/..",
        "/api/v1/runs/../stats",
        "/api/v1/runs/%2e%2e/stats",
        "/api/v1/runs/..%2fsecret-run/stats",
        "/api/v1/runs/%2fetc/stats",
        "/api/v1/runs/run-0%2f..%2f..%2fsecret-run/stats",
        "/api/v1/runs/./stats",
        "/api/v1/runs//stats",
        "/api/v1/compare?a=../secret-run&b=run-0",
        "/api/v1/compare?a=/etc/passwd&b=run-0",
    ],
)
def test_paths_never_leave_the_folders(server: Server, kept_runs: Path, path: str) -> None:
    (kept_runs.parent / "secret").write_text(SECRET)
    answer = server.get(path)
    assert answer.split()[1] in (b"400", b"404"), answer
    assert SECRET.encode() not in answer and b"root:" not in answer


BROKEN = [
    b"",
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    b"GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\nx",
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\nx",
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nx",
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\nx",
    b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"4000\r\n" + b"x" * 0x4000 + b"\r\n" * 20,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    bytes(range(256)) * 40,
]  # fmt: skip


@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_broken_requests_are_refused(server: Server, data: bytes) -> None:
    answer = server.raw(data)
    assert (
        answer == b""
        or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5", b"HTTP/1.0 "))
        or (b"200 OK" in answer.splitlines()[0] and b"run-0" not in answer)
    )
    assert alive(server)


def test_requests_with_random_changes_do_no_harm(server: Server) -> None:
    seed = (
        b"GET /api/v1/runs/run-0/series?metric=cpu.util&points=10&from=1 HTTP/1.1\r\n"
        b"Host: localhost\r\nAccept-Encoding: gzip\r\nCookie: footplate-1=x; a=b\r\n"
        b"Authorization: Bearer x\r\nOrigin: http://localhost\r\nContent-Length: 3\r\n\r\nabc"
    )
    rng = random.Random(20261115)
    for _ in range(300):
        data = bytearray(seed)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data))
            kind = rng.randrange(3)
            if kind == 0:
                data[at] = rng.randrange(256)
            elif kind == 1:
                del data[at : at + rng.randrange(1, 12)]
            else:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 12)))
        with server.socket() as s:
            s.sendall(data)
    assert alive(server)


def test_a_request_larger_than_allowed_is_refused(server: Server) -> None:
    exact = server.ask("/login", "POST", b"x" * 65536)
    assert exact.status == 400
    assert server.ask("/login", "POST", b"x" * 65537).status == 413


def open_many(s: Server, n: int, data: bytes) -> list[socket.socket]:
    sockets = []
    for _ in range(n):
        sock = s.socket()
        sock.sendall(data)
        sockets.append(sock)
    return sockets


def test_half_requests_and_silent_connections_keep_nobody_waiting(server: Server) -> None:
    silent = open_many(server, 150, b"")
    half = open_many(server, 150, b"GET /api/v1/runs HTTP/1.1\r\nHost: local")
    half += open_many(
        server, 50, b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab"
    )
    for _ in range(5):
        assert alive(server)
    for sock in silent + half:
        sock.close()
    wait_for(lambda: server.api("/status")["connections"] < 10, "the connections to be closed")


def test_clients_that_do_not_read_keep_nobody_waiting(server: Server) -> None:
    ask = b"GET /api/v1/runs/run-0/series?metric=cpu. HTTP/1.1\r\nHost: localhost\r\n\r\n"
    lazy = open_many(server, 100, ask * 20)
    for _ in range(5):
        assert alive(server)
    for sock in lazy:
        sock.close()


def test_clients_that_hang_up_at_once_leave_nothing_behind(server: Server) -> None:
    ask = b"GET /api/v1/runs/run-0/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for _ in range(300):
        with server.socket() as s:
            s.sendall(ask)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
    wait_for(lambda: server.api("/status")["connections"] < 10, "the connections to be closed")


@pytest.mark.parametrize("n", [127, 128, 129, 256])
def test_any_number_of_connections_is_answered_at_once(server: Server, n: int) -> None:
    """libmicrohttpd 0.9.75 with its internal epoll stalls when a multiple of 128 is ready."""
    ask = b"GET /api/v1/runs/run-0/stats HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sockets = [server.socket() for _ in range(n)]
    try:
        for _ in range(3):
            for sock in sockets:
                sock.sendall(ask)
            for sock in sockets:
                read_answer(sock)
    finally:
        for sock in sockets:
            sock.close()


def read_answer(sock: socket.socket) -> bytes:
    sock.settimeout(20)
    got = b""
    while b"\r\n\r\n" not in got:
        chunk = sock.recv(65536)
        assert chunk, got
        got += chunk
    head, body = got.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200"), head
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += sock.recv(65536)
    return body


def test_many_threads_ask_for_different_things(server: Server) -> None:
    failures: list[object] = []

    def ask(k: int) -> None:
        connection = server.connect()
        for i in range(20):
            run = f"run-{(i + k) % 3}"
            connection.request("GET", f"/api/v1/runs/{run}/series?metric=cpu.&points={i + 2}")
            response = connection.getresponse()
            if response.status != 200 or not response.read():
                failures.append((k, i, response.status))
        connection.close()

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_memory_stays_bounded_however_many_questions(footplate: Path, kept_runs: Path) -> None:
    with serving(footplate, kept_runs) as s:
        connection = s.connect()

        def ask_all(first: int, last: int) -> None:
            for points in range(first, last):
                path = f"/api/v1/runs/run-{points % 3}/series?metric=cpu.&points={points}"
                connection.request("GET", path)
                connection.getresponse().read()

        ask_all(1, 400)
        before = s.memory()
        ask_all(400, 1200)
        assert s.memory() < before + (150 << 20)  # the answers kept are at most 64 MiB
        connection.close()


def test_nothing_of_this_was_a_crash(server: Server) -> None:
    assert server.process.poll() is None
    assert CRASH_WORDS  # what the end of the server is searched for
    assert alive(server)
