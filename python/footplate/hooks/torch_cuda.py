# SPDX-License-Identifier: Apache-2.0
"""CUDA: GPU time of each phase, copies to the device, allocator statistics. Nothing of it is in
place before the program initialises CUDA.

GPU times come from pairs of CUDA events around a phase on the stream that is current. They say when
the device reached the phase's first and last kernel, idle gaps included. Nobody waits for them: at
later optimizer steps those that are done are read, in order, and told as spans of the past on the
device's lane.

The device's clock is tied to the host's by an event of ours on a stream of ours that has no other
work. The host's time is taken before the event is recorded and after it is seen to be done; the
device's moment lies between the two, so half their distance is the error, about 10 us. The tightest
of a few tries counts, and a tie is renewed every TIE_EVERY_NS, since events give milliseconds as a
float, whose resolution falls with the distance from the tie.

A pair of events costs the host some microseconds, on a virtual machine some tens. So what a timed
step cost is measured, and as many steps are left out after it as keep the timing below SHARE of
the loop's time. Long steps are all timed.
"""

import collections
import sys
import threading

from .. import _core, _safe
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None

PHASES = ("forward", "backward", "optimizer")
MOST_PENDING = 256  # spans that the device has not reached yet; more are not timed
TIE_TRIES = 5
TIE_WAIT_NS = 200_000  # that one try may take
TIE_EVERY_NS = 20_000_000_000
TIE_AGAIN_NS = 2_000_000_000  # after tries that failed
STATS_EVERY_NS = 1_000_000_000
SHARE = 0.002  # of the loop's time, that timing may take
MOST_SKIPPED = 1000  # steps between two that are timed

_STATS = {
    "cuda.allocated": ("allocated_bytes", "all", "current"),
    "cuda.reserved": ("reserved_bytes", "all", "current"),
    "cuda.peak": ("allocated_bytes", "all", "peak"),
    "cuda.alloc_retries": ("num_alloc_retries",),
}


class Tie:
    """A moment on the device's clock (an event) and on the host's."""

    __slots__ = ("event", "host_ns", "error_ns")

    def __init__(self, event: "Any", before_ns: int, after_ns: int) -> None:
        self.event = event
        self.host_ns = (before_ns + after_ns) // 2
        self.error_ns = (after_ns - before_ns + 1) // 2


class PhaseTimer:
    """Times phases on one device. The main thread's alone."""

    def __init__(self, cuda: "Any", device: int) -> None:
        self.cuda = cuda
        self.device = device
        self.stream = cuda.Stream(device)
        self.pool: list[Any] = []
        self.open: list[tuple[int, Any] | None] = []
        self.pending: collections.deque[tuple[int, Any, Any]] = collections.deque()
        self.tie: Tie | None = None
        self.tie_due_ns = 0
        self.timed = True  # this step
        self.skip = 0  # steps still to leave out
        self.spent_ns = 0  # on timing, since the last decision
        self.step_ns = 0  # when this step began

    def _event(self) -> "Any":
        return self.pool.pop() if self.pool else self.cuda.Event(enable_timing=True)

    def _try_tie(self) -> "Tie | None":
        event = self.cuda.Event(enable_timing=True)
        before = _core.now_ns()
        event.record(self.stream)
        while not event.query():
            if _core.now_ns() - before > TIE_WAIT_NS:
                return None
        return Tie(event, before, _core.now_ns())

    def renew_tie(self) -> None:
        """Keeps the old one when the device does not answer in time."""
        tries: list[Tie] = []
        for _ in range(TIE_TRIES):
            tie = self._try_tie()
            if tie is None:
                break
            tries.append(tie)
        if tries:
            self.tie = min(tries, key=lambda tie: tie.error_ns)
        self.tie_due_ns = _core.now_ns() + (TIE_EVERY_NS if tries else TIE_AGAIN_NS)

    def begin(self, name: int) -> None:
        """Every begin has an end; those that cannot be timed as well."""
        if not self.timed:
            self.open.append(None)
            return
        before = _core.now_ns()
        if len(self.pending) >= MOST_PENDING or self.cuda.is_current_stream_capturing():
            self.open.append(None)
            return
        event = self._event()
        event.record()
        self.open.append((name, event))
        self.spent_ns += _core.now_ns() - before

    def end(self) -> None:
        began = self.open.pop() if self.open else None
        if began is None:
            return
        before = _core.now_ns()
        if self.cuda.is_current_stream_capturing():
            self.pool.append(began[1])
            return
        event = self._event()
        event.record()
        self.pending.append((began[0], began[1], event))
        self.spent_ns += _core.now_ns() - before

    def end_step(self) -> None:
        """Tells what is known by now, and decides which of the next steps are timed."""
        if self.pending:
            self.resolve()
        now = _core.now_ns()
        if not self.timed:
            self.skip -= 1
        elif self.step_ns:  # the first one's length is not known
            room_ns = SHARE * (now - self.step_ns)
            self.skip = min(int(self.spent_ns / max(room_ns, 1)), MOST_SKIPPED)
            self.spent_ns = 0
        self.timed = self.skip <= 0
        self.step_ns = now

    def resolve(self) -> None:
        """Tells the spans that the device has finished."""
        if _core.now_ns() >= self.tie_due_ns:
            self.renew_tie()
        tie = self.tie
        before = _core.now_ns()
        while tie is not None and self.pending and self.pending[0][2].query():
            name, begin, end = self.pending.popleft()
            self._tell(tie, name, begin, end)
            self.pool += (begin, end)
        self.spent_ns += _core.now_ns() - before

    def _tell(self, tie: Tie, name: int, begin: "Any", end: "Any") -> None:
        began = tie.host_ns + int(tie.event.elapsed_time(begin) * 1e6)
        took = int(begin.elapsed_time(end) * 1e6)
        now = _core.now_ns()
        _core.past(name, 1 + self.device, now - began, now - began - took)


