# SPDX-License-Identifier: Apache-2.0
"""What the programs of the trial share: their options, a small network, a loop with an end.

A program has knobs, which `--knob NAME=VALUE` turns, a time for its loop, and prints how many
iterations it did and how long one took. Nothing here knows of Footplate.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

Knobs = dict[str, float]
Program = Callable[["Job"], None]


class Job:
    """One program that runs: its knobs, its time, and its count of iterations."""

    def __init__(self, knobs: Knobs, seconds: float) -> None:
        self.knobs, self.seconds = knobs, seconds
        self.start = time.monotonic()
        self.steps = 0

    def knob(self, name: str) -> int:
        return int(self.knobs[name])

    def begin(self) -> None:
        """What comes before is initialization."""
        self.start = time.monotonic()

    @property
    def is_over(self) -> bool:
        return time.monotonic() - self.start >= self.seconds

    def report(self) -> None:
        took = time.monotonic() - self.start
        each = took / self.steps if self.steps else None
        print(json.dumps({"steps": self.steps, "seconds": took, "iteration_s": each}), flush=True)


def main(programs: dict[str, tuple[Program, Knobs]]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=sorted(programs))
    parser.add_argument("--seconds", type=float, default=8.0, help="of the loop")
    parser.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args()
    run, knobs = programs[args.program]
    given = dict(word.split("=", 1) for word in args.knob)
    unknown = given.keys() - knobs.keys()
    if unknown:
        sys.exit(f"{args.program} has no knob {sorted(unknown)}")
    run(Job(knobs | {name: float(value) for name, value in given.items()}, args.seconds))


# ---- PyTorch ----


def network(width: int = 512, inputs: int = 256) -> Any:
    from torch import nn

    layers = [nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def tensors(count: int, inputs: int = 256) -> Any:
    """A data set in memory."""
    import torch
    from torch.utils.data import TensorDataset

    return TensorDataset(torch.randn(count, inputs), torch.randint(10, (count,)))


class Ready:
    """Batches made in advance: the loop never waits for them. Their labels can be learnt."""

    def __init__(self, count: int, batch: int, inputs: int = 256) -> None:
        import torch

        samples = [torch.randn(batch, inputs) for _ in range(count)]
        self.batches = [(x, x[:, :10].argmax(1)) for x in samples]

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, at: int) -> Any:
        return self.batches[at]


def ready_loader(count: int = 50, batch: int = 256) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(Ready(count, batch), batch_size=None)


def train(
    job: Job,
    loader: Iterable[Any],
    model: Any = None,
    after: Callable[[Any], None] | None = None,
    epoch: Callable[[Any], None] | None = None,
) -> Any:
    """An ordinary loop. `after` is called behind each step, `epoch` behind each epoch."""
    import torch
    from torch import nn

    model = model if model is not None else network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    job.begin()
    while not job.is_over:
        for inputs, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            job.steps += 1
            if after:
                after(model)
            if job.is_over:
                break
        if epoch and not job.is_over:
            epoch(model)
    job.report()
    return model
