# SPDX-License-Identifier: Apache-2.0
"""A run that was really recorded, for the commands that look at one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

# Twenty short bursts of work, then a pause: the CPU has something to show.
JOB = (
    "i=0; while [ $i -lt 20 ]; do i=$((i+1)); "
    "timeout 0.05 sh -c 'while :; do :; done'; done; sleep 1"
)


@pytest.fixture(scope="session")
def runs(footplate, tmp_path_factory) -> Path:
    """A folder with one real run of about two seconds, sampled every 100 ms."""
    folder = tmp_path_factory.mktemp("recorded")
    done = subprocess.run(
        [footplate, "run", "--name", "demo", "--interval", "100ms", "--", "sh", "-c", JOB],
        env=os.environ | {"FOOTPLATE_DIR": str(folder), "FOOTPLATE_NVML": "/nonexistent.so"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def fp(run_fp, runs):
    """Runs a command on the recorded runs; it must succeed. Returns its stdout."""

    def call(*words) -> str:
        done = run_fp(*words, env=os.environ | {"FOOTPLATE_DIR": str(runs)})
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    return call


@pytest.fixture
def refused(run_fp, runs):
    """Runs a command that must fail with one sentence and no output. Returns the sentence."""

    def call(*words) -> str:
        done = run_fp(*words, env=os.environ | {"FOOTPLATE_DIR": str(runs)})
        assert done.returncode in (1, 2) and done.stdout == ""
        assert done.stderr.startswith("footplate: ") and done.stderr.count("\n") == 1
        return done.stderr

    return call


@pytest.fixture(scope="session")
def job() -> str:
    """The script that was recorded."""
    return JOB
