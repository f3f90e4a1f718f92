# SPDX-License-Identifier: Apache-2.0
"""_core.Gate: what stands in for a function of torch, which nobody may notice. Needs no torch."""

from __future__ import annotations

import pytest
from talk import SCRIPTS

# What each function of the script must have told: begins and ends of spans, in order.
TOLD = {
    "looks": "a a a a",
    "pickles": "",
    "nests": "a b b b b b b b b a c c c b b c",
    "raises": "a a a a",
    "stop_iteration": "a a a a a a",
    "verdicts": "a=7 a a a a a",
    "chooses": "yes yes no no",
    "fails": "a a a a",
    "interrupts": "a a",
    "hidden": "a a a a a a",
    "binds": "a a a a",
    "threads": "a b b a",
    "quiet": "b b",
    "collected": "",
    "taken_off": "a a",
    "within": "a a a a a a a a a a a a",
}


@pytest.mark.parametrize("what", TOLD)
def test_a_gate_is_what_it_stands_for_and_marks_its_calls(hooked, ring, what):
    done = hooked(SCRIPTS / "torch_gates.py", what, env={"FOOTPLATE_CLOCK": "monotonic"})
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    spans = [e for e in ring.events() if e["kind"] in ("span_begin", "span_end")]
    spans.sort(key=lambda e: e["t_ns"])
    words = [f"{e['name']}={e['value']}" if e["value"] else e["name"] for e in spans]
    assert " ".join(words) == TOLD[what]


@pytest.mark.parametrize("what", TOLD)
def test_a_gate_does_its_work_when_nobody_records(hooked, what):
    if what in ("verdicts", "fails", "interrupts", "within"):
        pytest.skip("is about what is only called while somebody records")
    done = hooked(SCRIPTS / "torch_gates.py", what, env={"FOOTPLATE_DISABLE": None}, cwd="/")
    assert (done.returncode, done.stderr) == (0, "")
