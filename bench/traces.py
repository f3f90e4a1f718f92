# SPDX-License-Identifier: Apache-2.0
"""Traces to measure with: those of the folder that FOOTPLATE_TRACES names (*.json.gz, in any folder
below), else one that is made up; and long ones made of them."""

from __future__ import annotations

import dataclasses
import gzip
import os
import pathlib
import subprocess
import sys

import synth_trace
from harness import BENCH, Context

LEAST_BYTES = 5_000_000  # of JSON: shorter ones measure how a process starts


@dataclasses.dataclass(frozen=True)
class Trace:
    name: str
    path: pathlib.Path
    json_bytes: int


def _size(path: pathlib.Path) -> int:
    total = 0
    with gzip.open(path) as file:
        while piece := file.read(1 << 20):
            total += len(piece)
    return total


def _is_trace(path: pathlib.Path) -> bool:
    with gzip.open(path) as file:
        return b'"schemaVersion"' in file.read(4096)


def short(context: Context) -> list[Trace]:
    folder = os.environ.get("FOOTPLATE_TRACES")
    if folder:
        paths = [p for p in sorted(pathlib.Path(folder).rglob("*.json.gz")) if _is_trace(p)]
        traces = [Trace(p.name.removesuffix(".json.gz"), p, _size(p)) for p in paths]
        return [t for t in traces if t.json_bytes >= LEAST_BYTES]
    path = context.scratch / "made-up.json.gz"
    if not path.exists():
        synth_trace.write(path)
    return [Trace("made up", path, _size(path))]


def long(context: Context, of: Trace, size: int) -> Trace:
    path = context.scratch / f"{of.path.name.removesuffix('.json.gz')}-{size // 1_000_000}.json.gz"
    script = str(BENCH / "big_trace.py")
    command = [sys.executable, script, str(of.path), str(path), str(size)]
    written = int(subprocess.run(command, check=True, capture_output=True).stdout)
    return Trace(f"{of.name}, repeated", path, written)
