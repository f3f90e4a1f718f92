# SPDX-License-Identifier: Apache-2.0
"""Statistics of parameters and their gradients, for the samples of torch_health.py.

On a CPU a fused pass in C reads each tensor once (_core.health_stats). On a GPU the statistics stay
on the device, in the order of the current stream, until torch_deferred.py has copied them.

A gradient that is None has no statistics: that is not a gradient of 0. What is not a plain tensor
of floating-point numbers is left out, and the run says so.
"""

import itertools
import math
import weakref

from .. import _safe
from . import _scalars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .torch_deferred import Lane

MOST_TENSORS = 10_000  # of one optimizer that are followed
MOST_NAMED = 50_000
FIRST_NAMED = 1000
MOST_STRIDED = 4096  # elements of a parameter whose change is measured
MOST_CANARY = 65_536  # elements of a gradient that is looked at in every step
CHUNK = 1 << 22  # elements of a device tensor that are counted at once: a temporary of 16 MiB
MOST_COUNTED = 1 << 18  # elements of a tensor whose exponents are counted
MOST_STATES = 512  # tensors of an optimizer's state that are measured
EXPONENTS = 256
LEFT_OUT, UNSUPPORTED = 2, 3  # reasons of health_lost

# What a sample holds on a device, with the temporary of CHUNK and torch_deferred.MOST_PARCELS at
# most 64 MiB: copies of elements and their changes, histograms, and values, whose blocks have
# BLOCK bytes.
MOST_COPIED = 4 << 20
MOST_VECTORS = 4096
MOST_VALUES = 32_768
BLOCK = 512

# How a value that comes from the device becomes the one that is recorded.
AS_IS, UNSCALED, ZERO_SHARE, SHARE, WHEN_ANY, WORDS, STD = range(7)

# Attributes that wrappers put between a module and its parameters.
WRAPPED = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
WRAPPERS = {
    "DistributedDataParallel": "module",
    "DataParallel": "module",
    "OptimizedModule": "_orig_mod",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "DeepSpeedEngine": "module",
    "CheckpointWrapper": "_checkpoint_wrapped_module",
}


def wrappers(module: "Any") -> "list[Any]":
    """DDP, FSDP, torch.compile and their like around the module of the user."""
    found: list[Any] = []
    while len(found) < 8:
        inner = WRAPPERS.get(type(module).__name__)
        held = module._modules.get(inner) if inner else None
        if held is None:
            break
        found.append(module)
        module = held
    return found


def unwrap(module: "Any") -> "Any":
    """The module of the user inside of its wrappers."""
    around = wrappers(module)
    return around[-1]._modules[WRAPPERS[type(around[-1]).__name__]] if around else module


def plain_name(name: str) -> str:
    for part in WRAPPED:
        name = name.replace(part, "")
    return name


def local(tensor: "Any") -> "Any":
    """This rank's part of a DTensor; other tensors as they are. Starts no collective."""
    return getattr(tensor, "_local_tensor", tensor)


class Names:
    """Names of parameters, as the root modules that were called have them."""

    def __init__(self, settings: "_scalars.Settings") -> None:
        self.settings = settings
        self.of: dict[int, tuple[Any, str]] = {}
        self.most = FIRST_NAMED  # of them, before those of parameters that are gone are dropped
        self.prefixes: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self.version = 0

    def learn(self, root: "Any") -> str:
        """The prefix of the root's names: none for the first root that is alive."""
        known = self.prefixes.get(root)
        if known is not None:
            return known
        parts = [
            one for one in itertools.islice(root.modules(), MOST_NAMED) if one in self.prefixes
        ]
        prefix = self.prefixes[parts[0]] if parts else self._prefix(root)  # of a part called alone
        self.prefixes[root] = prefix
        named = itertools.islice(root.named_parameters(), MOST_NAMED)
        for name, parameter in named:
            held = self.of.get(id(parameter))
            if parts or held is None or held[0]() is not parameter:
                self.of[id(parameter)] = weakref.ref(parameter), prefix + plain_name(name)
        if len(self.of) > self.most:
            self.of = {key: held for key, held in self.of.items() if held[0]() is not None}
            self.most = max(2 * len(self.of), FIRST_NAMED)
        self.version += 1
        return prefix

    def _prefix(self, root: "Any") -> str:
        taken = set(self.prefixes.values())
        if "" not in taken:
            return ""
        word = prefix = type(root).__name__ + "."
        count = 2
        while prefix in taken:
            prefix = f"{word[:-1]}#{count}."
            count += 1
        return prefix

    def named(self) -> "list[tuple[str, Any]]":
        """All parameters, with their names."""
        there = [(name, reference()) for reference, name in self.of.values()]
        return [(name, parameter) for name, parameter in there if parameter is not None]

    def name_of(self, parameter: "Any") -> "str | None":
        held = self.of.get(id(parameter))
        return held[1] if held is not None and held[0]() is parameter else None


