#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.compile: the first step takes long, the others are quick. --seconds counts without it."""

import os

os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")  # compile in every run

import common  # noqa: E402
import torch  # noqa: E402


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    args = parser.parse_args()
    job = common.prepare(args)
    meter = job.meter("compile", cause="CompileTime")
    optimizer = job.adamw(fused=True)
    job.model = torch.compile(job.model, backend=args.backend)
    for number, batch in enumerate(meter.steps(job.loader(workers=args.workers))):
        loss = common.train_step(job, meter, optimizer, batch)
        if number == 0:
            meter.start()
        if number % 50 == 0:
            print(f"step {number}: loss {loss.item():.3f}", flush=True)
    meter.write()


if __name__ == "__main__":
    main()
