# SPDX-License-Identifier: Apache-2.0
"""The generated pages in docs/reference are those of this program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("page", ["commands.md", "metrics.md", "json.md"])
def test_the_page_is_what_the_program_prints(footplate: Path, tmp_path: Path, page: str) -> None:
    tool = ROOT / "tools" / "make_reference.py"
    subprocess.run([sys.executable, tool, footplate, tmp_path], check=True)
    kept = ROOT / "docs" / "reference" / page
    assert kept.read_text() == (tmp_path / "reference" / page).read_text(), (
        f"docs/reference/{page} is out of date: run 'make reference'"
    )
