#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peer_bootstrap.py STEPS: seconds that numpy takes to draw blocks of steps 999 times."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

DRAWS, BLOCK = 999, 50


def main() -> None:
    steps = int(sys.argv[1])
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.0855, 0.005, steps), rng.normal(0.0855, 0.005, steps)
    start = time.perf_counter()
    difference = b - a
    blocks = np.concatenate([[0.0], np.cumsum(difference)])
    sums = blocks[BLOCK:] - blocks[:-BLOCK]
    many = steps // BLOCK
    means = [sums[rng.integers(0, len(sums), many)].sum() / (many * BLOCK) for _ in range(DRAWS)]
    low, high = np.quantile(means, [0.025, 0.975])
    print(json.dumps({"s": time.perf_counter() - start, "low": low, "high": high}))


if __name__ == "__main__":
    main()
