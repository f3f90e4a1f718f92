#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the files of a folder as compressed C arrays, the table of src/serve/assets.h.

    embed_assets.py FOLDER OUT.c

Maps for debuggers are left out. A folder that is not there makes an empty table. The same files
give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import sys
from pathlib import Path

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
HASHED = re.compile(r"-[A-Za-z0-9_-]{8}\.[a-z0-9]+$")  # as the bundler names them
PER_LINE = 20

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tools/embed_assets.py. */
#include "serve/assets.h"

"""


def array(name: str, data: bytes) -> str:
    lines = [
        "    " + "".join(f"{byte}," for byte in data[at : at + PER_LINE])
        for at in range(0, len(data), PER_LINE)
    ]
    return f"static const uint8_t {name}[] = {{\n" + "\n".join(lines) + "\n};\n\n"


def row(number: int, name: str, data: bytes) -> str:
    path = "/" if name == "index.html" else "/" + name
    kind = TYPES.get(Path(name).suffix, "application/octet-stream")
    tag = hashlib.sha256(data).hexdigest()[:16]
    forever = "true" if HASHED.search(name) else "false"
    return (
        f'    {{"{path}", "{kind}", "\\"{tag}\\"", {forever}, '
        f"bytes_{number}, sizeof bytes_{number}, {len(data)}}},\n"
    )


def write(folder: Path, names: list[str]) -> str:
    arrays, rows = "", ""
    for number, name in enumerate(sorted(names)):
        data = (folder / name).read_bytes()
        arrays += array(f"bytes_{number}", gzip.compress(data, 9, mtime=0))
        rows += row(number, name, data)
    table = rows or "    {0},\n"
    return (
        f"{HEAD}{arrays}const struct asset assets[] = {{\n{table}}};\n"
        f"const size_t n_assets = {len(names)};\n"
    )


def files(folder: Path) -> list[str]:
    """The paths below the folder."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".map")
    return [path.relative_to(folder).as_posix() for path in found]


def main() -> int:
    folder, out = map(Path, sys.argv[1:])
    out.write_text(write(folder, files(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