class _State:
    timer: "PhaseTimer | None" = None
    stats_ns = 0
    main = 0
    ids: "dict[str, int]" = {}


def _is_main() -> bool:
    return threading.get_ident() == _State.main


def _begin_of(name: str) -> "Callable[[], None]":
    torch: Any = sys.modules["torch"]
    number, other = _core.intern(name), _core.intern("forward.eval")

    @_safe.guard("gpu time")
    def begin() -> None:
        timer = _State.timer
        if timer is not None and _is_main():
            timer.begin(number if name != "forward" or torch.is_grad_enabled() else other)

    return begin


@_safe.guard("gpu time")
def _end() -> None:
    timer = _State.timer
    if timer is not None and _is_main():
        timer.end()


@_safe.guard("gpu time")
def _at_step() -> None:
    timer = _State.timer
    if timer is None or not _is_main() or timer.cuda.is_current_stream_capturing():
        return
    timer.end_step()
    now = _core.now_ns()
    if now - _State.stats_ns >= STATS_EVERY_NS:
        _State.stats_ns = now
        tell_stats(timer.cuda, timer.device)


def tell_stats(cuda: "Any", device: int) -> None:
    stats = cuda.memory_stats_as_nested_dict(device)
    for name, path in _STATS.items():
        value: Any = stats
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            _core.count(_State.ids.setdefault(name, _core.intern(name)), int(value))


# ---- copies to the device ----


def _goes_to_cuda(where: "Any") -> bool:
    if isinstance(where, str):
        return where.startswith("cuda")
    if isinstance(where, int):
        return not isinstance(where, bool)
    return getattr(where, "type", None) == "cuda" or bool(getattr(where, "is_cuda", False))


def _before_to(args: "Args", kwargs: "Kwargs") -> "int | bool":
    tensor = args[0]
    if tensor.is_cuda:
        return False
    where = args[1] if len(args) > 1 else (kwargs or {}).get("device")
    return tensor.numel() * tensor.element_size() if _goes_to_cuda(where) else False


def _before_cuda(args: "Args", kwargs: "Kwargs") -> "int | bool":
    tensor = args[0]
    return False if tensor.is_cuda else tensor.numel() * tensor.element_size()


def _hook_copies(torch: "Any") -> None:
    """The methods are those of a base class in C; ours go on Tensor itself."""
    closed = marks.FORWARD | marks.BACKWARD | marks.OPTIMIZER | marks.DATA | marks.COMPILE
    for attr, before in (("to", _before_to), ("cuda", _before_cuda)):
        method = getattr(torch.Tensor, attr)
        if attr not in vars(torch.Tensor):
            gate = marks.make(
                method,
                f"torch {attr}",
                before,
                span=_core.intern("h2d"),
                own=marks.H2D,
                closed_by=closed | marks.H2D,
            )
            setattr(torch.Tensor, attr, gate)


# ---- start ----


def _after_lazy_init(args: "Args", result: "Any") -> None:
    """CUDA is there now; this is called once."""
    torch: Any = sys.modules["torch"]
    if _State.timer is not None or not torch.cuda.is_initialized():
        return
    gate = vars(torch.cuda).get("_lazy_init")
    if marks.is_gate(gate):
        torch.cuda._lazy_init = gate._footplate_original
    start(torch)


def start(torch: "Any") -> None:
    device = int(torch.cuda.current_device())
    _State.main = threading.main_thread().ident or 0
    _State.timer = PhaseTimer(torch.cuda, device)
    _core.count(_core.intern("process.device"), device)
    for phase in PHASES:
        marks.listen(phase, _begin_of(phase), _end)
    marks.listen("optimizer", end=_at_step)
    _hook_copies(torch)


def install(module: "ModuleType") -> None:
    _safe.need_any(module, ("_lazy_init",))
    marks.put(module, "_lazy_init", after=_after_lazy_init)
