# SPDX-License-Identifier: Apache-2.0
"""psutil_loop.py PERIOD_S PID: the set of readings of the sample bench, as a Python program that
uses psutil takes them. Runs until it is ended."""

from __future__ import annotations

import sys
import time

import psutil

PRESSURE = ("/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory")


def sample(process: psutil.Process) -> list[object]:
    readings: list[object] = [
        psutil.cpu_times(percpu=True),
        psutil.virtual_memory(),
        psutil.net_io_counters(pernic=True),
        psutil.disk_io_counters(perdisk=True),
    ]
    for path in PRESSURE:  # psutil has no call for these
        with open(path) as f:
            readings.append([int(line.rpartition("total=")[2]) for line in f])
    with process.oneshot():
        readings.append((process.cpu_times(), process.memory_info(), process.num_threads()))
    return readings


def main() -> None:
    period = float(sys.argv[1])
    process = psutil.Process(int(sys.argv[2]))
    due = time.monotonic()
    while True:
        sample(process)
        due += period
        time.sleep(max(0.0, due - time.monotonic()))


main()
