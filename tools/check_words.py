#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when text that users meet has wording that they would have to decode.

Looks at string literals in src/ and python/footplate, at strings and markup text in web/src, and at
README.md and docs/. Of comments only those of C in src/ are read, for the few words of
IN_COMMENTS. A correct use of a banned word is allowed by a
phrase in tools/words_allowed.txt; a hit inside of such a phrase is no problem.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sources import report, root_argument, walk

# (pattern, what to write instead). Patterns match whole words, in any case.
BANNED = [
    (r"told|tells?|said|says?", "report, record, print or show"),
    (r"nobody|whoever|somebody|anybody", "the component by its name, or the passive"),
    (r"stands?|stood", "is, is listed, or another plain verb"),
    (r"lives|lived", "is, runs, is stored"),
    (r"go(?:es)? on|went on|going on", "continues, is running"),
    (r"for ever", "forever, permanently"),
    (r"on the mean", "on average"),
    (r"in all(?=\s*(?:[.,;:)]|$))", "in total"),
    (r"behind", "after"),
    (r"(?<!there )(?:is|are|was|were) no(?! longer)", "is not a ..."),
    (r"is none of", "is not one of"),
    (r"(?<!there )is nothing (?:to|that)", "is not a valid ..."),
    (r"by (?:itself|themselves)", "automatically"),
    (r"(?:that|which|who|what|it|one|settings|setting) counts?", "applies, is used, wins"),
    (r"stretch(?:es)?", "interval, time range"),
    (r"is (?:not )?(?:there|here)(?! (?:an?|any|no|is|to|that)\b)", "exists, is installed"),
    (r"an own", "a custom, a separate"),
    (r"h(?:o|e)lds? (?:\w+ ){0,3}(?:back|up)", "slows down"),
    (r"begin of|from the begin", "start of"),
    (r"work(?:s|ed)? off", "process"),
    (r"(?:was|were) heard", "was recorded"),
    (r"runs? a side", "runs per group"),
    (r"so many (?:rows|points|steps|slices|columns)", "at most N ..."),
    (r"(?:word|words) too many", "unexpected argument"),
    (r"exclude each other", "cannot be combined"),
    (r"would refute", "Not a problem if"),
    (r"data points?|sweeps?", "reading"),
    (r"judg(?:e|es|ed|ing|ements?)", "evaluate"),
    (r"steps? (?:was|were) seen|steps? seen", "steps were detected"),
    (r"texts", "strings"),
    (r"is left out", "is ignored, is excluded"),
]

# In comments of C: private names for what the field has a word for.
IN_COMMENTS = [
    (r"told", "reported, recorded, set"),
    (r"piles?", "packed table, column buffer"),
    (r"crews?", "parallel_for, workers"),
    (r"stretch(?:es)?", "span, interval"),
    (r"squeezed?", "gzip, compress"),
    (r"shed", "madvise, release"),
    (r"said|says", "reports, states, shows, defines"),
    (r"nobody|anybody|somebody|whoever", "the component by its name, or the passive"),
    (r"stands?|stood", "is, is listed, or another plain verb"),
    (r"look(?:s|ed|ing)? at", "read, check, inspect"),
    (r"asked|asking", "request, call"),
    (r"pieces?", "part, segment, span, block"),
    (r"of its own accord", "automatically"),
    (r"mended", "repaired"),
    (r"go(?:es)? on|went on", "continues"),
]


def compiled(words: str) -> re.Pattern[str]:
    spaced = words.replace("there )", "there\\s)").replace(" ", r"\s+")  # also over a line's end
    return re.compile(rf"\b(?:{spaced})(?!\w)", re.I)


COMPILED = [(compiled(words), instead) for words, instead in BANNED]
COMPILED_COMMENTS = [(compiled(words), instead) for words, instead in IN_COMMENTS]

