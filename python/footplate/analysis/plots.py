# SPDX-License-Identifier: Apache-2.0
"""Charts of a run for notebooks: `run.plot.heatmap()`. Each returns a Chart, which a notebook shows
and save() writes to a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import human
from .calc import histogram, median, quantile
from .frames import Table, from_ns, numpy, to_ns
from .source import Ask, Key, RunError
from .stats import choose
from .svg import Chart, chart, png

if TYPE_CHECKING:
    from .._query import Panel
    from .run import Run

PERCENT = "%"


def _nothing(what: str) -> Chart:
    """The reason for a missing chart, in its place."""
    return chart(what, [("note", what, "", ())])


class Plots:
    """select_dimensions: metrics; select_events: entities (gpu0, cpu3, total). Both are regular
    expressions that match anywhere, or lists of them."""

    def __init__(self, run: Run) -> None:
        self._run = run

    # ---- which series ----

    def _keys(
        self, dimensions: str | Iterable[str] | None, events: str | Iterable[str] | None
    ) -> list[Key]:
        metric, entity = _any(dimensions), _any(events)
        return [
            k for k in self._run._series() if metric.search(k.metric) and entity.search(k.entity)
        ]

    def _values(self, k: Key, start: int = 0, end: int = 0) -> tuple[Sequence[int], Any]:
        table = self._run._source.samples(Ask(k.node, k.metric, k.entity, start, end))
        return table["time"].data, table["value"].data

    # ---- histograms ----

    def utilization_histogram(
        self,
        select_dimensions: str | Iterable[str] | None = r"^(cpu|gpu)\.util$",
        select_events: str | Iterable[str] | None = None,
        *,
        bins: int = 50,
        columns: int = 2,
    ) -> Chart:
        """Distribution of utilization in percent: one small chart for each series. Readings from 0
        to 100 are included."""
        keys = [k for k in self._keys(select_dimensions, select_events) if k.unit == PERCENT]
        if not keys:
            return _nothing("no matching percentage was recorded")
        edges = [100 * i / bins for i in range(bins + 1)]
        rows = [(_name(k, self._run), histogram(self._values(k)[1], 0, 100, bins)) for k in keys]
        panels: list[Panel] = [
            ("histogram", "", PERCENT, (edges, rows[c::columns]))
            for c in range(min(columns, len(rows)))
        ]
        return chart("Histograms of utilization", panels, columns)

    def step_histogram(
        self, select_events: str | Iterable[str] | None = None, *, bins: int = 50
    ) -> Chart:
        """Iterations and their parts in seconds, one chart for each, by the host's clock;
        select_events: iteration, data, forward, backward, ..., between. Warm-up and steps that a
        detail window slowed are left out. The range ends at the median plus two standard
        deviations; the title has the number of longer ones. step_parts() has GPU time."""
        steps, wanted = self._run._steps(), _any(select_events)
        rows = _steady(steps)
        named = {"iteration": [_iteration(steps, i) for i in rows]}
        for column in steps.columns:
            if column.endswith("_s") and column not in ("duration_s", "iteration_s"):
                known = steps[column].raw()
                values = [known[i] for i in rows if known[i] == known[i]]
                if any(values):
                    named[column.removesuffix("_s")] = values
        shown = {
            n if n == "iteration" else f"{n} (host)": v
            for n, v in named.items()
            if v and wanted.search(n)
        }
        if not shown:
            return _nothing("no steps were recorded")
        panels = [_durations(name, values, bins) for name, values in shown.items()]
        return chart("Histograms of iterations and their parts, host time", panels, 2)

    def step_parts(self, rank: int | None = None, mode: str = "train") -> Chart:
        """Iteration breakdown, mean of each rank: GPU time first, where it is known, then host
        time. The titles name the clock."""
        table = choose(self._run._parts(), rank, mode)
        groups: dict[tuple[Any, ...], list[Any]] = {}
        for r in table.itertuples():
            if r.seconds > 0:
                groups.setdefault((r.clock, r.node, r.rank, r.measured), []).append(r)
        if not groups:
            return _nothing("the parts of iterations were not recorded")
        panels: list[Panel] = []
        for clock in ("gpu", "host"):
            for (at, node, number, measured), rows in groups.items():
                if at == clock:
                    title = f"{measured}: {mode} iterations of rank {number} on {node}"
                    bars = [(_part(r), r.seconds, int(clock == "host")) for r in rows]
                    panels.append(("bars", title, "s", (bars,)))
        return chart("Parts of an iteration, GPU time and host time", panels)

    # ---- time ----

    def step_timeline(self, last: int = 1000, rank: int | None = None) -> Chart:
        """Iterations (start of a step to the start of the next) over time; the last ones of each
        rank. Warm-up is shown and marked."""
        steps = self._run._steps()
        rows = [
            i
            for i, (r, cut) in enumerate(zip(steps["rank"], steps["cut"], strict=True))
            if not cut and (rank is None or r == rank)
        ]
        by_rank: dict[int, list[int]] = {}
        for i in rows:
            by_rank.setdefault(steps["rank"][i], []).append(i)
        rows = [i for v in by_rank.values() for i in v[-last:]]
        if not rows:
            return _nothing("no steps were recorded")
        start, seconds = steps["start"].data, {i: _iteration(steps, i) for i in rows}
        zero = self._run.info["start_ns"]
        xs = [(start[i] - zero) / 1e9 for i in rows]
        modes = list(dict.fromkeys(steps["mode"][i] for i in rows))
        dots = []
        for x, i in zip(xs, rows, strict=True):
            mode = steps["mode"][i]
            words = f"{mode} step {steps['step'][i]} of rank {steps['rank'][i]}: "
            hint = words + human.value(seconds[i], "s") + _remark(steps, i)
            dots.append((modes.index(mode), x, seconds[i], hint))
        data = (min(xs), max(xs), max(seconds.values()), modes, dots)
        return chart("Time of iterations over time", [("dots", "Time of iterations", "s", data)])

    def timeline(
        self,
        select_dimensions: str | Iterable[str] | None = r"^(cpu|gpu)\.util$",
        select_events: str | Iterable[str] | None = None,
        *,
        last: int | None = 1000,
        start: Any = None,
        end: Any = None,
    ) -> Chart:
        """One curve for each series over the same time. last: only so many readings of each series
        at its end (None: all, put together where there are more than can be seen, with their
        extremes as a band)."""
        keys = self._keys(select_dimensions, select_events)
        if not keys:
            return _nothing("no matching series was recorded")
        curves = [self._curve(k, last, to_ns(start), to_ns(end)) for k in keys]
        known = [x for c in curves for x, *_ in c]
        if not known:
            return _nothing("no readings in this time")
        panels: list[Panel] = []
        for k, curve in zip(keys, curves, strict=True):
            t, v, low, high = ([c[i] for c in curve] for i in range(4))
            band = (low, high) if last is None else (None, None)
            data = (_name(k, self._run), t, v, *band, min(known), max(known))
            panels.append(("line", "", k.unit, (*data, 100.0 if k.unit == PERCENT else 0.0)))
        return chart("Curves of what was measured", panels)

    def _curve(
        self, k: Key, last: int | None, start: int, end: int
    ) -> list[tuple[float, float, float, float]]:
        zero = self._run.info["start_ns"]
        if last is not None:
            t, v = self._values(k, start, end)
            begin = max(len(t) - last, 0)
            pairs = zip(t[begin:], v[begin:], strict=True)
            return [((a - zero) / 1e9, b, b, b) for a, b in pairs]
        table = self._run._source.points(Ask(k.node, k.metric, k.entity, start, end), 800)
        columns = [table[c].raw() for c in ("time", "value", "min", "max")]
        return [((t - zero) / 1e9, v, lo, hi) for t, v, lo, hi in zip(*columns, strict=True)]

    def lanes(self, start: Any = None, end: Any = None, *, limit: int = 500) -> Chart:
        """Events over time: one row for each thread, worker or stream, with the longest events of
        the interval."""
        run = self._run
        lo, hi = to_ns(start) or run.info["start_ns"], to_ns(end) or run.info["end_ns"]
        events = run._events(lo, hi, True)
        kinds = [k in ("span", "step") for k in events["kind"].words]
        rows = [i for i, k in enumerate(events["kind"].data) if kinds[k]]
        begin, finish = events["start"].data, events["end"].data
        rows.sort(key=lambda i: begin[i] - finish[i])
        rows = sorted(rows[:limit])
        if not rows:
            return _nothing("no events in this time")
        return _lanes(events, rows, lo, hi)

    # ---- all devices ----

    def heatmap(
        self,
        select_dimensions: str | Iterable[str] | None = r"^(cpu|gpu)\.util$",
        select_events: str | Iterable[str] | None = None,
        *,
        columns: int = 600,
        start: Any = None,
        end: Any = None,
    ) -> Chart:
        """Every device over time, from 0 (dark) to 100 % (bright). Other units are scaled to the
        largest value of the series."""
        keys = self._keys(select_dimensions, select_events)
        if not keys:
            return _nothing("no matching series was recorded")
        run = self._run
        lo, hi = to_ns(start) or run.info["start_ns"], to_ns(end) or run.info["end_ns"]
        pixels = [self._row(k, lo, hi, columns) for k in keys]
        return _heatmap(keys, pixels, (hi - lo) / 1e9, run)

    def _row(self, k: Key, lo: int, hi: int, columns: int) -> bytes:
        table = self._run._source.points(Ask(k.node, k.metric, k.entity, lo, hi), columns * 2)
        t, v = table["time"].raw(), table["value"].raw()
        most = 100.0 if k.unit == PERCENT else max((x for x in v if x == x), default=1) or 1
        sums, counts = [0.0] * columns, [0] * columns
        for at, x in zip(t, v, strict=True):
            c = min(int((at - lo) * columns / max(hi - lo, 1)), columns - 1)
            if c >= 0 and x == x:
                sums[c] += x
                counts[c] += 1
        cells = [_half(100 * s / n / most) if n else 255 for s, n in zip(sums, counts, strict=True)]
        return bytes(_bridged(cells, len(v), columns))

    def box(
        self,
        select_dimensions: str | Iterable[str] | None = r"^(cpu|gpu)\.util$",
        select_events: str | Iterable[str] | None = None,
    ) -> Chart:
        """5th, 25th, 50th, 75th and 95th percentile of each series, one scale for each unit."""
        keys = self._keys(select_dimensions, select_events)
        if not keys:
            return _nothing("no matching series was recorded")
        panels: list[Panel] = []
        for unit in dict.fromkeys(k.unit for k in keys):
            rows = [
                (_name(k, self._run), *_five(self._values(k)[1])) for k in keys if k.unit == unit
            ]
            panels.append(("boxes", "", unit, (100.0 if unit == PERCENT else 0.0, rows)))
        return chart("Box plots of what was measured", panels, 2)


# ---- parts of charts ----


def _any(patterns: str | Iterable[str] | None) -> re.Pattern[str]:
    if patterns is None:
        return re.compile("")
    one = patterns if isinstance(patterns, str) else "|".join(f"(?:{p})" for p in patterns)
    return re.compile(one)


def _iteration(steps: Table, i: int) -> float:
    """The last step of a rank has no iteration: its duration."""
    seconds = steps["iteration_s"][i]
    return float(steps["duration_s"][i] if seconds is None else seconds)


def _steady(steps: Table) -> list[int]:
    """Rows that count for statistics of the loop; where there are none, all that are whole."""
    whole = [i for i, cut in enumerate(steps["cut"]) if not cut]
    warmup, disturbed = steps["warmup"], steps["disturbed"]
    return [i for i in whole if not warmup[i] and not disturbed[i]] or whole


def _remark(steps: Table, i: int) -> str:
    if steps["disturbed"][i]:
        return ", slowed by a detail window"
    return ", warm-up" if steps["warmup"][i] else ""


def _name(k: Key, run: Run) -> str:
    node = f"{k.node} " if len(run.nodes) > 1 else ""
    return f"{node}{k.metric} {k.entity}".strip()


def _half(percent: float) -> int:
    return round(2 * min(max(percent, 0.0), 100.0))


def _bridged(cells: list[int], samples: int, columns: int) -> list[int]:
    """Fewer samples than columns: what lies between two neighbours shows the first of them."""
    reach = -(-columns // max(samples, 1))
    last, out = -(10**9), list(cells)
    for i, c in enumerate(cells):
        if c != 255:
            last = i
        elif i - last <= reach and last >= 0:
            out[i] = cells[last]
    return out


def _five(values: Any) -> list[float]:
    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
    np = numpy()
    if np is not None and len(values):
        return [float(v) for v in np.quantile(np.asarray(values), quantiles)]
    ordered = sorted(values)
    return [quantile(ordered, q) for q in quantiles] if ordered else [0.0] * 5


def _durations(name: str, values: list[float], bins: int) -> Panel:
    mean = sum(values) / len(values)
    spread = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    low, high = min(values), min(max(values), median(values) + 2 * spread)
    high = high if high > low else low + 1e-9
    counts = histogram(values, low, high, bins)
    edges = [low + i * (high - low) / bins for i in range(bins + 1)]
    longer = sum(v > high for v in values)
    label = human.count(len(values)) + (f", {human.count(longer)} longer" if longer else "")
    return ("histogram", name, "s", (edges, [(label, counts)]))


def _part(r: Any) -> str:
    return str(r.part) if r.share is None else f"{r.part}, {human.share(r.share)}"


def _heatmap(keys: list[Key], pixels: list[bytes], seconds: float, run: Run) -> Chart:
    data = (seconds, [_name(k, run) for k in keys], png(pixels))
    title = "0 % dark to 100 % bright; grey: no sample"
    return chart("Heatmap of devices over time", [("heat", title, PERCENT, data)])


def _lanes(events: Any, rows: list[int], lo: int, hi: int) -> Chart:
    begin, finish = events["start"].data, events["end"].data
    columns = [events[c] for c in ("node", "pid", "worker", "thread", "on")]
    lanes: dict[tuple[Any, ...], int] = {}
    for i in rows:
        lanes.setdefault(tuple(c[i] for c in columns), len(lanes))
    labels = []
    for node, pid, worker, thread, _ in lanes:
        thread = f"worker {worker}" if worker is not None else thread or f"pid {pid}"
        labels.append(f"{node} {thread}"[-30:])
    kinds = list(dict.fromkeys(events["category"][i] for i in rows))
    bars = []
    for i in sorted(rows, key=lambda i: begin[i] - finish[i]):  # the short ones on top
        lane = lanes[tuple(c[i] for c in columns)]
        a, b = max(int(begin[i]), lo), min(int(finish[i]), hi)
        name = events["name"][i] or f"step {events['step'][i]}"
        hint = f"{name}: {human.value((b - a) / 1e9, 's')}"
        kind = kinds.index(events["category"][i])
        bars.append((lane, kind, (a - lo) / 1e9, (b - lo) / 1e9, hint))
    data = ((hi - lo) / 1e9, labels, [str(k) for k in kinds], bars)
    title = f"{from_ns(lo):%H:%M:%S} to {from_ns(hi):%H:%M:%S}"
    return chart("What ran when", [("lanes", title, "", data)])


__all__ = ["Chart", "Plots", "RunError"]
