# SPDX-License-Identifier: Apache-2.0
"""Pieces of HTML for notebooks: escaped, small, no script, no outside address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from typing import Any, Final

from . import human

SEVERITY_COLORS: Final = {"critical": "#b3261e", "warning": "#9a5b00", "info": "#1f5fa8"}

STYLE: Final = (
    "<style>.fp-table{border-collapse:collapse;font:13px system-ui,sans-serif}"
    ".fp-table th,.fp-table td{padding:2px 8px;text-align:right;border-bottom:1px solid #8884;"
    "vertical-align:top}.fp-table th{font-weight:600}"
    ".fp-table .fp-text{text-align:left}.fp-note{color:#777;font:12px system-ui,sans-serif}"
    ".fp-head{font:600 15px system-ui,sans-serif;margin:4px 0}</style>"
)


def text(v: object) -> str:
    """Safe between tags and in attributes; control characters become visible."""
    shown = "".join(c if c >= " " or c == "\n" else "\ufffd" for c in str(v))
    return escape(shown, quote=True)


def number(v: float, digits: int = 5) -> str:
    return human.count(v) if isinstance(v, int) else f"{v:.{digits}g}"


def when(t: datetime) -> str:
    return t.strftime("%Y-%m-%d %H:%M:%S") + f".{t.microsecond // 1000:03d}"


def cell(v: Any) -> tuple[str, bool]:
    """Its text, and whether it is words and not a number."""
    if v is None or v != v:
        return '<span class="fp-note">-</span>', False
    if isinstance(v, bool):
        return ("yes" if v else "no"), False
    if isinstance(v, (int, float)):
        return number(v), False
    if isinstance(v, datetime):
        return when(v), False
    return text(v if not isinstance(v, str) or len(v) <= 300 else v[:300] + "..."), True


def table(names: Sequence[str], rows: Iterable[Sequence[tuple[str, bool]]], note: str = "") -> str:
    """`rows`: of cells as cell() makes them."""
    rows = list(rows)
    words = [any(row[i][1] for row in rows) for i in range(len(names))]

    def line(tag: str, values: Iterable[str]) -> str:
        return "".join(
            f'<{tag} class="fp-text">{v}</{tag}>' if w else f"<{tag}>{v}</{tag}>"
            for v, w in zip(values, words, strict=True)
        )

    head = line("th", [text(n) for n in names])
    body = "".join(f"<tr>{line('td', [c[0] for c in row])}</tr>" for row in rows)
    foot = f'<div class="fp-note">{text(note)}</div>' if note else ""
    return (
        f'{STYLE}<table class="fp-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{foot}"
    )


def head(words: str) -> str:
    return f'<div class="fp-head">{text(words)}</div>'


def badge(severity: str) -> str:
    color = SEVERITY_COLORS.get(severity, "#555")
    return (
        f'<span style="background:{color};color:#fff;border-radius:3px;padding:0 6px;'
        f'font-size:12px">{text(severity)}</span>'
    )
