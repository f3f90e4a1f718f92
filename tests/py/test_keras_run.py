# SPDX-License-Identifier: Apache-2.0
"""A Keras program below `footplate run`: what `footplate steps` says is what the script counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from talk import QUIET, SCRIPTS, Runner, need

SCENES = ("fit_evaluate_predict", "interrupted", "unknown_size", "measured")


@pytest.fixture(scope="module")
def recorded(footplate, package, tmp_path_factory):
    """The script's own account, and the run."""
    need("keras", "tensorflow")
    folder = tmp_path_factory.mktemp("runs")
    hooks = package / "footplate" / "_bootstrap"
    env = os.environ | QUIET | {"KERAS_BACKEND": "tensorflow", "FOOTPLATE_HOOKS": str(hooks)}
    script = [sys.executable, SCRIPTS / "keras_loops.py", *SCENES]
    done = subprocess.run(
        [footplate, "run", "--dir", folder, "--", *script],
        env=env | {"FOOTPLATE_NVML": "/nonexistent.so"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    steps = subprocess.run(
        [footplate, "steps", "last", "--dir", folder, "--json"], capture_output=True, text=True
    )
    assert steps.returncode == 0, steps.stderr
    return json.loads(done.stdout.splitlines()[-1]), json.loads(steps.stdout)


def test_steps_of_each_mode_are_as_many_as_the_script_counted(recorded):
    said, steps = recorded
    told = {row["mode"]: row["count"] for row in steps["ranks"]}
    counted = {mode: sum(facts[mode] for facts in said.values()) for mode in told}
    assert told == counted
    assert set(told) == {"train", "eval", "predict"}


def test_long_steps_take_the_time_that_the_script_measured(recorded):
    said, steps = recorded
    facts = said["measured"]
    mine = [s for s in steps["steps"] if s["mode"] == "train"][-facts["train"] :]
    assert sum(s["duration_s"] for s in mine) == pytest.approx(facts["seconds"], rel=0.01)


def test_the_example_trains_and_every_step_of_it_is_seen(package, ring_dump, tmp_path):
    need("keras", "tensorflow")
    runner = Runner(package, ring_dump, tmp_path)
    example = str(SCRIPTS.parents[2] / "examples" / "keras" / "train.py")
    words = ("--epochs", "2", "--batches", "5", "--batch-size", "8")
    run = runner.hooked(example, *words, env={"KERAS_BACKEND": "tensorflow"})
    assert run.status == 0, run.stderr
    talk = run.talk()
    assert talk.modes() == {"train": 10, "eval": 20, "predict": 10}
    assert len(talk.spans("checkpoint")) == 2


def test_parts_inside_the_compiled_step_are_unknown_and_not_zero(recorded):
    _, steps = recorded
    (train,) = [row for row in steps["ranks"] if row["mode"] == "train"]
    for part in ("forward", "backward", "optimizer"):
        assert train["events"][part] is None
        assert any(loss["what"] == part for loss in steps["losses"])
    assert train["events"]["other"] > 0
