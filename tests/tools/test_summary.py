# SPDX-License-Identifier: Apache-2.0
"""scripts/test_summary.py counts what ctest and pytest report, and fails when something failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "test_summary.py"

CTEST = """<testsuite><testcase name="unit/base/test_buf"><system-out>ok      grows
SKIPPED: needs two cores
skipped waits
{why}
{last}  keeps
3 tests</system-out>{end}</testcase><testcase name="fuzz/procfs"/></testsuite>"""
WHY = "test_buf.c:12: 3 is not 4"
FAILED = CTEST.format(why=WHY, last="FAILED", end="<failure/>")
PYTEST = """<testsuites><testsuite><testcase name="test_a"/>
<testcase name="test_b"><skipped message="not root"/></testcase></testsuite></testsuites>"""


def summarise(logs: Path, steps: str, **xml: str) -> subprocess.CompletedProcess[str]:
    (logs / "steps.tsv").write_text(steps)
    for name, text in xml.items():
        (logs / f"{name}.xml").write_text(text)
    command = [sys.executable, str(SCRIPT), str(logs)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_good_run_is_counted_with_its_skips(tmp_path: Path) -> None:
    ctest = CTEST.format(why="", last="ok    ", end="")
    done = summarise(tmp_path, "sizes\tok\t1\ngcc\tok\t70\ncli\tok\t5\n", gcc=ctest, cli=PYTEST)
    assert done.returncode == 0, done.stderr
    assert "5 passed, 0 failed, 2 skipped in 1 min 16 s" in done.stdout
    assert "gcc: unit/base/test_buf: waits: needs two cores" in done.stdout
    assert "cli: test_b: not root" in done.stdout


def test_a_failed_test_fails_the_run_and_is_named(tmp_path: Path) -> None:
    done = summarise(tmp_path, "gcc\tFAILED\t3\n", gcc=FAILED)
    assert done.returncode == 1
    assert "2 passed, 1 failed, 1 skipped" in done.stdout
    assert f"gcc: unit/base/test_buf: keeps: {WHY}" in done.stdout


def test_what_fails_twice_has_failed(tmp_path: Path) -> None:
    xml = {"gcc": FAILED, "gcc.again": FAILED}
    done = summarise(tmp_path, "gcc\tFAILED\t3\n", **xml)
    assert done.returncode == 1
    assert "2 passed, 1 failed, 1 skipped" in done.stdout
    assert "TRIED AGAIN" not in done.stdout


def test_what_passes_when_tried_again_is_told_with_the_reason_of_the_first_time(
    tmp_path: Path,
) -> None:
    second = CTEST.format(why="", last="ok    ", end="")
    done = summarise(tmp_path, "gcc\tok\t3\n", **{"gcc": FAILED, "gcc.again": second})
    assert done.returncode == 0
    assert "3 passed, 0 failed, 1 skipped" in done.stdout
    told = done.stdout.split("PASSED ONLY WHEN TRIED AGAIN")[1]
    assert f"gcc: unit/base/test_buf: keeps: {WHY}" in told


def test_a_second_time_that_breaks_off_leaves_the_step_failed(tmp_path: Path) -> None:
    xml = {"gcc": FAILED, "gcc.again": "<testsuite/>"}
    done = summarise(tmp_path, "gcc\tFAILED\t3\n", **xml)
    assert done.returncode == 1


def test_a_step_that_could_not_be_built_counts_as_failed(tmp_path: Path) -> None:
    done = summarise(tmp_path, "gcc\tFAILED\t3\n")
    assert done.returncode == 1
    assert "gcc: the whole step: see gcc.log" in done.stdout


def test_a_skipped_step_says_why(tmp_path: Path) -> None:
    (tmp_path / "tsan.log").write_text("building\nno threads here\n\n")
    done = summarise(tmp_path, "tsan\tSKIPPED\t3\n")
    assert done.returncode == 0
    assert "tsan: the whole step: no threads here" in done.stdout


def test_the_longest_tests_of_all_steps_are_named_with_their_time(tmp_path: Path) -> None:
    case = '<testcase name="test_{0}" time="{0}.25"/>'
    many = "".join(case.format(n) for n in range(1, 9))
    unit = '<testsuite><testcase name="unit/base/test_buf" time="5.5"/></testsuite>'
    steps = "setup\tdone\t9\ncli\tok\t40\ndev\tok\t7\n"
    done = summarise(tmp_path, steps, cli=f"<testsuite>{many}{many}</testsuite>", dev=unit)
    longest = done.stdout.split("LONGEST\n")[1].splitlines()[:11]
    assert [line.split() for line in longest[:3]] == [["8.2", "s", "cli:", "test_8"]] * 2 + [
        ["7.2", "s", "cli:", "test_7"]
    ]
    assert ["5.5", "s", "dev:", "unit/base/test_buf"] in [line.split() for line in longest]
    assert longest[10] == ""  # ten of them


def test_the_installation_has_a_time_but_is_no_test(tmp_path: Path) -> None:
    done = summarise(tmp_path, "setup\tdone\t50\nsizes\tok\t11\n")
    assert done.returncode == 0
    assert "1 passed, 0 failed, 0 skipped in 1 min 1 s" in done.stdout
