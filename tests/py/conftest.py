# SPDX-License-Identifier: Apache-2.0
"""Python processes with hooks, and what they say, read without a recorder.

FOOTPLATE_PYTHON names the folder that holds the built package, FOOTPLATE_RING_DUMP the program that
prints what a ring folder holds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pykit import ROOT, Event, Ring, plain_env, run_python


def _built(variable: str, default: str) -> Path:
    path = Path(os.environ.get(variable) or ROOT / default).absolute()
    if not path.exists():
        pytest.exit(f"{path} is missing: run `make build` first, or set {variable}", returncode=1)
    return path


@pytest.fixture(scope="session")
def package() -> Path:
    """The folder that holds the built package `footplate`."""
    return _built("FOOTPLATE_PYTHON", "build/release/python")


@pytest.fixture(scope="session")
def ring_dump() -> Path:
    """The program that prints what is in a ring folder."""
    return _built("FOOTPLATE_RING_DUMP", "build/gcc/tests/unit/ring/ring_dump")


@pytest.fixture(scope="session")
def pythons() -> dict[str, str]:
    """Every Python to be found here by "major.minor"; this one comes first."""
    found = {}
    homes = [*os.get_exec_path(), *sorted(Path.home().glob(".pyenv/versions/*/bin"))]
    names = [f"python{v}" for v in ("2.7", *(f"3.{minor}" for minor in range(6, 16)))]
    tried = [sys.executable, *(str(Path(home) / name) for home in homes for name in names)]
    for path in tried:
        if not os.access(path, os.X_OK):
            continue
        ask = [path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(ask, capture_output=True, text=True, env=plain_env(), timeout=60)
        if done.returncode == 0:
            found.setdefault(done.stdout.strip(), path)
    return found


@pytest.fixture
def ring(package: Path, ring_dump: Path) -> Iterator[Ring]:
    """A ring folder of this test's own."""
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="footplate-test-", dir=where))
    yield Ring(folder, package, ring_dump)
    shutil.rmtree(folder, ignore_errors=True)


RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def hooked(ring: Ring) -> RunPython:
    """hooked("-c", "..."): runs Python with hooks, as below `footplate run`.

    env=... adds variables, python=... chooses the interpreter; others go to subprocess.run.
    """

    def run(*args: str | Path, env: Mapping[str, str | None] | None = None, **more: Any):
        return run_python(*args, whole_env=ring.env(env), **more)

    return run


@pytest.fixture
def plain() -> RunPython:
    """The same without hooks."""

    def run(*args: str | Path, env: Mapping[str, str | None] | None = None, **more: Any):
        return run_python(*args, whole_env=plain_env(env), **more)

    return run


@pytest.fixture
def told(hooked: RunPython, ring: Ring) -> Callable[..., list[Event]]:
    """told(code): runs it with hooks; it must succeed in silence. Gives what it said by itself."""

    def run(code: str, **more: Any) -> list[Event]:
        done = hooked("-c", code, **more)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        own = ("hooks.loaded", "process.rank", "process.world_size", "process.local_rank")
        return [e for e in ring.events() if e["name"] not in own]

    return run
