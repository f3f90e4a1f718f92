# SPDX-License-Identifier: Apache-2.0
"""Every command prints the same for a local run, for the same run on S3, and on a hub."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import s3_stub
from hub_server import Hub
from s3_requests import environment
from same_output import FORTY, RUNS, RunFp, copy_runs, output_of

DEST = "s3://bucket/team/runs"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_runs(tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="module")
def on_s3(footplate, local, tmp_path_factory) -> Iterator[dict[str, str]]:
    """The environment to read them with."""
    stub, server = s3_stub.start()
    env = environment(stub.url, "AKID-OF-TEST", "very-secret-key", tmp_path_factory.mktemp("cache"))
    for name in RUNS:
        words = [footplate, "push", local / name, DEST, "--quiet"]
        subprocess.run(words, env=env, check=True, timeout=60)
    yield env
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def on_hub(footplate, local, hub: Hub, tmp_path_factory) -> dict[str, str]:
    for name in RUNS:
        hub.push(footplate, local / name)
    return hub.env(tmp_path_factory.mktemp("cache"))


def test_there_are_forty_of_them() -> None:
    assert len(set(FORTY)) == 40


@pytest.mark.parametrize("line", FORTY)
def test_a_command_prints_the_same_here_on_s3_and_on_a_hub(
    run_fp: RunFp, local, on_s3, on_hub, hub: Hub, tmp_path, line
):
    here = output_of(run_fp, line, str(local), tmp_path / "out", on_hub)
    assert here[1] or here[3], f"the command has no output: {here}"
    assert here[0] == 0, here[2]
    assert output_of(run_fp, line, DEST, tmp_path / "out", on_s3) == here
    assert output_of(run_fp, line, hub.url, tmp_path / "out", on_hub) == here
