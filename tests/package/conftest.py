# SPDX-License-Identifier: Apache-2.0
"""The packages in dist/, which scripts/package.sh made for this version."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from packagekit import ROOT, User, ordinary_user, version


def made(pattern: str) -> Path:
    found = sorted((ROOT / "dist").glob(pattern))
    if not found:
        pytest.exit(f"dist/{pattern} is missing: scripts/package.sh makes it", returncode=1)
    return found[-1]


@pytest.fixture(scope="session")
def wheel() -> Path:
    return made(f"footplate-{version()}-*_{os.uname().machine}.whl")


@pytest.fixture(scope="session")
def tarball() -> Path:
    return made(f"footplate-{version()}-linux-{os.uname().machine}.tar.gz")


@pytest.fixture(scope="session")
def sdist() -> Path:
    return made(f"footplate-{version()}.tar.gz")


@pytest.fixture(scope="session")
def debs() -> list[Path]:
    made(f"footplate_{version()}_*.deb")
    return sorted((ROOT / "dist").glob(f"*_{version()}_*.deb"))


@pytest.fixture(scope="module")
def user() -> Iterator[User]:
    with ordinary_user() as somebody:
        yield somebody
