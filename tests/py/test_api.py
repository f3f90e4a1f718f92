# SPDX-License-Identifier: Apache-2.0
"""The explicit API: what a program says by hand."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from pykit import losses_of

HEAD = "import footplate\n"


def brief(events):
    return [(e["kind"], e["name"] or e["mode"], e["value"]) for e in events]


def test_steps_are_counted_for_each_mode(told):
    events = told(
        HEAD + "with footplate.step() as n: assert n == 0\n"
        "with footplate.step() as n: assert n == 1\n"
        "with footplate.step(mode='eval') as n: assert n == 0\n"
        "with footplate.step(7) as n: assert n == 7\n"
        "with footplate.step() as n: assert n == 8\n"
        "with footplate.step(0, 'predict') as n: assert n == 0"
    )
    begins = [(e["value"], e["mode"]) for e in events if e["kind"] == "step_begin"]
    ends = [(e["value"], e["mode"]) for e in events if e["kind"] == "step_end"]
    assert begins == ends == [(0, 0), (1, 0), (0, 1), (7, 0), (8, 0), (0, 2)]


def test_spans_marks_and_counters_say_what_they_are_given(told):
    events = told(
        HEAD + "assert footplate.init() and footplate.enabled()\n"
        "with footplate.span('augment'):\n    footplate.mark('here')\n"
        "footplate.counter('n', 3); footplate.counter('loss', 0.25); footplate.counter('b', True)\n"
        "assert footplate.span('augment') is footplate.span('augment')"
    )
    assert brief(events) == [
        ("span_begin", "augment", 0),
        ("mark", "here", 0),
        ("span_end", "augment", 0),
        ("count", "n", 3),
        ("real", "loss", 0.25),
        ("count", "b", 1),
    ]


def test_decorators_mark_every_call(told):
    events = told(
        HEAD + "@footplate.step()\ndef train(x):\n    'doc'\n    return x * 2\n"
        "@footplate.span('aug')\ndef augment(x): return x\n"
        "@footplate.epoch()\ndef one(): return augment(1)\n"
        "assert [train(1), train(2)] == [2, 4] and train.__doc__ == 'doc'\n"
        "assert one() == one() == 1"
    )
    assert brief(events) == [
        ("step_begin", 0, 0),
        ("step_end", 0, 0),
        ("step_begin", 0, 1),
        ("step_end", 0, 1),
        ("span_begin", "epoch", 0),
        ("span_begin", "aug", 0),
        ("span_end", "aug", 0),
        ("span_end", "epoch", 0),
        ("span_begin", "epoch", 1),
        ("span_begin", "aug", 0),
        ("span_end", "aug", 0),
        ("span_end", "epoch", 0),
    ]


def test_a_decorated_function_may_call_itself(told):
    events = told(
        HEAD + "@footplate.step()\ndef f(n):\n    if n: f(n - 1)\nf(2)\n"
        "@footplate.step(mode='eval')\ndef g(): pass\ng()"
    )
    assert [(e["kind"], e["value"]) for e in events if e["mode"] == 0] == [
        *(("step_begin", n) for n in (0, 1, 2)),
        *(("step_end", n) for n in (2, 1, 0)),
    ]
    assert [e["kind"] for e in events if e["mode"] == 1] == ["step_begin", "step_end"]


def test_a_step_inside_a_mode_has_that_mode(told):
    events = told(
        HEAD + "with footplate.eval():\n"
        "    with footplate.step(): pass\n"
        "    with footplate.train():\n        with footplate.step(): pass\n"
        "    with footplate.step(mode='predict'): pass\n"
        "    with footplate.step(): pass\n"
        "with footplate.step(): pass\n"
        "@footplate.predict()\ndef p():\n    with footplate.step(): pass\np()"
    )
    assert [e["mode"] for e in events if e["kind"] == "step_begin"] == [1, 0, 2, 1, 0, 2]
    assert [e["name"] for e in events if e["kind"] == "span_begin"] == ["eval", "train", "predict"]


def test_a_mode_is_that_of_its_own_thread(told):
    events = told(
        HEAD + "import threading\n"
        "def other():\n    with footplate.step(): pass\n"
        "with footplate.eval():\n"
        "    t = threading.Thread(target=other); t.start(); t.join()"
    )
    assert [e["mode"] for e in events if e["kind"] == "step_begin"] == [0]


def test_epochs_carry_their_number(told):
    events = told(
        HEAD + "with footplate.epoch() as n: assert n == 0\n"
        "with footplate.epoch(5) as n: assert n == 5\n"
        "with footplate.epoch() as n: assert n == 6"
    )
    assert [e["value"] for e in events if e["kind"] == "span_begin"] == [0, 5, 6]


def test_exceptions_go_through_and_what_was_open_is_closed(told):
    events = told(
        HEAD + "from footplate import train, epoch, step, span\ntry:\n"
        "    with train(), epoch(), step(), span('s'): 1/0\n"
        "except ZeroDivisionError: pass"
    )
    assert [e["kind"] for e in events] == ["span_begin"] * 2 + ["step_begin", "span_begin"] + [
        "span_end",
        "step_end",
    ] + ["span_end"] * 2


@pytest.mark.parametrize(
    ("call", "loss"),
    [
        ("footplate.counter('x', 'abc')", "counter: ValueError"),
        ("footplate.counter('x', None)", "counter: TypeError"),
        ("footplate.counter('x', 1 << 70)", "counter: OverflowError"),
        ("with footplate.step('x'): pass", "step: ValueError"),
        ("with footplate.step(mode='trian'): pass", "step: unknown mode 'trian'"),
        ("with footplate.epoch('x'): pass", "epoch: ValueError"),
        ("with footplate.span('\\ud800'): pass", "span: UnicodeEncodeError"),
        ("footplate.mark(chr(0xd800))", "mark: UnicodeEncodeError"),
    ],
)
def test_a_wrong_call_is_a_loss_and_no_exception(told, call, loss):
    events = told(HEAD + call)
    assert losses_of(events)[0].startswith(loss)


def test_names_that_are_no_text_are_made_so(told):
    events = told(HEAD + "footplate.mark(5)\nwith footplate.span(6): pass")
    assert [e["name"] for e in events] == ["5", "6", "6"]


def test_names_without_end_do_not_fill_the_memory(hooked, ring):
    done = hooked(
        "-c",
        HEAD + "for i in range(5000):\n"
        "    with footplate.span('s%d' % i): footplate.counter('c%d' % i, i)\n"
        "assert len(footplate._spans) + len(footplate._ids) < 2100",
    )
    assert (done.returncode, done.stderr) == (0, "")


USE_ALL = (
    HEAD + "print(footplate.init(), footplate.enabled(), footplate.__version__)\n"
    "with footplate.train(), footplate.epoch(), footplate.step() as n, footplate.span('s'):\n"
    "    footplate.mark('m'); footplate.counter('c', 1); footplate.counter('c', 'x')\n"
    "def f(): return 5\n"
    "for d in (footplate.step(), footplate.span('x'), footplate.epoch(), footplate.eval()):\n"
    "    assert d(f) is f\n"
    "import sys; print(n, [type(x).__name__ for x in sys.meta_path if 'footplate' in str(type(x))])"
)


def test_a_program_without_a_framework_has_its_functions_profiled(hooked, ring):
    ring.ask(python=[{"start_step": 2, "steps": 2}], detail=[{"start_step": 4, "steps": 1}])
    code = HEAD + "def work(): return sum(range(999))\n"
    code += "for _ in range(6):\n    with footplate.step(): work()"
    done = hooked("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (profile,) = (json.loads(path.read_text()) for path in ring.files("python"))
    assert (profile["start_step"], profile["end_step"]) == (2, 3)
    assert [f["calls"] for f in profile["functions"] if f["name"] == "work"] == [2]
    (loss,) = ring.losses()
    assert loss == "detail window: no supported profiler is loaded"


def test_without_a_window_steps_load_nothing_of_windows(hooked, ring):
    ring.ask()
    done = hooked("-c", HEAD + "import sys\nwith footplate.step(): pass\nprint(*sys.modules)")
    assert "footplate._steps" in done.stdout and "footplate.detail" not in done.stdout


def test_without_a_recorder_everything_does_nothing(plain, package):
    done = plain("-c", USE_ALL, env={"PYTHONPATH": str(package)})
    assert (done.stderr, done.stdout.split()) == ("", ["False", "False", "0.1.0", "0", "[]"])


def test_with_the_off_switch_everything_does_nothing(hooked, ring, package):
    done = hooked("-c", USE_ALL, env={"FOOTPLATE_DISABLE": "1", "PYTHONPATH": str(package)})
    assert (done.stderr, done.stdout.split()[0]) == ("", "False")
    assert ring.events() == []


def test_without_the_extension_everything_does_nothing(plain, package, tmp_path):
    shutil.copytree(
        package / "footplate", tmp_path / "footplate", ignore=shutil.ignore_patterns("*.so")
    )
    done = plain("-c", USE_ALL, env={"PYTHONPATH": str(tmp_path), "FOOTPLATE_RING": "/dev/shm"})
    assert (done.stderr, done.stdout.split()) == ("", ["False", "False", "0.1.0", "0", "[]"])


def test_the_stand_in_has_all_of_the_extension_that_is_used_without_it(plain, package):
    used: set[str] = set()
    for name in ("__init__", "_safe", "_steps", "_start"):
        used |= set(re.findall(r"\b_core\.(\w+)", (package / f"footplate/{name}.py").read_text()))
    assert {"Span", "Around", "intern", "mark"} <= used
    code = f"from footplate import _nocore as c; print([n for n in {used} if not hasattr(c, n)])"
    done = plain("-c", code, env={"PYTHONPATH": str(package)})
    assert done.stdout == "[]\n", done.stderr


def test_init_hooks_a_program_that_started_without_us(ring, plain, package):
    done = plain(
        "-c",
        "import sys; sys.path.insert(0, sys.argv[1])\nimport footplate\n"
        "assert footplate.init() and footplate.init()\n"
        "print([type(x).__name__ for x in sys.meta_path].count('Finder'))",
        str(package),
        env={"FOOTPLATE_RING": str(ring.folder)},
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert ring.names() == ["hooks.loaded"]


def test_the_package_is_typed(package):
    assert (package / "footplate" / "py.typed").exists()
    assert (package / "footplate" / "_core.pyi").exists()
