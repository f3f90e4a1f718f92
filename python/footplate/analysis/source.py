# SPDX-License-Identifier: Apache-2.0
"""Where a run is read from: its folder, by the C code. server.py has the same for a server."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

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
    """What a Run asks. Times are ns; tables have the columns that run.py documents."""

    name: str

    def show(self) -> dict[str, Any]: ...
    def series(self) -> list[Key]: ...
    def samples(self, ask: Ask) -> Table: ...
    def points(self, ask: Ask, points: int) -> Table: ...
    def sweeps(self, node: str, series: Sequence[tuple[str, str]]) -> tuple[Any, list[Any]]: ...
    def events(self, start: int, end: int, detail: bool) -> Table: ...
    def steps(self) -> Table: ...
    def stats(self, node: str | None, start: int, end: int, all: bool) -> list[dict[str, Any]]: ...
    def ops(self, rank: int | None, by_module: bool) -> list[dict[str, Any]]: ...
    def breakdown(self, rank: int | None) -> dict[str, Any]: ...
    def check(
        self, settings: list[str], machine: str | None, price: float
    ) -> list[dict[str, Any]]: ...
    def refresh(self) -> None: ...
    def close(self) -> None: ...


def key_columns(keys: Sequence[Key], counts: Sequence[int]) -> dict[str, Column]:
    """node, metric, entity and unit of rows that stand series by series."""
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


def iteration_columns(
    durations: Sequence[float], between: Sequence[float | None]
) -> dict[str, Column]:
    """An iteration lasts from the begin of a step to the begin of the next; the last step of a rank
    has none."""
    both = zip(durations, between, strict=True)
    return {
        "between_s": floats(list(between)),
        "iteration_s": floats([None if b is None else d + b for d, b in both]),
    }


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
        ranks, modes, parts, rest, memory = self._call(self._run.steps)
        row, step, start, duration, samples, between = (view(m, "q") for m in memory[:6])
        mode, cut, warmup, disturbed = (view(m, "b") for m in memory[6:10])
        ends = array("q", map(int.__add__, start, duration))
        columns = {
            "node": gather([r[0] for r in ranks], row),
            "rank": gather_ints([r[1] for r in ranks], row),
            "pid": gather_ints([r[2] for r in ranks], row),
            "session": gather_ints([r[3] for r in ranks], row),
            "mode": Column("category", mode, modes),
            "step": ints(step),
            "start": times(start),
            "end": times(ends),
            "duration_s": floats([d / 1e9 for d in duration]),
            **iteration_columns(
                [d / 1e9 for d in duration], [None if b < 0 else b / 1e9 for b in between]
            ),
            "samples": ints(samples, -1),
            "cut": bools(cut),
            "warmup": bools(warmup),
            "disturbed": bools(disturbed),
        }
        for part, m in zip(parts, memory[10:], strict=True):
            columns[part + "_s"] = floats(view(m, "d"))
        said = json.loads(rest)
        return Table(columns, {"ranks": said["ranks"], "losses": said["losses"]})

    def stats(self, node: str | None, start: int, end: int, all: bool) -> list[dict[str, Any]]:
        return json.loads(self._call(self._run.stats, node, start, end, all))  # type: ignore[no-any-return]

    def ops(self, rank: int | None, by_module: bool) -> list[dict[str, Any]]:
        return json.loads(self._call(self._run.ops, rank, by_module))  # type: ignore[no-any-return]

    def breakdown(self, rank: int | None) -> dict[str, Any]:
        return json.loads(self._call(self._run.breakdown, rank))  # type: ignore[no-any-return]

    def check(self, settings: list[str], machine: str | None, price: float) -> list[dict[str, Any]]:
        return json.loads(self._call(self._run.check, settings, machine, price))  # type: ignore[no-any-return]
