#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sum up a test run: what passed, failed and was skipped, and why.

Reads what scripts/test.sh leaves in its log folder: steps.tsv (one line per step) and, for steps
that run tests, STEP.xml in JUnit's format, from ctest or pytest. The exit status is 1 when anything
failed.
"""

from __future__ import annotations

import argparse
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

# What tests/unit/test_main.c prints: one line per test, and the reason before a skipped one.
UNIT_LINE = re.compile(r"^(ok|skipped|FAILED) +(\w+)$|^SKIPPED: (.*)$", re.MULTILINE)


@dataclass
class Step:
    """What one step came to; names are only kept of what did not pass."""

    name: str
    result: str
    seconds: int
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def add_unit_program(step: Step, program: str, output: str) -> bool:
    """Count the tests inside one unit test program; False when the output is not of one."""
    reason = "no reason given"
    found = False
    for state, name, why in UNIT_LINE.findall(output):
        if why:
            reason = why
            continue
        found = True
        if state == "ok":
            step.passed += 1
        elif state == "FAILED":
            step.failed.append(f"{program}: {name}")
        else:
            step.skipped.append(f"{program}: {name}: {reason}")
    return found


def add_case(step: Step, case: ET.Element) -> None:
    """Count one <testcase>, which may be a program with many tests of its own."""
    name = case.get("name", "?")
    failed_before = len(step.failed)
    is_unit = add_unit_program(step, name, case.findtext("system-out") or "")
    failure = case.find("failure") if case.find("failure") is not None else case.find("error")
    skipped = case.find("skipped")
    if failure is not None:
        if len(step.failed) == failed_before:  # it died before it could say which test
            step.failed.append(name)
    elif is_unit:
        return
    elif skipped is not None:
        step.skipped.append(f"{name}: {skipped.get('message', '')}")
    else:
        step.passed += 1


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    return next((line for line in reversed(lines) if line.strip()), "no reason given")


def load_step(logs: Path, row: str) -> Step:
    name, result, seconds = row.split("\t")
    step = Step(name, result, int(seconds))
    xml = logs / f"{name}.xml"
    if xml.exists():
        for case in ET.parse(xml).getroot().iter("testcase"):
            add_case(step, case)
    elif result == "ok":
        step.passed = 1
    if result == "SKIPPED":
        step.skipped.append(f"the whole step: {last_line(logs / f'{name}.log')}")
    if result == "FAILED" and not step.failed:
        step.failed.append(f"see {name}.log")
    return step


def print_list(title: str, steps: list[Step], attribute: str) -> None:
    lines = [f"  {step.name}: {line}" for step in steps for line in getattr(step, attribute)]
    if lines:
        print(f"\n{title}")
        print("\n".join(lines))


def print_summary(steps: list[Step]) -> None:
    print(f"\n{'step':<9}{'passed':>8}{'failed':>8}{'skipped':>9}{'time':>8}")
    for s in steps:
        counts = f"{s.passed:>8}{len(s.failed):>8}{len(s.skipped):>9}"
        print(f"{s.name:<9}{counts}{s.seconds:>6} s")
    print_list("SKIPPED", steps, "skipped")
    print_list("FAILED", steps, "failed")
    minutes, seconds = divmod(sum(s.seconds for s in steps), 60)
    print(
        f"\n{sum(s.passed for s in steps)} passed, {sum(len(s.failed) for s in steps)} failed, "
        f"{sum(len(s.skipped) for s in steps)} skipped in {minutes} min {seconds} s; "
        f"logs are in build/test-logs"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("logs", type=Path, help="the log folder of scripts/test.sh")
    logs: Path = parser.parse_args().logs
    rows = (logs / "steps.tsv").read_text().splitlines()
    steps = [load_step(logs, row) for row in rows]
    print_summary(steps)
    return 1 if any(step.failed for step in steps) else 0


if __name__ == "__main__":
    sys.exit(main())
