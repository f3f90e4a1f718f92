# SPDX-License-Identifier: Apache-2.0
"""The forward pass: calls of a root module, one that no other module called.

Every module of a model goes through nn.Module.__call__; for all but the root that costs a few
nanoseconds. The gate is hidden (see python/core/core_gate.c): reading `Module.__call__` gives
torch's own function, so torch.compile, torch.fx and torch.jit see nothing of us.

Not marked: modules called while a batch is fetched (transforms are modules too), and those that run
again inside backward (activation checkpointing).
"""

import sys

from .. import _core
from ..detail import windows
from . import torch_health
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


_placed: "list[tuple[Any, Any]]" = []  # nn.Module and its gate


def put_back(*ignored: "Any") -> None:
    """torch.fx puts its own function in the place of Module.__call__ for a while, and then what it
    had read there, which is not the gate."""
    for module, gate in _placed:
        if vars(module)["__call__"] is gate._footplate_original:
            module.__call__ = gate


def install(module: "ModuleType") -> None:
    if module.__name__ == "torch.fx._symbolic_trace":
        for attr in ("__exit__", "revert_all_patches"):  # the latter is called by others
            marks.put(module._Patcher, attr, after=put_back)
        return
    torch_health.on()
    marks.put(
        module.Module,
        "__call__",
        "forward",
        other=_core.intern("forward.eval"),
        chooser=sys.modules["torch._C"].is_grad_enabled,
        own=marks.FORWARD,
        closed_by=marks.FORWARD | marks.BACKWARD | marks.DATA | marks.OPTIMIZER | marks.COMPILE,
        hidden=True,
    )
    marks.put(
        module.Module,
        "zero_grad",
        "zero_grad",
        own=marks.ZERO_GRAD,
        closed_by=marks.ZERO_GRAD | marks.FORWARD | marks.BACKWARD,
    )
    gate = vars(module.Module)["__call__"]
    if marks.is_gate(gate):
        _placed[:] = [(module.Module, gate)]
    windows.reload()  # a window may begin with the first step
