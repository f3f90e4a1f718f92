#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a file in src/ includes from a folder that src/LAYERS does not grant it.

src/LAYERS has one line per folder, `folder: the folders it may include`, where `*` grants all.
Beyond the includes this checks that every folder has its line, that every grant is used, that the
grants have no circle, that folders are one level deep, and that no two files have the same name. A
file that calls a function of another folder must include a header of that folder, itself or by a
header of its own folder: what it depends on can be read at its top.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sources import report, root_argument, with_suffix

INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')
PUBLIC = "footplate"  # include/footplate/ is for everybody
Layers = dict[str, set[str]]


def read_layers(path: Path) -> Layers:
    may: Layers = {}
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            folder, _, allowed = line.partition(":")
            may[folder.strip()] = set(allowed.split())
    return may


def folder_problems(src: Path, may: Layers) -> list[str]:
    """Folders and LAYERS must tell of each other."""
    here = {path.name for path in src.iterdir() if path.is_dir()}
    problems = [f"src/{name}/: not in src/LAYERS" for name in sorted(here - may.keys())]
    for folder, allowed in may.items():
        for name in sorted(allowed - may.keys() - {"*"}):
            problems.append(f"src/LAYERS: {folder} is granted {name}, which has no line")
    return problems


def circle_problems(may: Layers) -> list[str]:
    """Take away folders that need nothing that is left; what stays goes round in a circle."""
    left = {folder: allowed - {folder, "*"} for folder, allowed in may.items()}
    while free := [folder for folder, allowed in left.items() if not allowed & left.keys()]:
        for folder in free:
            del left[folder]
    return [f"src/LAYERS: a circle through {', '.join(sorted(left))}"] if left else []


def include_problem(path: Path, quote: str, target: str, may: Layers) -> str | None:
    """Why this include is not allowed, or None. One without a folder means the own folder."""
    me = path.parent.name
    folder, slash, _ = target.partition("/")
    if quote == "<" and folder not in may:
        return None
    if not slash:
        missing = not (path.parent / target).exists()
        return f"{target} is not in src/{me}/; name its folder" if missing else None
    if ".." in target.split("/"):
        return f"write {target} as a path from src/"
    if folder in (me, PUBLIC) or folder in may.get(me, set()):
        return None
    if folder not in may:
        return f"there is no folder src/{folder}/ in src/LAYERS"
    return None if "*" in may.get(me, set()) else f"{me}/ may not include {folder}/"


def file_problems(root: Path, path: Path, may: Layers) -> list[str]:
    shown = path.relative_to(root)
    if len(path.relative_to(root / "src").parts) != 2:
        return [f"{shown}: files of src/ live exactly one folder deep"]
    problems = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        hit = INCLUDE.match(line)
        why = include_problem(path, hit[1], hit[2], may) if hit else None
        if why:
            problems.append(f"{shown}:{number}: {why}")
    return problems


def unused_grants(src: Path, files: list[Path], may: Layers) -> list[str]:
    used: Layers = {folder: set() for folder in may}
    for path in files:
        for hit in filter(None, map(INCLUDE.match, path.read_text().splitlines())):
            used.setdefault(path.parent.name, set()).add(hit[2].partition("/")[0])
    return [
        f"src/LAYERS: {folder} is granted {name} and does not include it"
        for folder, allowed in may.items()
        for name in sorted(allowed - used[folder] - {"*"})
    ]


COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
DECLARED = re.compile(r"^(?!static|typedef|return)\w[\w *]*?[ *](\w+)\((?!\*)", re.M)
DEFINED = re.compile(r"^static[^;{=(]*?\b(\w+)\(", re.M)
CALLED = re.compile(r"\b([a-z]\w*)\(")


def bare(path: Path) -> str:
    """The code of a file, without comments and texts."""
    return COMMENT.sub(" ", path.read_text())


def includes(path: Path) -> set[str]:
    return {hit[2] for hit in map(INCLUDE.match, path.read_text().splitlines()) if hit}


def hidden_dependencies(root: Path, files: list[Path]) -> list[str]:
    """Calls into folders that neither the file nor the headers of its folder that it has name."""
    src = root / "src"
    owner: dict[str, set[str]] = {}
    for path in files:
        for name in DECLARED.findall(bare(path)) if path.suffix == ".h" else ():
            owner.setdefault(name, set()).add(path.parent.name)
    has = {path.relative_to(src).as_posix(): includes(path) for path in files}
    problems = []
    for path in (path for path in files if path.suffix != ".def"):
        me = path.parent.name
        near = {name for name in has[path.relative_to(src).as_posix()] if name.startswith(f"{me}/")}
        named = {f.partition("/")[0] for n in near for f in has.get(n, ())} | {me}
        named |= {name.partition("/")[0] for name in has[path.relative_to(src).as_posix()]}
        code = bare(path)
        foreign = set(CALLED.findall(code)) - set(DEFINED.findall(code))
        missing = {
            folder: name
            for name in sorted(foreign, reverse=True)
            for folder in owner.get(name, ())
            if len(owner[name]) == 1 and folder not in named
        }
        for folder, name in sorted(missing.items()):
            shown = path.relative_to(root)
            problems.append(f"{shown}: calls {name}() but includes nothing of {folder}/")
    return problems


def name_problems(root: Path, files: list[Path]) -> list[str]:
    first: dict[str, Path] = {}
    problems = []
    for path in files:
        other = first.setdefault(path.name, path)
        if other is not path:
            problems.append(f"{path.relative_to(root)}: same name as {other.relative_to(root)}")
    return problems


def main() -> int:
    root: Path = root_argument(__doc__).parse_args().root
    src = root / "src"
    if not (src / "LAYERS").exists():
        return report(["src/LAYERS: missing"], "")
    may = read_layers(src / "LAYERS")
    files = with_suffix(src, ".c", ".h", ".def")
    problems = folder_problems(src, may) + circle_problems(may) + name_problems(root, files)
    problems += unused_grants(src, files, may) + hidden_dependencies(root, files)
    for path in files:
        problems += file_problems(root, path, may)
    return report(problems, f"layers: {len(files)} files in {len(may)} folders keep to src/LAYERS")


if __name__ == "__main__":
    sys.exit(main())
