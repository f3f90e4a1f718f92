# SPDX-License-Identifier: Apache-2.0
"""The first line says how the job ended; the rules below are about the recorded part."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]


@pytest.fixture
def fp(footplate, tmp_path):
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(footplate), words[0], "--dir", str(tmp_path), *words[1:]]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    return call


@pytest.mark.parametrize(
    ("script", "status", "words", "issues"),
    [
        ("exit 3", 3, "The job failed with exit status 3 after ", 1),
        ("kill -9 $$", 137, "The job was killed by SIGKILL after ", 1),
        ("kill -SEGV $$", 139, "The job was killed by SIGSEGV after ", 1),
        ("kill -TERM $$", 143, "The job was interrupted (SIGTERM) after ", 0),
    ],
)
def test_a_job_that_did_not_end_well_is_said_to_before_its_rules(fp, script, status, words, issues):
    done = fp("run", "--", "sh", "-c", f"sleep 0.3; {script}")
    assert done.returncode == status
    assert done.stderr.index(words) < done.stderr.index("No rules ran")
    first, second = fp("check", "last").stdout.splitlines()[:2]
    assert first.startswith(words)
    assert f": {issues} issue{'s' * (issues != 1)} in the recorded part, " in second
    (ended,) = json.loads(fp("check", "last", "--rule", "FailedEarly", "--json").stdout)
    assert ended["state"] == ("issue" if issues else "clear")
    assert words in " ".join(fp("report", "last", "--format", "text", "-o", "-").stdout.split())


PROGRAM = """\
def load(path):
    raise ValueError(f"cannot read {path}")

import time
time.sleep(1.2)
load("secret")
"""


def test_the_exception_that_ended_a_program_is_named_without_its_message(fp, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    told = fp("run", "--", sys.executable, str(script)).stderr
    (line,) = [x for x in told.splitlines() if x.startswith("footplate: The job failed")]
    assert line.endswith(", before the first step: ValueError at train.py:2.")
    assert "No issues found" not in told
    (ended,) = json.loads(fp("check", "last", "--rule", "FailedEarly", "--json").stdout)
    assert ended["severity"] == "critical"
    assert "secret" not in json.dumps(ended)
    assert "secret" not in fp("events", "last", "--json").stdout


@pytest.mark.parametrize("end", ["sys.exit(3)", "raise KeyboardInterrupt"])
def test_an_end_that_is_no_error_of_the_program_names_no_exception(fp, end):
    told = fp("run", "--", sys.executable, "-c", f"import sys\n{end}").stderr
    assert "exception" not in fp("events", "last", "--json").stdout
    assert " at <string>" not in told


def test_of_a_job_that_ended_well_nothing_is_said(fp):
    done = fp("run", "--", "true")
    assert "The job" not in done.stderr
    assert "recorded part" not in fp("check", "last").stdout


def test_the_count_of_skipped_rules_is_that_of_the_list(fp):
    fp("run", "--", "sleep", "0.3")
    text = fp("check", "last").stdout
    said = int(re.search(r", (\d+) skipped\n", text)[1])
    listed = text.split("\nskipped\n")[1].splitlines()
    assert said == len(listed)
    verdicts = json.loads(fp("check", "last", "--json").stdout)
    skipped = [v for v in verdicts if v["state"] == "not_evaluated"]
    # Rules on training health are not listed where nothing was recorded for them.
    assert said == sum(not v.get("health") or v["datapoints"] > 0 for v in skipped)


def test_attach_says_that_it_records_no_steps(footplate, fp, tmp_path):
    job = subprocess.Popen(SLEEP)
    try:
        recorder = subprocess.Popen(
            [str(footplate), "attach", "--dir", str(tmp_path), "--pid", str(job.pid)],
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(1.5)
        recorder.send_signal(signal.SIGINT)
        _, told = recorder.communicate(timeout=30)
    finally:
        job.kill()
        job.wait()
    seen = "metrics of the machine, its GPUs and processes are recorded, but no steps: "
    assert seen in told
    assert "hooks must be there when Python starts" in told and "footplate.start()" in told
    hint = "attach records no steps; start the job with 'footplate run' to record them"
    assert hint in told and "footplate.step()" not in told
    assert hint in fp("show", "last").stdout
    (node,) = Path(tmp_path).glob("*/node*/node.json")
    assert json.loads(node.read_text())["attached"] is True


FIT = "import footplate\nwith footplate.span('fit Ridge'): pass"
HOOKLESS = [sys.executable, "-I", "-c", "pass"]


@pytest.mark.parametrize(
    ("command", "why", "remedy"),
    [
        (["true"], "no process reported events", "fp_step_begin() in C"),
        ([sys.executable, "-c", FIT], "scikit-learn has no steps", "footplate events last"),
        (HOOKLESS, "no Python process loaded the hooks", "footplate.init()"),
    ],
)
def test_a_run_without_steps_ends_with_the_reason_and_what_to_do(fp, command, why, remedy):
    *before, told = fp("run", "--", *command).stderr.splitlines()
    assert any(line.startswith("footplate: report: ") for line in before)
    assert told.startswith("footplate: no steps were detected: ")
    assert why in told and remedy in told


def test_what_a_machine_simply_does_not_have_is_no_loss_for_people(fp):
    fp("run", "--", "sleep", "0.3")
    text, run = fp("show", "last").stdout, json.loads(fp("show", "last", "--json").stdout)
    for loss in run["losses"]:
        if loss["what"] in ("swap.used", "cgroup.cpu_limit", "cgroup.mem_limit"):
            assert loss["title"] != loss["what"]
            assert loss["what"] not in text and loss["title"] not in text
    assert "nvml" not in text.split("utilization, whole job")[1].replace("libnvidia", "")


def test_a_mistyped_run_gets_a_suggestion_and_a_bare_number_asks_for_a_unit(fp):
    fp("run", "--name", "baseline", "--", "true")
    assert "(did you mean 'baseline" in fp("show", "baselnie").stderr
    assert "'5' has no unit; write 5s or 500ms" in fp("run", "-i", "5", "--", "true").stderr
