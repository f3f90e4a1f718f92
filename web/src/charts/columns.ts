// SPDX-License-Identifier: Apache-2.0
// columns.ts - aligned columns of several series, as the server answers them, made ready for line
// charts; and the growth of those columns by samples that arrive while a run lives.
// Three kinds of nothing: a reading that a chart may draw across, because the series is sampled
// more slowly than the columns lie (undefined), a gap in what was measured (null), no series at all.

import type { Grid, GridSeries } from "../types";
import { msOf, type Span } from "./span";

export type Cell = number | null | undefined;

export interface Sample {
  readonly at: number; // ms
  readonly value: number;
}

/** A pause this many times as long as the usual distance of two readings is a gap. */
const GAP_FACTOR = 2.5;

const usualDistance = (at: readonly number[]): number => {
  const apart = at.slice(1).map((x, i) => x - (at[i] as number));
  apart.sort((a, b) => a - b);
  return apart[Math.floor(apart.length / 2)] ?? 1;
};

/** Distinguishes columns between two readings of a slow series from real gaps. `least`: columns
 * that readings lie apart at the run's own interval. */
export function bridged(values: readonly (number | null)[], least: number): Cell[] {
  const at = values.flatMap((v, i) => (v === null ? [] : [i]));
  const limit = GAP_FACTOR * Math.max(usualDistance(at), least, 1);
  const cells: Cell[] = values.slice();
  for (let k = 0; k + 1 < at.length; k++) {
    const [a, b] = [at[k] as number, at[k + 1] as number];
    if (b - a <= limit) cells.fill(undefined, a + 1, b);
  }
  return cells;
}

/** Columns of one line; largest and smallest only when they differ anywhere. */
export interface LineData {
  readonly mean: Cell[];
  readonly alone: number[]; // readings with a gap on both sides
  readonly max: Cell[] | null;
  readonly min: Cell[] | null;
}

export function lineData(s: GridSeries, grid: Grid, intervalMs: number | null): LineData {
  const least = intervalMs === null ? 1 : (intervalMs * 1e6) / grid.step_ns;
  const banded = s.max.some((m, i) => m !== s.min[i]);
  const mean = bridged(s.v, least);
  return {
    mean,
    alone: lonely(mean),
    max: banded ? bridged(s.max, least) : null,
    min: banded ? bridged(s.min, least) : null,
  };
}

/** A reading with a gap on both sides has no line to be part of: it is drawn as a point. */
export function lonely(cells: ArrayLike<Cell>): number[] {
  const found: number[] = [];
  let run = 0;
  let last = -1;
  for (let i = 0; i < cells.length; i++) {
    const c = cells[i];
    if (c === undefined) continue;
    if (c === null) {
      if (run === 1) found.push(last);
      run = 0;
    } else {
      run++;
      last = i;
    }
  }
  if (run === 1) found.push(last);
  return found;
}

/** Whether a chart of these would be a line at zero: every reading is, and there is one. */
export function isFlatZero(series: readonly GridSeries[]): boolean {
  const zero = (v: number | null): boolean => v === null || v === 0;
  return series.some((s) => s.count > 0) && series.every((s) => s.max.every(zero) && s.min.every(zero));
}

/** The middle of each column, in ms. */
export function columnTimes(grid: Grid): number[] {
  const step = grid.step_ns / 1e6;
  const from = msOf(grid.from_ns);
  return Array.from({ length: grid.n }, (_, i) => from + (i + 0.5) * step);
}

interface Line {
  readonly series: GridSeries;
  readonly sum: number[];
  readonly count: number[];
  readonly min: (number | null)[];
  readonly max: (number | null)[];
  readonly v: (number | null)[];
  total: number; // of all samples
  samples: number;
  readonly after: number; // ms; what is not after this is in the columns already
}

const endOfLast = (grid: Grid, v: readonly (number | null)[]): number => {
  let i = v.length;
  while (i > 0 && v[i - 1] === null) i--;
  return msOf(grid.from_ns + i * grid.step_ns);
};

const lineOf = (grid: Grid, series: GridSeries): Line => ({
  series,
  v: series.v.slice(),
  min: series.min.slice(),
  max: series.max.slice(),
  sum: series.v.map((v) => v ?? 0),
  count: series.v.map((v) => (v === null ? 0 : 1)),
  total: (series.mean ?? 0) * series.count,
  samples: series.count,
  after: endOfLast(grid, series.v),
});

