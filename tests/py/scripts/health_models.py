# SPDX-License-Identifier: Apache-2.0
"""health_models.py CASE: models that are compiled, copied, thrown away or oddly placed while their
health is captured. Prints what came of it as JSON."""

from __future__ import annotations

import copy
import functools
import gc
import io
import json
import pickle
import sys
import weakref
from typing import Any

import torch
from footplate.hooks import torch_health
from health_kit import Told
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(3)
X, Y = torch.randn(64, 8), torch.randint(4, (64,))


def say(**what: Any) -> None:
    print(json.dumps(what))


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def train(model: Any, steps: int = 4) -> float:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(X), Y)
        loss.backward()
        optimizer.step()
    return float(loss.item())


def hooks_in(model: Any) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


class Whole(nn.Module):
    """Its forward must be one graph, else the compiler raises."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = net()

    @torch.compile(fullgraph=True, backend="eager")
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * 2  # type: ignore[no-any-return]


def full_graph() -> None:
    told = Told.listen()
    train(nn.Sequential(nn.Linear(8, 8), Whole()))
    say(seen=sorted(told.tensor("output.mean")))


def replaced_forward() -> None:
    told = Told.listen()
    graphs: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(len(graph.graph.nodes))
        return graph.forward

    model = net()
    model.forward = torch.compile(model.forward, backend=backend)
    train(model)
    say(graphs=len(graphs), seen=sorted(told.tensor("output.mean")))


class Copies(nn.Module):
    """As BYOL makes its second network: in the first forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = net()
        self.target: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.target is None:
            self.target = [copy.deepcopy(self.layer)]
        self.hooks = hooks_in(self)
        return self.layer(x)  # type: ignore[no-any-return]


def copied() -> None:
    told = Told.listen()
    model = Copies()
    train(model)
    again = pickle.loads(pickle.dumps(model.target[0]))
    torch.save(model.target[0], io.BytesIO())
    say(hooks=[model.hooks, hooks_in(again)], seen=sorted(told.tensor("output.mean")))


class Manual(nn.Module):
    """Steps in its forward pass, as manual optimization of Lightning does under DDP."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = net()
        self.optimizer = [torch.optim.SGD(self.layer.parameters(), lr=0.1)]

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        self.optimizer[0].zero_grad()
        loss = functional.cross_entropy(self.layer(x), y)
        loss.backward()
        self.optimizer[0].step()
        return loss.detach()


def steps_inside() -> None:
    from footplate.hooks import torch_marks

    told = Told.listen()
    model = Manual()
    hooks = []
    for x, y in DataLoader(TensorDataset(X, Y), batch_size=8):
        model(x, y)
        hooks.append(hooks_in(model))
    (gate,) = torch_marks.gates("forward")
    say(
        hooks=max(hooks),
        follows=gate._footplate_within is not None,
        seen=sorted(told.tensor("output.mean")),
        steps=told.steps("output.mean"),
        on=torch_health._State.capture is not None,
    )


# ---- models that are thrown away ----


def freed() -> None:
    """After a model and its optimizer nothing of them is left."""
    Told.listen()
    model = net()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(12):
        functional.cross_entropy(model(X), Y).backward()
        optimizer.step()
    gone = [weakref.ref(one) for one in (model, model[0], model[0].weight, optimizer)]
    gone.append(weakref.ref(model[0].weight.grad))
    del model, optimizer
    gc.collect()
    capture: Any = torch_health._State.capture
    say(left=[type(one()).__name__ for one in gone if one() is not None], on=capture is not None)


def in_turn() -> None:
    """50 models, one after the other: the names of the first are those of all."""
    told = Told.listen()
    gc.freeze()  # collections are short then
    for _ in range(50):
        train(net())
        gc.collect()
    capture: Any = torch_health._State.capture
    capture.names.most = 0
    train(net(), steps=12)  # one of them is sampled
    names = {name for stat, name, *_ in told.values if stat != "scalar"}
    say(
        names=len(names),
        of=len(capture.names.of),
        optimizers=len(capture.optimizers),
        roots=[len(capture.names.prefixes), len(capture.watch.leaves)],
        order=[leaf.name for leaf in capture.watch.order],
        alive=sum(leaf.module() is not None for leaf in capture.watch.order),
    )


# ---- tensors that cannot be measured ----


class Wrapped(torch.Tensor):
    """Has no memory, as those of quantization."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Wrapped:
        made: Any = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        plain = [one.inner if isinstance(one, Wrapped) else one for one in args]
        found = func(*plain, **(kwargs or {}))
        return Wrapped(found) if func is torch.ops.aten.detach.default else found


