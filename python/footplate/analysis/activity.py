# SPDX-License-Identifier: Apache-2.0
"""Events: which belong to which step, which are wanted, and what was going on when."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from .calc import inside, quantile
from .frames import Table, numpy

NO_STEP: Final = -(2**63)


class EventAsk(NamedTuple):
    """Which events; None: all."""

    name: str | Iterable[str] | None
    category: str | Iterable[str] | None
    node: str | None
    rank: int | None
    steps: tuple[int, int] | None
    regex: str | None


def _set(v: str | Iterable[str] | None) -> set[str] | None:
    if v is None:
        return None
    return {v} if isinstance(v, str) else set(v)


def _accepted(words: Sequence[str], wanted: Any) -> list[bool]:
    return [wanted(w) for w in words]


def choose(table: Table, ask: EventAsk) -> Table:
    """The selected events."""
    tests: list[tuple[Any, Any]] = []  # column's raw numbers, test of one
    names, categories = _set(ask.name), _set(ask.category)
    pattern = re.compile(ask.regex) if ask.regex else None
    for column, wanted in (
        ("name", names and names.__contains__),
        ("name", pattern and (lambda w: pattern.search(w) is not None)),
        ("category", categories and categories.__contains__),
        ("node", ask.node and (lambda w: w == ask.node)),
    ):
        if wanted:
            good = _accepted(table[column].words, wanted)
            tests.append((table[column].data, good))
    rows: Any = None
    np = numpy()
    if np is not None:
        keep = np.ones(len(table), dtype=bool)
        for data, good in tests:
            keep &= np.asarray(good, dtype=bool)[np.asarray(data)]
        if ask.rank is not None:
            keep &= np.asarray(table["rank"].data) == ask.rank
        if ask.steps is not None:
            step = np.asarray(table["step"].data)
            keep &= (step >= ask.steps[0]) & (step <= ask.steps[1])
        if keep.all():
            return table
        rows = np.flatnonzero(keep)
    else:
        rank, step = table["rank"].data, table["step"].data
        low, high = ask.steps or (0, 0)
        rows = [
            i
            for i in range(len(table))
            if all(good[data[i]] for data, good in tests)
            and (ask.rank is None or rank[i] == ask.rank)
            and (ask.steps is None or low <= step[i] <= high)
        ]
    return table.take(rows)


def steps_of(events: Table, steps: Table) -> Any:
    """The step of its process in which each event began; NO_STEP: none."""
    begins, ends = steps["start"].raw(), steps["end"].raw()
    numbers = steps["step"].raw()
    by_process: dict[tuple[Any, Any], list[int]] = {}
    for i, key in enumerate(zip(steps["node"], steps["pid"].data, strict=True)):
        by_process.setdefault(key, []).append(i)
    np = numpy()
    out: Any = (
        np.full(len(events), NO_STEP) if np is not None else array("q", [NO_STEP] * len(events))
    )
    words = events["node"].words
    node, pid = events["node"].data, events["pid"].data
    for (of_node, of_pid), rows in by_process.items():
        if of_node not in words:
            continue
        code = words.index(of_node)
        if np is not None:
            mine = np.flatnonzero((np.asarray(node) == code) & (np.asarray(pid) == of_pid))
            at = np.asarray(events["start"].data)[mine]
        else:
            mine = [i for i in range(len(events)) if node[i] == code and pid[i] == of_pid]
            at = [events["start"].data[i] for i in mine]
        found = inside([begins[r] for r in rows], [ends[r] for r in rows], at)
        for i, f in zip(mine, found, strict=True):
            if f >= 0:
                out[i] = numbers[rows[f]]
    return out


_LANE: Final = ("node", "rank", "pid", "thread", "category", "name")


def _spans(events: Table) -> list[int]:
    kinds = [k in ("span", "step") for k in events["kind"].words]
    return [i for i, k in enumerate(events["kind"].data) if kinds[k]]


def between(events: Table, start: int, end: int) -> Table:
    """Events in the interval, cut at its ends, longest first. `share` is of the interval."""
    groups: dict[tuple[Any, ...], list[float]] = {}
    begin, finish = events["start"].data, events["end"].data
    lane = [events[c] for c in _LANE]
    for i in _spans(events):
        s = (min(int(finish[i]), end) - max(int(begin[i]), start)) / 1e9
        if s >= 0:
            groups.setdefault(tuple(c[i] for c in lane), []).append(s)
    rows = []
    for key, seconds in groups.items():
        seconds.sort()
        rows.append(
            dict(zip(_LANE, key, strict=True))
            | {
                "count": len(seconds),
                "total_s": sum(seconds),
                "p50_s": quantile(seconds, 0.5),
                "p95_s": quantile(seconds, 0.95),
                "max_s": seconds[-1],
                "share": sum(seconds) / ((end - start) / 1e9) if end > start else None,
            }
        )
    rows.sort(key=lambda r: -r["total_s"])
    kinds = dict.fromkeys(_LANE, "category") | {"rank": "int?", "pid": "int", "count": "int"}
    kinds |= dict.fromkeys(("total_s", "p50_s", "p95_s", "max_s", "share"), "float")
    return Table.of_rows(rows, kinds, {"start_ns": start, "end_ns": end})


def at(events: Table, moments: Sequence[int]) -> Table:
    """In how many of the moments each name was going on, by thread; each moment counts once."""
    order = sorted(moments)
    lane = [events[c] for c in _LANE]
    begin, finish = events["start"].data, events["end"].data
    hits: dict[tuple[Any, ...], set[int]] = {}
    for i in _spans(events):
        lo, hi = bisect_left(order, int(begin[i])), bisect_left(order, int(finish[i]))
        if hi > lo:
            hits.setdefault(tuple(c[i] for c in lane), set()).update(range(lo, hi))
    rows = [
        dict(zip(_LANE, key, strict=True)) | {"hits": len(h), "share": len(h) / len(order)}
        for key, h in hits.items()
    ]
    rows.sort(key=lambda r: -r["hits"])
    kinds = dict.fromkeys(_LANE, "category") | {"rank": "int?", "pid": "int"}
    return Table.of_rows(rows, kinds | {"hits": "int", "share": "float"})
