#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Evaluates after every 40 steps, on so many batches that this takes about 40 % of the loop."""

import common
import torch


@torch.no_grad()
def evaluate(job: common.Job, meter: common.Meter, loader: common.DataLoader) -> float:
    """The mean loss of the held-out data."""
    job.model.eval()
    total = torch.zeros((), device=job.device)
    batches = 0
    for batch in loader:
        tokens, targets = job.move(batch)
        with job.autocast():
            total += job.model(tokens, targets)
        batches += 1
    meter.eval_steps += batches
    meter.eval_flops += batches * job.flops / 3
    job.model.train()
    return total.item() / batches


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--every", type=int, default=40, help="steps between two evaluations")
    parser.add_argument("--eval-batches", type=int, default=120)
    args = parser.parse_args()
    job = common.prepare(args)
    meter = job.meter("evaluate", cause="EvalHeavy")
    optimizer = job.adamw(fused=True)
    held_out = job.loader(
        common.Tokens(job.size, length=args.eval_batches * job.size.batch), args.workers
    )
    for number, batch in enumerate(meter.steps(job.loader(workers=args.workers))):
        common.train_step(job, meter, optimizer, batch)
        if (number + 1) % args.every == 0:
            with meter.outside("eval"):
                loss = evaluate(job, meter, held_out)
            print(f"step {number}: held-out loss {loss:.3f}", flush=True)
    meter.write()


if __name__ == "__main__":
    main()
