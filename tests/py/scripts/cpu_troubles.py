# SPDX-License-Identifier: Apache-2.0
"""cpu_troubles.py TROUBLE SECONDS: a training loop that computes on the CPU and has one trouble.

threads: 32 threads for each operator. gil: a Python thread that computes beside the loop.
helper: a thread that computes outside of the interpreter's lock, which is fine.
prefetch: a Python thread that makes the batches, so that the loop waits for data, not for the lock.
none: nothing is wrong.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Iterator

import torch
from torch import nn

TROUBLE = sys.argv[1]
SECONDS = float(sys.argv[2])
THREADS = 32
BATCH, WIDTH = 128, 256


def refresh_statistics(until: float) -> int:
    """Pure Python: it holds the interpreter's lock."""
    n = 0
    while time.monotonic() < until:
        for i in range(10_000):
            n += i & 3
    return n


def compress(until: float) -> None:
    """Matrix products, which release the lock."""
    x = torch.rand(512, 512)
    while time.monotonic() < until:
        (x @ x).sum()


def make_batch() -> torch.Tensor:
    values = [float(i % 7) for i in range(BATCH * WIDTH)]
    return torch.tensor(values).reshape(BATCH, WIDTH)


def prefetched(until: float) -> Iterator[torch.Tensor]:
    ready: queue.Queue[torch.Tensor] = queue.Queue(maxsize=2)

    def produce() -> None:
        while time.monotonic() < until:
            batch = make_batch()
            for _ in range(4):
                batch = make_batch()
            ready.put(batch)

    threading.Thread(target=produce, daemon=True).start()
    while True:
        yield ready.get()


def plain() -> Iterator[torch.Tensor]:
    batch = torch.rand(BATCH, WIDTH)
    while True:
        yield batch


def main() -> None:
    torch.set_num_threads(THREADS if TROUBLE == "threads" else 1)
    layers = [layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)  # imports for seconds
    until = time.monotonic() + SECONDS
    steps = 0
    running: list[threading.Thread] = []  # ended before the program: PyTorch aborts otherwise
    beside = {"gil": refresh_statistics, "helper": compress}.get(TROUBLE)
    for batch in prefetched(until) if TROUBLE == "prefetch" else plain():
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps == 20 and beside:
            running.append(threading.Thread(target=beside, args=(until,)))
            running[-1].start()
        if time.monotonic() > until:
            break
    for thread in running:
        thread.join()
    print(f"{steps} steps, {1e3 * SECONDS / steps:.1f} ms each")


main()
