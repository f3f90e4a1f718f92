# SPDX-License-Identifier: Apache-2.0
"""CUDA: GPU time of each phase and allocator statistics; torch_sync.py has waits and copies. Not in
place before the program initialises CUDA.

GPU times come from pairs of CUDA events around a phase on the stream that is current. They say when
the device reached the phase's first and last kernel, idle gaps included. Nothing waits for them:
when later steps begin, those that are done are read, in order, and recorded as past spans on the
device's lane.

The device's clock is tied to the host's by an event of ours on a stream of ours that has no other
work. The host's time is taken before the event is recorded and after it is seen to be done; the
device's moment lies between the two, so half their distance is the error, about 10 us. The tightest
of a few tries counts, and a tie is renewed every TIE_EVERY_NS, since events give milliseconds as a
float, whose resolution falls with the distance from the tie.

A pair of events costs the host some microseconds, on a virtual machine some tens. So what timed
steps cost is measured, and as many steps are left out between them as keep the timing below SHARE
of the loop's time. Long steps are all timed. A step is timed whole or not at all, so that the
shares of its phases are right.

Between two timed steps the timer rests: gates count the steps and call no listener (Gate.rest).
"""

import atexit
import collections
import os
import sys
import threading

from .. import _core, _safe
from ..detail import boundary
from . import torch_marks as marks
from . import torch_optimizer, torch_sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None

_get_ident = threading.get_ident

TRAINS, STEPS, EVALUATES = range(3)  # what a phase says of the step that it is in
PHASES = {
    "forward": TRAINS,  # EVALUATES without gradients
    "backward": TRAINS,
    "zero_grad": TRAINS,
    "optimizer": STEPS,
    "graph.replay": STEPS,
}
MOST_PENDING = 256  # spans that the device has not reached yet, and of one step; more are not timed
ZERO_GRADS, ZERO_GRAD_NS = 8, 20_000  # when that many all took less, zero_grad is left out
TIE_TRIES = 5
TIE_WAIT_NS = 200_000  # that one try may take
TIE_EVERY_NS = 20_000_000_000
TIE_AGAIN_NS = 2_000_000_000  # after tries that failed
STATS_EVERY_NS = 1_000_000_000
SHARE = 0.001  # of the loop's time, that timing may take
MOST_SKIPPED = 1000  # steps between two that are timed

_STATS = {
    "cuda.allocated": ("allocated_bytes", "all", "current"),
    "cuda.reserved": ("reserved_bytes", "all", "current"),
    "cuda.peak": ("allocated_bytes", "all", "peak"),
    "cuda.reserved_peak": ("reserved_bytes", "all", "peak"),
    "cuda.alloc_retries": ("num_alloc_retries",),
}


class Tie:
    """A moment on the device's clock (an event) and on the host's."""

    __slots__ = ("event", "host_ns", "error_ns")

    def __init__(self, event: "Any", before_ns: int, after_ns: int) -> None:
        self.event = event
        self.host_ns = (before_ns + after_ns) // 2
        self.error_ns = (after_ns - before_ns + 1) // 2


class Events:
    """What the timer does with CUDA events. A timed step makes some thirty calls. The wrappers of
    torch in Python take twice as long as the methods of its C class, so those are called directly
    where they exist."""

    def __init__(self, cuda: "Any", device: int) -> None:
        self.cuda = cuda
        self.device = device
        self.stream: Any = None  # the current one, and what identifies it
        self.stream_key: Any = None
        self.record: Callable[[Any], None] = lambda event: event.record()
        self.query: Callable[[Any], bool] = lambda event: event.query()
        self.elapsed_ms: Callable[[Any, Any], float] = lambda begin, end: begin.elapsed_time(end)
        self.capturing: Callable[[], bool] = cuda.is_current_stream_capturing
        functions: Any = getattr(sys.modules.get("torch"), "_C", None)
        base: Any = getattr(functions, "_CudaEventBase", None)
        if isinstance(base, type) and issubclass(cuda.Event, base):
            self._use(base, functions)

    def _use(self, base: "Any", functions: "Any") -> None:
        record, current = base.record, functions._cuda_getCurrentStream

        def record_here(event: "Any") -> None:
            key = current(self.device)
            if key != self.stream_key:
                self.stream, self.stream_key = self.cuda.current_stream(self.device), key
            record(event, self.stream)

        self.record, self.query, self.elapsed_ms = record_here, base.query, base.elapsed_time
        self.capturing = functions._cuda_isCurrentStreamCapturing


