# SPDX-License-Identifier: Apache-2.0
"""peer_pandas.py TRACE EVENTS ROUNDS: the columns of a trace, repeated up to EVENTS rows; then what
`footplate ops` and `footplate breakdown` answer, as far as groupby goes. Prints JSON.

No nesting, no self time, no launches: those would cost more."""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable

import pandas


def load(path: str) -> pandas.DataFrame:
    with gzip.open(path) as file:
        trace = json.load(file)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    spans = [v for v in events if v.get("ph") == "X" and "cat" in v]
    return pandas.DataFrame(
        {
            "name": pandas.Categorical([v["name"] for v in spans]),
            "cat": pandas.Categorical([v["cat"] for v in spans]),
            "tid": pandas.Categorical([str(v["tid"]) for v in spans]),
            "dur": [float(v.get("dur", 0)) for v in spans],
        }
    )


def repeat(frame: pandas.DataFrame, rows: int) -> pandas.DataFrame:
    turns = rows // len(frame) + 1
    big = pandas.concat([frame] * turns, ignore_index=True)[:rows]
    big["step"] = (big.index * 200 // rows).astype("int32")
    return big


def operators(frame: pandas.DataFrame) -> int:
    groups = frame.groupby(["cat", "name"], observed=True)["dur"]
    return len(groups.agg(["count", "sum", "mean", "max"]))


def breakdown(frame: pandas.DataFrame) -> int:
    return len(frame.groupby(["step", "tid", "cat"], observed=True)["dur"].sum())


def best(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    path, rows, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    begin = time.process_time()
    source = load(path)
    load_s = (time.process_time() - begin) * rows / len(source)
    frame = repeat(source, rows)
    answer = {
        "rows": len(frame),
        "load_s": load_s,  # of as many rows, as the source takes
        "ops_s": best(lambda: operators(frame), rounds),
        "breakdown_s": best(lambda: breakdown(frame), rounds),
    }
    print(json.dumps(answer))


main()
