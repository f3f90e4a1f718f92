#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learns to read distorted digits with PyTorch. Nothing in here knows of Footplate.

footplate run -- python train.py
footplate run -- python train.py --slow-input --workers 2
footplate run -- torchrun --nproc-per-node 2 train.py
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from digits import SIDE, Digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--samples", type=int, default=4000, help="in an epoch, of all ranks")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--workers", type=int, default=0, help="processes that make the data")
    parser.add_argument("--slow-input", action="store_true", help="each sample takes 1 ms longer")
    parser.add_argument("--accumulate", type=int, default=1, help="batches for one optimizer step")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    parser.add_argument(
        "--checkpoint", type=Path, help="file to save the model to after each epoch"
    )
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def build(hidden: int) -> nn.Module:
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(SIDE * SIDE, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, 10),
    )


def loader_for(data: Digits, args: argparse.Namespace, train: bool) -> DataLoader:
    ranks = dist.is_initialized()
    return DataLoader(
        data,
        batch_size=args.batch,
        sampler=DistributedSampler(data, shuffle=train) if ranks else None,
        shuffle=train and not ranks,
        num_workers=args.workers if train else 0,
        persistent_workers=train and args.workers > 0,
    )


def train_epoch(
    model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer, accumulate: int
) -> float:
    """The mean loss."""
    model.train()
    total = 0.0
    for i, (images, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(images), labels)
        (loss / accumulate).backward()
        total += loss.item()
        if (i + 1) % accumulate == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    return total / len(loader)


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader) -> float:
    """Share of the digits that were read right."""
    model.eval()
    right = torch.zeros(2)
    for images, labels in loader:
        right += torch.tensor([(model(images).argmax(1) == labels).sum().item(), len(labels)])
    if dist.is_initialized():
        dist.all_reduce(right)
    return (right[0] / right[1]).item()


def save(model: nn.Module, path: Path) -> None:
    hidden = path.with_name(f".{path.name}")
    torch.save(getattr(model, "module", model).state_dict(), hidden)
    hidden.rename(path)


def main() -> None:
    args = arguments()
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    first = not dist.is_initialized() or dist.get_rank() == 0
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    extra_s = 0.001 if args.slow_input else 0.0
    train = loader_for(Digits(args.samples, args.seed, extra_s), args, train=True)
    held_out = loader_for(Digits(args.samples // 8, args.seed + 1), args, train=False)
    model = build(args.hidden)
    if dist.is_initialized():
        model = DistributedDataParallel(model)
    if args.compile:
        model = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(args.epochs):
        began = time.monotonic()
        if isinstance(train.sampler, DistributedSampler):
            train.sampler.set_epoch(epoch)
        loss = train_epoch(model, train, optimizer, args.accumulate)
        share = evaluate(model, held_out)
        if first and args.checkpoint:
            save(model, args.checkpoint)
        if first:
            took = time.monotonic() - began
            print(f"epoch {epoch}: loss {loss:.4f}, {share:.1%} right, {took:.1f} s", flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
