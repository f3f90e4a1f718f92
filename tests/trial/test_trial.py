# SPDX-License-Identifier: Apache-2.0
"""The short form of the trial (`make trial`): a few of its programs, each recorded once. What the
machine has to do meanwhile is not known here, so that only the planted cause is checked."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import trial
from cases import HEALTHY, PLANTED, Case

CASES = {case.name: case for case in (*PLANTED, *HEALTHY)}


def record(name: str, footplate: Path, folder: Path) -> trial.Result:
    case = CASES[name]
    if trial.missing(case):
        pytest.skip(trial.missing(case))
    args = argparse.Namespace(footplate=footplate, work=folder, keep=None)
    return trial.run_case(case, "quiet", args)


@pytest.mark.parametrize("name", ["between", "remote"])
def test_a_planted_problem_is_found_with_advice_that_fits(name, footplate, tmp_path):
    found = record(name, footplate, tmp_path)
    causes = [rule for rule in found.found if rule != trial.SHARED]
    assert causes and causes[0] == found.expected, found
    assert trial.re.search(CASES[name].advice, found.advice), found


def test_workers_that_are_started_anew_are_found(footplate, tmp_path):
    """On a busy machine the loop waits for the workers, too, so that this need not come first."""
    found = record("restarted", footplate, tmp_path)
    assert found.expected in found.found, found
    assert trial.re.search(CASES["restarted"].advice, found.advice), found


def test_there_are_21_planted_problems_and_10_kinds_of_healthy_runs():
    assert len(PLANTED) == 21 and len({case.name for case in PLANTED}) == 21
    assert len(HEALTHY) == 10 and len({case.name for case in HEALTHY}) == 10
    assert all(case.cure or case.no_cure for case in PLANTED)
    assert all(case.advice and not trial.re.search(case.advice, "") for case in PLANTED)


def verdict(rule: str, severity: str = "critical", advice: str = "") -> dict:
    found = {"message": "", "advice": advice}
    return {"rule": rule, "severity": severity, "findings": [found], "recommendation": ""}


def test_a_cause_counts_if_it_is_first_and_its_advice_fits():
    case = Case("x", "Dataloader", advice="num_workers")
    good = [verdict("Dataloader", advice="Set num_workers to 2."), verdict("StepOutlier")]
    assert trial.judge(case, "quiet", good) == ""
    assert "first finding is StepOutlier" in trial.judge(case, "quiet", good[::-1])
    assert "advice" in trial.judge(case, "quiet", [verdict("Dataloader", advice="buy")])
    assert "missing" in trial.judge(case, "quiet", [])


def test_on_a_busy_machine_the_others_must_be_named_and_may_come_first():
    case = Case("x", "Dataloader")
    both = [verdict("SharedMachine"), verdict("Dataloader")]
    assert trial.judge(case, "busy", both) == ""
    assert "SharedMachine" in trial.judge(case, "busy", both[1:])
    assert trial.judge(Case("x", "Dataloader", unshared=True), "busy", both[1:]) == ""


def test_a_healthy_run_may_have_information_but_no_warning():
    case = Case("x", "")
    assert trial.judge(case, "healthy", [verdict("StepOutlier", "info")]) == ""
    warned = [verdict("SharedMachine", "info"), verdict("StepOutlier", "warning")]
    warned[1]["findings"][0]["message"] = "that one"
    assert trial.judge(case, "healthy", warned) == "StepOutlier: that one"
