# SPDX-License-Identifier: Apache-2.0
"""Data loading: creation of iterators, lifetime of workers, waiting for batches, and the time from
one batch to the next. Outliers took at least `factor` times the median."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from .calc import median
from .frames import Frames, Table

START: Final = "loader.start"
GETNEXT: Final = "data"
_FACTS: Final = {
    "loader.num_workers": "num_workers",
    "loader.batch_size": "batch_size",
    "loader.prefetch_factor": "prefetch_factor",
    "loader.pin_memory": "pin_memory",
    "loader.persistent_workers": "persistent_workers",
}
_WHO: Final = ("node", "rank", "pid")


class _Row(NamedTuple):
    """One thing that took time, and whose it is."""

    group: dict[str, Any]
    start: int
    end: int
    more: dict[str, Any]

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9


def arguments(text: str | None) -> dict[str, str]:
    """ "key=value" lines of an event."""
    pairs = (line.partition("=") for line in (text or "").split("\n") if "=" in line)
    return {k: v for k, _, v in pairs}


class Loader:
    """Each method returns a row for each group; with outliers=True, the outliers."""

    def __init__(self, events: Table, frame: Frames) -> None:
        self._events = events
        self._frame = frame

    def initialization(self, *, outliers: bool = False, factor: float = 2.0) -> Any:
        """Creation of iterators and start of their workers, by process and loader settings."""
        rows = self._rows(lambda e: e.name == START and e.kind == "span", self._settings)
        kinds = dict.fromkeys((*_FACTS.values(),), "int?")
        return self._answer(rows, kinds, {}, outliers, factor)

    def workers(self, *, outliers: bool = False, factor: float = 2.0) -> Any:
        """Lifetime of workers, from the first event to the last, or as a timeline."""
        rows = self._rows(
            lambda e: e.category == "loader" and "DataLoaderWorker" in (e.name, e.thread),
            lambda e: {},
            lambda e: {"worker": _whole(arguments(e.args).get("worker_id"))},
        )
        return self._answer(rows or self._lives(), {}, {"worker": "int?"}, outliers, factor)

    def getnext(self, *, outliers: bool = False, factor: float = 2.0) -> Any:
        """Waiting for the next batch in the training loop."""
        rows = self._rows(self._is_getnext, lambda e: {}, lambda e: {"step": e.step})
        return self._answer(rows, {}, {"step": "int?"}, outliers, factor)

    def batch_time(self, *, outliers: bool = False, factor: float = 2.0) -> Any:
        """Time from the start of a fetch to the start of the next in the same process."""
        fetches = self._rows(self._is_getnext, lambda e: {}, lambda e: {"step": e.step})
        fetches.sort(key=lambda r: (r.group["node"], r.group["pid"], r.start))
        rows = [
            _Row(a.group, a.start, b.start, a.more)
            for a, b in zip(fetches, fetches[1:], strict=False)
            if a.group == b.group
        ]
        return self._answer(rows, {}, {"step": "int?"}, outliers, factor)

    def fetch(self, *, outliers: bool = False, factor: float = 2.0) -> Any:
        """Time of workers making batches."""
        rows = self._rows(
            lambda e: e.name == "worker.fetch", lambda e: {}, lambda e: {"worker": e.worker}
        )
        return self._answer(rows, {}, {"worker": "int?"}, outliers, factor)

    # ---- how ----

    @staticmethod
    def _is_getnext(e: Any) -> bool:
        named = e.name == GETNEXT or (e.name or "").endswith("GetNext")
        return bool(named and e.category == "loader" and e.kind == "span")

    def _rows(
        self,
        wanted: Callable[[Any], bool],
        group: Callable[[Any], dict[str, Any]],
        more: Callable[[Any], dict[str, Any]] = lambda e: {},
    ) -> list[_Row]:
        loaders = self._loader_events()
        starts, ends = self._events["start"].data, self._events["end"].data
        return [
            _Row(
                {"node": e.node, "rank": e.rank, "pid": e.pid} | group(e),
                int(starts[i]),
                int(ends[i]),
                more(e),
            )
            for i, e in loaders
            if wanted(e)
        ]

    def _loader_events(self) -> list[tuple[int, Any]]:
        code = {w: i for i, w in enumerate(self._events["category"].words)}.get("loader")
        rows = [i for i, c in enumerate(self._events["category"].data) if c == code]
        return list(zip(rows, self._events.take(rows).itertuples(), strict=True))

    def _settings(self, start: Any) -> dict[str, Any]:
        """The facts that the loader emitted right after it was made, or in the event itself."""
        own = arguments(start.args)
        facts: dict[str, Any] = dict.fromkeys(_FACTS.values())
        for name in facts:
            facts[name] = _whole(own.get(name))
        for _, e in self._loader_events():
            of_start = e.pid == start.pid and e.node == start.node and e.start >= start.start
            key = _FACTS.get(e.name or "")
            if of_start and key and facts[key] is None and e.value is not None:
                facts[key] = int(e.value)
        return facts

    def _lives(self) -> list[_Row]:
        lives: dict[tuple[Any, ...], tuple[int, int]] = {}
        e = self._events
        for node, pid, worker, a, b in zip(
            e["node"], e["pid"], e["worker"], e["start"].data, e["end"].data, strict=True
        ):
            if worker is not None:
                first, last = lives.get((node, pid, worker), (a, b))
                lives[node, pid, worker] = (min(first, a), max(last, b))
        return [
            _Row({"node": node, "rank": None, "pid": None}, int(a), int(b), {"worker": worker})
            for (node, _, worker), (a, b) in lives.items()
        ]

    def _answer(
        self,
        rows: list[_Row],
        group_kinds: dict[str, str],
        more_kinds: dict[str, str],
        outliers: bool,
        factor: float,
    ) -> Any:
        groups: dict[tuple[Any, ...], list[_Row]] = {}
        for r in rows:
            groups.setdefault(tuple(r.group.values()), []).append(r)
        who = {"node": "category", "rank": "int?", "pid": "int?", **group_kinds}
        if outliers:
            found = [o for v in groups.values() for o in _outliers(v, factor)]
            kinds = who | more_kinds
            kinds |= {"start": "time", "duration_s": "float", "times_median": "float"}
            return self._frame(Table.of_rows(found, kinds))
        summaries = [_summary(v, factor) for v in groups.values()]
        kinds = who | {"count": "int", "median_s": "float", "max_s": "float"}
        return self._frame(
            Table.of_rows(summaries, kinds | {"total_s": "float", "outliers": "int"})
        )


def _whole(text: str | None) -> int | None:
    if text is None:
        return None
    words = {"true": 1, "false": 0}
    try:
        return words[text.lower()] if text.lower() in words else int(text)
    except ValueError:
        return None


def _summary(rows: list[_Row], factor: float) -> dict[str, Any]:
    seconds = [r.seconds for r in rows]
    return rows[0].group | {
        "count": len(rows),
        "median_s": median(seconds),
        "max_s": max(seconds),
        "total_s": sum(seconds),
        "outliers": sum(1 for _ in _outliers(rows, factor)),
    }


def _outliers(rows: list[_Row], factor: float) -> Iterable[dict[str, Any]]:
    middle = median(r.seconds for r in rows)
    for r in rows:
        if len(rows) > 1 and middle > 0 and r.seconds >= factor * middle:
            took = {"start": r.start, "duration_s": r.seconds, "times_median": r.seconds / middle}
            yield r.group | r.more | took
