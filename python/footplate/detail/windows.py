# SPDX-License-Identifier: Apache-2.0
"""Starts and stops detail windows where steps begin and end.

A recorder does the work of one window:

    prepare()            a step early, so that what is slow the first time is over when it counts
    start(step)           at a step's beginning
    step(step)            when a further step begins; None: when one has ended; may be missing
    stop(about) -> finish at a step's end; finish(path) writes the file, in a thread of its own
    drop()                stops without a result

`about` says which process and rank, which steps (start_step to end_step), and when (start_ns to
end_ns, monotonic).

Everything here runs in the main thread, at the places that boundary.py tells. What goes wrong is
told as a loss and ends that window, never the program.
"""

import atexit
import os
import sys
import threading

from .. import _core, _safe, _start
from . import boundary, config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Frameworks and what records their operators, by module name; the first that is loaded is taken.
DETAIL = {"torch": "torch_window", "tensorflow": "tf_window", "jax": "jax_window"}

_DETAIL = _core.intern("detail.window")

MOST_S = 60.0  # of a window
MOST_GROWTH = 2 << 30  # bytes of memory by which the process may grow in a window
MOST_FILE = 1 << 30
NS = 1_000_000_000


def _resident() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class _Window:
    """One window that was asked for, until it is over."""

    def __init__(self, ask: config.Ask, job_start_ns: int) -> None:
        self.ask = ask
        self.due_ns = job_start_ns + int((ask.start_s or 0.0) * NS)
        self.recorder: Any = None
        self.prepared_at = -1  # step
        self.first = -1  # step; -1: not started
        self.start_ns = 0
        self.memory = 0
        self.began_ns = 0  # when the program began to pay for it; 0: it does not

    def _prepare(self, step: int) -> None:
        self.began_ns = _core.now_ns()
        boundary.loop.windows += 1
        self.recorder = _recorder_for(self.ask)
        self.recorder.prepare()
        self.prepared_at = step

    def over(self) -> None:
        """The program goes on without it: a span from the warm-up to here, afterwards, since it
        begins in one step and ends in another."""
        if self.began_ns:
            _core.past(_DETAIL, 0, _core.now_ns() - self.began_ns, 0)
            self.began_ns = 0
            boundary.loop.windows -= 1

    def _is_due(self, step: int, ahead: int) -> bool:
        if self.ask.start_step is not None:
            return step + ahead >= self.ask.start_step
        return self.ask.now or _core.now_ns() >= self.due_ns

    def _can_wait(self, step: int) -> bool:
        """For another window that is under way: there can only be one of a kind."""
        others = (w for w in _State.waiting if w is not self and w.ask.kind == self.ask.kind)
        return not self._is_due(step, 0) and any(w.recorder is not None for w in others)

    def is_late(self, step: int) -> bool:
        return self.first < 0 and self.ask.start_step is not None and step > self.ask.start_step

    def begin(self, step: int) -> None:
        """A step begins."""
        if self.first >= 0:
            return
        if self.recorder is None and self._is_due(step, 1) and not self._can_wait(step):
            self._prepare(step)
        if self.recorder is None or not self._is_due(step, 0):
            return
        if self.ask.start_step is None and self.prepared_at == step:
            return  # the step that warms up
        self.start_ns = _core.now_ns()
        self.memory = _resident()
        self.recorder.start(step)
        self.first = step

    def undo(self) -> None:
        """The step that it began with was none: it waits for that step again."""
        self.recorder.drop()
        self.over()
        self.recorder, self.prepared_at, self.first = None, -1, -1

    def is_over(self, ended: int) -> bool:
        """`ended` steps are over."""
        if self.first < 0:
            return False
        took = (_core.now_ns() - self.start_ns) / NS
        if self.ask.steps and ended - self.first >= self.ask.steps:
            return True
        if self.ask.seconds and took >= self.ask.seconds:
            return True
        if took > MOST_S or _resident() - self.memory > MOST_GROWTH:
            _safe.report_loss(f"{self.ask.kind} window", "truncated: too long or too large")
            return True
        return False


class _State:
    waiting: "list[_Window]" = []  # or running
    seen: "set[config.Ask]" = set()  # asked for before: not again
    files = 0
    listening = False
    writers: "list[threading.Thread]" = []
    exits = False


def _recorder_for(ask: config.Ask) -> "Any":
    if ask.kind == "python":
        from . import python_window

        return python_window.make(ask)
    for framework, name in DETAIL.items():
        if framework in sys.modules:
            full = f"{__package__}.{name}"
            __import__(full)
            return sys.modules[full].make(ask)
    raise _safe.Refusal("no supported profiler is loaded")


