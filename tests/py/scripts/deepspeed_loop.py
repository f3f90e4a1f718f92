# SPDX-License-Identifier: Apache-2.0
"""Trains with the real DeepSpeed on the CPU: ZeRO 1, two batches to an optimizer step."""

from __future__ import annotations

import json
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.update(
    RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="0"
)

import deepspeed
import torch
import torch.distributed as dist
from torch import nn

CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
    "zero_optimization": {"stage": 1},
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
}


def main() -> None:
    torch.manual_seed(0)
    store = dist.TCPStore("127.0.0.1", 0, 1, True)
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    data = torch.utils.data.TensorDataset(torch.randn(48, 8), torch.randint(2, (48,)))
    engine, _, loader, _ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        training_data=data,
        config=CONFIG,
        dist_init_required=False,
    )
    batches = boundaries = 0
    for x, y in loader:
        loss = nn.functional.cross_entropy(engine(x), y)
        engine.backward(loss)
        boundaries += engine.is_gradient_accumulation_boundary()
        engine.step()
        batches += 1
    print(json.dumps({"batches": batches, "boundaries": boundaries, "steps": engine.global_steps}))
    dist.destroy_process_group()


main()
