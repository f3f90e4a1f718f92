# SPDX-License-Identifier: Apache-2.0
"""Rules that users write: limits in footplate.yaml, classes in Python."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("FOOTPLATE_PYTHON") or ROOT / "build" / "release" / "python")

# gpu0 idles for 300 s of 600, in two intervals; gpu1 never does.
SCENE = """scene 1
node a cores=8 gpus=2 memory=64GiB
interval 500ms
* cpu.util total 0s..600s 40
* gpu.util gpu0 0s..100s 90
* gpu.util gpu0 100s..220s 5
* gpu.util gpu0 220s..400s 90
* gpu.util gpu0 400s..580s 8
* gpu.util gpu0 580s..600s 90
* gpu.util gpu1 0s..600s 80
"""

GOOD = """
from footplate.rules import Finding, Param, Rule

class Idle(Rule):
    name = "Idle"
    description = "Idle GPUs."
    recommendation = "Give it work."
    severity = "critical"
    params = {"below": Param(40, 0, 100, "%", "idle below this")}
    needs = ["gpu.util"]

    def check(self, run):
        for s in run.series("gpu.util"):
            if s.mean() < self.p["below"]:
                yield Finding(
                    f"{s.entity} idles",
                    s.node,
                    s.entity,
                    ranges=[(s.t_ns[0], s.t_ns[-1])],
                    numbers={"mean": (s.mean(), s.unit)},
                    lost_s=12.5,
                )
