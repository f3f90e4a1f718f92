# SPDX-License-Identifier: Apache-2.0
"""Around: a wrapped function is not to be told from the function itself."""

from __future__ import annotations

import pytest
from pykit import losses_of

LIBRARY = '''
import warnings, sys, traceback

def outer(x, *rest, key=None, **more) -> int:
    """What outer does."""
    if x == "raise":
        raise ValueError("from inside")
    if x == "warn":
        warnings.warn("look at your line", stacklevel=2)
    if x == "stack":
        return [f.name for f in traceback.extract_stack()]
    return (x, rest, key, more)

outer.note = "kept"

class Model:
    def step(self, x=1):
        """What step does."""
        return (type(self).__name__, x)
    @staticmethod
    def fixed(x):
        return x
    @classmethod
    def made(cls, x):
        return (cls.__name__, x)
    def __next__(self):
        return 5
    def __iter__(self):
        return self

class Child(Model):
    pass
'''

WRAP = """
import sys, library
if {wrap}:
    from footplate import _core, _safe
    calls = []
    def before(args, kwargs): calls.append(("before", args, kwargs)); return len(calls)
    def after(token, args, result, ok): calls.append(("after", token, args, result, ok))
    wrap = lambda original: _safe.around(original, before, after, "test")
    assert _safe.patch(library, "outer", wrap)
    for name in ("step", "fixed", "made", "__next__"):
        assert _safe.patch(library.Model, name, wrap)
"""

SAME = {
    "results": "print(library.outer(1, 2, key=3, more=4), library.outer(x=1))",
    "methods": "m = library.Child(); print(m.step(), m.step(x=2), library.Model.step(m, 3))",
    "static and class methods": (
        "print(library.Model.fixed(1), library.Child().fixed(2), library.Child.made(3))"
    ),
    "special methods": "print(next(library.Model()), next(iter(library.Child())))",
    "a kept bound method": "f = library.Child().step; print(f(), f.__self__.__class__, f.__name__)",
    "map and partial": (
        "import functools; print(list(map(library.outer, [1, 2])), "
        "functools.partial(library.outer, 1)(2))"
    ),
    "an exception": (
        "try: library.outer('raise')\nexcept ValueError as e: print(e, e.__context__, e.__cause__)"
    ),
    "an uncaught exception": "def user():\n    library.outer('raise')\nuser()",
    "wrong arguments": "library.Model().step(1, 2, 3)",
    "the line of a warning": "def user():\n    library.outer('warn')\nuser()",
    "the stack": "def user():\n    return library.outer('stack')\nprint(user())",
    "names": (
        "f = library.outer; print(f.__name__, f.__qualname__, f.__module__, f.__doc__, "
        "f.__annotations__, f.note, f.__defaults__, f.__kwdefaults__, f.__code__.co_name)"
    ),
    "signatures": (
        "import inspect; print(inspect.signature(library.outer), "
        "inspect.signature(library.Model.step), inspect.signature(library.Model().step))"
    ),
    "source": "import inspect; print(inspect.getsource(library.outer), inspect.getsourcefile("
    "library.Model.step), inspect.getdoc(library.outer))",
    "pickles": (
        "import pickle; f = pickle.loads(pickle.dumps(library.outer)); "
        "print(f is library.outer, pickle.dumps(library.outer), "
        "pickle.loads(pickle.dumps(library.Model().step))(4))"
    ),
    "copies": "import copy; print(copy.copy(library.outer) is copy.deepcopy(library.outer))",
    "weak references": "import weakref as w; r = w.ref(library.outer); print(r() is library.outer)",
    "as a key": "print({library.outer: 1}[library.outer], library.outer == library.outer)",
    "repr": "import re; print(re.sub('0x[0-9a-f]+', '', repr(library.outer)))",
    "a changed attribute": "library.outer.x = 5; print(library.outer.x); del library.outer.x\n"
    "try: library.outer.x\nexcept AttributeError: print('gone')",
    "help": "help(library.outer)",
    "callable": "print(callable(library.outer), callable(library.Model.step))",
    "recursion": (
        "def deep(n): return library.outer(deep(n - 1)) if n else 0\nprint(len(repr(deep(60))))"
    ),
    "generators through it": "print(*library.outer(i for i in range(3))[0])",
}


@pytest.mark.parametrize("what", SAME)
def test_a_wrapped_function_is_as_without_us(hooked, plain, tmp_path, package, what):
    (tmp_path / "library.py").write_text(LIBRARY)
    script = tmp_path / "script.py"
    seen = []
    for wrap, run in ((True, hooked), (False, plain)):
        head = WRAP.format(wrap=wrap)
        script.write_text(head + SAME[what] + "\n")
        done = run(script, env={"PYTHONPATH": str(package)})
        seen.append((done.returncode, done.stdout, done.stderr))
    assert seen[0] == seen[1]
    assert seen[0][1] or seen[0][2]


