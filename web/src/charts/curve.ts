// SPDX-License-Identifier: Apache-2.0
// curve.ts - a line through columns as an SVG path, and the scale of its values. Pure.
import type { Cell } from "./columns";

export interface Scale {
  readonly low: number;
  readonly high: number;
}

/** From zero where all values are above it, unless `fitted`; percentages end at 100. Null: there is no value. */
export function scaleOf(all: readonly (readonly (number | null)[])[], unit: string, fitted = false): Scale | null {
  let [low, high] = [Infinity, -Infinity];
  for (const values of all)
    for (const v of values)
      if (v !== null) {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
  if (high < low) return null;
  if (!fitted) low = Math.min(low, 0);
  if (unit === "%" && high <= 100) high = 100;
  return high > low ? { low, high } : { low: low - (fitted ? 0.5 : 0), high: high + (fitted ? 0.5 : 1) };
}

/** A gap (null) ends a segment; what is undefined is drawn across; a reading with gaps on both
 * sides is a point. */
export function curvePath(cells: readonly Cell[], x: (i: number) => number, y: (v: number) => number): string {
  const out: string[] = [];
  let open = false;
  for (let i = 0; i < cells.length; i++) {
    const v = cells[i];
    if (v === undefined) continue;
    if (v === null) {
      open = false;
      continue;
    }
    const at = `${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    out.push(open ? `L${at}` : `M${at}h0`);
    open = true;
  }
  return out.join("");
}

/** The columns in which a count grew. */
export function growths(values: readonly (number | null)[]): number[] {
  const out: number[] = [];
  let before = 0;
  values.forEach((v, i) => {
    if (v === null) return;
    if (v > before) out.push(i);
    before = Math.max(before, v);
  });
  return out;
}
