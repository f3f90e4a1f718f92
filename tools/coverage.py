#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print how many lines of each folder of src/ were run, from gcov's counters of a build.

A line counts once, however many programs it was compiled into; it was run when any of them ran it.
Leaves lines.json beside the build: for each file its lines, those that were run, and the others.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from sources import ROOT

Lines = dict[str, dict[int, bool]]  # by file: was the line run?


def read_counters(build: Path) -> Lines:
    """Run gcov on every counter file of src/ and merge what it reports."""
    found: Lines = defaultdict(dict)
    counters = [str(path) for path in sorted(build.resolve().rglob("*.gcda"))]
    counters = [path for path in counters if "/src/" in path]
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(counters), 50):
            command = ["gcov", "--json-format", "--preserve-paths", *counters[at : at + 50]]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            for result in Path(folder).glob("*.gcov.json.gz"):
                add_result(found, json.loads(gzip.decompress(result.read_bytes())))
                result.unlink()
    return found


def add_result(found: Lines, result: dict[str, Any]) -> None:
    for file in result["files"]:
        path = (Path(result["current_working_directory"]) / file["file"]).resolve()
        if not path.is_relative_to(ROOT / "src"):
            continue
        lines = found[path.relative_to(ROOT).as_posix()]
        for line in file["lines"]:
            number = line["line_number"]
            lines[number] = lines.get(number, False) or line["count"] > 0


def print_table(found: Lines) -> None:
    folders: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path, was_run in found.items():
        for row in (folders["/".join(path.split("/")[:2])], folders["all of src"]):
            row[0] += len(was_run)
            row[1] += sum(was_run.values())
    print(f"{'folder':<16}{'lines':>8}{'run':>8}{'share':>9}")
    for folder, (lines, run) in sorted(folders.items(), key=lambda f: (f[0] == "all of src", f[0])):
        print(f"{folder:<16}{lines:>8}{run:>8}{100 * run / lines:>7.1f} %")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", type=Path, help="a build with --coverage whose programs ran")
    build: Path = parser.parse_args().build
    found = read_counters(build)
    if not found:
        print(f"coverage: no counters below {build}")
        return 1
    print_table(found)
    rows = {
        path: {"lines": len(lines), "missed": sorted(n for n, run in lines.items() if not run)}
        for path, lines in sorted(found.items())
    }
    (build / "lines.json").write_text(json.dumps(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
