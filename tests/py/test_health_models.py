# SPDX-License-Identifier: Apache-2.0
"""Models that are compiled, copied, thrown away or oddly placed while their health is captured: the
training goes on as it would, and what cannot be measured is left out alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pykit import SCRIPTS
from talk import need_torch

Case = Callable[..., dict[str, Any]]
COMPILED = "health activations"


@pytest.fixture
def case(torch_hooked, ring, package) -> Case:
    need_torch(2, 4, "training health")

    def run(*words: str, losses: tuple[str, ...] = (), **health: Any) -> dict[str, Any]:
        """What the case said last. `losses`: beginnings of all that hooks report as lost."""
        ring.ask(health={"mode": "on", "every": 10} | health)
        env = {"PYTHONPATH": f"{package}:{SCRIPTS}"}
        done = torch_hooked(SCRIPTS / "health_models.py", *words, env=env)
        assert done.returncode == 0, done.stderr
        told = ring.losses()
        assert [one for one in told if not one.startswith(losses or ("-",))] == []
        assert all(any(one.startswith(want) for one in told) for want in losses)
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_a_forward_that_must_be_one_graph_compiles_and_the_modules_around_it_are_seen(case):
    assert case("full_graph", losses=(COMPILED,)) == {"seen": ["0", "1"]}


def test_a_compiled_forward_is_one_graph_and_the_run_says_what_is_not_evaluated(case):
    said = case("replaced_forward", losses=(COMPILED,))
    assert said == {"graphs": 1, "seen": ["Sequential"]}


def test_a_model_that_is_copied_in_its_forward_pass_has_no_hook_and_can_be_pickled(case):
    said = case("copied")
    assert said == {"hooks": [0, 0], "seen": ["layer.0", "layer.1", "layer.2"]}


def test_an_optimizer_that_steps_in_the_forward_pass_leaves_no_hook_and_no_listener(case):
    said = case("steps_inside")
    assert (said["hooks"], said["follows"], said["on"]) == (0, False, True)
    assert said["seen"] == ["layer.0", "layer.1", "layer.2"]
    assert said["steps"] == [0, 1, 2]
