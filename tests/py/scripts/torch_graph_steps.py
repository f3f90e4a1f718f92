# SPDX-License-Identifier: Apache-2.0
"""torch_graph_steps.py HOW: trains by replaying graphs that are played on the CPU; 10 steps."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import torch
from footplate.detail import boundary
from footplate.hooks import torch_graphs
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class CUDAGraph:
    def replay(self):
        torch.ones(8).sum()


torch_graphs.install(SimpleNamespace(CUDAGraph=CUDAGraph, __name__="torch.cuda.graphs"))
first, second = CUDAGraph(), CUDAGraph()


class Replays(nn.Module):
    def forward(self, x):
        first.replay()
        return x


def alone():
    for _ in range(10):
        first.replay()


def two():
    for _ in range(10):
        first.replay()
        second.replay()


def loader():
    for _ in DataLoader(TensorDataset(torch.ones(20, 1)), batch_size=2):
        first.replay()
        second.replay()
        second.replay()


def nested():
    model = Replays()
    for _ in range(10):
        model(torch.ones(1))


def with_optimizer():
    weight = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    weight.grad = torch.ones(1)
    for _ in range(10):
        first.replay()
        optimizer.step()


globals()[sys.argv[1]]()
print(json.dumps({"pid": os.getpid(), "ended": boundary.loop.ended}))
