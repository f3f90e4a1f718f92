// SPDX-License-Identifier: Apache-2.0
// range.ts - the arithmetic of the timeline's window: zoom, pan, pixels to time, ruler marks.
// Times are nanoseconds after the start of the run, so that they are exact in a double; absolute
// times (1.7e18) would be off by 128 ns.

import { move, type Span, widened, width, zoom } from "../charts/span";

export type Range = Span;

/** Absolute times, as addresses have them, are good to 256 ns: a narrower window would jump. */
export const NARROWEST_NS = 2000;

/** The window, moved (and where it must be, narrowed) into the bounds. */
export function clampRange(r: Range, bounds: Range): Range {
  const whole = width(bounds);
  const wide = Math.min(Math.max(width(r), Math.min(NARROWEST_NS, whole)), whole);
  const from = Math.min(Math.max(r.from, bounds.from), bounds.to - wide);
  return { from, to: from + wide };
}

/** Zooms by `factor` (below 1: in) and leaves the time `at` under the same pixel. */
export function zoomAt(r: Range, factor: number, at: number, bounds: Range): Range {
  const least = Math.min(NARROWEST_NS, width(bounds)) / width(r);
  return clampRange(zoom(r, at, Math.max(factor, least)), bounds);
}

/** Moves by a share of the window's own width. */
export function panBy(r: Range, share: number, bounds: Range): Range {
  return clampRange(move(r, width(r) * share), bounds);
}

/** A window that shows this slice with air around it. */
export function rangeAround(start: number, end: number, bounds: Range): Range {
  const air = Math.max((end - start) * 2, NARROWEST_NS);
  return clampRange({ from: start - air, to: end + air }, bounds);
}

/** The same width, moved so that `at` is in the middle. */
export function centreOn(r: Range, at: number, bounds: Range): Range {
  const half = width(r) / 2;
  return clampRange({ from: at - half, to: at + half }, bounds);
}

export function timeToPx(t: number, r: Range, px: number): number {
  return ((t - r.from) / width(r)) * px;
}

export function pxToTime(x: number, r: Range, px: number): number {
  return r.from + (x / px) * width(r);
}

/** One screen to the left and to the right of the window: what is loaded with it. */
export function withMargins(r: Range, bounds: Range): Range {
  const wide = widened(r, 1);
  return { from: Math.max(bounds.from, wide.from), to: Math.min(bounds.to, wide.to) };
}

const S = 1e9;
/** Steps between marks, in ns: 1-2-5 up to a second, then what clocks are divided into. */
const MARK_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * 1e3),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * 1e6),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600].map((n) => n * S),
  ...[12, 24, 48, 120, 240, 480, 960].map((n) => n * 3600 * S),
];

/** Distance of the ruler's marks, so that at most `most` of them are in the window. */
export function markStep(r: Range, most: number): number {
  const least = width(r) / Math.max(1, most);
  return MARK_STEPS.find((s) => s >= least) ?? MARK_STEPS[MARK_STEPS.length - 1]!;
}

export function marks(r: Range, most: number): number[] {
  const step = markStep(r, most);
  const out: number[] = [];
  for (let t = Math.ceil(r.from / step) * step; t <= r.to; t += step) out.push(t);
  return out;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["s", S],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

/** A time after the start, as exact as marks `step` apart need it: "1 min 05 s", "2.350 s". */
export function offsetText(t: number, step: number): string {
  if (t === 0) return "0 s";
  const sign = t < 0 ? "-" : "";
  const ns = Math.abs(t);
  if (step >= S && ns >= 60 * S) return sign + clockText(Math.round(ns / S));
  const biggest = UNITS.find(([, size]) => ns >= size) ?? UNITS[UNITS.length - 1]!;
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(biggest[1] / step) - 1e-9)));
  return `${sign}${(ns / biggest[1]).toFixed(digits)} ${biggest[0]}`;
}

function clockText(seconds: number): string {
  const h = Math.floor(seconds / 3600);
  const min = Math.floor((seconds % 3600) / 60);
  const s = seconds % 60;
  const two = (n: number): string => String(n).padStart(2, "0");
  if (h > 0) return s > 0 ? `${h} h ${two(min)} min ${two(s)} s` : `${h} h ${two(min)} min`;
  return `${min} min ${two(s)} s`;
}
