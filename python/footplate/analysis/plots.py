# SPDX-License-Identifier: Apache-2.0
"""Charts of a run for notebooks: `run.plot.heatmap()`. Each returns a Chart, which a notebook shows
and save() writes to a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import html, human, svg
from .calc import histogram, median, quantile
from .frames import Table, from_ns, numpy, to_ns
from .source import Ask, Key, RunError
from .stats import choose
from .svg import COLORS, Chart, Panel

if TYPE_CHECKING:
    from .run import Run

PERCENT = "%"
_WIDTH = 1000.0


def _nothing(what: str) -> Chart:
    """The reason for a missing chart, in its place."""
    note = svg.drawing(600, 40, [f'<text x="4" y="24" fill="#888">{html.text(what)}</text>'], what)
    return Chart(note, what)


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
        columns: int = 4,
    ) -> Chart:
        """Distribution of utilization in percent: one small chart for each series. Readings from 0
        to 100 are included."""
        keys = [k for k in self._keys(select_dimensions, select_events) if k.unit == PERCENT]
        if not keys:
            return _nothing("no matching percentage was recorded")
        size = (_WIDTH / columns, 150.0)
        parts = []
        for i, k in enumerate(keys):
            _, values = self._values(k)
            counts = histogram(values, 0, 100, bins)
            p = Panel(
                size,
                (0, 100),
                (0, max(counts) or 1),
                (size[0] * (i % columns), size[1] * (i // columns)),
            )
            p.title(_name(k, self._run))
            p.x_axis(PERCENT)
            p.y_axis()
            for b, n in enumerate(counts):
                lo, hi = 100 * b / bins, 100 * (b + 1) / bins
                if n:
                    p.bar(lo, hi, n, COLORS[0], f"{lo:g} to {hi:g} %: {human.count(n)} readings")
            parts.append(p.svg())
        rows = -(-len(keys) // columns)
        label = "Histograms of utilization"
        return Chart(svg.drawing(_WIDTH, size[1] * rows, parts, label), label)

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
        size, columns, parts = (_WIDTH / 3, 170.0), 3, []
        for i, (name, values) in enumerate(shown.items()):
            at = (size[0] * (i % columns), size[1] * (i // columns))
            parts.append(_durations(name, values, bins, size, at))
        label = "Histograms of iterations and their parts, host time"
        return Chart(svg.drawing(_WIDTH, size[1] * -(-len(shown) // columns), parts, label), label)

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
        high, y, parts = max(r.seconds for v in groups.values() for r in v), 0.0, []
        for clock in ("gpu", "host"):
            for (at, node, number, measured), rows in groups.items():
                if at != clock:
                    continue
                height = 20.0 * len(rows) + svg.TOP + svg.BOTTOM
                p = Panel((_WIDTH, height), (0, high), (-0.5, len(rows) - 0.5), (0, y))
                p.left, p.width = p.left + 50, p.width - 50
                p.title(f"{measured}: {mode} iterations of rank {number} on {node}")
                p.x_axis("s")
                for i, r in enumerate(rows):
                    p.label(len(rows) - 1 - i, r.part)
                    tip = f"{r.part}, {clock}: {human.value(r.seconds, 's')}"
                    share = "" if r.share is None else f", {human.value(100 * r.share, '%')}"
                    p.row(len(rows) - 1 - i, r.seconds, COLORS[clock == "host"], tip + share)
                parts.append(p.svg())
                y += height
        label = "Parts of an iteration, GPU time and host time"
        return Chart(svg.drawing(_WIDTH, y, parts, label), label)

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
        p = Panel((_WIDTH, 260), (min(xs), max(xs)), (0, max(seconds[i] for i in rows) * 1.05))
        p.title("Time of iterations")
        p.x_axis("seconds since the start of the run")
        p.y_axis("s")
        modes = list(dict.fromkeys(steps["mode"][i] for i in rows))
        for x, i in zip(xs, rows, strict=True):
            mode = steps["mode"][i]
            words = f"{mode} step {steps['step'][i]} of rank {steps['rank'][i]}: "
            tip = words + human.value(seconds[i], "s") + _remark(steps, i)
            p.dot(x, seconds[i], COLORS[modes.index(mode)], tip)
        p.legend([(m, COLORS[i]) for i, m in enumerate(modes)])
        label = "Time of iterations over time"
        return Chart(svg.drawing(_WIDTH, 260, [p.svg()], label), label)

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
        height, parts = 130.0, []
        for i, (k, curve) in enumerate(zip(keys, curves, strict=True)):
            top = 102.0 if k.unit == PERCENT else max((c[3] for c in curve), default=1) * 1.05
            p = Panel((_WIDTH, height), (min(known), max(known)), (0, top or 1), (0, height * i))
            p.title(f"{_name(k, self._run)} [{k.unit}]" if k.unit else _name(k, self._run))
            p.x_axis("seconds since the start of the run" if i == len(keys) - 1 else "")
            p.y_axis()
            p.band([(x, lo, hi) for x, _, lo, hi in curve], COLORS[i % len(COLORS)])
            p.line([(x, v) for x, v, _, _ in curve], COLORS[i % len(COLORS)])
            parts.append(p.svg())
        label = "Curves of what was measured"
        return Chart(svg.drawing(_WIDTH, height * len(keys), parts, label), label)

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
        parts, y = [], 0.0
        for unit in dict.fromkeys(k.unit for k in keys):
            mine = [k for k in keys if k.unit == unit]
            fives = [_five(self._values(k)[1]) for k in mine]
            high = 100.0 if unit == PERCENT else max(f[4] for f in fives) or 1
            height = 24 * len(mine) + svg.TOP + svg.BOTTOM
            p = Panel((_WIDTH, height), (0, high), (-0.5, len(mine) - 0.5), (0, y))
            p.left, p.width = p.left + 110, p.width - 110
            p.x_axis(unit)
            for i, (k, five) in enumerate(zip(mine, fives, strict=True)):
                row = len(mine) - 1 - i
                p.label(row, _name(k, self._run))
                words = ", ".join(
                    f"p{n} {v:.4g}" for n, v in zip((5, 25, 50, 75, 95), five, strict=True)
                )
                p.box(row, five, COLORS[0], f"{_name(k, self._run)}: {words} {unit}")
            parts.append(p.svg())
            y += height
        label = "Box plots of what was measured"
        return Chart(svg.drawing(_WIDTH, y, parts, label), label)


# ---- pieces ----


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


def _durations(
    name: str, values: list[float], bins: int, size: tuple[float, float], at: tuple[float, float]
) -> str:
    mean = sum(values) / len(values)
    spread = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
    low, high = min(values), min(max(values), median(values) + 2 * spread)
    high = high if high > low else low + 1e-9
    counts = histogram(values, low, high, bins)
    longer = sum(v > high for v in values)
    p = Panel(size, (low, high), (0, max(counts) or 1), at)
    p.title(
        f"{name}: {human.count(len(values))}"
        + (f", {human.count(longer)} longer" if longer else "")
    )
    p.x_axis("s")
    p.y_axis()
    width = (high - low) / bins
    for i, n in enumerate(counts):
        a, b = low + i * width, low + (i + 1) * width
        if n:
            p.bar(
                a,
                b,
                n,
                COLORS[2],
                f"{human.value(a, 's')} to {human.value(b, 's')}: {human.count(n)}",
            )
    return p.svg()


def _heatmap(keys: list[Key], pixels: list[bytes], seconds: float, run: Run) -> Chart:
    row = 14.0 if len(keys) <= 40 else 6.0
    height = row * len(keys)
    p = Panel((_WIDTH, height + svg.TOP + svg.BOTTOM), (0, seconds), (0, len(keys)))
    p.left, p.width = p.left + 70, p.width - 70
    p.parts.append(
        f'<image x="{p.left:.1f}" y="{p.top:.1f}" width="{p.width:.1f}" height="{height:.1f}" '
        f'preserveAspectRatio="none" style="image-rendering:pixelated" href="{svg.png(pixels)}"/>'
    )
    every = max(round(14 / row), 1)
    for i, k in enumerate(keys):
        if i % every == 0:
            p.label(len(keys) - i - 0.5, _name(k, run))
    p.title("0 % dark to 100 % bright; grey: no sample")
    p.x_axis("seconds since the start")
    label = "Heatmap of devices over time"
    size = height + svg.TOP + svg.BOTTOM
    return Chart(svg.drawing(_WIDTH, size, [p.svg()], label), label)


def _lanes(events: Any, rows: list[int], lo: int, hi: int) -> Chart:
    begin, finish = events["start"].data, events["end"].data
    columns = [events[c] for c in ("node", "pid", "worker", "thread", "on")]
    lanes: dict[tuple[Any, ...], int] = {}
    for i in rows:
        lanes.setdefault(tuple(c[i] for c in columns), len(lanes))
    height = 20.0 * len(lanes)
    p = Panel((_WIDTH, height + svg.TOP + svg.BOTTOM), (0, (hi - lo) / 1e9), (0, len(lanes)))
    p.left, p.width = p.left + 130, p.width - 130
    for (node, pid, worker, thread, _), n in lanes.items():
        who = f"worker {worker}" if worker is not None else thread or f"pid {pid}"
        p.label(len(lanes) - n - 0.5, f"{node} {who}"[-30:])
    names = list(dict.fromkeys(events["category"][i] for i in rows))
    for i in sorted(rows, key=lambda i: begin[i] - finish[i]):  # the short ones on top
        lane = lanes[tuple(c[i] for c in columns)]
        a, b = max(int(begin[i]), lo), min(int(finish[i]), hi)
        x0, x1 = p.x((a - lo) / 1e9), p.x((b - lo) / 1e9)
        name = events["name"][i] or f"step {events['step'][i]}"
        tip = html.text(f"{name}: {human.value((b - a) / 1e9, 's')}")
        color = COLORS[names.index(events["category"][i]) % len(COLORS)]
        p.parts.append(
            f'<rect x="{x0:.1f}" y="{p.top + 20 * lane + 2:.1f}" width="{max(x1 - x0, 0.6):.1f}" '
            f'height="16" fill="{color}" fill-opacity="0.6"><title>{tip}</title></rect>'
        )
    p.legend([(n, COLORS[i % len(COLORS)]) for i, n in enumerate(names)])
    p.title(f"{from_ns(lo):%H:%M:%S} to {from_ns(hi):%H:%M:%S}")
    p.x_axis("s")
    size = height + svg.TOP + svg.BOTTOM
    return Chart(svg.drawing(_WIDTH, size, [p.svg()], "What ran when"), "What ran when")


__all__ = ["Chart", "Plots", "RunError"]
