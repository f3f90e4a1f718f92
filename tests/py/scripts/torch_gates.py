# SPDX-License-Identifier: Apache-2.0
"""Checks of _core.Gate that need no torch; each is a function. torch_gates.py NAME runs one."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import sys
import threading
import types
import weakref

from footplate import _core

ID = {name: _core.intern(name) for name in ("a", "b", "c", "yes", "no")}


def add(x, y=2, *, z=3):
    """Adds."""
    return x + y + z


def looks():
    gate = _core.Gate(add, span=ID["a"])
    assert isinstance(gate, types.FunctionType) and inspect.isfunction(gate)
    assert inspect.signature(gate) == inspect.signature(add)
    assert inspect.getsource(gate) == inspect.getsource(add)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__code__", "__dict__"):
        assert getattr(gate, name) == getattr(add, name), name
    assert repr(gate) == repr(add)
    gate.mark = 1
    assert add.mark == gate.mark == 1 and inspect.getattr_static(gate, "mark") == 1
    assert weakref.ref(gate)() is gate
    assert gate(1) == 6 and gate(1, z=0) == 3


def pickles():
    global add
    original, add = add, _core.Gate(add)
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.copy(add) is add and copy.deepcopy(add) is add
    add = original


def nests():
    inner = _core.Gate(lambda: None, span=ID["b"], own=2, closed_by=2)
    outer = _core.Gate(lambda n: inner() or (n and outer(n - 1)), span=ID["a"], own=1, closed_by=1)
    outer(3)
    closed = _core.Gate(lambda: inner(), span=ID["c"], own=2, closed_by=2)
    closed()
    opened = _core.Gate(lambda: inner(), opens=2)
    _core.Gate(lambda: opened(), span=ID["c"], own=2, closed_by=2)()


def raises():
    gate = _core.Gate(lambda: 1 / 0, span=ID["a"], own=1, closed_by=1)
    for _ in range(2):
        try:
            gate()
        except ZeroDivisionError as error:
            frames = inspect.getinnerframes(error.__traceback__)
            assert [f.function for f in frames] == ["raises", "<lambda>"]
        else:
            raise AssertionError


def stop_iteration():
    class Two:
        def __init__(self):
            self.left = 2

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return self.left

    Two.__next__ = _core.Gate(Two.__next__, span=ID["a"])
    assert list(Two()) == [1, 0]


def verdicts():
    seen = []
    done = lambda args, result: seen.append("done")  # noqa: E731
    answers = iter([False, 7, None, ((5,), {"z": 0}, done), 1 << 80])
    gate = _core.Gate(
        add,
        span=ID["a"],
        before=lambda args, kwargs: next(answers),
        after=lambda args, result: seen.append((args, result)),
    )
    assert [gate(1) for _ in range(5)] == [6, 6, 6, 7, 6]
    assert seen == [((1,), 6), ((1,), 6), "done", ((1,), 7), ((1,), 6)]


def chooses():
    for answer in (True, False):
        _core.Gate(add, span=ID["yes"], other=ID["no"], chooser=lambda a=answer: a)(1)


def fails():
    told = []

    def before(args, kwargs):
        raise ValueError("ours")

    gate = _core.Gate(add, span=ID["a"], before=before, after=lambda *a: 1 / 0, failed=told.append)
    assert gate(1) == 6 and gate(1) == 6
    assert [str(e) for e in told] == ["ours"]  # once, and both are off
    assert gate._footplate_before is None and gate._footplate_after is None
    later = _core.Gate(add, after=lambda *a: 1 / 0, failed=told.append)
    assert later(1) == 6 and isinstance(told[1], ZeroDivisionError)
    worse = _core.Gate(add, before=before, failed=lambda e: 1 / 0)
    assert worse(1) == 6


def interrupts():
    def stop(*args):
        raise KeyboardInterrupt

    wrong = {"before": lambda *args: 1 / 0, "failed": stop}
    for options in ({"before": stop}, {"after": stop}, wrong):
        try:
            _core.Gate(add, span=ID["a"], **options)(1)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError


def hidden():
    class Base:
        def __call__(self, x):
            return x + 1

    class Plain(Base):
        pass

    class Own(Base):
        def __call__(self, x):
            return super().__call__(x) * 2

    original = Base.__call__
    Base.__call__ = _core.Gate(original, span=ID["a"], own=1, closed_by=1, hidden=True)
    assert Base.__call__ is original and Plain().__call__.__func__ is original
    assert Plain()(1) == 2  # marked
    assert Own()(1) == 4  # marked, through super
    assert Plain().__call__(1) == 2  # marked: Python calls it without looking it up as an attribute
    bound = Plain().__call__
    assert bound(1) == 2  # not marked


def binds():
    class Thing:
        def method(self, x):
            return self, x

    Thing.method = _core.Gate(Thing.method, span=ID["a"])
    thing = Thing()
    assert thing.method(1) == (thing, 1)
    assert type(thing.method) is types.MethodType and thing.method.__func__ is Thing.method
    assert Thing.method.__get__(thing, Thing)(2) == (thing, 2)


def threads():
    ready, go = threading.Event(), threading.Event()

    def wait():
        ready.set()
        go.wait()

    slow = _core.Gate(wait, span=ID["a"], own=1, closed_by=1)
    other = _core.Gate(lambda: None, span=ID["b"], own=1, closed_by=1)
    thread = threading.Thread(target=slow)
    thread.start()
    ready.wait()
    other()  # the other thread is inside, this one is not
    go.set()
    thread.join()


def quiet():
    _core.Gate.quiet(True)
    _core.Gate(add, span=ID["a"])(1)
    _core.Gate(add, span=ID["b"], always=True)(1)
    _core.Gate.quiet(False)


def make_and_leave():
    class Thing:
        def method(self):
            return Thing

    Thing.method = _core.Gate(Thing.method, before=lambda a, k: Thing)
    return weakref.ref(Thing)


def collected():
    gone = make_and_leave()
    gc.collect()
    assert gone() is None


def taken_off():
    """The original removes the gate that it was called through."""
    box = {}

    def original():
        box.clear()
        gc.collect()
        return 1

    box["gate"] = _core.Gate(original, span=ID["a"], after=lambda *a: None)
    assert box["gate"]() == 1


def within():
    """What a gate calls before and after the calls within an outermost one."""
    told, seen = [], []
    masks = {"own": 2, "closed_by": 2 | 4}

    def call(n, then=None):
        return then() if then else n and gate(n - 1)

    def before(args):
        seen.append(args)
        return (lambda args, result: seen.append((args, result))) if args == (1,) else None

    gate = _core.Gate(call, span=ID["a"], failed=told.append, **masks)
    assert gate(2) == 0 and seen == []
    gate._footplate_within = before
    assert gate(2) == 0 and seen == [(1,), (0,), ((1,), 0)]
    del seen[:]
    closed = _core.Gate(lambda: gate(1), own=4, closed_by=4)  # and in something else
    gate(0, closed)
    closed()
    assert seen == []
    gate._footplate_range = lambda args, outermost: None
    assert gate(1) == 0 and seen == [(0,)]
    gate._footplate_within = lambda args: 1 / 0
    assert gate(2) == 0 and len(told) == 1
    assert gate._footplate_within is None

    def stop(args):
        raise KeyboardInterrupt

    gate._footplate_within = stop
    try:
        gate(1)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError


globals()[sys.argv[1]]()
