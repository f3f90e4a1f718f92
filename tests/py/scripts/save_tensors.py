# SPDX-License-Identifier: Apache-2.0
"""save_tensors.py CASE [FOLDER]: trains a little, and keeps in FOLDER what hooks should have saved
(as torch.save writes it), by name and step."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

torch.set_num_threads(1)
torch.manual_seed(3)
X, Y = torch.randn(64, 8), torch.randint(4, (64,))
kept: dict[str, dict[int, torch.Tensor]] = {}


def keep(step: int, **tensors: torch.Tensor) -> None:
    for name, tensor in tensors.items():
        kept.setdefault(name, {})[step] = tensor.detach().clone()


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def plain(steps: int = 6) -> None:
    """Weights, gradients and outputs of a loop without a loader."""
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        optimizer.zero_grad()
        out = model(X)
        functional.cross_entropy(out, Y).backward()
        keep(step, **{n: p for n, p in model.named_parameters()})
        keep(step, **{f"gradient/{n}": p.grad for n, p in model.named_parameters()})
        keep(step, **{"2_output_0": out})
        optimizer.step()


def loader() -> None:
    """With a loader, two batches a step, and an evaluation between two steps."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    data = torch.utils.data.TensorDataset(X, Y)
    batches = iter(torch.utils.data.DataLoader(data, batch_size=4))
    for step in range(6):
        optimizer.zero_grad()
        for i in range(2):
            x, y = next(batches)
            out = model(x)
            if i == 0:
                keep(step, **{"2_output_0": out})
            functional.cross_entropy(out, y).backward()
        keep(step, **{"gradient/0.weight": model[0].weight.grad})
        optimizer.step()
        with torch.no_grad():
            model(X)


def amp() -> None:
    """Gradients are those without the factor of the loss scale."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for step in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(X)
            loss = functional.cross_entropy(out, Y)
        scaler.scale(loss).backward()
        keep(step, **{"gradient/0.weight": model[0].weight.grad / 1024, "2_output_0": out.float()})
        scaler.step(optimizer)
        scaler.update()


class Odd(nn.Module):
    """Parameters of many kinds, and a module whose output is no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = nn.Linear(8, 4)
        self.small = nn.Parameter(torch.ones(3, dtype=torch.float16))
        self.large = nn.Parameter(torch.ones(2, 2, dtype=torch.float64))
        self.brain = nn.Parameter(torch.tensor([1.0, 2.5], dtype=torch.bfloat16))
        self.phase = nn.Parameter(torch.tensor([1 + 2j]))
        self.single = nn.Parameter(torch.tensor(3.0))
        self.nothing = nn.Parameter(torch.empty(0, 5))
        self.across = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
        self.nowhere = nn.Parameter(torch.empty(2, device="meta"))
        self.sparse = nn.Embedding(4, 8, sparse=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.plain(x + self.sparse(torch.zeros(len(x), dtype=torch.int64)))
        parts = (self.small, self.large, self.brain, self.across, self.single)
        return x.sum() + sum(p.float().square().sum() for p in parts) + self.phase.abs().sum()


def odd() -> None:
    model = Odd()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.device.type != "meta"], lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        model(X).backward()
        keep(step, **{n: p for n, p in model.named_parameters() if p.device.type != "meta"})
        optimizer.step()


def compiled() -> None:
    """Weights and gradients of a compiled model; its modules are not seen."""
    model = net()
    fast = torch.compile(model, backend="eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(3):
        optimizer.zero_grad()
        functional.cross_entropy(fast(X), Y).backward()
        keep(step, **{"0.weight": model[0].weight, "gradient/0.weight": model[0].weight.grad})
        optimizer.step()


def copied() -> None:
    """In the steps that are saved, models are copied, and hooks are not left in them."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        functional.cross_entropy(model(X), Y).backward()
        optimizer.step()
        copy.deepcopy(model)
        assert not any(m._forward_hooks for m in model.modules())


def ranks(folder: str) -> None:
    """Two ranks of DDP."""
    if "RANK" not in os.environ:
        import socket

        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        env = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        env |= {"WORLD_SIZE": "2"}
        both = [
            subprocess.Popen([sys.executable, *sys.argv], env=env | {"RANK": str(rank)})
            for rank in range(2)
        ]
        sys.exit(max(one.wait() for one in both))
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    model = nn.parallel.DistributedDataParallel(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for step in range(3):
        optimizer.zero_grad()
        out = model(X[rank::2])
        functional.cross_entropy(out, Y[rank::2]).backward()
        keep(step, **{"2_output_0": out, "gradient/0.weight": model.module[0].weight.grad})
        optimizer.step()
    torch.save(kept, Path(folder) / f"{rank}.pt")
    torch.distributed.destroy_process_group()


CASES: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (plain, loader, amp, odd, compiled, copied, ranks)
}

if __name__ == "__main__":
    CASES[sys.argv[1]](*sys.argv[2:3] if sys.argv[1] == "ranks" else ())
    if sys.argv[1] != "ranks" and len(sys.argv) > 2:
        torch.save(kept, Path(sys.argv[2]) / "kept.pt")
    print(json.dumps({"weights": sum(len(v) for v in kept.values())}))
