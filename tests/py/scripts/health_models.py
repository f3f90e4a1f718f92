# SPDX-License-Identifier: Apache-2.0
"""health_models.py CASE: models that are compiled, copied, thrown away or oddly placed while their
health is captured. Prints what came of it as JSON."""

from __future__ import annotations

import copy
import io
import json
import pickle
import sys
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


if __name__ == "__main__":
    globals()[sys.argv[1]]()
