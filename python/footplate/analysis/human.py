# SPDX-License-Identifier: Apache-2.0
"""Numbers as text, digit for digit as the program writes them: three significant digits, always
with the unit. Not measured is "-". tests/data/human.tsv holds both to the same text."""

from __future__ import annotations

from math import floor
from typing import Final

_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL: Final = ("", "k", "M", "G")


def _fixed(v: float, places: int) -> str:
    """What rounds to zero has no sign."""
    text = f"{v:.{places}f}"
    return text if text.strip("-0.") else text.lstrip("-")


def _places(v: float) -> int:
    """Digits after the point that make three significant ones of a value below 1000."""
    v = abs(v)
    if v == 0 or v >= 99.95:
        return 0
    return 1 if v >= 9.995 else 2 if v >= 0.9995 else 3


def _scaled(v: float, base: int, prefixes: tuple[str, ...], unit: str) -> str:
    i = 0
    while i + 1 < len(prefixes) and abs(v) >= 999.5:
        v, i = v / base, i + 1
    places = 0 if i == 0 and v == floor(v) else _places(v)
    return f"{_fixed(v, places)} {prefixes[i]}{unit}"


def _seconds(v: float) -> str:
    if v == 0 or abs(v) >= 0.9995:  # what would round up to 1000 ms is a second
        return duration(v)
    small = abs(v) < 999.5e-6
    scaled = v * (1e6 if small else 1e3)
    whole = abs(scaled - round(scaled)) < 1e-9  # the product of a round number need not be round
    return f"{_fixed(scaled, 0 if whole else _places(scaled))} {'µs' if small else 'ms'}"


def _grouped(n: int) -> str:
    """Digits in groups of three from five digits on: 9999, 12 345."""
    return f"{n:,}".replace(",", " ") if abs(n) > 9999 else str(n)


def _plain(v: float) -> str:
    whole = (v == floor(v) or abs(v) >= 999.5) and abs(v) < 1e18
    return _grouped(round(v)) if whole else f"{v:.3g}"


def _bits(v: float) -> str:
    return f"0x{int(v) if 0 < v < 2**63 else 0:x}"


_BY_UNIT: Final = {
    "": _plain,
    "%": lambda v: f"{_fixed(v, 1)} %",
    "B": lambda v: _scaled(v, 1024, _BINARY, "B"),
    "B/s": lambda v: _scaled(v, 1024, _BINARY, "B/s"),
    "1/s": lambda v: _scaled(v, 1000, _DECIMAL, "/s"),
    "s": _seconds,
    "C": lambda v: f"{_fixed(v, 0)} °C",
    "bits": _bits,
}


def value(v: float | None, unit: str) -> str:
    """12.3 %, 1.50 GiB, 684 ms"""
    if v is None or v != v:
        return "-"
    v = v or 0.0  # there is no "-0"
    known = _BY_UNIT.get(unit)
    if known:
        return known(v)
    if unit.startswith("B/"):  # B/h
        return _scaled(v, 1024, _BINARY, unit)
    return f"{_plain(v)} {unit}"


def duration(seconds: float) -> str:
    """6.1 s, 25 min 00 s, 504 h 46 min"""
    s = abs(seconds)
    sign = "-" if seconds < 0 and s * 1e3 > 0.5 else ""
    if s < 0.9995:
        return f"{sign}{s * 1e3:.0f} ms"
    if s < 120:
        return f"{sign}{s:.1f} s"
    if s < 7200:
        return f"{sign}{floor(s / 60)} min {floor(s % 60):02d} s"
    return f"{sign}{floor(s / 3600)} h {floor(s % 3600 / 60):02d} min"


def share(v: float | None) -> str:
    """A share of 0..1 as 12.3 %"""
    return value(None if v is None else v * 100, "%")


def money(v: float | None) -> str:
    """6.16: to the cent, below 1 to a hundredth of it."""
    if v is None or v != v:
        return "-"
    return _fixed(v, 4 if abs(v) < 1 else 2)


def price(v: float | None, currency: str | None = None) -> str:
    """6.16 USD"""
    return "-" if v is None or v != v else f"{money(v)} {currency or 'USD'}"


def count(n: int) -> str:
    """9999, 1 234 567"""
    return _grouped(n)
