# SPDX-License-Identifier: Apache-2.0
"""Statistics of the job, its steps and its devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from .calc import SUMMARY, summary, union, within
from .frames import Table, numpy
from .source import Ask, RunError

if TYPE_CHECKING:
    from .run import Run

USAGE_RANGES: Final = ((90.0, 100.0), (10.0, 90.0), (0.0, 10.0))

RESOURCES: Final = {
    "cpu": ("cpu.",),
    "gpu": ("gpu.",),
    "memory": ("mem.", "swap."),
    "io": ("disk.",),
    "network": ("net.",),
}
"""Metrics that belong to a resource, by how they begin."""

_DURATIONS: Final = ("mean", "min", "max", "p50", "p95", "p99")


def of_json(rows: Sequence[Mapping[str, Any]], attrs: Mapping[str, Any] | None = None) -> Table:
    """A table of objects that all have the same keys; kinds follow from keys and values."""

    def kind(name: str) -> str:
        values = [r[name] for r in rows if r[name] is not None]
        if name.endswith("_ns"):
            return "time"
        if any(isinstance(v, str) for v in values):
            return "category"
        if name.endswith(("_us", "_share", "_mean")) or any(isinstance(v, float) for v in values):
            return "float"
        return "int?" if len(values) < len(rows) else "int"

    names = list(rows[0]) if rows else []
    renamed = [{k.removesuffix("_ns"): v for k, v in r.items()} for r in rows]
    return Table.of_rows(renamed, {n.removesuffix("_ns"): kind(n) for n in names}, attrs)


# ---- the job ----

_PARTS: Final = ("initialization", "train", "eval", "interruption", "finalization")


def job_statistics(info: Mapping[str, Any]) -> Table:
    """The job, its loop, and the phases that it is made of; percentages as they are shown."""

    def row(part: str, key: str, start: Any, end: Any) -> dict[str, Any]:
        times = {"part": part, "start": start, "end": end}
        return times | {"duration_s": info.get(f"{key}_s"), "share_pct": info.get(f"{key}_pct")}

    job = {"part": "job", "start": info["job_start_ns"], "end": info["job_end_ns"]}
    rows = [job | {"duration_s": info["job_duration_s"], "share_pct": 100}]
    loop = row("training_loop", "loop", info["loop_start_ns"], info["loop_end_ns"])
    rows.append(loop | {"duration_s": info["loop_duration_s"]})
    for part in _PARTS:
        mine = [p for p in info["phases"] if p["phase"] == part]
        start = min((p["start_ns"] for p in mine), default=None)
        end = max((p["end_ns"] for p in mine), default=None)
        rows.append(row(part, part, start, end))
    kinds = {"part": "category", "start": "time", "end": "time"}
    return Table.of_rows(rows, kinds | {"duration_s": "float", "share_pct": "float"})


_INTERVAL: Final = {"phase": "category", "start": "time", "end": "time", "duration_s": "float"}


def _intervals(named: Iterable[tuple[str, int, int]]) -> Table:
    rows = [{"phase": p, "start": a, "end": b, "duration_s": (b - a) / 1e9} for p, a, b in named]
    return Table.of_rows(rows, _INTERVAL)


def phase_intervals(info: Mapping[str, Any]) -> Table:
    return _intervals((p["phase"], p["start_ns"], p["end_ns"]) for p in info["phases"])


# ---- steps ----


def choose(table: Table, rank: int | None, mode: str | None) -> Table:
    """The rows of a rank and a mode; None: all."""
    return table.where(lambda r: rank in (None, r.rank) and mode in (None, r.mode))


def choose_steps(steps: Table, rank: int | None, mode: str | None) -> Table:
    if mode is not None and mode not in steps["mode"].words:
        raise ValueError(f"mode must be one of {', '.join(steps['mode'].words)}")
    if rank is None and mode is None:
        return steps
    rows = [
        i
        for i, (r, m) in enumerate(zip(steps["rank"], steps["mode"], strict=True))
        if (rank is None or r == rank) and (mode is None or m == mode)
    ]
    return steps.take(rows)


_RANK: Final = {"node": "category", "rank": "int", "pid": "int", "mode": "category"}
_ITERATION: Final = ("mean", "p50", "p95", "p99", "max")


def rank_table(ranks: Sequence[Mapping[str, Any]]) -> Table:
    """The output of `footplate steps` for each rank and mode, a row for each."""
    durations = ("mean_s", "min_s", "p50_s", "p95_s", "p99_s", "max_s", "stddev_s")
    kinds = _RANK | {"count": "int"} | dict.fromkeys(durations, "float")
    kinds |= dict.fromkeys((f"iteration_{k}_s" for k in _ITERATION), "float")
    kinds |= dict.fromkeys(("throughput_steady", "throughput_overall", "samples_per_s"), "float")
    kinds |= dict.fromkeys(("warmup_steps", "disturbed_steps", "gpu_timed_steps"), "int?")
    kinds |= dict.fromkeys(("host_parts_s", "gpu_parts_s", "sync", "outliers"), "object")
    rows = []
    for r in ranks:
        iteration, throughput = r.get("iteration_s") or {}, r.get("throughput") or {}
        rows.append(
            dict(r)
            | {f"iteration_{k}_s": iteration.get(k) for k in _ITERATION}
            | {f"throughput_{k}": throughput.get(k) for k in ("steady", "overall")}
        )
    return Table.of_rows(rows, kinds)


def clock_words(rank: Mapping[str, Any], clock: str, has_gpus: bool) -> str:
    """How the times of a rank's parts were measured."""
    if clock == "gpu":
        return f"GPU time, {rank['gpu_timed_steps']} of {rank['count']} steps timed"
    return "host time (launch)" if has_gpus and not rank.get("gpu_parts_s") else "host time"