def rank() -> int:
    """0 when nobody says."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return _start.ranks()[0] or 0


def _give_up(window: _Window, error: object) -> None:
    _safe.report_loss(f"{window.ask.kind} window", error)
    if window in _State.waiting:
        _State.waiting.remove(window)
    if window.recorder is not None:
        with _safe.guard("window drop"):
            window.recorder.drop()
    window.over()
    _listen()


def _each(do: "Callable[[_Window], Any]") -> None:
    for window in list(_State.waiting):
        try:
            do(window)
        except Exception as error:
            _give_up(window, error)


def _tell_step(window: _Window, step: "int | None") -> None:
    tell = getattr(window.recorder, "step", None)
    if tell is not None:
        tell(step)


def _begin(step: int) -> None:
    def one(window: _Window) -> None:
        if window.is_late(step):
            raise _safe.Refusal(f"step {window.ask.start_step} had already ended")
        if window.first >= 0:
            _tell_step(window, step)
        window.begin(step)

    if _State.waiting:
        _each(one)


def _end(ended: int) -> None:
    def one(window: _Window) -> None:
        if window.is_over(ended):
            _finish(window, ended)
        elif window.first >= 0:
            _tell_step(window, None)

    if _State.waiting:
        _each(one)


def _undo(step: int) -> None:
    def one(window: _Window) -> None:
        if window.first == step:
            window.undo()
        elif window.first >= 0:
            _tell_step(window, None)

    if _State.waiting:
        _each(one)


def _finish(window: _Window, ended: int) -> None:
    about = {
        "pid": os.getpid(),
        "rank": rank(),
        "start_step": window.first,
        "end_step": ended - 1,
        "start_ns": window.start_ns,
        "end_ns": _core.now_ns(),
    }
    finish = window.recorder.stop(about)
    window.over()
    _State.waiting.remove(window)
    _listen()
    name = f"{window.ask.kind}-{os.getpid()}-{_State.files}.json"
    _State.files += 1
    writer = threading.Thread(
        target=_write, args=(finish, name), name="footplate-detail", daemon=True
    )
    _State.writers = [old for old in _State.writers if old.is_alive()] + [writer]
    writer.start()


def _write(finish: "Callable[[str], None]", name: str) -> None:
    with _safe.guard("window file"):
        hidden = os.path.join(config.folder(), "." + name)
        try:
            # Some writers print that they cannot, rather than raise.
            os.close(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            finish(hidden)
            if os.path.getsize(hidden) > MOST_FILE:
                raise OSError("too large")
            os.rename(hidden, os.path.join(config.folder(), name))
        except BaseException:
            if os.path.exists(hidden):
                os.unlink(hidden)
            raise


def _why_not(window: _Window) -> str:
    if window.ask.start_step is None:
        return "the program ended before its time"
    return f"the program ended before step {window.ask.start_step}"


def _at_exit() -> None:
    """What is under way is kept as far as it came; what is being written is waited for."""

    def one(window: _Window) -> None:
        if window.first >= 0:
            _finish(window, max(boundary.loop.ended, window.first + 1))
        elif boundary.loop.ended or boundary.loop.stepped:  # else nothing was trained here
            _give_up(window, _safe.Refusal(_why_not(window)))
        elif window.recorder is not None:
            window.recorder.drop()
            window.over()

    with _safe.guard("window exit"):
        _each(one)
        for writer in _State.writers:
            writer.join()


def _listen() -> None:
    """Forward passes and zero_grad only matter while a window waits for its place."""
    wanted = bool(_State.waiting)
    boundary.watch(wanted)
    marks = sys.modules.get(f"{__package__.rpartition('.')[0]}.hooks.torch_marks")
    if wanted == _State.listening or marks is None:
        return
    _State.listening = wanted
    change = marks.listen if wanted else marks.unlisten
    change("forward", _forward)
    change("zero_grad", _zero_grad)


@_safe.guard("window")
def _forward() -> None:
    boundary.work("forward", sys.modules["torch"].is_grad_enabled())


@_safe.guard("window")
def _zero_grad() -> None:
    boundary.work("zero_grad", True)


@_safe.guard("config")
def reload() -> None:
    """Reads what is asked for; a window that was asked for before is the same one."""
    asked = config.read()
    if asked.ranks is not None and rank() not in asked.ranks:
        return
    for ask in asked.asks:
        if ask not in _State.seen:
            _State.seen.add(ask)
            _State.waiting.append(_Window(ask, asked.job_start_ns))
    if _State.waiting and not _State.exits:
        _State.exits = True
        atexit.register(_at_exit)
    _listen()


def _forked() -> None:
    _State.waiting, _State.seen, _State.writers, _State.files = [], set(), [], 0


def _finish_all() -> None:
    """The recording ends: as at the end of the program."""
    if _State.waiting or _State.writers:
        _at_exit()
    _forked()
    _listen()


boundary.on_begin.append(_safe.guard("window")(_begin))
boundary.on_undo.append(_safe.guard("window")(_undo))
boundary.on_end.append(_safe.guard("window")(_end))
boundary.on_asked.append(reload)
os.register_at_fork(after_in_child=_forked)
_safe.on_finish.append(_finish_all)