"""


@pytest.fixture(scope="module")
def imported(footplate, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("custom")
    scene = folder / "run.scene"
    scene.write_text(SCENE)
    subprocess.run(
        [footplate, "import", scene, "-o", folder / "run"], check=True, capture_output=True
    )
    return folder / "run"


@pytest.fixture
def check(footplate, imported, tmp_path):
    """Runs check in a folder of its own."""

    def call(*words, status=0) -> subprocess.CompletedProcess:
        env = {k: v for k, v in os.environ.items() if not k.startswith("FOOTPLATE")}
        env["FOOTPLATE_HOOKS"] = str(PACKAGE / "footplate" / "_bootstrap")
        done = subprocess.run(
            [footplate, "check", str(imported), *map(str, words)],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == status, done.stderr
        return done

    return call


@pytest.fixture
def verdicts(check):
    def call(*words) -> dict:
        return {v["rule"]: v for v in json.loads(check("--json", *words).stdout)}

    return call


# ---- limits ----


def limit(text: str) -> list[str]:
    return ["--custom-rule", text]


def test_a_limit_that_is_passed_for_long_enough_is_an_issue(verdicts, tmp_path):
    (tmp_path / "footplate.yaml").write_text(
        "custom-rules:\n"
        "  - name: GpuIdle\n"
        "    metric: gpu.util\n"
        "    window: 10s\n"
        "    below: 20\n"
        "    for: 150s\n"
        "    severity: critical\n"
        "    message: It idles\n"
        "    recommendation: Feed it\n"
    )
    told = verdicts()
    v = told["GpuIdle"]
    assert v["state"] == "issue" and v["custom"] is True and v["severity"] == "critical"
    assert "custom" not in told["BatchSize"]
    (f,) = v["findings"]
    assert (f["node"], f["entity"]) == ("a", "gpu0")
    (held,) = f["ranges"]  # of the two intervals only the second is long enough
    assert held["end_ns"] - held["start_ns"] == 180 * 10**9
    assert f["numbers"] == {"worst": 8, "limit": 20, "held": 180}
    assert f["message"].startswith("It idles: gpu.util of gpu0: the mean over 10.0 s was below 20")
    assert f["advice"] == "Feed it"


def test_both_intervals_count_when_they_are_long_enough(verdicts):
    words = limit("name: X, metric: gpu.util, window: 10s, below: 20, for: 120s")
    (f,) = verdicts(*words)["X"]["findings"]
    assert [(r["end_ns"] - r["start_ns"]) // 10**9 for r in f["ranges"]] == [120, 180]
    assert f["numbers"]["worst"] == 5


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("below: 20, for: 181s", "clear"),
        ("below: 20, for: 180s", "issue"),
        ("above: 89, aggregate: max", "issue"),
        ("above: 90, aggregate: max", "clear"),
        ("below: 5, aggregate: min", "clear"),
        ("below: 6, aggregate: min, entity: gpu0", "issue"),
        ("below: 6, aggregate: min, entity: gpu1", "clear"),
        ("below: 6, aggregate: p95, entity: each", "issue"),
        ("below: 20, window: 11min", "not_evaluated"),
        ("below: 20, entity: gpu7", "not_evaluated"),
    ],
)
def test_a_limit_says_what_it_says(verdicts, text, state):
    window = "" if "window" in text else ", window: 10s"
    words = limit(f"name: X, metric: gpu.util, {text}{window}")
    v = verdicts(*words)["X"]
    assert v["state"] == state
    assert bool(v["findings"]) == (state == "issue")
    assert bool(v["why"]) == (state == "not_evaluated")


def test_a_metric_that_was_not_recorded_is_not_evaluated(verdicts):
    v = verdicts(*limit("name: X, metric: gpu.temp, above: 90"))["X"]
    assert v["state"] == "not_evaluated" and "gpu.temp was not recorded" in v["why"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("metric: gpu.util, above: 1", "a custom rule needs a name"),
        ("name: X, above: 1", "X: 'metric' is required"),
        ("name: X, metric: gpu.util", "X: a limit is required, either 'above' or 'below'"),
        ("name: X, metric: gpu.util, above: 1, below: 2", "either 'above' or 'below'"),
        (
            "name: X, metric: gpu.util, abov: 1",
            "unknown key 'abov' in a custom rule (did you mean 'above'?)",
        ),
        ("name: X, metric: gpu.util, above: much", "above: 'much' is not a number"),
        ("name: X, metric: gpu.util, above: 1, for: soon", "for: "),
        ("name: X, metric: gpu.util, above: 1, window: 0s", "window: "),
        ("name: X, metric: m, above: 1, aggregate: sum", "'sum' is not one of mean, max, min, p95"),
        (
            "name: X, metric: m, above: 1, severity: bad",
            "'bad' is not one of info, warning, critical",
        ),
        ("name: BatchSize, metric: m, above: 1", "rule 'BatchSize' already exists"),
        ("name: a b, metric: m, above: 1", "'a b' is not a valid name"),
    ],
)
def test_a_limit_that_is_wrong_ends_the_check_with_a_sentence(check, text, says):
    done = check(*limit(text), status=2)
    assert "--custom-rule: " in done.stderr and says in done.stderr
    assert done.stdout == ""


def test_what_is_wrong_in_the_file_is_named_with_its_line(check, tmp_path):
    (tmp_path / "footplate.yaml").write_text(
        "# mine\ncustom-rules:\n  - {name: A, metric: gpu.util, above: 1}\n"
        "  - {name: A, metric: gpu.util, above: 2}\n"
    )
    done = check(status=2)
    assert "footplate.yaml, line 4: custom rule 'A' is already defined" in done.stderr


def test_custom_rules_are_chosen_by_name_and_count_for_fail_on(check, verdicts):
    words = limit("name: X, metric: gpu.util, below: 20, severity: info")
    assert list(verdicts(*words, "--rule", "X")) == ["X"]
    check(*words, "--rule", "X", "--fail-on", "warning")
    check(*words, "--rule", "X", "--fail-on", "info", status=3)
    text = check(*words, "--rule", "X").stdout
    assert "X (custom rule): info" in text
    csv = check(*words, "--rule", "X", "--csv").stdout
    assert csv.splitlines()[1].startswith("X,issue,info,a,gpu0,")


def test_limits_are_evaluated_when_a_run_ends(footplate, tmp_path):
    (tmp_path / "footplate.yaml").write_text(
        "custom-rules:\n"
        "  - {name: Seen, metric: cpu.util, entity: total, window: 500ms, below: 101}\n"
        "  - {name: Bad, metric: cpu.util}\n"
    )
    env = {k: v for k, v in os.environ.items() if not k.startswith("FOOTPLATE")}
    done = subprocess.run(
        [footplate, "run", "--interval", "100ms", "--", "sleep", "2"],
        cwd=tmp_path,
        env=env | {"FOOTPLATE_NVML": "/nonexistent.so"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert "footplate.yaml, line 3: Bad: a limit is required" in done.stderr
    assert "footplate: Seen: warning" in done.stderr
    assert "  why         cpu.util of total: the mean over 500 ms was below 101" in done.stderr
    (found,) = (tmp_path / "footplate-runs").glob("*/findings.json")
    rules = {r["rule"]: r for r in json.loads(found.read_text())["rules"]}
    assert rules["Seen"]["state"] == "issue" and rules["Seen"]["custom"] is True


# ---- Python ----


@pytest.fixture
def rule_file(tmp_path):
    if not (PACKAGE / "footplate" / "rules.py").exists():
        pytest.skip(f"the Python package is not built at {PACKAGE}")

    def write(text: str, name: str = "my_rules.py") -> list[str]:
        path = tmp_path / name
        path.write_text(text)
        return ["--rule-file", str(path)]

    return write


def test_a_rule_in_python_is_a_verdict_like_the_others(verdicts, rule_file):
    told = verdicts(*rule_file(GOOD))
    v = told["Idle"]
    assert v["state"] == "clear"  # its mean is 48 %
    v = verdicts(*rule_file(GOOD), "--set", "Idle.below=60")["Idle"]
    assert v["state"] == "issue" and v["custom"] is True and v["severity"] == "critical"
    assert v["params"] == {"below": 60} and v["lost_s"] == 12.5
    (f,) = v["findings"]
    assert (f["node"], f["entity"], f["message"]) == ("a", "gpu0", "gpu0 idles")
    assert f["advice"] == "Give it work." and f["units"] == {"mean": "%"}
    assert f["end_ns"] > f["start_ns"] and len(f["ranges"]) == 1
    assert "BatchSize" in told


def test_a_rule_that_fails_is_reported_and_the_rest_goes_on(verdicts, rule_file):
    bad = """
