#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sum up a test run: what passed, failed and was skipped, and why; and what took longest.

Reads what scripts/test.sh leaves in its log folder: steps.tsv (one line per step, and one for the
installation, whose result is "done" since it is no test) and, for steps
that run tests, STEP.xml in JUnit's format, from ctest, pytest or the browser's runner. Where tests
failed and were tried again, STEP.again.xml is of the second time, and decides. The exit status is 1
when anything failed.
"""

from __future__ import annotations

import argparse
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

# What tests/unit/test_main.c prints: one line per test, the reason before one that did not pass.
UNIT_LINE = re.compile(
    r"^(?:(?P<state>ok|skipped|FAILED) +(?P<name>\w+)"
    r"|SKIPPED: (?P<skip>.*)"
    r"|(?P<fail>\S+\.[ch]:\d+:.*|\w+: killed by signal.*|==\d+==ERROR: .*))$",
    re.MULTILINE,
)
REASON_LENGTH = 200
LONGEST = 10  # how many tests are named with their time

Told = tuple[str, str]  # a test and why it did not pass


@dataclass
class Step:
    """What one step came to; names are only kept of what did not pass, with the reason."""

    name: str
    result: str
    seconds: int
    passed: int = 0
    failed: list[Told] = field(default_factory=list)
    again: list[Told] = field(default_factory=list)  # passed when tried again
    skipped: list[Told] = field(default_factory=list)
    times: list[tuple[float, str]] = field(default_factory=list)  # of every test or test program


def add_unit_program(step: Step, program: str, output: str) -> bool:
    """Count the tests inside one unit test program; False when the output is not of one."""
    reason = {"skip": "no reason given", "fail": "no reason given"}
    found = False
    for line in UNIT_LINE.finditer(output):
        kind = line.lastgroup or ""
        if kind in reason:
            reason[kind] = line[kind]
            continue
        found = True
        if line["state"] == "ok":
            step.passed += 1
        elif line["state"] == "FAILED":
            step.failed.append((f"{program}: {line['name']}", reason["fail"]))
        else:
            step.skipped.append((f"{program}: {line['name']}", reason["skip"]))
    return found


def message_of(element: ET.Element) -> str:
    """The first line of what a test says of itself."""
    text = element.get("message") or element.text or ""
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason given")


def add_case(step: Step, case: ET.Element) -> None:
    """Count one <testcase>, which may be a program with many tests of its own."""
    name = case.get("name", "?")
    step.times.append((float(case.get("time") or 0), name))
    failed_before = len(step.failed)
    is_unit = add_unit_program(step, name, case.findtext("system-out") or "")
    failure = case.find("failure") if case.find("failure") is not None else case.find("error")
    skipped = case.find("skipped")
    if failure is not None:
        if len(step.failed) == failed_before:  # it died before it could say which test
            step.failed.append((name, message_of(failure)))
    elif is_unit:
        return
    elif skipped is not None:
        step.skipped.append((name, message_of(skipped)))
    else:
        step.passed += 1


def add_second_time(step: Step, second: Step) -> None:
    """What failed and was tried again has failed if it failed again, or anything else did then."""
    still = {name for name, _ in second.failed}
    step.again = [told for told in step.failed if told[0] not in still]
    step.passed += len(step.again)
    step.failed = second.failed


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    return next((line for line in reversed(lines) if line.strip()), "no reason given")


def load_cases(step: Step, xml: Path) -> Step:
    for case in ET.parse(xml).getroot().iter("testcase"):
        add_case(step, case)
    return step


def load_step(logs: Path, row: str) -> Step:
    name, result, seconds = row.split("\t")
    step = Step(name, result, int(seconds))
    xml, again = logs / f"{name}.xml", logs / f"{name}.again.xml"
    if xml.exists():
        load_cases(step, xml)
    elif result == "ok":
        step.passed = 1
    if again.exists():
        add_second_time(step, load_cases(Step(name, result, 0), again))
    if result == "SKIPPED":
        step.skipped.append(("the whole step", last_line(logs / f"{name}.log")))
    if result == "FAILED" and not step.failed:
        step.failed.append(("the whole step", f"see {name}.log"))
    return step


def print_list(title: str, steps: list[Step], attribute: str) -> None:
    lines = [
        f"  {step.name}: {name}: {why[:REASON_LENGTH]}"
        for step in steps
        for name, why in getattr(step, attribute)
    ]
    if lines:
        print(f"\n{title}")
        print("\n".join(lines))


def print_longest(steps: list[Step]) -> None:
    """The tests to look at first when the whole takes too long."""
    tests = sorted(((t, step.name, name) for step in steps for t, name in step.times), reverse=True)
    if tests:
        print("\nLONGEST")
    for seconds, step, name in tests[:LONGEST]:
        print(f"{seconds:>7.1f} s  {step}: {name}")


def print_summary(steps: list[Step]) -> None:
    print(f"\n{'step':<14}{'passed':>8}{'failed':>8}{'skipped':>9}{'time':>8}")
    for s in steps:
        counts = f"{s.passed:>8}{len(s.failed):>8}{len(s.skipped):>9}"
        print(f"{s.name:<14}{counts}{s.seconds:>6} s")
    print_longest(steps)
    print_list("SKIPPED", steps, "skipped")
    print_list("PASSED ONLY WHEN TRIED AGAIN", steps, "again")
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
