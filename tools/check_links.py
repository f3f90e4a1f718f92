#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a document or a C comment names a file of this tree that does not exist.

Documents are all .md files: the relative links in them, and words in `backticks` that start with a
folder of this tree. In a path like `src/rules/rule_<name>.c` or `tests/*.c`, only the folder before
the first placeholder must exist. Code blocks are excluded, and so is what gets built.

In comments of .c, .h and .def files, a name like frontier.h or query/frontier.h must be the end of
the path of a file, or be included somewhere as a header of the system.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sources import report, root_argument, with_suffix

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
FENCE = re.compile(r"^\s*(```|~~~)")
PLACEHOLDER = re.compile(r"[<*{…]|\.\.\.")
ELSEWHERE = re.compile(r"^(\w+:|//|#)")
# Not build/, which need not be there.
FOLDERS = r"\.ci|bench|cmake|docs|examples|include|python|scripts|src|tests|tools|web"
# A comment, a literal, or what is between them.
C_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[^/\"']+|.", re.DOTALL
)
# Not a path from the root of the file system, a pattern or the end of an arrow.
C_FILE = re.compile(r"(?<![\w/.<*-])(?:[\w.-]+/)*\w[\w-]*\.(?:c|h|def)\b")
SYSTEM_HEADER = re.compile(r"^\s*#\s*include\s+<([\w./-]+)>", re.M)
REPO_PATH = re.compile(rf"^(?:\./)?((?:{FOLDERS})/[^\s,;:]*)")


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines that are not inside a code block."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def exists(base: Path, path: str) -> bool:
    """True when the path is there, as far as its first placeholder."""
    hit = PLACEHOLDER.search(path)
    if hit:
        path = path[: hit.start()].rpartition("/")[0]
    return (base / path).exists()


def code_paths(line: str) -> Iterator[str]:
    for code in CODE.findall(line):
        for word in code.split():
            hit = REPO_PATH.match(word)
            if hit:
                yield hit[1].rstrip(".")


def link_paths(line: str) -> Iterator[str]:
    for target in LINK.findall(CODE.sub("", line)):
        if not ELSEWHERE.match(target):
            yield target.partition("#")[0]


def document_problems(root: Path, document: Path) -> Iterator[str]:
    for number, line in prose(document.read_text()):
        where = f"{document.relative_to(root)}:{number}"
        for path in code_paths(line):
            if not exists(root, path):
                yield f"{where}: there is no `{path}`"
        for path in link_paths(line):
            if not exists(document.parent, path):
                yield f"{where}: the link to {path} leads nowhere"


def path_ends(path: str) -> Iterator[str]:
    """src/base/err.h, base/err.h, err.h"""
    parts = path.split("/")
    for n in range(len(parts)):
        yield "/".join(parts[n:])


def comment_problems(root: Path, sources: list[Path]) -> Iterator[str]:
    texts = {path.relative_to(root).as_posix(): path.read_text() for path in sources}
    known = {end for name in texts for end in path_ends(name)}
    known |= {header for text in texts.values() for header in SYSTEM_HEADER.findall(text)}
    for name, text in texts.items():
        for token in C_TOKEN.finditer(text):
            for hit in C_FILE.finditer(token[0]) if token[0].startswith(("/*", "//")) else ():
                if hit[0] not in known:
                    line = 1 + text.count("\n", 0, token.start() + hit.start())
                    yield f"{name}:{line}: the comment names {hit[0]}, which does not exist"


def main() -> int:
    root: Path = root_argument(__doc__).parse_args().root
    documents = with_suffix(root, ".md")
    sources = with_suffix(root, ".c", ".h", ".def")
    problems = [p for document in documents for p in document_problems(root, document)]
    problems += comment_problems(root, sources)
    n = len(documents) + len(sources)
    return report(problems, f"links: {n} documents and C files name only what exists")


if __name__ == "__main__":
    sys.exit(main())
