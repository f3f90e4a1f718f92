# SPDX-License-Identifier: Apache-2.0
"""A hub of one test file: over TLS, with a certificate of its own and a token for each right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from servekit import Server, serving  # noqa: E402

RIGHTS = ("read", "control", "write")


@dataclass
class Hub:
    """`runs` is its folder of runs, `folder` has the certificate and a file for each token."""

    server: Server
    runs: Path
    folder: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.port}"

    def env(self, cache: Path, right: str = "read") -> dict[str, str]:
        """Of somebody who reads with a token of this right."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("FOOTPLATE_T")}
        return clean | {
            "FOOTPLATE_CA": str(self.folder / "cert.pem"),
            "FOOTPLATE_TOKEN_FILE": str(self.folder / right),
            "XDG_CACHE_HOME": str(cache),
            "FOOTPLATE_NVML": "/nonexistent.so",
        }

    def push(self, footplate: Path, run: Path) -> str:
        """Its address there."""
        words = ["--token-file", self.folder / "write", "--ca", self.folder / "cert.pem", "--quiet"]
        subprocess.run([footplate, "push", run, self.url, *words], check=True, timeout=60)
        return f"{self.url}/{run.name}"


def make_certificate(folder: Path) -> list[str]:
    """A self-signed one; the options of `serve` for it."""
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make a certificate with")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    words += ["-nodes", "-days", "2", "-subj", "/CN=hub", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*words, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return ["--tls-cert", cert, "--tls-key", key]


def token_of(right: str) -> str:
    return f"{right}-token-0123456789"


def make_tokens(folder: Path) -> Path:
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{r} {token_of(r)} name={r}\n" for r in RIGHTS))
    tokens.chmod(0o600)
    for right in RIGHTS:
        (folder / right).write_text(token_of(right) + "\n")
        (folder / right).chmod(0o600)
    return tokens


@contextmanager
def running(footplate: Path, folder: Path) -> Iterator[Hub]:
    runs = folder / "runs"
    words = ["--receive", "--token-file", make_tokens(folder), *make_certificate(folder)]
    with serving(footplate, runs, "--api-only", *words) as server:
        yield Hub(server, runs, folder)
