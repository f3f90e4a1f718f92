#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""List the source files of this tree: ours, not what was built, recorded or installed.

The other checks import this; from a shell it prints the files that have one of the given suffixes,
or with --shell the shell scripts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Folders that hold nothing we wrote, by name anywhere in the tree, and by path from the top.
SKIP_NAMES = {"__pycache__", "node_modules"}
SKIP_PATHS = {
    "build",
    "dist",
    "footplate-runs",
    "demo-run",
    "bench/out",
    "web/dist",
    "web/made",
    "tests/data",
    "tests/fuzz/corpus",
}


def is_ours(folder: Path, root: Path) -> bool:
    name = folder.name
    if name in SKIP_NAMES or folder.relative_to(root).as_posix() in SKIP_PATHS:
        return False
    return not name.startswith(".") or name in {".ci", ".github"}


def walk(root: Path) -> Iterator[Path]:
    """Every file of ours below root, sorted, so that messages come in the same order each time."""
    for folder, subfolders, names in os.walk(root):
        here = Path(folder)
        subfolders[:] = sorted(s for s in subfolders if is_ours(here / s, root))
        for name in sorted(names):
            if not (here / name).is_symlink():
                yield here / name


def with_suffix(root: Path, *suffixes: str) -> list[Path]:
    return [path for path in walk(root) if path.suffix in suffixes]


def shell_scripts(root: Path) -> list[Path]:
    """Files whose first line says that sh or bash runs them."""
    found = []
    for path in walk(root):
        with path.open("rb") as file:
            first = file.readline(64)
        if first.startswith(b"#!") and first.split()[-1].endswith((b"/sh", b"bash")):
            found.append(path)
    return found


def root_argument(description: str | None) -> argparse.ArgumentParser:
    """The command line that all checks share: a description from the docstring, and --root."""
    first_line = (description or "").strip().splitlines()[0]
    parser = argparse.ArgumentParser(description=first_line)
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to look at (this one)")
    return parser


def report(problems: list[str], good: str) -> int:
    """Print the problems, or the good news; the exit status."""
    print("\n".join(problems) if problems else good)
    return 1 if problems else 0


def main() -> int:
    parser = root_argument(__doc__)
    parser.add_argument("suffix", nargs="*", help="for example .c .h")
    parser.add_argument("--shell", action="store_true", help="shell scripts, by their first line")
    args = parser.parse_args()
    files = shell_scripts(args.root) if args.shell else with_suffix(args.root, *args.suffix)
    for path in files:
        print(path.relative_to(args.root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
