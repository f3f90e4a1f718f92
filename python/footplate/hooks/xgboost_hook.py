# SPDX-License-Identifier: Apache-2.0
"""XGBoost: a step is a boosting round with the evaluation that follows it, from the container of
callbacks that train() and cv() make. No callback is added."""

from .. import _safe
from . import _loop, _scalars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None


ROUNDS = 10  # the default of xgboost.train


def _begin(args: "Args", kwargs: "Kwargs") -> None:
    _loop.begin_step(args[0], _loop.TRAIN)


def _end(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    if ok and _scalars.settings().on:
        with _safe.guard("xgboost evaluations"):
            _put_evaluations(args[0].history)
    _loop.end_step(args[0])


def _put_evaluations(history: "Any") -> None:
    found = [
        (data, metric, values[-1])
        for data, metrics in history.items()
        for metric, values in metrics.items()
        if values
    ]
    _scalars.put_evaluations(found, _scalars.current_step())


def _put_importances(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    """Of the booster that training gives; there is none of cv()."""
    if ok and _scalars.settings().on and hasattr(result, "get_score"):
        with _safe.guard("xgboost importances"):
            gains = result.get_score(importance_type="total_gain")
            gains = {k: v for k, v in gains.items() if not isinstance(v, list)}
            _scalars.put_importances("total_gain", gains, _scalars.current_step())


def _no_round(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    """A callback requested that there be no round, or raised."""
    if result or not ok:
        _loop.settle(args[0])


def _settle(args: "Args", kwargs: "Kwargs") -> None:
    _loop.settle(args[0])


def _plan(args: "Args", kwargs: "Kwargs") -> None:
    """Of train(params, dtrain, num_boost_round=10, ...) and cv, which is alike."""
    rounds = args[2] if len(args) > 2 else (kwargs or {}).get("num_boost_round", ROUNDS)
    _loop.plan(rounds)


_WRAPS: "dict[str, tuple[Any, Any]]" = {
    "before_iteration": (_begin, _no_round),
    "after_iteration": (None, _end),
    "after_training": (_settle, _put_importances),
}


def _maker(before: "Any", after: "Any") -> "Callable[..., Any]":
    return lambda original: _safe.around(original, before, after, "xgboost step")


def install(module: "ModuleType") -> None:
    for name in ("train", "cv"):
        if module.__name__ == "xgboost.training":
            _safe.patch(module, name, lambda original: _loop.is_loop(original, _plan))
    for name, (before, after) in _WRAPS.items():
        _safe.patch(module.CallbackContainer, name, _maker(before, after))
