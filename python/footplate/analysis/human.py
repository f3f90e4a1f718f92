# SPDX-License-Identifier: Apache-2.0
"""Numbers as text, written by the code of the program: three significant digits, always with the
unit. Not measured is "-"."""

from __future__ import annotations

from math import nan
from typing import Any


def _program() -> Any:
    """Loaded when the first number is shown: runs of a server are read without it."""
    from .. import _query

    return _query


def _known(v: float | None) -> float:
    return nan if v is None else v


def value(v: float | None, unit: str) -> str:
    """12.3 %, 1.50 GiB, 684 ms"""
    return str(_program().human_value(_known(v), unit))


def duration(seconds: float) -> str:
    """6.1 s, 25 min 00 s, 504 h 46 min"""
    return str(_program().human_duration(seconds))


def share(v: float | None) -> str:
    """A share of 0..1 as 12.3 %"""
    return value(None if v is None else v * 100, "%")


def money(v: float | None) -> str:
    """6.16: to the cent, below 1 to a hundredth of it."""
    return str(_program().human_price(_known(v), None))


def price(v: float | None, currency: str | None = None) -> str:
    """6.16 USD"""
    return str(_program().human_price(_known(v), currency or ""))


def count(n: int) -> str:
    """9999, 1 234 567"""
    return str(_program().human_count(n))
