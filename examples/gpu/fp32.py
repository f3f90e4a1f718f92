#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""FP32 without TF32: the tensor cores are idle, and a step takes several times as long."""

import common
import torch


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--precision", default="highest", help="high: with TF32")
    args = parser.parse_args()
    torch.set_float32_matmul_precision(args.precision)
    job = common.prepare(args)
    meter = job.meter("fp32", cause="TensorCoresUnused", tensor_cores=False)
    optimizer = job.adamw(fused=True)
    for number, batch in enumerate(meter.steps(job.loader(workers=args.workers))):
        tokens, targets = job.move(batch)
        with meter.phase("forward"):
            loss = job.model(tokens, targets)
        with meter.phase("backward"):
            loss.backward()
        with meter.phase("optimizer"):
            optimizer.step()
        optimizer.zero_grad()
        if number % 50 == 0:
            print(f"step {number}: loss {loss.item():.3f}", flush=True)
    meter.write()


if __name__ == "__main__":
    main()