C_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\\\n|\s+|.', re.DOTALL
)
COMMENT_LINE = re.compile(r"^[ \t]*(?:\*(?!/)|//)", re.MULTILINE)  # what begins a line of one
TS_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`'
    r"|(?<=[\w}>/])>[^<>{}=;]+(?=[<{])|.",
    re.DOTALL,
)

Text = tuple[int, str]  # the line that it begins on, and the text


def c_texts(source: str) -> Iterator[Text]:
    """String literals, neighbours joined as the compiler joins them; not those of asserts."""
    line, start, joined, statement = 1, 0, "", ""
    for token in C_TOKEN.findall(source):
        if token[0] == '"':
            start = start or line
            joined += token[1:-1]
        elif not token.isspace() and token != "\\\n" and not token.startswith(("//", "/*")):
            if start and "assert" not in statement:
                yield start, joined.replace("\\n", "\n").replace('\\"', '"')
            start, joined = 0, ""
            statement = "" if token in ";{}" else statement + token
        line += token.count("\n")
    if start:
        yield start, joined.replace("\\n", "\n").replace('\\"', '"')


def c_comments(source: str) -> Iterator[Text]:
    line = 1
    for token in C_TOKEN.findall(source):
        if token.startswith(("/*", "//")):
            yield line, token
        line += token.count("\n")


def docstrings(tree: ast.AST) -> set[int]:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, owners) and ast.get_docstring(node) is not None:
            found.add(id(node.body[0].value))  # type: ignore[attr-defined]
    return found


def python_texts(source: str) -> Iterator[Text]:
    tree = ast.parse(source)
    inside = docstrings(tree)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
        ):
            yield node.lineno, node.value


def web_texts(source: str) -> Iterator[Text]:
    line = 1
    for token in TS_TOKEN.findall(source):
        if token[0] in "\"'`>" and len(token) > 2:
            yield line, re.sub(r"\$\{[^}]*\}", "0", token.strip("\"'`>"))
        line += token.count("\n")


def plain_texts(source: str) -> Iterator[Text]:
    """Paragraphs and list items, so that a phrase may go over the end of a line."""
    start, lines = 1, list[str]()
    for n, line in enumerate(source.splitlines() + [""], 1):
        if lines and (not line.strip() or re.match(r"\s*([|#>*-]|\d+\.) ?", line)):
            yield start, "\n".join(lines)
            lines = []
        if not lines:
            start = n
        if line.strip():
            lines.append(line)


READERS = {
    ".c": c_texts,
    ".h": c_texts,
    ".def": c_texts,
    ".py": python_texts,
    ".ts": web_texts,
    ".tsx": web_texts,
    ".md": plain_texts,
}
PLACES = ("src", "python/footplate", "web/src", "docs", "README.md")


def is_below(name: str, places: Iterable[str]) -> bool:
    return any(name == place or name.startswith(place + "/") for place in places)


def allowed_phrases(root: Path) -> list[re.Pattern[str]]:
    path = root / "tools" / "words_allowed.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    phrases = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return [re.compile(r"\s+".join(map(re.escape, p.split())), re.I) for p in phrases]


def hits(text: str, allowed: list[re.Pattern[str]]) -> Iterator[tuple[int, str, str]]:
    """(offset, what was found, what to write) of each banned wording in one text."""
    fine = [m.span() for p in allowed for m in p.finditer(text)]
    for pattern, instead in COMPILED:
        for m in pattern.finditer(text):
            if " " in text and not any(a <= m.start() and m.end() <= b for a, b in fine):
                yield m.start(), m[0], instead


def comment_problems(source: str, name: str) -> Iterator[str]:
    for line, comment in c_comments(source):
        text = COMMENT_LINE.sub(lambda m: " " * len(m[0]), comment)
        for pattern, instead in COMPILED_COMMENTS:
            for m in pattern.finditer(text):
                at_line = line + text.count("\n", 0, m.start())
                found = " ".join(m[0].split())
                yield f'{name}:{at_line}: "{found}" in a comment (write: {instead})'


def problems_of(path: Path, name: str, allowed: list[re.Pattern[str]]) -> Iterator[str]:
    if READERS[path.suffix] is c_texts:
        yield from comment_problems(path.read_text(), name)
    for line, text in READERS[path.suffix](path.read_text()):
        for at, found, instead in hits(text, allowed):
            shown = " ".join(text[max(0, at - 40) : at + 50].split())
            at_line = line + (text.count("\n", 0, at) if path.suffix == ".md" else 0)
            yield f'{name}:{at_line}: "{" ".join(found.split())}" (write: {instead}): {shown}'


def main() -> int:
    parser = root_argument(__doc__)
    parser.add_argument("place", nargs="*", help="only these folders or files, from the root")
    args = parser.parse_args()
    root: Path = args.root
    allowed = allowed_phrases(root)
    problems: list[str] = []
    n = 0
    for path in walk(root):
        name = path.relative_to(root).as_posix()
        if path.suffix not in READERS or not is_below(name, PLACES):
            continue
        if args.place and not is_below(name, args.place):
            continue
        n += 1
        problems += problems_of(path, name, allowed)
    return report(problems, f"words: {n} files are in plain words")


if __name__ == "__main__":
    sys.exit(main())
