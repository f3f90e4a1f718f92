# SPDX-License-Identifier: Apache-2.0
"""Stored bytes per sample of the synthetic node (104 series, 100 ms, 1 h), and how fast the same
samples get into files of other kinds."""

from __future__ import annotations

import os
import pathlib
import sqlite3
import time
from collections.abc import Callable

import victoria
from harness import Context, Line, Result, Skipped

START_MS = 1_700_000_000_000
SERIES, CORES, PERIOD_MS = victoria.SERIES, victoria.CORES, 100
GOAL = 0.21


def columns(cells: bytes) -> list[bytes]:
    rows = len(cells) // SERIES
    return [cells[i * rows : (i + 1) * rows] for i in range(SERIES)]


def json_lines(path: pathlib.Path, cells: bytes) -> None:
    """In the shape of the system metrics files that SageMaker's profiler writes."""
    heads = [
        f'{{"Type": "{"cpu" if i < CORES else "gpu"}", "Name": "{"cpu" if i < CORES else "gpu"}'
        f'{i if i < CORES else i - CORES}", "Dimension": '
        f'"{"CPU" if i < CORES else "GPU"}Utilization", "NodeId": "algo-1", "Value": '
        for i in range(SERIES)
    ]
    with path.open("w") as f:
        for row, values in enumerate(zip(*columns(cells), strict=True)):
            tail = f', "Timestamp": {(START_MS + row * PERIOD_MS) / 1000:.3f}}}\n'
            f.write("".join(f"{heads[i]}{float(v)}{tail}" for i, v in enumerate(values)))


def csv_wide(path: pathlib.Path, cells: bytes) -> None:
    with path.open("w") as f:
        for row, values in enumerate(zip(*columns(cells), strict=True)):
            f.write(f"{START_MS + row * PERIOD_MS},{','.join(map(str, values))}\n")


def sqlite_rows(path: pathlib.Path, cells: bytes) -> None:
    base = sqlite3.connect(path)
    base.execute("PRAGMA synchronous=OFF")
    base.execute("CREATE TABLE sample (series INTEGER, ts INTEGER, value REAL)")
    for series, column in enumerate(columns(cells)):
        base.executemany(
            "INSERT INTO sample VALUES (?,?,?)",
            ((series, START_MS + i * PERIOD_MS, float(v)) for i, v in enumerate(column)),
        )
    base.execute("CREATE INDEX by_time ON sample (series, ts)")
    base.commit()
    base.close()


FILES: dict[str, Callable[[pathlib.Path, bytes], None]] = {
    "JSON lines": json_lines,
    "CSV": csv_wide,
    "SQLite with index": sqlite_rows,
}


def run_victoria(context: Context, cells: bytes) -> tuple[float, float]:
    """Bytes per sample and M samples/s."""
    with victoria.running(context) as server:
        server.flush()
        empty = server.size()
        seconds = victoria.load(server, cells, START_MS, PERIOD_MS)
        server.flush()
        return (server.size() - empty) / len(cells), len(cells) / seconds / 1e6


def run(context: Context, result: Result) -> None:
    hours = 1 / 6 if context.quick else 1.0
    ours = context.store("write", context.scratch / "size", hours, 5)
    size = ours["bytes_per_sample"]
    goal = {"goal": "at most 0.21", "met": size <= GOAL}
    result.lines.append(
        Line(
            "bytes per sample",
            size,
            "B",
            peer="entropy of the data",
            peer_value=ours["bound_bytes"],
            ratio=size / ours["bound_bytes"],
            **goal,
        )
    )
    cells = context.cells(hours)
    rates: dict[str, float] = {"footplate": ours["group_commit"]["per_s"]}
    peers: dict[str, float] = {}
    for name, write in FILES.items():
        path = context.scratch / "peer-file"
        begin = time.monotonic()
        write(path, cells)
        rates[name] = len(cells) / (time.monotonic() - begin) / 1e6
        peers[name] = os.path.getsize(path) / len(cells)
        path.unlink()
    try:
        peers["VictoriaMetrics"], rates["VictoriaMetrics"] = run_victoria(context, cells)
    except Skipped as why:
        result.notes.append(f"SKIPPED VictoriaMetrics: {why}")
    for name, value in peers.items():
        result.lines.append(
            Line("bytes per sample", size, "B", peer=name, peer_value=value, ratio=value / size)
        )
    result.notes += [
        f"entropy of the data, bits a sample alone and given the one before: cores "
        f"{ours['core_bits'][0]:.2f} and {ours['core_bits'][1]:.2f}, GPUs "
        f"{ours['gpu_bits'][0]:.2f} and {ours['gpu_bits'][1]:.2f}; "
        "timestamps and summaries come on top",
        "write rates, M samples/s of the clock: "
        + ", ".join(f"{name} {rate:.2f}" for name, rate in rates.items())
        + " (the three file formats are written by Python, without syncing)",
    ]
    result.detail = {"ours": ours, "bytes_per_sample": peers, "m_samples_per_s": rates}
