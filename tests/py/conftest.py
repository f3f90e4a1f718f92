# SPDX-License-Identifier: Apache-2.0
"""Python processes with hooks, and what they say, read without a recorder.

FOOTPLATE_PYTHON names the folder that holds the built package, FOOTPLATE_RING_DUMP the program that
prints what a ring folder holds.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from analysis_kit import frames, runs  # noqa: F401 - fixtures of test_analysis*.py
from pykit import ROOT, Done, Event, Nursery, Ring, new_ring, plain_env, run_python
from talk import need, torch_version


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
def api(package: Path) -> ModuleType:
    """The built package itself, imported late: to collect tests needs no build."""
    if str(package) not in sys.path:
        sys.path.insert(0, str(package))
    return importlib.import_module("footplate")


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
    with new_ring(package, ring_dump) as ring:
        yield ring


RunPython = Callable[..., Done]
Env = Mapping[str, str | None] | None


@pytest.fixture
def hooked(ring: Ring) -> RunPython:
    """hooked("-c", "..."): runs Python with hooks, as below `footplate run`.

    env=... adds variables, python=... chooses the interpreter; others go to subprocess.run.
    """

    def run(*args: str | Path, env: Env = None, **more: Any) -> Done:
        return run_python(*args, whole_env=ring.env(env), **more)

    return run


@pytest.fixture
def plain() -> RunPython:
    """The same without hooks."""

    def run(*args: str | Path, env: Env = None, **more: Any) -> Done:
        return run_python(*args, whole_env=plain_env(env), **more)

    return run


@pytest.fixture(scope="session")
def torch_nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Where torch is imported already."""
    need("torch")
    modules = ["torch", "torch.utils.data"]
    if torch_version() >= (2, 0):
        modules.append("torch._dynamo")
    nursery = Nursery(tmp_path_factory.mktemp("nursery"), *modules)
    yield nursery
    nursery.close()


@pytest.fixture
def torch_hooked(ring: Ring, torch_nursery: Nursery) -> RunPython:
    """As hooked, for a script or code that uses torch."""

    def run(*args: str | Path, env: Env = None, **more: Any) -> Done:
        return torch_nursery.run(*args, whole_env=ring.env(env), **more)

    return run


@pytest.fixture
def torch_plain(torch_nursery: Nursery) -> RunPython:
    """The same without hooks."""

    def run(*args: str | Path, env: Env = None, **more: Any) -> Done:
        return torch_nursery.run(*args, whole_env=plain_env(env), **more)

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
