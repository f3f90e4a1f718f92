# SPDX-License-Identifier: Apache-2.0
"""What the rules say of a run that goes on: how soon, how often, and that all are told the same."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from servekit import Server, Stream, serving, wait_for

AGAIN_S = 0.9  # between two evaluations of a run that goes on, at least
NO_STEPS = "no training steps were detected"


@contextmanager
def recording(footplate: Path, runs: Path, *words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """A job that is recorded until the block ends; the process is the recorder's."""
    process = subprocess.Popen(
        [footplate, "run", "--dir", runs, "--interval", "100ms", "-q", "--no-hooks", *words],
        env=os.environ | {"FOOTPLATE_NVML": "/nonexistent.so"},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: list(runs.glob("*/node-*/metrics.*")), "the run to begin")
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(20)


@pytest.fixture
def begin(footplate: Path, tmp_runs: Path, train: Path) -> Callable[[str], Any]:
    """Begins a recording of a shell's words; $train is a program that trains."""
    return lambda script: recording(
        footplate, tmp_runs, "--", "sh", "-c", script.replace("$train", str(train))
    )


def findings(s: Server, run: str) -> list[dict[str, Any]]:
    """What the rules say now; waits while nothing is known yet."""
    path = f"/api/v1/runs/{run}/findings"
    return list(wait_for(lambda: (a := s.ask(path)).status == 200 and a, "findings").json)


def without_steps(verdicts: list[dict[str, Any]]) -> int:
    return sum(NO_STEPS in v["why"] for v in verdicts)


def counts(verdicts: list[dict[str, Any]]) -> dict[str, int]:
    issues = [v["severity"] for v in verdicts if v["state"] == "issue"]
    evaluated = sum(v["state"] != "not_evaluated" and not v.get("summary") for v in verdicts)
    found = {kind: issues.count(kind) for kind in ("critical", "warning", "info")}
    return found | {"evaluated": evaluated}


def test_who_listens_is_told_when_the_loop_of_a_run_has_begun(
    footplate: Path, tmp_runs: Path, tmp_path: Path, begin: Callable[[str], Any]
) -> None:
    go = tmp_path / "go"
    with (
        begin(f"while ! [ -e {go} ]; do sleep 0.1; done; exec $train --seconds 60"),
        serving(footplate, tmp_runs) as s,
    ):
        run = s.api("/runs")[0]["run"]
        stream = Stream(s, f"/runs/{run}/live?findings=1")
        assert stream.next("findings")  # at once: ask now
        assert without_steps(findings(s, run)) > 0
        go.touch()
        until = time.monotonic() + 20
        while without_steps(findings(s, run)) > 0:  # asks only after it was told
            assert time.monotonic() < until
            stream.next("findings")
        stream.close()


def test_many_who_listen_cost_one_evaluation_and_not_more_than_about_one_a_second(
    footplate: Path, tmp_runs: Path, begin: Callable[[str], Any]
) -> None:
    with begin("exec $train --seconds 60"), serving(footplate, tmp_runs) as s:
        run = s.api("/runs")[0]["run"]
        began = time.monotonic()
        streams = [Stream(s, f"/runs/{run}/live?findings=1") for _ in range(5)]
        for _ in range(4):
            for stream in streams:
                stream.next("findings")
                findings(s, run)
        done = s.api("/status")["evaluations"]
        assert 3 <= done <= (time.monotonic() - began) / AGAIN_S + 2
        for stream in streams:
            stream.close()


def test_data_that_did_not_change_is_not_evaluated_again(
    footplate: Path, tmp_runs: Path, begin: Callable[[str], Any]
) -> None:
    with begin("sleep 60") as recorder, serving(footplate, tmp_runs) as s:
        run = s.api("/runs")[0]["run"]
        stream = Stream(s, f"/runs/{run}/live?findings=1")
        evaluations = lambda: s.api("/status")["evaluations"]  # noqa: E731
        wait_for(lambda: evaluations() >= 2, "two evaluations")
        recorder.send_signal(signal.SIGSTOP)
        try:
            time.sleep(1.5)  # the newest data is evaluated, too
            before = evaluations()
            time.sleep(3)
            assert s.api("/runs")[0]["live"] and evaluations() == before
        finally:
            recorder.send_signal(signal.SIGCONT)
        wait_for(lambda: evaluations() > before, "an evaluation of newer data")
        stream.close()


def test_nothing_is_evaluated_for_who_does_not_ask_for_findings(
    footplate: Path, tmp_runs: Path, begin: Callable[[str], Any]
) -> None:
    with begin("sleep 60"), serving(footplate, tmp_runs) as s:
        (run,) = [path.name for path in tmp_runs.iterdir()]
        stream = Stream(s, f"/runs/{run}/live")
        for _ in range(3):
            stream.next("status")
        assert s.api("/status")["evaluations"] == 0
        stream.close()


def test_the_list_and_the_run_agree_on_the_findings_of_a_run_that_goes_on(
    footplate: Path, tmp_runs: Path, begin: Callable[[str], Any]
) -> None:
    with begin("exec $train --seconds 60 --slow-input"), serving(footplate, tmp_runs) as s:
        run = s.api("/runs")[0]["run"]
        stream = Stream(s, f"/runs/{run}/live?findings=1")
        wait_for(lambda: any(counts(findings(s, run)).values()), "an issue", 60)

        def agree() -> bool:
            """Both, of one moment: no evaluation came between."""
            before = counts(findings(s, run))
            return bool(s.api("/runs")[0]["findings"] == before == counts(findings(s, run)))

        for _ in range(3):
            stream.next("findings")
            wait_for(agree, "the same in the list")
        stream.close()


def test_rules_are_evaluated_as_the_user_has_set_them_with_those_of_his_own(
    footplate: Path, tmp_runs: Path
) -> None:
    own = "name: Busy, metric: mem.util, above: 0, window: 1s"
    words = ["--scan-interval", "1s", "--set", "StepOutlier.stddev=5", "--custom-rule", own]
    with (
        recording(footplate, tmp_runs, *words, "--", "sleep", "60"),
        serving(footplate, tmp_runs) as s,
    ):
        run = s.api("/runs")[0]["run"]

        def told() -> dict[str, dict[str, Any]]:
            return {v["rule"]: v for v in findings(s, run)}

        wait_for(lambda: told()["StepOutlier"]["params"]["stddev"] == 5, "the user's parameter")
        wait_for(lambda: "Busy" in told(), "the user's rule")
        assert told()["CPUBottleneck"]["params"]["threshold"] == 50
        wait_for(lambda: told()["Busy"]["state"] == "issue", "what it finds")
        wait_for(lambda: s.api("/runs")[0]["findings"] == counts(list(told().values())), "the list")
