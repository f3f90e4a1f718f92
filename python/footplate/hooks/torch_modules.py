# SPDX-License-Identifier: Apache-2.0
"""Statistics of what modules put out, on sampled steps.

While a root module runs in a sampled step, the gate of Module.__call__ calls `begins` before each
module in it and `ended` after it. No module ever has a hook of ours: compilers trace hooks, and
copies and pickles contain them. What torch.compile has taken into a graph calls no module, and
cannot be seen; the run says so.
"""

import collections
import itertools
import weakref

from .. import _safe
from . import _scalars
from .torch_tensors import (
    SHARE,
    UNSUPPORTED,
    WHEN_ANY,
    Names,
    Sample,
    _codes,
    device_counts,
    is_stored,
    measure,
    plain_name,
    unwrap,
    wrappers,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_MODULES = 2048  # of a root that are followed
MOST_VALUES = 1 << 18  # of an output on a device, for its mean and deviation
MOST_UNITS = 1 << 20  # values that are looked at for dead units
SATURATED = {"Tanh": 2.65, "Sigmoid": 5.3}  # the slope is below 2 % of its maximum beyond
DEAD = 0.01  # active share of a unit, mean of AVERAGED samples
AVERAGED = 5
CHANNELS = ("Conv", "BatchNorm", "InstanceNorm", "GroupNorm")
NO_ACTIVATIONS = ("MultiheadAttention", "Softmax", "Softmax2d", "LogSoftmax", "Softmin", "Module")


def is_compiled(module: "Any") -> bool:
    """Whether torch.compile has the module, or its forward, as a graph."""
    if type(module).__name__ == "OptimizedModule":
        return True
    if getattr(module, "_compiled_call_impl", None) is not None:
        return True
    forward = getattr(module, "forward", None)
    known = getattr(forward, "_torchdynamo_orig_callable", None) is not None
    return known and not getattr(forward, "_torchdynamo_disable", False)


class Leaf:
    """A module without children, or one that is compiled."""

    __slots__ = (
        "module",
        "kind",
        "name",
        "number",
        "relu",
        "limit",
        "activation",
        "inplace",
        "channels",
        "shares",
        "calls",
        "broken",
        "node",
    )

    def __init__(self, module: "Any", name: str, number: int, kinds: "dict[str, Any]") -> None:
        self.module = weakref.ref(module)
        self.kind = type(module).__name__
        self.name = name
        self.number = number
        self.relu = isinstance(module, kinds["relu"])
        self.limit = next((v for k, v in SATURATED.items() if isinstance(module, kinds[k])), 0.0)
        self.activation = isinstance(module, kinds["activations"])
        self.inplace = bool(getattr(module, "inplace", False))
        self.channels = False  # units are channels: set by the leaf before
        self.shares: collections.deque[Any] = collections.deque(maxlen=AVERAGED)
        self.calls = 0  # in this sample
        self.broken = False
        self.node = ""  # of the graph that its output usually is


class Watch:
    """What is known of root modules, and the sample of the one that runs."""

    def __init__(self, torch: "Any", names: Names, settings: "_scalars.Settings") -> None:
        self.torch = torch
        self.codes = _codes(torch)
        self.names = names
        self.settings = settings
        # By id of the module, of each root.
        self.leaves: weakref.WeakKeyDictionary[Any, dict[int, Leaf]] = weakref.WeakKeyDictionary()
        self.order: list[Leaf] = []  # of the first living root's leaves, as they were called
        self.wanted: dict[int, Leaf] = {}  # leaves of the root that runs
        self.sample: Sample | None = None
        self.latest: Leaf | None = None
        self.called: list[Leaf] = []
        self.replica = 0  # rank in the group of equal replicas
        self.world = 1
        self.sharded = False  # parameters are shards, also where they are plain tensors
        self.alone = False  # a replica of another shard than that of rank 0
        activation = torch.nn.modules.activation
        self.kinds: dict[str, Any] = {
            "relu": (torch.nn.ReLU, torch.nn.ReLU6),
            "Tanh": torch.nn.Tanh,
            "Sigmoid": torch.nn.Sigmoid,
            "activations": tuple(
                getattr(activation, name)
                for name in activation.__all__
                if name not in NO_ACTIVATIONS
            ),
        }

    # ---- calls ----

    def attach(self, root: "Any", sample: Sample) -> None:
        """The root is about to run in a sampled step."""
        if root in sample.roots:
            return
        sample.roots.add(root)
        self._look_at_wrapper(root)
        inner = unwrap(root)
        if next(inner.parameters(), None) is None:
            return
        prefix = self.names.learn(inner)
        if self.replica > 0:
            return
        if any(is_compiled(one) for one in wrappers(root)):
            self._report_compiled()
            return
        leaves = self.leaves.get(inner)
        if leaves is None:
            leaves = self.leaves[inner] = self._find(inner, prefix)
        for leaf in leaves.values():
            leaf.calls = 0
        self.sample, self.latest, self.called, self.wanted = sample, None, [], leaves

    def detach(self) -> None:
        if self.called and (not self.order or self.order[0].module() is None):
            self.order = self.called
        self.sample, self.latest, self.called, self.wanted = None, None, [], {}

    def _leaf(self, module: "Any") -> "Leaf | None":
        """Whose call is measured."""
        leaf = self.wanted.get(id(module))
        if leaf is None or leaf.calls or leaf.broken or leaf.module() is not module:
            return None
        return leaf if self.may_look() else None

    def begins(self, module: "Any", inputs: "Any") -> None:
        leaf = self.wanted.get(id(module))
        if leaf is None or not (leaf.activation and leaf.inplace):
            return
        if self._leaf(module) is not None:
            self._measure(leaf, self._input, inputs)

    def ended(self, module: "Any", inputs: "Any", output: "Any") -> None:
        leaf = self._leaf(module)
        if leaf is None:
            return
        leaf.calls += 1  # a module that is called again in the same pass is left out
        self._measure(leaf, self._call, inputs, output)
        self.latest = leaf
        self.called.append(leaf)

    def _measure(self, leaf: Leaf, how: "Any", *given: "Any") -> None:
        try:
            with self.torch.no_grad():
                how(self.sample, leaf, *given)
        except Exception as error:
            leaf.broken = True
            _safe.report_loss("health modules", error)

    def _call(self, sample: Sample, leaf: Leaf, inputs: "Any", output: "Any") -> None:
        if (leaf.activation or self.latest is None) and not leaf.inplace:
            self._input(sample, leaf, inputs)
        self._output(sample, leaf, inputs, output)

    def may_look(self) -> bool:
        """Not while something else than training runs the module: a tracer, an exporter, vmap."""
        functions = self.torch._C
        if functions._get_tracing_state() is not None:
            return False
        modes = getattr(functions, "_len_torch_dispatch_stack", None)
        if modes is not None and modes() > 0:
            return False
        functorch = getattr(functions, "_functorch", None)
        peek = getattr(functorch, "peek_interpreter_stack", None)
        return peek is None or peek() is None

    def _look_at_wrapper(self, root: "Any") -> None:
        """Replicas have the same gradients and weights: the first of them measures."""
        if type(root).__name__ == "OptimizedModule":
            root = root._modules.get("_orig_mod", root)
        if type(root).__name__ == "FullyShardedDataParallel":
            self.sharded = True
        if type(root).__name__ != "DistributedDataParallel":
            return
        group = getattr(root, "process_group", None)
        distributed = self.torch.distributed
        self.replica = int(distributed.get_rank(group))
        self.world = int(distributed.get_world_size(group))
        if self.world < int(distributed.get_world_size()):
            self.alone = int(distributed.get_global_rank(group, 0)) != 0

    # ---- which ----

    def _find(self, root: "Any", prefix: str) -> "dict[int, Leaf]":
        found: dict[int, Leaf] = {}
        for name, module in itertools.islice(self._leaves(root, ""), MOST_MODULES + 1):
            name = prefix + plain_name(name + ".")[:-1] if name else prefix + type(root).__name__
            if len(found) == MOST_MODULES:
                _safe.report_loss("health modules", f"only {MOST_MODULES} are followed")
                break
            if id(module) not in found and self.settings.follows(name):
                leaf = Leaf(module, name, self.settings.number(name), self.kinds)
                if leaf.number:
                    found[id(module)] = leaf
        return found

    def _leaves(self, module: "Any", name: str) -> "Any":
        """Compiled modules are leaves: what is in them is not called."""
        if isinstance(module, self.torch.jit.ScriptModule):
            return
        compiled = is_compiled(module)
        if compiled:
            self._report_compiled()
        children = [(k, child) for k, child in module._modules.items() if child is not None]
        if compiled or not children:
            yield name, module
            return
        for key, child in children:
            yield from self._leaves(child, f"{name}.{key}" if name else key)

    def _report_compiled(self) -> None:
        _safe.report_loss("health activations", "modules inside of torch.compile are not seen")

    # ---- what they put out ----

    def _tensor(self, leaf: Leaf, value: "Any") -> "Any":
        """The first tensor of what a module got or gave, if it has statistics."""
        for _ in range(4):
            if isinstance(value, self.torch.Tensor):
                break
            if isinstance(value, dict):
                value = list(value.values())
            if not isinstance(value, tuple | list) or not value:
                return None
            value = value[0]
        if not isinstance(value, self.torch.Tensor) or value.numel() == 0:
            return None
        value = getattr(value, "_local_tensor", value).detach()
        plain = value.layout is self.torch.strided and not value.is_quantized and is_stored(value)
        if plain and value.dtype in self.codes and value.device.type in ("cpu", "cuda"):
            return value
        if value.is_floating_point() or value.is_complex() or not plain:
            _safe.report_loss("health of outputs", f"not supported: {value.dtype} of {leaf.name}")
            _scalars.core.health_lost(1, UNSUPPORTED)
        return None

    def _input(self, sample: Sample, leaf: Leaf, inputs: "Any") -> None:
        tensor = self._tensor(leaf, inputs)
        if tensor is None:
            return
        if tensor.device.type == "cpu":
            self._host_input(sample, leaf, tensor)
        else:
            part = self._part(tensor)
            std, mean = self.torch.std_mean(part, correction=0)
            if leaf.activation:
                sample.defer("input.std", leaf.number, std)
            sample.defer("input.mean", leaf.number, mean)
            filled = self.torch.count_nonzero(part)
            sample.defer("input.zeros", leaf.number, 1 - filled / part.numel())
        if leaf.limit:
            self._saturated(sample, leaf, self._part(tensor))

    def _host_input(self, sample: Sample, leaf: Leaf, tensor: "Any") -> None:
        """Of an activation function, or of the first module, which gets the batch."""
        mean, std, low, high, zeros, bad = self._host(tensor)
        sample.put("input.mean", leaf.number, mean)
        sample.put("input.zeros", leaf.number, zeros)
        if leaf.activation:
            sample.put("input.std", leaf.number, std)
        else:
            sample.put("input.min", leaf.number, low)
            sample.put("input.max", leaf.number, high)
        if bad:
            sample.count("input.nonfinite", leaf.number, bad)

    def _saturated(self, sample: Sample, leaf: Leaf, values: "Any") -> None:
        beyond = self.torch.count_nonzero(values.abs() > leaf.limit)
        if values.device.type == "cpu":
            sample.put("output.saturated", leaf.number, beyond.item() / values.numel())
        else:
            sample.defer("output.saturated", leaf.number, beyond, SHARE, values.numel())

    def _output(self, sample: Sample, leaf: Leaf, inputs: "Any", output: "Any") -> None:
        tensor = self._tensor(leaf, output)
        if tensor is None:
            return
        node = getattr(output, "grad_fn", None)
        leaf.node = node.name() if node is not None and node is not self._node(inputs) else ""
        if tensor.device.type == "cpu":
            mean, std, low, high, zeros, bad = self._host(tensor)
            sample.put("output.mean", leaf.number, mean)
            sample.put("output.std", leaf.number, std)
            sample.put("output.min", leaf.number, low)
            sample.put("output.max", leaf.number, high)
            sample.put("output.zeros", leaf.number, zeros)
            if bad:
                sample.count("output.nonfinite", leaf.number, bad)
                sample.bad_modules.append(leaf.name)
        else:
            self._device_output(sample, leaf, tensor)
        if leaf.relu:
            self._dead(sample, leaf, tensor)

    def _node(self, inputs: "Any") -> "Any":
        first = inputs[0] if isinstance(inputs, tuple) and inputs else None
        return getattr(first, "grad_fn", None)

    def _host(self, tensor: "Any") -> "tuple[float, float, float, float, float, int]":
        total, _, l2, low, high, zeros, bad = measure(self, tensor)
        count = tensor.numel()
        finite = count - bad
        mean = total / finite if finite else float("nan")
        std = max(l2 * l2 / finite - mean * mean, 0.0) ** 0.5 if finite else float("nan")
        if l2 and std < 1e-5 * l2 / count**0.5:  # lost in rounding
            std = self._part(tensor).double().std(correction=0).item()
        return mean, std, low, high, zeros / count, bad

    def _part(self, tensor: "Any") -> "Any":
        """At most MOST_VALUES of it, as float32."""
        flat = tensor.reshape(-1)
        return flat[:: -(-flat.shape[0] // MOST_VALUES)].float()

    def _device_output(self, sample: Sample, leaf: Leaf, tensor: "Any") -> None:
        part = self._part(tensor)
        std, mean = self.torch.std_mean(part, correction=0)
        low, high = self.torch.aminmax(tensor)
        filled = self.torch.count_nonzero(part)
        sample.defer("output.mean", leaf.number, mean)
        sample.defer("output.std", leaf.number, std)
        sample.defer("output.min", leaf.number, low)
        sample.defer("output.max", leaf.number, high)
        sample.defer("output.zeros", leaf.number, 1 - filled / part.numel())
        sample.defer(
            "output.nonfinite", leaf.number, device_counts(self.torch, tensor)[1], WHEN_ANY
        )

    def _dead(self, sample: Sample, leaf: Leaf, tensor: "Any") -> None:
        """The share of units that are active in less than DEAD of their positions."""
        before = self.latest.kind if self.latest is not None else ""
        if tensor.dim() >= 4 or (tensor.dim() == 3 and any(k in before for k in CHANNELS)):
            tensor = tensor.movedim(1, -1)
        units = tensor.shape[-1] if tensor.dim() else 1
        rows = tensor.reshape(-1, units)
        rows = rows[:: max(rows.numel() // MOST_UNITS, 1)]
        share = (rows > 0).float().mean(0)
        if leaf.shares and leaf.shares[-1].shape != share.shape:
            leaf.shares.clear()
        leaf.shares.append(share)
        mean = sum(leaf.shares) / len(leaf.shares)
        dead = (mean < DEAD).float().mean()
        if tensor.device.type == "cpu":
            sample.put("output.dead", leaf.number, dead.item())
        else:
            sample.defer("output.dead", leaf.number, dead)