def part_table(ranks: Sequence[Mapping[str, Any]], has_gpus: bool) -> Table:
    """Seconds of each part of an iteration, GPU time before host time; times that are not known are
    left out."""
    rows = []
    for r in ranks:
        whole = (r.get("iteration_s") or {}).get("mean")
        for clock in ("gpu", "host"):
            for part, seconds in (r.get(f"{clock}_parts_s") or {}).items():
                if seconds is None:
                    continue
                row = {k: r[k] for k in _RANK}
                row |= {"clock": clock, "part": part, "seconds": seconds}
                row["share"] = seconds / whole if whole else None
                rows.append(row | {"measured": clock_words(r, clock, has_gpus)})
    kinds = _RANK | {"clock": "category", "part": "category", "seconds": "float", "share": "float"}
    return Table.of_rows(rows, kinds | {"measured": "category"})


def sync_table(ranks: Sequence[Mapping[str, Any]]) -> Table:
    """Places in the code that waited for the GPU, most time first. They are of the rank, whatever
    its mode, and are listed once."""
    rows, seen = [], set()
    for r in ranks:
        who = (r["node"], r["rank"], r["pid"])
        if who not in seen:
            seen.add(who)
            keys = {k: r[k] for k in ("node", "rank", "pid")}
            rows += [keys | {"call": None} | place for place in r.get("sync") or []]
    kinds = {"node": "category", "rank": "int", "pid": "int", "where": "object", "call": "category"}
    return Table.of_rows(rows, kinds | {"count": "int", "seconds": "float"})


def step_window(steps: Table, first: int, last: int) -> tuple[int, int]:
    """From the start of the first of these steps to the end of the last, over all ranks."""
    rows = [i for i, n in enumerate(steps["step"]) if first <= n <= last]
    if not rows:
        raise RunError(f"no steps from {first} to {last}")
    begins, ends = steps["start"].data, steps["end"].data
    return int(min(begins[i] for i in rows)), int(max(ends[i] for i in rows))


def step_intervals(steps: Table, info: Mapping[str, Any], modes: Sequence[str]) -> Table:
    """Steps of all ranks that run at the same time are one interval."""
    wanted = modes or [m for m in steps["mode"].words if m in set(steps["mode"])]
    spans: list[tuple[int, int, str]] = []
    for mode in wanted:
        mine = choose_steps(steps, None, mode)
        pairs = zip(mine["start"].raw(), mine["end"].raw(), strict=True)
        if len(wanted) > 1:
            spans += [(a, b, mode) for a, b in pairs]
        else:
            spans += [(a, b, mode) for a, b in union_apart(pairs)]
    spans.sort()
    joined: list[tuple[int, int, str]] = []
    for a, b, mode in spans:
        if joined and joined[-1][2] == mode and len(wanted) > 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], b), mode)
        else:
            joined.append((a, b, mode))
    return _intervals(_with_gaps(joined, info["job_start_ns"], info["job_end_ns"]))


