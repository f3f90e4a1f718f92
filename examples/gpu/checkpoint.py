#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Saves the model so often that this takes about 60 % of the loop.

How many steps lie between two checkpoints depends on the disk: it follows from the first one.
"""

import os
import tempfile
import time
from pathlib import Path

import common
import torch

FIRST = 20  # steps before the first checkpoint


def save(model: torch.nn.Module, path: Path) -> float:
    """Seconds that it took."""
    began = time.perf_counter()
    hidden = path.with_name(f".{path.name}")
    torch.save(model.state_dict(), hidden)
    os.replace(hidden, path)
    return time.perf_counter() - began


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--share", type=float, default=0.6, help="of the loop, to spend on saving")
    args = parser.parse_args()
    job = common.prepare(args)
    meter = job.meter("checkpoint", cause="CheckpointStall")
    optimizer = job.adamw(fused=True)
    every, since, began = FIRST, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number, batch in enumerate(meter.steps(job.loader(workers=args.workers))):
            loss = common.train_step(job, meter, optimizer, batch)
            since += 1
            if number == FIRST // 2:
                loss.item()
                began = time.perf_counter()
            if since < every:
                continue
            print(f"step {number}: loss {loss.item():.3f}", flush=True)
            if number + 1 == FIRST:
                step_s = (time.perf_counter() - began) / (number - FIRST // 2)
            with meter.outside("checkpoint"):
                took_s = save(job.model, Path(folder, "model.pt"))
            every = max(1, round(took_s * (1 - args.share) / args.share / step_s))
            since = 0
    meter.write()


if __name__ == "__main__":
    main()