class Unit:
    """The phases of one step, or of one evaluation pass, that are timed together or not at all."""

    __slots__ = ("spans", "events", "broken")

    def __init__(self) -> None:
        self.spans: list[tuple[int, Any, Any]] = []  # name, begin, end
        self.events: list[Any] = []
        self.broken = False  # a phase of it could not be timed


class Sampler:
    """Which steps are timed: each with the same probability, whatever kind of step it is.

    The number of steps between two that are timed is random around a mean, so that work that comes
    back every so many steps is met as often as it happens. The mean follows from sums over many
    steps: if the step just timed decided it, those after long steps would be preferred.
    """

    MOST_STEPS, MOST_TIMED = 4096, 256  # in the sums; then both are halved

    def __init__(self) -> None:
        self.wall_ns = self.steps = 0.0
        self.cost_ns = self.timed = 0.0
        self.skip = 0
        self.seed = 0x2545F491

    def random(self) -> float:
        """From 0 to 1; the same numbers in every process."""
        self.seed = (self.seed * 1664525 + 1013904223) & 0xFFFFFFFF
        return self.seed / 0x100000000

    def learn(self, wall_ns: int, steps: int, cost_ns: int, timed: bool) -> None:
        self.wall_ns += wall_ns
        self.steps += steps
        self.cost_ns += cost_ns
        self.timed += timed
        if self.steps > self.MOST_STEPS:
            self.wall_ns, self.steps = self.wall_ns / 2, self.steps / 2
        if self.timed > self.MOST_TIMED:
            self.cost_ns, self.timed = self.cost_ns / 2, self.timed / 2

    def mean_skip(self) -> float:
        if not self.timed or not self.wall_ns:
            return 0.0
        cost, wall = self.cost_ns / self.timed, self.wall_ns / self.steps
        return min(max(cost / (SHARE * wall) - 1, 0.0), MOST_SKIPPED)

    def choose(self) -> bool:
        """Whether the step that begins is timed."""
        if self.skip > 0:
            self.skip -= 1
            return False
        self.skip = int(2 * self.mean_skip() * self.random() + self.random())
        return True


