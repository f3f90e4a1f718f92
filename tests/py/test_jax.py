# SPDX-License-Identifier: Apache-2.0
"""JAX tells what it compiles."""

from __future__ import annotations

import pytest
from talk import Run, Runner, need


@pytest.fixture(scope="module")
def run(package, ring_dump, tmp_path_factory) -> Run:
    need("jax")
    runner = Runner(package, ring_dump, tmp_path_factory.mktemp("jax"))
    run = runner.hooked("jax_loop.py")
    assert run.status == 0, run.stderr
    assert run.losses() == []
    return run


def compiles(run: Run) -> list[tuple[int, int]]:
    """(begin, end) of each, in ns."""
    told = [e for e in run.events if e["name"] == "compile"]
    begins = [e["t_ns"] - e["value"] for e in told if e["kind"] == "past_begin"]
    ends = [e["t_ns"] - e["value"] for e in told if e["kind"] == "past_end"]
    return list(zip(begins, ends, strict=True))


def test_tracing_lowering_and_compiling_are_told_and_running_is_not(run):
    facts = run.said
    mine = [c for c in compiles(run) if facts["begin"] <= c[1] <= facts["end"]]
    assert len(mine) == 3  # of the outer function; the inner one's lie in them
    assert all(end <= facts["compiled"] for _, end in mine)


def test_compiling_takes_the_time_that_the_first_call_took(run):
    facts = run.said
    mine = [c for c in compiles(run) if facts["begin"] <= c[1] <= facts["end"]]
    told = sum(end - begin for begin, end in mine)
    assert 0.5 * (facts["compiled"] - facts["begin"]) < told <= facts["compiled"] - facts["begin"]


def test_what_is_compiled_inside_of_another_is_told_once(run):
    """Never two at a time, to a millisecond of the clock that JAX measures with."""
    ordered = sorted(compiles(run))
    assert all(a[1] <= b[0] + 1_000_000 for a, b in zip(ordered, ordered[1:], strict=False))


def test_calls_of_a_function_that_is_being_traced_are_no_steps(run):
    begun = [e for e in run.events if e["kind"] == "step_begin"]
    assert len(begun) == 50 and begun[0]["t_ns"] > run.said["compiled"]


@pytest.fixture(scope="module")
def derived(package, ring_dump, tmp_path_factory) -> Run:
    need("jax")
    runner = Runner(package, ring_dump, tmp_path_factory.mktemp("jax_steps"))
    run = runner.hooked("jax_steps.py")
    assert run.status == 0, run.stderr
    assert run.losses() == []
    return run


def test_a_jitted_function_that_is_called_again_and_again_gives_derived_steps(derived):
    begun = [e for e in derived.events if e["kind"] == "step_begin"]
    trained = [e["value"] for e in begun if e["mode"] == 0]
    # The first function that is called twice is that of the steps: not in its first iteration.
    assert trained == list(range(19))
    assert sum(e["name"] == "step.derived" for e in derived.events) == 1
    assert [e["name"] for e in derived.events if e["name"].startswith("a step is")] == [
        "a step is a call of prepare",
        "a step is a call of eval_step",
        "a step is a call of prepare",
        "a step is a call of eval_step",
    ]


def test_another_function_that_is_called_many_times_is_an_evaluation(derived):
    begun = [e for e in derived.events if e["kind"] == "step_begin" and e["mode"] == 1]
    assert [e["value"] for e in begun] == list(range(12))  # from the third call of eight on


def test_a_jitted_function_of_the_program_is_what_it_was(derived, package, ring_dump, tmp_path):
    plain = Runner(package, ring_dump, tmp_path).plain("jax_steps.py")
    assert derived.said == plain.said
    assert derived.said["wrapped"] and derived.said["lowered"]


def test_a_function_with_very_short_calls_is_no_step(package, ring_dump, tmp_path):
    run = Runner(package, ring_dump, tmp_path).hooked("jax_steps.py", "short")
    begun = [e for e in run.events if e["kind"] == "step_begin" and e["mode"] == 0]
    named = [e["name"] for e in run.events if e["name"].startswith("a step is")]
    assert named[:2] == ["a step is a call of prepare", "a step is a call of train_step"]
    assert len(begun) == 100 + 19  # until it was looked at; then those of train_step


def test_steps_that_the_program_marks_switch_derived_ones_off(package, ring_dump, tmp_path):
    run = Runner(package, ring_dump, tmp_path).hooked("jax_steps.py", "explicit")
    begun = [e["value"] for e in run.events if e["kind"] == "step_begin"]
    assert begun == list(range(20))
    assert not [e for e in run.events if e["name"] == "step.derived"]


WAITS = """
import jax, jax.numpy as jnp
from footplate.hooks import jax_hook
x = jax.jit(lambda x: x + 1)(jnp.ones(3))
assert jax_hook._State.knows_device and type(x).item.__name__ == "_item"
float(x[0])  # on the CPU: not counted
jax_hook.hook_waits(jax)  # as on a GPU
x.block_until_ready()
jax.block_until_ready(x)
x[0].item()
float(x[0]), bool(x[0]), x.tolist()
jax.jit(lambda y: y * 2)(x).block_until_ready()
"""


def test_waits_for_a_device_are_counted_by_place_and_not_on_the_cpu(told):
    need("jax")
    events = told(WAITS, env={"JAX_PLATFORMS": "cpu"})
    found = [e["name"] for e in events if e["name"].startswith("sync.calls ")]
    words = [name.split()[1:] for name in dict.fromkeys(found)]
    assert [word for word, _ in words] == [
        "block_until_ready",
        "block_until_ready",
        "item",
        "float",
        "bool",
        "tolist",
        "block_until_ready",
    ]
    assert {where.partition(":")[0] for _, where in words} == {"<string>"}