HEAD = (
    "from footplate import _core, _safe\nlog = []\n"
    "def before(args, kwargs): log.append(('before', args, kwargs)); return 'token'\n"
    "def after(*all): log.append(('after', *all))\n"
)


def test_before_and_after_see_the_call_and_its_result(told):
    told(
        HEAD + "f = _safe.around(lambda *a, **k: log.append('original') or 9, before, after)\n"
        "assert f(1, k=2) == 9\n"
        "assert log == [('before', (1,), {'k': 2}), 'original', ('after', 'token', (1,), 9, True)]"
        ", log\nlog.clear(); f()\nassert log[0] == ('before', (), None), log"
    )


def test_after_is_told_when_the_original_raised(told):
    told(
        HEAD + "f = _safe.around(lambda: 1/0, before, after)\n"
        "try: f()\nexcept ZeroDivisionError: pass\nelse: raise SystemExit(1)\n"
        "assert log[1] == ('after', 'token', (), None, False), log"
    )


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_exception_of_ours_is_swallowed_and_told_once(told, where):
    events = told(
        HEAD + f"def {where}(*a): log.append('{where}'); raise KeyError('ours')\n"
        "n = [0]\ndef original(): n[0] += 1; return n[0]\n"
        "f = _safe.around(original, before, after, 'thing')\n"
        "assert [f(), f(), f()] == [1, 2, 3]"
    )
    assert losses_of(events) == ["thing: KeyError: 'ours'"]


def test_after_is_not_called_when_before_failed(told):
    told(
        HEAD + "def before(*a): 1/0\nf = _safe.around(lambda: 3, before, after)\n"
        "assert f() == 3 and log == []"
    )


def test_the_exception_of_the_original_survives_a_failing_after(told):
    told(
        HEAD + "def after(*a): raise KeyError\n"
        "def original(): raise ValueError('theirs')\n"
        "f = _safe.around(original, before, after)\n"
        "try: f()\nexcept ValueError as e: assert e.__context__ is None and str(e) == 'theirs'"
    )


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_interrupt_in_our_code_is_the_users(told, where):
    told(
        HEAD + f"def {where}(*a): raise KeyboardInterrupt\n"
        "f = _safe.around(lambda: 3, before, after)\n"
        "try: f()\nexcept KeyboardInterrupt: pass\nelse: raise SystemExit(1)"
    )


def test_a_failure_while_telling_a_failure_is_swallowed_too(told):
    told(
        HEAD + "def failed(e): raise RuntimeError\ndef before(*a): 1/0\n"
        "assert _core.Around(lambda: 4, before, None, failed)() == 4"
    )


def test_either_side_may_be_missing(told):
    told(
        HEAD + "assert _safe.around(lambda: 1, None)() == 1\n"
        "_safe.around(lambda: 2, None, after)()\nassert log == [('after', None, (), 2, True)]"
    )


def test_nothing_is_leaked(told):
    """Calls that return, raise and fail leave the memory as it was."""
    told(
        HEAD + "import sys, gc, weakref\nbefore = lambda a, k: object()\n"
        "after = lambda t, a, r, ok: 1/0\n"
        "def original(x):\n    if x: raise ValueError\n    return object()\n"
        "f = _core.Around(original, before, after, None)\n"
        "def use(n):\n    for i in range(n):\n        try: f(i & 1)\n"
        "        except ValueError: pass\n"
        "use(1000); gc.collect(); was = sys.getallocatedblocks()\n"
        "use(20000); gc.collect(); assert abs(sys.getallocatedblocks() - was) < 50\n"
        "counts = [sys.getrefcount(o) for o in (original, before, after, f, None)]\n"
        "use(1000)\n"
        "now = [sys.getrefcount(o) for o in (original, before, after, f, None)]\n"
        "assert all(abs(a - b) < 10 for a, b in zip(counts, now)), (counts, now)\n"
        "class Big: pass\n"
        "def circle(which):\n    big = Big()\n"
        "    sides = [lambda *a: big if i == which else None for i in range(4)]\n"
        "    sides[which].loop = g = _core.Around(*sides); g.itself = g\n"
        "    return weakref.ref(big)\n"
        "refs = [circle(i) for i in range(4)]; gc.collect()\n"
        "assert [r() for r in refs] == [None] * 4"
    )


def test_a_decorated_function_is_a_span(told):
    events = told(
        HEAD + "@_core.Span(_core.intern('deco'))\ndef f(x):\n    'doc'\n    return x + 1\n"
        "assert f(1) == 2 and f.__name__ == 'f' and f.__doc__ == 'doc'\n"
        "try: f('x')\nexcept TypeError: pass"
    )
    assert [(e["kind"], e["name"]) for e in events] == [
        ("span_begin", "deco"),
        ("span_end", "deco"),
    ] * 2
