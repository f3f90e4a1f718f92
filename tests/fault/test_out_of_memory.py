# SPDX-License-Identifier: Apache-2.0
"""A job that the kernel kills for lack of memory is said to, in a real control group."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

LIMIT = 256 << 20
GROUPS = [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")]
HOG = """\
import time
held = []
time.sleep(1)
for _ in range(400):
    held.append(bytearray(b"x" * (2 << 20)))
    time.sleep(0.005)
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with little memory; version 1 or 2."""
    for root in GROUPS:
        path = root / f"footplate-test-{os.getpid()}"
        limit = path / ("memory.limit_in_bytes" if root.name == "memory" else "memory.max")
        try:
            path.mkdir()
            limit.write_text(str(LIMIT))
            break
        except OSError:
            if path.is_dir():
                path.rmdir()
    else:
        pytest.skip("SKIPPED: this user may not make a control group with a memory limit")
    yield path
    path.rmdir()


def enter(group: Path) -> None:
    (group / "cgroup.procs").write_text("0")


@pytest.mark.parametrize("child", [False, True])
def test_a_job_that_the_kernel_killed_for_lack_of_memory_is_said_to(
    footplate, tmp_path, group, child
):
    hog = [sys.executable, "-S", "-c", HOG]
    job = ["sh", "-c", '"$@"; exit 1', "sh", *hog] if child else hog
    done = subprocess.run(
        [str(footplate), "run", "--dir", str(tmp_path), "--", *job],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: enter(group),
    )
    assert done.returncode == (1 if child else 137), done.stderr
    assert "the kernel killed a process of the job for lack of memory" in done.stderr, done.stderr
    (path,) = tmp_path.glob("*/findings.json")
    rules = {r["rule"]: r for r in json.loads(path.read_text())["rules"]}
    assert rules["FailedEarly"]["severity"] == "critical"
    assert "Use less memory" in rules["FailedEarly"]["findings"][0]["advice"]
