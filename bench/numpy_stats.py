# SPDX-License-Identifier: Apache-2.0
"""numpy_stats.py FILE SERIES REPEATS: quantiles of each series of a file of bytes, by numpy, from
memory. Prints JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy

QUANTILES = [5, 25, 50, 75, 90, 95, 99]


def main() -> None:
    data = numpy.fromfile(sys.argv[1], dtype=numpy.uint8).reshape(int(sys.argv[2]), -1)
    times = []
    for _ in range(int(sys.argv[3])):
        begin = time.monotonic()
        for series in data:
            numpy.percentile(series, QUANTILES)
            series.min(), series.max(), series.mean()
        times.append((time.monotonic() - begin) * 1e3)
    first = numpy.percentile(data[0], [50, 95, 99]).tolist()
    print(json.dumps({"ms": statistics.median(times), "first": first}))


main()
