// SPDX-License-Identifier: Apache-2.0
// heatmap.ts - a row per device, time across, the colour is the value. Cells become one image as
// they arrive (one pixel a cell); drawing scales that image to the window, which costs next to
// nothing, so a zoom shows at once and sharpens when the new cells are there.

import type { Heatmap } from "../types";
import { scalePixels } from "./colour";
import { contains, msOf, type Span, width } from "./span";
import type { Across } from "./timeaxis";

/** A cell is a byte: half percents up to this, NO_SAMPLE where nothing was measured. */
export const FULL = 200;
export const NO_SAMPLE = 255;
/** Measured, but not a number or infinite. */
export const NOT_FINITE = 254;

export type HeatRow = Heatmap["rows"][number];

export interface HeatData {
  readonly span: Span;
  readonly columns: number;
  readonly rows: readonly HeatRow[];
  readonly cells: Uint8Array; // row by row
  readonly look?: HeatLook; // where cells are no percentages
}

/** How a heatmap of other things than utilization reads. */
export interface HeatLook {
  readonly across: Across;
  readonly bar: (percent: number) => string; // a place on the colour bar
  readonly cell: (row: number, column: number) => string;
  readonly label: (row: HeatRow) => string; // beside the row, where there is little room
}

export interface HeatLayout {
  readonly left: number; // of the cells, in CSS pixels
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly rowHeight: number;
  readonly gaps: readonly number[]; // rows before which a new group begins
  readonly labels: readonly { row: number; text: string; y: number }[];
}

export interface HeatHit {
  readonly row: HeatRow;
  readonly from: number; // of the cell, in ms
  readonly to: number;
  readonly percent: number | null;
  readonly text?: string; // of cells that are no percentages
}

const GROUP_GAP = 6;
const LABEL_APART = 13;

export function decodeCells(base64: string): Uint8Array {
  const text = atob(base64);
  const cells = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) cells[i] = text.charCodeAt(i);
  return cells;
}

/** A reading applies until the next one, unless that is more than this many intervals away. */
const HOLDS = 2.5;

/** Fills columns that lie between two readings, where columns are narrower than the interval. */
export function hold(cells: Uint8Array, columns: number, limit: number): void {
  for (let row = 0; row < cells.length; row += columns) {
    let last = -1;
    for (let c = 0; c < columns; c++) {
      if ((cells[row + c] as number) > FULL) continue;
      if (last >= 0 && c - last <= limit) cells.fill(cells[row + last] as number, row + last + 1, row + c);
      last = c;
    }
  }
}

export function heatData(h: Heatmap, intervalMs: number | null): HeatData {
  const span = { from: msOf(h.from_ns), to: msOf(h.from_ns + h.n * h.step_ns) };
  const cells = decodeCells(h.cells);
  hold(cells, h.n, HOLDS * Math.max(1, ((intervalMs ?? 0) * 1e6) / h.step_ns));
  return { span, columns: h.n, rows: h.rows, cells };
}

/** A device in words; the node is named only where there are several. */
export function rowText(row: HeatRow, several: boolean): string {
  return several ? `${row.node} ${row.entity}` : row.entity;
}

const groupOf = (row: HeatRow): string => `${row.node} ${row.metric}`;

function gapsOf(rows: readonly HeatRow[]): number[] {
  const gaps: number[] = [];
  rows.forEach((row, i) => {
    const before = rows[i - 1];
    if (before && groupOf(before) !== groupOf(row)) gaps.push(i);
  });
  return gaps;
}

/** Few rows are tall, many are thin; from 128 on the picture grows instead. */
export const rowHeightOf = (rows: number): number => Math.min(22, Math.max(4, Math.floor(520 / Math.max(rows, 1))));

