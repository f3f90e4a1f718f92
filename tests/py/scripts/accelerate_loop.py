# SPDX-License-Identifier: Apache-2.0
"""A plain loop with Accelerate, whose loader reads one batch ahead."""

import json

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.rand(40, 4)), batch_size=8)  # 5 batches
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
accelerator = Accelerator(cpu=True)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
steps = 0
for _ in range(2):
    for (x,) in loader:
        optimizer.zero_grad()
        accelerator.backward(model(x).pow(2).mean())
        optimizer.step()
        steps += 1
print(json.dumps({"steps": steps}))
