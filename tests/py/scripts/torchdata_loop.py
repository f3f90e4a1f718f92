# SPDX-License-Identifier: Apache-2.0
"""Trains from torchdata's loader, with workers, and goes on from its state in the middle."""

from __future__ import annotations

import json

import torch
from torch import nn
from torch.utils.data import TensorDataset
from torchdata.stateful_dataloader import StatefulDataLoader


def main() -> None:
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(20, 8), torch.randint(2, (20,)))
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = StatefulDataLoader(data, batch_size=4, num_workers=2)
    state, batches, losses = None, 0, []
    for stop in (2, None):
        if state:
            loader.load_state_dict(state)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            batches += 1
            if batches == stop:
                state = loader.state_dict()
                break
    print(json.dumps({"batches": batches, "losses": losses}))


if __name__ == "__main__":
    main()
