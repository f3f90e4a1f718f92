# SPDX-License-Identifier: Apache-2.0
"""torch_ends.py HOW: trains four steps and ends in one of the ways in which programs end."""

from __future__ import annotations

import os
import signal
import sys
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    """Does something in the third forward pass of its training."""

    def __init__(self, what) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
        self.what, self.calls = what, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls == 3:
            self.what()
        return self.layers(x)


def train(what=lambda: None) -> None:
    model = Model(what)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,) in DataLoader(TensorDataset(torch.randn(16, 8)), batch_size=4):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.6f}")


def fork() -> None:
    child = os.fork()
    train()
    sys.stdout.flush()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def raises() -> None:
    raise ValueError("the model's own fault")


def warns() -> None:
    warnings.warn("look at the line that this names", stacklevel=2)


WAYS = {
    "well": train,
    "fork": fork,
    "os_exit": lambda: train(lambda: os._exit(7)),
    "sigkill": lambda: train(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "exit": lambda: train(lambda: sys.exit(3)),
    "raise": lambda: train(raises),
    "warn": lambda: train(warns),
    "shape": lambda: nn.Sequential(nn.Linear(2, 2), nn.Linear(3, 3))(torch.ones(1, 2)),
    "dataset": lambda: next(iter(DataLoader([1, "a"], batch_size=2))),
    "worker": lambda: next(iter(DataLoader([1, "a"], batch_size=2, num_workers=1))),
    "backward": lambda: torch.ones(1).backward(),
}

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    WAYS[sys.argv[1]]()
