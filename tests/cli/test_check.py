# SPDX-License-Identifier: Apache-2.0
"""`footplate check`: what held a run back, in every format, with other parameters, as a gate."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import pytest

# A GPU that idles three minutes in four, and one that never does, on two nodes.
SCENE = """scene 1
node good cores=8 gpus=1
node bad cores=8 gpus=1
interval 500ms
good cpu.util total 0s..1000s 40
bad cpu.util total 0s..1000s 40
good gpu.util gpu0 0s..1000s 95
bad gpu.util gpu0 0s..1000s 30
"""

KEYS = {
    "rule",
    "state",
    "why",
    "severity",
    "triggered",
    "violations",
    "datapoints",
    "last_triggered_ns",
    "params",
    "lost_s",
    "lost_share",
    "lost_gpu_s",
    "lost_cost",
    "findings",
}
FINDING_KEYS = {
    "node",
    "entity",
    "start_ns",
    "end_ns",
    "message",
    "numbers",
    "advice",
    "lost_s",
    "explained_by",
}


@pytest.fixture(scope="module")
def scene(footplate, tmp_path_factory) -> Path:
    """A folder of runs with one that was made from the scene."""
    import subprocess

    folder = tmp_path_factory.mktemp("scene")
    (folder / "made.scene").write_text(SCENE)
    done = subprocess.run(
        [footplate, "import", folder / "made.scene", "-o", folder / "runs" / "made"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "runs"


@pytest.fixture
def check(run_fp, scene):
    """Runs check on the scene; returns what the program left."""

    def call(*words):
        return run_fp("check", "made", *words, env=os.environ | {"FOOTPLATE_DIR": str(scene)})

    return call


def rule_of(done, name: str) -> dict:
    (found,) = [r for r in json.loads(done.stdout) if r["rule"] == name]
    return found


def test_the_json_has_every_rule_with_the_keys_that_others_read(run_fp, check):
    done = check("--json")
    assert done.returncode == 0 and done.stderr == ""
    listed = [r["rule"] for r in json.loads(run_fp("rules", "--json").stdout)]
    verdicts = json.loads(done.stdout)
    assert sorted(v["rule"] for v in verdicts) == sorted(listed)
    for v in verdicts:
        assert v.keys() >= KEYS
        assert v["state"] in ("issue", "clear", "not_evaluated")
        assert v["severity"] in ("info", "warning", "critical")
        assert (v["state"] == "issue") == bool(v["findings"])
        assert v["why"] or v["state"] != "not_evaluated"
        for f in v["findings"]:
            assert f.keys() >= FINDING_KEYS
            assert f["message"] and f["numbers"] and f["advice"]


def test_the_bad_node_is_found_with_its_size_and_the_good_one_is_not(check):
    found = rule_of(check("--json"), "LowGPUUtilization")
    (finding,) = found["findings"]
    assert (finding["node"], finding["entity"]) == ("bad", "gpu0")
    assert finding["numbers"]["gpu_p95"] == 30 and finding["units"]["gpu_p95"] == "%"
    assert finding["ranges"] and finding["start_ns"] == finding["ranges"][0]["start_ns"]
    assert found["severity"] == "critical"
    assert found["lost_gpu_s"] == pytest.approx(0.7 * 500, rel=0.02)  # 500 s are patience
    assert found["lost_cost"] is None


def test_the_same_run_gives_the_same_bytes(check):
    for words in (["--json"], ["--csv"], []):
        assert check(*words).stdout == check(*words).stdout


def test_findings_at_the_end_of_a_recording_are_to_the_byte_those_of_check(run_fp, train, tmp_path):
    """Growing runs: unit/rules/test_evaluation.c; the server: serve/test_api.py."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("FOOTPLATE_")}
    words = ["--dir", tmp_path, "--interval", "50ms", "--", train, "--seconds", "3"]
    done = run_fp("run", *words, env=env | {"FOOTPLATE_NVML": "/nonexistent.so"}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*/findings.json")
    recorded = path.read_text().partition('  "rules": ')[2].rpartition("\n}")[0]
    found = run_fp("check", path.parent, "--json").stdout
    assert '"state": "clear"' in found and '"state": "not_evaluated"' in found
    assert recorded.replace("\n  ", "\n") + "\n" == found


def test_people_read_the_finding_first_then_what_is_clear_and_what_was_not_evaluated(check):
    lines = check().stdout.splitlines()
    assert lines[0].startswith("made: ")
    issue = next(
        i
        for i, text in enumerate(lines)
        if text.startswith("Low GPU utilization (LowGPUUtilization): ")
    )
    assert "critical" in lines[issue] and "lost" in lines[issue]
    assert lines[issue + 1].startswith("  bad: gpu0 was underused: ")
    labels = [text.split()[0] for text in lines[issue + 2 : issue + 5]]
    assert labels[:2] == ["when", "lost"] and "fix" in labels
    assert issue < lines.index("passed") < lines.index("skipped")
    assert any(
        text.startswith("  Slow steps (StepOutlier) ") and "no training steps were detected" in text
        for text in lines
    )


def test_csv_has_a_line_for_each_finding_and_one_for_each_rule_without(check):
    rows = list(csv.DictReader(io.StringIO(check("--csv").stdout)))
    verdicts = json.loads(check("--json").stdout)
    assert len(rows) == sum(max(len(v["findings"]), 1) for v in verdicts)
    (low,) = [r for r in rows if r["rule"] == "LowGPUUtilization"]
    assert (low["state"], low["severity"], low["node"]) == ("issue", "critical", "bad")


def test_a_parameter_can_be_set_in_either_way_of_writing_it(check):
    for text in (
        "LowGPUUtilization.threshold_p95=20",
        "ProfilerReport.LowGPUUtilization_threshold_p95=20",
    ):
        found = rule_of(check("--json", "--set", text), "LowGPUUtilization")
        assert found["state"] == "clear" and found["params"]["threshold_p95"] == 20


def test_points_can_be_given_as_time_and_are_shown_as_such(check):
    words = ["--set", "LowGPUUtilization.patience=0s", "--set", "LowGPUUtilization.window=30s"]
    found = rule_of(check("--json", *words), "LowGPUUtilization")
    assert found["params"]["window"] == "30s" and found["datapoints"] == 2000


def test_only_the_rules_asked_for_are_shown(check):
    done = check("--json", "--rule", "UnusedGPU", "--rule", "LowGPUUtilization")
    assert [v["rule"] for v in json.loads(done.stdout)] == ["LowGPUUtilization", "UnusedGPU"]


@pytest.mark.parametrize(
    "words, status",
    [
        (["--fail-on", "critical"], 3),
        (["--fail-on", "warning"], 3),
        (["--fail-on", "issue"], 3),
        (["--fail-on", "info", "--rule", "UnusedGPU"], 0),
        (["--fail-on", "critical", "--set", "LowGPUUtilization.threshold_p95=20"], 0),
        ([], 0),
    ],
)
def test_an_issue_at_or_above_the_limit_ends_with_status_3(check, words, status):
    only = [] if "--rule" in words else ["--rule", "LowGPUUtilization"]
    done = check(*words, *only)
    assert done.returncode == status and done.stdout
    assert done.stderr.startswith(f"footplate: {' '.join(words)}: met: 1 issue") == (status == 3)
    assert done.stderr.count("\n") == (status == 3)


def test_documented_rules_that_are_not_supported_are_accepted_and_said_to_be_so(check):
    words = ("--rule", "TensorVariance", "--rule", "ExplodingTensor")
    named = json.loads(check(*words, "--json").stdout)
    assert {v["rule"]: v["state"] for v in named} == {
        "NonFinite": "not_evaluated",
        "TensorVariance": "not_evaluated",
    }
    assert [v["why"] for v in named if v["rule"] == "TensorVariance"] == ["not supported yet"]
    done = check("--set", "Confusion.min_diag=0.9", "--set", "DeadRelu.tensor_regex=.*relu_output")
    assert "Confusion (Confusion)" in done.stdout and "not supported yet" in done.stdout
    assert "not supported yet" not in check().stdout


def test_parameters_of_a_renamed_rule_are_those_of_the_rule_here(check):
    words = ["--set", "WeightUpdateRatio.small_threshold=1e-9", "--set", "AllZero.threshold=90"]
    words += ["--set", "WeightUpdateRatio.large_threshold=0.5"]
    of = {v["rule"]: v["params"] for v in json.loads(check(*words, "--json").stdout)}
    assert of["UpdateTooSmall"]["small_threshold"] == 1e-9
    assert of["UpdateTooLarge"]["large_threshold"] == 0.5
    assert of["ZeroGradient"]["threshold"] == 90


def test_documented_parameters_are_accepted_with_their_documented_values(check):
    words = ["--set", "LossNotDecreasing.num_steps=10"]
    words += ["--set", "AllZero.collection_names=weights,biases,AllZero.threshold=80"]
    words += ["--set", "StalledTraining.base_trial=a,StalledTraining.stop_training_on_fire=True"]
    words += ["--set", "StalledTraining.training_job_name_prefix=job"]
    words += ["--rule", "LossNotDecreasing", "--rule", "AllZero", "--rule", "StalledTraining"]
    of = {v["rule"]: v["params"] for v in json.loads(check(*words, "--json").stdout)}
    assert of["LossNotDecreasing"]["num_steps"] == 10
    assert of["ZeroGradient"]["threshold"] == 80
    assert set(of["StalledTraining"]) == {"threshold", "factor"}


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--set", "LossNotDecreasing.num_steps=0"], "0 is out of range (1 to "),
        (["--set", "LowGPU.window=5"], "unknown rule 'LowGPU'"),
        (["--set", "LowGPUUtilization.windw=5"], "LowGPUUtilization has no parameter 'windw'; its"),
        (["--set", "LowGPUUtilization.threshold_p5=300"], "300 is out of range (0 to 100 %)"),
        (["--set", "LowGPUUtilization.threshold_p5=3s"], "'3s' is not a number in %"),
        (["--set", "LowGPUUtilization"], "'LowGPUUtilization' is not "),
        (["--rule", "CPUBottlenek"], "did you mean CPUBottleneck? All rules: "),
        (["--fail-on", "often"], "'often' is not one of: info, warning, critical, issue"),
        (["--format", "sagemaker"], "--format sagemaker requires -o DIR"),
        (["--format", "sagemaker", "--json"], "--format cannot be combined with --json or --csv"),
        (["--json", "--csv"], "--json and --csv cannot be combined"),
    ],
)
def test_what_does_not_exist_gets_one_sentence_and_nothing_is_evaluated(check, words, sentence):
    done = check(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("footplate: ") and done.stderr.count("\n") == 1
    assert sentence in done.stderr


def test_sagemaker_files_have_the_envelope_and_the_parameters_in_their_order(check, tmp_path):
    done = check("--format", "sagemaker", "-o", tmp_path / "out")
    assert done.returncode == 0 and done.stdout == ""
    low = json.loads((tmp_path / "out" / "LowGPUUtilization.json").read_text())
    assert list(low) == ["RuleTriggered", "Violations", "Details", "Datapoints", "RuleParameters"]
    assert low["RuleParameters"] == "threshold_p95:70\nthreshold_p5:10\nwindow:500\npatience:1000"
    assert low["Details"]["bad"]["gpu0"]["gpu_95"] == 30
    assert low["RuleTriggered"] == low["Violations"] > 0
    assert low["Details"]["last_timestamp"] > 10**15
    assert not (tmp_path / "out" / "StepOutlier.json").exists()


def test_nothing_is_written_into_the_run(check, scene):
    def state():
        return sorted((p, p.stat().st_mtime_ns) for p in scene.rglob("*"))

    before = state()
    check("--json")
    check()
    assert state() == before


def test_a_real_run_without_gpu_and_steps_says_what_is_missing(fp):
    verdicts = {v["rule"]: v for v in json.loads(fp("check", "last", "--json"))}
    assert verdicts["LowGPUUtilization"]["why"] == "no GPU was recorded"
    assert verdicts["StepOutlier"]["why"] == "no training steps were detected"
    assert all(v["state"] != "issue" or v["findings"] for v in verdicts.values())


BUSY_NODE = """scene 1
node a cores=8 gpus=1 memory=64GiB
a cpu.util total 0s..600s 95
a cpu.util cpu*  0s..600s 97
a gpu.util gpu0  0s..600s 3 for 20s, 60 for 2s
rank 0 on a: steps 1000 x 500ms from 20s data=41% forward=20% backward=30%
rank 0 on a: eval 20 x 100ms every 100
job 0s..600s exit 0
"""


def test_a_bottleneck_shows_in_which_phases_it_was(run_fp, tmp_path):
    scene = tmp_path / "busy.scene"
    scene.write_text(BUSY_NODE)
    assert run_fp("import", scene, "-o", tmp_path / "busy").returncode == 0
    told = json.loads(run_fp("check", tmp_path / "busy", "--json").stdout)
    (verdict,) = [v for v in told if v["rule"] == "CPUBottleneck"]
    (pie,) = [p for p in verdict["plots"] if p["title"] == "Phases on a at that time"]
    shown = {row["label"]: row["v"][0] for row in pie["rows"]}
    (finding,) = verdict["findings"]
    shares = {s["name"]: 100 * s["share"] for s in finding["shares"] if s["what"] == "phase"}
    assert shown == pytest.approx(shares) and set(shown) >= {"train", "eval"}
    assert sum(shown.values()) == pytest.approx(100, abs=0.1)


# ---- causes before symptoms ----

RULES = Path(__file__).resolve().parents[1] / "rules"


def verdicts_of(footplate, made_of: Path, folder: Path) -> list[dict]:
    import subprocess

    for words in (["import", made_of, "-o", folder / "run"], ["check", folder / "run", "--json"]):
        done = subprocess.run([footplate, *words], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_cause(verdict: dict) -> bool:
    return any(not f["explained_by"] for f in verdict["findings"])


def test_causes_come_first_then_what_they_explain_then_the_rest(footplate, tmp_path):
    got = verdicts_of(footplate, RULES / "checkpoint_stall" / "explains.scene", tmp_path)
    assert got[0]["rule"] == "CheckpointStall"
    kinds = [(v["state"], v["state"] == "issue" and not is_cause(v)) for v in got]
    order = [("issue", False), ("issue", True), ("clear", False), ("not_evaluated", False)]
    assert [order.index(k) for k in kinds] == sorted(order.index(k) for k in kinds)
    for v in got:
        if v["state"] == "issue" and not is_cause(v):
            assert v["severity"] == "info"


def test_a_symptom_is_listed_once_below_its_cause(footplate, run_fp, tmp_path):
    verdicts_of(footplate, RULES / "checkpoint_stall" / "explains.scene", tmp_path)
    text = run_fp("check", tmp_path / "run").stdout
    for name in ("Batch size (BatchSize)", "Low GPU utilization (LowGPUUtilization)"):
        assert text.count(f"    explains  {name}: info") == 1
        assert f"\n{name}: " not in text
    assert text.index("(CheckpointStall): ") < text.index("explains  Batch size")
    # Alone it is shown in full, and says what explains it.
    alone = run_fp("check", tmp_path / "run", "--rule", "BatchSize").stdout
    assert "(BatchSize): " in alone and "explained by Checkpoint time" in alone


def test_lost_shares_of_causes_add_up_to_the_loop_at_most(footplate, tmp_path):
    got = verdicts_of(footplate, RULES / "example" / "two_causes.scene", tmp_path)
    causes = {v["rule"]: v for v in got if is_cause(v) and v["lost_share"] is not None}
    assert causes.keys() == {"CPUBottleneck", "EvalHeavy"}
    assert sum(v["lost_share"] for v in causes.values()) == pytest.approx(1)
    assert causes["CPUBottleneck"]["lost_share"] == pytest.approx(0.7, abs=0.01)
    # What was measured stands beside it.
    assert causes["EvalHeavy"]["findings"][0]["lost_s"] == pytest.approx(400, rel=0.01)
    assert causes["EvalHeavy"]["lost_s"] == pytest.approx(300, rel=0.03)


# ---- a job of SageMaker ----


def reading(at: float, kind: str, name: str, dimension: str, value: float) -> str:
    return json.dumps(
        {
            "Type": kind,
            "Name": name,
            "Dimension": dimension,
            "Value": value,
            "NodeId": "algo-1",
            "Timestamp": at,
        }
    )


def sagemaker_job(folder: Path) -> Path:
    """Two GPUs that wait for one busy core, as SageMaker's profiler writes it: no occupancy."""
    start = 1_700_000_000
    path = folder / "system" / "incremental" / "2023111422"
    path.mkdir(parents=True)
    for minute in range(10):
        lines = []
        for half in range(120):
            at = start + minute * 60 + half / 2
            for core in range(8):
                busy = core == 0 and half % 4 > 0
                lines.append(reading(at, "cpu", f"cpu{core}", "CPUUtilization", 97 if busy else 20))
            for gpu in ("gpu0", "gpu1"):
                lines.append(reading(at, "gpu", gpu, "GPUUtilization", 6))
                lines.append(reading(at, "gpu", gpu, "GPUMemoryUtilization", 4))
        name = f"{start + minute * 60 + 60}.algo-1.json"
        (path / name).write_text("\n".join(lines) + "\n")
    return folder


def check_sagemaker(got: list[dict]) -> None:
    by_rule = {v["rule"]: v for v in got}
    assert got[0]["rule"] == "CPUBottleneck" and is_cause(got[0])
    for name in ("BatchSize", "LowGPUUtilization"):
        v = by_rule[name]
        assert v["state"] == "issue" and v["severity"] == "info"
        assert all(f["explained_by"] == ["CPUBottleneck"] for f in v["findings"])
    message = by_rule["BatchSize"]["findings"][0]["message"]
    assert "memory controller activity (memory use was not recorded)" in message
    assert by_rule["GPUMemoryIncrease"]["state"] == "clear"
    assert by_rule["LoadBalancing"]["state"] == "clear"


def test_a_job_of_sagemaker_is_judged_by_what_it_recorded(footplate, tmp_path):
    check_sagemaker(verdicts_of(footplate, sagemaker_job(tmp_path / "job"), tmp_path))
