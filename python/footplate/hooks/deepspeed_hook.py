# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed: the engine's step() that ends an accumulation is the optimizer's step, with all that
ZeRO does in it. The pipeline engine runs a whole step per call."""

from .. import _core, _safe
from . import _loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None

_OPTIMIZER = _core.intern("optimizer")


def _before_step(args: "Args", kwargs: "Kwargs") -> bool:
    ends = bool(args[0].is_gradient_accumulation_boundary())
    if ends:
        _core.begin(_OPTIMIZER)
    return ends


def _after_step(token: bool, args: "Args", result: "Any", ok: bool) -> None:
    if token:
        _core.end(_OPTIMIZER)


def install(module: "ModuleType") -> None:
    _safe.need_any(module, ("DeepSpeedEngine", "PipelineEngine"))
    engine = vars(module).get("DeepSpeedEngine")
    if isinstance(engine, type) and "step" in vars(engine):
        _safe.patch(
            engine,
            "step",
            lambda original: _safe.around(original, _before_step, _after_step, "deepspeed step"),
        )
    pipe = vars(module).get("PipelineEngine")
    if isinstance(pipe, type):
        _safe.patch(pipe, "train_batch", _loop.is_step(_loop.TRAIN))
        _safe.patch(pipe, "eval_batch", _loop.is_step(_loop.EVAL))
