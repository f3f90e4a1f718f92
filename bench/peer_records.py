# SPDX-License-Identifier: Apache-2.0
"""peer_records.py FILE: system metrics as JSON lines to a data frame, record by record: an object
for each line, its fields into lists, times as text, then the frame. Prints JSON.

That is how SageMaker Debugger's client reads them."""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime, timezone

import pandas


def load(path: str) -> pandas.DataFrame:
    columns: dict[str, list] = {
        name: []
        for name in (
            "timestamp",
            "timestamp_us",
            "value",
            "system_metric",
            "dimension",
            "nodeID",
            "type",
        )
    }
    utc = timezone.utc  # noqa: UP017
    with open(path) as lines:
        for line in lines:
            event = json.loads(line)
            at = event["Timestamp"]
            columns["timestamp"].append(
                datetime.fromtimestamp(at, utc).strftime("%Y-%m-%dT%H:%M:%S:%f")
            )
            columns["timestamp_us"].append(int(at * 1e6))
            columns["value"].append(event["Value"])
            columns["system_metric"].append(event.get("Name", ""))
            columns["dimension"].append(event["Dimension"])
            columns["nodeID"].append(event["NodeId"])
            columns["type"].append(event["Type"])
    return pandas.DataFrame(columns).drop_duplicates()


def main() -> None:
    begin = time.perf_counter()
    frame = load(sys.argv[1])
    print(json.dumps({"s": time.perf_counter() - begin, "records": len(frame)}))


if __name__ == "__main__":
    main()
