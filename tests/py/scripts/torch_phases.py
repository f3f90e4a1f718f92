# SPDX-License-Identifier: Apache-2.0
"""torch_phases.py STEPS STEP_MS EVAL_STEPS [FILE]: trains, evaluates, and prints what it measured
itself; goes on to the next step only until there is FILE.

Prints one JSON object: wall clock in ns of the begin of its loop, of the evaluation and of its end,
and the seconds that its steps took by its own count.
"""

from __future__ import annotations

import json
import os
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS, STEP_S, EVAL_STEPS = int(sys.argv[1]), float(sys.argv[2]) / 1000, int(sys.argv[3])
UNTIL = sys.argv[4] if len(sys.argv) > 4 else ""


class Numbers(Dataset):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> torch.Tensor:
        return torch.full((4,), float(i % 7))


def main() -> None:
    torch.set_num_threads(1)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    facts: dict[str, float] = {"loop_ns": time.time_ns()}
    spent = 0.0
    begin = time.perf_counter()
    for x in DataLoader(Numbers(STEPS), batch_size=1):
        optimizer.zero_grad()
        loss = model(x).sum()
        time.sleep(STEP_S)
        loss.backward()
        optimizer.step()
        spent += time.perf_counter() - begin
        if UNTIL and os.path.exists(UNTIL):
            break
        begin = time.perf_counter()
    facts["eval_ns"] = time.time_ns()
    with torch.no_grad():
        for x in DataLoader(Numbers(EVAL_STEPS), batch_size=1):
            model(x)
            time.sleep(STEP_S)
            model(x)
    facts["end_ns"] = time.time_ns()
    print(json.dumps(facts | {"steps_s": spent}))


main()
