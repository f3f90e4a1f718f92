# SPDX-License-Identifier: Apache-2.0
"""A lab for each test that breaks something."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faultkit import Lab


@pytest.fixture(scope="session")
def program_for_all(footplate: Path) -> Iterator[Path]:
    """The program at a place where other users may run it too."""
    folder = Path(tempfile.mkdtemp(prefix="fp-bin-"))
    folder.chmod(0o755)
    yield Path(shutil.copy(footplate, folder))
    shutil.rmtree(folder)


@pytest.fixture
def lab(program_for_all: Path) -> Iterator[Lab]:
    """A folder for runs, an environment, and an end to every process started here."""
    one = Lab(program_for_all)
    yield one
    one.close()
