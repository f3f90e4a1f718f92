#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads about 200 numbers from the GPU in every step, and waits for each of them.

The statistics of each layer are for a log, and so are the norms of the gradients. With --every 50
it does that in every 50th step only, as a program that was mended does.
"""

import common
import torch


def watch(model: common.GPT, log: dict[str, float]) -> None:
    """Writes statistics of what each layer gives into the log, in steps that are logged."""

    def after(block: torch.nn.Module, inputs: object, x: torch.Tensor) -> None:
        if not log.get("on"):
            return
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
    parser = common.parser(__doc__)
    parser.add_argument("--every", type=int, default=1, help="steps from one log line to the next")
    args = parser.parse_args()
    job = common.prepare(args)
    meter = job.meter("item", cause="SyncBound")
    optimizer = job.adamw(fused=True)
    log: dict[str, float] = {}
    watch(job.model, log)
    for number, batch in enumerate(meter.steps(job.loader(workers=args.workers))):
        log["on"] = number % args.every == 0
        tokens, targets = job.move(batch)
        with job.autocast(), meter.phase("forward"):
            loss = job.model(tokens, targets)
        with meter.phase("backward"):
            loss.backward()
        if log["on"]:
            log["norm"] = norm_of_gradients(job.model)
        with meter.phase("optimizer"):
            optimizer.step()
        optimizer.zero_grad()
        if log["on"]:
            log["loss"] = loss.item()
        if number % 50 == 0:
            print(f"step {number}: loss {log['loss']:.3f}, gradients {log['norm']:.3f}", flush=True)
    meter.write()


if __name__ == "__main__":
    main()