/** Columns that grow at the end. */
export class GrowingGrid {
  readonly #grid: Grid;
  readonly #lines: Line[];
  #n: number;

  constructor(grid: Grid) {
    this.#grid = grid;
    this.#n = grid.n;
    this.#lines = grid.series.map((s) => lineOf(grid, s));
  }

  get columns(): number {
    return this.#n;
  }

  /** Takes in readings of the series that `takes` accepts; returns whether any was new. */
  append(samples: readonly Sample[], takes: (s: GridSeries) => boolean): boolean {
    let grown = false;
    for (const line of this.#lines) {
      if (!takes(line.series)) continue;
      for (const s of samples) if (s.at > line.after) grown = this.#put(line, s) || grown;
    }
    return grown;
  }

  #put(line: Line, s: Sample): boolean {
    const i = Math.floor((s.at * 1e6 - this.#grid.from_ns) / this.#grid.step_ns);
    if (i < 0) return false;
    if (i >= this.#n) this.#grow(i + 1);
    line.total += s.value;
    line.samples++;
    line.sum[i] = (line.sum[i] ?? 0) + s.value;
    line.count[i] = (line.count[i] ?? 0) + 1;
    line.v[i] = (line.sum[i] as number) / (line.count[i] as number);
    line.min[i] = Math.min(line.min[i] ?? Infinity, s.value);
    line.max[i] = Math.max(line.max[i] ?? -Infinity, s.value);
    return true;
  }

  #grow(to: number): void {
    for (const line of this.#lines) {
      for (let i = this.#n; i < to; i++) {
        line.v.push(null);
        line.min.push(null);
        line.max.push(null);
        line.sum.push(0);
        line.count.push(0);
      }
    }
    this.#n = to;
  }

  snapshot(): Grid {
    const to_ns = this.#grid.from_ns + this.#n * this.#grid.step_ns;
    const series = this.#lines.map((l) => ({
      ...l.series,
      mean: l.samples > 0 ? l.total / l.samples : null,
      count: l.samples,
      v: l.v.slice(),
      min: l.min.slice(),
      max: l.max.slice(),
    }));
    return { ...this.#grid, to_ns, n: this.#n, series };
  }
}

export const gridSpan = (grid: Grid): Span => ({
  from: msOf(grid.from_ns),
  to: msOf(grid.from_ns + grid.n * grid.step_ns),
});

/** Smallest, largest and mean of what a series has inside the window, for texts. */
export function summary(s: GridSeries): { min: number; max: number; mean: number } | null {
  const v = s.v.filter((x): x is number => x !== null);
  if (v.length === 0 || s.mean === null) return null;
  const low = s.min.filter((x): x is number => x !== null);
  const high = s.max.filter((x): x is number => x !== null);
  return {
    min: low.reduce((a, b) => Math.min(a, b), v[0] as number),
    max: high.reduce((a, b) => Math.max(a, b), v[0] as number),
    mean: s.mean,
  };
}

/** The reading at a time: of its column, or of the nearest one that a line would be drawn from. */
export function readingAt(s: GridSeries, grid: Grid, at: number, intervalMs: number | null): number | null {
  const i = Math.floor((at * 1e6 - grid.from_ns) / grid.step_ns);
  const apart = Math.max(1, ((intervalMs ?? 0) * 1e6) / grid.step_ns) * GAP_FACTOR;
  for (let d = 0; d <= Math.min(apart / 2 + 1, grid.n); d++) {
    const v = s.v[i - d] ?? s.v[i + d];
    if (v !== undefined && v !== null) return v;
  }
  return null;
}

export const keyOf = (s: Pick<GridSeries, "node" | "metric" | "entity">): string => `${s.node} ${s.metric} ${s.entity}`;

const ROOM_ABOVE = 1.06;

/** Both ends of a scale: from zero, or from what is below it, to a little above the largest reading; or as
 * narrow as the data with a little room on both sides. */
export function scaleOf(ends: { low: number; high: number } | null, fits: boolean, binary: boolean): [number, number] {
  const room = ROOM_ABOVE - 1;
  if (ends === null) return [0, binary ? 1024 : 1];
  const { low, high } = ends;
  if (fits) {
    const around = high > low ? (high - low) * room : Math.abs(high) * room || 1;
    return [low - around, high + around];
  }
  const least = low < 0 ? low * ROOM_ABOVE : 0;
  return [least, high > 0 ? high * ROOM_ABOVE : low < 0 ? 0 : binary ? 1024 : 1];
}
