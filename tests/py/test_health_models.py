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


def test_a_model_and_its_optimizer_are_freed_when_the_program_drops_them(case):
    assert case("freed") == {"left": [], "on": True}


def test_of_50_models_in_turn_no_more_is_remembered_than_of_one(case):
    said = case("in_turn")
    assert said["names"] < 20
    assert said["of"] == 4
    assert said["optimizers"] == 0
    assert said["roots"] == [0, 0]
    assert said["order"] == ["0", "1", "2"]


def test_tensors_without_memory_are_left_out_and_the_others_are_measured(case):
    why = ("health of Wrapped tensors", "health of outputs")
    said = case("without_memory", losses=why)
    assert said["steps"] == [0, 1, 2, 3]
    assert said["names"] == ["layer.0.bias", "layer.0.weight", "layer.2.bias", "layer.2.weight"]
    assert said["lost"][0] == [1, 3]


def test_a_model_that_is_converted_after_some_steps_is_measured_as_it_is_then(case):
    said = case("converted")
    assert said["ratio"] == pytest.approx(said["want"], rel=1e-4)
    assert said["sums"] == said["words"]
    assert said["unchanged"] == ["0.weight", "2.weight"]


@pytest.mark.parametrize("kinds", ["float64", "float32 float64 bfloat16 float64", "bfloat16"])
def test_norms_on_a_device_are_those_of_each_type(case, kinds):
    assert case("doubles", *kinds.split()) == {"norms": [5.0] * len(kinds.split()), "none": []}


def test_the_default_device_of_the_program_is_not_that_of_what_is_captured(case, ring):
    save = {"tensors": ["0_output"], "steps": [{"start": 0, "count": 1}], "limit": 1 << 20}
    said = case("default_device", save=save)
    assert (said["steps"], said["outputs"]) == ([0, 1, 2], [0, 1, 2])
    assert list(ring.folder.glob("tensors-0-0-*.npz"))


def test_torch_for_cuda_without_a_gpu_is_captured(case):
    assert case("no_gpu") == {"losses": [0, 1, 2, 3], "on": True}


def test_values_of_two_devices_arrive_together(case):
    said = case("two_devices")
    assert said["l2"] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert said["sums"] == [10, 11, 12, 13, 14, 15]
    assert said["exponents"] == [0, 1, 2, 3, 4, 5]


def test_a_selective_checkpoint_caches_nothing_of_ours(case, torch_plain, package):
    env = {"PYTHONPATH": f"{package}:{SCRIPTS}"}
    plain = torch_plain(SCRIPTS / "health_models.py", "selective_plain", env=env)
    assert plain.returncode == 0, plain.stderr
    said = case("selective")
    assert said["loss"] == json.loads(plain.stdout)["loss"]
    assert said["seen"] == ["last"]
