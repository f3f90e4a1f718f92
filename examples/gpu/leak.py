#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the features of every batch on the GPU: its memory grows until it is full."""

import common
import torch


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--most", type=float, default=0.7, help="share of the memory to fill")
    args = parser.parse_args()
    job = common.prepare(args)
    features: list[torch.Tensor] = []
    job.model.norm.register_forward_hook(lambda module, inputs, x: features.append(x.detach()))
    meter = job.meter("leak", cause="GPUMemoryIncrease")
    optimizer = job.adamw(fused=True)
    most = torch.cuda.mem_get_info()[1] * args.most if job.cuda else 1e9
    for batch in meter.steps(job.loader(workers=args.workers)):
        common.train_step(job, meter, optimizer, batch)
        if len(features) * features[0].nbytes > most:
            features.clear()
    meter.write()


if __name__ == "__main__":
    main()
