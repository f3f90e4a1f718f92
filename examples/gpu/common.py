# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch programs of this folder share: a small GPT, its sizes, and made-up data."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from truth import Meter, options

MANY = 1 << 24  # samples: more than a run fetches


@dataclass(frozen=True)
class Size:
    layers: int
    width: int
    heads: int
    batch: int
    tokens: int
    vocabulary: int


SIZES = {
    "big": Size(12, 1024, 16, 16, 512, 8192),
    "small": Size(8, 256, 4, 4, 64, 2048),
    "least": Size(2, 256, 4, 4, 64, 2048),
    "healthy": Size(6, 4096, 32, 4, 2048, 8192),
    "cpu": Size(2, 64, 4, 4, 32, 256),
}


class Block(nn.Module):
    """One layer: causal attention, then two matrix products."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        width = size.width
        self.heads = size.heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """Predicts the next token; gives the loss."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.embed = nn.Embedding(size.vocabulary, size.width)
        self.place = nn.Parameter(torch.zeros(size.tokens, size.width))
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, size.vocabulary, bias=False)

    def hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) + self.place
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        scores = self.head(hidden)
        return nn.functional.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return self.loss(self.hidden(tokens), targets)


def flops_of_step(size: Size) -> float:
    """Forward and backward of a batch: 6 N + 12 L d S for each token, N without the embeddings."""
    weights = 12 * size.layers * size.width**2 + size.vocabulary * size.width
    per_token = 6 * weights + 12 * size.layers * size.width * size.tokens
    return float(per_token) * size.batch * size.tokens


class Tokens(Dataset):
    """Random texts in which a token often follows its neighbour, so that there is something to
    learn. Each takes `work_s` seconds of a CPU to make."""

    def __init__(self, size: Size, work_s: float = 0.0, length: int = MANY) -> None:
        self.size = size
        self.work_s = work_s
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        until = time.perf_counter() + self.work_s
        random = torch.Generator().manual_seed(index)
        jumps = torch.randint(0, 3, (self.size.tokens + 1,), generator=random)
        text = (jumps.cumsum(0) + index) % self.size.vocabulary
        while time.perf_counter() < until:
            pass
        return text[:-1], text[1:]


class InOrder(torch.utils.data.Sampler):
    """0, 1, 2, ...: a list of all samples would take seconds to shuffle."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self) -> Any:
        return iter(range(self.length))

    def __len__(self) -> int:
        return self.length


@dataclass
class Job:
    """A model on its device, with everything to train it."""

    args: argparse.Namespace
    size: Size
    device: torch.device
    model: Any
    flops: float

    @property
    def cuda(self) -> Any:
        """torch.cuda; None on a CPU."""
        return torch.cuda if self.device.type == "cuda" else None

    def loader(self, data: Dataset | None = None, workers: int = 4) -> DataLoader:
        data = data or Tokens(self.size)
        return DataLoader(
            data,
            batch_size=self.size.batch,
            sampler=InOrder(len(data)),  # type: ignore[arg-type]
            num_workers=workers,
            pin_memory=self.cuda is not None,
            persistent_workers=workers > 0,
            drop_last=True,
        )

    def adamw(self, **more: Any) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), lr=3e-4, **more)

    def autocast(self) -> Any:
        return torch.autocast(self.device.type, torch.bfloat16)

    def move(self, batch: list[torch.Tensor]) -> list[torch.Tensor]:
        return [part.to(self.device, non_blocking=True) for part in batch]

    def meter(self, program: str, cause: str | None, tensor_cores: bool = True) -> Meter:
        return Meter(
            program,
            self.args,
            cause=cause,
            samples=self.size.batch,
            flops=self.flops if tensor_cores else 0.0,
            cuda=self.cuda,
        )


def parser(
    about: str, size: str = "big", batch: int = 0, workers: int = 4
) -> argparse.ArgumentParser:
    """The options of a program; `size` and `batch` (0: that of the size) are those on a GPU."""
    result = options(about)
    result.add_argument("--size", choices=SIZES, help=f"default: {size}; cpu with --device cpu")
    result.add_argument("--batch", type=int, default=0, help="samples in a batch")
    result.add_argument("--workers", type=int, default=workers, help="processes of the loader")
    result.set_defaults(gpu_size=size, gpu_batch=batch)
    return result


def prepare(args: argparse.Namespace, build: Callable[[Size], Any] = GPT) -> Job:
    """Makes the model on its device. Exits with a sentence when the device is not there."""
    device = torch.device(args.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SystemExit("no GPU that PyTorch can use; try --device cpu")
    on_cpu = device.type == "cpu"
    if on_cpu:
        torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    size = SIZES[args.size or ("cpu" if on_cpu else args.gpu_size)]
    batch = args.batch or (0 if on_cpu else args.gpu_batch)
    if batch:
        size = replace(size, batch=batch)
    with device:
        model = build(size)
    return Job(args, size, device, model, flops_of_step(size))


def train(job: Job, meter: Meter, optimizer: torch.optim.Optimizer, log_every: int = 50) -> None:
    """The plain loop: bf16, a line with the loss now and then."""
    for number, batch in enumerate(meter.steps(job.loader(workers=job.args.workers))):
        loss = train_step(job, meter, optimizer, batch)
        if number % log_every == 0:
            print(f"step {number}: loss {loss.item():.3f}", flush=True)


def train_step(
    job: Job, meter: Meter, optimizer: torch.optim.Optimizer, batch: list[torch.Tensor]
) -> torch.Tensor:
    """One step in bf16. The loss stays on the device."""
    tokens, targets = job.move(batch)
    with job.autocast(), meter.phase("forward"):
        loss = job.model(tokens, targets)
    with meter.phase("backward"):
        loss.backward()
    with meter.phase("optimizer"):
        optimizer.step()
    optimizer.zero_grad()
    return loss.detach()
