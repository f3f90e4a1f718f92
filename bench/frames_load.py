# SPDX-License-Identifier: Apache-2.0
"""frames_load.py RUN ROUNDS: every sample of a run into a data frame, again and again. Prints JSON:
seconds of each round, samples, bytes of the frame, and a sum that shows that all was decoded."""

from __future__ import annotations

import json
import resource
import sys
import time

import footplate


def main() -> None:
    path, rounds = sys.argv[1], int(sys.argv[2])
    times, cpu, frame = [], [], None
    for _ in range(rounds):
        del frame
        begin, used = time.perf_counter(), time.process_time()
        frame = footplate.open(path, frames="pandas").system_metrics()
        times.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - used)
    told = {
        "s": times,
        "cpu_s": cpu,
        "samples": len(frame),
        "columns": {name: str(kind) for name, kind in frame.dtypes.items()},
        "bytes": int(frame.memory_usage().sum()),
        "sum": float(frame["value"].sum()),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
