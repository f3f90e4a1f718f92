#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A healthy program: large matrix products in bf16, a fused optimizer, a quick loader."""

import common


def main() -> None:
    job = common.prepare(common.parser(__doc__, size="healthy").parse_args())
    meter = job.meter("healthy", cause=None)
    common.train(job, meter, job.adamw(fused=True))
    meter.write()


if __name__ == "__main__":
    main()
