# SPDX-License-Identifier: Apache-2.0
"""slow_rank.py RANK SECONDS [backward]: two ranks train together over gloo; RANK sleeps before each
forward pass (-1: none does), or computes more inside backward."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

SLOW, SECONDS = int(sys.argv[1]), float(sys.argv[2])
IN_BACKWARD = "backward" in sys.argv[3:]
SLEEP_S = 0.02
STEP_S = 0.025


def compute(*unused: object) -> None:
    until = time.thread_time() + SLEEP_S
    while time.thread_time() < until:
        sum(range(1000))


def train() -> None:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    late = dist.get_rank() == SLOW
    if late and IN_BACKWARD:
        model.module[2].register_full_backward_hook(compute)
    x = torch.rand(32, 64)
    for _ in range(int(SECONDS / STEP_S)):
        optimizer.zero_grad()
        if late and not IN_BACKWARD:
            time.sleep(SLEEP_S)
        model(x).square().mean().backward()
        optimizer.step()
    dist.barrier()
    time.sleep(0.3)
    dist.destroy_process_group()


def main() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            [sys.executable, *sys.argv], env={**os.environ, **world, "RANK": str(rank)}
        )
        for rank in range(2)
    ]
    return max(rank.wait() for rank in ranks)


if "RANK" in os.environ:
    train()
else:
    sys.exit(main())
