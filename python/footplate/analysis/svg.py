# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG: axes, ticks, lines, bars. No script, no outside address; they scale to the page
and are readable on dark and light. Texts go through html.text."""

from __future__ import annotations

import math
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from .html import short, text

COLORS: Final = (
    "#3b7dd8", "#d9822b", "#3a9e6f", "#b5485d", "#7c5cc4", "#8a7a2c", "#2b9aa0", "#c25ba8",
)  # fmt: skip

INK: Final = "#888"
LEFT: Final = 62
TOP: Final = 24
BOTTOM: Final = 34
RIGHT: Final = 12


class Chart:
    """Shown in a notebook as it is; save(path) writes a page of its own."""

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


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers in the range."""
    if not high > low:
        return [low]
    step = (high - low) / about
    power = 10 ** math.floor(math.log10(step))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= step * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


class Panel:
    """One chart: a box with axes at (x, y), data coordinates inside."""

    def __init__(
        self,
        size: tuple[float, float],
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        at: tuple[float, float] = (0, 0),
    ) -> None:
        self.at, self.size = at, size
        self.x_range, self.y_range = _wide(x_range), _wide(y_range)
        self.parts: list[str] = []
        self.left, self.top = at[0] + LEFT, at[1] + TOP
        self.width, self.height = size[0] - LEFT - RIGHT, size[1] - TOP - BOTTOM

    def x(self, v: float) -> float:
        low, high = self.x_range
        return self.left + (v - low) / (high - low) * self.width

    def y(self, v: float) -> float:
        low, high = self.y_range
        return self.top + self.height - (v - low) / (high - low) * self.height

    def title(self, words: str) -> None:
        self.parts.append(
            f'<text x="{self.left:.1f}" y="{self.at[1] + 15:.1f}" font-weight="600" '
            f'fill="currentColor">{text(words)}</text>'
        )

    def x_axis(self, label: str, shown: Callable[[float], str] = short) -> None:
        base = self.top + self.height
        self.parts.append(_line(self.left, base, self.left + self.width, base))
        for t in ticks(*self.x_range, about=max(int(self.width // 90), 2)):
            self.parts.append(_line(self.x(t), base, self.x(t), base + 4))
            self.parts.append(_text(self.x(t), base + 15, shown(t), "middle"))
        self.parts.append(_text(self.left + self.width, base + 29, label, "end"))

    def y_axis(self, label: str = "", shown: Callable[[float], str] = short) -> None:
        for t in ticks(*self.y_range, about=max(int(self.height // 40), 2)):
            y = self.y(t)
            self.parts.append(_line(self.left, y, self.left + self.width, y, 0.25))
            self.parts.append(_text(self.left - 6, y + 4, shown(t), "end"))
        if label:
            self.parts.append(_text(self.at[0] + 2, self.at[1] + 15, label, "start"))

    def line(self, points: Sequence[tuple[float, float]], color: str, tip: str = "") -> None:
        """Breaks where a value is NaN."""
        path, pen = [], "M"
        for px, py in points:
            if py != py:
                pen = "M"
                continue
            path.append(f"{pen}{self.x(px):.1f} {self.y(py):.1f}")
            pen = "L"
        shape = f'<path d="{"".join(path)}" fill="none" stroke="{color}" stroke-width="1.3">'
        self.parts.append(f"{shape}{_tip(tip)}</path>")

    def band(self, points: Sequence[tuple[float, float, float]], color: str) -> None:
        """Between two curves: (x, low, high)."""
        good = [p for p in points if p[1] == p[1]]
        there = [f"{self.x(x):.1f} {self.y(hi):.1f}" for x, _, hi in good]
        back = [f"{self.x(x):.1f} {self.y(lo):.1f}" for x, lo, _ in reversed(good)]
        if good:
            shape = "M" + "L".join(there + back) + "Z"
            self.parts.append(f'<path d="{shape}" fill="{color}" fill-opacity="0.18"/>')

    def bar(self, x0: float, x1: float, value: float, color: str, tip: str) -> None:
        left, right = self.x(x0), self.x(x1)
        top = self.y(value)
        self.parts.append(
            f'<rect x="{left + 0.3:.1f}" y="{top:.1f}" width="{max(right - left - 0.6, 0.4):.1f}" '
            f'height="{max(self.top + self.height - top, 0):.1f}" fill="{color}">'
            f"{_tip(tip)}</rect>"
        )

    def row(self, row: float, value: float, color: str, tip: str) -> None:
        """A bar along x, from the left edge."""
        right = self.x(value)
        self.parts.append(
            f'<rect x="{self.left:.1f}" y="{self.y(row) - 7:.1f}" '
            f'width="{max(right - self.left, 0.6):.1f}" height="14" fill="{color}">'
            f"{_tip(tip)}</rect>"
        )

    def dot(self, x: float, y: float, color: str, tip: str) -> None:
        self.parts.append(
            f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="1.9" fill="{color}">'
            f"{_tip(tip)}</circle>"
        )

    def box(self, row: float, five: Sequence[float], color: str, tip: str) -> None:
        """Along x: whiskers at the first and last, a box from the second to the fourth."""
        p5, p25, p50, p75, p95 = (self.x(v) for v in five)
        y, h = self.y(row), 7.0
        for a, b in ((p5, p25), (p75, p95)):
            self.parts.append(_line(a, y, b, y))
        for v in (p5, p95):
            self.parts.append(_line(v, y - h * 0.6, v, y + h * 0.6))
        self.parts.append(
            f'<rect x="{p25:.1f}" y="{y - h:.1f}" width="{max(p75 - p25, 1):.1f}" '
            f'height="{2 * h:.1f}" fill="{color}" fill-opacity="0.45" stroke="{color}">'
            f"{_tip(tip)}</rect>"
        )
        self.parts.append(
            f'<path d="M{p50:.1f} {y - h:.1f}V{y + h:.1f}" stroke="{color}" stroke-width="2"/>'
        )

    def label(self, row: float, words: str) -> None:
        """Left of the box, beside a row."""
        self.parts.append(_text(self.left - 6, self.y(row) + 4, words, "end"))

    def legend(self, named: Iterable[tuple[str, str]]) -> None:
        x = self.left + self.width
        for name, color in reversed(list(named)):
            self.parts.append(_text(x, self.at[1] + 15, name, "end", color))
            x -= 7 * len(name) + 12

    def svg(self) -> str:
        return "".join(self.parts)


def _wide(r: tuple[float, float]) -> tuple[float, float]:
    low, high = r
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _tip(words: str) -> str:
    return f"<title>{text(words)}</title>" if words else ""


def _line(x0: float, y0: float, x1: float, y1: float, opacity: float = 1) -> str:
    faint = f' stroke-opacity="{opacity}"' if opacity != 1 else ""
    return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{INK}"{faint}/>'


def _text(x: float, y: float, words: str, anchor: str, color: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{text(words)}</text>'
    )


def drawing(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """A whole picture; `label` says what it is to who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="width:100%;max-width:{width:.0f}px" font-family="system-ui,sans-serif" '
        f'font-size="11" role="img" aria-label="{text(label)}">{"".join(parts)}</svg>'
    )


# ---- pictures ----

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
