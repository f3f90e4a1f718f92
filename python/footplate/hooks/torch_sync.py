# SPDX-License-Identifier: Apache-2.0
"""Waits for the GPU: calls that return only when the device has done its work, and copies.

Put in place once CUDA is initialised. The methods of Tensor are those of a base class in C; ours go
on Tensor itself, hidden: `torch.Tensor.item` still is torch's own.
"""

import sys

from .. import _core, _safe
from . import _waits
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# attribute of torch.Tensor: the operation's name, what decides whether it waits
METHODS = {
    "item": ("item", _waits.TENSOR),
    "cpu": ("cpu", _waits.TENSOR),
    "tolist": ("tolist", _waits.TENSOR),
    "numpy": ("numpy", _waits.TENSOR),
    "__bool__": ("bool", _waits.TENSOR),
    "__int__": ("int", _waits.TENSOR),
    "__float__": ("float", _waits.TENSOR),
    "__index__": ("index", _waits.TENSOR),
    "nonzero": ("nonzero", _waits.TENSOR),
    "masked_select": ("masked_select", _waits.TENSOR),
    "__getitem__": ("mask", _waits.MASK),
    "to": ("to", _waits.TO),
    "cuda": ("cuda", _waits.CUDA),
}
FUNCTIONS = ("nonzero", "masked_select")  # of torch; the same as methods
_CLOSED = marks.FORWARD | marks.BACKWARD | marks.OPTIMIZER | marks.DATA | marks.COMPILE | marks.H2D


def _put_methods(torch: "Any") -> None:
    base = next(c for c in torch.Tensor.__mro__ if "item" in vars(c) and c is not torch.Tensor)
    if type(vars(base).get("__getitem__")) is not type(object.__str__):
        base = None  # no slot in C that can be called directly
    functions = torch._C
    _core.SyncGate.setup_tensors(
        (torch.Tensor, base, torch.nn.Parameter, torch.device),
        (torch.bool, torch.uint8),
        (
            functions.DisableTorchFunction,
            getattr(functions, "_is_torch_function_mode_enabled", None),
        ),
        marks.H2D,
        _CLOSED,
    )
    for attr, (op, kind) in METHODS.items():
        if attr not in vars(torch.Tensor):
            _waits.put(torch.Tensor, attr, op, kind, hidden=True)


def _put_functions(torch: "Any") -> None:
    """Functions of a module cannot be hidden. The compiler of TorchScript knows torch's functions
    by their ids and may have made its table already."""
    scripts: Any = sys.modules.get("torch.jit._builtins")
    table = getattr(scripts, "_builtin_table", None)
    for attr in FUNCTIONS:
        function = getattr(torch, attr, None)
        if _waits.put(torch, attr, attr, _waits.TENSOR) and table and id(function) in table:
            table[id(getattr(torch, attr))] = table[id(function)]


def _put_synchronize(torch: "Any") -> None:
    _waits.put(torch.cuda, "synchronize", "synchronize", _waits.ALWAYS)
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None and hasattr(accelerator, "synchronize"):
        _waits.put(accelerator, "synchronize", "synchronize", _waits.ALWAYS)
    for name, op in (("Stream", "stream.synchronize"), ("Event", "event.synchronize")):
        owner = getattr(torch.cuda, name, None)
        if isinstance(owner, type) and hasattr(owner, "synchronize"):
            _waits.put(owner, "synchronize", op, _waits.ALWAYS)


def install(torch: "Any") -> None:
    """CUDA is in use."""
    _waits.ready()
    for part in (_put_methods, _put_functions, _put_synchronize):
        with _safe.guard("sync"):
            part(torch)
