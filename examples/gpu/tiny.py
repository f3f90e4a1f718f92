#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiny batches: the GPU finishes each kernel before the CPU has launched the next one."""

import common


def main() -> None:
    parser = common.parser(__doc__, size="small", batch=2, workers=2)
    job = common.prepare(parser.parse_args())
    meter = job.meter("tiny", cause="HostBound")
    common.train(job, meter, job.adamw())
    meter.write()


if __name__ == "__main__":
    main()
