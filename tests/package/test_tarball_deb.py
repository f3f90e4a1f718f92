# SPDX-License-Identifier: Apache-2.0
"""The tarball, the Debian packages and the sdist."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from packagekit import (
    GLIBC,
    elf_files,
    newest_glibc,
    ordinary_user,
    records_serves_and_reports,
    system_python,
    version,
)


def test_the_tarball_runs_where_it_is_unpacked_and_needs_an_old_glibc_only(tarball: Path) -> None:
    with ordinary_user() as user:
        user.must("tar", "xf", user.copy(tarball))
        [folder] = [p for p in user.home.iterdir() if p.is_dir()]
        assert folder.name == tarball.name.removesuffix(".tar.gz")
        files = elf_files(folder)
        assert {"footplate", "_core.abi3.so", "_query.abi3.so"} <= {f.name for f in files}
        assert {f.name: newest_glibc(f) for f in files if newest_glibc(f) > GLIBC} == {}
        for name in ("LICENSE", "NOTICE", "THIRD-PARTY-LICENSES.txt", "share/man/man1/footplate.1"):
            assert (folder / name).stat().st_size > 0
        records_serves_and_reports(user, folder / "bin/footplate", system_python())


@pytest.fixture(scope="module")
def unpacked_debs(debs: list[Path], user) -> Path:
    for deb in debs:
        user.must("dpkg", "-x", user.copy(deb), user.home / "root")
    return user.home / "root"


def test_lintian_has_nothing_to_say_about_the_debian_packages(debs: list[Path]) -> None:
    env = os.environ | {"LC_ALL": "C.UTF-8"}
    command = ["lintian", "--allow-root", "--fail-on", "error,warning", *debs]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_debian_packages_have_program_package_library_and_manual(unpacked_debs: Path) -> None:
    usr = unpacked_debs / "usr"
    for name in (
        "bin/footplate",
        "lib/python3/dist-packages/footplate/_core.abi3.so",
        "lib/python3/dist-packages/footplate/_bootstrap/sitecustomize.py",
        "share/man/man1/footplate.1.gz",
        "share/bash-completion/completions/footplate",
        "share/zsh/vendor-completions/_footplate",
        "share/doc/footplate/copyright",
        "include/footplate/emit.h",
    ):
        assert (usr / name).is_file(), name
    assert len(list(usr.glob("lib/*/libfootplate.so.0"))) == 1


def test_the_program_of_the_debian_package_records_serves_and_reports(user, unpacked_debs) -> None:
    records_serves_and_reports(user, unpacked_debs / "usr/bin/footplate", system_python())


def test_the_sdist_has_the_page_and_all_that_cmake_reads(sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path)
    source = tmp_path / f"footplate-{version()}"
    assert (source / "web/dist/index.html").is_file()
    assert not (source / "web/node_modules").exists() and not (source / "scripts").exists()
    configure = ["cmake", "-S", source, "-B", tmp_path / "b", "-G", "Ninja"]
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DFP_TESTS=OFF", "-DFP_PAGE=REQUIRED"]
    done = subprocess.run([*configure, *flags], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(source / "web")
    done = subprocess.run([*configure, *flags], capture_output=True, text=True)
    assert done.returncode != 0 and "the dashboard's page" in done.stderr
