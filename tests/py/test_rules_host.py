# SPDX-License-Identifier: Apache-2.0
"""footplate.rules and the process that evaluates rules, with a program that is made up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pykit import plain_env

# Answers what it was asked for, and keeps a list of that.
PROGRAM = """#!{python}
import json, sys
open({asked!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
if "gone" in sys.argv:
    sys.exit("footplate: there is no metric 'gone'")
if sys.argv[1] == "query":
    print(json.dumps([{{"node": "n", "metric": "m", "entity": "e", "unit": "%", "t_ns": [1, 2, 3],
                        "v": [1.0, 2.0, 9.0], "min": [0, 2, 8], "max": [2, 3, 10]}}]))
elif sys.argv[1] == "steps":
    print(json.dumps({{"ranks": [], "steps": []}}))
else:
    print(json.dumps([sys.argv[1]]))
"""


@pytest.fixture
def host(package: Path, tmp_path: Path):
    """Evaluates a text as a rule file. Returns the answer."""
    asked = tmp_path / "asked"
    program = tmp_path / "footplate"
    program.write_text(PROGRAM.format(python=sys.executable, asked=str(asked)))
    program.chmod(0o755)

    def call(text: str, *words: str) -> dict:
        file = tmp_path / "mine.py"
        file.write_text("from footplate.rules import *\n" + text)
        env = plain_env({"PYTHONPATH": str(package), "FOOTPLATE_BIN": str(program)})
        done = subprocess.run(
            [sys.executable, "-m", "footplate.rules_host", *words, "--", "RUN", str(file)],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        call.stderr = done.stderr
        call.asked = asked.read_text().splitlines() if asked.exists() else []
        return json.loads(done.stdout)

    return call


def rule(body: str, head: str = "") -> str:
    lines = ["class R(Rule):", '    name = "R"', *(f"    {x}" for x in head.splitlines())]
    lines += ["    def check(self, run):", *(f"        {x}" for x in body.splitlines())]
    return "\n".join(lines) + "\n"


def verdict(answer: dict) -> dict:
    (v,) = answer["verdicts"]
    return v


def test_series_have_their_sums(host):
    body = """s, = run.series("m", "e", "n", 7)
assert (s.mean(), s.min(), s.max(), s.quantile(0.5)) == (4, 0, 10, 2)
assert s.quantile(0.75) == 5.5
self.why = s.unit"""
    v = verdict(host(rule(body)))
    assert (v["state"], v["why"]) == ("clear", "%")
    assert host.asked == ["query RUN --metric m --entity e --node n --points 7 --json"]


def test_the_program_is_asked_once_for_the_same_thing(host):
    host(rule("run.stats(), run.stats(), run.info(), run.findings()"))
    assert host.asked == ["stats RUN --json", "show RUN --json", "check RUN --json"]


def test_what_the_program_refuses_is_why_a_rule_is_not_evaluated(host):
    v = verdict(host(rule('run.series("gone")')))
    assert (v["state"], v["why"]) == ("not_evaluated", "there is no metric 'gone'")


@pytest.mark.parametrize(
    ("needs", "why"),
    [("gone", "there is no metric 'gone'"), ("steps", "no training steps were detected")],
)
def test_a_rule_without_what_it_needs_is_not_called(host, needs, why):
    v = verdict(host(rule("raise ValueError", f"needs = ['{needs}']")))
    assert (v["state"], v["why"]) == ("not_evaluated", why)


def test_findings_carry_what_they_were_given(host):
    body = """yield Finding("m", "n", "e", [(5, 9)], "do", {"x": (1.5, "s")}, 2, 3)
yield Finding("other", lost_s=float("inf"))"""
    one, two = verdict(host(rule(body)))["findings"]
    assert one == {
        "message": "m",
        "node": "n",
        "entity": "e",
        "ranges": [[5, 9]],
        "advice": "do",
        "numbers": {"x": 1.5},
        "units": {"x": "s"},
        "lost_s": 2,
        "lost_gpu_s": 3,
    }
    assert two["lost_s"] is None and two["advice"] is None


@pytest.mark.parametrize(
    "body",
    [
        "yield Finding(3)",
        'yield Finding("m", numbers={"x": ("1", "s")})',
        'yield Finding("m", numbers={"x": 1})',
        'yield Finding("m", ranges=[5])',
        'yield Finding("m", lost_s="long")',
        "yield 'm'",
        "return 3",
        "self.why = 3",
    ],
)
def test_an_answer_of_the_wrong_kind_is_no_answer(host, body):
    v = verdict(host(rule(body)))
    assert v["state"] == "not_evaluated" and v["findings"] == []
    assert v["why"].startswith("raised TypeError")


def test_findings_before_a_failure_do_not_count(host):
    v = verdict(host(rule('yield Finding("m")\nraise ValueError("late")')))
    assert (v["state"], v["why"], v["findings"]) == (
        "not_evaluated",
        "raised ValueError: late",
        [],
    )


def test_what_rules_print_is_not_the_answer(host):
    v = verdict(
        host("print('top')\n" + rule("print('inside')\nimport os\nos.system('echo below')"))
    )
    assert v["state"] == "clear"
    assert {"top", "inside", "below"} <= set(host.stderr.split())


def test_rules_that_are_only_imported_are_not_evaluated(host):
    text = "from footplate.rules import Rule as Base\nBase.name = ''\n" + rule("pass")
    assert [v["rule"] for v in host(text)["verdicts"]] == ["R"]


def test_a_rule_file_may_import_what_lies_beside_it(host, tmp_path):
    (tmp_path / "beside.py").write_text("WORD = 'found'\n")
    v = verdict(host("import beside\n" + rule("self.why = beside.WORD")))
    assert v["why"] == "found"


def test_a_rule_that_hangs_does_not_keep_the_next_from_its_answer(host):
    text = "import time\n" + rule("time.sleep(100)").replace("R(", "Slow(").replace('"R"', '"Slow"')
    slow, next_one = host(text + rule("pass"), "--limit", "0.5")["verdicts"]
    assert (slow["rule"], slow["why"]) == ("Slow", "took longer than 0.5 s")
    assert (next_one["rule"], next_one["state"]) == ("R", "clear")


def test_only_the_rules_asked_for_are_evaluated(host):
    text = rule("raise ValueError").replace('"R"', '"Bad"').replace("R(", "Bad(") + rule("pass")
    assert [v["rule"] for v in host(text, "--only", "R")["verdicts"]] == ["R"]
