# SPDX-License-Identifier: Apache-2.0
"""What the build says where something is missing: everything at once, and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from packagekit import ROOT, ordinary_user


def test_cmake_names_all_that_is_missing_in_one_message(tmp_path: Path) -> None:
    """An empty find root plays a machine without libraries and headers."""
    command = ["cmake", "-S", ROOT, "-B", tmp_path / "b", "-G", "Ninja", "-DFP_PYTHON=OFF"]
    empty = ["-DCMAKE_FIND_ROOT_PATH=/nonexistent", "-DCMAKE_C_COMPILER=no-such-cc"]
    modes = [f"-DCMAKE_FIND_ROOT_PATH_MODE_{what}=ONLY" for what in ("LIBRARY", "INCLUDE")]
    done = subprocess.run([*command, *empty, *modes], capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr.count("CMake Error") == 1
    for thing in (
        "a C compiler",
        "zstd.h",
        "xxhash.h",
        "jansson.h",
        "zlib.h",
        "yaml.h",
        "microhttpd.h",
    ):
        assert f"- {thing}" in done.stderr, done.stderr
    text = " ".join(done.stderr.split())
    assert "sudo apt-get install gcc libc6-dev libzstd-dev libxxhash-dev libjansson-dev" in text
    assert "sudo dnf install gcc libzstd-devel xxhash-devel jansson-devel" in text
    assert "conda install -c conda-forge c-compiler zstd xxhash jansson" in text


def test_setup_without_root_says_what_to_ask_for_and_offers_the_wheel() -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, to run it as a user that is nobody")
    with ordinary_user() as user:
        tools = user.home / "bin"
        tools.mkdir()
        # All but what the build needs, and no sudo.
        for name in (
            "bash",
            "env",
            "id",
            "dirname",
            "grep",
            "sed",
            "cat",
            "apt-get",
            "python3",
            "gcc",
        ):
            (tools / name).symlink_to(shutil.which(name) or name)
        (user.home / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/setup.sh", user.home / "scripts")
        done = user.run(
            *("/bin/bash", user.home / "scripts/setup.sh", "build"),
            env=user.env | {"PATH": str(tools)},
        )
    assert done.returncode == 1
    assert "Ask an administrator" in done.stderr
    assert "apt-get install --no-install-recommends cmake ninja-build" in done.stderr
    assert "pip install footplate-*.whl" in done.stderr
