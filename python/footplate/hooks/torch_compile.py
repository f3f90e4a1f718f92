# SPDX-License-Identifier: Apache-2.0
"""torch.compile: when it compiles, as "compile" spans, and nothing of us for it to look at.

Nothing is patched in what is compiled. The compiler looks at every frame that runs beneath a
compiled function, so our hooks configure it to skip the frames of our own files.
"""

import sys

from .. import _core
from . import torch_forward
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_COMPILE = _core.intern("compile")


def _begin(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> None:
    _core.begin(_COMPILE)


def _end(args: "tuple[Any, ...]", result: "Any") -> None:
    _core.end(_COMPILE)
    torch_forward.put_back()


def _mark_compilations(module: "ModuleType") -> None:
    """Torch calls its own callbacks when the outermost compilation begins and ends."""
    handler = module.CompilationCallbackHandler
    marks.put(handler, "run_start_callbacks", before=_begin)
    marks.put(handler, "run_end_callbacks", after=_end)


def _stay_out_of_sight(module: "ModuleType") -> None:
    module.add(__package__.partition(".")[0])


def install(module: "ModuleType") -> None:
    if module.__name__ == "torch._dynamo.callback":
        _mark_compilations(module)
    elif module.__name__ in ("torch._dynamo.trace_rules", "torch._dynamo.skipfiles"):
        _stay_out_of_sight(module)
    elif "torch._dynamo.callback" not in sys.modules:  # convert_frame, before 2.2
        marks.put(module, "_compile", "compile", own=marks.COMPILE, closed_by=marks.COMPILE)
