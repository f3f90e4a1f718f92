# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG, drawn by the code of the program's report: no script, no outside address, readable
on dark and light. Here: what a notebook shows of them, and pictures of pixels for heat maps."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from .html import text

if TYPE_CHECKING:
    from .._query import Panel


class Chart:
    """Shown in a notebook as it is; save(path) writes a separate page."""

    def __init__(self, svg: str, title: str = "") -> None:
        self.svg = svg
        self.title = title

    def _repr_html_(self) -> str:
        return f'<div style="max-width:1200px">{self.svg}</div>'

    def __repr__(self) -> str:
        return f"<footplate chart: {self.title}>"

    def save(self, path: str) -> None:
        page = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{text(self.title)}</title></head><body>{self._repr_html_()}</body></html>\n"
        )
        with open(path, "w", encoding="utf-8") as f:
            f.write(page)


def chart(title: str, panels: list[Panel], columns: int = 1) -> Chart:
    """_query.pyi describes a panel."""
    from .. import _query

    return Chart(_query.chart(title, columns, panels), title)


_VIRIDIS: Final = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


def viridis(share: float) -> tuple[int, int, int]:
    at = min(max(share, 0), 1) * (len(_VIRIDIS) - 1)
    i = min(int(at), len(_VIRIDIS) - 2)
    a, b = _VIRIDIS[i], _VIRIDIS[i + 1]
    return tuple(round(x + (y - x) * (at - i)) for x, y in zip(a, b, strict=True))  # type: ignore[return-value]


def png(rows: Sequence[bytes]) -> str:
    """An address that holds a picture of rows of pixels: 0..200 are half percents, 255 is none."""
    palette = b"".join(bytes(viridis(i / 200)) for i in range(201))
    palette += bytes((160, 160, 160)) * 55
    clear = bytes([255] * 255 + [40])

    def chunk(name: bytes, data: bytes) -> bytes:
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    width = len(rows[0]) if rows else 1
    head = struct.pack(">IIBBBBB", width, len(rows) or 1, 8, 3, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + r for r in rows or [b"\xff"]), 9)
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    whole += chunk(b"PLTE", palette) + chunk(b"tRNS", clear)
    whole += chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return "data:image/png;base64," + b64encode(whole).decode()
