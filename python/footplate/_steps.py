# SPDX-License-Identifier: Apache-2.0
"""Explicit steps: emitted to the recorder and passed to listeners in this process.

All sources of steps (the explicit API, callbacks of a framework) report them here; detail windows
listen.
"""

from . import _core, _safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Called with (begins, number, mode) after a step began and before it ends.
listeners: "list[Callable[[bool, int, int], None]]" = []
number, mode = -1, _core.TRAIN  # of the newest step; -1: there was none


class _Settings:
    seen = -1  # their generation


def _begin_again() -> None:
    _Settings.seen = -1


_safe.on_begin_again.append(_begin_again)


def _look_at_settings() -> None:
    """Hooks of frameworks load windows; a program without a framework loads them when some are
    requested."""
    _Settings.seen = _core.asked()
    with _safe.guard("config"):
        text = _safe.read_settings() or ""
        if '"steps"' in text or '"seconds"' in text:  # the length of a window
            from .detail import windows  # noqa: F401 - listens to steps


def _emit(begins: bool, number: int, mode: int) -> None:
    for listener in listeners:
        with _safe.guard("step listener"):
            listener(begins, number, mode)


def begin(step: int, kind: int) -> None:
    """A step begins now. Its number, and _core.TRAIN, EVAL or PREDICT."""
    global number, mode
    number, mode = step, kind
    if not listeners and _core.asked() != _Settings.seen:
        _look_at_settings()
    _core.step_begin(number, mode)
    if listeners:
        _emit(True, number, mode)


def end(number: int, mode: int) -> None:
    """The step ends that began with this number and mode."""
    if listeners:
        _emit(False, number, mode)
    _core.step_end(number, mode)
