# SPDX-License-Identifier: Apache-2.0
"""torch_steps.py STEPS [HOW]: trains so many steps and says when each began and ended.

HOW: loader (as if nothing was said), plain (no loader), epochs (an evaluation after every three
steps), own_profiler (a profiler of the program's own in step 2), explicit (footplate.step()).
"""

from __future__ import annotations

import json
import os
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = int(sys.argv[1])
HOW = sys.argv[2] if len(sys.argv) > 2 else "loader"
PAUSE_S = float(os.environ.get("PAUSE_S", "0"))

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(4 * STEPS, 64), torch.randint(2, (4 * STEPS,)))
times: list[tuple[int, int]] = []


def work_hard(x: torch.Tensor) -> torch.Tensor:
    return model(x)


def step(x: torch.Tensor, y: torch.Tensor) -> None:
    time.sleep(PAUSE_S)
    optimizer.zero_grad()
    nn.functional.cross_entropy(work_hard(x), y).backward()
    optimizer.step()


def timed(x: torch.Tensor, y: torch.Tensor, begin: int) -> None:
    step(x, y)
    times.append((begin, time.monotonic_ns()))


def with_loader() -> None:
    begin = time.monotonic_ns()
    for x, y in DataLoader(data, batch_size=4):
        if HOW == "own_profiler" and len(times) == 2:
            with torch.profiler.profile() as mine:
                step(x, y)
            assert any(e.key == "aten::linear" for e in mine.key_averages())
        timed(x, y, begin)
        begin = time.monotonic_ns()


def without_loader() -> None:
    x, y = data.tensors
    for i in range(STEPS):
        timed(x[4 * i : 4 * i + 4], y[4 * i : 4 * i + 4], time.monotonic_ns())


def with_epochs() -> None:
    held = TensorDataset(torch.randn(8, 64))
    for first in range(0, STEPS, 3):
        part = torch.utils.data.Subset(data, range(4 * first, 4 * min(first + 3, STEPS)))
        begin = time.monotonic_ns()
        for x, y in DataLoader(part, batch_size=4):
            timed(x, y, begin)
            begin = time.monotonic_ns()
        with torch.no_grad():
            for (x,) in DataLoader(held, batch_size=4):
                model(x)


def explicit() -> None:
    import footplate

    for x, y in DataLoader(data, batch_size=4):
        with footplate.step():
            timed(x, y, time.monotonic_ns())


{"plain": without_loader, "epochs": with_epochs, "explicit": explicit}.get(HOW, with_loader)()
print(json.dumps({"pid": os.getpid(), "times": times}))
