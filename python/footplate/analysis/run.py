# SPDX-License-Identifier: Apache-2.0
"""A recorded run: metrics, events, steps, statistics and findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from . import activity, findings, health, human, loader, profiles, saved, stats
from .frames import Column, Frames, Table, from_ns, ints, to_ns
from .source import Ask, Folder, Key, RunError, Source
from .stats import USAGE_RANGES

BREAKDOWNS = ("steps", "devices", "streams", "groups", "memory", "windows")

_OPS = {
    "device": "category",
    "category": "category",
    "group": "category",
    "name": "object",
    "full_name": "object",
    "calls": "int",
    "self_s": "float",
    "total_s": "float",
    "mean_s": "float",
    "share": "float",
    "device_self_s": "float",
    "device_total_s": "float",
}

_STATS = {
    "node": "category",
    "metric": "category",
    "entity": "category",
    "unit": "category",
    "count": "int",
    **dict.fromkeys(("min", "mean", "p50", "p90", "p95", "p99", "max"), "float"),
    "why": "object",
}


def open(
    run: str | os.PathLike[str] = "last",
    dir: str | os.PathLike[str] | None = None,
    *,
    frames: str | None = None,
    token: str | None = None,
) -> Run:
    """A run: its folder, the start of its name or id in `dir` (default: $FOOTPLATE_DIR, else
    footplate-runs), "last", or its address at a server (http://127.0.0.1:8080/NAME, or the page
    that the browser shows).

    frames: "pandas", "table", or None for pandas when it is installed. token: of the server;
    default $FOOTPLATE_TOKEN."""
    text = os.fspath(run)
    if text.startswith(("http://", "https://")):
        from .server import open_source

        return Run(open_source(text, token), frames)
    from .. import _query

    try:
        path = _query.find(None if dir is None else os.fspath(dir), text)
    except _query.Error as e:
        raise RunError(e.args[0]) from None
    return Run(Folder(path), frames)


def runs(dir: str | os.PathLike[str] | None = None, *, frames: str | None = None) -> Any:
    """All runs in a folder, newest first: name, status, start, end, duration_s, nodes, path. One
    that cannot be read has status None and the reason in `error`."""
    from .. import _query

    rows = []
    for path in _query.runs(None if dir is None else os.fspath(dir)):
        row: dict[str, Any] = {"name": os.path.basename(path), "path": path}
        try:
            source = Folder(path)
            shown = source.show()
            source.close()
            row |= {k: shown[k] for k in ("name", "status", "duration_s")}
            row |= {"start": shown["start_ns"], "end": shown["end_ns"]}
            row["nodes"] = len(shown["nodes"])
        except RunError as e:
            row["error"] = str(e)
        rows.append(row)
    kinds = {"name": "object", "status": "category", "start": "time", "end": "time"}
    kinds |= {"duration_s": "float", "nodes": "int?", "path": "object", "error": "object"}
    return Frames(frames)(Table.of_rows(rows, kinds))


class Run:
    """One recorded run. Answers are data frames when pandas is installed, else `Table`s with the
    same columns. Seconds are named `*_s`, shares 0..1 `*share`, percentages `*_pct`; other numbers
    have their unit in a column `unit`. Times are UTC.

    start, end: a moment as datetime, ISO text, or integer nanoseconds since the epoch."""

    def __init__(self, source: Source, frames: str | None = None) -> None:
        self._source = source
        self._frame = Frames(frames)
        self._kept: dict[Any, Any] = {}

    # ---- what it is ----

    def _keep(self, key: Any, make: Any) -> Any:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    @property
    def info(self) -> dict[str, Any]:
        """The output of `footplate show --json`."""
        return self._keep("info", self._source.show)  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        return str(self.info["name"])

    @property
    def id(self) -> str:
        return str(self.info["id"])

    @property
    def path(self) -> str:
        """The folder of the run, or its address on the server."""
        return self._source.name

    @property
    def status(self) -> str:
        """running, finished, failed, interrupted, stopped or died"""
        return str(self.info["status"])

    @property
    def command(self) -> list[str]:
        return list(self.info["command"])

    @property
    def nodes(self) -> list[str]:
        return [n["id"] for n in self.info["nodes"]]

    @property
    def start(self) -> datetime:
        return from_ns(self.info["start_ns"])

    @property
    def end(self) -> datetime:
        """Time of the last data while it is running."""
        return from_ns(self.info["end_ns"])

    @property
    def duration_s(self) -> float:
        return float(self.info["duration_s"])

    @property
    def losses(self) -> Any:
        """Missing data with reasons: what, why, count, node."""
        kinds = {"what": "category", "why": "object", "count": "int", "node": "category"}
        return self._frame(Table.of_rows(self.info["losses"], kinds))

    def refresh(self) -> Run:
        """Read a live run again. Returns the run."""
        self._source.refresh()
        self._kept.clear()
        return self

    def close(self) -> None:
        self._source.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<footplate.Run {self.id} {self.status}, {human.value(self.duration_s, 's')}>"

    def _repr_html_(self) -> str:
        return findings.run_html(self)

    # ---- what was measured ----

    def series(self) -> Any:
        """Available series: node, metric, entity, unit."""
        rows = [k._asdict() for k in self._series()]
        return self._frame(Table.of_rows(rows, dict.fromkeys(Key._fields, "category")))

    def _series(self) -> list[Key]:
        return self._keep("series", self._source.series)  # type: ignore[no-any-return]

    def system_metrics(
        self,
        metric: str | None = None,
        node: str | None = None,
        entity: str | None = None,
        start: Any = None,
        end: Any = None,
        points: int | None = None,
        *,
        steps: tuple[int, int] | None = None,
        form: str = "long",
    ) -> Any:
        """Readings: time, node, metric, entity, unit, value, series by series.

        metric: a name, or "cpu." for all that begin so. points: at most so many for each series,
        with `min` and `max` of the readings in each. steps=(a, b): only the time of these steps,
        both included. form="wide": a row for each sweep of one node and a column for each series,
        "metric entity", as float32."""
        if form not in ("long", "wide"):
            raise ValueError("form must be 'long' or 'wide'")
        window = self._window(start, end, steps)
        ask = Ask(node, metric, entity, *window)
        self._known(ask)
        if form == "wide":
            return self._frame(self._wide(ask))
        if points is None:
            return self._frame(self._source.samples(ask))
        if points < 1:
            raise ValueError("points must be at least 1")
        return self._frame(self._source.points(ask, points))

    def _window(self, start: Any, end: Any, steps: tuple[int, int] | None) -> tuple[int, int]:
        if steps is None:
            return to_ns(start), to_ns(end)
        if start is not None or end is not None:
            raise ValueError("steps and times cannot be combined")
        return stats.step_window(self._steps(), *steps)

    def _known(self, ask: Ask) -> None:
        """Raises when there is no such series, and lists the available ones."""
        series = self._series()
        for what, value in (("node", ask.node), ("metric", ask.metric), ("entity", ask.entity)):
            if value is None:
                continue
            there = list(dict.fromkeys(getattr(k, what) for k in series))
            dotted = what == "metric" and value.endswith(".")
            if value in there or (dotted and any(t.startswith(value) for t in there)):
                continue
            why = [
                loss["why"]
                for loss in self.info["losses"]
                if what == "metric" and loss["what"] == value
            ]
            shown = ", ".join(there[:40]) or "none"
            because = f" ({why[0]})" if why else ""
            raise RunError(
                f"run '{self.name}' has no {what} '{value}'{because}; available: {shown}"
            )

    def _matching(self, ask: Ask) -> list[Key]:
        def matches(k: Key) -> bool:
            metric = ask.metric or ""
            return (
                (ask.node is None or k.node == ask.node)
                and (ask.entity is None or k.entity == ask.entity)
                and (
                    k.metric.startswith(metric)
                    if metric.endswith(".")
                    else metric in ("", k.metric)
                )
            )

        return [k for k in self._series() if matches(k)]

    def _wide(self, ask: Ask) -> Table:
        keys = self._matching(ask)
        nodes = list(dict.fromkeys(k.node for k in keys))
        if len(nodes) != 1:
            raise RunError(f"form='wide' needs one node; choose from {', '.join(nodes) or 'none'}")
        at, columns = self._source.sweeps(nodes[0], [(k.metric, k.entity) for k in keys])
        named = {
            f"{k.metric} {k.entity}".rstrip(): Column("float", c)
            for k, c in zip(keys, columns, strict=True)
        }
        units = {f"{k.metric} {k.entity}".rstrip(): k.unit for k in keys}
        table = Table({"time": Column("time", at), **named}, {"node": nodes[0], "units": units})
        if not ask.start and not ask.end:
            return table
        times = at.tolist() if hasattr(at, "tolist") else list(at)
        inside = [
            i
            for i, t in enumerate(times)
            if (not ask.start or t >= ask.start) and (not ask.end or t < ask.end)
        ]
        return table.take(inside)

    def stats(
        self, node: str | None = None, start: Any = None, end: Any = None, *, all: bool = False
    ) -> Any:
        """Quantiles of each resource of each node; all=True: of every series. `why` is the
        reason where nothing was measured."""
        rows = self._source.stats(node, to_ns(start), to_ns(end), all)
        for r in rows:
            r["why"] = "; ".join(loss["why"] for loss in r.get("losses") or []) or None
        return self._frame(Table.of_rows(rows, _STATS))

    # ---- what the framework did ----

    def framework_events(
        self,
        name: str | Iterable[str] | None = None,
        category: str | Iterable[str] | None = None,
        node: str | None = None,
        rank: int | None = None,
        start: Any = None,
        end: Any = None,
        *,
        steps: tuple[int, int] | None = None,
        regex: str | None = None,
        detail: bool = True,
    ) -> Any:
        """All recorded events: start, end, duration_s, name, category, kind, mode, value,
        step, node, rank, pid, worker, process, thread, on, detail, args.

        `step` is that of its process in which it began. steps=(a, b): only events of these steps,
        both included. regex: matched anywhere in the name. detail=False leaves out detail windows
        and imported traces."""
        table = self._events(*self._times(start, end), detail)
        ask = activity.EventAsk(name, category, node, rank, steps, regex)
        return self._frame(activity.choose(table, ask))

    @staticmethod
    def _times(start: Any, end: Any) -> tuple[int, int]:
        return to_ns(start), to_ns(end)

    def _events(self, start: int = 0, end: int = 0, detail: bool = True) -> Table:
        def make() -> Table:
            table = self._source.events(start, end, detail)
            numbers = activity.steps_of(table, self._steps())
            names = table.columns
            at = names.index("value") + 1
            columns = {n: table[n] for n in names[:at]}
            columns["step"] = ints(numbers, activity.NO_STEP)
            return Table(columns | {n: table[n] for n in names[at:]})

        return self._keep(("events", start, end, detail), make)  # type: ignore[no-any-return]

    def steps(self, rank: int | None = None, mode: str | None = None) -> Any:
        """Every step of every rank: node, rank, pid, session, mode, step, start, end, duration_s,
        between_s (to the start of the next step; missing at the last), iteration_s (both together),
        samples, cut, warmup, disturbed (a detail window slowed it), and the seconds of each part by
        the host's clock (`data_s`, `forward_s`, ...; missing: not recorded)."""
        return self._frame(stats.choose_steps(self._steps(), rank, mode))

    def _steps(self) -> Table:
        return self._keep("steps", self._source.steps)  # type: ignore[no-any-return]

    def ranks(self) -> Any:
        """Step statistics of each rank and mode, as in `footplate steps`: durations (mean_s, ...),
        iterations without warm-up and detail windows (iteration_mean_s, ...), throughput_steady and
        throughput_overall in samples a second of the loop, gpu_timed_steps, and as objects
        host_parts_s and gpu_parts_s (mean of an iteration), sync (places that wait for the GPU) and
        outliers."""
        return self._frame(stats.rank_table(self._steps().attrs["ranks"]))

    def parts(self, rank: int | None = None, mode: str | None = None) -> Any:
        """Iteration breakdown, mean of each rank and mode: clock ("gpu" first, where its
        time is known, then "host"), part, seconds, share of the iteration, measured (how, in
        words). Host parts add up to the iteration, "between" included."""
        table = self._parts()
        return self._frame(stats.choose(table, rank, mode))

    def _parts(self) -> Table:
        has_gpus = any(n.get("gpus") for n in self.info["nodes"])
        return stats.part_table(self._steps().attrs["ranks"], has_gpus)

    def sync_places(self) -> Any:
        """Source lines that waited for the GPU: node, rank, pid, where, call, count,
        seconds; most time first."""
        return self._frame(stats.sync_table(self._steps().attrs["ranks"]))

    def saved_tensors(self) -> Any:
        """Tensors that `footplate run --save-tensors` saved: name, rank, step, bytes."""
        kinds = {"name": "category", "rank": "int", "step": "int", "bytes": "int"}
        return self._frame(Table.of_rows(self.health().get("saved", []), kinds))

    def tensor(self, name: str, step: int, rank: int | None = None) -> Any:
        """The values of a saved tensor: a numpy array when numpy is installed, else a memoryview
        of the same shape. rank: None for the lowest that saved it."""
        return saved.read(self._source, name, step, rank)

    def health(self) -> dict[str, Any]:
        """What training health was recorded: ranks, scalars with their first, last, smallest and
        largest value, statistics of tensors, names of tensors."""
        return self._keep("health", self._source.health)  # type: ignore[no-any-return]

    def scalars(
        self,
        name: str | None = None,
        rank: int | None = None,
        mode: str | None = None,
        *,
        points: int = 0,
    ) -> Any:
        """Scalars by step, all or those of one name: name, rank, mode, step (missing: none), time,
        value, min, max, nonfinite. With `points`, each curve is thinned to so many: value is then
        the mean of finite values, and nonfinite how many were not."""
        which = (name, rank, mode)
        return self._frame(health.scalar_table(self._source, self.health(), which, points))

    def tensors(
        self,
        statistic: str,
        match: str | None = None,
        rank: int | None = None,
        *,
        columns: int = 0,
    ) -> Any:
        """A statistic of tensors ("gradient.l2", "update.ratio", ...) by sample: name, rank, step,
        time, value. Values that are not finite are infinite here. match: a regular expression that
        the name contains. With `columns`, samples are merged to so many."""
        found = self._source.health_tensors(statistic, match, rank, columns)
        return self._frame(health.tensor_table(found))

    def ops(self, rank: int | None = None, *, by: str = "name", device: str | None = None) -> Any:
        """Operators and kernels, longest self time first. by: "name" or "module"."""
        if by not in ("name", "module"):
            raise ValueError("by must be 'name' or 'module'")
        rows = self._source.ops(rank, by == "module")
        chosen = [r for r in rows if device is None or r["device"] == device]
        return self._frame(Table.of_rows(chosen, _OPS))

    def breakdown(self, table: str = "steps", rank: int | None = None) -> Any:
        """Time breakdown of steps or devices, in the units of the column names. table:
        "steps", "devices", "streams", "groups" (of kernels), "memory" or "windows" (what recording
        cost)."""
        if table not in BREAKDOWNS:
            raise ValueError(f"table must be one of {', '.join(BREAKDOWNS)}")
        breakdown = self._source.breakdown(rank)
        attrs = {"dropped_steps": breakdown.get("dropped_steps", 0)}
        return self._frame(stats.of_json(breakdown[table], attrs))

    # ---- what follows from it ----

    def findings(
        self,
        *,
        rules: Iterable[str] | None = None,
        rule_files: Sequence[str | os.PathLike[str]] = (),
        machine: str | None = None,
        price: float | None = None,
        **params: Any,
    ) -> Any:
        """Findings of the rules: a row for each finding, and one for each rule without. Evaluated
        now, with parameters as `CPUBottleneck={"threshold": 40}` or
        `CPUBottleneck_threshold=40`. rule_files: rules of your own, see footplate.rules. Shown as
        a list of findings; `.verdicts` has the complete verdicts."""
        verdicts = findings.evaluate(
            self._source, findings.settings(params), machine, price, list(rule_files)
        )
        return findings.frame(findings.only(verdicts, rules), self._frame)

    def job_statistics(self) -> Any:
        """Duration of the job and its parts: part, start, end, duration_s, share_pct. The parts
        add up to the job."""
        return self._frame(stats.job_statistics(self.info))

    def phase_intervals(self) -> Any:
        """The phases of the job in order: phase, start, end, duration_s."""
        return self._frame(stats.phase_intervals(self.info))

    def step_intervals(self, *modes: str) -> Any:
        """Intervals of steps of these modes (default: all) and between them: phase, start, end,
        duration_s. Neighbours of one mode are one interval when there are several modes."""
        return self._frame(stats.step_intervals(self._steps(), self.info, modes))

    def step_statistics(self, by: str = "phase") -> Any:
        """Durations of steps by "phase" (train, eval, predict), "metric" (names of events) or
        "process": count, duration_mean_s, _min_s, _max_s, _p50_s, _p95_s, _p99_s. A step lasts
        from its first begin to its last end over all processes."""
        events = self._events() if by != "phase" else None
        return self._frame(stats.step_statistics(self._steps(), events, by))

    def utilization_stats(
        self,
        resource: str | Iterable[str] | None = None,
        by: str | None = None,
        phases: Iterable[str] | None = None,
    ) -> Any:
        """Quantiles of each metric of each node, all its devices together. resource: cpu, gpu,
        memory, io, network. by="phase": for each phase of the job apart."""
        return self._frame(stats.utilization(self, resource, by, phases))

    def device_usage(
        self,
        resource: str | Iterable[str] | None = None,
        ranges: Sequence[tuple[float, float]] = USAGE_RANGES,
    ) -> Any:
        """Number of readings of each device in each range, both ends included; a reading is counted
        in the first range that contains it."""
        return self._frame(stats.device_usage(self, resource, ranges))

    def activity(self, start: Any = None, end: Any = None, *, detail: bool = False) -> Any:
        """Events from start to end: node, rank, pid, thread, category, name, count, total_s,
        p50_s, p95_s, max_s, share; events are cut at both ends. Longest first."""
        lo, hi = to_ns(start) or self.info["start_ns"], to_ns(end) or self.info["end_ns"]
        return self._frame(activity.between(self._events(lo, hi, detail), lo, hi))

    def activity_at(self, times: Iterable[Any], *, detail: bool = False) -> Any:
        """Activity at these moments: name, category, thread, hits, share of the
        moments."""
        return self._frame(activity.at(self._events(0, 0, detail), [to_ns(t) for t in times]))

    def loader(self) -> loader.Loader:
        """Data loading: initialization, workers, getnext, batch time."""
        return loader.Loader(self._events(), self._frame)

    def profiles(self) -> profiles.Profiles:
        """Python profiles of the run, and their functions by step, time and phase."""
        return profiles.Profiles(self._events(), self.info, self._frame)

    # ---- pictures ----

    @property
    def plot(self) -> Any:
        """Charts for notebooks: run.plot.heatmap(), run.plot.step_timeline(), ..."""
        from .plots import Plots

        return Plots(self)
