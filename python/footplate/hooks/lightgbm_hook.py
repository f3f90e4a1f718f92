# SPDX-License-Identifier: Apache-2.0
"""LightGBM: a step is a boosting round, from Booster.update to the next one, so that it has the
evaluation and the callbacks that follow it. Of cv() it is a round of all folds. A Booster.update
outside of train() and cv() is a step by itself. No callback is added."""

import sys
import threading

from .. import _safe
from . import _loop, _scalars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None


class _Thread(threading.local):
    def __init__(self) -> None:
        self.owners: list[Any] = []  # of each train() under way: the booster whose rounds count


_here = _Thread()

ROUNDS = 100  # the default of lightgbm.train
ROUND_NAMES = (
    "num_iterations",
    "num_iteration",
    "n_iter",
    "num_tree",
    "num_trees",
    "num_round",
    "num_rounds",
    "nrounds",
    "num_boost_round",
    "n_estimators",
    "max_iter",
)

# Modules that have taken train and cv out of lightgbm.engine.
_COPIES = ("lightgbm", "lightgbm.sklearn")


def _begin_loop(args: "Args", kwargs: "Kwargs") -> int:
    if not _here.owners:
        _loop.plan(_rounds(args, kwargs or {}))
    _here.owners.append(None)
    return _loop.depth()


def _rounds(args: "Args", kwargs: "dict[str, Any]") -> "Any":
    """Of train(params, train_set, num_boost_round=100, ...) and cv, which is alike; names in the
    parameters win."""
    params = args[0] if args else kwargs.get("params")
    given = params if isinstance(params, dict) else {}
    for name in ROUND_NAMES:
        if isinstance(given.get(name), int):
            return given[name]
    return args[2] if len(args) > 2 else kwargs.get("num_boost_round", ROUNDS)


def _end_loop(token: int, args: "Args", result: "Any", ok: bool) -> None:
    owner = _here.owners.pop()
    if ok and _scalars.settings().on and hasattr(result, "feature_importance"):
        with _safe.guard("lightgbm importances"):
            gains = dict(
                zip(result.feature_name(), result.feature_importance("gain"), strict=False)
            )
            _scalars.put_importances("total_gain", gains, _scalars.current_step())
    if ok and owner is not None:
        _loop.end_step(owner)
    _loop.unwind(token)


def _begin(args: "Args", kwargs: "Kwargs") -> None:
    booster, owners = args[0], _here.owners
    if owners and owners[-1] is None:
        owners[-1] = booster
    if owners and owners[-1] is not booster:
        return  # another fold of the same round
    _loop.end_step(booster)
    _loop.begin_step(booster, _loop.TRAIN)


def _end(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    if not ok:
        _loop.settle(args[0])
    elif not _here.owners:
        _loop.end_step(args[0])


def _evaluated(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    """Booster.eval_train or eval_valid gave a list of (data set, metric, value, larger is better).
    Of cv() only the first fold counts."""
    owners = _here.owners
    if ok and owners and owners[-1] is args[0] and _scalars.settings().on:
        with _safe.guard("lightgbm evaluations"):
            _scalars.put_evaluations([one[:3] for one in result], _scalars.current_step())


def _is_loop(original: "Callable[..., Any]") -> "Callable[..., Any]":
    return _safe.around(original, _begin_loop, _end_loop, "lightgbm loop")


def install(module: "ModuleType") -> None:
    if module.__name__ == "lightgbm.basic":
        _safe.patch(
            module.Booster,  # type: ignore[attr-defined,unused-ignore]
            "update",
            lambda original: _safe.around(original, _begin, _end, "lightgbm step"),
        )
        for name in ("eval_train", "eval_valid"):
            _safe.patch(
                module.Booster,  # type: ignore[attr-defined,unused-ignore]
                name,
                lambda original: _safe.around(original, None, _evaluated, "lightgbm evaluations"),
            )
        return
    for name in ("train", "cv"):
        original = getattr(module, name)
        _safe.patch(module, name, _is_loop)
        for other in filter(None, map(sys.modules.get, _COPIES)):
            if vars(other).get(name) is original:
                setattr(other, name, getattr(module, name))
