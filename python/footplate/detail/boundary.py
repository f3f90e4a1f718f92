# SPDX-License-Identifier: Apache-2.0
"""Where training steps begin and end, seen while they run.

The same rule as in docs/steps.md, as far as it can be decided without knowing what comes: in a loop
with a loader a step begins with the first fetch after an optimizer step. In a loop without one it
begins with the first forward pass or zero_grad after every optimizer has stepped that stepped in
the step before. Steps that the program or its framework marks itself win. A CUDA graph that is
replayed counts as an optimizer that steps: the step's work is in it.

Hooks call `fetch`, `optimizer` and `replay`, always; `work` only while there is a watcher. Only the
main thread counts. Without a watcher, the common cases of `fetch` and `optimizer` are done in C
(python/core/core_loop.c).
"""

import os
import threading

from .. import _core, _safe, _steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_get_ident = threading.get_ident


class _Tracker(_core.Loop):
    """What is known of the loop so far. The fields of the base class are written in C, too."""

    def __init__(self) -> None:
        self.main = threading.main_thread().ident or 0
        self.ended = 0  # training steps that are over; the number of the next one
        self.begun = False  # the next one has begun and was reported
        self.explicit = False  # the program marks its steps
        self.loader = False  # there was a fetch
        self.fetches = 0
        self.made = 0  # optimizers that exist
        self.stepped: set[int] = set()  # optimizers that stepped in this step
        self.usual: set[int] = set()  # those of the step before
        self.source: Hashable = None  # of the latest fetch
        self.fetched = False  # the step began with it
        self.trained = False  # since that fetch: a forward pass with gradients
        self.evaluated = False  # one without
        self.eval_sources: set[Hashable] = set()
        self.asked = -1
        self.watched = False
        self.phase = ""  # that begins together with the step that is being reported
        self.windows = 0  # detail windows that are under way, from their warm-up on


loop = _Tracker()

# Called only while a window or profile watches: with the number of the step that begins, with that
# of one that began but was not a step, and with the number of finished steps.
on_begin: "list[Callable[[int], None]]" = []
on_undo: "list[Callable[[int], None]]" = []
on_end: "list[Callable[[int], None]]" = []
on_asked: "list[Callable[[], None]]" = []  # the settings have changed


def _begin() -> None:
    if not loop.begun:
        loop.begun = True
        if loop.watched:
            for call in on_begin:
                call(loop.ended)


def _end(number: int) -> None:
    loop.ended = number
    loop.begun = False
    if loop.watched:
        for call in on_end:
            call(number)


def _look_at_settings() -> None:
    asked = _core.asked()
    if asked != loop.asked:
        loop.asked = asked
        for call in on_asked:
            call()


def _end_derived() -> None:
    loop.usual = loop.stepped
    loop.stepped = set()
    _end(loop.ended + 1)


def watch(on: bool) -> None:
    """Without a watcher, steps are only counted, which costs next to nothing."""
    loop.watched = on


def fetch(source: "Hashable") -> None:
    """The loop requests a batch from a loader. The source identifies the loader."""
    now = loop
    if _core.asked() != now.asked:
        _look_at_settings()
    if now.watched:
        _fetch_watched(source)
        return
    if _get_ident() == now.main:
        now.loader = now.begun = True
        now.fetches += 1
        if now.stepped and not now.explicit:
            now.usual = now.stepped
            now.stepped = set()
            now.ended += 1


def _fetch_watched(source: "Hashable") -> None:
    now = loop
    if _get_ident() != now.main or now.explicit:
        return
    now.loader = True
    now.fetches += 1
    if now.evaluated and not now.trained:
        now.eval_sources.add(now.source)
    elif now.trained:
        now.eval_sources.discard(now.source)
    only_evaluates = now.evaluated and not now.trained and not now.usual
    now.source, now.trained, now.evaluated = source, False, False
    if now.stepped or only_evaluates:
        _end_derived()
    now.fetched = not now.begun and (source not in now.eval_sources or not now.usual)
    if now.fetched:
        now.phase = "data"
        _begin()
        now.phase = ""


def nothing_fetched() -> None:
    """The latest fetch found that there are no more batches, so no step began with it."""
    now = loop
    if now.watched and now.fetched and now.begun and _get_ident() == now.main:
        now.begun = now.fetched = False
        for call in on_undo:
            call(now.ended)


def made() -> None:
    """An optimizer was made."""
    loop.made += 1


def optimizer(index: int) -> None:
    """An optimizer steps."""
    now = loop
    if _get_ident() != now.main:
        return
    now.trained = True
    if now.loader:
        now.stepped.add(index)
        return
    if index in now.stepped and not now.explicit:
        _end_derived()
        _begin()
    now.stepped.add(index)
    _look_at_settings()


def replay(graph: int) -> None:
    """A CUDA graph is replayed; graphs are numbered from 1. If no other work precedes it, a step
    begins here, which no forward pass has reported."""
    now = loop
    if _get_ident() != now.main:
        return
    now.trained = True
    if now.loader or now.explicit:
        now.stepped.add(-graph)
        return
    if -graph in now.stepped:
        _end_derived()
    now.phase = "graph.replay"
    _begin()
    now.phase = ""
    now.stepped.add(-graph)
    _look_at_settings()


def all_stepped() -> bool:
    """In a loop without a loader: what comes next belongs to the next step."""
    now = loop
    return now.stepped >= now.usual if now.usual else len(now.stepped) >= now.made


def under_way() -> int:
    """The training step that a forward pass belongs to. Without a watcher, a loop without a loader
    counts a step when the optimizer steps again."""
    now = loop
    over = now.stepped and not now.loader and not now.explicit and all_stepped()
    return now.ended + 1 if over else now.ended


def phase() -> str:
    """For on_begin: the phase whose begin it is at; "" when it is none."""
    return loop.phase


def work(what: str, trains: bool) -> None:
    """A root module is called, with gradients or without, or gradients are cleared."""
    now = loop
    if _get_ident() != now.main:
        return
    if trains:
        now.trained = True
    else:
        now.evaluated = True
    if now.loader or now.explicit or not trains:
        return
    if now.stepped and all_stepped():
        _end_derived()
    now.phase = what
    _begin()
    now.phase = ""


def _explicit(begins: bool, number: int, mode: int) -> None:
    if mode != _core.TRAIN or _get_ident() != loop.main:
        return
    loop.explicit = True
    if begins:
        _look_at_settings()
        loop.ended = number
        _begin()
    else:
        if loop.stepped:
            loop.usual, loop.stepped = loop.stepped, set()
        _end(number + 1)


def _forked() -> None:
    """The child of a fork begins anew; what its parent has under way is the parent's."""
    with _safe.guard("fork"):
        loop.__init__()  # type: ignore[misc]


def _begin_again() -> None:
    """Another recorder: its settings have not been read, and its steps are counted from 0."""
    made = loop.made
    loop.__init__()  # type: ignore[misc]
    loop.made = made


_steps.listeners.append(_explicit)
_safe.on_begin_again.append(_begin_again)
os.register_at_fork(after_in_child=_forked)
