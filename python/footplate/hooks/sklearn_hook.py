# SPDX-License-Identifier: Apache-2.0
"""scikit-learn: each fit() is a span "fit CLASS", also the fits inside of a pipeline or a search.
It has no steps; a partial_fit() that the program calls is one.

The methods themselves stay as they are, since scikit-learn asks whether they are functions. All of
them run inside sklearn.base.config_context, which is replaced here in the module that uses it.
"""

import sys
import threading

from .. import _core, _safe
from . import _loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

DEPTH = 3  # of fits inside of fits: a search, its pipeline, a part of that


class _Thread(threading.local):
    def __init__(self) -> None:
        self.depth = 0


_here = _Thread()


class _Context:
    """The original context, with a span or a step around what runs in it."""

    __slots__ = ("original", "name", "steps")

    def __init__(self, original: "Any", name: int, steps: bool) -> None:
        self.original = original
        self.name = name
        self.steps = steps

    def __enter__(self) -> "Any":
        _here.depth += 1
        with _safe.guard("sklearn fit"):
            if self.steps:
                _loop.begin_step(self, _loop.TRAIN)
            elif self.name:
                _core.begin(self.name)
        return self.original.__enter__()

    def __exit__(self, kind: "Any", error: "Any", where: "Any") -> "Any":
        try:
            return self.original.__exit__(kind, error, where)
        finally:
            _here.depth -= 1
            with _safe.guard("sklearn fit"):
                if self.steps and kind is None:
                    _loop.end_step(self)
                elif self.steps:
                    _loop.settle(self)
                elif self.name:
                    _core.end(self.name)


def _describe(caller: "Any") -> "tuple[int, bool]":
    """The name of the span of the fit that the caller is about to call, and whether it is a
    step."""
    method, estimator = caller.get("fit_method"), caller.get("estimator")
    if method is None or estimator is None or _here.depth >= DEPTH:
        return 0, False
    if method.__name__ == "partial_fit" and _here.depth == 0:
        return 0, True
    return _core.intern(f"{method.__name__} {type(estimator).__name__}"), False


def _recorded(original: "Callable[..., Any]") -> "Callable[..., Any]":
    def config_context(**settings: "Any") -> "Any":
        context = original(**settings)
        if _core.enabled():
            with _safe.guard("sklearn fit"):
                return _Context(context, *_describe(sys._getframe(1).f_locals))
        return context

    return config_context


def install(module: "ModuleType") -> None:
    _safe.need_any(module, ("_fit_context",))
    _safe.patch(module, "config_context", _recorded)
