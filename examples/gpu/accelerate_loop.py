#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A loop with Hugging Face Accelerate: bf16, two batches for each step of the optimizer."""

import common
from accelerate import Accelerator

ACCUMULATE = 2


def main() -> None:
    args = common.parser(__doc__, batch=32).parse_args()
    job = common.prepare(args)
    accelerator = Accelerator(
        gradient_accumulation_steps=ACCUMULATE,
        mixed_precision="bf16" if job.cuda else "no",
        cpu=job.cuda is None,
    )
    model, optimizer, loader = accelerator.prepare(
        job.model, job.adamw(fused=True), job.loader(workers=args.workers)
    )
    meter = job.meter("accelerate", cause=None)
    meter.samples_per_step *= ACCUMULATE
    meter.flops *= ACCUMULATE
    meter.start()
    for number, (tokens, targets) in enumerate(loader):
        if number % ACCUMULATE == 0:
            if not meter.goes_on():
                break
            meter.begin_step()
        with accelerator.accumulate(model):
            with meter.phase("forward"):
                loss = model(tokens, targets)
            with meter.phase("backward"):
                accelerator.backward(loss)
            with meter.phase("optimizer"):
                optimizer.step()
            optimizer.zero_grad()
        if number % 100 == 0:
            print(f"batch {number}: loss {loss.item():.3f}", flush=True)
    meter.stop()
    meter.write()


if __name__ == "__main__":
    main()