export function heatLayout(rows: readonly HeatRow[], box: { left: number; top: number; width: number }, label?: HeatLook["label"]): HeatLayout {
  const rowHeight = rowHeightOf(rows.length);
  const gaps = gapsOf(rows);
  const several = new Set(rows.map((r) => r.node)).size > 1;
  const labels: { row: number; text: string; y: number }[] = [];
  let last = -Infinity;
  rows.forEach((row, i) => {
    const y = rowTop(i, rowHeight, gaps) + rowHeight / 2;
    if (y - last < LABEL_APART && !gaps.includes(i)) return;
    if (y - last < LABEL_APART) labels.pop();
    labels.push({ row: i, text: label?.(row) ?? rowText(row, several), y: box.top + y });
    last = y;
  });
  const height = rows.length * rowHeight + gaps.length * GROUP_GAP;
  return { left: box.left, top: box.top, width: box.width, height, rowHeight, gaps, labels };
}

export function rowTop(row: number, rowHeight: number, gaps: readonly number[]): number {
  return row * rowHeight + GROUP_GAP * gaps.filter((g) => g <= row).length;
}

/** The row under a height, or null between groups and outside. */
export function rowAt(y: number, layout: HeatLayout, rows: number): number | null {
  for (let row = 0; row < rows; row++) {
    const top = layout.top + rowTop(row, layout.rowHeight, layout.gaps);
    if (y >= top && y < top + layout.rowHeight) return row;
  }
  return null;
}

export function percentAt(data: HeatData, row: number, column: number): number | null {
  const cell = data.cells[row * data.columns + column];
  return cell === undefined || cell > FULL ? null : cell / 2;
}

export const columnAt = (data: HeatData, at: number): number | null => {
  if (!contains(data.span, at)) return null;
  return Math.min(data.columns - 1, Math.floor(((at - data.span.from) / width(data.span)) * data.columns));
};

export function cellAt(data: HeatData, row: number, at: number): HeatHit | null {
  const column = columnAt(data, at);
  const found = data.rows[row];
  if (column === null || !found) return null;
  const step = width(data.span) / data.columns;
  const from = data.span.from + column * step;
  const text = data.look?.cell(row, column);
  return { row: found, from, to: from + step, percent: percentAt(data, row, column), ...(text === undefined ? {} : { text }) };
}

/** The cells as the bytes of an image, a pixel each. */
export function cellPixels(data: HeatData, colours = scalePixels(FULL, NOT_FINITE)): Uint32Array {
  const n = data.columns * data.rows.length;
  const pixels = new Uint32Array(n);
  for (let i = 0; i < n; i++) pixels[i] = colours[data.cells[i] ?? NO_SAMPLE] ?? 0;
  return pixels;
}

/** The image of some cells, made once; `draw` scales it as often as needed. */
export class HeatImage {
  readonly data: HeatData;
  readonly #image: HTMLCanvasElement;

  constructor(data: HeatData) {
    this.data = data;
    this.#image = document.createElement("canvas");
    this.#image.width = Math.max(data.columns, 1);
    this.#image.height = Math.max(data.rows.length, 1);
    if (data.columns * data.rows.length === 0) return;
    const bytes = new Uint8ClampedArray(cellPixels(data).buffer as ArrayBuffer);
    this.#image.getContext("2d")?.putImageData(new ImageData(bytes, data.columns, data.rows.length), 0, 0);
  }

  /** Draws what of the cells lies in the window; the rest of the box stays as it is. */
  draw(g: CanvasRenderingContext2D, shown: Span, layout: HeatLayout): void {
    const { span, columns, rows } = this.data;
    const perMs = layout.width / width(shown);
    const x = layout.left + (span.from - shown.from) * perMs;
    const wide = width(span) * perMs;
    g.save();
    g.beginPath();
    g.rect(layout.left, layout.top, layout.width, layout.height);
    g.clip();
    g.imageSmoothingEnabled = false;
    const edges = [0, ...layout.gaps, rows.length];
    for (let k = 0; k + 1 < edges.length; k++) {
      const first = edges[k] as number;
      const count = (edges[k + 1] as number) - first;
      const y = layout.top + rowTop(first, layout.rowHeight, layout.gaps);
      g.drawImage(this.#image, 0, first, columns, count, x, y, wide, count * layout.rowHeight);
    }
    g.restore();
  }
}
