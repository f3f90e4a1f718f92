# SPDX-License-Identifier: Apache-2.0
"""The extension: each call is the event that its name says."""

from __future__ import annotations

import subprocess

import pytest

USE = "from footplate import _core as c\n"


def brief(events):
    return [(e["kind"], e["name"], e["value"]) for e in events]


def test_each_call_is_one_event(told):
    events = told(
        USE + "a, b = c.intern('a'), c.intern('b')\n"
        "c.begin(a); c.begin_value(b, -7); c.mark(a); c.count(a, 1 << 62); c.real(b, 2.5)\n"
        "c.end(b); c.end(a)"
    )
    assert brief(events) == [
        ("span_begin", "a", 0),
        ("span_begin", "b", -7),
        ("mark", "a", 0),
        ("count", "a", 1 << 62),
        ("real", "b", 2.5),
        ("span_end", "b", 0),
        ("span_end", "a", 0),
    ]


def test_steps_carry_number_and_mode(told):
    events = told(
        USE + "c.step_begin(5, c.EVAL); c.step_end(5, c.EVAL); c.step_begin(6, c.PREDICT)"
    )
    assert [(e["kind"], e["value"], e["mode"]) for e in events] == [
        ("step_begin", 5, 1),
        ("step_end", 5, 1),
        ("step_begin", 6, 2),
    ]


def test_a_past_span_lies_where_it_was(told):
    events = told(USE + "c.mark(c.intern('now')); c.past(c.intern('gpu'), 3, 5000000, 2000000)")
    now, begin, end = events
    assert (begin["kind"], end["kind"], begin["name"]) == ("past_begin", "past_end", "gpu")
    assert begin["mode"] == end["mode"] == 3
    assert (begin["value"], end["value"]) == (5000000, 2000000) or (
        3_000_000 <= end["t_ns"] - begin["t_ns"] <= 3_100_000 and begin["t_ns"] < now["t_ns"]
    )


def test_the_same_text_has_the_same_number_and_long_ones_are_cut(told):
    events = told(
        USE + "assert c.intern('x') == c.intern('x') != c.intern('y')\n"
        "c.mark(c.intern('é' * 40)); c.mark(c.intern('z' * 100))"
    )
    assert [e["name"] for e in events] == ["é" * 31, "z" * 62]


