# SPDX-License-Identifier: Apache-2.0
"""`pip install .` in a fresh environment gives a program that finds its hooks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pykit import ROOT, plain_env

pytestmark = pytest.mark.slow

INSTALL_S = 580
FETCH_S = 60


def call(*command: str | Path, **more) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "timeout": 60, "env": plain_env()}
    return subprocess.run([*map(str, command)], **(options | more))


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with nothing but what `pip install .` put there."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    made = call(python, "-m", "venv", folder)
    if made.returncode:
        pytest.skip(f"{python} cannot make an environment: {made.stderr.strip()[-200:]}")
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    fetched = call(
        *pip, "download", "-q", "-d", folder / "got", "scikit-build-core", timeout=FETCH_S
    )
    if fetched.returncode:
        pytest.skip(f"pip cannot fetch scikit-build-core: {fetched.stderr.strip()[-200:]}")
    env = plain_env({"CMAKE_BUILD_PARALLEL_LEVEL": "2"})
    done = call(*pip, "install", "-q", ROOT, timeout=INSTALL_S, env=env, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_program_is_on_the_path_and_python_runs_it(venv):
    program = call(venv / "bin" / "footplate", "--version")
    module = call(venv / "bin" / "python", "-m", "footplate", "--version")
    assert program.returncode == module.returncode == 0
    assert program.stdout == module.stdout and "0.1.0" in program.stdout
    refused = call(venv / "bin" / "python", "-m", "footplate", "no-such-command")
    assert refused.returncode == 2


def test_the_package_needs_nothing_and_is_whole(venv):
    shown = call(venv / "bin" / "python", "-m", "pip", "show", "-f", "footplate").stdout
    assert "Requires: \n" in shown or "Requires:\n" in shown
    assert "License: Apache-2.0" in shown
    files = [line.strip() for line in shown.partition("Files:")[2].splitlines()]
    for name in (
        "_core.abi3.so",
        "_query.abi3.so",
        "analysis/run.py",
        "py.typed",
        "_bootstrap/sitecustomize.py",
        "hooks/__init__.py",
    ):
        assert any(f == f"footplate/{name}" for f in files), name
    outside = [f for f in files if f and not f.startswith(("footplate/", "footplate-"))]
    assert all(f.endswith("bin/footplate") for f in outside), outside
    assert any(f.endswith("bin/footplate") for f in outside)
    alone = call(venv / "bin" / "python", "-c", "import footplate; print(footplate.enabled())")
    assert (alone.stdout, alone.stderr) == ("False\n", "")
    code = "import footplate; print(footplate.open('x', dir='/nowhere'))"
    asked = call(venv / "bin" / "python", "-c", code)
    assert asked.returncode and "RunError" in asked.stderr and "Import" not in asked.stderr


def test_the_installed_program_hooks_the_python_beside_it(venv, tmp_path):
    code = "import footplate; print(footplate.enabled(), footplate.__file__)"
    done = call(
        *(venv / "bin" / "footplate", "run", "--quiet", "--dir", tmp_path, "--"),
        *(venv / "bin" / "python", "-c", code),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True ") and "site-packages" in done.stdout


def test_the_installed_program_hooks_another_python(venv, tmp_path, pythons):
    code = "import footplate; print(footplate.enabled(), footplate.__file__)"
    new = [p for v, p in pythons.items() if tuple(map(int, v.split("."))) >= (3, 10)]
    for python in new:
        done = call(
            *(venv / "bin" / "footplate", "run", "--quiet", "--dir", tmp_path, "--"),
            *(python, "-c", code),
        )
        assert done.stdout.startswith("True ") and f"{venv}/lib" in done.stdout


def test_it_can_be_taken_away_without_a_trace(venv):
    """Last: what was installed goes."""
    done = call(venv / "bin" / "python", "-m", "pip", "uninstall", "-q", "-y", "footplate")
    assert done.returncode == 0, done.stderr
    assert [p for p in venv.rglob("*") if "footplate" in str(p)[len(str(venv)) :]] == []
