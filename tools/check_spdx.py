#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a source file does not say its licence in one of its first lines.

Sources are files with a suffix or a name of the lists below, and every file that starts with `#!`.
Text for people (.md), data, and formats without comments (.json) are not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sources import report, root_argument, walk

LINE = "SPDX-License-Identifier: Apache-2.0"
WITHIN = 5  # lines
SUFFIXES = {
    ".c",
    ".h",
    ".def",
    ".py",
    ".sh",
    ".cmake",
    ".toml",
    ".ts",
    ".tsx",
    ".mjs",
    ".css",
    ".html",
}
NAMES = {"CMakeLists.txt", "Makefile"}


def is_source(path: Path) -> bool:
    if path.suffix in SUFFIXES or path.name in NAMES:
        return True
    with path.open("rb") as f:
        return f.read(2) == b"#!"


def is_marked(path: Path) -> bool:
    with path.open(errors="replace") as f:
        return any(LINE in line for _, line in zip(range(WITHIN), f, strict=False))


def main() -> int:
    root: Path = root_argument(__doc__).parse_args().root
    files = [path for path in walk(root) if is_source(path)]
    problems = [
        f"{path.relative_to(root)}: no line with {LINE}" for path in files if not is_marked(path)
    ]
    return report(problems, f"spdx: {len(files)} files say their licence")


if __name__ == "__main__":
    sys.exit(main())
