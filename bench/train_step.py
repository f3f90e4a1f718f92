# SPDX-License-Identifier: Apache-2.0
"""train_step.py STEPS OUT: trains a small network with a step of about 5 ms and writes the time of
each step, in ms, to OUT as JSON. One thread, fixed seed, data made beforehand."""

from __future__ import annotations

import json
import pathlib
import sys
import time

import torch

BATCH, FEATURES, HIDDEN, CLASSES = 256, 256, 704, 10
WARM_UP = 60


def main() -> None:
    steps, out = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, CLASSES),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.randn(BATCH, FEATURES), torch.randint(CLASSES, (BATCH,))
    times = []
    for step in range(steps + WARM_UP):
        begin = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        if step >= WARM_UP:
            times.append((time.perf_counter() - begin) * 1e3)
    out.write_text(json.dumps(times))


main()
