# SPDX-License-Identifier: Apache-2.0
"""Where a run is read from: its folder, by the C code. server.py has the same for a server."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

from . import health
from .frames import (
    Column,
    Table,
    bools,
    codes,
    floats,
    gather,
    gather_ints,
    ints,
    numpy,
    times,
    view,
)


class RunError(Exception):
    """A run cannot be read, or does not have the requested data."""


class Key(NamedTuple):
    """A series."""

    node: str
    metric: str
    entity: str
    unit: str


class Ask(NamedTuple):
    """Which samples: None and 0 leave it open; a metric that ends in a dot means all below."""

    node: str | None = None
    metric: str | None = None
    entity: str | None = None
    start: int = 0
    end: int = 0


class Source(Protocol):
    """The queries of a Run. Times are ns; tables have the columns that run.py documents."""

    name: str

    def show(self) -> dict[str, Any]: ...
    def series(self) -> list[Key]: ...
    def samples(self, ask: Ask) -> Table: ...
    def points(self, ask: Ask, points: int) -> Table: ...
    def sweeps(self, node: str, series: Sequence[tuple[str, str]]) -> tuple[Any, list[Any]]: ...
    def events(self, start: int, end: int, detail: bool) -> Table: ...
    def steps(self) -> Table: ...
    def stats(self, node: str | None, start: int, end: int, all: bool) -> list[dict[str, Any]]: ...
    def saved(self) -> list[tuple[str, str]]: ...
    def saved_read(self, node: str, file: str) -> bytes: ...
    def health(self) -> dict[str, Any]: ...
    def health_scalar(self, name: str, rank: int, mode: str, points: int) -> dict[str, Any]: ...
    def health_tensors(
        self, statistic: str, match: str | None, rank: int | None, columns: int
    ) -> dict[str, Any]: ...
    def ops(self, rank: int | None, by_module: bool) -> list[dict[str, Any]]: ...
    def breakdown(self, rank: int | None) -> dict[str, Any]: ...
    def check(
        self, settings: list[str], machine: str | None, price: float
    ) -> list[dict[str, Any]]: ...
    def refresh(self) -> None: ...
    def close(self) -> None: ...


def key_columns(keys: Sequence[Key], counts: Sequence[int]) -> dict[str, Column]:
    """node, metric, entity and unit of rows that are stored series by series."""
    rows: Any = array("i")
    np = numpy()
    if np is not None:
        rows = np.repeat(np.arange(len(keys)), counts)
    else:
        for i, n in enumerate(counts):
            rows.extend([i] * n)
    return {
        name: gather([k[i] for k in keys], rows)
        for i, name in enumerate(("node", "metric", "entity", "unit"))
    }


def events_table(
    tracks: Sequence[tuple[Any, ...]],
    words: dict[str, Sequence[str]],
    data: dict[str, Any],
) -> Table:
    """`data`: start, duration (ns), value, name, track, args, kind, category, mode, end."""
    track = data["track"]
    np = numpy()
    ends: Any
    seconds: Any
    if np is not None:
        start, duration = np.asarray(data["start"]), np.asarray(data["duration"])
        ends, seconds = start + duration, duration / 1e9
    else:
        ends = array("q", map(int.__add__, data["start"], data["duration"]))
        seconds = array("d", [d / 1e9 for d in data["duration"]])
    none = -1
    return Table(
        {
            "start": times(data["start"]),
            "end": times(ends),
            "duration_s": floats(seconds),
            "name": Column("category", data["name"], words["name"]),
            "category": Column("category", data["category"], words["category"]),
            "kind": Column("category", data["kind"], words["kind"]),
            "mode": Column("category", data["mode"], words["mode"]),
            "value": floats(data["value"]),
            "node": gather([t[0] for t in tracks], track),
            "rank": gather_ints([t[1] for t in tracks], track, none),
            "pid": gather_ints([t[2] for t in tracks], track),
            "worker": gather_ints([t[3] for t in tracks], track, none),
            "process": gather([t[5] for t in tracks], track),
            "thread": gather([t[6] for t in tracks], track),
            "on": gather(["device" if t[8] else "thread" for t in tracks], track),
            "detail": gather_bools([t[7] for t in tracks], track),
            "args": Column("category", data["args"], words["args"]),
        }
    )


def gather_bools(of_row: Sequence[bool], rows: Any) -> Column:
    np = numpy()
    if np is not None:
        return Column("bool", np.asarray(of_row, dtype=np.int8)[np.asarray(rows)])
    return bools([of_row[r] for r in rows])


_FORMATS: Final = {"int": "q", "ns": "q", "number": "d", "bool": "b", "text": "i", "word": "i"}


def row_column(type: str, data: Any, words: Sequence[str] | None) -> Column:
    """A column of a table of rows: `type` is that of src/base/row_table.h."""
    if words is not None:
        return Column("category", data, words)
    if type.startswith("ns"):
        return times(data, -1 if type.endswith("_or_null") else None)
    if type.startswith("int"):
        return ints(data, -1 if type.endswith("_or_null") else None)
    return bools(data) if type.startswith("bool") else floats(data)


_STEP_COLUMNS: Final = ("node", "rank", "pid", "session", "mode", "step", "start", "end")


def steps_table(columns: dict[str, Column], rest: dict[str, Any]) -> Table:
    """Times are columns of times, "start" instead of "start_ns"; `end` is added."""
    columns["start"] = times(columns.pop("start_ns").data)
    lasted = columns["duration_s"].raw()
    columns["end"] = times(
        array(
            "q", [t + round(d * 1e9) for t, d in zip(columns["start"].raw(), lasted, strict=True)]
        )
    )
    if "loss" not in columns:  # a server that has none leaves it out
        columns["loss"] = floats(array("d", [math.nan]) * len(lasted))
    order = {name: columns.pop(name) for name in _STEP_COLUMNS}
    return Table({**order, **columns}, {"ranks": rest["ranks"], "losses": rest["losses"]})


class Folder:
    """A run's folder."""

    def __init__(self, path: str) -> None:
        from .. import _query

        self._query = _query
        self.name = path
        self._run = self._call(_query.Run, path)

    def _call(self, function: Any, *args: Any) -> Any:
        try:
            return function(*args)
        except self._query.Error as e:
            raise RunError(e.args[0]) from None

    def refresh(self) -> None:
        self._run = self._call(self._query.Run, self.name)

    def close(self) -> None:
        self._run.close()

    def show(self) -> dict[str, Any]:
        return json.loads(self._call(self._run.show))  # type: ignore[no-any-return]

    def series(self) -> list[Key]:
        return [Key(*k) for k in self._call(self._run.series)]

    def samples(self, ask: Ask) -> Table:
        _, words, memory = self._call(self._run.samples, *ask)
        rows = len(memory[0]) // 8
        names = ("node", "metric", "entity", "unit")
        keys = {name: codes(memory[2 + i], rows, words[i]) for i, name in enumerate(names)}
        return Table(
            {"time": times(view(memory[0], "q")), **keys, "value": floats(view(memory[1], "d"))}
        )

    def points(self, ask: Ask, points: int) -> Table:
        listed, t, v, lo, hi = self._call(self._run.points, *ask, points)
        keys = key_columns([Key(*k[:4]) for k in listed], [k[4] for k in listed])
        numbers = {
            name: floats(view(memory, "d"))
            for name, memory in (("value", v), ("min", lo), ("max", hi))
        }
        return Table({"time": times(view(t, "q")), **keys, **numbers})

    def sweeps(self, node: str, series: Sequence[tuple[str, str]]) -> tuple[Any, list[Any]]:
        at, columns = self._call(self._run.sweeps, node, list(series))
        return view(at, "q"), [view(c, "f") for c in columns]

    def events(self, start: int, end: int, detail: bool) -> Table:
        tracks, names, args, kinds, categories, modes, memory = self._call(
            self._run.events, start, end, detail
        )
        layout = (
            ("start", "q"),
            ("duration", "q"),
            ("value", "d"),
            ("name", "i"),
            ("track", "i"),
            ("args", "i"),
            ("kind", "b"),
            ("category", "b"),
            ("mode", "b"),
            ("end", "b"),
        )
        data = {name: view(m, f) for (name, f), m in zip(layout, memory, strict=True)}
        words = {"name": names, "args": args, "kind": kinds, "category": categories, "mode": modes}
        return events_table(tracks, words, data)

    def steps(self) -> Table:
        listed, rest, memory = self._call(self._run.steps)
        columns = {
            name: row_column(type, view(m, _FORMATS[type.split("_or_")[0].split("(")[0]]), words)
            for (name, type, words), m in zip(listed, memory, strict=True)
        }
        return steps_table(columns, json.loads(rest))

    def stats(self, node: str | None, start: int, end: int, all: bool) -> list[dict[str, Any]]:
        return json.loads(self._call(self._run.stats, node, start, end, all))  # type: ignore[no-any-return]

    def saved(self) -> list[tuple[str, str]]:
        return [(node, file) for node, file, _ in self._call(self._run.saved)]

    def saved_read(self, node: str, file: str) -> bytes:
        return self._call(self._run.saved_read, node, file)  # type: ignore[no-any-return]

    def health(self) -> dict[str, Any]:
        return json.loads(self._call(self._run.health))  # type: ignore[no-any-return]

    def health_scalar(self, name: str, rank: int, mode: str, points: int) -> dict[str, Any]:
        code = health.MODES.index(mode)
        return json.loads(self._call(self._run.health_scalar, name, rank, code, points))  # type: ignore[no-any-return]

    def health_tensors(
        self, statistic: str, match: str | None, rank: int | None, columns: int
    ) -> dict[str, Any]:
        found = self._call(
            self._run.health_tensors, statistic, match, -1 if rank is None else rank, columns
        )
        return json.loads(found)  # type: ignore[no-any-return]

    def ops(self, rank: int | None, by_module: bool) -> list[dict[str, Any]]:
        return json.loads(self._call(self._run.ops, rank, by_module))  # type: ignore[no-any-return]

    def breakdown(self, rank: int | None) -> dict[str, Any]:
        return json.loads(self._call(self._run.breakdown, rank))  # type: ignore[no-any-return]

    def check(self, settings: list[str], machine: str | None, price: float) -> list[dict[str, Any]]:
        return json.loads(self._call(self._run.check, settings, machine, price))  # type: ignore[no-any-return]