class Wraps(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Wrapped(x.detach())


class HasWraps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = net()
        self.wraps = Wraps()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.wraps(x)
        return self.layer(x)  # type: ignore[no-any-return]


def without_memory() -> None:
    """Subclasses that wrap tensors, and memory that is freed between forward and backward."""
    from footplate.hooks import torch_tensors

    told = Told.listen()
    model = HasWraps()
    model.odd = nn.Parameter(Wrapped(torch.ones(3)), requires_grad=False)
    train(model)
    capture: Any = torch_health._State.capture
    freed = torch.ones(4, 4)
    part = freed[1:]
    assert torch_tensors.measure(capture.watch, part)[2] == 12**0.5
    assert torch_tensors.is_stored(torch.ones(1, 1).expand(5, 5))
    freed.untyped_storage().resize_(0)
    assert not capture.origin._is_bad(part)
    say(names=sorted(told.tensor("gradient.l2")), lost=told.lost, steps=sorted(told.scalar("loss")))


def converted() -> None:
    """A model that becomes one of 16 bits after some steps is measured as what it is."""
    told = Told.listen()
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(11):
        if step == 5:
            model.bfloat16()
            optimizer.zero_grad()
        x = X.to(model[0].weight.dtype)
        before = model[0].weight.detach().float().clone()
        functional.cross_entropy(model(x).float(), Y).backward()
        optimizer.step()
        if step == 7:
            torch.autograd.backward(torch.autograd.graph.get_gradient_edge(model(x).sum()))
    weight = model[0].weight.detach()
    say(
        ratio=told.tensor("update.ratio")["0.weight"][10],
        want=((weight.float() - before).norm() / before.norm()).item(),
        sums=told.tensor("weight.sum")["0.weight"][10],
        words=weight.view(torch.int16).long().bitwise_and(0xFFFF).sum().item(),
        unchanged=sorted(told.tensor("update.unchanged")),
    )


def doubles() -> None:
    """As on a device: norms of float64 beside those of other types."""
    from footplate.hooks import torch_tensors

    given = [torch.tensor([3.0, 4.0], dtype=getattr(torch, k)) for k in sys.argv[2:]]
    found = torch_tensors.norms(torch, given, 2)
    say(norms=[one.item() for one in found], none=torch_tensors.norms(torch, [], 2))


def default_device() -> None:
    """A default device is that of the program, not ours."""
    torch.set_default_device("meta")
    told = Told.listen()
    model = nn.Sequential(nn.Linear(8, 16, device="cpu"), nn.Linear(16, 4, device="cpu"))
    train(model)
    say(steps=told.steps(), outputs=told.steps("output.mean"))


def no_gpu() -> None:
    """As torch for CUDA on a machine without a GPU."""
    told = Told.listen()

    def asks() -> bool:
        raise RuntimeError("Found no NVIDIA driver on your system")

    torch.version.cuda = "12.8"
    torch._C._cuda_isCurrentStreamCapturing = asks
    train(net())
    say(losses=sorted(told.scalar("loss")), on=torch_health._State.capture is not None)


def fake_buffer(torch: Any, device: Any, size: int) -> Any:
    from footplate.hooks import torch_deferred

    made = torch_deferred.Buffer.__new__(torch_deferred.Buffer)
    made.size, made.scalars, made.sample = size, [], None
    made.there = torch.zeros(size, dtype=torch.float64)
    made.here = torch.zeros(size, dtype=torch.float64)
    made.event = type("Done", (), {"record": lambda *to: None, "query": lambda self: True})()
    made.stream = lambda device: None
    return made


def two_devices() -> None:
    """Values of a sample in different places: stacks are of one device, and all arrive."""
    from footplate.hooks import torch_deferred, torch_tensors

    class There(torch.Tensor):
        """Says that it is somewhere else; torch.stack of it and others raises, as of two GPUs."""

        @property
        def device(self) -> torch.device:  # type: ignore[override]
            return torch.device("cuda:1")

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            if func is torch.stack and not all(type(one) is There for one in args[0]):
                raise RuntimeError("Expected all tensors to be on the same device")
            return super().__torch_function__(func, types, args, kwargs)

    told = Told.listen()
    lane = torch_deferred.Lane(torch, told)
    buffer = fake_buffer(torch, None, 4096)
    lane._parcel = lambda device, size: buffer  # type: ignore[method-assign]
    settings = torch_tensors._scalars.Settings({"mode": "on"})
    sample = torch_tensors.Sample(torch, told, settings, lane)
    sample.step = 1
    count = torch.arange(256)
    for i in range(6):
        as_it_is = (lambda t: t) if i % 2 else (lambda t: t.as_subclass(There))
        number = told.health_name(f"w{i}")
        sample.defer("weight.l2", number, as_it_is(torch.tensor(float(i))))
        words = as_it_is(torch.tensor(10 + i))
        sample.defer("weight.sum", number, words, torch_tensors.WORDS)
        at = sample.ids["weight.exponents"]
        sample.vectors.append((at, number, as_it_is((count == i).long())))
    sample.emit(0)
    lane.poll()
    say(
        l2=[told.tensor("weight.l2")[f"w{i}"][1] for i in range(6)],
        sums=[told.tensor("weight.sum")[f"w{i}"][1] for i in range(6)],
        exponents=[told.tensor("weight.exponents")[f"w{i}"][1] >> 48 for i in range(6)],
    )


class Selective(nn.Module):
    """Saves means, and computes the rest again."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.relu = nn.ReLU()
        self.last = nn.Linear(16, 4)

    def block(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.first(x))
        return x * x.mean(0) * (x > 0).float().mean(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch.utils import checkpoint

        choose = checkpoint.CheckpointPolicy
        kept = (torch.ops.aten.mean.dim, torch.ops.aten.gt.Scalar, torch.ops.aten.detach.default)

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            return choose.MUST_SAVE if op in kept else choose.PREFER_RECOMPUTE

        contexts = functools.partial(checkpoint.create_selective_checkpoint_contexts, policy)
        x = checkpoint.checkpoint(self.block, x, use_reentrant=False, context_fn=contexts)
        return self.last(x)  # type: ignore[no-any-return]


def selective() -> None:
    """What a selective checkpoint caches is the model's alone."""
    told = Told.listen()
    loss = train(Selective())
    say(loss=loss, seen=sorted(told.tensor("output.mean")))


def selective_plain() -> None:
    say(loss=train(Selective()))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