def test_names_beyond_the_table_become_none(hooked, ring):
    done = hooked(
        "-c",
        USE + "ids = [c.intern('n%d' % i) for i in range(1200)]\n"
        "assert ids[-1] == 0 and ids[0] != 0\nc.mark(ids[-1])",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [e["name"] for e in ring.events(lossy=True)] == ["hooks.loaded", ""]


@pytest.mark.parametrize(
    "call",
    [
        "c.begin('x')",
        "c.begin()",
        "c.count(1)",
        "c.count(1, 'x')",
        "c.fact(1)",
        "c.fact(1, 'x')",
        "c.real(1, 'x')",
        "c.real('x', 1)",
        "c.begin_value(1, 2.5)",
        "c.step_begin(1)",
        "c.step_begin(1, 'train')",
        "c.past(1, 0, 1)",
        "c.past(1, 0, None, 1)",
        "c.intern(5)",
        "c.Span('x')",
        "c.Span()",
        "c.Span(1, 'x')",
        "c.Span(name=1)",
        "c.Span(1)(5)",
        "c.Around(5)",
        "c.Around()",
    ],
)
def test_a_wrong_argument_is_a_type_error_and_no_event(told, call):
    assert told(USE + f"try: {call}\nexcept TypeError: pass\nelse: raise SystemExit(1)") == []


def test_a_number_that_can_be_no_name_is_no_name(told):
    events = told(USE + "c.mark(-1); c.mark(1 << 40); c.mark(1 << 31)")
    assert [e["name"] for e in events] == ["", "", ""]


def test_too_large_a_value_is_an_overflow_error(told):
    assert told(USE + "try: c.count(1, 1 << 64)\nexcept OverflowError: pass\nelse: 1/0") == []


def test_a_span_can_be_kept_nested_and_used_by_threads(told):
    events = told(
        USE + "import threading\ns = c.Span(c.intern('s')); v = c.Span(c.intern('v'), 9)\n"
        "def use():\n    for _ in range(50):\n        with s:\n            with s, v: pass\n"
        "all = [threading.Thread(target=use) for _ in range(4)]\n"
        "[t.start() for t in all]; [t.join() for t in all]"
    )
    assert len(events) == 4 * 50 * 6
    one = ["s", "s", "v", "v", "s", "s"]
    kinds = ["span_begin"] * 3 + ["span_end"] * 3
    for tid in {e["tid"] for e in events}:
        mine = [e for e in events if e["tid"] == tid]
        rounds = len(mine) // 6  # a thread's id may be used again
        assert [e["name"] for e in mine] == one * rounds
        assert [e["kind"] for e in mine] == kinds * rounds
    assert {e["value"] for e in events if e["kind"] == "span_begin" and e["name"] == "v"} == {9}


def test_a_span_lets_exceptions_through_and_ends(told):
    events = told(
        USE + "s = c.Span(c.intern('s'))\ntry:\n    with s: 1/0\nexcept ZeroDivisionError: pass"
    )
    assert [e["kind"] for e in events] == ["span_begin", "span_end"]


def test_spans_serve_whatever_takes_context_managers(told):
    """contextlib takes the methods from the class, others from the object."""
    events = told(
        USE + "import contextlib\ns = c.Span(c.intern('s'))\n"
        "with contextlib.ExitStack() as stack: assert stack.enter_context(s) is s\n"
        "assert s.__enter__() is s and s.__exit__(None, None, None) is False\n"
        "assert c.Span.__enter__(s) is s and c.Span.__exit__(s, 1, 2, 3) is False\n"
        "assert isinstance(s, contextlib.AbstractContextManager)\n"
        "kept = s.__exit__; s.__enter__(); kept()\n"
        "for bad in ('c.Span.__enter__()', 'c.Span.__exit__(5)', 'class X(c.Span): pass',\n"
        "            's.x = 1', 'type(c.Span.__enter__)()', 'c.Span.__enter__.__get__(5)'):\n"
        "    try: exec(bad)\n    except (TypeError, AttributeError): pass\n    else: 1/0"
    )
    assert [e["kind"] for e in events] == ["span_begin", "span_end"] * 4


def test_spans_are_freed(told):
    told(
        USE + "import gc, sys\n"
        "def make(n):\n    for _ in range(n):\n        with c.Span(0): pass\n"
        "make(100); gc.collect(); was = sys.getallocatedblocks()\n"
        "make(5000); gc.collect(); assert abs(sys.getallocatedblocks() - was) < 50"
    )


def test_without_a_recorder_calls_do_nothing(plain, package):
    done = plain(
        "-c",
        USE + "assert not c.enabled() and c.asked() == 0 and c.intern('x') == 0\n"
        "c.begin(1); c.end('x'); c.count(); c.fact(); c.past(); c.step_begin()\n"
        "f = lambda: 0\nassert c.Span(0)(f) is f\nwith c.Span(0): pass",
        env={"PYTHONPATH": str(package)},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_events_of_forked_children_come_with_their_names(told):
    events = told(
        USE + "import os\nn = c.intern('n')\nc.mark(n)\n"
        "pid = os.fork()\nif pid == 0:\n    c.mark(n); c.mark(c.intern('child')); os._exit(0)\n"
        "os.waitpid(pid, 0); c.mark(n)"
    )
    by_pid: dict[int, list[str]] = {}
    for e in events:
        by_pid.setdefault(e["pid"], []).append(e["name"])
    assert sorted(by_pid.values()) == [["n", "child"], ["n", "n"]]


def test_a_forked_child_says_again_what_it_is_and_a_silent_one_nothing(hooked, ring):
    code = (
        "import os\n"
        "def fork(say):\n    pid = os.fork()\n    if pid == 0:\n        say(); os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "fork(lambda: None); fork(lambda: c.mark(c.intern('child')))"
    )
    done = hooked("-c", USE + code, env={"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    by_pid: dict[int, list] = {}
    for e in ring.events():
        by_pid.setdefault(e["pid"], []).append((e["name"], e["value"]))
    facts = [("process.rank", 3), ("process.world_size", 8), ("process.local_rank", 1)]
    assert sorted(by_pid.values()) == sorted(
        [[("hooks.loaded", 0), *facts], [*facts, ("child", 0)]]
    )


def test_what_was_said_before_a_kill_is_there(hooked, ring):
    done = hooked(
        "-c",
        USE + "import os, signal\nc.begin(c.intern('a'))\nos.kill(os.getpid(), signal.SIGKILL)",
    )
    assert done.returncode == -9
    assert ring.names("span_begin") == ["a"]


def test_only_the_entry_point_is_visible(package):
    core = package / "footplate" / "_core.abi3.so"
    nm = subprocess.run(
        ["nm", "-D", "--defined-only", core], capture_output=True, text=True, check=True
    )
    assert [line.split()[-1] for line in nm.stdout.splitlines()] == ["PyInit__core"]


def test_thread_storage_is_small_enough_to_be_loaded_late(package):
    """It is taken from a surplus that all libraries loaded at run time share."""
    core = package / "footplate" / "_core.abi3.so"
    out = subprocess.run(["readelf", "-lW", core], capture_output=True, text=True, check=True)
    sizes = [int(line.split()[5], 16) for line in out.stdout.splitlines() if " TLS " in line]
    assert sum(sizes) <= 128


def test_one_file_serves_every_python_from_3_10(pythons, hooked, ring):
    new = {v: p for v, p in pythons.items() if tuple(map(int, v.split("."))) >= (3, 10)}
    assert new
    for version, python in new.items():
        code = USE + f"with c.Span(c.intern('py{version}')): pass"
        done = hooked("-c", code, python=python)
        assert (done.returncode, done.stderr) == (0, ""), version
    assert ring.names("span_end") == [f"py{version}" for version in new]


def test_modules_of_two_interpreters_do_not_mix(told):
    """In the legacy kind of subinterpreter; the extension holds nothing that belongs to one."""
    code = (
        "try:\n    import _xxsubinterpreters as i\nexcept ImportError:\n    raise SystemExit\n"
        "n = i.create(isolated=False)\n"
        "i.run_string(n, 'from footplate import _core as c; c.mark(c.intern(\"sub\"))')\n"
        "i.destroy(n)\n" + USE + "c.mark(c.intern('main'))"
    )
    events = told(code)
    assert [e["name"] for e in events if e["kind"] == "mark"] in (["sub", "main"], [])
