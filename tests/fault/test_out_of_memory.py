# SPDX-License-Identifier: Apache-2.0
"""A job that the kernel kills for lack of memory is said to, in a real control group."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

LIMIT = 256 << 20
HOG = """\
import time
held = []
time.sleep(1)
for _ in range(400):
    held.append(bytearray(b"x" * (2 << 20)))
    time.sleep(0.005)
"""


@pytest.mark.parametrize("child", [False, True])
def test_a_job_that_the_kernel_killed_for_lack_of_memory_is_said_to(
    footplate, tmp_path, memory_group, child
):
    hog = [sys.executable, "-S", "-c", HOG]
    job = ["sh", "-c", '"$@"; exit 1', "sh", *hog] if child else hog
    done = subprocess.run(
        [str(footplate), "run", "--dir", str(tmp_path), "--", *job],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=memory_group(LIMIT),
    )
    assert done.returncode == (1 if child else 137), done.stderr
    assert "the kernel killed a process of the job for lack of memory" in done.stderr, done.stderr
    (path,) = tmp_path.glob("*/findings.json")
    rules = {r["rule"]: r for r in json.loads(path.read_text())["rules"]}
    assert rules["FailedEarly"]["severity"] == "critical"
    assert "Use less memory" in rules["FailedEarly"]["findings"][0]["advice"]
