# SPDX-License-Identifier: Apache-2.0
"""Steps and epochs as the callbacks of a training loop report them, in order.

Callbacks report where a step begins and ends, but not always both: the input ran out, a callback
stopped the loop, an exception left it. Here every step that began is ended before anything else
begins, so that what is recorded nests. A step whose end never came carries the mark "step.void":
no work was finished in it, and it does not count.

`owner` identifies the loop (a list of callbacks, a trainer). A loop that runs
inside a step of another loop (predict() in a callback) is a part of that step.
"""

import threading

from .. import _core, _safe, _steps
from ..detail import windows  # noqa: F401 - listens to steps
from . import _threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TRAIN, EVAL, PREDICT = 0, 1, 2

_threads.watch()

_EPOCH = _core.intern("epoch")
_VOID = _core.intern("step.void")
_BATCHES = _core.intern("step.batches")
_TOTAL = _core.intern("steps.total")

# The number that the next step of each mode gets: they go on from one fit() to the next.
_next_number = [0, 0, 0]


class _Open:
    """A step, or an epoch when the mode is None, that has begun."""

    __slots__ = ("owner", "mode", "number", "index", "recorded")

    def __init__(
        self, owner: "Any", mode: "int | None", number: int, index: "Any", recorded: bool
    ) -> None:
        self.owner = owner
        self.mode = mode
        self.number = number
        self.index = index  # of its first batch in the epoch, as the framework counts
        self.recorded = recorded


class _Thread(threading.local):
    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.steps = 0  # how many of them are steps


_here = _Thread()


def _close(last: _Open, done: bool) -> None:
    if last.mode is None:
        _core.end(_EPOCH)
        return
    _here.steps -= 1
    if last.recorded:
        if not done:
            _core.mark(_VOID)
        _steps.end(last.number, last.mode)


def depth() -> int:
    """What unwind goes back to."""
    return len(_here.open)


def unwind(to: int) -> None:
    """Ends what was left open since depth() was `to`: its loop has ended."""
    left = _here.open
    while len(left) > to:
        _close(left.pop(), False)


def _find(owner: "Any", step: bool) -> int:
    """Where the owner's innermost step or epoch lies; -1: it has none."""
    left = _here.open
    for i in range(len(left) - 1, -1, -1):
        if left[i].owner is owner and (left[i].mode is not None) == step:
            return i
    return -1


def settle(owner: "Any") -> None:
    """The owner has no step under way: one that is open was left without an end."""
    if _here.steps:
        at = _find(owner, True)
        if at >= 0:
            unwind(at)


def begin_step(owner: "Any", mode: int, index: "Any" = None) -> None:
    """`index`: of the batch in its epoch, when one step may have several."""
    here = _here
    if here.steps:
        settle(owner)
    recorded = here.steps == 0
    number = _next_number[mode]
    here.open.append(_Open(owner, mode, number, index, recorded))
    here.steps += 1
    if recorded:
        _steps.begin(number, mode)


def plan(steps: "Any") -> None:
    """The loop that begins now has so many training steps still to do. One inside of a step of
    another is a part of that."""
    if isinstance(steps, int) and steps > 0 and not _here.steps:
        _core.count(_TOTAL, _next_number[TRAIN] + steps)


def batches(owner: "Any", last: "Any", most: "Any") -> "tuple[int, int] | None":
    """The index of the first batch of the step under way and how many it has, when its last one is
    `last` and an epoch has `most`. None: it is not the owner's step that is recorded."""
    left = _here.open
    if not left or left[-1].owner is not owner or left[-1].mode is None or not left[-1].recorded:
        return None
    first = left[-1].index
    if not isinstance(first, int) or not isinstance(last, int):
        return 0, 1
    if isinstance(most, int) and most > first:
        last = min(last, most - 1)
    return first, max(last - first + 1, 1)


def end_step(owner: "Any", count: int = 1) -> None:
    """Ends the owner's step, of so many batches."""
    at = _find(owner, True)
    if at < 0:
        return
    unwind(at + 1)
    last = _here.open.pop()
    if last.recorded and last.mode is not None:
        _next_number[last.mode] += count
        if count > 1:
            _core.count(_BATCHES, count)
    _close(last, True)


def has_step(owner: "Any") -> bool:
    """Whether a step of the owner is open."""
    return _here.steps > 0 and _find(owner, True) >= 0


def begin_epoch(owner: "Any", number: "Any") -> None:
    end_epoch(owner)
    number = number if isinstance(number, int) else 0
    _here.open.append(_Open(owner, None, number, None, True))
    _core.begin_value(_EPOCH, number)


def end_epoch(owner: "Any") -> None:
    """Ends the owner's epoch, if it has one, and what was left open in it."""
    at = _find(owner, False)
    if at >= 0:
        unwind(at)


# ---- for _safe.patch ----


def is_loop(
    original: "Callable[..., Any]",
    planner: "Callable[[tuple[Any, ...], dict[str, Any] | None], None] | None" = None,
) -> "Callable[..., Any]":
    """A function that runs a whole loop: when it is left, nothing that began in it is open.
    `planner` gets its arguments and calls plan()."""

    def before(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> int:
        if planner is not None:
            planner(args, kwargs)
        return depth()

    def after(token: int, args: "tuple[Any, ...]", result: "Any", ok: bool) -> None:
        unwind(token)

    return _safe.around(original, before, after, "loop")


def is_step(mode: int) -> "Callable[..., Any]":
    """A function of which each call is a step, unless it is a part of another one."""

    def before(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> object:
        token = object()
        begin_step(token, mode)
        return token

    def after(token: object, args: "tuple[Any, ...]", result: "Any", ok: bool) -> None:
        if ok:
            end_step(token)
        else:
            settle(token)

    return lambda original: _safe.around(original, before, after, "step")
