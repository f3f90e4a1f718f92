# SPDX-License-Identifier: Apache-2.0
"""`footplate rules`: the catalogue, in every format and in the documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Names and parameters that users of SageMaker Debugger know.
KNOWN = {
    "BatchSize": [
        "cpu_threshold_p95",
        "gpu_threshold_p95",
        "gpu_memory_threshold_p95",
        "patience",
        "window",
    ],
    "CPUBottleneck": ["threshold", "gpu_threshold", "cpu_threshold", "patience"],
    "Dataloader": ["min_threshold", "max_threshold"],
    "GPUMemoryIncrease": ["increase", "patience", "window"],
    "IOBottleneck": ["threshold", "gpu_threshold", "io_threshold", "patience"],
    "LoadBalancing": ["threshold", "patience"],
    "LowGPUUtilization": ["threshold_p95", "threshold_p5", "window", "patience"],
    "MaxInitializationTime": ["threshold"],
    "OverallSystemUsage": [],
    "OverallFrameworkMetrics": [],
    "StepOutlier": ["stddev", "mode", "n_outliers"],
}


def catalogue(run_fp) -> dict[str, dict]:
    return {r["rule"]: r for r in json.loads(run_fp("rules", "--json").stdout)}


def test_every_rule_says_what_it_is_and_what_it_takes(run_fp):
    for rule in catalogue(run_fp).values():
        assert rule["description"].endswith(".")
        assert rule["recommendation"].endswith(".") or rule["summary"]
        assert set(rule["needs"]) <= {"system metrics", "a GPU", "steps"}
        for p in rule["params"]:
            assert p.keys() >= {"name", "default", "min", "max", "unit", "help"}
            if p["min"] is not None:
                assert p["min"] <= p["default"] <= p["max"]


def test_rules_have_the_parameters_that_users_know(run_fp):
    rules = catalogue(run_fp)
    for name, params in KNOWN.items():
        assert {p["name"] for p in rules[name]["params"]} >= set(params)


def test_defaults_are_the_documented_ones(run_fp):
    rules = catalogue(run_fp)

    def default(rule: str, param: str):
        return {p["name"]: p["default"] for p in rules[rule]["params"]}[param]

    assert default("BatchSize", "gpu_memory_threshold_p95") == 70
    assert default("CPUBottleneck", "threshold") == 50
    assert default("CPUBottleneck", "patience") == 1000
    assert default("GPUMemoryIncrease", "increase") == 5
    assert default("LoadBalancing", "threshold") == 0.2
    assert default("MaxInitializationTime", "threshold") == 20
    assert default("StepOutlier", "stddev") == 3


def test_the_table_names_every_rule(run_fp):
    names = [line.split()[0] for line in run_fp("rules").stdout.splitlines()[1:]]
    assert names == list(catalogue(run_fp))


def test_one_rule_is_shown_in_full(run_fp):
    done = run_fp("rules", "CPUBottleneck")
    rule = catalogue(run_fp)["CPUBottleneck"]
    assert rule["description"] in done.stdout and rule["recommendation"] in done.stdout
    for p in rule["params"]:
        assert re.search(rf"^{p['name']} .*{re.escape(p['help'])}$", done.stdout, re.MULTILINE)
    assert len(json.loads(run_fp("rules", "CPUBottleneck", "--json").stdout)) == 1


def test_a_rule_that_does_not_exist_is_refused_with_those_that_do(run_fp):
    done = run_fp("rules", "LowGPUUtilisation")
    assert done.returncode == 2 and done.stdout == ""
    assert "did you mean LowGPUUtilization? All rules: BatchSize, CPUBottleneck" in done.stderr


def test_the_documentation_has_what_the_program_prints(run_fp):
    text = run_fp("rules", "--markdown").stdout
    assert text.count("## ") == len(catalogue(run_fp))
    assert text in (ROOT / "docs" / "rules.md").read_text(), (
        "docs/rules.md is stale: put what `footplate rules --markdown` prints behind its first part"
    )


def test_the_documentation_says_which_rules_need_a_gpu_or_steps(run_fp):
    text = (ROOT / "docs" / "rules.md").read_text()
    table = text.split("| rule | title | GPU | steps |")[1].split("\n\n")[0]
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    expected = [
        [
            r["rule"],
            r["title"],
            "yes" if "a GPU" in r["needs"] else "",
            "yes" if "steps" in r["needs"] else "",
        ]
        for r in catalogue(run_fp).values()
    ]
    assert [row[:4] for row in rows] == expected


def test_no_key_of_a_number_is_a_label_or_a_title(run_fp):
    for r in catalogue(run_fp).values():
        assert "_" not in r["title"] and r["title"][0].isupper(), r["rule"]
        assert len(r["title"].split()) <= 4, r["title"]
        for p in r["params"]:
            assert p["default_text"] and "_" not in p["help"], p["name"]
