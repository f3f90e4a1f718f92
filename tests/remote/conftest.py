# SPDX-License-Identifier: Apache-2.0
"""Servers that speak S3, a hub, and runs to send to them."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.error
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hub_server
import pytest
import s3_stub
import swift_server
from hub_server import Hub
from s3_requests import S3, environment

ROOT = Path(__file__).resolve().parents[2]


Fp = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def stub() -> Iterator[s3_stub.Stub]:
    found, server = s3_stub.start()
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def stub_env(stub, tmp_path) -> dict[str, str]:
    return environment(stub.url, "AKID-OF-TEST", "very-secret-key", tmp_path / "cache")


def make_bucket(s3: S3) -> None:
    """The servers behind the proxy may need a moment longer than it."""
    until = time.monotonic() + 30
    while True:
        try:
            return s3.make_bucket("bucket")
        except urllib.error.HTTPError as e:
            if e.code != 503 or time.monotonic() > until:
                raise
            time.sleep(0.5)


@pytest.fixture(scope="session")
def swift(tmp_path_factory) -> Iterator[swift_server.Swift]:
    why = swift_server.missing()
    if why:
        pytest.skip(why)
    server = swift_server.Swift(tmp_path_factory.mktemp("swift"))
    try:
        server.start()
        make_bucket(S3(server.url, server.KEY, server.SECRET))
        yield server
    finally:
        server.stop()


@pytest.fixture
def swift_env(swift, tmp_path) -> dict[str, str]:
    return environment(swift.url, swift.KEY, swift.SECRET, tmp_path / "cache")


@pytest.fixture(scope="session")
def recorded(footplate, tmp_path_factory) -> Path:
    """A run of about two seconds that has ended, with a file of saved tensors."""
    runs = tmp_path_factory.mktemp("recorded")
    job = "i=0; while [ $i -lt 10 ]; do i=$((i+1)); timeout 0.05 sh -c 'while :; do :; done'; done"
    done = subprocess.run(
        [footplate, "run", "--dir", runs, "--name", "demo", "--interval", "20ms"]
        + ["--", "sh", "-c", job + "; sleep 1"],
        env=os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    run = next(x for x in runs.iterdir() if x.name.startswith("demo"))
    node = next(run.glob("node-*"))
    with zipfile.ZipFile(node / "tensors-0-5-42-0.npz", "w") as archive:
        archive.writestr("fc.weight.npy", os.urandom(300_000))
    return run


@pytest.fixture(scope="module")
def hub(footplate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """One that the tests of a file share."""
    with hub_server.running(footplate, tmp_path_factory.mktemp("hub")) as found:
        yield found
