# SPDX-License-Identifier: Apache-2.0
"""Scalars of training health: footplate.log, and what hooks of frameworks share with it.

Loaded into jobs, so it imports nothing that Python has not loaded itself.
"""

from . import _core, _safe, _steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SCALAR = 0
_EXIT_MS = 200  # that the end of a program may take for values that still wait

# What hooks of a framework set: the step that the program is in, as (number, mode), or None; and a
# function for tensors whose values must not be waited for: (name, value, step, mode) -> taken.
current: "list[Callable[[], tuple[int, int] | None]]" = []
defer: "list[Callable[[int, Any, int, int], bool]]" = []

_names: "dict[str, int]" = {}
_exit: "list[bool]" = []


def _begin_again() -> None:
    _names.clear()


_safe.on_begin_again.append(_begin_again)


def name_of(name: str) -> int:
    """The number of a name; 0: there are too many."""
    found = _names.get(name)
    if found is None:
        found = _core.health_name(name if isinstance(name, str) else str(name))
        if found:
            _names[name] = found
    return found


def step_now() -> "tuple[int, int]":
    """The number and mode of the step that the program is in; -1: not known."""
    for call in current:
        found = call()
        if found is not None:
            return found
    return _steps.number, _steps.mode


def _drain() -> None:
    if _core.enabled():
        _core.health_drain(_EXIT_MS)


def drain_at_exit() -> None:
    """What still waits when the program ends is sent, or counted as lost."""
    if not _exit:
        _exit.append(True)
        import atexit

        atexit.register(_safe.guard("health exit")(_drain))


def put(name: str, value: "Any", step: int, mode: int) -> None:
    """One scalar. Tensors of a GPU are left to `defer`: reading one waits for the GPU."""
    number = name_of(name)
    if not number:
        return
    if isinstance(value, (float, int)):
        _core.health_log(number, float(value), step, mode)
        return
    for call in defer:
        if call(number, value, step, mode):
            return
    if getattr(value, "is_cuda", False):
        raise _safe.Refusal("a tensor on a GPU needs the hooks of PyTorch")
    _core.health_log(number, float(value), step, mode)


def log(name: "str | dict[str, Any]", value: "Any", step: "int | None", mode: int) -> None:
    """One scalar, or several as a dictionary."""
    if step is None:
        step, found = step_now()
        mode = mode if mode >= 0 else found
    scalars = name if isinstance(name, dict) else {name: value}
    for key, number in scalars.items():
        with _safe.guard("log " + str(key)):
            put(key, number, int(step), max(mode, 0))
    _core.health_flush()
    drain_at_exit()
