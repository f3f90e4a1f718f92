# SPDX-License-Identifier: Apache-2.0
"""Draws digits, shifted, scaled and noisy. The same number and seed give the same image."""

from __future__ import annotations

import time

import torch
from torch.utils.data import Dataset

SIDE = 16  # pixels

# Ten digits of 5 rows of 3 pixels.
FONT = (
    "111101101101111",
    "010110010010111",
    "111001111100111",
    "111001111001111",
    "101101111001001",
    "111100111001111",
    "111100111101111",
    "111001010010010",
    "111101111101111",
    "111101111001111",
)


def draw(digit: int, generator: torch.Generator) -> torch.Tensor:
    small = torch.tensor([float(c) for c in FONT[digit]]).reshape(5, 3)
    scale = 2 + int(torch.randint(2, (1,), generator=generator))
    large = small.repeat_interleave(scale, 0).repeat_interleave(scale, 1)
    image = torch.zeros(SIDE, SIDE)
    top = int(torch.randint(SIDE - large.shape[0] + 1, (1,), generator=generator))
    left = int(torch.randint(SIDE - large.shape[1] + 1, (1,), generator=generator))
    image[top : top + large.shape[0], left : left + large.shape[1]] = large
    return image + 0.2 * torch.randn(SIDE, SIDE, generator=generator)


class Digits(Dataset):
    """`extra_s`: how much longer each sample takes, for a loader that cannot keep up."""

    def __init__(self, count: int, seed: int, extra_s: float = 0.0) -> None:
        self.count, self.seed, self.extra_s = count, seed, extra_s

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        if self.extra_s:
            time.sleep(self.extra_s)
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + i)
        digit = int(torch.randint(10, (1,), generator=generator))
        return draw(digit, generator), digit