def union_apart(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """As union, but intervals that only touch stay two: one step ends where the next begins."""
    out: list[tuple[int, int]] = []
    for a, b in sorted(pairs):
        if out and a < out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], b))
        else:
            out.append((a, b))
    return out


def _with_gaps(
    spans: Sequence[tuple[int, int, str]], start: int, end: int
) -> Iterable[tuple[str, int, int]]:
    at, before = start, ""
    for a, b, mode in spans:
        if a > at:
            yield f"between {before} and {mode}" if before else f"before {mode}", at, a
        yield mode, a, b
        at, before = max(at, b), mode
    if spans and end > at:
        yield f"after {before}", at, end


def _process(node: str, rank: int | None, pid: int, worker: int | None) -> str:
    if worker is not None:
        return f"{node} worker {worker} (pid {pid})"
    return f"{node} rank {rank}" if rank is not None else f"{node} pid {pid}"


def step_statistics(steps: Table, events: Table | None, by: str) -> Table:
    """Durations over all processes, from the first begin to the last end of each step."""
    spans: dict[tuple[str, Any], list[tuple[int, int]]] = {}
    if by == "phase":
        columns = [steps[c] for c in ("mode", "step", "cut")]
        rows = zip(*columns, steps["start"].data, steps["end"].data, strict=True)
        for mode, step, cut, a, b in rows:
            if not cut:
                spans.setdefault((mode, step), []).append((a, b))
    elif by in ("metric", "process"):
        assert events is not None
        for key, step, a, b in _event_steps(events, by):
            spans.setdefault((key, step), []).append((a, b))
    else:
        raise ValueError("by must be 'phase', 'metric' or 'process'")
    durations: dict[str, list[float]] = {}
    for (key, _), v in spans.items():
        seconds = (max(b for _, b in v) - min(a for a, _ in v)) / 1e9
        durations.setdefault(key, []).append(seconds)
    rows_out = []
    for key, values in durations.items():
        s = summary(values)
        rows_out.append(
            {by: key, "count": s["count"]} | {f"duration_{k}_s": s[k] for k in _DURATIONS}
        )
    kinds = {by: "category", "count": "int"}
    return Table.of_rows(
        rows_out, kinds | dict.fromkeys((f"duration_{k}_s" for k in _DURATIONS), "float")
    )


def _event_steps(events: Table, by: str) -> Iterable[tuple[str, Any, int, int]]:
    columns = [events[c] for c in ("kind", "name", "mode", "step", "node", "rank", "pid", "worker")]
    rows = zip(*columns, events["start"].data, events["end"].data, strict=True)
    for kind, name, mode, step, node, rank, pid, worker, a, b in rows:
        if step is None or kind not in ("span", "step"):
            continue
        key = (name or f"step {mode}") if by == "metric" else _process(node, rank, pid, worker)
        yield key, (mode if kind == "step" else "", step), a, b


# ---- devices ----


def metrics_of(run: Run, resource: str | Iterable[str] | None) -> list[tuple[str, str, str]]:
    """(resource, node, metric) of everything that the run has of these resources."""
    wanted = [resource] if isinstance(resource, str) else list(resource or RESOURCES)
    names = ["io" if name == "i/o" else name for name in wanted]  # as SageMaker Debugger calls it
    for name in names:
        if name not in RESOURCES:
            raise ValueError(f"no resource '{name}'; available: {', '.join(RESOURCES)}")
    found = dict.fromkeys(
        (name, k.node, k.metric)
        for name in names
        for k in run._series()
        if k.metric.startswith(RESOURCES[name])
    )
    return list(found)


def _devices(run: Run, node: str, metric: str) -> Table:
    """Samples of the devices; that of the whole machine is left out where its parts are there."""
    table = run._source.samples(Ask(node, metric))
    words = table["entity"].words
    if "total" not in words or len(words) == 1:
        return table
    total = words.index("total")
    np = numpy()
    if np is not None:
        return table.take(np.flatnonzero(np.asarray(table["entity"].data) != total))
    return table.take([i for i, e in enumerate(table["entity"].data) if e != total])


def _phases(run: Run, phases: Iterable[str] | None) -> dict[str, list[tuple[int, int]]]:
    wanted = None if phases is None else set(phases)
    out: dict[str, list[tuple[int, int]]] = {}
    for p in run.info["phases"]:
        if wanted is None or p["phase"] in wanted:
            out.setdefault(p["phase"], []).append((p["start_ns"], p["end_ns"]))
    return {name: union(v) for name, v in out.items()}


