# SPDX-License-Identifier: Apache-2.0
"""torch_compiles.py BACKEND...: compiles models in many ways; prints what the compiler counted."""

from __future__ import annotations

import sys
import warnings

import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters

warnings.simplefilter("ignore")
BACKEND = ""  # the one whose turn it is
KEPT = ("stats", "graph_break", "unimplemented", "frames")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.b = nn.Sequential(nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(x))


class Hooked(Net):
    def __init__(self) -> None:
        super().__init__()
        self.a.register_forward_hook(lambda module, args, result: result * 2)


class OwnCall(nn.Linear):
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return super().__call__(x) * 2


class HasOwnCall(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = OwnCall(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


class Breaks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Net()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inner(x)
        torch._dynamo.graph_break()
        return self.inner(x) + y


def train(kind: type[nn.Module], whole: bool = True) -> float:
    model = kind()
    optimizer = torch.optim.Adam(model.parameters())
    compiled = torch.compile(model, backend=BACKEND, fullgraph=whole)
    for _ in range(3):
        optimizer.zero_grad()
        loss = compiled(torch.ones(3, 4)).sum()
        loss.backward()
        optimizer.step()
    return loss.item()


def whole_step() -> float:
    model = Hooked()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend=BACKEND)
    def one(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(3):
        loss = one(torch.ones(3, 4))
    return loss.item()


def compiled_optimizer() -> float:
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    step = torch.compile(lambda: optimizer.step(), backend=BACKEND)
    for _ in range(3):
        loss = model(torch.ones(3, 4)).sum()
        loss.backward()
        step()
    return loss.item()


def in_place() -> float:
    model = Net()
    model.compile(backend=BACKEND)
    return sum(model(torch.ones(3, 4)).sum().item() for _ in range(2))


def replaced_forward() -> float:
    model = Net()
    forward = model.a.forward
    model.a.forward = lambda x: forward(x) + 1
    compiled = torch.compile(model, backend=BACKEND, fullgraph=True)
    return sum(compiled(torch.ones(3, 4)).sum().item() for _ in range(2))


def gradient_inside() -> float:
    model = Net()

    @torch.compile(backend=BACKEND)
    def slope(x: torch.Tensor) -> torch.Tensor:
        x = x.requires_grad_()
        return torch.autograd.grad(model(x).sum(), x)[0].sum()

    return sum(slope(torch.ones(3, 4)).item() for _ in range(2))


def exported() -> str:
    return str(torch.export.export(Net(), (torch.ones(1, 4),)).graph)


def run(name: str, scene) -> None:
    torch._dynamo.reset()
    counters.clear()
    torch.manual_seed(0)
    try:
        result = scene()
        result = result if isinstance(result, str) else f"{result:.5f}"
    except Exception as error:
        result = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    print(name, result, {k: dict(v) for k, v in sorted(counters.items()) if k in KEPT})


for BACKEND in sys.argv[1:]:  # noqa: B007 - the functions above look at it
    run("plain", lambda: train(Net))
    run("with hooks", lambda: train(Hooked))
    run("own call", lambda: train(HasOwnCall))
    run("graph break", lambda: train(Breaks, whole=False))
    run("whole step", whole_step)
    run("optimizer", compiled_optimizer)
    run("in place", in_place)
    run("replaced forward", replaced_forward)
    run("gradient", gradient_inside)
print(torch.fx.symbolic_trace(Net()).graph)
run("export", exported)
print(torch.jit.script(Net()).graph)
