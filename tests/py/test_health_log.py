# SPDX-License-Identifier: Apache-2.0
"""footplate.log and training health: from a job through the recorder to every reader."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
from pathlib import Path

import pytest
from pykit import PROGRAM, SCRIPTS, ask, plain_env, run_python


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    return recorded(tmp_path_factory.mktemp("health"), "log_health.py")


def recorded(folder: Path, script: str) -> Path:
    done = subprocess.run(
        [PROGRAM, "run", "--dir", folder, "--", "python3", SCRIPTS / script],
        capture_output=True,
        text=True,
        timeout=120,
        env=plain_env(),
    )
    assert done.returncode == 0, done.stderr
    return next(p for p in folder.iterdir() if (p / "run.json").exists())


def test_scalars_have_their_step_mode_and_value(run):
    health = json.loads(ask("health", run, "--json"))
    found = {(s["name"], s["mode"]): s for s in health["scalars"]}
    loss = found["loss", "train"]
    assert (loss["count"], loss["first_step"], loss["last_step"]) == (200, 0, 199)
    assert (loss["first"], loss["min"], loss["min_step"]) == (1.0, 1 / 200, 199)
    assert found["bad", "train"]["nonfinite"] == 100
    assert found["bad", "train"]["nonfinite_step"] == 0
    assert found["accuracy", "eval"]["first_step"] == 7
    assert found["tensor", "train"]["last"] == 0.5
    assert found["free", "train"]["first_step"] is not None
    assert found["pair/a", "train"]["count"] == found["pair/b", "train"]["count"] == 1


def test_what_another_thread_logs_is_not_of_the_step_that_hooks_record(tmp_path):
    run = recorded(tmp_path, "log_threads.py")
    scalars = json.loads(ask("health", run, "--json"))["scalars"]
    assert {s["name"]: (s["steps"], s["values"]) for s in scalars} == {
        "other": ([9], [9.0]),
        "own": ([5], [5.0]),
    }


def test_tensors_arrive_with_all_their_statistics(run):
    health = json.loads(ask("health", run, "--json", "--layers"))
    layers = {x["name"]: x for x in health["layers"]}
    assert len(layers) == 300
    assert layers["layer.7.weight"]["gradient_l2"] == 7.0
    assert layers["layer.7.weight"]["step"] == 100
    assert layers["layer.7.weight"]["nonfinite"] == 3
    assert layers["layer.8.weight"]["nonfinite"] == 0
    stats = {s["statistic"]: s for s in health["statistics"]}
    assert stats["gradient.l2"]["values"] == 600
    assert stats["weight.sum"]["tensors"] == 300


def test_json_has_each_value_of_a_scalar_and_the_statistics_of_a_tensor_by_kind(run):
    health = json.loads(ask("health", run, "--json"))
    (loss,) = [s for s in health["scalars"] if (s["name"], s["mode"]) == ("loss", "train")]
    assert loss["steps"] == list(range(200))
    assert loss["values"] == [1 / (step + 1) for step in range(200)]
    (bad,) = [s for s in health["scalars"] if s["name"] == "bad"]
    assert bad["values"].count(None) == 100
    kinds = {t["kind"]: t for t in health["tensors"] if t["name"] == "layer.7.weight"}
    assert (kinds["gradient"]["rank"], kinds["gradient"]["samples"]) == (0, 2)
    assert kinds["gradient"]["stats"]["l2"] == 7.0
    assert "sum" not in kinds.get("weight", {"stats": {}})["stats"]
    assert health["losses"] == []


def test_the_text_begins_with_the_verdict_and_names_the_worst_tensor(run):
    text = ask("health", run)
    assert text.splitlines()[0].startswith("Non-finite values: the gradient of layer.7.weight")
    assert "layer.7.weight" in text
    assert "loss" in text and "100 not finite, first at step 0" in text
    assert "LOSS" in ask("steps", run)
    counted = re.search(r"(\d+) health issues?, (\d+) passed, (\d+) skipped", text)
    report = ask("report", run, "--format", "text")
    assert counted and counted[0] in " ".join(report.split())


def test_csv_has_a_row_for_each_scalar_and_for_each_tensor(run):
    scalars = list(csv.DictReader(io.StringIO(ask("health", run, "--csv"))))
    rows = {(row["name"], row["mode"]): row for row in scalars}
    assert len(rows) == len(scalars)
    assert rows["loss", "train"]["count"] == "200"
    assert float(rows["loss", "train"]["last"]) == 1 / 200
    assert rows["bad", "train"]["nonfinite"] == "100"
    assert rows["accuracy", "eval"]["first_step"] == "7"
    layers = list(csv.DictReader(io.StringIO(ask("health", run, "--layers", "--csv"))))
    tensors = {row["name"]: row for row in layers}
    assert len(tensors) == len(layers) == 300
    assert float(tensors["layer.7.weight"]["gradient_l2"]) == 7
    assert tensors["layer.8.weight"]["update_ratio"] == "", "not measured"


ENDS_WITH_ITS_ACTION = """
import footplate, math, os, sys, time
for i in range(20):
    with footplate.step():
        footplate.log("loss", math.nan if i == 12 else 1 / (i + 1))
