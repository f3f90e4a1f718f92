# SPDX-License-Identifier: Apache-2.0
"""Every scene of tests/rules, imported and checked: what it expects of the rules must come out.

    expect RULE STATE [node N] [entity E] [findings N] [violations N] [severity S] [says TEXT]
                      [silent TEXT] [explained RULE] [cause yes] [lost SECONDS] [basis WORD]
    expect nothing else      no other rule finds an issue
    set RULE.PARAM=VALUE     as `footplate check --set`

`says` looks at everything that the verdict says: why, messages, advice, remarks; `silent` is its
opposite. `explained` is said of all of its findings, and so is `cause`: none is explained.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "rules"
SCENES = sorted(FOLDER.glob("*/*.scene"))


def words(scene: Path, kind: str) -> list[list[str]]:
    lines = [shlex.split(line, comments=True) for line in scene.read_text().splitlines()]
    return [line[1:] for line in lines if line and line[0] == kind]


def said(verdict: dict) -> str:
    texts = [verdict["why"] or "", *verdict.get("remarks", [])]
    for finding in verdict["findings"]:
        texts += [finding["message"], finding.get("advice") or ""]
    return "\n".join(texts)


def matches(verdict: dict, key: str, value: str) -> bool:
    findings = verdict["findings"]
    match key:
        case "node" | "entity":
            return any(f[key] == value for f in findings)
        case "findings":
            return len(findings) == int(value)
        case "violations":
            return verdict["violations"] == int(value)
        case "severity":
            return verdict["severity"] == value
        case "explained":
            return all(value in f["explained_by"] for f in findings)
        case "cause":
            return all(f["explained_by"] == [] for f in findings)
        case "lost":
            return abs(verdict["lost_s"] - float(value)) < 0.01 * float(value)
        case "basis":
            return all(f["basis"] == value for f in findings)
        case "says":
            return value in said(verdict)
        case "silent":
            return value not in said(verdict)
    raise ValueError(f"no such word: {key}")


PRIVATE = re.compile(
    r"\b(told|nobody|whoever|somebody|stands?|lives|goes on|for ever|in all|on the mean|is no|"
    r"snapshots?|sweeps?|stretch(es)?|data points?|under-used|held down)\b"
)


def check_words(v: dict) -> None:
    """What people read has labels, units and plain words; keys are for programs."""
    assert v["state_text"] == {"clear": "passed", "not_evaluated": "skipped"}.get(
        v["state"], "issue"
    )
    for f in v["findings"]:
        assert f["labels"] and set(f["labels"]) <= set(f["numbers"]), v["rule"]
        assert all("_" not in x or "num_workers" in x for x in f["labels"].values()), f["labels"]
        assert f["labels"].get("climb_r2") is None
    texts = [v["why"], v["description"], v["recommendation"], *v["remarks"]]
    texts += [f[k] or "" for f in v["findings"] for k in ("message", "advice", "refute")]
    for text in texts:
        assert not PRIVATE.search(text), text
        assert v["rule"] == "LoadBalancing" or not re.search(r"threshold [\d.]+\)", text), text


def test_every_rule_has_scenes(run_fp):
    rules = json.loads(run_fp("rules", "--json").stdout)
    told = {line[0] for scene in SCENES for line in words(scene, "expect")}
    programs = (Path(__file__).parent.parent / "trial/health_scenes.py").read_text()
    others = {r["rule"] for r in rules} - {"ProfilerReport"} - told
    health = {name for name in others if f'"{name}"' in programs}  # have programs instead
    unit = (Path(__file__).parent.parent / "unit/rules/test_health_rules.c").read_text()
    assert {name for name in others - health if f'"{name}"' not in unit} == set()


@pytest.mark.parametrize("scene", SCENES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_scene_is_judged_as_it_expects(footplate, scene, tmp_path):
    run = tmp_path / "run"
    env = os.environ | {"FOOTPLATE_DIR": str(tmp_path)}
    subprocess.run(
        [footplate, "import", str(scene), "-o", str(run)],
        check=True,
        capture_output=True,
        env=env,
        timeout=120,
    )
    settings = [f"--set={w[0]}" for w in words(scene, "set")]
    done = subprocess.run(
        [footplate, "check", str(run), "--json", *settings],
        capture_output=True,
        text=True,
        env=env,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    verdicts = {v["rule"]: v for v in json.loads(done.stdout)}
    expected = words(scene, "expect")
    assert expected, "the scene expects nothing"
    for rule, state, *pairs in expected:
        if (rule, state) == ("nothing", "else"):
            others = {r for r, v in verdicts.items() if v["state"] == "issue"}
            assert others <= {e[0] for e in expected}
            continue
        v = verdicts[rule]
        text = json.dumps(v, indent=1)
        assert v["state"] == state, text
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            assert matches(v, key, value), f"{key} {value}: {text}"
    for v in verdicts.values():
        check_words(v)


def check_json(footplate: str, scene: Path, run: Path) -> dict[str, dict]:
    env = os.environ | {"FOOTPLATE_DIR": str(run.parent)}
    for command in (["import", str(scene), "-o", str(run)], ["check", str(run), "--json"]):
        done = subprocess.run(
            [footplate, *command], capture_output=True, text=True, env=env, timeout=120
        )
        assert done.returncode == 0, done.stderr
    return {v["rule"]: v for v in json.loads(done.stdout)}


def test_the_example_of_the_documentation_is_judged_as_it_says(footplate, tmp_path):
    text = (FOLDER.parents[1] / "docs" / "scenes.md").read_text()
    scene = tmp_path / "slow-loader.scene"
    scene.write_text(text.split("```scene\n")[1].split("```")[0])
    verdict = check_json(footplate, scene, tmp_path / "run")["Dataloader"]
    said_there = [line.strip() for line in text.splitlines() if "a: loader wait" in line]
    assert said_there == ["a: " + verdict["findings"][0]["message"] + "."]
    head = f"(Dataloader): {verdict['severity']}, 3 min 25 s lost, 40.5 % of the training loop"
    assert head in text
    assert abs(verdict["lost_s"] - 205) < 0.5
    assert abs(verdict["lost_share"] - 0.405) < 0.0006


def test_a_finding_says_what_each_rank_was_doing_then(footplate, tmp_path):
    scene = FOLDER / "step_outlier" / "ranks_together.scene"
    findings = check_json(footplate, scene, tmp_path / "run")["StepOutlier"]["findings"]
    for rank, finding in enumerate(findings):
        shares = {(s["what"], s["name"]): s for s in finding["shares"]}
        assert all(s["rank"] == rank for s in finding["shares"])
        assert abs(shares["phase", "train"]["share"] - 1) < 0.001
        assert abs(shares["event", "comm"]["share"] - 0.75) < 0.001
        assert abs(shares["event", "comm"]["seconds"] - 30) < 0.1


def test_the_same_run_gives_the_same_bytes(footplate, tmp_path):
    scene, run = FOLDER / "example" / "first.scene", tmp_path / "run"
    check_json(footplate, scene, run)
    first, second = (
        subprocess.run([footplate, "check", str(run), "--json"], capture_output=True, timeout=60)
        for _ in range(2)
    )
    assert first.stdout == second.stdout != b""


def test_a_scene_that_cannot_be_read_leaves_nothing_behind(footplate, tmp_path):
    scene = tmp_path / "bad.scene"
    scene.write_text("scene 1\nnode a\na cpu.utl 0s..5s 3\n")
    done = subprocess.run(
        [footplate, "import", str(scene), "-o", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "line 3: unknown metric 'cpu.utl'; did you mean cpu.util?" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["bad.scene"]


@pytest.mark.parametrize(
    ("scene", "rank", "part"),
    [
        ("straggler/between", " of rank 0", "between steps"),
        ("straggler/busy_in_backward", " of rank 2", "backward"),
        ("time_between_steps/fires", "", "between steps"),
        ("slow_storage/fires", "", "data"),
        ("step_outlier/fires", "", "data"),
    ],
)
def test_show_points_at_the_part_of_the_step_that_its_finding_is_about(
    footplate, tmp_path, scene, rank, part
):
    run = tmp_path / "run"
    for words in (["import", FOLDER / f"{scene}.scene", "-o", run], ["show", run]):
        done = subprocess.run([footplate, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    answer = done.stdout.split("\n\n")[0]
    assert re.search(rf"^  iteration .* iterations{rank}; mean of each part: ", answer, re.M)
    assert re.findall(r"^    (.+?)  .*  <-- here$", answer, re.M) == [part]
