// SPDX-License-Identifier: Apache-2.0
// compare_curves.ts - curves of two runs on one axis: seconds after the start of the training loop (of the run, where
// there is none), or the number of the training step. Pure.
import type { CounterSeries, Grid, GridSeries, Step } from "../types";

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

/** Metrics that both charts show where one of the runs has them: the mean over its nodes. */
export const METRICS: readonly { metric: string; entity: string; title: string; unit: string }[] = [
  { metric: "cpu.util", entity: "total", title: "CPU utilization", unit: "%" },
  { metric: "gpu.util", entity: "*mean*", title: "GPU utilization", unit: "%" },
  { metric: "mem.util", entity: "total", title: "CPU memory", unit: "%" },
];

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

/** All curves that at least one of the runs has, counters of the program where both have them. */
export function pairsOf(a: Side, b: Side, axis: Axis): Pair[] {
  const metric = (s: Side, m: (typeof METRICS)[number]): Point[] => pointsOf(s, axis, s.grid, meanOf((s.grid?.series ?? []).filter((x) => x.metric === m.metric)));
  const counter = (s: Side, name: string): Point[] => {
    const found = s.counters.find((c) => c.metric === name);
    return found?.t_ns === undefined ? pointsOf(s, axis, s.counterGrid, found) : exactPoints(s, axis, found);
  };
  const own = (s: Side): string[] => s.counters.filter((c) => c.own && c.unit !== "marks").map((c) => c.metric);
  const names = [...new Set(own(a))].filter((n) => own(b).includes(n));
  const pairs: Pair[] = [
    { id: "iteration", title: "Iteration", unit: "s", a: iterations(a, axis), b: iterations(b, axis) },
    ...names.map((n) => ({ id: `counter ${n}`, title: n, unit: a.counters.find((c) => c.metric === n)?.unit ?? "", a: counter(a, n), b: counter(b, n) })),
    ...METRICS.map((m) => ({ id: m.metric, title: m.title, unit: m.unit, a: metric(a, m), b: metric(b, m) })),
  ];
  return pairs.filter((p) => p.a.length + p.b.length > 1);
}

export interface Row {
  readonly x: number;
  readonly a: number | null;
  readonly b: number | null;
}

/** Both curves as a table of so many rows: means of equal parts of the axis. */
export function rowsOf(p: Pair, most = 40): Row[] {
  const xs = [...p.a, ...p.b].map((q) => q.x);
  const [low, high] = [xs.reduce((m, x) => Math.min(m, x), Infinity), xs.reduce((m, x) => Math.max(m, x), -Infinity)];
  if (!(high > low)) return [];
  const each = (high - low) / most;
  const mean = (all: readonly Point[], i: number): number | null => {
    const mine = all.filter((q) => Math.min(most - 1, Math.floor((q.x - low) / each)) === i);
    return mine.length === 0 ? null : mine.reduce((n, q) => n + q.y, 0) / mine.length;
  };
  return Array.from({ length: most }, (_, i) => ({ x: low + i * each, a: mean(p.a, i), b: mean(p.b, i) })).filter((r) => r.a !== null || r.b !== null);
}
