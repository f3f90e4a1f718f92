# SPDX-License-Identifier: Apache-2.0
"""Runs that go on: what a stream tells, and how many streams there may be."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from servekit import Server, Stream, serving, wait_for

LIMIT = 2000


@pytest.fixture
def living(footplate: Path, tmp_runs: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that goes on until the test ends."""
    process = subprocess.Popen(
        [footplate, "run", "--dir", tmp_runs, "--name", "living", "--interval", "100ms", "-q"]
        + ["--no-hooks", "--", "sleep", "60"],
        env=os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"},
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: list(tmp_runs.glob("*/node-*/metrics.*")), "the run to begin")
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    process.wait(20)


def test_the_list_has_the_findings_of_a_run_that_goes_on(
    footplate: Path, tmp_runs: Path, living: object
) -> None:
    with serving(footplate, tmp_runs) as s:
        assert s.api("/runs")[0]["findings"] is None
        wait_for(lambda: s.api("/runs")[0]["findings"], "findings in the list")
        run = s.api("/runs")[0]
        assert run["live"] and set(run["findings"]) == {"critical", "warning", "info", "evaluated"}


def test_a_stream_has_the_state_at_once_and_then_only_what_is_new(
    footplate: Path, tmp_runs: Path, living: object
) -> None:
    with serving(footplate, tmp_runs) as s:
        run = s.api("/runs")[0]["run"]
        stream = Stream(s, f"/runs/{run}/live?metric=cpu.util")
        kind, status = stream.next()
        assert kind == "status"
        assert status["live"] is True and status["status"] == "running"
        seen: dict[tuple[str, str], int] = {}
        total = 0
        for _ in range(4):
            for series in stream.next("samples")[1]["series"]:
                key = (series["node"], series["entity"])
                times = series["t_ns"]
                assert series["metric"] == "cpu.util" and len(times) == len(series["v"])
                assert times == sorted(times) and times[0] > seen.get(key, 0)
                seen[key] = times[-1]
                total += len(times)
        assert total > 0
        assert stream.next("status")[1]["version"] != status["version"]
        # Nothing was left out: what came is what the file has between the first and the last.
        entity = sorted(seen)[0][1]
        stored = s.api(f"/runs/{run}/series?metric=cpu.util&entity={entity}")[0]["t_ns"]
        assert max(seen.values()) in stored
        stream.close()


def test_the_end_of_a_run_is_told(
    footplate: Path, tmp_runs: Path, living: subprocess.Popen[bytes]
) -> None:
    with serving(footplate, tmp_runs) as s:
        run = s.api("/runs")[0]["run"]
        stream = Stream(s, f"/runs/{run}/live")
        assert stream.next("status")[1]["live"] is True
        living.send_signal(signal.SIGTERM)
        while (status := stream.next("status")[1])["live"]:
            pass
        assert status["status"] == "interrupted"
        assert s.api("/runs")[0]["live"] is False
        stream.close()


def test_new_findings_are_told(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs) as s:
        stream = Stream(s, "/runs/one/live")
        assert stream.next("status")[1]["live"] is False
        time.sleep(0.6)  # the first look is over
        (own_runs / "one" / "findings.json").write_text('{"rules": []}')
        assert stream.next("findings")[1] == {"changed": 1}
        stream.close()


def test_a_stream_of_no_run_is_refused(server: Server) -> None:
    assert "no run 'none'" in server.error("/api/v1/runs/none/live", 404)
    assert "unknown parameter" in server.error("/api/v1/runs/run-0/live?what=1", 400)
    many = "&".join(f"metric=m{i}" for i in range(33))
    assert "more than 32 metrics" in server.error(f"/api/v1/runs/run-0/live?{many}", 400)


def test_a_run_that_vanishes_ends_its_streams_only(footplate: Path, own_runs: Path) -> None:
    with serving(footplate, own_runs) as s:
        one, two = Stream(s, "/runs/one/live"), Stream(s, "/runs/two/live")
        assert one.next("status") and two.next("status")
        shutil.rmtree(own_runs / "one")
        last = one.next("status")[1]
        assert last["status"] is None and "was removed" in last["error"]
        with pytest.raises(EOFError):
            one.next()
        (own_runs / "two" / "findings.json").write_text('{"rules": []}')
        assert two.next("findings")
        two.close()


def open_stream(s: Server) -> socket.socket:
    sock = s.socket()
    sock.sendall(b"GET /api/v1/runs/run-0/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return sock


def status_of(sock: socket.socket) -> int:
    return int(sock.recv(64).split()[1])


def test_thousands_of_streams_come_and_go(footplate: Path, kept_runs: Path) -> None:
    with serving(footplate, kept_runs) as s:
        first = [open_stream(s) for _ in range(LIMIT)]
        assert {status_of(sock) for sock in first} == {200}
        assert s.api("/status")["clients"] == LIMIT
        memory = s.memory()
        one_more = open_stream(s)
        assert status_of(one_more) == 503
        one_more.close()
        for sock in first:
            sock.close()
        wait_for(lambda: s.api("/status")["clients"] == 0, "the streams to be given up")
        for _ in range(10):
            some = [open_stream(s) for _ in range(300)]
            assert {status_of(sock) for sock in some[::50]} == {200}
            for sock in some:
                sock.close()
            wait_for(lambda: s.api("/status")["clients"] < 300, "the streams to be given up")
        wait_for(lambda: s.api("/status")["clients"] == 0, "the streams to be given up")
        assert s.memory() < memory + (64 << 20)
        assert s.api("/runs/run-0/stats")


def test_a_server_ends_at_once_with_streams_open(footplate: Path, kept_runs: Path) -> None:
    with serving(footplate, kept_runs) as s:
        streams = [open_stream(s) for _ in range(200)]
        assert {status_of(sock) for sock in streams} == {200}
    for sock in streams:
        sock.close()
