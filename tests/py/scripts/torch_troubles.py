# SPDX-License-Identifier: Apache-2.0
"""torch_troubles.py TROUBLE [SECONDS]: a training loop of some seconds that has one trouble.

slow: a sample takes long to make. stall: every 50th step takes long. leak: every step keeps some
memory. checkpoint: saving takes long. none: nothing is wrong.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

TROUBLE = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0
STEPS = 0 if SECONDS else 700
STEP_S = 0.003
SAMPLE_S = 0.004
STALL_EVERY, STALL_S = 50, 0.1
LEAK_BYTES = 256 << 10
SAVE_EVERY, SAVE_S = 200, 0.3


class Numbers(Dataset):
    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, i: int) -> torch.Tensor:
        if TROUBLE == "slow":
            time.sleep(SAMPLE_S)
        return torch.full((4,), float(i % 9973) / 9973)


class SlowDisk:
    """A file that takes its time."""

    def __init__(self, path: pathlib.Path) -> None:
        self.file = path.open("wb")

    def write(self, data: bytes) -> int:
        return self.file.write(data)

    def flush(self) -> None:
        time.sleep(SAVE_S)
        self.file.flush()


def save(model: nn.Module, folder: str) -> None:
    torch.save(model.state_dict(), SlowDisk(pathlib.Path(folder) / "model.pt"))


def main() -> None:
    torch.set_num_threads(1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    kept = []
    end = time.monotonic() + SECONDS
    with tempfile.TemporaryDirectory() as folder:
        for step, x in enumerate(DataLoader(Numbers(), batch_size=1)):
            optimizer.zero_grad()
            loss = model(x).sum()
            time.sleep(STEP_S)
            if TROUBLE == "stall" and step % STALL_EVERY == STALL_EVERY - 1:
                time.sleep(STALL_S)
            loss.backward()
            optimizer.step()
            if TROUBLE == "leak":
                kept.append(bytearray(b"\1") * LEAK_BYTES)
            if TROUBLE == "checkpoint" and step % SAVE_EVERY == SAVE_EVERY - 1:
                save(model, folder)
            if step + 1 == STEPS or (SECONDS and time.monotonic() > end):
                break


main()
