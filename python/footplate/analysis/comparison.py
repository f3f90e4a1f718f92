# SPDX-License-Identifier: Apache-2.0
"""Two runs, or two groups of runs, side by side."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from . import html
from .frames import Frames, Table
from .run import Run, open
from .source import RunError

_WORDS = {
    "faster": "B is faster",
    "slower": "B is slower",
    "no_difference": "No measurable difference",
    "not_comparable": "Step times cannot be compared",
}

RunLike = str | os.PathLike[str] | Run


def _path(run: RunLike, dir: Any) -> str:
    if isinstance(run, Run):
        path = run.path
    else:
        with open(run, dir) as found:
            path = found.path
    if path.startswith("http"):
        raise RunError("both runs must be folders, or be on the same server")
    return path


def compare(
    a: RunLike | Iterable[RunLike],
    b: RunLike | Iterable[RunLike],
    dir: str | os.PathLike[str] | None = None,
    *,
    price_a: float | None = None,
    price_b: float | None = None,
    confidence: float = 0.95,
    steps: tuple[int, int] | None = None,
    frames: str | None = None,
) -> Comparison:
    """Compare two runs, or two groups of runs, as `footplate compare` does. A side is
    a run (as open() takes it, or an open one), or several that are taken together. Prices are of
    one machine and hour. steps=(a, b): only these, both included."""
    sides = [[x] if isinstance(x, (str, os.PathLike, Run)) else list(x) for x in (a, b)]
    first = sides[0][0] if sides[0] else None
    if isinstance(first, Run) and first.path.startswith("http"):
        from .server import compare_there

        return Comparison(compare_there(sides), frames)
    from .. import _query

    paths = [[_path(x, dir) for x in side] for side in sides]
    try:
        text = _query.compare(
            paths[0], paths[1], price_a or 0.0, price_b or 0.0, confidence, *(steps or (-1, -1))
        )
    except _query.Error as e:
        raise RunError(e.args[0]) from None
    return Comparison(json.loads(text), frames)


class Comparison:
    """The output of `footplate compare --json`: `c.verdict`, `c["steps"]`, `c.json`."""

    def __init__(self, data: dict[str, Any], frames: str | None = None) -> None:
        self.json = data
        self._frame = Frames(frames)

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def __contains__(self, key: object) -> bool:
        return key in self.json

    @property
    def verdict(self) -> str:
        """faster, slower, no_difference or not_comparable"""
        return str(self.json["verdict"])

    @property
    def sentence(self) -> str:
        return str(self.json["sentence"])

    @property
    def why(self) -> str:
        return str(self.json["why"])

    def table(self, name: str) -> Any:
        """A list of the output as a frame: "phases", "gpu_parts", "parts" (host time), "numbers",
        "utilization", "operators", ..."""
        rows = self.json.get(name)
        if not isinstance(rows, list):
            there = [k for k, v in self.json.items() if isinstance(v, list)]
            raise KeyError(f"no table '{name}'; available: {', '.join(there)}")
        return self._frame(_table(rows))

    def __repr__(self) -> str:
        return f"<footplate.Comparison {self.verdict}: {self.sentence}>"

    def _repr_html_(self) -> str:
        noise = self.json.get("may_be_noise")
        title = "Possibly noise" if noise else _WORDS.get(self.verdict, self.verdict)
        out = [html.head(title)]
        out.append(f"<div>{html.text(self.sentence)}</div>")
        out.append(f"<div class='fp-note'>{html.text(self.why)}</div>")
        for key, rows in self.json.items():
            if isinstance(rows, list) and rows and isinstance(rows[0], dict):
                out += [html.head(key), _table(rows[:20])._repr_html_()]
        return "<div style='font:14px system-ui,sans-serif'>" + "".join(out) + "</div>"


def _flat(row: dict[str, Any], before: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for k, v in row.items():
        if isinstance(v, dict):
            out |= _flat(v, f"{before}{k}.")
        else:
            out[before + k] = v
    return out


def _table(rows: list[dict[str, Any]]) -> Table:
    flat = [_flat(r) for r in rows]
    names = list(dict.fromkeys(k for r in flat for k in r))

    def kind(name: str) -> str:
        values = [r.get(name) for r in flat]
        good = [v for v in values if v is not None]
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in good):
            return "float"
        return "object"

    return Table.of_rows(flat, {n: kind(n) for n in names})
