// SPDX-License-Identifier: Apache-2.0
// scale.ts - axes of small plots: round ticks, and values to pixels. Pure.

/** About `want` round numbers that cover low..high: steps of 1, 2 or 5 times a power of ten. */
export function ticks(low: number, high: number, want = 5): number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / want;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((m) => m * power >= raw * 0.999) ?? 10) * power;
  const out: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(i * step + 0); // no -0
  return out;
}

export function scale(low: number, high: number, from: number, to: number): (v: number) => number {
  const span = high - low || 1;
  return (v) => from + ((v - low) / span) * (to - from);
}

/** Smallest and largest of what was measured; null: nothing was. */
export function extent(values: readonly (number | null)[]): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (v === null) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  return low > high ? null : [low, high];
}

/** Where an axis ends: percentages at 100, all else at the next round number. */
export function axisEnd(high: number, unit: string): number {
  if (unit === "%" && high <= 100 && high > 25) return 100;
  if (high <= 0) return 1;
  const t = ticks(0, high, 4);
  const step = (t[1] ?? high) - (t[0] ?? 0);
  return Math.ceil(high / step - 1e-9) * step;
}
