# SPDX-License-Identifier: Apache-2.0
"""Numbers that are on a GPU, on their way to the host without a wait.

A number is copied into a buffer on its device, in the order of the current stream. Now and then the
buffer is copied to pinned memory, asynchronously, followed by an event. Later steps query the
event; when it is done, the values are recorded with the step and time at which they were taken.

Of each kind of buffer there are MOST_BUFFERS; those of samples take at most MOST_PARCELS bytes on
the device. While all of them are under way, values are left out and counted.
"""

import time

from .. import _core, _safe
from .torch_tensors import EXPONENTS, LEFT_OUT, WHEN_ANY, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .torch_tensors import Sample

MOST_BUFFERS = 8
MOST_PARCELS = 16 << 20  # bytes
SCALARS = 256  # in one buffer
FLUSH_AT, FLUSH_STEPS = 192, 16  # scalars, and steps, after which they are sent
ITEM = 8

# What becomes of a scalar.
PLAIN, LOSS, CLIP = range(3)


class Scalar:
    """A number that is on its way."""

    __slots__ = ("kind", "name", "step", "mode", "at_ns", "more")

    def __init__(self, kind: int, name: int, step: int, mode: int) -> None:
        self.kind = kind
        self.name = name
        self.step = step
        self.mode = mode
        self.at_ns = _core.now_ns()
        self.more: Any = None


class Buffer:
    """Room for numbers on the device and in pinned memory."""

    def __init__(self, torch: "Any", device: "Any", size: int) -> None:
        self.size = size
        self.there = torch.zeros(size, dtype=torch.float64, device=device)
        self.here = torch.zeros(size, dtype=torch.float64, pin_memory=True, device="cpu")
        self.event = torch.cuda.Event()
        self.stream = torch.cuda.current_stream
        self.scalars: list[Scalar] = []
        self.sample: Any = None  # (Sample, names of its norm, where its words begin, scale)

    def send(self, count: int) -> None:
        self.here[:count].copy_(self.there[:count], non_blocking=True)
        self.event.record(self.stream(self.there.device))