import os, signal, time
from footplate.rules import NotEvaluated

class Base(Rule):
    needs = []

def rule(name, do):
    return type(name, (Base,), {"name": name, "check": do, "__module__": __name__})

def raises(self, run): raise ValueError("no luck")
def hangs(self, run): time.sleep(1000)
def exits(self, run): raise SystemExit(4)
def leaves(self, run): os._exit(5)
def crashes(self, run): os.kill(os.getpid(), signal.SIGSEGV)
def garbage(self, run): return [{"message": 3}]
def number(self, run): return 7
def shouts(self, run):
    print("}{ garbage", flush=True)
    os.write(1, b'{"verdicts": []}')
def unsure(self, run): raise NotEvaluated("not today")

Raises = rule("Raises", raises)
Hangs = rule("Hangs", hangs)
Exits = rule("Exits", exits)
Leaves = rule("Leaves", leaves)
Crashes = rule("Crashes", crashes)
Garbage = rule("Garbage", garbage)
Number = rule("Number", number)
Shouts = rule("Shouts", shouts)
Unsure = rule("Unsure", unsure)
Lacks = type("Lacks", (Base,), {"name": "Lacks", "needs": ["gpu.temp"], "__module__": __name__})
Last = rule("Last", lambda self, run: [])
"""
    began = time.monotonic()
    told = verdicts(*rule_file(GOOD + bad), "--rule-limit", "2s")
    assert time.monotonic() - began < 60
    says = {
        "Raises": "raised ValueError: no luck",
        "Hangs": "took longer than 2 s",
        "Exits": "raised SystemExit: 4",
        "Leaves": "its process ended with status 5",
        "Crashes": "its process was killed by SIGSEGV",
        "Garbage": "raised TypeError: check returned dict, not a Finding",
        "Number": "raised TypeError",
        "Unsure": "not today",
        "Lacks": "gpu.temp",
    }
    for name, why in says.items():
        assert told[name]["state"] == "not_evaluated", name
        assert why in told[name]["why"], told[name]["why"]
        assert told[name]["findings"] == []
    assert told["Idle"]["state"] == told["Last"]["state"] == told["Shouts"]["state"] == "clear"
    assert told["CPUBottleneck"]["state"] in ("clear", "not_evaluated")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_module", "raised ModuleNotFoundError"),
        ("def", "raised SyntaxError"),
        ("import sys; sys.exit(1)", "raised SystemExit"),
        ("import os; os._exit(9)", "its process ended with status 9"),
        ("import time; time.sleep(100)", "took longer than 1 s"),
        ("x = 1", "there is no rule in this file"),
        (GOOD + GOOD.replace("class Idle", "class Idle2"), "'Idle' is defined more than once"),
    ],
)
def test_a_file_without_rules_is_said_and_the_rest_goes_on(verdicts, rule_file, text, why):
    told = verdicts(*rule_file(text), "--rule-limit", "1s")
    assert told["my_rules.py"]["state"] == "not_evaluated"
    assert why in told["my_rules.py"]["why"]
    assert "BatchSize" in told


def test_parameters_of_rules_in_python_are_checked(check, rule_file):
    words = rule_file(GOOD)
    for text, says in [
        ("Idle.above=1", "Idle has no parameter 'above'; it has: below"),
        ("Idle.below=101", "Idle.below: 101 is out of range (0 to 100)"),
        ("Idle.below=low", "Idle.below: 'low' is not a number"),
        ("Idel.below=1", "no rule 'Idel'; the rule files have Idle"),
    ]:
        done = check(*words, "--set", text, status=2)
        assert says in done.stderr and done.stdout == ""


def test_several_files_and_names(check, verdicts, rule_file):
    two = rule_file(GOOD) + rule_file(GOOD.replace("Idle", "Other"), "other.py")
    told = verdicts(*two, "--set", "Other.below=60", "--rule", "Other")
    assert list(told) == ["Other"] and told["Other"]["state"] == "issue"
    assert "unknown rule 'Nope'" in check(*two, "--rule", "Nope", status=2).stderr


def test_a_file_that_is_not_there_is_wrong_use(check, tmp_path):
    done = check("--rule-file", tmp_path / "none.py", status=2)
    assert "none.py': No such file" in done.stderr


def test_rules_in_python_see_what_the_program_tells(verdicts, rule_file):
    text = """