until = time.monotonic() + 60
while not os.path.exists(sys.argv[1]) and time.monotonic() < until:
    time.sleep(0.05)
print("acted" if os.path.exists(sys.argv[1]) else "nothing")
"""


def test_a_loss_that_is_not_finite_sets_an_action_off_while_the_job_runs(tmp_path):
    told = tmp_path / "told.json"
    keep = f"cat > {told}.new && mv {told}.new {told}"
    action = f"do: exec, rules: [NonFinite], command: '{keep}'"
    said = ask(
        *("run", "--dir", tmp_path / "runs", "--scan-interval", "1s", "--action", action),
        *("--", "python3", "-c", ENDS_WITH_ITS_ACTION, told),
    )
    assert said == "acted\n"
    event = json.loads(told.read_text())
    assert (event["event"], event["rule"]) == ("issue", "NonFinite")
    assert event["verdict"]["severity"] == "critical"
    assert event["verdict"]["findings"][0]["step"] == 12


def test_other_readers_are_not_disturbed(run):
    events = json.loads(ask("events", run, "--json"))
    assert not [e for e in events if e["name"] in ("loss", "layer.7.weight")]
    steps = json.loads(ask("steps", run, "--json"))
    assert steps["ranks"][0]["count"] == 200
    assert steps["steps"][-1]["loss"] == 1 / 200
    losses = json.loads(ask("show", run, "--json"))["losses"]
    assert not [x for x in losses if "health" in json.dumps(x)], losses


def test_an_export_can_be_imported_with_its_health(run, tmp_path):
    lines = tmp_path / "run.jsonl"
    ask("export", run, "--format", "jsonl", "-o", lines)
    ask("import", lines, "--dir", tmp_path / "again")
    again = next(p for p in (tmp_path / "again").iterdir() if (p / "run.json").exists())
    before, after = (json.loads(ask("health", r, "--json", "--layers")) for r in (run, again))
    for key in ("scalars", "statistics", "layers", "tensors", "values"):
        assert before[key] == after[key]


def test_python_has_scalars_and_tensors(run, package):
    code = (
        "import sys, json, footplate\n"
        f"r = footplate.open({str(run)!r})\n"
        "s = r.scalars('loss'); t = r.tensors('gradient.l2', r'^layer\\.7\\.')\n"
        "print(json.dumps([len(s), list(map(int, s['step']))[:3], float(list(s['value'])[1]),"
        " len(t), float(list(t['value'])[0]), len(r.scalars('loss', points=10)),"
        " len(r.scalars('bad')), sum(r.scalars('bad')['nonfinite'])]))\n"
    )
    done = run_python(
        "-c", code, whole_env=plain_env({"PYTHONPATH": str(package), "FOOTPLATE_BIN": str(PROGRAM)})
    )
    assert done.returncode == 0, done.stderr
    n, steps, second, tensors, value, thinned, bad, nonfinite = json.loads(done.stdout)
    assert (n, steps, second) == (200, [0, 1, 2], 0.5)
    assert (tensors, value) == (2, 7.0)
    assert thinned <= 10
    assert (bad, nonfinite) == (200, 100)


def test_without_a_recorder_log_does_nothing(plain, package):
    done = plain(
        "-c",
        "import footplate\nfootplate.log('loss', 1.0); footplate.log({'a': object()}, step=3)",
        env={"PYTHONPATH": str(package)},
    )
    assert done.returncode == 0 and done.stdout + done.stderr == ""


def test_what_is_no_number_is_a_loss_and_nothing_raises(hooked, ring):
    code = "import footplate\nfootplate.log('x', object()); footplate.log('y', 'word')"
    done = hooked("-c", code)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in ring.losses()] == ["log x", "log y"]


def test_statistics_in_c_are_those_of_plain_python(package):
    code = (SCRIPTS / "health_stats.py").read_text()
    done = run_python("-c", code, whole_env=plain_env({"PYTHONPATH": str(package)}))
    assert done.returncode == 0, done.stderr
    assert math.isnan(float(done.stdout.split()[0]))
