# SPDX-License-Identifier: Apache-2.0
"""Training health as the hooks of PyTorch capture it. scripts/health_cases.py trains, and compares
statistics with what torch itself computes; here is what it says about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pykit import ROOT, SCRIPTS
from talk import QUIET, need, need_torch

CASES = SCRIPTS / "health_cases.py"
ORIGINS = SCRIPTS / "health_origins.py"
TRIAL = ROOT / "tests" / "trial"
ON = {"mode": "on", "every": 10}
SELDOM = ON | {"every": 1000}
Case = Callable[..., dict[str, Any]]


@pytest.fixture
def case(torch_hooked, ring, package) -> Case:
    need_torch(2, 4, "training health")

    def run(
        *words: str,
        health: dict | None = None,
        losses: list[str] | None = None,
        script: Path = CASES,
    ) -> dict:
        """What the case said last. `losses`: beginnings of all that hooks report as lost."""
        ring.ask(health=health or ON)
        env = {"PYTHONPATH": f"{package}:{TRIAL}:{SCRIPTS}"}
        done = torch_hooked(script, *words, env=env)
        assert done.returncode == 0, done.stderr
        told = ring.losses()
        assert [one for one in told if not one.startswith(tuple(losses or ("-",)))] == []
        assert all(any(one.startswith(want) for one in told) for want in losses or ())
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_gradients_weights_and_updates_are_those_that_torch_computes(case):
    assert case("numbers") == {"modules": ["0", "1", "2", "3", "4"], "nonfinite": {}}


def test_one_of_ten_samples_has_histograms_and_the_optimizer_s_state(case):
    assert case("deep", health=ON | {"every": 1}) == {
        "steps": [[0, 10], [0, 10]],
        "states": [f"{i}.weight:{key}" for i in (0, 2, 4) for key in ("exp_avg", "exp_avg_sq")],
        "inputs": ["1", "3"],
    }


def test_histograms_of_a_device_are_counted_and_sent_without_a_wait(case):
    said = case("device_histograms")
    assert {"gradient.exponents", "gradient.l2", "weight.exponents"} <= set(said["told"])


def test_what_a_sample_holds_on_a_device_is_bounded(case):
    said = case("device_limits", losses=["health names"])
    assert said == {"left_out": 8136, "fits": True, "copied": 410, "parcel": True}


def test_outputs_of_modules_are_those_that_torch_computes(case):
    assert case("activations") == {"dead": {"1": {"0": 0.25}}, "inputs": ["1", "3"]}


def test_an_inplace_relu_s_input_is_read_before_and_units_of_a_convolution_are_channels(case):
    assert case("inplace") == {"dead": {"1": {"0": 0.25}}}


def test_accumulated_losses_are_a_mean_and_norms_those_before_clipping(case):
    said = case("accumulation")
    assert said["steps"] == [0, 1, 2, 3]
    assert said["calls"] == {"0": 2.0}
    assert said["rates"] == [0.5, 0.25]
    assert (said["clipped"], said["limit"]) == (0.01, 0.01)


def test_a_limit_of_clipping_may_be_a_keyword(case):
    assert case("clipping") == {"clipped": 0.01, "limit": 0.01}


def test_norms_of_a_shard_are_not_called_those_of_the_model(case):
    need_torch(2, 6, "fully_shard")
    assert case("shards") == {"whole": {}, "shard": [0, 2], "gate": "Gate"}


def test_a_loss_that_cannot_be_read_is_no_loss_of_zero(case):
    unread = "health: nothing is measured on a device of type meta"
    said = case("nowhere", losses=[unread, "health of meta", "health of outputs"])
    assert said == {"losses": {}, "rates": [0, 1, 2]}


def test_weights_in_another_order_have_updates_and_sums(case):
    gaps = "health of tensors with gaps: updates are not measured: parameter.4"
    said = case("layouts", losses=[gaps, "health names"])
    assert said["ratios"] == ["0.weight", "2.weight"]
    assert said["sums"] == ["0.bias", "0.weight", "2.bias", "2.weight"]


def test_with_amp_losses_and_gradients_are_unscaled_and_skipped_steps_have_no_update(case):
    said = case("amp")
    assert said["scale"] == {"0": 1024, "1": 2048, "2": 2048, "3": 4096, "4": 2048, "5": 2048}
    assert said["skipped"] == {"4": 1.0}
    assert said["origin"] == []
    assert said["ratio"] == [0, 1, 2, 5]


def test_two_optimizers_and_two_models_are_told_apart(case):
    said = case("adversaries")
    assert said["losses"] == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert said["rates"] == [0.1, 0.2]
    assert said["names"] == ["Sequential.0.bias", "Sequential.0.weight", "bias", "weight"]


def test_evaluations_epochs_and_batches_of_a_loop_are_told(case):
    assert case("loops") == {"evaluations": [3, 7], "epochs": {"0": 0, "4": 1}, "hashes": 4}


def test_a_loss_without_gradients_in_every_training_step_is_no_evaluation(case):
    assert case("measured") == {"evaluations": [-1, 8, 9, 10, 11]}


def test_no_gradient_is_not_a_gradient_of_zero(case):
    said = case("missing", losses=["health names"])
    assert said == {"missing": {"0": 6.0, "1": 6.0, "2": 6.0}, "zero": {}}


def test_a_step_with_a_closure_is_one_step(case):
    assert case("closure") == {"losses": [0, 1], "ratio": [0, 1]}


def test_of_16_bits_the_share_that_an_update_did_not_move_is_told(case):
    assert case("sixteen_bits") == {"unchanged": {"weight": {"0": 0.5}}, "same": 0.75}


def test_odd_tensors_and_a_module_that_raises_are_left_out_and_said(case):
    losses = ["health modules", "health of empty", "health of complex64", "health of meta"]
    losses += ["health of quantized", "health of sparse"]
    said = case("odd", losses=[*losses, "health names"])
    assert said["losses"]
    assert said["names"] == ["last.bias", "last.weight", "parameter.5", "table.weight"]
    assert said["steps"] == [0, 1, 2, 3]
    assert said["lost"] == [3]


def test_of_very_many_parameters_some_are_followed(case):
    said = case("many", "10500", losses=["health tensors: 10000 of 10500"])
    assert said == {"followed": 10000, "steps": [0, 1, 2], "on": True}


def test_of_a_million_parameters_some_are_followed(case):
    said = case("many", "1000000", losses=["health tensors: 10000 of 1000000"])
    assert said == {"followed": 10000, "steps": [0, 1, 2], "on": True}


def test_models_and_optimizers_are_copied_and_pickled_without_hooks_of_ours(case):
    assert case("copies") == {"inside": [0, 0, 0], "hooks": [0, 0, 0], "sampled": [0, 1, 2]}


def test_a_compiled_model_has_one_graph_and_its_activations_are_not_evaluated(case):
    said = case("compiled", losses=["health activations"])
    assert len(said["graphs"]) == 1
    assert said["names"][0] == "0.bias"
    assert said["losses"] == [0, 1, 2, 3]


def test_a_child_of_fork_begins_anew(case):
    assert case("forked") == {"parent": [0, 1, 2, 3]}


def test_a_child_of_fork_frees_nothing_of_a_gpu(case):
    assert case("forked_buffers") == {"status": 0}


def test_a_tracer_sees_nothing_of_us(case):
    kinds = case("traced")["kinds"]
    assert {k for k in kinds if k.startswith("aten::")} == {
        "aten::linear",
        "aten::relu",
        "aten::tanh",
    }


def test_collections_and_regexes_choose_what_is_sampled(case):
    asked = ON | {"collections": ["gradients"], "exclude": ["bias"]}
    said = case("filters", health=asked)
    assert {stat.partition(".")[0] for stat in said["stats"]} == {"gradient", "parameter"}
    assert said["names"] == ["0.weight", "2.weight", "4.weight"]


def test_the_collection_of_gradients_has_those_of_biases(case):
    said = case("filters", health=ON | {"collections": ["weights", "gradients", "losses"]})
    assert {"0.bias", "0.weight"} <= set(said["names"])
    kinds = {stat.partition(".")[0] for stat in said["stats"]}
    assert kinds == {"gradient", "parameter", "update", "weight"}
    assert "0.bias" in said["by"]["gradient.l2"]
    assert "0.bias" not in said["by"]["weight.l2"]  # that would be the collection of biases


def test_a_collection_of_the_user_is_added_to_the_others(case):
    asked = ON | {"collections": ["gradients", "mine=^(1_output|2.*weight$)"]}
    by = case("filters", health=asked)["by"]
    assert by["gradient.l2"] == [f"{i}.{kind}" for i in (0, 2, 4) for kind in ("bias", "weight")]
    assert by["weight.l2"] == ["2.weight"]
    assert by["output.std"] == ["1"]
    assert "input.std" not in by


def test_a_collection_that_is_no_regular_expression_has_nothing_and_is_said(case):
    asked = ON | {"collections": ["mine=("]}
    assert case("filters", health=asked, losses=["health filter"])["stats"] == []


def test_nothing_is_captured_when_it_is_off(case):
    assert case("filters", health={"mode": "off"}) == {"stats": [], "names": [], "by": {}}


@pytest.mark.parametrize("kind", ["plain", "amp", "accumulation"])
def test_training_is_bit_identical_with_and_without_it(
    torch_hooked, torch_plain, ring, package, kind
):
    ring.ask(health=ON | {"every": 1})
    env = {"PYTHONPATH": f"{package}:{SCRIPTS}"}
    done = [run(CASES, "digest", kind, env=env) for run in (torch_hooked, torch_plain)]
    assert done[0].returncode == 0, done[0].stderr
    assert json.loads(done[0].stdout) == json.loads(done[1].stdout)


def test_values_go_through_the_ring_to_the_recorder(torch_hooked, ring, package):
    """Without anything in the way: the functions of _core take what the capture gives."""
    need_torch(2, 4, "training health")
    ring.ask(health=ON)
    code = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(8, 4)).mean().backward()
    optimizer.step()
"""
    done = torch_hooked("-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    events = ring.events()
    assert ring.losses() == []
    assert {e["value"] for e in events if e["kind"] == "health_step"} == {0, 1, 2}
    assert sum(e["kind"] == "health_real" for e in events) > 3 * 30
    assert sum(e["kind"] == "health_count" for e in events) >= 3 * 4
    assert not any(e["kind"] == "health_lost" for e in events)


# ---- scenes: what is seen of a sick model ----


def test_a_nan_of_a_forward_pass_is_traced_to_its_step_and_module(case):
    assert case("scene", "p08")["origin"] == [["forward", "2", 150]]


def test_so_it_is_in_a_step_that_is_not_sampled(case):
    said = case("scene", "p08", health=ON | {"every": 1000})
    assert said["origin"] == [["forward", "2", 150]]
    assert said["armed"] == [150]
    assert 150 not in said["samples"]


def test_a_nan_of_a_backward_pass_is_traced_to_the_border_of_finite_gradients(case):
    said = case("scene", "p08b", health=ON | {"every": 1000})
    assert said["origin"] == [["backward", "0..3", 150]]


@pytest.mark.parametrize("kind", ["plain", "disabled"])
@pytest.mark.parametrize("at", [0, 1, 45])
def test_so_it_is_where_clipping_spreads_it_to_all_gradients(case, at, kind):
    said = case("clipped", str(at), kind, health=SELDOM, script=ORIGINS)
    assert said["origin"] == [["backward", "0..3", at]]


def test_after_clipping_a_module_is_named_only_when_others_have_finite_gradients(case):
    for kind, place in (("hidden", ""), ("one", "0..3")):
        said = case("clipped", "45", kind, health=SELDOM, script=ORIGINS)
        assert said["origin"] == [["backward", place, 45]]
    found = case("resolved", health=SELDOM, script=ORIGINS)
    assert found == {"False 6": "4", "False 2": "0..2", "True 6": "", "True 2": "0..2"}


@pytest.mark.parametrize("layers", ["wide", "frozen"])
def test_so_it_is_when_the_first_layers_have_no_small_gradient_or_none(case, layers):
    said = case(layers, health=SELDOM, script=ORIGINS)
    assert said["origin"] == [["backward", "3..6", 45]]
    assert 45 not in said["samples"]


def test_so_it_is_in_a_trainer_that_clips(case):
    need("transformers")
    said = case("trainer", health=SELDOM, script=ORIGINS)
    assert said["origin"] == [["backward", "first..second", 21]]
    assert 21 not in said["samples"]


def test_an_explosion_is_followed_from_its_first_jump(case):
    said = case("scene", "p02")
    assert said["origin"] == [["forward", "2", 4]]


def test_a_spike_has_the_norm_before_clipping(case):
    said = case("scene", "p09")
    assert said["loss300"] > 30
    assert said["norm"] > 30
    assert 300 in said["armed"]


def test_a_loss_scale_that_collapses_is_told_step_by_step(case):
    said = case("scene", "p13")
    assert [said["scale"][k] for k in ("99", "110", "120", "299")] == [131072, 64, 0.0625, 0]
    assert said["skipped"] == 200
    assert said["origin"] == []


@pytest.mark.parametrize(
    ("scene", "holds"),
    [
        ("p01", lambda s: s["l1"][0] < 1e-6 * s["l1"][-1]),
        ("p03", lambda s: s["dead"] == [1.0, 1.0, 1.0] and s["zeros"][:7] == [1.0] * 7),
        ("p04", lambda s: min(s["saturated"]) > 0.75),
        ("p05", lambda s: max(s["inputs"]) / min(s["inputs"]) > 1e6),
        ("p06", lambda s: s["ratio"] < 1e-10),
        ("p07", lambda s: s["missing"] == 300),
        ("p12", lambda s: s["hashes"] == 2),
        ("p15", lambda s: min(s["unchanged"]) > 0.85),
    ],
)
def test_what_is_wrong_with_a_model_shows_in_what_is_captured(case, scene, holds):
    names = ["health names"] if scene == "p07" else None
    said = case("scene", scene, losses=names)
    assert holds(said), said


def test_ranks_that_drift_apart_have_different_word_sums_from_then_on(
    hooked, ring, package, tmp_path
):
    need_torch(2, 4, "training health")
    ring.ask(health={"mode": "auto"})
    env = {"PYTHONPATH": f"{package}:{TRIAL}:{SCRIPTS}", "OMP_NUM_THREADS": "1"}
    done = hooked(SCRIPTS / "health_ranks.py", tmp_path, "bit", env=env)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    assert first["gradients"] == 8
    assert second["gradients"] == 0  # the first replica measures for all
    steps = sorted(map(int, first["sums"]["2.weight"]))
    assert set(steps) >= {0, 1, 2, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}
    apart = {
        name: min(int(k) for k in sums if sums[k] != second["sums"][name].get(k, sums[k]))
        for name, sums in first["sums"].items()
        if any(sums[k] != second["sums"][name].get(k, sums[k]) for k in sums)
    }
    assert apart["2.weight"] == 50
    assert all(step >= 50 for step in apart.values())


# ---- what frameworks report ----

SAID = {
    "xgboost": {"best": "importance/total_gain/f0", "count": 2},
    "lightgbm": {"best": "importance/total_gain/Column_0", "count": 4},
    "transformers": {"losses": list(range(6)), "rates": 6},
    "lightning": {"losses": list(range(12)), "evals": [-1, 5, 11], "mine": 6},
    "keras": {"losses": list(range(8)), "evals": [3, 7]},
}


@pytest.mark.parametrize("framework", SAID)
def test_numbers_that_a_framework_reports_are_captured(hooked, ring, package, framework):
    need(framework)
    ring.ask(health=ON)
    env = QUIET | {"PYTHONPATH": f"{package}:{SCRIPTS}"}
    done = hooked(SCRIPTS / "health_frameworks.py", framework, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == SAID[framework]
