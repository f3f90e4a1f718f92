# SPDX-License-Identifier: Apache-2.0
"""Roles by STS and conditional writes, against moto, which has both. It checks no signatures, as
Swift does. `make test-all` installs it (scripts/requirements-remote.txt)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from s3_requests import S3
from test_s3_stub import described, files

DEST = "s3://bucket/runs"
ROLE = "arn:aws:iam::123456789012:role/train"


@pytest.fixture(scope="module")
def moto(tmp_path_factory) -> Iterator[str]:
    program = Path(sys.executable).with_name("moto_server")
    if not program.exists():
        pytest.skip("moto is not installed in .venv")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    log = (tmp_path_factory.mktemp("moto") / "log").open("w")
    words = [program, "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(words, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while True:
            try:
                S3(url, "k", "s").make_bucket("bucket")
                break
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > until or server.poll() is not None:
                    raise
                time.sleep(0.3)
        yield url
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture
def env(moto, tmp_path) -> dict[str, str]:
    """Keys come from a role that a profile assumes."""
    (tmp_path / "config").write_text(
        f"[profile train]\nrole_arn = {ROLE}\nsource_profile = base\nregion = us-east-1\n"
    )
    (tmp_path / "credentials").write_text(
        "[base]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = base-secret\n"
    )
    clean = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    return clean | {
        "AWS_ENDPOINT_URL": moto,
        "AWS_PROFILE": "train",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "FOOTPLATE_NVML": "/nonexistent.so",
    }


def objects(url: str, run: str, prefix: str = "runs") -> dict[str, bytes]:
    s3, start = S3(url, "k", "s"), f"{prefix}/{run}/"
    return {k[len(start) :]: s3.get("bucket", k) for k in s3.keys("bucket", start)}


def test_a_run_is_pushed_and_read_by_a_role_that_a_profile_assumes(run_fp, moto, env, recorded):
    done = run_fp("push", recorded, DEST, env=env)
    assert done.returncode == 0, done.stderr
    assert objects(moto, recorded.name) == files(recorded)
    shown = run_fp("show", f"{DEST}/{recorded.name}", env=env)
    assert shown.returncode == 0 and "demo" in shown.stdout, shown.stderr


def test_a_run_is_pushed_with_the_token_of_a_pod(run_fp, moto, env, recorded, tmp_path):
    """Web identity, as on Kubernetes: the role is assumed with a file and without any keys."""
    (tmp_path / "token").write_text("eyJhbGciOiJub25lIn0.e30.")
    pod = {k: v for k, v in env.items() if k != "AWS_PROFILE"} | {
        "AWS_ROLE_ARN": ROLE,
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_REGION": "us-east-1",
    }
    done = run_fp("push", recorded, "s3://bucket/pod", env=pod)
    assert done.returncode == 0, done.stderr
    assert objects(moto, recorded.name, "pod") == files(recorded)
    (tmp_path / "token").unlink()
    assert run_fp("push", recorded, "s3://bucket/pod", env=pod).returncode != 0


def test_a_run_json_of_another_run_is_not_replaced(run_fp, moto, env, recorded, tmp_path):
    """The conditional write is refused with 412."""
    first = described(recorded, tmp_path / "a", id="first")
    assert run_fp("push", first, "s3://bucket/other", env=env).returncode == 0
    other = described(recorded, tmp_path / "b", start_ns=1)
    done = run_fp("push", other, "s3://bucket/other", env=env)
    assert done.returncode == 1 and "has another run called" in done.stderr
    there = objects(moto, recorded.name, "other")
    assert there["run.json"] == (first / "run.json").read_bytes()


def test_wrong_source_keys_are_one_sentence_without_them(run_fp, env, recorded, tmp_path):
    config = Path(env["AWS_CONFIG_FILE"])
    config.write_text(f"[profile train]\nrole_arn = {ROLE}\nsource_profile = nobody\n")
    done = run_fp("push", recorded, DEST, env=env)
    assert done.returncode != 0 and done.stderr.count("\n") == 1
    assert "no credentials in 'nobody'" in done.stderr and "base-secret" not in done.stderr
