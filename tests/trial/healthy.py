# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs with which nothing is wrong."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from kit import Job, Knobs, Program, main, network, ready_loader, tensors, train
from torch.utils.data import DataLoader


def plain(job: Job) -> None:
    train(job, DataLoader(tensors(8192), batch_size=256, shuffle=True), network(width=1024))


def workers(job: Job) -> None:
    """Two workers that keep up."""
    loader = DataLoader(
        tensors(16384), batch_size=256, shuffle=True, num_workers=2, persistent_workers=True
    )
    torch.set_num_threads(1)
    train(job, loader, network(width=2048))


def whole(job: Job) -> None:
    """A short evaluation and a checkpoint, as long runs have them."""
    held_out = ready_loader(count=10)
    with tempfile.TemporaryDirectory() as folder:

        def now_and_then(model: Any) -> None:
            if job.steps % 100 == 0:
                model.eval()
                with torch.no_grad():
                    for inputs, _ in held_out:
                        model(inputs)
                model.train()
            if job.steps % 400 == 0:
                torch.save(model.state_dict(), Path(folder) / "last.pt")

        train(job, ready_loader(), after=now_and_then)


def convolutions(job: Job) -> None:
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(1, 16, 3), nn.Conv2d(16, 32, 3)
            self.last = nn.Linear(32 * 12 * 12, 10)

        def forward(self, x: Any) -> Any:
            x = torch.relu(self.first(x.view(-1, 1, 16, 16)))
            return self.last(torch.relu(self.second(x)).flatten(1))

    train(job, ready_loader(batch=128), Net())


PROGRAMS: dict[str, tuple[Program, Knobs]] = {
    "plain": (plain, {}),
    "workers": (workers, {}),
    "whole": (whole, {}),
    "convolutions": (convolutions, {}),
}

if __name__ == "__main__":
    main(PROGRAMS)
