// SPDX-License-Identifier: Apache-2.0
// draw.ts - slices to pixels. All slices of a row have the same height, so a row is painted as one
// line of pixels and that line copied: the cost follows the pixels, hardly the number of slices, and
// needs no graphics card. Labels and outlines go on top with the canvas' own calls (overlay.ts).

import type { Track } from "./model";
import { firstEndingAfter } from "./model";
import type { Paint, Pattern } from "./palette";
import type { Range } from "./range";

/** Pixels of the device, row by row. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint32Array;
}

/** Where labels may go: of slices wide enough, in pixels of the device. */
export interface Label {
  x: number;
  y: number;
  width: number;
  height: number;
  name: number;
  style: number;
}

export interface RowAsk {
  readonly track: Track;
  readonly range: Range;
  readonly y: number;
  readonly height: number;
  /** Columns of pixels that this track may paint: [left, right). */
  readonly left: number;
  readonly right: number;
  /** By name: 1 where the search found it; null without a search. */
  readonly found: Uint8Array | null;
  /** Slices at least so wide are handed to `label`; Infinity: none. */
  readonly labelFrom: number;
}

const GAP_FROM = 4; /* slices at least so wide leave a pixel to the next */
const PATTERN_FROM = 5; /* narrower ones would show noise */

export function makeRaster(width: number, height: number): Raster {
  return { width, height, pixels: new Uint32Array(width * height) };
}

export function clearRaster(raster: Raster, paint: Paint): void {
  raster.pixels.fill(paint.background);
}

const INKED: Readonly<Record<Pattern, (x: number, y: number) => boolean>> = {
  solid: () => false,
  diagonal: (x, y) => (x + y) % 7 === 0,
  dots: (x, y) => x % 5 === 0 && y % 5 === 2,
  lines: (_x, y) => y % 5 === 3,
  uprights: (x) => x % 6 === 0,
};

function stamp(raster: Raster, box: Label, pattern: Pattern, ink: number): void {
  const inked = INKED[pattern];
  for (let y = 0; y < box.height; y++) {
    const line = (box.y + y) * raster.width;
    for (let x = box.x; x < box.x + box.width; x++) if (inked(x, y)) raster.pixels[line + x] = ink;
  }
}

interface Stamp extends Label {
  dimmed: boolean;
}

/** Paints the row's first line of pixels; hands out what is wide enough for a pattern or a label. */
function paintLine(raster: Raster, paint: Paint, ask: RowAsk, stamps: Stamp[], labels: Label[]): number {
  const { track, range, left, right, found } = ask;
  const scale = raster.width / (range.to - range.from);
  const line = raster.pixels.subarray(ask.y * raster.width, (ask.y + 1) * raster.width);
  const leftTime = range.from + left / scale;
  let painted = 0;
  let last = -1; /* the last column that a slice of less than a pixel took */
  for (let i = firstEndingAfter(track, leftTime); i < track.start.length; i++) {
    const from = (track.start[i]! - range.from) * scale;
    if (from >= right) break;
    const to = (track.end[i]! - range.from) * scale;
    let x0 = Math.floor(from);
    if (to - from < 1 && x0 === last) continue;
    if (x0 < left) x0 = left;
    let x1 = Math.round(to);
    if (x1 > right) x1 = right;
    else if (x1 - x0 >= GAP_FROM) x1--;
    if (x1 <= x0) x1 = x0 + 1;
    if (to - from < 1) last = x0;
    const style = track.style[i]!;
    const dimmed = found !== null && found[track.name[i]!] !== 1;
    const colour = dimmed ? paint.dim[style]! : paint.body[style]!;
    if (x1 - x0 === 1) line[x0] = colour;
    else line.fill(colour, x0, x1);
    painted++;
    const width = x1 - x0;
    if (width < PATTERN_FROM) continue;
    const box = { x: x0, y: ask.y, width, height: ask.height, name: track.name[i]!, style };
    if (paint.pattern[style] !== "solid") stamps.push({ ...box, dimmed });
    if (width >= ask.labelFrom && !dimmed) labels.push(box);
  }
  return painted;
}

/** Paints one row, clipped to the raster; returns how many slices it painted. */
export function paintRow(raster: Raster, paint: Paint, ask: RowAsk, labels: Label[]): number {
  const top = Math.max(0, ask.y);
  const bottom = Math.min(raster.height, ask.y + ask.height);
  if (top >= bottom || ask.left >= ask.right) return 0;
  const clipped = { ...ask, y: top, height: bottom - top };
  const stamps: Stamp[] = [];
  const painted = paintLine(raster, paint, clipped, stamps, labels);
  if (painted === 0) return 0;
  const first = top * raster.width;
  for (let y = top + 1; y < bottom; y++)
    raster.pixels.copyWithin(y * raster.width + ask.left, first + ask.left, first + ask.right);
  for (const s of stamps)
    stamp(raster, s, paint.pattern[s.style]!, (s.dimmed ? paint.dimInk : paint.ink)[s.style]!);
  return painted;
}
