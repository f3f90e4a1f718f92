// SPDX-License-Identifier: Apache-2.0
// span.ts - arithmetic on an interval of time. Times in charts are milliseconds since the epoch
// with a fraction: a double then resolves a quarter of a microsecond, and the browser's dates fit.

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Nothing narrower than this is shown: below it a double has no digits left. */
export const NARROWEST_MS = 0.01;

export const width = (s: Span): number => s.to - s.from;

export const middle = (s: Span): number => (s.from + s.to) / 2;

export const ordered = (a: number, b: number): Span => (a <= b ? { from: a, to: b } : { from: b, to: a });

export const contains = (s: Span, at: number): boolean => at >= s.from && at <= s.to;

export const overlap = (a: Span, b: Span): Span | null => {
  const both = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
  return both.to > both.from ? both : null;
};

/** Moved into the whole, narrowed where it is wider; never narrower than can be drawn. */
export function fit(s: Span, whole: Span): Span {
  const wide = Math.min(Math.max(width(s), NARROWEST_MS), Math.max(width(whole), NARROWEST_MS));
  const from = Math.min(Math.max(s.from, whole.from), Math.max(whole.to - wide, whole.from));
  return { from, to: from + wide };
}

/** A factor below 1 zooms in; the time at `around` stays where it is on the screen. */
export function zoom(s: Span, around: number, factor: number): Span {
  return { from: around - (around - s.from) * factor, to: around + (s.to - around) * factor };
}

export const move = (s: Span, by: number): Span => ({ from: s.from + by, to: s.to + by });

/** Widened by a share of itself at both ends, so that lines reach the edges and a pan has data. */
export const widened = (s: Span, share: number): Span => ({
  from: s.from - width(s) * share,
  to: s.to + width(s) * share,
});

/** The same for the eye: the ends differ by less than a ten-thousandth of the width. */
export const same = (a: Span, b: Span): boolean =>
  Math.abs(a.from - b.from) + Math.abs(a.to - b.to) <= 1e-4 * Math.max(width(a), width(b));

/** Times of the API, in nanoseconds, as charts have them, and back. */
export const msOf = (ns: number): number => ns / 1e6;
export const nsOf = (ms: number): number => Math.round(ms * 1e6);
