// SPDX-License-Identifier: Apache-2.0
// compare_curves.ts - curves of two runs on one axis: seconds after the start of the training loop (of the run, where
// there is none), or the number of the training step. Pure.
import type { CounterSeries, Grid, GridSeries, Step } from "../types";
import type { MetricChart } from "./metrics_plan";

export type Axis = "time" | "step";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** One curve of both runs; a run that has not recorded it has no points. */
export interface Pair {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly a: readonly Point[];
  readonly b: readonly Point[];
}

/** What is known of one run. */
export interface Side {
  /** The origin of the time axis. */
  readonly start_ns: number;
  readonly grid: Grid | null;
  readonly counters: readonly CounterSeries[];
  readonly counterGrid: Pick<Grid, "from_ns" | "step_ns"> | null;
  /** Training steps of one rank, in order. */
  readonly steps: readonly Step[];
  /** Every metric, and every counter of the hooks. */
  readonly charts: readonly MetricChart[];
}

/** The steps of the rank that is listed first. */
export function oneRank(steps: readonly Step[]): Step[] {
  const train = steps.filter((s) => s.mode === "train");
  const first = train.reduce<Step | null>((a, s) => (a === null || (s.rank ?? 0) < (a.rank ?? 0) ? s : a), null);
  return train.filter((s) => s.node === first?.node && s.rank === first.rank).sort((a, b) => a.start_ns - b.start_ns);
}

/** The step that began last before a time. */
function stepBefore(steps: readonly Step[], at_ns: number): Step | undefined {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (steps[middle]!.start_ns <= at_ns) low = middle + 1;
    else high = middle;
  }
  return steps[low - 1];
}

/** The step at a time, with the part of it that is over; null: before the first or after the last. */
export function stepAt(steps: readonly Step[], at_ns: number): number | null {
  const s = stepBefore(steps, at_ns);
  if (s === undefined) return null;
  const lasted = (s.iteration_s ?? s.duration_s) * 1e9;
  const part = lasted > 0 ? (at_ns - s.start_ns) / lasted : 0;
  return s === steps.at(-1) && part > 1 ? null : s.step + Math.min(part, 1);
}

function placed(side: Side, axis: Axis, at_ns: number): number | null {
  return axis === "time" ? (at_ns - side.start_ns) / 1e9 : stepAt(side.steps, at_ns);
}

function pointsOf(side: Side, axis: Axis, grid: Pick<Grid, "from_ns" | "step_ns"> | null, s: Pick<GridSeries, "v"> | undefined): Point[] {
  if (grid === null || s === undefined) return [];
  return s.v.flatMap((y, i) => {
    const x = y === null ? null : placed(side, axis, grid.from_ns + (i + 0.5) * grid.step_ns);
    return x === null || y === null ? [] : [{ x, y }];
  });
}

/** A value belongs to the step that began last, also when it is reported after that step's end: where in the step does
 * not matter, and is not the same in two runs. */
function exactPoints(side: Side, axis: Axis, s: CounterSeries): Point[] {
  return (s.t_ns ?? []).flatMap((at_ns, i) => {
    const x = axis === "time" ? (at_ns - side.start_ns) / 1e9 : (stepBefore(side.steps, at_ns)?.step ?? null);
    const y = s.values?.[i] ?? null;
    return x === null || y === null ? [] : [{ x, y }];
  });
}

function iterations(side: Side, axis: Axis): Point[] {
  return side.steps.flatMap((s) => (s.iteration_s === null ? [] : [{ x: axis === "step" ? s.step : (s.start_ns - side.start_ns) / 1e9, y: s.iteration_s }]));
}

/** Metrics that are shown at first where one of the runs has them: the mean over its nodes. */
const FIRST: Readonly<Record<string, string>> = {
  "cpu.util": "CPU utilization",
  "job.cpu": "CPU of the job",
  "gpu.util": "GPU utilization",
  "mem.util": "CPU memory",
};

/** The first metrics and the added ones, of those that a run has. */
export const shownOf = (charts: readonly MetricChart[], added: readonly string[]): MetricChart[] =>
  [...Object.keys(FIRST), ...added].flatMap((key) => charts.filter((c) => c.key === key));

