#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads about 200 numbers from the GPU in every step, and waits for each of them.

The statistics of each layer are for a log, and so are the norms of the gradients.
"""

import common
import torch


def watch(model: common.GPT, log: dict[str, float]) -> None:
    """Writes statistics of what each layer gives into the log."""

    def after(block: torch.nn.Module, inputs: object, x: torch.Tensor) -> None:
        log["mean"] = x.mean().item()
        log["largest"] = x.abs().max().item()
        log["spread"] = x.std().item()
        log["size"] = x.norm().item()

    for block in model.blocks:
        block.register_forward_hook(after)


def norm_of_gradients(model: common.GPT) -> float:
    total = 0.0
    for weight in model.parameters():
        total += weight.grad.norm().item() ** 2
    return total**0.5


def main() -> None:
    args = common.parser(__doc__).parse_args()
    job = common.prepare(args)
    meter = job.meter("item", cause="SyncBound")
    optimizer = job.adamw(fused=True)
    log: dict[str, float] = {}
    watch(job.model, log)
    for number, batch in enumerate(meter.steps(job.loader(workers=args.workers))):
        tokens, targets = job.move(batch)
        with job.autocast(), meter.phase("forward"):
            loss = job.model(tokens, targets)
        with meter.phase("backward"):
            loss.backward()
        log["norm"] = norm_of_gradients(job.model)
        with meter.phase("optimizer"):
            optimizer.step()
        optimizer.zero_grad()
        log["loss"] = loss.item()
        if number % 50 == 0:
            print(f"step {number}: loss {log['loss']:.3f}, gradients {log['norm']:.3f}", flush=True)
    meter.write()


if __name__ == "__main__":
    main()
