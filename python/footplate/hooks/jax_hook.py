# SPDX-License-Identifier: Apache-2.0
"""JAX: tracing, lowering and compiling, as "compile" spans, and waits for a device.

A wait is block_until_ready, or a value that is fetched. Nothing is put in place for them before the
first compilation has shown that arrays do not live on the CPU.

JAX has no loop of its own: steps come from the explicit API, from Keras when JAX is its backend, or
are derived (jax_steps.py).
"""

import sys
import threading

from .. import _core, _safe
from ..detail import trace_window, windows  # noqa: F401 - windows listens to steps
from . import _waits
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_COMPILE = _core.intern("compile")
_COMPILING = "/jax/core/compile/"


# methods of arrays that wait: the operation's name
WAITS = {
    "block_until_ready": "block_until_ready",
    "item": "item",
    "tolist": "tolist",
    "__array__": "array",
    "__float__": "float",
    "__int__": "int",
    "__bool__": "bool",
    "__index__": "index",
}


class _Thread(threading.local):
    """How many of them are under way: functions are traced inside of others."""

    def __init__(self) -> None:
        self.depth = 0


_here = _Thread()


@_safe.guard("jax compile")
def _begins(event: str, value: "Any", **facts: "Any") -> None:
    if event.startswith(_COMPILING):
        _here.depth += 1


@_safe.guard("jax compile")
def _ended(event: str, duration: float, **facts: "Any") -> None:
    if not event.startswith(_COMPILING):
        return
    if _here.depth:
        _here.depth -= 1
    if _here.depth == 0:
        _core.past(_COMPILE, 0, max(int(duration * 1e9), 0), 0)
        if not _State.knows_device and event.endswith("backend_compile_duration"):
            _look_at_device()


class _State:
    knows_device = False


def hook_waits(jax: "Any") -> None:
    _waits.ready()
    array = sys.modules["jax._src.array"].ArrayImpl
    for attr, op in WAITS.items():
        if attr in vars(array):
            _waits.put(array, attr, op, _waits.ALWAYS, hidden=True)
    if _waits.put(jax, "block_until_ready", "block_until_ready", _waits.ALWAYS):
        api: Any = sys.modules["jax._src.api"]
        api.block_until_ready = jax.block_until_ready


def _look_at_device() -> None:
    _State.knows_device = True
    jax: Any = sys.modules["jax"]
    if jax.default_backend() != "cpu":
        hook_waits(jax)


def _make_way(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> bool:
    trace_window.make_way()
    return False


def _listen(module: "ModuleType") -> None:
    """JAX before 2025 does not report when it begins: then inner ones are recorded too, and a query
    counts the time of nested ones once."""
    if getattr(module, "_footplate_listens", False):
        return
    module._footplate_listens = True  # type: ignore[attr-defined]
    if hasattr(module, "register_scalar_listener"):
        module.register_scalar_listener(_begins)
    module.register_event_duration_secs_listener(_ended)


def install(module: "ModuleType") -> None:
    if module.__name__ == "jax._src.profiler":
        marks.put(module, "start_trace", before=_make_way)
    else:
        _listen(module)