/** What both runs have and is not shown. */
export function addable(a: Side, b: Side, added: readonly string[]): MetricChart[] {
  const shown = [...Object.keys(FIRST), ...added];
  return a.charts.filter((c) => !shown.includes(c.key) && b.charts.some((x) => x.key === c.key));
}

/** The mean of the series of all nodes, column by column. */
function meanOf(all: readonly GridSeries[]): Pick<GridSeries, "v"> | undefined {
  const [first] = all;
  if (first === undefined) return undefined;
  const mean = (i: number): number | null => {
    const known = all.flatMap((s) => (s.v[i] === null || s.v[i] === undefined ? [] : [s.v[i] as number]));
    return known.length === 0 ? null : known.reduce((a, b) => a + b, 0) / known.length;
  };
  return { v: first.v.map((_, i) => mean(i)) };
}

function metricPoints(s: Side, axis: Axis, metric: string): Point[] {
  return pointsOf(s, axis, s.grid, meanOf((s.grid?.series ?? []).filter((x) => x.metric === metric)));
}

function counterPoints(s: Side, axis: Axis, name: string): Point[] {
  const found = s.counters.find((c) => c.metric === name);
  return found?.t_ns === undefined ? pointsOf(s, axis, s.counterGrid, found) : exactPoints(s, axis, found);
}

/** All curves that at least one of the runs has, counters of the program where both have them; `added`: metrics and counters
 * of the hooks by their keys. */
export function pairsOf(a: Side, b: Side, axis: Axis, added: readonly string[] = []): Pair[] {
  const own = (s: Side): string[] => s.counters.filter((c) => c.own && c.unit !== "marks").map((c) => c.metric);
  const names = [...new Set(own(a))].filter((n) => own(b).includes(n));
  const counter = (id: string, name: string, title: string, unit: string): Pair => ({ id, title, unit, a: counterPoints(a, axis, name), b: counterPoints(b, axis, name) });
  const metric = (c: MetricChart): Pair => ({ id: c.key, title: FIRST[c.key] ?? c.title, unit: c.unit, a: metricPoints(a, axis, c.name), b: metricPoints(b, axis, c.name) });
  const charts = shownOf([...a.charts, ...b.charts.filter((c) => !a.charts.some((x) => x.key === c.key))], added);
  const pairs: Pair[] = [
    { id: "iteration", title: "Iteration", unit: "s", a: iterations(a, axis), b: iterations(b, axis) },
    ...names.map((n) => counter(`counter ${n}`, n, n, a.counters.find((c) => c.metric === n)?.unit ?? "")),
    ...charts.map((c) => (c.counter ? counter(c.key, c.name, c.title, c.unit) : metric(c))),
  ];
  return pairs.filter((p) => p.a.length + p.b.length > 1 || added.includes(p.id));
}

export interface Row {
  readonly x: number;
  readonly a: number | null;
  readonly b: number | null;
}

/** Both curves as a table of at most so many rows: means of equal parts of the axis, which are whole steps where there
 * are few. */
export function rowsOf(p: Pair, axis: Axis, most = 40): Row[] {
  const xs = [...p.a, ...p.b].map((q) => q.x);
  const [first, last] = [xs.reduce((m, x) => Math.min(m, x), Infinity), xs.reduce((m, x) => Math.max(m, x), -Infinity)];
  if (!(last > first)) return [];
  const [low, high] = axis === "step" ? [Math.floor(first), Math.floor(last) + 1] : [first, last];
  const parts = axis === "step" ? Math.min(most, high - low) : most;
  const each = (high - low) / parts;
  const mean = (all: readonly Point[], i: number): number | null => {
    const mine = all.filter((q) => Math.min(parts - 1, Math.floor((q.x - low) / each)) === i);
    return mine.length === 0 ? null : mine.reduce((n, q) => n + q.y, 0) / mine.length;
  };
  return Array.from({ length: parts }, (_, i) => ({ x: low + i * each, a: mean(p.a, i), b: mean(p.b, i) })).filter((r) => r.a !== null || r.b !== null);
}