class PhaseTimer:
    """Times phases on one device. The main thread's alone."""

    def __init__(self, cuda: "Any", device: int) -> None:
        self.cuda = cuda
        self.device = device
        self.events = Events(cuda, device)
        self.stream = cuda.Stream(device)
        self.pool: list[Any] = []
        self.open: list[list[Any]] = []  # name, begin, end of the last phase within
        self.pending: collections.deque[Unit] = collections.deque()
        self.tie: Tie | None = None
        self.tie_due_ns = 0
        self.sampler = Sampler()
        self.unit: Unit | None = None  # that is being timed
        self.began_ns = 0  # when the step under way did; 0: none has yet
        self.units = 0
        self.spent_ns = 0  # on timing, in this step
        self.was_timed = self.disturbed = False  # this step; disturbed: by a detail window
        self.rest = 0  # steps to leave out before the timer listens again; 0: it listens
        self.rest_from = self.rest_evals = 0  # boundary's count of steps then; passes since
        self.passed = 1  # steps since began_ns
        self.zero_grad = _core.intern("zero_grad")
        self.zero_grads: list[int] = []  # the first ones, in ns
        self.left_out = -1  # a phase that is not worth its events
        # Where the next step begins; see _is_new.
        self.fetches = self.ended = 0
        self.stepped = self.trained = self.explicit = False

    def _event(self) -> "Any":
        event = self.pool.pop() if self.pool else self.cuda.Event(enable_timing=True)
        self.events.record(event)
        return event

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

    # ---- steps ----

    def _is_new(self, kind: int) -> bool:
        """Whether a step begins with this phase; boundary.py has seen it before us."""
        now = boundary.loop
        if not self.began_ns:
            return True
        only_evaluates = not self.trained and not self.stepped
        if now.explicit:
            new = (now.ended, now.begun) != (self.ended, self.explicit)
            return new or (kind == EVALUATES and only_evaluates and not now.begun)
        if now.loader:
            return now.fetches != self.fetches and (self.stepped or only_evaluates)
        if kind == STEPS:
            return self.stepped and now.ended != self.ended
        if kind == EVALUATES:
            return self.stepped or only_evaluates
        return only_evaluates or (self.stepped and boundary.all_stepped())

    def _begin_unit(self) -> None:
        self.close_unit()
        self.resolve()
        began, now = self.began_ns, boundary.loop
        self.began_ns = time_ns = _core.now_ns()
        if self.units > 1 and not self.disturbed:  # the first step's length says nothing
            self.sampler.learn(time_ns - began, self.passed, self.spent_ns, self.was_timed)
        self.units += self.passed
        self.passed = 1
        self.spent_ns = 0
        self.disturbed = now.windows > 0
        self.fetches, self.ended, self.explicit = now.fetches, now.ended, now.begun
        self.stepped = self.trained = False
        timed = self.sampler.choose() and not self.disturbed
        if timed and sum(len(unit.spans) for unit in self.pending) < MOST_PENDING:
            self.unit = Unit()
        self.was_timed = self.unit is not None
        if self.unit is None and self.sampler.skip:
            self._begin_rest()

    def _begin_rest(self) -> None:
        self.rest, self.sampler.skip = self.sampler.skip, 0
        self.rest_from, self.rest_evals = boundary.loop.ended, 0
        _core.Gate.rest(self.rest + 1)  # this step is not timed either

    def _end_rest(self) -> bool:
        """Whether it is over: after a step's last phase, or at the start of an evaluation pass."""
        now = boundary.loop
        self.rest_evals += _core.Gate.rest(0)
        passed = now.ended - self.rest_from + self.rest_evals
        if passed < self.rest:  # a step has several optimizers, or a second has passed
            _core.Gate.rest(self.rest - passed)
            return False
        self.rest, self.passed = 0, passed + 1
        self.open.clear()  # their ends may not have been received
        self.stepped = self.trained = True
        self.fetches, self.ended, self.explicit = now.fetches, now.ended, now.begun
        self.disturbed = self.disturbed or now.windows > 0
        return True

    def close_unit(self) -> None:
        """The step is over: its spans wait for the device, all or none."""
        unit, self.unit = self.unit, None
        if unit is None:
            return
        half = self.trained and not self.stepped and not boundary.loop.explicit
        if half or self.open:
            unit.broken = True  # the program ends in the middle of it
        if unit.broken or not unit.spans:
            self.pool += unit.events
        else:
            self.pending.append(unit)

    # ---- phases ----

    def begin(self, name: int, kind: int) -> None:
        """Every begin has an end, also of what is not timed; in a rest both may stay away."""
        if self.rest and not (kind == EVALUATES and self._end_rest()):
            return
        if not self.open and self._is_new(kind):
            self._begin_unit()
        if kind == TRAINS:
            self.trained = True
        unit = self.unit
        if unit is None or name == self.left_out:
            self.open.append([name, None, None])
            return
        before = _core.now_ns()
        if len(unit.spans) >= MOST_PENDING or self.events.capturing():
            unit.broken = True
        event = None
        if not unit.broken:
            event = self._event()
            unit.events.append(event)
        self.open.append([name, event, None])
        self.spent_ns += _core.now_ns() - before

    def end(self, kind: int) -> None:
        if self.rest:
            if kind == STEPS:
                self._end_rest()
            return
        if not self.open:
            return
        name, began, inner_end = self.open.pop()
        if kind == STEPS:
            self.stepped = self.trained = True
            self.ended = boundary.loop.ended
        unit = self.unit
        if unit is None or name == self.left_out:
            return
        before = _core.now_ns()
        if began is None or self.events.capturing():
            unit.broken = True
        if not unit.broken:
            event = self._event()
            unit.events.append(event)
            # A step with a closure: the optimizer is what follows the passes inside.
            unit.spans.append((name, began if inner_end is None else inner_end, event))
            if self.open:
                self.open[-1][2] = event
        self.spent_ns += _core.now_ns() - before

    # ---- results ----

    def resolve(self) -> None:
        """Records the spans of the steps that the device has finished."""
        if not self.pending:
            return
        before = _core.now_ns()
        if before >= self.tie_due_ns:
            self.renew_tie()
        while self.tie is not None and self.pending:
            unit = self.pending[0]
            if not all(self.events.query(end) for _, _, end in reversed(unit.spans)):
                break
            self.pending.popleft()
            for name, begin, end in unit.spans:
                self._record(self.tie, name, begin, end)
            self.pool += unit.events
        self.spent_ns += _core.now_ns() - before

    def _record(self, tie: Tie, name: int, begin: "Any", end: "Any") -> None:
        began = tie.host_ns + int(self.events.elapsed_ms(tie.event, begin) * 1e6)
        took = int(self.events.elapsed_ms(begin, end) * 1e6)
        now = _core.now_ns()
        _core.past(name, 1 + self.device, now - began, now - began - took)
        if name == self.zero_grad and len(self.zero_grads) < ZERO_GRADS:
            self.zero_grads.append(took)
            if len(self.zero_grads) == ZERO_GRADS and max(self.zero_grads) < ZERO_GRAD_NS:
                self.left_out = name  # it only lets go of the gradients


