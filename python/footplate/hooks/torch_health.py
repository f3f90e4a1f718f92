# SPDX-License-Identifier: Apache-2.0
"""Training health of PyTorch programs, captured by the gates that mark phases.

Every step: the loss that backward is called on, learning rates, the loss scale and skipped steps of
GradScaler, the norm that clip_grad_norm_ returns, a hash of the batch. On sampled steps: statistics
of gradients, weights and updates (torch_tensors.py) and of the outputs of modules
(torch_modules.py), whose calls the gate reports only then.

Sampled are the steps 0, 1 and 2, then one in 10, and one in 50 from step 100 on. What a sample
costs is measured; when it is more than the budget, the distance is doubled until it fits. So the
sampled steps of two ranks always have common ones. The numbers of every step cost some 30 us: where
steps are so short that this is more than SCALAR_SHARE of them, only one in 2, 4, ... steps has
them, but a loss that is not finite, or jumps, is still seen at its step. After an alarm (a number
that is not finite, a jump of the loss, a loss scale that falls) the next ALARM_STEPS are sampled.

Nothing here changes what is computed, waits for a device, or runs while a CUDA graph is captured.
"""

import atexit
import math
import os
import sys
import threading
import weakref

from .. import _core, _health, _safe
from ..detail import boundary
from . import _scalars, torch_batches, torch_saver
from . import torch_marks as marks
from .torch_deferred import Lane, record_clip
from .torch_modules import Watch
from .torch_origin import Origin
from .torch_schedule import ALARM_STEPS, Jumps, Schedule
from .torch_tensors import Names, Sample, Stepped, Table, scale_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Args = tuple[Any, ...]
    Kwargs = dict[str, Any] | None

_get_ident = threading.get_ident