class Entry:
    """A parameter of an optimizer."""

    __slots__ = (
        "tensor",
        "name",
        "number",
        "dims",
        "dtype",
        "device",
        "code",
        "codes",
        "host",
        "size",
        "stride",
        "taken",
        "words",
        "before",
        "skipped",
    )

    def __init__(
        self,
        tensor: "Any",
        name: str,
        number: int,
        codes: "dict[Any, int]",
        sharded: bool = False,
    ) -> None:
        inner = local(tensor)
        self.tensor = tensor
        self.name = name
        self.number = number
        self.dims = tensor.dim()
        self.dtype, self.device = inner.dtype, inner.device
        self.code = codes[inner.dtype]
        self.codes = codes
        self.host = inner.device.type == "cpu"
        self.size = inner.numel()
        self.stride = -(-self.size // MOST_STRIDED)
        self.taken = -(-self.size // self.stride) if self.size else 0
        # A shard's sum says nothing about other ranks.
        self.words = tensor is inner and not sharded
        self.before: Any = None
        self.skipped = False

    def is_old(self) -> bool:
        """Whether the parameter was moved or converted."""
        now = local(self.tensor)
        return (now.dtype, now.device, now.numel()) != (self.dtype, self.device, self.size)


def _codes(torch: "Any") -> "dict[Any, int]":
    table = getattr(_scalars.core, "DTYPES", {})
    return {getattr(torch, name): code for name, code in table.items()}


class Table:
    """The parameters of an optimizer that are followed, in its order."""

    def __init__(
        self,
        torch: "Any",
        optimizer: "Any",
        names: Names,
        settings: "_scalars.Settings",
        sharded: bool = False,
    ) -> None:
        self.torch = torch
        self.settings = settings
        self.codes = _codes(torch)
        self.entries: list[Entry] = []
        self.sharded = sharded
        self.key = self._key(optimizer, names)
        self.count = self.key[1]
        self.has_dims = False
        self.unnamed = 0
        parameters = itertools.chain.from_iterable(g["params"] for g in optimizer.param_groups)
        for i, parameter in enumerate(itertools.islice(parameters, MOST_TENSORS)):
            name = names.name_of(parameter)
            if name is None:
                name = f"parameter.{i}"
                self.unnamed += 1
            if settings.follows(name):
                self._add(parameter, name)
        self.sharded = sharded or any(not entry.words for entry in self.entries)
        self.live = self.entries[0] if self.entries else None  # has, or had, a gradient
        self.canaries = self._canaries()
        self.bound_copies()

    def bound_copies(self) -> None:
        """So many elements of each matrix on a device that all copies take MOST_COPIED."""
        there = [e for e in self.entries if not e.host and (e.dims >= 2 or not e.words)]
        if sum(e.taken * 4 for e in there) > MOST_COPIED:
            most = max(MOST_COPIED // (4 * len(there)), 1)
            for entry in there:
                entry.stride = -(-entry.size // min(most, MOST_STRIDED))
                entry.taken = -(-entry.size // entry.stride)

    def report_left_out(self) -> None:
        if self.count > MOST_TENSORS:
            _safe.report_loss(
                "health tensors", f"{MOST_TENSORS} of {self.count} parameters are followed"
            )
        if self.unnamed:
            _safe.report_loss(
                "health names", f"{self.unnamed} parameters belong to no module that was called"
            )

    @staticmethod
    def _key(optimizer: "Any", names: Names) -> "tuple[int, int, int]":
        groups = optimizer.param_groups
        return len(groups), sum(len(group["params"]) for group in groups), names.version

    def is_old(self, optimizer: "Any", names: Names) -> bool:
        if self.key != self._key(optimizer, names):
            return True
        return any(entry.is_old() for entry in self.entries)

    def _add(self, parameter: "Any", name: str) -> None:
        inner = local(parameter)
        why = self._why_not(inner)
        if why:
            _safe.report_loss(f"health of {why} tensors", f"not supported: {name}")
            _scalars.core.health_lost(1, UNSUPPORTED)
            return
        number = self.settings.number(name)
        if number and inner.numel():
            sharded = self.sharded or inner is not parameter
            self.entries.append(Entry(parameter, name, number, self.codes, sharded))
        elif not inner.numel():
            _safe.report_loss("health of empty tensors", f"nothing to measure: {name}")

    def _why_not(self, tensor: "Any") -> str:
        """What kind of tensor it is, when that is one without statistics."""
        if tensor.device.type == "meta":
            return "meta"
        if tensor.is_quantized:
            return "quantized"
        if tensor.layout is not self.torch.strided:
            return "sparse"
        if tensor.dtype not in self.codes:
            return str(tensor.dtype).replace("torch.", "")
        if tensor.device.type not in ("cpu", "cuda"):
            return tensor.device.type
        return "" if not tensor.numel() or is_stored(tensor) else type(tensor).__name__

    def _canaries(self) -> "list[Entry]":
        """What is not finite in the backward pass reaches the first layers that are trained: a
        small gradient there and at the end show cheaply, in every step, whether there is such a
        number. Where all four are large, some elements of one do: mostly a whole row is bad."""
        found: list[Entry] = []
        mine = [e for e in self.entries if e.host and e.tensor.requires_grad]
        for part in (mine[:4], mine[-4:]):
            best = min(part, key=lambda e: e.size, default=None)
            if best is not None and best not in found:
                found.append(best)
        return found

    def has_gradient(self) -> bool:
        """Whether any parameter has one."""
        live = self.live
        if live is None or live.tensor.grad is not None:
            return True
        for entry in self.entries:
            if entry.tensor.grad is not None:
                self.live = entry
                return True
        return False

    def version(self) -> int:
        """Grows with every change of a parameter that has a gradient."""
        return int(local(self.live.tensor)._version) if self.live is not None else 0

    def named(self) -> "list[tuple[str, Any]]":
        return [(entry.name, entry.tensor) for entry in self.entries]

    def canary_is_bad(self) -> bool:
        """In every step: so little is called."""
        stats, plain, strided = _scalars.core.health_stats, self.torch.Tensor, self.torch.strided
        for entry in self.canaries:
            gradient = entry.tensor.grad
            if gradient is None:
                continue
            if not gradient.is_cpu:
                continue
            if type(gradient) is plain and gradient.layout is strided and gradient.is_contiguous():
                code = self.codes.get(gradient.dtype)
                count, stride = gradient.numel(), 1
                if count > MOST_CANARY:
                    stride = -(-count // MOST_STRIDED)
                    count = -(-count // stride)
                if code is None or not count:
                    continue
                if stats(gradient.data_ptr(), count, code, stride)[6]:
                    return True
                continue
            found = measure(self, local(gradient)) if entry.size <= MOST_CANARY else None
            if found is not None and found[6]:
                return True
        return False


class Stepped:
    """What is known of an optimizer: its number, its parameters, the numbers of its names."""

    def __init__(self, index: int, reference: "Any") -> None:
        self.index = index
        self.reference = reference
        self.table: Table | None = None
        self.loss = int(_scalars.core.health_name("loss" if index == 1 else f"loss.{index - 1}"))
        self.rates: list[int] = []  # names of its groups' learning rates
        self.calls = 1  # of backward in a step


def measure(table: "Table | Any", tensor: "Any") -> "Any":
    """(sum, l1, l2, min, max, zeros, nonfinite) of a tensor on the CPU; None when it is empty or
    of a kind without statistics."""
    code = table.codes.get(tensor.dtype)
    if tensor.layout is not table.torch.strided:
        tensor = values_of(table.torch, tensor)
        if tensor is None:
            return None
    if code is None or tensor.numel() == 0 or not is_stored(tensor):
        return None
    tensor = dense(table.torch, tensor)
    return _scalars.core.health_stats(tensor.data_ptr(), tensor.numel(), code)


def is_stored(tensor: "Any") -> bool:
    """Whether the memory of its elements is there: FSDP frees what it has gathered, and subclasses
    that wrap other tensors have none."""
    try:
        return bool(tensor.data_ptr()) and tensor.untyped_storage().nbytes() > 0
    except RuntimeError:  # of a fake tensor
        return False


def values_of(torch: "Any", tensor: "Any") -> "Any":
    """Those that a sparse tensor stores."""
    if tensor.layout is torch.sparse_coo:
        return tensor._values().detach()
    try:
        return tensor.values().detach()
    except RuntimeError:
        return None


def has_gaps(torch: "Any", tensor: "Any") -> bool:
    """Whether its elements are not one block of memory, in whatever order."""
    if tensor.is_contiguous():
        return False
    dims = tensor.dim()
    if dims == 2:
        return not tensor.t().is_contiguous()
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(dims)
    return last is None or not tensor.is_contiguous(memory_format=last)


def dense(torch: "Any", tensor: "Any") -> "Any":
    """The same elements without gaps, in any order."""
    return tensor.detach().contiguous() if has_gaps(torch, tensor) else tensor


class Sample:
    """What is measured at one step."""

    def __init__(
        self, torch: "Any", core: "Any", settings: "_scalars.Settings", lane: "Lane"
    ) -> None:
        self.torch = torch
        self.core = core
        self.lane = lane
        self.settings = settings
        self.step = -1
        self.at_ns = 0
        self.scale: Any = None  # what the gradients were multiplied by
        self.clipped = False  # the gradients, before they were measured
        self.ids = {name: i for name, i in _scalars.STATISTICS.items() if settings.takes(name)}
        self.reals: dict[int, tuple[list[int], list[float]]] = {}
        self.counts: dict[int, tuple[list[int], list[int]]] = {}
        self.deferred: list[tuple[int, int, Any, int, float]] = []
        self.vectors: list[tuple[int, int, Any]] = []  # histograms on the device
        self.deep = False  # histograms and the optimizer's state are taken too
        self.squares = 0.0  # of all gradients
        self.bad = False  # a gradient is not finite
        self.bad_modules: list[str] = []  # outputs, in the order of the calls
        self.roots: weakref.WeakSet[Any] = weakref.WeakSet()  # whose modules were looked at
        self.reported_sharded = False

    # ---- values ----

    def _id(self, name: str, number: int) -> "int | None":
        """None: this statistic of this tensor is not wanted."""
        if self.settings.collections and not self.settings.picks(name, number):
            return None
        return self.ids.get(name)

    def put(self, name: str, number: int, value: float) -> None:
        at = self._id(name, number)
        if at is not None:
            names, values = self.reals.setdefault(at, ([], []))
            names.append(number)
            values.append(value)

    def count(self, name: str, number: int, value: int) -> None:
        at = self._id(name, number)
        if at is not None:
            names, values = self.counts.setdefault(at, ([], []))
            names.append(number)
            values.append(value)

    def defer(self, name: str, number: int, value: "Any", how: int = AS_IS, of: float = 1) -> None:
        """A value on the device."""
        at = self._id(name, number)
        if at is not None and len(self.deferred) < MOST_VALUES:
            self.deferred.append((at, number, value, how, of))
        elif at is not None:
            self.core.health_lost(1, LEFT_OUT)

    # ---- histograms of exponents ----

    def exponents(self, name: str, entry: "Entry", tensor: "Any", scale: float = 1.0) -> None:
        """Of a matrix on the host, in a sample that is deep. A scale is a power of 2."""
        at = self._id(name, entry.number)
        known = tensor.dtype in entry.codes and tensor.layout is self.torch.strided
        if not self.deep or at is None or entry.dims < 2 or not known:
            return
        tensor = dense(self.torch, tensor)
        count = tensor.numel()
        stride = -(-count // MOST_COUNTED)
        code = entry.codes[tensor.dtype]
        found = self.core.health_exponents(tensor.data_ptr(), -(-count // stride), code, stride)
        self._put_exponents(at, entry.number, found, scale)

    def _put_exponents(self, at: int, number: int, found: "list[int]", scale: float) -> None:
        shift = round(math.log2(scale)) if scale > 0 and math.isfinite(scale) else 0
        names, values = self.counts.setdefault(at, ([], []))
        for exponent, count in enumerate(found):
            if count:
                if 0 < exponent < EXPONENTS - 1:
                    exponent = min(max(exponent - shift, 1), EXPONENTS - 2)
                names.append(number)
                values.append(exponent << 48 | count)

    def _device_exponents(self, name: str, there: "list[tuple[Entry, Any]]") -> None:
        at = self.ids.get(name)
        if not self.deep or at is None:
            return
        matrices = [
            one for one in there if one[0].dims >= 2 and self.settings.picks(name, one[0].number)
        ]
        for entry, tensor in matrices[: MOST_VECTORS // 2]:  # of gradients, and of weights
            self.vectors.append((at, entry.number, device_exponents(self.torch, tensor)))
        if len(matrices) > MOST_VECTORS // 2:
            self.core.health_lost(len(matrices) - MOST_VECTORS // 2, LEFT_OUT)

    def skip(self, entry: "Entry", why: str) -> None:
        if not entry.skipped:
            entry.skipped = True
            _safe.report_loss(f"health of {why} gradients", f"not supported: {entry.name}")
            self.core.health_lost(1, UNSUPPORTED)

    # ---- gradients ----

    def gradients(self, table: Table) -> None:
        """Of the optimizer that is about to step."""
        there: list[tuple[Entry, Any]] = []
        for entry in table.entries:
            gradient = entry.tensor.grad
            if gradient is None:
                continue
            gradient = local(gradient)
            if gradient.device.type == "cpu":
                self._host_gradient(table, entry, gradient)
            elif gradient.layout is not self.torch.strided:
                self.skip(entry, "sparse")
            elif gradient.dtype not in entry.codes or not gradient.numel():
                self.skip(entry, str(gradient.dtype).replace("torch.", ""))
            else:
                there.append((entry, gradient))
        if there:
            with self.torch.no_grad():
                self._device_gradients(there)
        if not table.has_dims and "parameter.dims" in self.ids:
            table.has_dims = True
            for entry in table.entries:
                self.put("parameter.dims", entry.number, entry.dims)

    def _host_gradient(self, table: Table, entry: Entry, gradient: "Any") -> None:
        found = measure(table, gradient)
        if found is None:
            if gradient.numel():
                self.skip(entry, str(gradient.dtype).replace("torch.", ""))
            return
        _, l1, l2, low, high, zeros, bad = found
        scale = self.scale if isinstance(self.scale, float) and self.scale else 1.0
        number = entry.number
        self.squares += (l2 / scale) ** 2
        if bad:  # the norms are not finite either; C has those of the finite values
            self.bad = True
            self.count("gradient.nonfinite", number, bad)
            l1 = l2 = math.nan
        self.put("gradient.l2", number, l2 / scale)
        self.put("gradient.l1", number, l1 / scale)
        self.put("gradient.min", number, low / scale)
        self.put("gradient.max", number, high / scale)
        self.put("gradient.zeros", number, zeros / gradient.numel())
        self.exponents("gradient.exponents", entry, gradient, scale)

    def _device_gradients(self, there: "list[tuple[Entry, Any]]") -> None:
        torch = self.torch
        tensors = [gradient.detach() for _, gradient in there]
        for name, order in (("gradient.l2", 2), ("gradient.l1", 1)):
            for (entry, _), norm in zip(there, norms(torch, tensors, order), strict=True):
                self.defer(name, entry.number, norm, UNSCALED)
        for (entry, _), gradient in zip(there, tensors, strict=True):
            low, high = torch.aminmax(gradient)
            self.defer("gradient.min", entry.number, low, UNSCALED)
            self.defer("gradient.max", entry.number, high, UNSCALED)
            zeros, bad = device_counts(torch, gradient)
            self.defer("gradient.zeros", entry.number, zeros, ZERO_SHARE, gradient.numel())
            self.defer("gradient.nonfinite", entry.number, bad, WHEN_ANY)
        self._device_exponents("gradient.exponents", there)

    # ---- updates ----

    def keep(self, table: Table) -> None:
        """The matrices before the step, as far as they are compared afterwards."""
        if "update.ratio" not in self.ids and "update.unchanged" not in self.ids:
            return
        for entry in table.entries:
            entry.before = None
            if entry.dims < 2 and entry.words:
                continue
            tensor = local(entry.tensor)
            if entry.tensor.grad is None:
                continue
            if has_gaps(self.torch, tensor):
                _safe.report_loss(
                    "health of tensors with gaps", f"updates are not measured: {entry.name}"
                )
                continue
            if entry.host:
                entry.before = self.core.health_gather(
                    tensor.data_ptr(), entry.taken, entry.code, entry.stride
                )
            else:
                entry.before = strided(tensor, entry).clone()

    def updates(self, table: Table) -> None:
        there = []
        for entry in table.entries:
            if entry.before is None:
                continue
            if entry.host:
                self._host_update(entry)
            else:
                there.append(entry)
        if there:
            with self.torch.no_grad():
                self._device_updates(there)
        for entry in table.entries:
            entry.before = None

    def _host_update(self, entry: Entry) -> None:
        tensor = local(entry.tensor)
        if has_gaps(self.torch, tensor) or tensor.numel() != entry.size:
            return
        where = tensor.data_ptr(), entry.taken, entry.code, entry.stride
        change, before, equal = self.core.health_update(*where, entry.before)
        if before > 0:
            self.put("update.ratio", entry.number, change / before)
        if tensor.element_size() != 2 or entry.tensor.grad is None:
            return
        gradient = local(entry.tensor.grad)
        if self._has_layout(gradient, tensor):
            zeros = self.core.health_stats(
                gradient.data_ptr(), entry.taken, entry.code, entry.stride
            )[5]
            if zeros < entry.taken:
                share = max(equal - zeros, 0) / (entry.taken - zeros)
                self.put("update.unchanged", entry.number, share)

    def _has_layout(self, gradient: "Any", tensor: "Any") -> bool:
        """Whether elements of the gradient are at the places of those of the tensor."""
        if gradient.layout is not self.torch.strided or gradient.shape != tensor.shape:
            return False
        same = gradient.is_contiguous() == tensor.is_contiguous()
        return same and not has_gaps(self.torch, gradient)

    def _device_updates(self, there: "list[Entry]") -> None:
        torch = self.torch
        after = [strided(local(entry.tensor), entry) for entry in there]
        before = [entry.before for entry in there]
        changes = [a.float() - b.float() for a, b in zip(after, before, strict=True)]
        sizes = zip(norms(torch, changes, 2), norms(torch, before, 2), strict=True)
        for entry, (change, size) in zip(there, sizes, strict=True):
            self.defer("update.ratio", entry.number, change / size)
        for entry, old, new in zip(there, before, after, strict=True):
            gradient = entry.tensor.grad
            if new.element_size() != 2 or gradient is None:
                continue
            if self._has_layout(local(gradient), local(entry.tensor)):
                moved = torch.count_nonzero(strided(local(gradient), entry))
                changed = torch.count_nonzero(new != old)
                self.defer("update.unchanged", entry.number, 1 - changed / moved)

    # ---- weights ----

    def weights(self, table: Table) -> None:
        there = []
        for entry in table.entries:
            tensor = local(entry.tensor)
            if not entry.host:
                there.append((entry, tensor.detach()))
                continue
            found = measure(table, tensor)
            if found is None:
                continue
            self.put("weight.l2", entry.number, math.nan if found[6] else found[2])
            self.put("weight.zeros", entry.number, found[5] / entry.size)
            self.exponents("weight.exponents", entry, tensor)
            if found[6]:
                self.count("weight.nonfinite", entry.number, found[6])
        if there:
            with self.torch.no_grad():
                values = norms(self.torch, [tensor for _, tensor in there], 2)
            for (entry, _), norm in zip(there, values, strict=True):
                self.defer("weight.l2", entry.number, norm)
            with self.torch.no_grad():
                self._device_exponents("weight.exponents", there)
        self.sums(table)

    # ---- the optimizer's state ----

    def states(self, table: Table, optimizer: "Any") -> None:
        """exp_avg and the like of matrices, in a sample that is deep."""
        if not self.deep or not any(name.startswith("optimizer.") for name in self.ids):
            return
        there: list[tuple[int, Any]] = []
        for entry in table.entries:
            held = optimizer.state.get(entry.tensor) if entry.dims >= 2 else None
            for key, value in list(held.items())[:8] if held else ():
                if not isinstance(value, self.torch.Tensor) or value.dtype not in entry.codes:
                    continue  # of 8 bits, perhaps
                if value.numel() == entry.tensor.numel():
                    there.append((self.settings.number(f"{entry.name}:{key}"), local(value)))
        for number, value in there[:MOST_STATES]:
            if value.device.type == "cpu":
                found = measure(table, value)
                if found is not None:
                    self.put("optimizer.l2", number, found[2])
                    self.put("optimizer.max", number, found[4])
                    self.put("optimizer.zeros", number, found[5] / value.numel())
        away = [one for one in there[:MOST_STATES] if one[1].device.type == "cuda"]
        if away:
            with self.torch.no_grad():
                values = norms(self.torch, [value.detach() for _, value in away], 2)
            for (number, _), norm in zip(away, values, strict=True):
                self.defer("optimizer.l2", number, norm)

    def sums(self, table: Table) -> None:
        """Exact sums of the words of replicated parameters."""
        if "weight.sum" not in self.ids:
            return
        for entry in table.entries:
            tensor = entry.tensor
            if not entry.words or has_gaps(self.torch, tensor):
                continue
            if entry.host:
                self.count(
                    "weight.sum",
                    entry.number,
                    self.core.health_word_sum(tensor.data_ptr(), entry.size, tensor.element_size()),
                )
            else:
                with self.torch.no_grad():
                    self.defer("weight.sum", entry.number, word_sum(self.torch, tensor), WORDS)

    # ---- the end ----

    def emit(self, norm: int) -> bool:
        """Records the values, or sends those of a device on their way. Whether a gradient is not
        finite, as far as that is known now."""
        if self.deferred:
            self.lane.send(self, norm)
        else:
            self.record(0, norm)
        return self.bad

    def record(self, ago_ns: int, norm: int) -> None:
        core = self.core
        core.health_begin(self.step, 0, ago_ns)
        for at, (names, values) in self.reals.items():
            core.health_values(at, names, values)
        for at, (names, sums) in self.counts.items():
            core.health_values(at, names, sums)
        if norm and self.squares:
            core.health_value(0, norm, math.sqrt(self.squares))

    def resolve(self, values: "list[float]", words: "list[int]", scale: float) -> None:
        """The values of the device, those of kind WORDS and WHEN_ANY as whole numbers."""
        names = {at: name for name, at in self.ids.items()}
        reals, wholes = iter(values), iter(words)
        for at, number, _, how, of in self.deferred:
            name = names[at]
            if how in (WORDS, WHEN_ANY):
                whole = next(wholes)
                if how == WORDS or whole:
                    self.count(name, number, whole)
                self.bad = self.bad or (name == "gradient.nonfinite" and whole > 0)
                continue
            value = next(reals)
            if how == UNSCALED and scale:
                value /= scale
            elif how == ZERO_SHARE:
                value = 1 - value / of
            elif how == SHARE:
                value /= of
            if name == "gradient.l2" and math.isfinite(value):
                self.squares += value * value
            self.put(name, number, value)
        self.deferred = []

    def resolve_vectors(self, values: "list[int]", scale: float) -> None:
        """The histograms of the device, one after the other."""
        gradients = self.ids.get("gradient.exponents")
        for i, (at, number, _) in enumerate(self.vectors):
            found = values[i * EXPONENTS : (i + 1) * EXPONENTS]
            self._put_exponents(at, number, found, scale if at == gradients else 1.0)
        self.vectors = []


def scale_of(torch: "Any", optimizer: "Any", scaler: "Any") -> "Any":
    """What the gradients have been multiplied by: None, a float, or a tensor on a device."""
    found = getattr(optimizer, "grad_scale", None)
    if scaler is not None and found is None:
        states = getattr(scaler, "_per_optimizer_states", {})
        stage = states[id(optimizer)].get("stage") if id(optimizer) in states else None
        if getattr(stage, "value", 0) == 0:  # READY: step() has yet to unscale them
            found = getattr(scaler, "_scale", None)
    if not isinstance(found, torch.Tensor):
        return None
    return float(found.item()) if found.device.type == "cpu" else found


def strided(tensor: "Any", entry: Entry) -> "Any":
    return in_memory(tensor)[:: entry.stride]


def in_memory(tensor: "Any") -> "Any":
    """The elements of a tensor without gaps, in the order in which they are stored."""
    return tensor.detach().as_strided((tensor.numel(),), (1,))


def norms(torch: "Any", tensors: "list[Any]", order: int) -> "list[Any]":
    """In float32, also of 16-bit tensors; of float64 as they are, for torch narrows none."""
    wide = [tensor.dtype is torch.float64 for tensor in tensors]
    found = {}
    for own in set(wide):
        part = [tensor for tensor, its in zip(tensors, wide, strict=True) if its is own]
        kind = torch.float64 if own else torch.float32
        try:
            found[own] = iter(torch._foreach_norm(part, order, dtype=kind))
        except TypeError:  # before 2.3
            found[own] = iter(torch._foreach_norm([t.to(kind) for t in part], order))
    return [next(found[own]) for own in wide]


def device_counts(torch: "Any", tensor: "Any") -> "tuple[Any, Any]":
    """How many elements are not 0, and how many are not finite: x - x is 0 but for those."""
    parts = tensor.reshape(-1).split(CHUNK)
    filled = [torch.count_nonzero(part) for part in parts]
    bad = [torch.count_nonzero(part - part) for part in parts]
    if len(parts) == 1:
        return filled[0], bad[0]
    return torch.stack(filled).sum(), torch.stack(bad).sum()


def device_exponents(torch: "Any", tensor: "Any") -> "Any":
    """How many elements have each exponent of float32, of at most MOST_COUNTED; as
    _core.health_exponents. Waits for nothing, which bincount and histc do."""
    flat = tensor.detach().reshape(-1)
    flat = flat[:: -(-flat.shape[0] // MOST_COUNTED)].float().contiguous()
    exponent = (flat.view(torch.int32) >> 23).bitwise_and_(EXPONENTS - 1).long()
    found = torch.zeros(EXPONENTS, dtype=torch.int64, device=flat.device)
    return found.scatter_add_(0, exponent, torch.ones_like(exponent))


def word_sum(torch: "Any", tensor: "Any") -> "Any":
    word = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    flat = in_memory(tensor).view(word)
    total = flat.sum(dtype=torch.int64)
    if tensor.element_size() in (2, 4):  # as unsigned words
        bits = 8 * tensor.element_size()
        total = total + torch.count_nonzero(flat < 0) * (1 << bits)
    return total
