# SPDX-License-Identifier: Apache-2.0
"""scripts/test.sh: its table of steps is whole, and a wrong step is refused at once."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "test.sh"


def rows() -> dict[str, str]:
    """The steps with the set that each belongs to."""
    found = re.findall(r'^    "(\S+) +\| (\w+) +\| .+"$', SCRIPT.read_text(), re.MULTILINE)
    assert len(found) > 20
    return dict(found)


def test_every_step_has_a_function_and_every_function_a_step() -> None:
    functions = re.findall(r"^step_(\S+)\(\)", SCRIPT.read_text(), re.MULTILINE)
    assert sorted(functions) == sorted(rows())


def test_every_folder_of_tests_is_in_make_test_or_make_test_all() -> None:
    text = SCRIPT.read_text()
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    light = {f for f in folders if re.search(rf"run_pytest {f} --weight light", text)}
    whole = {f for f in folders if re.search(rf"run_pytest {f}(?! --weight)", text)}
    heavy = {f for f in folders if re.search(rf"run_pytest {f} --weight heavy", text)}
    assert folders == whole | (light & heavy)


def test_a_step_that_does_not_exist_is_refused_with_the_list() -> None:
    done = subprocess.run([SCRIPT, "ruf"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert "there is no step 'ruf'" in done.stderr
    assert all(name in done.stderr for name in rows())
