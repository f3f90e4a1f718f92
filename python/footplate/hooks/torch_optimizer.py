# SPDX-License-Identifier: Apache-2.0
"""Optimizer steps, with a number that identifies the optimizer, and zero_grad.

torch wraps the `step` of each optimizer class when the first optimizer of it is made; the gate goes
around that wrapper. GradScaler.step is an optimizer step also when it skips the optimizer's own.

A step that is given a closure runs forward and backward inside itself (LBFGS; Lightning always does
it). What counts as the optimizer then is the part after the closure's last call.
"""

import gc
import itertools
import sys
import weakref

from .. import _core
from ..detail import boundary
from . import _threads, torch_health
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None

_OPTIMIZER = _core.intern("optimizer")
MASKS: "dict[str, Any]" = {
    "own": marks.OPTIMIZER,
    "closed_by": marks.OPTIMIZER | marks.COMPILE,
    "pulse": True,
}

# By id of the optimizer, which is left as it is: its number and a reference that ends with it.
_numbers: "dict[int, tuple[int, Any]]" = {}
boundary.loop.numbers = _numbers
_count = itertools.count(1)

_placed: "weakref.WeakKeyDictionary[type, Any]" = weakref.WeakKeyDictionary()  # gates, by class


def index_of(optimizer: "Any") -> int:
    """1 for the first optimizer that stepped, 2 for the next."""
    key = id(optimizer)
    known = _numbers.get(key)
    if known is None:
        reference = weakref.ref(optimizer, lambda gone: _numbers.pop(key, None))
        known = _numbers[key] = next(_count), reference
    return known[0]


def weights() -> "Any":
    """A parameter of the first optimizer that exists, or None."""
    for _, reference in _numbers.values():
        optimizer = reference()
        if optimizer is not None:
            return optimizer.param_groups[0]["params"][0]
    return None


def _before_step(args: "Args", kwargs: "Kwargs") -> "Any":
    """What boundary.loop.before_step leaves to Python."""
    index = index_of(args[0])
    boundary.optimizer(index)
    if len(args) == 1 and not kwargs:
        return index
    closure = args[1] if len(args) > 1 else (kwargs or {}).get("closure")
    return index if closure is None else _with_closure(args, kwargs, closure)


boundary.loop.slow_before_step = _before_step


def _with_closure(args: "Args", kwargs: "Kwargs", closure: "Any") -> "Any":
    since = [_core.now_ns()]  # the closure last returned

    def closure_done(closure_args: "Args", result: "Any") -> None:
        torch_health.closure_ended(args[0], index_of(args[0]))
        since[0] = _core.now_ns()

    def step_done(step_args: "Args", result: "Any") -> None:
        _core.past(_OPTIMIZER, 0, _core.now_ns() - since[0], 0)

    gate = marks.make(closure, "torch closure", after=closure_done, opens=marks.OPTIMIZER)
    if len(args) > 1:
        return (args[0], gate, *args[2:]), kwargs, step_done
    return args, {**(kwargs or {}), "closure": gate}, step_done


def _before_scaler(args: "Args", kwargs: "Kwargs") -> int:
    optimizer = args[1] if len(args) > 1 else (kwargs or {})["optimizer"]
    index = index_of(optimizer)
    boundary.optimizer(index)
    torch_health.scaler_begins(args[0], optimizer, index)
    return index


def _before_measured(args: "Args", kwargs: "Kwargs") -> "Any":
    """Before a step that training health is captured of."""
    answer = boundary.loop.before_step(args, kwargs)
    if type(answer) is int:
        torch_health.step_begins(args[0], answer)
    return answer


def _after_measured(args: "Args", result: "Any") -> None:
    torch_health.step_ends(args[0], index_of(args[0]))


def _put_step(owner: type) -> None:
    before, after = boundary.loop.before_step, None
    if torch_health.on():
        before, after = _before_measured, _after_measured
    if marks.put(owner, "step", "optimizer", before, after, **MASKS):
        _placed[owner] = vars(owner)["step"]


def _gate_step(args: "Args", result: "Any") -> None:
    """An optimizer is being made; torch has wrapped the step of its class."""
    boundary.made()
    for owner in type(args[0]).__mro__:
        if "step" in vars(owner):
            if owner.__module__ != "torch.optim.optimizer":
                _put_step(owner)
            return


def _subclasses(owner: "type[Any]") -> "Iterator[type[Any]]":
    for one in owner.__subclasses__():
        yield one
        yield from _subclasses(one)


def _gate_earlier(base: type) -> None:
    """Classes of which there are optimizers already: torch has wrapped their step."""
    for owner in _subclasses(base):
        if getattr(vars(owner).get("step"), "hooked", False):
            _put_step(owner)
    if "torch.optim.lr_scheduler" in sys.modules:
        one: Any
        for one in gc.get_objects():
            if issubclass(type(one), base):  # isinstance asks the object
                boundary.made()
                _gate_one(one)


def _gate_one(optimizer: "Any") -> None:
    """A scheduler has given this optimizer a `step` of its own, which calls the function that its
    class had then."""
    step, reference = vars(optimizer).get("step"), weakref.ref(optimizer)
    if step is None or marks.is_gate(step):
        return

    def before(args: "Args", kwargs: "Kwargs") -> "Any":
        one = reference()
        if one is None:
            return False
        boundary.optimizer(index_of(one))
        torch_health.step_begins(one, index_of(one))
        return index_of(one)

    def after(args: "Args", result: "Any") -> None:
        one = reference()
        if one is not None:
            torch_health.step_ends(one, index_of(one))

    gate = marks.make(step, "torch step", before, after, span=_OPTIMIZER, **MASKS)
    optimizer.step = gate
    marks.keep("optimizer", gate, before, after)


def _put_back(args: "Args", result: "Any") -> None:
    """What torch.compile of 2.0 and 2.1 takes off the classes when it is first used: it unwraps
    each step, which takes the gate too."""
    for owner, gate in list(_placed.items()):
        wrapped = gate._footplate_original
        if vars(owner).get("step") is getattr(wrapped, "__wrapped__", wrapped):
            _put_step(owner)


def _hook_compiler(patcher: "Any") -> None:
    if not marks.is_gate(patcher.patch):
        gate = marks.make(patcher.patch, "torch compile", after=_put_back)
        patcher.patch = staticmethod(gate)


def install(module: "ModuleType") -> None:
    if module.__name__ == "torch._dynamo.eval_frame":
        _hook_compiler(module.TorchPatcher)
    elif module.__name__ == "torch.optim.optimizer":
        _threads.watch()
        for attr in ("_patch_step_function", "_hook_for_profile"):  # since 2.0; 1.13
            marks.put(module.Optimizer, attr, after=_gate_step)
        marks.put(
            module.Optimizer,
            "zero_grad",
            "zero_grad",
            own=marks.ZERO_GRAD,
            closed_by=marks.ZERO_GRAD | marks.BACKWARD,
        )
        _gate_earlier(module.Optimizer)
    else:
        after = torch_health.after_scaler if torch_health.on() else None
        marks.put(module.GradScaler, "step", "optimizer", _before_scaler, after, **MASKS)
        if torch_health.on():
            marks.put(module.GradScaler, "scale", after=torch_health.after_scale)
            marks.put(module.GradScaler, "update", after=torch_health.after_update)
