# SPDX-License-Identifier: Apache-2.0
"""What the hooks for PyTorch share: gates, which mark the outermost calls of a kind, and listeners.

A gate (`_core.Gate`) replaces a function or method of torch. It is made right after the module
that defines the function was executed, so that everything in torch that keeps a reference to the
function, or compares by identity, keeps the gate.

Listeners are called where phases begin and end: detail windows and profiles while they are open,
and the timer of GPU phases, which a gate calls directly. Without any a phase costs two events and
no Python.
"""

from .. import _core, _safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Before = Callable[[tuple[Any, ...], dict[str, Any] | None], Any]
    After = Callable[[tuple[Any, ...], Any], Any]
    Listener = Callable[[], None]

# What a thread can be inside of; bits of a gate's masks.
DATA = 1
FORWARD = 2
BACKWARD = 4
OPTIMIZER = 8
ZERO_GRAD = 16
CHECKPOINT = 32
COMM = 64
COMPILE = 128
H2D = 256
GRAPH = 512


class _Gate:
    """A gate with what its own hook does before and after each call."""

    __slots__ = ("gate", "before", "after")

    def __init__(self, gate: "Any", before: "Before | None", after: "After | None") -> None:
        self.gate = gate
        self.before = before
        self.after = after


_gates: "dict[str, list[_Gate]]" = {}  # by phase
_own: "dict[str, tuple[Before | None, After | None]]" = {}  # set by `use`
_timers: "dict[str, tuple[Callable[[bool], None], Listener]]" = {}  # begin and end, by phase
_begins: "dict[str, list[Listener]]" = {}
_ends: "dict[str, list[Listener]]" = {}


def is_gate(function: object) -> bool:
    return type(function) is _core.Gate


def make(
    function: "Any",
    what: str,
    before: "Before | None" = None,
    after: "After | None" = None,
    **masks: "Any",
) -> "Any":
    """A gate for the function; `what` names it in a loss."""
    return _core.Gate(
        function,
        before=before,
        after=after,
        failed=lambda error: _safe.report_loss(what, error),
        **masks,
    )


def put(
    owner: "Any",
    attr: str,
    phase: str = "",
    before: "Before | None" = None,
    after: "After | None" = None,
    **masks: "Any",
) -> bool:
    """Puts a gate in front of owner.attr, a module's function or a class's own method, unless it is
    not there or has one. With a phase it is a span of that name that listeners hear of."""
    with _safe.guard(f"torch {attr}"):
        function = vars(owner).get(attr)
        if function is None or is_gate(function) or not callable(function):
            return False
        if phase:
            masks.setdefault("span", _core.intern(phase))
        gate = make(function, f"torch {attr}", before, after, **masks)
        setattr(owner, attr, gate)
        if phase:
            keep(phase, gate, before, after)
        return True
    return False


def keep(
    phase: str, gate: "Any", before: "Before | None" = None, after: "After | None" = None
) -> None:
    """Listeners of the phase hear of what goes through this gate."""
    entry = _Gate(gate, *_own.get(phase, (before, after)))
    _gates.setdefault(phase, []).append(entry)
    _connect(phase, entry)


def use(phase: str, before: "Before | None", after: "After | None") -> None:
    """What the hook itself does before and after each call of the phase, from now on; also of gates
    that are still to come."""
    _own[phase] = before, after
    for entry in _gates.get(phase, ()):
        entry.before, entry.after = before, after
        _connect(phase, entry)


def follow(phase: str, within: "Callable[[tuple[Any, ...]], Any] | None") -> None:
    """Calls it before each call within an outermost one of the phase, until it is None."""
    for entry in _gates.get(phase, ()):
        entry.gate._footplate_within = within


def gates(phase: str) -> "list[Any]":
    """The gates of a phase."""
    return [entry.gate for entry in _gates.get(phase, ())]


def _connect(phase: str, entry: _Gate) -> None:
    begins, ends = _begins.get(phase), _ends.get(phase)
    entry.gate._footplate_before = _before_all(begins, entry.before) if begins else entry.before
    entry.gate._footplate_after = _after_all(ends, entry.after) if ends else entry.after
    entry.gate._footplate_begin, entry.gate._footplate_end = _timers.get(phase, (None, None))


def _before_all(listeners: "list[Listener]", own: "Before | None") -> "Before":
    def before(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> "Any":
        answer = own(args, kwargs) if own is not None else None
        if answer is not False:  # else it is no span, and no end follows
            for listener in listeners:
                listener()
        return answer

    return before


def _after_all(listeners: "list[Listener]", own: "After | None") -> "After":
    def after(args: "tuple[Any, ...]", result: "Any") -> None:
        for listener in listeners:
            listener()
        if own is not None:
            own(args, result)

    return after


def time(phase: str, begin: "Callable[[bool], None]", end: "Listener") -> None:
    """The one timer of a phase: its listeners rest when _core.Gate.rest says so."""
    _timers[phase] = begin, end
    for entry in _gates.get(phase, ()):
        _connect(phase, entry)


def listen(phase: str, begin: "Listener | None" = None, end: "Listener | None" = None) -> None:
    """Calls begin before, and end after, each span of the phase, until `unlisten`. Both must not
    raise (_safe.guard)."""
    _change(phase, lambda old: [*old, begin] if begin else old, _begins)
    _change(phase, lambda old: [*old, end] if end else old, _ends)
    for entry in _gates.get(phase, ()):
        _connect(phase, entry)


def unlisten(phase: str, begin: "Listener | None" = None, end: "Listener | None" = None) -> None:
    _change(phase, lambda old: [one for one in old if one != begin], _begins)
    _change(phase, lambda old: [one for one in old if one != end], _ends)
    for entry in _gates.get(phase, ()):
        _connect(phase, entry)


def _change(
    phase: str,
    change: "Callable[[list[Listener]], list[Listener]]",
    where: "dict[str, list[Listener]]",
) -> None:
    where[phase] = change(where.get(phase, []))
