# SPDX-License-Identifier: Apache-2.0
"""peer_rules.py FILE CORES GPUS STEPS: the statistics behind the system rules and StepOutlier, by
pandas, from columns in memory. FILE has a byte per reading, series after series. Prints JSON.

Windows, quantiles, snapshots in which a GPU idles while a core is busy, the spread of steps. No
episodes, no sentences, no decoding, no steps to be found in events: those would cost more."""

from __future__ import annotations

import json
import sys
import time

import numpy
import pandas

WINDOW = 500
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]


def gpu_windows(gpus: pandas.DataFrame) -> int:
    """LowGPUUtilization: p95 and p5 of every window of every GPU."""
    window = numpy.arange(len(gpus)) // WINDOW
    by_window = gpus.groupby(window)
    p95, p5 = by_window.quantile(0.95), by_window.quantile(0.05)
    return int(((p95 < 70) | ((p95 > 70) & (p5 < 10))).sum().sum())


def batch_windows(gpus: pandas.DataFrame, cpu: pandas.Series) -> int:
    """BatchSize: p95 of the CPU and of every GPU, window by window."""
    window = numpy.arange(len(gpus)) // WINDOW
    p95, cpu95 = gpus.groupby(window).quantile(0.95), cpu.groupby(window).quantile(0.95)
    return int((p95.lt(70).mul(cpu95.lt(70), axis=0)).sum().sum())


def main() -> None:
    cores, n_gpus, steps = (int(word) for word in sys.argv[2:5])
    data = numpy.fromfile(sys.argv[1], dtype=numpy.uint8).reshape(cores + n_gpus, -1)
    frame = pandas.DataFrame(data.T.copy())
    lengths = pandas.Series(numpy.random.default_rng(1).normal(0.4, 0.02, steps))
    begin = time.monotonic()
    cpus, gpus = frame.iloc[:, :cores], frame.iloc[:, cores:]
    mean, peak = cpus.mean(axis=1) * 10, cpus.max(axis=1) * 10
    low = (gpus < 10).any(axis=1)
    said = [
        int((low & ((mean > 90) | (peak > 90))).sum()),
        gpu_windows(gpus),
        batch_windows(gpus, mean),
        gpus.quantile(QUANTILES).sum().sum(),
        mean.quantile(QUANTILES).sum(),
        int((lengths > lengths.mean() + 3 * lengths.std()).sum()),
    ]
    for gpu in gpus:  # LoadBalancing: the histograms that are compared
        said.append(int(gpus[gpu].value_counts(bins=100).max()))
    print(json.dumps({"s": time.monotonic() - begin, "said": [float(x) for x in said]}))


main()
