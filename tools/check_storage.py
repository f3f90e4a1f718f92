#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a file outside src/run and src/store reaches into a run folder by itself.

Three things are refused: a string literal that is a name or a path inside of a run (run_names.h in
src/run has them), a call that opens, maps, lists, locks, renames or replaces a file, and, but for
the recorder in src/agent, a call that opens a writer. Code that needs a file of a run calls
src/run. src/STORAGE lists the source files that open files which are no part of a run, with the
reason; a line there that nothing needs any more is refused as well, so that the list only shrinks.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sources import report, root_argument, with_suffix

# They are the storage, or are below it and know nothing of runs.
FREE_FOLDERS = {"run", "store", "base", "record", "ring", "emit", "sample", "config", "import"}


CALLS = re.compile(
    r"(?<![\w.>])(open|openat|creat|fopen|mmap|rename|renameat2?|link|linkat|symlink|flock|opendir|"
    r"fdopendir|readdir|scandir|nftw|unlink|unlinkat|rmdir|mkdir|fmap_open|fmap_copy|"
    r"file_open_regular|file_read_range|file_create_new|file_create|file_put|file_replace|"
    r"file_replace_unsynced|dir_make|dir_sync|dir_remove|store_open)\("
)
# They make files of a run. No line of src/STORAGE allows them.
WRITERS = re.compile(r"(?<![\w.>])(writer_open\w*)\(")
WRITER_FOLDERS = {"agent"}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
# A file or a start of file names, in run_names.h; a plain word may mean something else elsewhere.
DEFINED = re.compile(r'^#define RUNS?_\w+ +"(\w+\.\w+|\w+-)"', re.M)
NAMES = re.compile(
    r"^(?:[^ ]*/)?(?:run\.json|findings\.json|notes\.json|report\.(?:html|json)|"
    r"node(?:-%u)?\.json|node-%[^ ]*|trace-%[^ ]*|[^ ]*\.(?:fp|tail)|"
    r"\.import-[^ ]*)$|/(?:derived|lock)(?:/|$)|^node-$"
)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def without_comments(text: str) -> str:
    """Comments become as many line ends as they have, so that line numbers stay."""
    return COMMENT.sub(lambda hit: "\n" * hit[0].count("\n"), text)


def names_of_runs(src: Path) -> re.Pattern[str]:
    """What run_names.h defines, as the last part of a path."""
    header = src / "run" / "run_names.h"
    names = DEFINED.findall(header.read_text()) if header.exists() else []
    ends = (re.escape(name) + ("[^ ]*" if name.endswith("-") else "") for name in names)
    return re.compile(rf"^(?:[^ ]*/)?(?:{'|'.join(ends)})$" if names else r"(?!)")


def file_problems(text: str, defined: re.Pattern[str], may_write: bool) -> list[tuple[int, str]]:
    problems = []
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for name in LITERAL.findall(line):
            if NAMES.search(name) or defined.search(name):
                problems.append((number, f'"{name}" is a name in a run: use src/run/run_names.h'))
        # A definition begins in the first column; calls are indented.
        code = LITERAL.sub('""', line) if line[:1].isspace() else ""
        calls = CALLS.findall(code)
        problems += [
            (number, f"{call}() on a file: a run's is reached by src/run") for call in calls
        ]
        problems += [
            (number, f"{call}: writers of a run are opened by src/run or the recorder")
            for call in WRITERS.findall(code)
            if not may_write
        ]
    return problems


def read_exceptions(path: Path) -> set[str]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {line.partition(":")[0] for line in lines if line and not line.startswith("#")}


def main() -> int:
    root: Path = root_argument(__doc__).parse_args().root
    src = root / "src"
    excepted = read_exceptions(src / "STORAGE")
    defined = names_of_runs(src)
    problems: list[str] = []
    files = [path for path in with_suffix(src, ".c", ".h") if path.parent.name not in FREE_FOLDERS]
    needed = set()
    for path in files:
        name = path.relative_to(src).as_posix()
        may_write = path.parent.name in WRITER_FOLDERS
        found = file_problems(path.read_text(), defined, may_write)
        if name in excepted and any("()" in what for _, what in found):
            needed.add(name)
            found = [(number, what) for number, what in found if "()" not in what]
        problems += [f"src/{name}:{number}: {what}" for number, what in found]
    for name in sorted(excepted - needed):
        problems.append(f"src/STORAGE: {name} needs no exception any more")
    return report(problems, f"storage: {len(files)} files leave the files of runs to src/run")


if __name__ == "__main__":
    sys.exit(main())
