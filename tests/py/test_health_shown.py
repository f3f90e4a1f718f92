# SPDX-License-Identifier: Apache-2.0
"""Training health in the report and in a comparison: what is there is shown, the rest left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pykit import SCRIPTS, ask


def record(folder: Path, name: str, *job: object) -> Path:
    ask("run", "--dir", folder, "--name", name, "--", "python3", *job)
    return next(p for p in folder.glob(f"{name}*") if (p / "run.json").exists())


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("shown")
    script = SCRIPTS / "train_health.py"
    return {
        "first": record(folder, "first", script),
        "again": record(folder, "again", script),
        "parts": record(folder, "parts", script, 75),
        "close": record(folder, "close", script, 75, -1, 200),
        "drifts": record(folder, "drifts", script, 75, -1, 120),
        "bad": record(folder, "bad", script, -1, 120),
        "none": record(folder, "none", "-c", "pass"),
    }


def test_the_report_has_losses_norms_tensors_and_the_verdict(runs):
    text = ask("report", runs["bad"], "--format", "text")
    section = text.split("Training health\n", 1)[1].split("Training job summary\n", 1)[0]
    assert "Non-finite values" in section
    lines = [line.split() for line in section.splitlines()]
    loss = next(words for words in lines if words[:2] == ["loss", "train"])
    assert loss[-1] == "80", "values that are not finite"
    assert "layer.2.weight" in section
    html = ask("report", runs["bad"], "-o", "-")
    assert '<a href="#health">' in html
    assert "Loss by step" in html
    assert "Gradient norm by step" in html
    assert "## Training health" in ask("report", runs["bad"], "--format", "markdown")
    health = json.loads(ask("report", runs["bad"], "--format", "json"))["health"]
    assert {s["name"] for s in health["index"]["scalars"]} >= {"loss", "lr", "grad.norm"}
    assert [c["label"] for c in health["losses"]] == ["loss, training", "loss, evaluation"]
    assert health["losses"][0]["step"][0] == 0
    assert health["losses"][0]["mean"][-1] is None, "not finite"
    assert health["tensors"][0]["name"] == "layer.2.weight", "the worst first"


REPEATS = """
import footplate, math
from footplate import _core
for i in range(100):
    with footplate.step():
        footplate.log("loss", math.nan if i > 90 else 1 / (i + 1))
        _core.health_begin(i, _core.TRAIN, 0)
        _core.health_count(0, _core.health_name("batch.hash"), i % 2 + 5)
"""


def test_findings_in_the_report_begin_with_the_worst(tmp_path):
    run = record(tmp_path, "repeats", "-c", REPEATS)
    text = ask("report", run, "--format", "text").split("Findings about training health\n", 1)[1]
    first, second = text.index("Non-finite values"), text.index("Repeated batches")
    assert first < second


def test_the_report_of_a_run_without_health_says_nothing_about_it(runs):
    assert "Training health" not in ask("report", runs["none"], "--format", "text")
    assert "#health" not in ask("report", runs["none"], "-o", "-")
    assert "health" not in json.loads(ask("report", runs["none"], "--format", "json"))


def test_a_comparison_names_the_step_from_which_losses_and_weights_differ(runs):
    health = json.loads(ask("compare", runs["first"], runs["parts"], "--json"))["health"]
    assert health["steps"] == 200
    assert (health["loss_same_to"], health["loss_differs"]) == (74, 75)
    assert health["samples"] == 20
    assert (health["weights_same_to"], health["weights_differ"]) == (70, 80)
    rows = health["loss"]
    assert len(rows) == 10
    assert rows[0]["diff"] == 0
    assert rows[-1]["diff"] == pytest.approx(0.25)
    text = ask("compare", runs["first"], runs["parts"])
    assert "differ from step 75 on. They are more than 1 % apart from step 75 on" in words(text)


def test_a_comparison_tells_a_last_bit_from_losses_that_part_for_good(runs):
    health = json.loads(ask("compare", runs["first"], runs["drifts"], "--json"))["health"]
    assert (health["loss_differs"], health["loss_apart"]) == (75, 120)
    text = words(ask("compare", runs["first"], runs["drifts"]))
    assert "differ from step 75 on. They are more than 1 % apart from step 120 on" in text
    close = json.loads(ask("compare", runs["first"], runs["close"], "--json"))["health"]
    assert (close["loss_differs"], close["loss_apart"]) == (75, None)
    text = words(ask("compare", runs["first"], runs["close"]))
    assert "They end less than 1 % apart." in text


def test_runs_with_the_same_numbers_do_not_differ(runs):
    health = json.loads(ask("compare", runs["first"], runs["again"], "--json"))["health"]
    assert (health["loss_differs"], health["weights_differ"]) == (None, None)
    assert (health["loss_same_to"], health["weights_same_to"]) == (199, 190)


def test_runs_without_losses_have_no_health_to_compare(runs):
    assert "health" not in json.loads(ask("compare", runs["none"], runs["first"], "--json"))
    assert "Training health" not in ask("compare", runs["none"], runs["first"])


def test_a_histogram_has_a_row_for_each_power_of_two_of_one_tensor(runs, api):
    with api.open(runs["first"], frames="table") as run:
        found = run.tensors("gradient.exponents", r"^layer\.2\.weight$")
        rows = list(zip(found["name"], found["step"], found["value"], strict=True))
        assert len(run.tensors("gradient.exponents", "bias")["name"]) == 0
    assert [r for r in rows if r[1] == 50] == [
        ("0", 50, 4.0),
        ("2^-17", 50, 96.0),
        ("2^-15", 50, 300.0),
    ]
    assert sorted({step for _, step, _ in rows}) == [0, 50, 100, 150]
