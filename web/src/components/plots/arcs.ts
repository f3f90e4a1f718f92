// SPDX-License-Identifier: Apache-2.0
// arcs.ts - the geometry and the arithmetic of pies. Pure.

/** Percentages with `digits` after the point that sum to exactly 100 (largest remainder). Null
 * when there is nothing to share. */
export function percentages(values: readonly number[], digits = 1): number[] | null {
  const total = values.reduce((sum, v) => sum + Math.max(v, 0), 0);
  if (!(total > 0)) return null;
  const units = 10 ** digits;
  const exact = values.map((v) => (Math.max(v, 0) / total) * (100 * units));
  const floors = exact.map((v) => Math.floor(v + 1e-9));
  let missing = Math.round(100 * units - floors.reduce((sum, v) => sum + v, 0));
  const order = exact.map((v, i) => ({ i, rest: v - (floors[i] ?? 0) })).sort((a, b) => b.rest - a.rest || a.i - b.i);
  for (const { i } of order) {
    if (missing <= 0) break;
    floors[i] = (floors[i] ?? 0) + 1;
    missing--;
  }
  return floors.map((v) => v / units);
}

function point(cx: number, cy: number, r: number, turn: number): string {
  const a = (turn - 0.25) * 2 * Math.PI;
  return `${(cx + r * Math.cos(a)).toFixed(2)} ${(cy + r * Math.sin(a)).toFixed(2)}`;
}

/** An SVG path of a ring's part; turns run from 0 at the top, clockwise, to 1. */
export function ringPart(cx: number, cy: number, inner: number, outer: number, from: number, to: number): string {
  // A whole ring would begin where it ends, also when the digits of a path are rounded.
  const end = Math.min(to, from + 0.9999);
  const large = end - from > 0.5 ? 1 : 0;
  return (
    `M${point(cx, cy, outer, from)}A${outer} ${outer} 0 ${large} 1 ${point(cx, cy, outer, end)}` +
    `L${point(cx, cy, inner, end)}A${inner} ${inner} 0 ${large} 0 ${point(cx, cy, inner, from)}Z`
  );
}

/** The position of a part's label. */
export function ringLabel(cx: number, cy: number, r: number, from: number, to: number): { x: number; y: number } {
  const a = ((from + to) / 2 - 0.25) * 2 * Math.PI;
  return { x: cx + r * Math.cos(a), y: cy + r * Math.sin(a) };
}
