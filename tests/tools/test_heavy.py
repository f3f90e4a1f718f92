# SPDX-License-Identifier: Apache-2.0
"""tests/heavy.txt names tests that exist, each once and with a reason, and --weight follows it."""

from __future__ import annotations

import subprocess
import sys

from conftest import HEAVY, ROOT, heavy_tests


def collected(weight: str, folder: str) -> set[str]:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    command += ["--weight", weight, folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_every_heavy_test_exists_and_has_a_reason() -> None:
    for test, why in heavy_tests().items():
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text()
        assert not name or f"def {name}(" in text, f"there is no {test}"
        assert len(why) > 5, test


def test_no_heavy_test_is_named_twice() -> None:
    rows = [line for line in HEAVY.read_text().splitlines() if line and not line.startswith("#")]
    assert len(rows) == len(heavy_tests())


def test_light_and_heavy_tests_together_are_all_tests() -> None:
    light, heavy = collected("light", "tests/fault"), collected("heavy", "tests/fault")
    assert heavy and light and not heavy & light
    assert light | heavy == collected("all", "tests/fault")
    named = {test for test in heavy_tests() if test.startswith("tests/fault/")}
    assert {test.partition("[")[0] for test in heavy} == named
