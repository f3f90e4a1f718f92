# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed: the engine's step() that ends an accumulation is the optimizer's step, with all that
ZeRO does in it. The pipeline engine runs a whole step per call."""

from .. import _safe
from ..detail import boundary
from . import _loop, torch_marks, torch_optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None


def _before_step(args: "Args", kwargs: "Kwargs") -> int:
    engine = args[0]
    if not engine.is_gradient_accumulation_boundary():
        return False
    index = torch_optimizer.index_of(engine)
    boundary.optimizer(index)
    return index


def install(module: "ModuleType") -> None:
    _safe.need_any(module, ("DeepSpeedEngine", "PipelineEngine"))
    engine = vars(module).get("DeepSpeedEngine")
    if isinstance(engine, type):  # the optimizer inside it is the same step
        torch_marks.put(engine, "step", "optimizer", _before_step, **torch_optimizer.MASKS)
    pipe = vars(module).get("PipelineEngine")
    if isinstance(pipe, type):
        _safe.patch(pipe, "train_batch", _loop.is_step(_loop.TRAIN))
        _safe.patch(pipe, "eval_batch", _loop.is_step(_loop.EVAL))
