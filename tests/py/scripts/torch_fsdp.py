# SPDX-License-Identifier: Apache-2.0
"""Trains with FSDP over gloo, the old wrapper or the new function; ranks write rank-N.json."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

STEPS = 4


def wrapped(model: nn.Sequential, how: str) -> nn.Module:
    if how == "wrapper":
        from torch.distributed.fsdp import FullyShardedDataParallel

        return FullyShardedDataParallel(model, device_id=torch.device("cpu"))
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def listen() -> Any:
    """What is captured of the training's health; None without hooks."""
    if "FOOTPLATE_RING" not in os.environ:
        return None
    from health_kit import Told

    return Told.listen()


def main() -> None:
    health = listen()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(16 * STEPS, 8), torch.randint(2, (16 * STEPS,)))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model = wrapped(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)), sys.argv[1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    told: dict[str, Any] = {"pid": os.getpid(), "losses": losses}
    if health is not None:
        told["gradients"] = {k: len(v) for k, v in health.tensor("gradient.l2").items()}
        told["sharded"] = len(health.scalar("health.sharded"))
        told["sums"] = sorted(health.tensor("weight.sum"))
    Path(f"rank-{dist.get_rank()}.json").write_text(json.dumps(told))
    dist.destroy_process_group()


main()
