# SPDX-License-Identifier: Apache-2.0
"""train_step.py SECONDS OUT: trains a small network with a step of about 5 ms. One thread, fixed
seed, data made beforehand. Prints a line when the first steps are behind it; at the end it writes
to OUT when each step began (CLOCK_MONOTONIC, s) and how long it took (ms), as JSON."""

from __future__ import annotations

import json
import pathlib
import sys
import time

import torch

BATCH, FEATURES, HIDDEN, CLASSES = 256, 256, 512, 10
WARM_UP = 100


def main() -> None:
    seconds, out = float(sys.argv[1]), pathlib.Path(sys.argv[2])
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

    def step() -> float:
        begin = time.monotonic()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        return begin

    for _ in range(WARM_UP):
        step()
    print("ready", flush=True)
    steps = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = step()
        steps.append((begin, (time.monotonic() - begin) * 1e3))
    out.write_text(json.dumps(steps))


main()
