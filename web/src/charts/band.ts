// SPDX-License-Identifier: Apache-2.0
// band.ts - the area between the smallest and the largest reading of each column, reduced to one
// place a pixel so that its cost depends on the width of the chart and not on the data.

import type { Cell } from "./columns";

/** A segment without a gap: places from left to right with the extremes there. */
export interface BandPiece {
  readonly x: number[];
  readonly low: number[];
  readonly high: number[];
}

/** Columns first..last as segments; `place` gives the pixel of a column's time. */
export function bandPieces(
  times: ArrayLike<number>,
  min: ArrayLike<Cell>,
  max: ArrayLike<Cell>,
  span: { first: number; last: number },
  place: (at: number) => number,
): BandPiece[] {
  const pieces: BandPiece[] = [];
  let piece: BandPiece | null = null;
  let at = NaN;
  for (let i = span.first; i <= span.last; i++) {
    const [low, high] = [min[i], max[i]];
    if (low === undefined || high === undefined) continue;
    if (low === null || high === null) {
      piece = null;
      continue;
    }
    const x = Math.round(place(times[i] as number));
    if (piece === null) {
      piece = { x: [x], low: [low], high: [high] };
      pieces.push(piece);
    } else if (x === at) {
      const k = piece.x.length - 1;
      if (low < (piece.low[k] as number)) piece.low[k] = low;
      if (high > (piece.high[k] as number)) piece.high[k] = high;
    } else {
      piece.x.push(x);
      piece.low.push(low);
      piece.high.push(high);
    }
    at = x;
  }
  return pieces;
}

/** Fills the segments; `level` gives the height of a value. A segment of one place is a pixel
 * wide. */
export function fillBand(g: CanvasRenderingContext2D, pieces: readonly BandPiece[], level: (v: number) => number): void {
  g.beginPath();
  for (const { x, low, high } of pieces) {
    const n = x.length;
    const edge = n === 1 ? 0.5 : 0;
    g.moveTo((x[0] as number) - edge, level(high[0] as number));
    for (let i = n === 1 ? 0 : 1; i < n; i++) g.lineTo((x[i] as number) + edge, level(high[i] as number));
    for (let i = n - 1; i >= 0; i--) g.lineTo((x[i] as number) + (i === n - 1 ? edge : 0), level(low[i] as number));
    if (n === 1) g.lineTo((x[0] as number) - edge, level(low[0] as number));
    g.closePath();
  }
  g.fill();
}

/** The columns whose times lie in [from, to], and one more on each side. Times ascend. */
export function columnsIn(times: ArrayLike<number>, from: number, to: number): { first: number; last: number } {
  const below = (at: number): number => {
    let [low, high] = [0, times.length];
    while (low < high) {
      const mid = (low + high) >> 1;
      if ((times[mid] as number) < at) low = mid + 1;
      else high = mid;
    }
    return low;
  };
  return { first: Math.max(below(from) - 1, 0), last: Math.min(below(to), times.length - 1) };
}
