# SPDX-License-Identifier: Apache-2.0
"""The scenes of health_trial.py with one seed; `make trial` runs more seeds."""

from __future__ import annotations

from pathlib import Path

import health_trial
import pytest


@pytest.mark.parametrize("scene", [*health_trial.SICK, *health_trial.HEALTHY])
def test_a_sick_training_is_found_and_a_healthy_one_is_left_alone(scene, footplate):
    pytest.importorskip("torch")
    why, _ = health_trial.try_scene(Path(footplate), scene, 0)
    assert why == ""


def test_every_scene_is_tried():
    pytest.importorskip("torch")
    from health_scenes import SCENES

    assert set(SCENES) == {s.split()[0] for s in (*health_trial.SICK, *health_trial.HEALTHY)}
    for scene, want in health_trial.SICK.items():
        named = SCENES[scene.split()[0]]
        assert named[: len(want.rules)] == want.rules
        assert set(named) <= {*want.rules, *want.follow}


@pytest.mark.parametrize(
    ("scene", "issues", "why"),
    [
        ("h1", [], ""),
        ("h1", [("LossSpike", "warning", 3, None)], "LossSpike: said"),
        ("h1", [("DuplicatedData", "info", 3, None)], ""),
        ("p08", [], "no NonFinite, but nothing"),
        ("p09", [("LossSpike", "warning", 300, "")], "no GradientSpike, but LossSpike"),
        (
            "p06",
            [("UpdateTooSmall", "warning", 0, "0.weight"), ("LossNotDecreasing", "warning", 0, "")],
            "LossNotDecreasing is not explained by UpdateTooSmall",
        ),
        ("p08", [("NonFinite", "critical", 150, "2")], ""),
        ("p08", [("NonFinite", "critical", 151, "2")], "NonFinite at step 151, not 150 to 150"),
        ("p08", [("NonFinite", "critical", 150, "0")], "NonFinite in '0', not '^2'"),
        (
            "p08",
            [("NonFinite", "critical", 150, "2"), ("NoGradient", "critical", 1, "")],
            "critical: NoGradient",
        ),
    ],
)
def test_a_wrong_finding_is_seen(scene, issues, why):
    found = [
        {
            "rule": rule,
            "severity": severity,
            "findings": [{"step": step, "module": module, "message": "said"}],
        }
        for rule, severity, step, module in issues
    ]
    assert health_trial.wrong_of(scene, found) == why