def _values_in(table: Table, spans: Sequence[tuple[int, int]]) -> Any:
    """Values in [start, end) of the intervals."""
    t, v = table["time"].data, table["value"].data
    np = numpy()
    if np is not None:
        at, keep = np.asarray(t), np.zeros(len(t), dtype=bool)
        for a, b in spans:
            keep |= (at >= a) & (at < b)
        return np.asarray(v)[keep]
    out: list[float] = []
    at = 0
    while at < len(t):  # series by series: times rise
        end = at + 1
        while end < len(t) and t[end] >= t[end - 1]:
            end += 1
        for a, b in spans:
            lo, hi = within(t[at:end], a, b)
            out += v[at + lo : at + hi]
        at = end
    return out


def utilization(
    run: Run,
    resource: str | Iterable[str] | None,
    by: str | None,
    phases: Iterable[str] | None,
) -> Table:
    """Metrics apart from each other, in their units; phases without readings have a count of 0."""
    if by not in (None, "phase"):
        raise ValueError("by must be None or 'phase'")
    spans = _phases(run, phases)
    rows: list[dict[str, Any]] = []
    for name, node, metric in metrics_of(run, resource):
        table = _devices(run, node, metric)
        key = {"resource": name, "metric": metric, "node": node, "unit": table["unit"].words[0]}
        if by is None and phases is None:
            rows.append(key | summary(table["value"].data))
        elif by is None:
            every = union(s for v in spans.values() for s in v)
            rows.append(key | summary(_values_in(table, every)))
        for phase, when in spans.items() if by else ():
            rows.append(key | {"phase": phase} | summary(_values_in(table, when)))
    kinds = dict.fromkeys(("resource", "metric", "node", "unit"), "category")
    kinds |= {"phase": "category"} if by else {}
    return Table.of_rows(rows, kinds | {"count": "int"} | dict.fromkeys(SUMMARY[1:], "float"))


def _by_code(codes: Any, values: Any) -> Iterable[tuple[int, Any]]:
    """The values of each number, one after the other."""
    np = numpy()
    if np is not None:
        c, v = np.asarray(codes), np.asarray(values)
        cuts = [0, *(np.flatnonzero(np.diff(c)) + 1).tolist(), len(c)]
        return [(int(c[a]), v[a:b]) for a, b in pairwise(cuts) if b > a]
    groups: dict[int, list[float]] = {}
    for code, value in zip(codes, values, strict=True):
        groups.setdefault(code, []).append(value)
    return list(groups.items())


def _counts(values: Any, named: Sequence[tuple[str, float, float]]) -> dict[str, int]:
    """A value is counted in the first range that contains it."""
    np = numpy()
    if np is None:
        counts = dict.fromkeys((n for n, _, _ in named), 0)
        for v in values:
            name = next((n for n, lo, hi in named if lo <= v <= hi), None)
            if name is not None:
                counts[name] += 1
        return counts
    counts, free = {}, np.ones(len(values), dtype=bool)
    for name, lo, hi in named:
        mine = free & (values >= lo) & (values <= hi)
        counts[name] = int(mine.sum())
        free &= ~mine
    return counts


def device_usage(
    run: Run, resource: str | Iterable[str] | None, ranges: Sequence[tuple[float, float]]
) -> Table:
    """Percentages only. One row for each device, with counts and shares for each range."""
    named = [(f"{lo:g}-{hi:g}", lo, hi) for lo, hi in ranges]
    rows = []
    for name, node, metric in metrics_of(run, resource or ("cpu", "gpu")):
        table = run._source.samples(Ask(node, metric))
        if list(table["unit"].words) != ["%"]:
            continue
        entities = table["entity"]
        for e, values in _by_code(entities.data, table["value"].data):
            counts = _counts(values, named)
            row: dict[str, Any] = {"resource": name, "metric": metric, "node": node}
            row |= {"entity": entities.words[e], "count": len(values)} | counts
            row |= {f"{n} share": c / len(values) for n, c in counts.items()}
            rows.append(row)
    kinds = dict.fromkeys(("resource", "metric", "node", "entity"), "category") | {"count": "int"}
    kinds |= {n: "int" for n, _, _ in named} | {f"{n} share": "float" for n, _, _ in named}
    return Table.of_rows(rows, kinds)
