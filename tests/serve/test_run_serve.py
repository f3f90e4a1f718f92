# SPDX-License-Identifier: Apache-2.0
"""A dashboard beside a recording: footplate run --serve."""

from __future__ import annotations

import http.client
import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

from servekit import wait_for


def record(footplate: Path, runs: Path, job: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [footplate, "run", "--serve", "--dir", runs, "--no-hooks", "--", "sh", "-c", job],
        env=os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"},
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stderr
    found = re.search(r"dashboard at http://127\.0\.0\.1:(\d+)/", process.stderr.readline())
    assert found
    return int(found[1])


def ask(port: int, path: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path)
    return json.loads(connection.getresponse().read())


def is_closed(port: int) -> bool:
    try:
        ask(port, "/api/v1/runs")
    except OSError:
        return True
    return False


def test_the_run_is_seen_while_it_goes_on_and_the_server_ends_with_it(
    footplate: Path, tmp_runs: Path
) -> None:
    process = record(footplate, tmp_runs, "read line; echo $line; exit 3", stdin=subprocess.PIPE)
    port = port_of(process)
    wait_for(lambda: ask(port, "/api/v1/runs"), "the run to be listed")
    assert ask(port, "/api/v1/runs")[0]["live"] is True
    out, said = process.communicate("done\n", timeout=30)
    assert process.returncode == 3 and out == "done\n"  # the job's own
    assert "Ctrl-C" not in said
    wait_for(lambda: is_closed(port), "the server to end")


def test_the_server_is_no_part_of_the_recorded_job(footplate: Path, tmp_runs: Path) -> None:
    process = record(footplate, tmp_runs, "sleep 1")
    port_of(process)
    process.communicate(timeout=30)  # ends though the server has not ended yet
    assert process.returncode == 0


def test_a_recorder_that_is_killed_takes_its_server_with_it(
    footplate: Path, tmp_runs: Path
) -> None:
    process = record(footplate, tmp_runs, "sleep 5", process_group=0)
    port = port_of(process)
    wait_for(lambda: ask(port, "/api/v1/runs"), "the run to be listed")
    process.kill()
    process.wait()
    wait_for(lambda: is_closed(port), "the server to end")


def test_at_a_terminal_it_stays_until_ctrl_c(footplate: Path, tmp_runs: Path) -> None:
    master, slave = pty.openpty()
    process = record(footplate, tmp_runs, "exit 4", stdin=slave)
    port = port_of(process)
    assert process.stderr
    while "press Ctrl-C" not in (line := process.stderr.readline()):
        assert line
    runs = wait_for(lambda: ask(port, "/api/v1/runs"), "the run to be listed")
    assert runs[0]["live"] is False
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 4
    wait_for(lambda: is_closed(port), "the server to end")
    os.close(master)
    os.close(slave)
