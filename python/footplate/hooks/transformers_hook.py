# SPDX-License-Identifier: Apache-2.0
"""The Trainer of Hugging Face transformers: steps and epochs from the events that it reports to its
callbacks, all of which go through one method. No callback is added.

A training step ends with an optimizer step. What torch does in it is marked by the hooks of torch.
"""

from .. import _core, _safe
from . import _loop, _scalars, _spans, torch_health

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None


_FRAMEWORK = _core.intern("loader.framework")
_TRAINER = 1  # makes the loader itself, see src/record/events.def


def _begin_train(handler: "Any", state: "Any") -> None:
    _loop.begin_step(handler, _loop.TRAIN)


def _end_step(handler: "Any", state: "Any") -> None:
    _loop.end_step(handler)


def _begin_epoch(handler: "Any", state: "Any") -> None:
    _loop.begin_epoch(handler, int(getattr(state, "epoch", 0) or 0))


def _end_epoch(handler: "Any", state: "Any") -> None:
    _loop.end_epoch(handler)


def _plan(handler: "Any", state: "Any") -> None:
    most, done = getattr(state, "max_steps", None), getattr(state, "global_step", None)
    if isinstance(most, int) and isinstance(done, int):
        _loop.plan(most - done)
    _core.count(_FRAMEWORK, _TRAINER)


_BEFORE: "dict[str, Callable[[Any, Any], None]]" = {
    "on_train_begin": _plan,
    "on_step_begin": _begin_train,
    "on_epoch_begin": _begin_epoch,
    "on_train_end": _end_epoch,
}
_AFTER: "dict[str, Callable[[Any, Any], None]]" = {
    "on_step_end": _end_step,
    "on_epoch_end": _end_epoch,
}


# What the Trainer logs that is no number of the training, or another one of the same name.
_NOT_LOGGED = ("epoch", "total_flos", "train_loss", "step")
_OURS = ("loss", "grad_norm", "learning_rate")  # taken at every step by the hooks of torch


def _put_log(kwargs: "Kwargs") -> None:
    """The Trainer replaces a loss that is not finite by the mean of others in its log, so that it
    gets a separate name."""
    logs = (kwargs or {}).get("logs")
    if not isinstance(logs, dict) or not _scalars.settings().on:
        return
    kept = {
        f"logged/{name}" if name in _OURS else name: value
        for name, value in logs.items()
        if name not in _NOT_LOGGED and not name.endswith(("_runtime", "_per_second"))
    }
    if "eval_loss" in kept:
        torch_health.forget_evaluation()
    _scalars.put_all(kept, _scalars.latest_step(), _core.TRAIN)


def _dispatch(table: "dict[str, Callable[[Any, Any], None]]", args: "Args") -> None:
    """args: handler, name of the event, arguments, state, control."""
    action = table.get(args[1])
    if action is not None:
        action(args[0], args[3] if len(args) > 3 else None)


def _before(args: "Args", kwargs: "Kwargs") -> None:
    _dispatch(_BEFORE, args)
    if args[1] == "on_log":
        with _safe.guard("transformers log"):
            _put_log(kwargs)


def _after(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    _dispatch(_AFTER, args)


def _handler(cls: "Any") -> None:
    _safe.patch(
        cls,
        "call_event",
        lambda original: _safe.around(original, _before, _after, "transformers step"),
    )


# ---- evaluation ----


class _Predicting:
    """Whether predict() is under way, which uses the loop of evaluate()."""

    def __init__(self) -> None:
        self.depth = 0


_predicting = _Predicting()


def _enter_predict(args: "Args", kwargs: "Kwargs") -> None:
    _predicting.depth += 1


def _leave_predict(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    _predicting.depth -= 1


def _begin_prediction(args: "Args", kwargs: "Kwargs") -> object:
    """An override calls the one that it overrides: that is still one step."""
    token = object()
    _loop.begin_step(token, _loop.PREDICT if _predicting.depth else _loop.EVAL)
    return token


def _end_prediction(token: object, args: "Args", result: "Any", ok: bool) -> None:
    if ok:
        _loop.end_step(token)
    else:
        _loop.settle(token)


def _prediction_step(original: "Callable[..., Any]") -> "Callable[..., Any]":
    return _safe.around(original, _begin_prediction, _end_prediction, "transformers step")


def _enter_loop(args: "Args", kwargs: "Kwargs") -> None:
    """The user's own class may have a prediction_step that does without the Trainer's."""
    for cls in type(args[0]).__mro__:
        if "prediction_step" in vars(cls):
            _safe.patch(cls, "prediction_step", _prediction_step)


def _trainer(cls: "Any") -> None:
    wraps: dict[str, tuple[Any, Any]] = {
        "predict": (_enter_predict, _leave_predict),
        "evaluation_loop": (_enter_loop, None),
        "prediction_loop": (_enter_loop, None),
    }
    _safe.patch(cls, "train", _loop.is_loop)
    for name, (before, after) in wraps.items():
        if name in vars(cls):
            _safe.patch(cls, name, _maker(before, after))
    _spans.checkpoint(cls, "_save_checkpoint", "save_model")


def _maker(before: "Any", after: "Any") -> "Callable[..., Any]":
    return lambda original: _safe.around(original, before, after, "transformers loop")


# What is looked for in each module of hooks.HOOKS.
_PARTS: "dict[str, Callable[[Any], None]]" = {"CallbackHandler": _handler, "Trainer": _trainer}


def install(module: "ModuleType") -> None:
    _safe.need_any(module, _PARTS)
    for name, part in _PARTS.items():
        found = vars(module).get(name)
        if isinstance(found, type):
            with _safe.guard(f"transformers {name}"):
                part(found)
