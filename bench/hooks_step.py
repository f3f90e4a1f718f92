# SPDX-License-Identifier: Apache-2.0
"""hooks_step.py MODEL ROUNDS OUT: times training steps with hooks, without, with torch.profiler.

Runs below `footplate run`, so the hooks are in place; blocks of steps follow each other with the
functions of torch as they are hooked, as torch has them, and as torch has them with torch.profiler
over the block, in an order that changes. A step lasts from the fetch to the end of the optimizer's
step. Writes the median step of every block, in us, to OUT as JSON.

MODEL: tiny, whose steps are so short that what hooks add stands out, or small, with steps of about
5 ms. Or waits: calls of `item()` in ns, by blocks: plain, with the gate that finds that the tensor
is on the CPU (cpu), and with one that takes each call for a wait (wait)."""

from __future__ import annotations

import json
import pathlib
import statistics
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

WARM_UP, BLOCK, LEFT_OUT = 50, 60, 10  # steps; those left out begin a block
SIZES = {"tiny": (4, 8, 8), "small": (256, 256, 512)}  # batch, features, hidden


class Ready(Dataset):
    """Batches that are there already."""

    def __init__(self, count: int, batch: int, features: int) -> None:
        self.count = count
        self.x, self.y = torch.randn(batch, features), torch.randint(10, (batch,))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.x, self.y


class Hooks:
    """Takes what is hooked out of its place and puts it back."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        places: list[tuple[Any, str]] = [
            (nn.Module, "__call__"),
            (torch.autograd, "backward"),
            (type(optimizer), "step"),
            (torch.optim.Optimizer, "zero_grad"),
            (_BaseDataLoaderIter, "__next__"),
        ]
        self.gates = [(owner, name, vars(owner)[name]) for owner, name in places]

    def on(self) -> None:
        for owner, name, gate in self.gates:
            setattr(owner, name, gate)

    def off(self) -> None:
        for owner, name, gate in self.gates:
            setattr(owner, name, gate._footplate_original)


def make_step(size: str, steps: int) -> tuple[Callable[[], float], torch.optim.Optimizer]:
    batch, features, hidden = SIZES[size]
    net = nn.Sequential(
        nn.Linear(features, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, 10),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    batches = iter(DataLoader(Ready(steps, batch, features), batch_size=None))

    def step() -> float:
        begin = time.perf_counter_ns()
        x, y = next(batches)
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        return (time.perf_counter_ns() - begin) / 1e3

    return step, optimizer


def time_waits(rounds: int) -> dict[str, list[float]]:
    from footplate import _core
    from footplate.hooks import torch_sync

    torch_sync.install(torch)
    looks = vars(torch.Tensor)["item"]
    always = _core.SyncGate(looks._footplate_original, "item", 4, True)
    kinds = {"plain": looks._footplate_original, "cpu": looks, "wait": always}
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    x = torch.ones(1)
    for _ in range(rounds):
        for kind, method in kinds.items():
            torch.Tensor.item = method  # type: ignore[method-assign]
            once = min(timeit.repeat("x.item()", globals={"x": x}, number=1000, repeat=5))
            taken[kind].append(once / 1000 * 1e9)
    return taken


def main() -> None:
    size, rounds, out = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    if size == "waits":
        out.write_text(json.dumps(time_waits(rounds)))
        return
    step, optimizer = make_step(size, WARM_UP + 3 * rounds * BLOCK)
    for _ in range(WARM_UP):
        step()
    hooks = Hooks(optimizer)

    def block() -> float:
        return statistics.median([step() for _ in range(BLOCK)][LEFT_OUT:])

    def plain() -> float:
        hooks.off()
        return block()

    def hooked() -> float:
        hooks.on()
        return block()

    def profiled() -> float:
        hooks.off()
        with torch.profiler.profile():
            return block()

    kinds = {"plain": plain, "hooks": hooked, "profiler": profiled}
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    for turn in range(rounds):
        names = list(kinds)
        for kind in names[turn % 3 :] + names[: turn % 3]:
            taken[kind].append(kinds[kind]())
    out.write_text(json.dumps(taken))


main()
