#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail on functions over 80 lines and files over 900; in src/ on struct tags that exist twice, on
more than 600 files, and when more than 5 % of the functions share their name with another one.
List functions over 50 lines and files over 600, and count lines and asserts per folder of src/.

C functions are found by their braces in the first column, which is where clang-format puts them.
Tables do not count: .def files are left out, and so are the lines of array and struct initialisers
at file level.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sources import report, root_argument, with_suffix

FUNCTION_LIMIT, FUNCTION_NOTE = 80, 50
FILE_LIMIT, FILE_NOTE = 900, 600
SRC_FILES_LIMIT = 600
SHARED_NAMES_LIMIT = 0.05  # of the functions in src/
SHARED_NAMES_SHOWN = 10
NO_NAME = re.compile(r"__attribute__$|[A-Z_]+$")  # of the return type; macros stand for names


@dataclass
class Size:
    """How long a thing is, and the bounds it is held to."""

    where: str
    what: str
    lines: int
    limit: int
    note: int


def c_function_name(lines: list[str], brace: int) -> str:
    """The name before the parameter list of the function whose body opens at lines[brace]."""
    start = brace
    while start > 0 and lines[start - 1].strip() and lines[start - 1][0] not in "#}/":
        start -= 1
    head = " ".join(lines[start:brace])
    macro = re.match(r"([A-Z_]+\([^)]*\))$", head.strip())  # TEST(a_sentence)
    name = macro or re.search(r"(\w+)\s*\(", head)
    return name[1] if name else "?"


def c_functions(lines: list[str]) -> Iterator[tuple[str, int, int]]:
    """(name, first line, number of lines) of each function body, braces included."""
    begin = None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            yield c_function_name(lines, begin), begin + 1, number - begin + 1
            begin = None


def c_table_lines(lines: list[str]) -> int:
    """Lines of initialisers at file level: from `... = {` to `};`, both in the first column."""
    inside, count = False, 0
    for line in lines:
        if not inside and re.match(r"\w.*=\s*\{$", line):
            inside = True
        count += inside
        if line == "};":
            inside = False
    return count


def python_functions(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def python_table_lines(tree: ast.Module) -> int:
    count = 0
    for node in tree.body:
        table = isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            node.value, ast.List | ast.Dict | ast.Tuple | ast.Set
        )
        count += (node.end_lineno or node.lineno) - node.lineno + 1 if table else 0
    return count


def sizes_of(root: Path, path: Path) -> Iterator[Size]:
    shown = str(path.relative_to(root))
    text = path.read_text()
    lines = text.splitlines()
    if path.suffix == ".py":
        tree = ast.parse(text)
        functions, tables = list(python_functions(tree)), python_table_lines(tree)
    elif path.suffix in (".c", ".h"):
        functions, tables = list(c_functions(lines)), c_table_lines(lines)
    else:
        functions, tables = [], 0
    yield Size(shown, "the file", len(lines) - tables, FILE_LIMIT, FILE_NOTE)
    for name, first, length in functions:
        yield Size(f"{shown}:{first}", name, length, FUNCTION_LIMIT, FUNCTION_NOTE)


TAG = re.compile(r"^(?:static )?(?:const )?(?:struct|union|enum) (\w+) \{", re.M)
ASSERT = re.compile(r"\b(?:static_)?assert\(")


def tag_problems(root: Path) -> list[str]:
    first: dict[str, Path] = {}
    problems = []
    for path in with_suffix(root / "src", ".c", ".h"):
        for tag in TAG.findall(path.read_text()):
            other = first.setdefault(tag, path)
            if other != path:
                shown, there = path.relative_to(root), other.relative_to(root)
                problems.append(f"{shown}: the tag {tag} also exists in {there}")
    return problems


def src_problems(root: Path) -> Iterator[str]:
    """Too many files to find one's way in, and names that grep, gdb and perf cannot tell apart."""
    files = with_suffix(root / "src", ".c", ".h", ".def")
    if len(files) > SRC_FILES_LIMIT:
        yield f"src: it has {len(files)} files; the limit is {SRC_FILES_LIMIT}"
    names = Counter(
        name
        for path in files
        if path.suffix != ".def"
        for name, _, _ in c_functions(path.read_text().splitlines())
        if not NO_NAME.match(name)
    )
    shared = {name: n for name, n in names.most_common() if n > 1}
    share = sum(shared.values()) / max(names.total(), 1)
    if share > SHARED_NAMES_LIMIT:
        most = ", ".join(list(shared)[:SHARED_NAMES_SHOWN])
        yield (
            f"src: {share:.1%} of the functions share their name with another one; "
            f"the limit is {SHARED_NAMES_LIMIT:.0%}: {most}"
        )


def count_lines(text: str) -> tuple[int, int]:
    """Lines of code, and lines that are only comment."""
    code = comment = 0
    inside = False
    for line in (line.strip() for line in text.splitlines()):
        if inside or line.startswith(("/*", "//")):
            comment += 1
            inside = "*/" not in line and (inside or line.startswith("/*"))
        elif line:
            code += 1
    return code, comment


def print_folders(root: Path) -> None:
    rows: list[tuple[str, list[int]]] = []
    for folder in sorted(p for p in (root / "src").glob("*") if p.is_dir()):
        texts = [path.read_text() for path in with_suffix(folder, ".c", ".h", ".def")]
        counts = [count_lines(text) for text in texts]
        code, comment = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
        asserts = sum(len(ASSERT.findall(text)) for text in texts)
        rows.append((folder.name, [len(texts), code, comment, asserts]))
    rows.append(("src", [sum(column) for column in zip(*(row[1] for row in rows), strict=True)]))
    print(f"{'folder':10} {'files':>8} {'code':>8} {'comments':>8} {'asserts':>8}")
    for name, numbers in rows:
        print(f"{name:10}", *(f"{number:8}" for number in numbers))


def main() -> int:
    root: Path = root_argument(__doc__).parse_args().root
    files = with_suffix(root, ".c", ".h", ".py", ".sh", ".ts", ".tsx", ".css")
    sizes = [size for path in files for size in sizes_of(root, path)]
    for s in sizes:
        if s.note < s.lines <= s.limit:
            print(f"note: {s.where}: {s.what} has {s.lines} lines; over {s.note}, ask why")
    problems = [
        f"{s.where}: {s.what} has {s.lines} lines; the limit is {s.limit}"
        for s in sizes
        if s.lines > s.limit
    ]
    problems += tag_problems(root)
    problems += src_problems(root)
    print_folders(root)
    return report(problems, f"sizes: {len(files)} files and {len(sizes) - len(files)} functions")


if __name__ == "__main__":
    sys.exit(main())
