#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a document names a path of this tree that is not there.

Looked at are all .md files: relative links, and words in `backticks` that start with a folder of
this tree. In a path like `src/rules/rule_<name>.c` or `tests/*.c`, only the folder before the first
placeholder must exist. Code blocks are left out, and so is what gets built.
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


def main() -> int:
    root: Path = root_argument(__doc__).parse_args().root
    documents = with_suffix(root, ".md")
    problems = [p for document in documents for p in document_problems(root, document)]
    return report(problems, f"links: {len(documents)} documents name only what exists")


if __name__ == "__main__":
    sys.exit(main())