from footplate.rules import Rule

class Sees(Rule):
    name = "Sees"

    def check(self, run):
        names = {v["rule"] for v in run.findings()}
        steps, stats, info = run.steps(), run.stats(), run.info()
        few = run.series("gpu.util", entity="gpu0", points=10)
        assert len(few) == 1 and len(few[0].v) <= 10 and few[0].min() == 5
        assert "BatchSize" in names and steps["steps"] == []
        assert {s["metric"] for s in stats} >= {"gpu", "cpu"}
        self.why = f"{info['nodes'][0]['cores']} cores"
"""
    v = verdicts(*rule_file(text))["Sees"]
    assert (v["state"], v["why"]) == ("clear", "8 cores")


def test_the_example_of_the_documentation_works(verdicts, rule_file):
    page = (ROOT / "docs" / "custom-rules.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    v = verdicts(*rule_file(code))["UnevenGpus"]
    assert v["state"] == "issue"
    assert v["findings"][0]["entity"] == "gpu0"
    assert verdicts(*rule_file(code), "--set", "UnevenGpus.apart=50")["UnevenGpus"]["why"] == (
        "the GPUs of each node work alike"
    )


def test_the_configuration_of_the_documentation_works(verdicts, tmp_path):
    page = (ROOT / "docs" / "custom-rules.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "footplate.yaml").write_text(text)
    told = verdicts()
    assert told["GpuIdle"]["state"] == "clear"  # three minutes, not five
    assert told["DiskBusy"]["state"] == "not_evaluated"


def test_without_the_package_the_file_is_not_evaluated(footplate, imported, rule_file):
    env = os.environ | {"FOOTPLATE_HOOKS": "/nonexistent"}
    done = subprocess.run(
        [footplate, "check", imported, *rule_file(GOOD)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "the Python package is not installed next to this program" in done.stdout
