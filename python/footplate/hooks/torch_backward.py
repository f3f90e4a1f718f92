# SPDX-License-Identifier: Apache-2.0
"""The backward pass. Tensor.backward calls torch.autograd.backward by name, so one gate is enough;
torch.autograd.grad outside of a forward pass is a backward pass too."""

from .. import _safe
from . import torch_health
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def install(module: "ModuleType") -> None:
    _safe.need_any(module, ("backward",))
    before = torch_health.before_backward if torch_health.on() else None
    marks.put(module, "backward", "backward", before, own=marks.BACKWARD, closed_by=marks.BACKWARD)
    marks.put(
        module,
        "grad",
        "backward",
        own=marks.BACKWARD,
        closed_by=marks.BACKWARD | marks.FORWARD | marks.DATA,
    )