class Lane:
    """The way from the devices to the host; its buffers are on the first that a value is on."""

    def __init__(self, torch: "Any", core: "Any") -> None:
        self.torch = torch
        self.core = core
        built = torch.version.cuda is not None or torch.version.hip is not None
        self.capturing = torch._C._cuda_isCurrentStreamCapturing if built else None
        self.started = False  # torch.cuda is in use: before, asking it raises without a GPU
        self.device: Any = None  # of the buffers
        self.buffer: Buffer | None = None  # that scalars are put into
        self.free: list[Buffer] = []
        self.pending: list[Buffer] = []
        self.parcels: list[Buffer] = []  # for samples, free ones
        self.made = self.bytes = self.parcels_made = 0
        self.losses: list[Scalar] = []  # whose step is not known yet
        self.steps = 0  # since scalars were sent
        self.eval_sum: Any = None
        self.eval_weight = 0

    def is_capturing(self) -> bool:
        if self.capturing is None:
            return False
        self.started = self.started or bool(self.torch.cuda.is_initialized())
        return self.started and bool(self.capturing())

    # ---- scalars ----

    def _room(self, device: "Any") -> "Buffer | None":
        if device.type != "cuda":
            _safe.report_loss("health", f"nothing is measured on a device of type {device.type}")
            return None
        if self.device is None:
            self.device = device
        if self.is_capturing():
            return None
        if self.buffer is None and self.free:
            self.buffer = self.free.pop()
        if self.buffer is None and self.made < MOST_BUFFERS:
            self.made += 1
            self.buffer = Buffer(self.torch, self.device, SCALARS)
        if self.buffer is None or len(self.buffer.scalars) == SCALARS:
            self.core.health_lost(1, LEFT_OUT)
            return None
        return self.buffer

    def _put(self, value: "Any", scalar: Scalar) -> bool:
        buffer = self._room(value.device)
        if buffer is None:
            return False
        at = len(buffer.scalars)
        buffer.there[at : at + 1].copy_(value.detach().reshape(1), non_blocking=True)
        buffer.scalars.append(scalar)
        return True

    def put(self, value: "Any", step: int, name: int, mode: int = _core.TRAIN) -> bool:
        """False: it could not be taken."""
        return self._put(value, Scalar(PLAIN, name, step, mode))

    def put_loss(self, value: "Any") -> None:
        """Its step is known when an optimizer steps."""
        scalar = Scalar(LOSS, 0, -1, _core.TRAIN)
        if self._put(value, scalar):
            self.losses.append(scalar)

    def give_losses(self, step: int, name: int) -> bool:
        """Whether there were any since the last optimizer step."""
        given, self.losses = self.losses, []
        for scalar in given:
            scalar.step, scalar.name = step, name
        return bool(given)

    def hold(self, value: "Any") -> "Scalar | None":
        """A norm, until give_clip says of which step."""
        scalar = Scalar(CLIP, 0, -1, _core.TRAIN)
        return scalar if self._put(value, scalar) else None

    def give_clip(
        self, scalar: "Scalar | None", step: int, ids: "dict[str, int]", limit: "float | None"
    ) -> None:
        if scalar is not None:
            scalar.step, scalar.more = step, (ids, limit)

    def add_eval(self, value: "Any", weight: int) -> bool:
        if self._room(value.device) is None:
            return False
        if self.eval_sum is None:
            self.eval_sum = self.torch.zeros(1, dtype=self.torch.float64, device=value.device)
        value = value.detach().reshape(1).to(self.eval_sum.device, non_blocking=True)
        self.eval_sum.add_(value, alpha=weight)
        self.eval_weight += weight
        return True

    def put_eval(self, step: int, name: int) -> None:
        if self.eval_sum is not None and self.eval_weight:
            self.put(self.eval_sum / self.eval_weight, step, name, _core.EVAL)
            self.eval_sum.zero_()
            self.eval_weight = 0

    def forget_eval(self) -> None:
        if self.eval_sum is not None and self.eval_weight:
            self.eval_sum.zero_()
        self.eval_weight = 0

    def flush(self) -> None:
        """What was put so far is sent."""
        buffer = self.buffer
        if buffer is None or not buffer.scalars or self.losses or self.is_capturing():
            return
        buffer.send(len(buffer.scalars))
        self.pending.append(buffer)
        self.buffer = None
        self.steps = 0

    # ---- samples ----

    def _parcel(self, device: "Any", size: int) -> "Buffer | None":
        for i, parcel in enumerate(self.parcels):
            if parcel.size >= size:
                return self.parcels.pop(i)
        room = 1 << max(size - 1, 1).bit_length()
        if self.parcels_made >= MOST_BUFFERS or self.bytes + room * ITEM > MOST_PARCELS:
            return None
        self.parcels_made += 1
        self.bytes += room * ITEM
        return Buffer(self.torch, device, room)

    def send(self, sample: "Sample", norm: int) -> None:
        """The values of a sample that are on the device; it is emitted when they have arrived."""
        torch = self.torch
        device = sample.deferred[0][2].device
        extra = 1 if isinstance(sample.scale, torch.Tensor) else 0
        vectors = [v for _, _, v in sample.vectors]
        parcel = self._parcel(device, len(sample.deferred) + extra + EXPONENTS * len(vectors))
        if parcel is None or self.is_capturing():
            self.core.health_lost(len(sample.deferred), LEFT_OUT)
            sample.deferred, sample.vectors = [], []
            sample.record(0, norm)
            return
        reals = [v for _, _, v, how, _ in sample.deferred if how not in (WORDS, WHEN_ANY)]
        words = [v for _, _, v, how, _ in sample.deferred if how in (WORDS, WHEN_ANY)]
        with torch.no_grad():
            if extra:
                reals.append(sample.scale)
            self._fill(parcel.there, reals)
            if words:
                self._fill(parcel.there.view(torch.int64)[len(reals) :], words)
            begin = len(reals) + len(words)
            count = begin + EXPONENTS * len(vectors)
            if vectors:
                whole = parcel.there.view(torch.int64)[begin:count].view(-1, EXPONENTS)
                self._fill(whole, vectors)
        parcel.sample = sample, norm, len(reals), extra
        parcel.send(count)
        self.pending.append(parcel)
        sample.deferred = [(at, n, None, how, of) for at, n, _, how, of in sample.deferred]
        sample.vectors = [(at, n, None) for at, n, _ in sample.vectors]
        self.flush()

    def _fill(self, there: "Any", values: "list[Any]") -> None:
        """Each run of one type and device in one go."""
        begin, shape = 0, there.shape[1:]
        kinds = [(one.dtype, one.device) for one in values]
        while begin < len(values):
            end = begin
            while end < len(values) and kinds[end] == kinds[begin]:
                end += 1
            part = [v.detach().reshape(shape) for v in values[begin:end]]
            there[begin:end].copy_(self.torch.stack(part), non_blocking=True)
            begin = end

    # ---- arrival ----

    def poll(self, capture: "Any" = None) -> None:
        """After each step: records what has arrived."""
        if self.device is None and not self.pending:
            return
        self.steps += 1
        buffer = self.buffer
        full = buffer is not None and len(buffer.scalars) >= FLUSH_AT
        if full or self.steps >= FLUSH_STEPS:
            self.flush()
        while self.pending and self.pending[0].event.query():
            self._arrived(self.pending.pop(0), capture)

    def _arrived(self, buffer: Buffer, capture: "Any") -> None:
        if buffer.sample is None:
            self._record_scalars(buffer, capture)
            self.free.append(buffer)
            return
        sample, norm, reals, extra = buffer.sample
        values = buffer.here[:reals].tolist()
        count = sum(how in (WORDS, WHEN_ANY) for _, _, _, how, _ in sample.deferred)
        whole = buffer.here.view(self.torch.int64)
        words = whole[reals : reals + count].tolist()
        begin = reals + count
        counted = whole[begin : begin + EXPONENTS * len(sample.vectors)].tolist()
        scale = values.pop() if extra else 0.0
        sample.resolve(values, words, scale)
        sample.resolve_vectors(counted, scale or 1.0)
        sample.record(max(_core.now_ns() - sample.at_ns, 0), norm)
        buffer.sample = None
        self.parcels.append(buffer)
        if capture is not None and sample.bad:
            capture.arrived_bad(sample)

    def _record_scalars(self, buffer: Buffer, capture: "Any") -> None:
        values = buffer.here[: len(buffer.scalars)].tolist()
        losses: dict[tuple[int, int], list[float]] = {}
        now = _core.now_ns()
        for scalar, value in zip(buffer.scalars, values, strict=True):
            self.core.health_begin(scalar.step, scalar.mode, max(now - scalar.at_ns, 0))
            if scalar.kind == PLAIN:
                self.core.health_value(0, scalar.name, value)
            elif scalar.kind == CLIP and scalar.more is not None:
                record_clip(self.core, value, *scalar.more)
            elif scalar.kind == LOSS and scalar.name:
                losses.setdefault((scalar.step, scalar.name), []).append(value)
        for scalar in buffer.scalars:
            found = losses.pop((scalar.step, scalar.name), None) if scalar.kind == LOSS else None
            if found:
                mean = sum(found) / len(found)
                self.core.health_begin(scalar.step, scalar.mode, max(now - scalar.at_ns, 0))
                self.core.health_value(0, scalar.name, mean)
                if capture is not None:
                    capture.arrived_loss(mean)
        buffer.scalars = []

    def finish(self, wait_ns: int) -> None:
        """At the program's end: waits a moment for what is under way."""
        if self.device is None and not self.pending:
            return
        self.losses = []
        self.flush()
        until = _core.now_ns() + wait_ns
        while self.pending and _core.now_ns() < until:
            self.poll()
            if self.pending:
                time.sleep(0.001)
        if self.pending:
            _safe.report_loss("health", "the last values were not read: the device was busy")


def record_clip(core: "Any", norm: float, ids: "dict[str, int]", limit: "float | None") -> None:
    core.health_value(0, ids["grad.norm"], norm)
    if limit is not None:
        core.health_value(0, ids["clip.max"], limit)
        core.health_value(0, ids["grad.norm.clipped"], norm * min(1.0, limit / (norm + 1e-6)))
