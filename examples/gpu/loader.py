#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A slow loader: each sample takes 10 ms of a CPU, and two workers make them."""

import common


def main() -> None:
    parser = common.parser(__doc__, workers=2)
    parser.add_argument("--work-ms", type=float, default=10.0, help="CPU time of a sample")
    args = parser.parse_args()
    job = common.prepare(args)
    meter = job.meter("loader", cause="Dataloader")
    optimizer = job.adamw()
    loader = job.loader(common.Tokens(job.size, args.work_ms / 1e3), args.workers)
    for batch in meter.steps(loader):
        common.train_step(job, meter, optimizer, batch)
    meter.write()


if __name__ == "__main__":
    main()
