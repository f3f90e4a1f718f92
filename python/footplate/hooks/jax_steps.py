# SPDX-License-Identifier: Apache-2.0
"""JAX without a framework: steps that are derived from a jitted function which is called again and
again.

jax.jit hands the program's own functions back with a count of their calls around them; those of
libraries stay as they are. A step lasts from one call of the function to the next, since a call
returns before its work is done. It is the function that is called twice first; one that is called
three times within such a step is an evaluation, until the first is called again. A function with
calls of less than 0.2 ms is a tool and no step: its calls are not counted any more. The mark
"step.derived" says that the program did not mark these steps. footplate.step() switches all of it
off.
"""

import sys
import sysconfig
import threading
import types

from .. import _core, _safe, _steps
from . import _loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_DERIVED = _core.intern("step.derived")
_AGAIN = 2  # calls after which a function is that of the steps
_MANY = 3  # calls of another one within a step
_LOOK = 100  # steps after which their length is looked at
_SHORT_NS = _LOOK * 200_000
_LOOKS = ("__name__", "__qualname__", "__doc__", "__module__")
_get_ident = threading.get_ident


class _State:
    main = threading.main_thread().ident
    off = False  # the program marks its steps
    mine = False  # the step that listeners hear of is one of these
    train: "Any" = None  # functions
    current: "Any" = None
    calls: "dict[int, int]" = {}  # of functions, by id, since the step began
    steps = 0  # of the current function, since it became that or was looked at
    since_ns = 0
    is_clean: "Any" = None  # whether nothing is being traced


def _emit(begin: bool, mode: int) -> None:
    _State.mine = True
    try:
        _loop.end_step(_State)
        if begin:
            _loop.begin_step(_State, mode)
    finally:
        _State.mine = False
    _State.calls.clear()


def _is_short(function: "Jitted") -> bool:
    now, time_ns = _State, _core.now_ns()
    short = time_ns - now.since_ns < _SHORT_NS
    now.steps, now.since_ns = 1, time_ns
    if short:
        function.__dict__["_footplate_short"] = True
        now.current = None
        if function is now.train:
            now.train = None
        _emit(False, 0)
    return short


def _switch(function: "Jitted") -> None:
    """From here on the steps are calls of this function."""
    now = _State
    if now.train is None:
        now.train = function
        _core.mark(_DERIVED)
    if now.current is not function:
        _core.mark(_core.intern(f"a step is a call of {function.__name__}"))
        now.steps, now.since_ns = 0, _core.now_ns()
    now.current = function
    now.steps += 1
    if now.steps > _LOOK and _is_short(function):
        return
    _emit(True, _loop.TRAIN if function is now.train else _loop.EVAL)


@_safe.guard("jax steps")
def _called(function: "Jitted") -> None:
    now = _State
    if now.off or _get_ident() != now.main or not now.is_clean():
        return
    if function is now.current or (function is now.train and now.current is not None):
        _switch(function)
        return
    count = now.calls[id(function)] = now.calls.get(id(function), 0) + 1
    if count >= (_AGAIN if now.current is None else _MANY):
        _switch(function)


class Jitted:
    """Replaces a jitted function, with the same attributes, class, signature and pickle."""

    def __init__(self, original: "Any") -> None:
        looks = {name: getattr(original, name) for name in _LOOKS if hasattr(original, name)}
        self.__dict__.update(looks, __wrapped__=original, _footplate_short=False)

    if TYPE_CHECKING:
        __name__: str
        __wrapped__: Any
        _footplate_short: bool

    def __call__(self, *args: "Any", **kwargs: "Any") -> "Any":
        if not self._footplate_short and _core.enabled():
            _called(self)
        return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name: str) -> "Any":
        return getattr(self.__dict__["__wrapped__"], name)

    def __get__(self, owner: "Any", kind: "Any" = None) -> "Any":
        return self if owner is None else types.MethodType(self, owner)

    @property  # type: ignore[misc]
    def __class__(self) -> "Any":
        return type(self.__dict__["__wrapped__"])

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce_ex__(self, protocol: "Any") -> "Any":
        """The original alone, also for a process without us: max of one thing is that thing."""
        return max, ((self.__wrapped__,),)


_LIBRARIES = tuple(sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib", "purelib", "platlib"))


def _is_library(file: str) -> bool:
    packages = "/site-packages/" in file or "/dist-packages/" in file
    return packages or file.startswith((*_LIBRARIES, "<frozen"))


def _recorded(original: "Any") -> "Any":
    def jit(*args: "Any", **kwargs: "Any") -> "Any":
        made = original(*args, **kwargs)
        with _safe.guard("jax jit"):
            if _is_library(sys._getframe(1).f_code.co_filename):
                return made
            if type(made).__name__ == "PjitFunction":
                return Jitted(made)
            if isinstance(made, types.FunctionType) and not args:  # jit(static_argnums=0)
                return lambda fun: Jitted(made(fun))
        return made

    return jit


def _heard(begins: bool, number: int, mode: int) -> None:
    if not _State.mine:
        _State.off = True


def _finish() -> None:
    """The recording ends before the process."""
    _State.mine = True
    try:
        _loop.settle(_State)
    finally:
        _State.mine = False
    _State.train = _State.current = None
    _State.calls.clear()


def install(module: "ModuleType") -> None:
    if module.__name__ != "jax" or _State.is_clean is not None:
        return
    _State.is_clean = sys.modules["jax._src.core"].trace_state_clean
    hide = getattr(sys.modules.get("jax._src.traceback_util"), "register_exclusion", None)
    if hide is not None:
        hide(__file__)
    if _safe.patch(module, "jit", _recorded):
        _steps.listeners.append(_heard)
        _safe.on_finish.append(_finish)
