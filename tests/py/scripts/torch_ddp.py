# SPDX-License-Identifier: Apache-2.0
"""Trains with DistributedDataParallel over gloo; every rank writes what it did to rank-N.json."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

# torch 1.13 joins its own threads with the GIL held, and hangs when one of them still waits for it.
REST_S = 0.3


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(64, 8), torch.randint(2, (64,)))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item())
    gathered = [None, None]
    dist.all_gather_object(gathered, dist.get_rank())
    dist.barrier()
    rank = dist.get_rank()
    told = {"pid": os.getpid(), "losses": losses, "gathered": gathered}
    Path(f"rank-{rank}.json").write_text(json.dumps(told))
    time.sleep(REST_S)
    dist.destroy_process_group()


main()
