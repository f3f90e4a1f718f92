# SPDX-License-Identifier: Apache-2.0
"""Rules about the host over real programs: others on its cores, its storage, its memory."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from talk import SCRIPTS

SECONDS = 7
NAME = "grinder"  # of the busy neighbours
LIMIT = 48 << 20

Recorded = tuple[dict[str, dict], str]
Record = Callable[..., Recorded]


@pytest.fixture
def record(footplate: Path, package: Path, tmp_path: Path) -> Record:
    """record("memory"): its rules by name, and what `check` says of the finished run."""
    env = os.environ | {
        "FOOTPLATE_DIR": str(tmp_path / "runs"),
        "FOOTPLATE_HOOKS": str(package / "footplate" / "_bootstrap"),
        "FOOTPLATE_NVML": "/nonexistent.so",
        "XDG_RUNTIME_DIR": str(tmp_path),
        "PYTHONPATH": str(package),
    }

    def run(*words: object, options: tuple[str, ...] = (), **more: Any) -> Recorded:
        job = [sys.executable, str(SCRIPTS / "host_troubles.py"), *map(str, words)]
        done = subprocess.run(
            [str(footplate), "run", "--interval", "100ms", *options, "--", *job],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            **more,
        )
        assert done.returncode == 0, done.stderr
        (path,) = (tmp_path / "runs").glob("*/findings.json")
        check = [str(footplate), "check", str(path.parent), "--json"]
        again = subprocess.run(check, env=env, capture_output=True, text=True, timeout=60)
        rules = {r["rule"]: r for r in json.loads(path.read_text())["rules"]}
        return rules, again.stdout

    return run


@pytest.fixture
def neighbours(tmp_path: Path) -> Iterator[None]:
    """Busy programs with a name of their own, each in a session of its own."""
    (tmp_path / NAME).symlink_to("/bin/sh")
    loop = "while :; do :; done"
    jobs = [
        subprocess.Popen([str(tmp_path / NAME), "-c", loop, "secret"], start_new_session=True)
        for _ in range(3 * (os.cpu_count() or 1))
    ]
    yield
    for job in jobs:
        job.kill()
        job.wait()


def test_a_busy_neighbour_is_named_by_user_and_program(record, neighbours):
    rules, again = record("none", SECONDS)
    shared = rules["SharedMachine"]
    assert shared["state"] == "issue", shared
    (found,) = shared["findings"]
    user = pwd.getpwuid(os.geteuid()).pw_name
    assert f" {NAME} of {user} (" in found["message"], found
    assert json.dumps(found["message"])[1:-1] in again  # the finished run says the same
    assert "secret" not in again and "do :" not in again  # no arguments


def test_the_names_of_others_can_be_switched_off(record, neighbours):
    rules, again = record("none", SECONDS, options=("--no-other-processes",))
    (found,) = rules["SharedMachine"]["findings"]
    assert "mostly" not in found["message"], found
    assert NAME not in again


def test_a_loop_that_waits_for_storage_is_found(record, tmp_path):
    file = Path("/var/tmp") / f"footplate-test-{os.getpid()}"
    try:
        start = time.monotonic()
        fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        for _ in range(32):
            os.pwrite(fd, b"x" * 4096, 0)
            os.fsync(fd)
        os.close(fd)
        if time.monotonic() - start < 32 * 100e-6:
            pytest.skip("SKIPPED: syncing to /var/tmp takes no time here (a disk in memory)")
        if not Path("/proc/pressure/io").exists():
            pytest.skip("SKIPPED: this kernel has no pressure stall information")
        # A fast disk is waited for seldom: less pressure than by default is enough here.
        options = ("--set", "SlowStorage.io_threshold=3")
        rules, _ = record("storage", SECONDS, file, options=options)
    finally:
        file.unlink(missing_ok=True)
    rule = rules["SlowStorage"]
    assert rule["state"] == "issue", rule
    assert "waiting for data took" in rule["findings"][0]["message"]
    assert "local disk or in memory" in rule["findings"][0]["advice"]


def test_a_job_that_needs_more_memory_than_its_group_has_is_found(record, memory_group):
    if not Path("/proc/pressure/memory").exists():
        pytest.skip("SKIPPED: this kernel has no pressure stall information")
    file = Path("/var/tmp") / f"footplate-test-{os.getpid()}-scan"
    try:
        rules, _ = record("memory", SECONDS, file, preexec_fn=memory_group(LIMIT))
    finally:
        file.unlink(missing_ok=True)
    rule = rules["MemoryPressure"]
    assert rule["state"] == "issue", rule
    (found,) = rule["findings"]
    assert "tasks waited for memory for" in found["message"]
    assert "of its memory limit" in found["message"]