class _State:
    timer: "PhaseTimer | None" = None
    stats_ns = 0
    main = 0
    pid = 0
    ids: "dict[str, int]" = {}
    autocast = False  # it was entered
    autocast_gates: "list[tuple[Any, Any]]" = []


def _begin_of(name: str, kind: int) -> "Callable[[bool], None]":
    """A listener. It has no guard around it that costs a call."""
    number, other = _core.intern(name), _core.intern("forward.eval")

    def begin(declined: bool) -> None:
        try:
            timer = _State.timer
            if timer is not None and _get_ident() == _State.main:
                if declined:
                    timer.begin(other, EVALUATES)
                else:
                    timer.begin(number, kind)
        except Exception as error:
            _safe.report_loss("gpu time", error)

    return begin


def _end_of(kind: int) -> "Callable[[], None]":
    def end() -> None:
        try:
            timer = _State.timer
            if timer is not None and _get_ident() == _State.main:
                timer.end(kind)
                if kind == STEPS:
                    _look_at_memory(timer)
        except Exception as error:
            _safe.report_loss("gpu time", error)

    return end


def _look_at_memory(timer: PhaseTimer) -> None:
    """At the first step, and then once a second."""
    now = _core.now_ns()
    if now - _State.stats_ns >= STATS_EVERY_NS and not timer.events.capturing():
        _State.stats_ns = now
        record_stats(timer.cuda, timer.device)
        record_format(sys.modules["torch"])


def record_stats(cuda: "Any", device: int) -> None:
    stats = cuda.memory_stats_as_nested_dict(device)
    for name, path in _STATS.items():
        value: Any = stats
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            _core.count(_State.ids.setdefault(name, _core.intern(name)), int(value))


def record_format(torch: "Any") -> None:
    """Whether matrix products run in TF32, whose peak is half of that of 16 bits: FP32 weights,
    TF32 allowed, and no autocast in this program."""
    weight = torch_optimizer.weights()
    if weight is not None:
        allowed = torch.get_float32_matmul_precision() != "highest"
        tf32 = allowed and weight.dtype is torch.float32 and not _State.autocast
        _core.count(_core.intern("cuda.tf32"), int(tf32))


def _after_autocast(args: "Args", result: "Any") -> None:
    """The program uses autocast; that is all there is to know."""
    _State.autocast = True
    for owner, original in _State.autocast_gates:
        owner.__enter__ = original
    _State.autocast_gates.clear()


def _watch_autocast(torch: "Any") -> None:
    owner = torch.autocast
    if marks.put(owner, "__enter__", after=_after_autocast):
        _State.autocast_gates.append((owner, vars(owner)["__enter__"]._footplate_original))


@_safe.guard("gpu exit")
def _at_exit() -> None:
    """What the device has finished by now, and the allocator's final statistics: its peak."""
    timer = _State.timer
    if timer is None or os.getpid() != _State.pid:
        return
    record_stats(timer.cuda, timer.device)
    timer.close_unit()
    timer.resolve()


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
    _State.pid = os.getpid()
    _State.main = threading.main_thread().ident or 0
    _State.timer = PhaseTimer(torch.cuda, device)
    _core.count(_core.intern("process.device"), device)
    for phase, kind in PHASES.items():
        marks.time(phase, _begin_of(phase, kind), _end_of(kind))
    atexit.register(_at_exit)
    with _safe.guard("autocast"):
        _watch_autocast(torch)
    torch_sync.install(torch)


def install(module: "ModuleType") -> None:
    _safe.need_any(module, ("_lazy_init",))
    marks.put(module, "_lazy_init", after=_after_lazy_init)
