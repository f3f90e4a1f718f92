# SPDX-License-Identifier: Apache-2.0
"""Lightning 2 (lightning and pytorch_lightning): steps and epochs from the calls of its callback
hooks, all of which go through one function. No callback is added to the trainer's.

A training step is what ends with an optimizer step, so with gradient accumulation it has several
batches. What torch does in it is marked by the hooks of torch.
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

_MODES = {
    "train": _loop.TRAIN,
    "validation": _loop.EVAL,
    "test": _loop.EVAL,
    "predict": _loop.PREDICT,
}


def _accumulates(trainer: "Any") -> bool:
    try:
        return bool(trainer.fit_loop.epoch_loop._should_accumulate())
    except AttributeError:
        return False


def _plan(trainer: "Any") -> None:
    """Infinite when neither steps nor epochs have a limit."""
    most = trainer.estimated_stepping_batches
    if isinstance(most, int):
        _loop.plan(most - trainer.global_step)


def _begin_train(trainer: "Any") -> None:
    if not _loop.has_step(trainer):
        _loop.begin_step(trainer, _loop.TRAIN)


def _end_train(trainer: "Any") -> None:
    if not _accumulates(trainer):
        _loop.end_step(trainer)


def _begin_epoch(trainer: "Any") -> None:
    _loop.begin_epoch(trainer, getattr(trainer, "current_epoch", 0))


def _over(trainer: "Any") -> None:
    """The loop is over, well or not."""
    _loop.settle(trainer)
    _loop.end_epoch(trainer)


def _beginner(mode: int) -> "Callable[[Any], None]":
    return lambda trainer: _loop.begin_step(trainer, mode)


_BEFORE: "dict[str, Callable[[Any], None]]" = {
    **{f"on_{name}_batch_start": _beginner(mode) for name, mode in _MODES.items()},
    "on_train_start": _plan,
    "on_train_batch_start": _begin_train,
    "on_train_epoch_start": _begin_epoch,
    "on_validation_start": _loop.settle,
    "on_train_epoch_end": _loop.settle,
    "on_exception": _over,
    "teardown": _over,
}
_AFTER: "dict[str, Callable[[Any], None]]" = {
    **{f"on_{name}_batch_end": _loop.end_step for name in _MODES},
    "on_train_batch_end": _end_train,
    "on_train_epoch_end": _loop.end_epoch,
}


def _before(args: "Args", kwargs: "Kwargs") -> None:
    """args: trainer, name of the callback's hook, what it is given."""
    action = _BEFORE.get(args[1])
    if action is not None:
        action(args[0])


def _after(token: "Any", args: "Args", result: "Any", ok: bool) -> None:
    action = _AFTER.get(args[1])
    if action is not None:
        action(args[0])


# ---- metrics ----


def _put_metrics(args: "Args", kwargs: "Kwargs") -> None:
    """Of log_metrics(self, metrics, step=None), which all that is logged goes through."""
    metrics = args[1] if len(args) > 1 else (kwargs or {}).get("metrics")
    if not isinstance(metrics, dict) or not _scalars.settings().on:
        return
    kept = {f"logged/{k}" if k == "loss" else k: v for k, v in metrics.items() if k != "epoch"}
    if "val_loss" in kept:
        torch_health.forget_evaluation()
    _scalars.put_all(kept, _scalars.latest_step(), _core.TRAIN)


def install(module: "ModuleType") -> None:
    if module.__name__.endswith(".logger_connector"):
        _safe.patch(
            module._LoggerConnector,
            "log_metrics",
            lambda original: _safe.around(original, _put_metrics, None, "lightning metrics"),
        )
    elif module.__name__.endswith(".call"):
        _safe.patch(
            module,
            "_call_callback_hooks",
            lambda original: _safe.around(original, _before, _after, "lightning step"),
        )
    else:
        _spans.checkpoint(module.Trainer, "save_checkpoint")
