# SPDX-License-Identifier: Apache-2.0
"""What keeps hooks harmless: guard, loss, patch."""

from __future__ import annotations

import os

import pytest
from pykit import losses_of

HEAD = "from footplate import _core, _safe\n"


def test_a_guard_swallows_exceptions_and_tells_them_once(told):
    events = told(
        HEAD + "@_safe.guard('thing')\ndef f(x):\n    'doc'\n    return 1 // x\n"
        "assert f(1) == 1 and f(0) is None and f(0) is None\n"
        "assert f.__name__ == 'f' and f.__doc__ == 'doc'\n"
        "with _safe.guard('block'): raise ValueError('two\\nlines')"
    )
    assert losses_of(events) == [
        "thing: ZeroDivisionError: integer division or modulo by zero",
        "block: ValueError: two lines",
    ]


def test_a_guard_lets_interrupts_and_exits_through(told):
    told(
        HEAD + "for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):\n"
        "    try:\n        with _safe.guard('x'): raise kind\n"
        "    except BaseException as e: assert type(e) is kind\n    else: 1/0\n"
        "    try: _safe.guard('x')(lambda: (_ for _ in ()).throw(kind))()\n"
        "    except BaseException as e: assert type(e) is kind\n    else: 1/0"
    )


def test_a_loss_fits_into_a_name_and_is_whole_text(told):
    events = told(HEAD + "_safe.report_loss('é' * 40, 'x'); _safe.report_loss('a', 'b' * 100)")
    assert losses_of(events) == ["é" * 31 + ": x", "a: " + "b" * 62]


def test_a_loss_that_cannot_be_put_into_words_is_told_all_the_same(told):
    events = told(
        HEAD + "class Odd(Exception):\n    def __str__(self): raise RuntimeError\n"
        "_safe.report_loss('x', Odd()); _safe.report_loss('y', '\\ud800')"
    )
    assert losses_of(events) == ["x: Odd", "y: ?"]


def test_a_forked_child_tells_its_losses_too(told):
    events = told(
        HEAD + "import os\n_safe.report_loss('x', 'y')\npid = os.fork()\n"
        "_safe.report_loss('x', 'y')\nif not pid: os._exit(0)\nos.waitpid(pid, 0)"
    )
    assert len(events) == 2 and len({e["pid"] for e in events}) == 2


MODULE = HEAD + "import types\nm = types.ModuleType('m')\nexec('def f(x): return x', m.__dict__)\n"


def test_a_patch_replaces_once(told):
    told(
        MODULE + "original = m.f\nmade = []\n"
        "def make(o): made.append(o); return lambda x: o(x) + 1\n"
        "assert _safe.patch(m, 'f', make) and m.f(1) == 2 and m.f.__name__ == 'f'\n"
        "assert m.f.__wrapped__ is original and _safe.is_patched(m.f)\n"
        "assert _safe.patch(m, 'f', make) and m.f(1) == 2 and made == [original]"
    )


def test_a_patch_that_cannot_be_made_leaves_things_as_they_are(told):
    events = told(
        MODULE + "f = m.f\nassert not _safe.patch(m, 'missing', lambda o: o)\n"
        "assert not _safe.patch(m, 'f', lambda o: 1/0) and m.f is f\n"
        "assert not _safe.patch(int, '__add__', lambda o: lambda *a: 0) and 1 + 1 == 2\n"
        "assert not _safe.patch(m, 'f', lambda o: o) and m.f is f\n"
        "assert not _safe.patch(None, 'f', lambda o: lambda *a: 0)"
    )
    assert [e["name"] for e in events] == [
        "patch m.missing",
        "patch m.f",
        "patch int.__add__",
        "patch None.f",
    ]


def test_static_and_class_methods_stay_what_they_are(told):
    told(
        HEAD + "class A:\n    @staticmethod\n    def s(x): return x\n"
        "    @classmethod\n    def c(cls, x): return cls, x\n"
        "class B(A): pass\n"
        "wrap = lambda o: _safe.around(o, None)\n"
        "assert _safe.patch(A, 's', wrap) and _safe.patch(A, 'c', wrap)\n"
        "assert A.s(1) == B().s(1) == 1 and B.c(2) == (B, 2) and A().c(3) == (A, 3)\n"
        "assert type(A.__dict__['s']) is staticmethod and type(A.__dict__['c']) is classmethod\n"
        "before = A.__dict__['c']\nassert _safe.patch(A, 'c', wrap) and A.__dict__['c'] is before"
    )


def test_an_inherited_method_is_patched_on_the_class_that_was_named(told):
    told(
        HEAD + "class A:\n    def f(self): return 1\nclass B(A): pass\n"
        "assert _safe.patch(B, 'f', lambda o: lambda self: o(self) + 1)\n"
        "assert A().f() == 1 and B().f() == 2"
    )


def test_steps_are_told_to_listeners_that_may_fail(told):
    events = told(
        HEAD + "from footplate import _steps\nheard = []\n"
        "def bad(*a): raise ValueError('bad')\n"
        "_steps.listeners += [bad, lambda *a: heard.append(a)]\n"
        "_steps.begin(3, _core.EVAL); _steps.end(3, _core.EVAL)\n"
        "assert heard == [(True, 3, 1), (False, 3, 1)]"
    )
    assert [(e["kind"], e["value"]) for e in events if e["kind"] != "loss"] == [
        ("step_begin", 3),
        ("step_end", 3),
    ]
    assert losses_of(events) == ["step listener: ValueError: bad"]


READ = HEAD + "import os\nos.environ['FOOTPLATE_RING'] = {!r}\n"


def test_settings_are_read_from_a_folder_of_the_user_only(told, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    (mine / "config.json").write_text('{"steps": 1}')
    told(READ.format(str(mine)) + "assert _safe.read_settings() == '{\"steps\": 1}'")
    mine.chmod(0o777)
    told(READ.format(str(mine)) + "assert _safe.read_settings() is None")
    mine.chmod(0o700)
    (tmp_path / "link").symlink_to(mine)
    told(READ.format(str(tmp_path / "link")) + "assert _safe.read_settings() is None")
    if os.geteuid() != 0:
        pytest.skip("only root can make a folder of another user")
    os.chown(mine, 65534, 65534)
    told(READ.format(str(mine)) + "assert _safe.read_settings() is None")


def test_settings_that_are_a_fifo_or_a_link_are_not_waited_for(told, tmp_path):
    os.mkfifo(tmp_path / "config.json")
    tmp_path.chmod(0o700)
    told(READ.format(str(tmp_path)) + "with _safe.guard('x'): _safe.read_settings()")
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").symlink_to("/etc/hostname")
    told(READ.format(str(tmp_path)) + "with _safe.guard('x'): assert not _safe.read_settings()")


def test_without_a_recorder_no_settings_of_the_current_folder_are_read(told, tmp_path):
    (tmp_path / "config.json").write_text('{"steps": 1}')
    told(READ.format("") + f"os.chdir({str(tmp_path)!r})\nassert _safe.read_settings() is None")