LISTS = (tuple, list)
NO_KEY = 0, 0, 0
DEEP_EVERY = 10  # samples; of one of them there are histograms and the optimizer's state
EXIT_WAIT_NS = 1_000_000_000
FSDP = "torch.distributed.fsdp.fully_sharded_data_parallel"
LOSS_FUNCTIONS = (
    *("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)


def _name(text: str) -> int:
    return int(_scalars.core.health_name(text))


class Capture:
    """All of it, for the main thread of one process."""

    def __init__(self, torch: "Any", settings: "_scalars.Settings") -> None:
        self.torch = torch
        self.core = _scalars.core
        self.settings = settings
        self.schedule = Schedule(settings)
        self.jumps = Jumps()
        self.names = Names(settings)
        self.lane = Lane(torch, self.core)
        self.watch = Watch(torch, self.names, settings)
        self.saver = torch_saver.make(torch, self.core, self.names, settings.save)
        self.origin = Origin(torch, self.core, self.names, self.watch)
        self.optimizers: dict[int, Stepped] = {}
        self.groups = 0  # learning rates that have a name
        self.pid = os.getpid()
        self.main = threading.main_thread().ident or 0
        self.sample: Sample | None = None
        self.sampling = True  # the step under way, or the next one
        self.sum_only = False
        self.samples = 0  # that were taken
        self.quiet = False  # the numbers of the step under way are not recorded
        self.jumped = False  # unless its loss stands out
        self.spent_ns = 0  # on them
        self.forwards = False  # the forward gate calls us
        self.within = False  # also for the modules of the root that runs
        self.cost_ns = 0  # of the sample under way
        self.step = -1  # latest that an optimizer has reported
        # Of the step under way:
        self.loss_sum, self.losses = 0.0, 0
        self.loss_bad = self.was_bad = False  # something of this, and the last step, is alarming
        self.scaled: Any = None  # (reference to the scaled loss, the loss)
        self.limit: Any = None  # of the last clipping
        self.clipped: Any = None  # (norm, limit); norm None: not known
        self.hash: int | None = None
        self.source = 0  # the loader's iterator
        self.fresh: set[int] = set()  # iterators that have begun
        self.epochs = 0
        self.versions: Any = None
        self.clips = False  # the script clips, which gives the norm
        self.spread = False  # by clipping: one bad gradient has made all of them bad
        self.looked = False  # at gradients, before clipping, and its norm was finite
        self.sharded = False  # gradients of this process are parts of those of the model
        self.scaling = False  # a GradScaler steps the optimizer
        self.latest_scale = 0.0
        self.closed = False  # the closure of the step under way has run
        self.missing = 0
        self.eval_sum, self.eval_count = 0.0, 0.0
        self.eval_deferred = False
        self.evaluates = False  # the model is in eval mode
        self.evaluated_at = -3  # the step after which an evaluation ended
        self.ids = {
            text: _name(text)
            for text in (
                "loss",
                "backward.calls",
                "grad.norm",
                "grad.norm.clipped",
                "grad.norm.shard",
                "clip.max",
                "amp.scale",
                "step.skipped",
                "grad.missing",
                "batch.hash",
                "epoch",
                "health.armed",
                "health.sharded",
            )
        }
        self.follow_forward(True)

    # ---- the loss ----

    def backward(self, tensor: "Any") -> None:
        """backward is about to be called on it."""
        if type(tensor) in LISTS:
            tensor = tensor[0] if tensor else None
        if not isinstance(tensor, self.torch.Tensor) or tensor.numel() != 1:
            return
        loss = tensor
        if self.scaled is not None:
            reference, unscaled = self.scaled
            if reference() is tensor:
                loss = unscaled
            self.scaled = None
        if not loss.is_cpu:
            if not self.quiet:
                before = len(self.lane.losses)
                self.lane.put_loss(loss)  # which may have no room for it
                self.losses += len(self.lane.losses) - before
            return
        value = loss.item()
        self.jumped = self.quiet and self.jumps.is_jump(value)
        self.loss_sum += value
        self.losses += 1
        if value - value != 0 and loss is tensor:
            self.loss_bad = True
            self.origin.walk(tensor)

    def scale(self, given: "Any", result: "Any") -> None:
        """GradScaler.scale(given) is `result`."""
        if result is given:
            return  # it is disabled
        self.scaling = True
        if isinstance(given, self.torch.Tensor) and isinstance(result, self.torch.Tensor):
            self.scaled = weakref.ref(result), given.detach()

    def evaluated(self, value: "Any", batch: "Any") -> None:
        """A loss function was called without gradients."""
        if not isinstance(value, self.torch.Tensor) or not self.watch.may_look():
            return
        if value.numel() != 1:
            return
        self.evaluates = any(not root.training for root in list(self.names.prefixes))
        weight = 1
        if isinstance(batch, self.torch.Tensor) and batch.dim():
            weight = int(batch.shape[0])
        if value.device.type != "cpu":
            self.eval_deferred = self.lane.add_eval(value, weight) or self.eval_deferred
            return
        self.eval_sum += value.item() * weight
        self.eval_count += weight

    def end_evaluation(self) -> None:
        """The mean loss of the evaluation that is over, at the last training step. A loss in every
        step of a model in training mode is a number of that step, and no evaluation."""
        every, self.evaluated_at = self.step - self.evaluated_at <= 1, self.step
        if every and not self.evaluates:
            self.forget_evaluation()
        if self.eval_count:
            self.core.health_begin(self.step, _core.EVAL, 0)  # -1: before the first step
            self.core.health_value(0, self.ids["loss"], self.eval_sum / self.eval_count)
            self.eval_sum = self.eval_count = 0.0
        if self.eval_deferred:
            self.lane.put_eval(self.step, self.ids["loss"])
            self.eval_deferred = False

    def forget_evaluation(self) -> None:
        self.eval_sum = self.eval_count = 0.0
        self.eval_deferred = False
        self.lane.forget_eval()

    # ---- batches ----

    def fetched(self, iterator: "Any", batch: "Any") -> None:
        self.source = id(iterator)
        if batch is not None and not self.quiet and self.torch.is_grad_enabled():
            self.hash_batch(batch)

    def hash_batch(self, batch: "Any") -> None:
        found = torch_batches.hash_of(self.torch, batch)
        if found is not None:
            self.hash = found if self.hash is None else hash((self.hash, found))

    # ---- forward ----

    def follow_forward(self, on: bool) -> None:
        """While a step is not sampled, and batches come from a loader, the gate calls no
        listener."""
        if on != self.forwards:
            self.forwards = on
            if on:
                marks.use("forward", before_forward, after_forward)
            else:
                marks.use("forward", None, None)

    def forward_begins(self, args: "Args", kwargs: "Kwargs") -> None:
        if not self.torch.is_grad_enabled() or not self.watch.may_look():
            return
        if self.hash is None and not self.quiet and not boundary.loop.loader:
            self.hash_batch([*args[1:], *(kwargs or {}).values()])
        self.forward_ends()  # of a root whose end was not reported
        if self.saver is not None:
            step = boundary.under_way()
            if self.saver.is_due(step) and not self._is_capturing():
                self.saver.attach(args[0], step)
        if self.sampling and not self.sum_only:
            before = _core.now_ns()
            self.watch.attach(args[0], self._sample())
            self.cost_ns += _core.now_ns() - before
        if self.looks():
            self.watch.begins(args[0], args[1:])
            self.within = True
            marks.follow("forward", before_nested)

    def looks(self) -> bool:
        """Whether outputs of modules are measured or saved now."""
        return bool(self.watch.wanted) or (self.saver is not None and bool(self.saver.wanted))

    def call_begins(self, args: "Args") -> bool:
        """A module of the root is about to run. Whether `call_ended` is to be called."""
        key = id(args[0])
        if key in self.watch.wanted:
            self.watch.begins(args[0], args[1:])
            return True
        return self.saver is not None and key in self.saver.wanted

    def call_ended(self, args: "Args", output: "Any") -> None:
        if output is None:
            return  # or the module raised
        if self.saver is not None and self.saver.wanted and self.watch.may_look():
            self.saver.ended(args[0], output)
        self.watch.ended(args[0], args[1:], output)

    def forward_ends(self) -> None:
        if not self.within:
            return
        self.within = False
        marks.follow("forward", None)
        if self.saver is not None:
            self.saver.detach()
        before = _core.now_ns()
        self.watch.detach()
        self.cost_ns += _core.now_ns() - before

    # ---- optimizer steps ----

    def _sample(self) -> Sample:
        if self.sample is None:
            self.sample = Sample(self.torch, self.core, self.settings, self.lane)
            self.sample.deep = self.samples % DEEP_EVERY == 0
        return self.sample

    def stepped(self, optimizer: "Any", index: int) -> Stepped:
        known = self.optimizers.get(index)
        if known is None or known.reference() is not optimizer:
            of = self.optimizers  # what is known of an optimizer ends with it
            reference = weakref.ref(optimizer, lambda gone: of.pop(index, None))
            known = of[index] = Stepped(index, reference)
        return known

    def step_begins(self, optimizer: "Any", index: int, scaler: "Any" = None) -> None:
        """Gradients are there, the parameters are as they were."""
        if self.closed or self._is_capturing():
            return
        step = boundary.loop.ended
        if self.eval_count or self.eval_deferred:
            self.end_evaluation()
        if self.saver is not None and self.saver.is_due(step):
            self.saver.before_step(optimizer, step, scale_of(self.torch, optimizer, scaler))
        if self._is_left_out():
            self.step = step
            known = self.optimizers.get(index)
            look = scaler is None and not self.looked
            if look and known is not None and known.table is not None:
                self._look_at_canaries(known.table)
            if not self.loss_bad:
                return
        begin = _core.now_ns()
        if step != self.step and self.sample is not None and self.sample.step >= 0:
            self._close_sample()  # of a step in which not every optimizer stepped
        self.step = step
        self._settle_origin()
        known = self.stepped(optimizer, index)
        table = known.table
        if table is None or (self.sampling and table.is_old(optimizer, self.names)):
            settings, sharded = self.settings, self.watch.sharded
            table = known.table = Table(self.torch, optimizer, self.names, settings, sharded)
            if self.sampling:
                table.report_left_out()
            else:
                table.key = NO_KEY  # its modules may not have been called in a sampled step
        self.missing = 0 if table.has_gradient() else table.count
        self.scaling = scaler is not None
        self.versions = table.version() if self.scaling else None
        if self.sampling:
            self._sample_before(table, optimizer, scaler)
        elif scaler is None and not self.loss_bad and not self.looked:
            self._look_at_canaries(table)
        self.spent_ns = _core.now_ns() - begin

    def _is_left_out(self) -> bool:
        """A quiet step in which nothing is alarming."""
        return self.quiet and not self.loss_bad and not self.jumped

    def _sample_before(self, table: Table, optimizer: "Any", scaler: "Any") -> None:
        before = _core.now_ns()
        sample = self._sample()
        sample.step, sample.at_ns = self.step, before
        if not self.sum_only and self.watch.replica == 0:
            sample.scale = scale_of(self.torch, optimizer, scaler)
            sample.clipped = self.spread
            sample.gradients(table)
            sample.keep(table)
            if scaler is None and sample.bad and not self.loss_bad:
                self.origin.border(table.named(), self.step, self.spread)
        self.cost_ns += _core.now_ns() - before

    def _settle_origin(self) -> None:
        if self.sample is not None and self.sample.bad_modules:
            self.sample.step = self.step
            self.origin.of_modules(self.sample)
        self.origin.settle(self.step)

    def _look_at_canaries(self, table: Table) -> None:
        if table.canary_is_bad():
            self.origin.border(table.named(), self.step, self.spread)
            self.loss_bad = True  # arms
        else:
            self.origin.over = False

    def arrived_loss(self, value: float) -> None:
        """A loss has come from the device, some steps late."""
        if not math.isfinite(value) or self.jumps.is_jump(value):
            self.loss_bad = True

    def arrived_bad(self, sample: Sample) -> None:
        """A sample has come whose gradients are not all finite."""
        self.loss_bad = True
        if sample.scale is None:
            self.origin.resolved(sample, list(self.optimizers.values()))

    def _is_capturing(self) -> bool:
        return self.lane.is_capturing()

    def step_ends(self, optimizer: "Any", index: int, scaler: "Any" = None) -> None:
        """The parameters are new."""
        self.closed = False
        if self._is_capturing():
            return
        if self._is_left_out():
            self.loss_sum, self.losses, self.clipped = 0.0, 0, None
            if boundary.all_stepped():
                self._plan(_core.now_ns())
            return
        begin = _core.now_ns()
        known = self.stepped(optimizer, index)
        skipped = self._was_skipped(known.table, optimizer, scaler)
        self._put_scalars(known, optimizer, skipped)
        before = _core.now_ns()
        if self.sampling and known.table is not None:
            self._sample_after(known.table, optimizer, skipped)
            self.cost_ns += _core.now_ns() - before
        else:  # backward and the batch take about as long
            self.schedule.scalars_cost(2 * (self.spent_ns + before - begin))
        if boundary.all_stepped():
            self._end_step()

    def _sample_after(self, table: Table, optimizer: "Any", skipped: bool) -> None:
        sample = self._sample()
        sample.step = self.step
        if self.sum_only or self.watch.replica > 0:
            if not self.watch.alone:
                sample.sums(table)
            return
        if not skipped:
            sample.updates(table)
        sample.weights(table)
        sample.states(table, optimizer)
        self.sharded = table.sharded
        if table.sharded and not sample.reported_sharded:
            self.core.health_begin(self.step, _core.TRAIN, 0)
            self.core.health_value(0, self.ids["health.sharded"], 1.0)

    def _end_step(self) -> None:
        now = _core.now_ns()
        if self.sample is not None:
            before = now
            self._close_sample()
            now = _core.now_ns()
            self.cost_ns += now - before
        if self.loss_bad and not self.was_bad and self.schedule.alarm(self.step):
            self._record_alarm()
        self._plan(now)
        self.lane.poll(self)
        self.core.health_flush()

    def _plan(self, now: int) -> None:
        """The step is over: what is done with the next one."""
        self.was_bad, self.loss_bad, self.clips = self.loss_bad, False, False
        self.jumped = self.spread = self.looked = False
        self.forward_ends()  # of a root whose forward pass has this step in it
        whole = not self.sum_only
        self.schedule.ended(self.step, now, self.cost_ns if self.sampling and whole else 0)
        self.cost_ns = 0
        following = self.step + 1
        self.sampling = self.schedule.is_due(following)
        self.sum_only = not self.sampling and self._sums_words(following)
        self.sampling = self.sampling or self.sum_only
        self.quiet = not self.sampling and self.schedule.is_quiet(following)
        follow = self.sampling or not boundary.loop.loader
        if self.saver is not None:
            follow = self._plan_saving(following) or follow
        if follow != self.forwards:
            self.follow_forward(follow)

    def _plan_saving(self, following: int) -> bool:
        """Whether tensors of the next step are saved."""
        saver = self.saver
        if saver is None:
            return False
        if saver.batch:
            saver.end()
        if saver.files:
            saver.poll()
            self.core.health_flush()
        if saver.request.is_over(following) and not saver.files:
            self.saver = None
            return False
        return saver.is_due(following)

    def _sums_words(self, step: int) -> bool:
        return self.watch.world > 1 and self.schedule.is_on_grid(step)

    def _close_sample(self) -> None:
        sample, self.sample = self.sample, None
        if sample is not None and sample.step >= 0:
            name = "grad.norm.shard" if self.sharded else "grad.norm"
            norm = 0 if self.clips else self.ids[name]
            self.samples += not self.sum_only
            if sample.emit(norm) and not self.scaling:
                self.loss_bad = True

    def _record_alarm(self) -> None:
        self.core.health_begin(self.step, _core.TRAIN, 0)
        self.core.health_value(0, self.ids["health.armed"], float(ALARM_STEPS))

    # ---- scalars ----

    def _was_skipped(self, table: "Table | None", optimizer: "Any", scaler: "Any") -> bool:
        """Whether GradScaler left the optimizer's step out. In-place updates raise a parameter's
        version, which costs no wait; a fused optimizer decides on the device."""
        if scaler is None or table is None or self.versions is None:
            return False
        return bool(table.version() == self.versions)

    def _put_scalars(self, known: Stepped, optimizer: "Any", skipped: bool) -> None:
        core = self.core
        core.health_begin(self.step, 0, 0)
        if self.losses:
            self._put_loss(known)
        for i, group in enumerate(optimizer.param_groups):
            rate = group.get("lr")
            if type(rate) is float or isinstance(rate, int | float):
                core.health_value(0, self._rate_name(known, i), rate)
            elif rate is not None:
                self._put_tensor(self._rate_name(known, i), rate)
        if self.missing:
            core.health_value(0, self.ids["grad.missing"], float(self.missing))
        if skipped:
            core.health_value(0, self.ids["step.skipped"], 1.0)
        if self.clipped is not None:
            self._put_clip()
        if self.hash is not None:
            core.health_count(0, self.ids["batch.hash"], self.hash)
            self.hash = None
        if self.source in self.fresh:
            self.fresh.discard(self.source)
            core.health_count(0, self.ids["epoch"], self.epochs)
            self.epochs += 1

    def _rate_name(self, known: Stepped, group: int) -> int:
        while len(known.rates) <= group:
            known.rates.append(_name("lr" if not self.groups else f"lr.{self.groups}"))
            self.groups += 1
        return known.rates[group]

    def _put_loss(self, known: Stepped) -> None:
        calls, self.losses = self.losses, 0
        value, self.loss_sum = self.loss_sum / calls, 0.0
        if not self.lane.give_losses(self.step, known.loss):
            self.core.health_value(0, known.loss, value)
            if self.jumps.is_jump(value):
                self.loss_bad = True
        if calls != known.calls:
            known.calls = calls
            self.core.health_value(0, self.ids["backward.calls"], float(calls))

    def _put_tensor(self, name: int, value: "Any") -> None:
        """A number that may be on a device."""
        if not isinstance(value, self.torch.Tensor) or value.numel() != 1:
            return
        if value.device.type == "cpu":
            self.core.health_value(0, name, float(value.item()))
        else:
            self.lane.put(value, self.step, name)

    def clip_begins(self) -> None:
        """Gradients are as backward has left them. With a GradScaler some may be bad."""
        spread, self.spread, self.looked = self.spread, True, False
        outputs = self.sample is not None and self.sample.bad_modules  # for step_begins
        if self.scaling or self.loss_bad or outputs or self._is_capturing():
            return
        tables = self._tables()
        if not tables and not spread:  # of the first step
            self.loss_bad = self.origin.border(self.names.named(), boundary.under_way(), False)
        for table in tables:
            if table.canary_is_bad():
                self.origin.border(table.named(), boundary.under_way(), spread)
                self.loss_bad = True
                return
        self.looked = bool(tables)
        self.origin.over = self.origin.over and not self.looked

    def _tables(self) -> list[Table]:
        return [one.table for one in self.optimizers.values() if one.table is not None]

    def clip(self, norm: "Any") -> None:
        """clip_grad_norm_ has returned `norm`. Of a DTensor, reading it starts a collective."""
        limit = self.limit
        if type(norm) is not self.torch.Tensor:
            self.clipped = None, limit
        elif norm.is_cpu:
            self.clipped = norm.item(), limit
            if not math.isfinite(self.clipped[0]):
                self.clip_was_bad()
        elif not self._is_left_out() and not self._is_capturing():
            self.clipped = self.lane.hold(norm), limit

    def clip_was_bad(self) -> None:
        """Its norm is not finite; when that was not seen before it, the gradients no longer show
        where it arose, unless others were not clipped."""
        if self.looked and not self.loss_bad:
            for table in self._tables():
                self.origin.border(table.named(), boundary.under_way(), True)
        self.loss_bad, self.looked = True, False

    def _put_clip(self) -> None:
        norm, limit = self.clipped
        self.clipped, self.clips = None, True
        limit = float(limit) if isinstance(limit, int | float) else None
        if not isinstance(norm, float):
            self.lane.give_clip(norm, self.step, self.ids, limit)
            return
        record_clip(self.core, norm, self.ids, limit)

    def scaler_updated(self, scaler: "Any") -> None:
        scale = getattr(scaler, "_scale", None)
        if not isinstance(scale, self.torch.Tensor) or self._is_capturing():
            return
        step = max(self.step, 0)
        if scale.device.type == "cpu":
            value = float(scale.item())
            self.core.health_begin(step, _core.TRAIN, 0)
            self.core.health_value(0, self.ids["amp.scale"], value)
            self.loss_bad = self.loss_bad or value < self.latest_scale
            self.latest_scale = value
        else:
            self.lane.put(scale, step, self.ids["amp.scale"])

    # ---- the end ----

    def finish(self) -> None:
        self.forward_ends()
        if self.sample is not None:
            self._close_sample()
        self.end_evaluation()
        if self.saver is not None:
            self.saver.finish()
        self.lane.finish(EXIT_WAIT_NS)
        self.core.health_flush()


# ---- what gates call ----


class _State:
    wanted = False
    capture: "Capture | None" = None
    optimizer: "Any" = None  # of GradScaler.step under way


@_safe.guard("health")
def _start() -> "Capture | None":
    """With the first call of a gate: torch is there as a whole then."""
    _State.wanted = False
    settings = _scalars.settings()
    if settings.on and hasattr(sys.modules.get("torch"), "nn"):
        _health.drain_at_exit()  # runs after ours
        _State.capture = Capture(sys.modules["torch"], settings)
        atexit.register(_at_exit)
    return _State.capture


def _here() -> "Capture | None":
    capture = _State.capture
    if capture is None:
        if not _State.wanted:
            return None
        capture = _start()
    return capture if capture is not None and _get_ident() == capture.main else None


def _off(error: Exception) -> None:
    """Something of ours failed: from now on nothing is captured."""
    capture, _State.capture = _State.capture, None
    _safe.report_loss("health", error)
    if capture is not None:
        with _safe.guard("health"):
            capture.forward_ends()
            if capture.saver is not None:
                capture.saver.finish()
            capture.follow_forward(False)


def before_backward(args: "Args", kwargs: "Kwargs") -> None:
    capture = _here()
    if capture is not None:
        try:
            capture.backward(args[0] if args else (kwargs or {}).get("tensors"))
        except Exception as error:
            _off(error)


def before_forward(args: "Args", kwargs: "Kwargs") -> None:
    capture = _here()
    if capture is not None:
        try:
            capture.forward_begins(args, kwargs)
        except Exception as error:
            _off(error)


def after_forward(args: "Args", result: "Any") -> None:
    capture = _here()
    if capture is not None and capture.within:
        try:
            capture.call_ended(args, result)
            capture.forward_ends()
        except Exception as error:
            _off(error)


def before_nested(args: "Args") -> "Callable[[Args, Any], None] | None":
    capture = _here()
    if capture is not None:
        try:
            return after_nested if capture.call_begins(args) else None
        except Exception as error:
            _off(error)
    return None


def after_nested(args: "Args", result: "Any") -> None:
    capture = _here()
    if capture is not None and capture.within:
        try:
            capture.call_ended(args, result)
        except Exception as error:
            _off(error)


def step_begins(optimizer: "Any", index: int) -> None:
    capture = _here()
    if capture is not None:
        try:
            capture.step_begins(optimizer, index)
        except Exception as error:
            _off(error)


def step_ends(optimizer: "Any", index: int) -> None:
    capture = _here()
    if capture is not None:
        try:
            capture.step_ends(optimizer, index)
        except Exception as error:
            _off(error)


def closure_ended(optimizer: "Any", index: int) -> None:
    """The closure of an optimizer's step has run, for the first time or again."""
    capture = _here()
    if capture is not None and not capture.closed:
        step_begins(optimizer, index)
        capture.closed = True


def scaler_begins(scaler: "Any", optimizer: "Any", index: int) -> None:
    capture = _here()
    if capture is not None:
        try:
            _State.optimizer = optimizer, index
            on = getattr(scaler, "_enabled", True)
            capture.step_begins(optimizer, index, scaler if on else None)
        except Exception as error:
            _off(error)


def after_scaler(args: "Args", result: "Any") -> None:
    capture, under_way = _here(), _State.optimizer
    _State.optimizer = None
    if capture is not None and under_way is not None:
        try:
            capture.step_ends(under_way[0], under_way[1], args[0])
        except Exception as error:
            _off(error)


def _calls(call: "Callable[[Capture, Args, Any], None]") -> "Callable[[Args, Any], None]":
    def after(args: "Args", result: "Any") -> None:
        capture = _here()
        if capture is not None and result is not None:
            try:
                call(capture, args, result)
            except Exception as error:
                _off(error)

    return after


after_scale = _calls(lambda capture, args, result: capture.scale(args[1], result))
_after_clip = _calls(lambda capture, args, result: capture.clip(result))


def _before_clip(args: "Args", kwargs: "Kwargs") -> None:
    capture = _here()
    if capture is not None:
        capture.limit = args[1] if len(args) > 1 else (kwargs or {}).get("max_norm")
        try:
            capture.clip_begins()
        except Exception as error:
            _off(error)


def after_update(args: "Args", result: "Any") -> None:
    capture = _here()
    if capture is not None:
        try:
            capture.scaler_updated(args[0])
        except Exception as error:
            _off(error)


def fetched(iterator: "Any", batch: "Any") -> None:
    capture = _here()
    if capture is not None:
        try:
            capture.fetched(iterator, batch)
        except Exception as error:
            _off(error)


def iterates(iterator: "Any") -> None:
    """A loader begins anew."""
    capture = _here()
    if capture is not None and len(capture.fresh) < 64:
        capture.fresh.add(id(iterator))


def _after_loss_function(args: "Args", result: "Any") -> None:
    capture = _here()
    if capture is None or result is None or capture.torch.is_grad_enabled():
        return
    try:
        capture.evaluated(result, args[0] if args else None)
    except Exception as error:
        _off(error)


def forget_evaluation() -> None:
    """The framework reports the loss of the evaluation itself."""
    capture = _State.capture
    if capture is not None:
        capture.forget_evaluation()


def _defer(name: int, value: "Any", step: int, mode: int) -> bool:
    """A number that the program or its framework logs, when it is on a device."""
    capture = _here()
    if capture is None or not isinstance(value, capture.torch.Tensor) or value.numel() != 1:
        return False
    return value.device.type != "cpu" and capture.lane.put(value, step, name, mode)


def _current() -> "tuple[int, int] | None":
    """For footplate.log."""
    step = _scalars.current_step()
    return (step, _core.TRAIN) if step >= 0 and not boundary.loop.explicit else None


@_safe.guard("health exit")
def _at_exit() -> None:
    capture = _State.capture
    if capture is not None and capture.pid == os.getpid():
        capture.finish()


def _end() -> None:
    """This recording is over, or this is the child of a fork: what was under way is not ours."""
    capture, _State.capture = _State.capture, None
    _State.wanted = _scalars.settings().on
    if capture is not None:
        with _safe.guard("health"):
            capture.forward_ends()
            marks.use("forward", before_forward, after_forward)


def _forked() -> None:
    """In the child of a fork nothing of CUDA may be called, not even to free what is the parent's:
    a loader's worker would die of it. So the capture stays in memory for good."""
    with _safe.guard("health"):
        capture, _State.capture = _State.capture, None
        _State.wanted = _scalars.settings().on
        if capture is not None:
            _core.keep_forever((capture, capture.watch.sample))
            capture.forward_ends()
            marks.use("forward", before_forward, after_forward)


def _finish() -> None:
    _at_exit()
    _end()


def install(module: "ModuleType") -> None:
    """For torch.nn.utils.clip_grad, FSDP and torch.nn.functional; the other gates are those of
    phases."""
    if module.__name__ == "torch.nn.functional":
        for name in LOSS_FUNCTIONS:
            marks.put(module, name, after=_after_loss_function)
        return
    if module.__name__ == FSDP:
        wrapper = vars(module)["FullyShardedDataParallel"]
        marks.put(wrapper, "clip_grad_norm_", before=_before_clip, after=_after_clip)
        return
    _safe.need_any(module, ("clip_grad_norm_",))
    original = vars(module).get("clip_grad_norm_")
    marks.put(module, "clip_grad_norm_", before=_before_clip, after=_after_clip)
    utils = sys.modules.get("torch.nn.utils")
    if utils is not None and vars(utils).get("clip_grad_norm_") is original:
        utils.clip_grad_norm_ = vars(module)["clip_grad_norm_"]  # type: ignore[attr-defined]


def on() -> bool:
    """Whether this process captures; checked when the hooks of phases are installed."""
    if not _State.wanted and _State.capture is None and _scalars.settings().on:
        _State.wanted = True
        if _defer not in _health.defer:
            _health.defer.append(_defer)
            _health.current.append(_current)
        marks.use("forward", before_forward, after_forward)
    return _State.wanted or _State.capture is not None


_safe.on_finish.append(_finish)
_safe.on_begin_again.append(_end)
os.register_at_fork(after_in_child=_forked)
