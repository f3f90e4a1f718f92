# SPDX-License-Identifier: Apache-2.0
"""Rules of the user's own while the run lives: they are heard, and they disturb nothing."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from faultkit import Lab, wait_for

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("FOOTPLATE_PYTHON") or ROOT / "build" / "release" / "python")
SLEEP = ("sleep", "30")
# Holds from the first window on, on any machine.
LIMIT = "name: Awake, metric: mem.used, above: 0, window: 1s"
PYTHON_RULES = """
import time
from footplate.rules import Finding, Rule

class Raises(Rule):
    name = "Raises"
    def check(self, run):
        raise ValueError("on purpose")

class Prints(Rule):
    name = "Prints"
    def check(self, run):
        print("}{ no JSON")
        return []

class Sees(Rule):
    name = "Sees"
    recommendation = "Nothing."
    needs = ["mem.used"]
    def check(self, run):
        for s in run.series("mem.used"):
            yield Finding(f"{len(s.v)} samples", s.node)
"""


@pytest.fixture
def python_lab(lab: Lab) -> Lab:
    lab.env["FOOTPLATE_HOOKS"] = str(PACKAGE / "footplate" / "_bootstrap")
    (lab.folder / "rules.py").write_text(PYTHON_RULES)
    return lab


def start(lab: Lab, *words: str):
    return lab.start("--scan-interval", "1s", "--interval", "100ms", *words, "--", *SLEEP)


def findings(lab: Lab) -> dict[str, dict]:
    for path in lab.runs.glob("*/findings.json"):
        return {r["rule"]: r for r in json.loads(path.read_text())["rules"]}
    return {}


def aside_of(recording) -> list[int]:
    """Processes of the same program and lab that are neither the recorder nor below it."""
    exe = os.readlink(f"/proc/{recording.pid}/exe")
    token = Path(f"/proc/{recording.pid}/environ").read_bytes()
    mark = next(w for w in token.split(b"\0") if w.startswith(b"FAULT_LAB="))
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == recording.pid:
            continue
        try:
            same = os.readlink(entry / "exe") == exe and mark in (entry / "environ").read_bytes()
        except OSError:
            continue
        if same:
            found.append(int(entry.name))
    return found


def test_a_limit_that_is_passed_is_a_line_an_action_and_a_mark_while_the_run_lives(lab):
    told = lab.folder / "told"
    recording = start(
        lab,
        "--custom-rule",
        LIMIT,
        "--action",
        f"do: exec, command: [sh, -c, 'cat > {told}'], rules: [Awake]",
    )
    wait_for(lambda: "(Awake)" in recording.stderr, "the line")
    wait_for(lambda: told.exists() and told.read_text().endswith("}"), "the action")
    news = json.loads(told.read_text())
    assert news["rule"] == "Awake" and news["verdict"]["findings"][0]["message"] in news["text"]
    recording.signal(signal.SIGTERM)
    recording.end()
    assert [m["text"].split(":")[0] for m in lab.marks("rule")].count("Awake") == 1


def test_findings_of_a_run_that_lives_are_in_its_folder(lab):
    recording = start(lab, "--custom-rule", LIMIT)
    wait_for(lambda: findings(lab).get("Awake", {}).get("state") == "issue", "the finding")
    assert len(findings(lab)) > 15, "the built-in rules are there too"
    assert recording.process.poll() is None, "and the job still runs"
    recording.signal(signal.SIGTERM)
    recording.end()
    assert findings(lab)["Awake"]["state"] == "issue"


def test_rules_in_python_are_heard_while_the_run_lives_and_broken_ones_do_not_matter(python_lab):
    recording = start(python_lab, "--rule-file", str(python_lab.folder / "rules.py"))
    wait_for(lambda: "(Sees)" in recording.stderr, "the line", 40)
    wait_for(lambda: "Raises" in findings(python_lab), "the file")
    said = findings(python_lab)
    assert said["Raises"]["state"] == "not_evaluated" and "on purpose" in said["Raises"]["why"]
    assert said["Prints"]["state"] == "clear"
    assert said["Sees"]["recommendation"] == "Nothing."
    recording.signal(signal.SIGTERM)
    assert recording.end() == 128 + signal.SIGTERM


def test_files_of_rules_may_stand_in_the_settings(python_lab):
    (python_lab.folder / "footplate.yaml").write_text("rule-files: [rules.py]\n")
    done = python_lab.record("--", "sh", "-c", "sleep 1.5; exit 5")
    assert done.returncode == 5
    assert findings(python_lab)["Sees"]["state"] == "issue", done.stderr


def helper_of(recording) -> int:
    """The helper process: the child of another process of ours beside the recorder."""
    aside = aside_of(recording)
    for pid in aside:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        parent = next(line for line in status.splitlines() if line.startswith("PPid:"))
        if int(parent.split()[1]) in aside:
            return pid
    return 0


def kill_helper(recording) -> int:
    wait_for(lambda: helper_of(recording) != 0, "the helper")
    pid = helper_of(recording)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: helper_of(recording) != pid, "its end")
    return pid


def test_a_helper_that_is_killed_is_started_again_and_repeats_nothing(lab):
    recording = start(lab, "--custom-rule", LIMIT)
    wait_for(lambda: "(Awake)" in recording.stderr, "the line")
    kill_helper(recording)
    before = next(lab.runs.glob("*/findings.json")).stat().st_mtime_ns
    wait_for(
        lambda: next(lab.runs.glob("*/findings.json")).stat().st_mtime_ns > before + 10**9,
        "an evaluation by the next one",
    )
    recording.signal(signal.SIGTERM)
    assert recording.end() == 128 + signal.SIGTERM
    assert "no longer evaluated" not in recording.stderr
    assert recording.stderr.count("(Awake)\n") == 1
    assert [m["text"].split(":")[0] for m in lab.marks("rule")].count("Awake") == 1


def test_when_it_is_killed_again_and_again_that_is_told_once_and_the_run_goes_on(lab):
    recording = start(lab, "--custom-rule", LIMIT)
    wait_for(lambda: "(Awake)" in recording.stderr, "the line")
    for _ in range(4):
        kill_helper(recording)
    wait_for(lambda: "no longer evaluated" in recording.stderr, "the sentence")
    assert recording.process.poll() is None
    recording.signal(signal.SIGTERM)
    assert recording.end() == 128 + signal.SIGTERM
    assert recording.stderr.count("no longer evaluated") == 1
    assert findings(lab)["Awake"]["state"] == "issue", "the verdict at the end has them again"


def test_no_process_is_left_when_the_recorder_is_killed(lab):
    recording = start(lab, "--custom-rule", LIMIT)
    wait_for(lambda: "(Awake)" in recording.stderr, "the line")
    aside = aside_of(recording)
    assert aside
    recording.signal(signal.SIGKILL)
    recording.end()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in aside), "their end")
