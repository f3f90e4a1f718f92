// SPDX-License-Identifier: Apache-2.0
// scene.ts - a whole frame of the timeline: which chunk paints which columns, the visible rows, then
// labels, ruler lines and outlines on top. Knows no events and no server: bench and page share it.

import type { Label, Raster } from "./draw";
import { clearRaster, makeRaster, paintRow } from "./draw";
import type { Layout, RowBox } from "./layout";
import { rowsBetween } from "./layout";
import type { Chunk, LaneKind, Slice } from "./model";
import { labelOf, type Paint } from "./palette";
import type { Range } from "./range";
import { marks, timeToPx } from "./range";

/** Columns [left, right) of the raster that one chunk paints. */
export interface Segment {
  readonly chunk: Chunk;
  readonly left: number;
  readonly right: number;
}

export interface Scene {
  readonly layout: Layout;
  readonly range: Range;
  /** How far the rows are scrolled, in CSS pixels. */
  readonly top: number;
  /** Sharpest first: what one covers, those after it leave alone. */
  readonly chunks: readonly Chunk[];
  /** null: no search. */
  readonly sought: Sought | null;
  readonly selected: Slice | null;
  readonly hovered: Slice | null;
  readonly selection: Range | null;
  readonly paint: Paint;
  readonly colours: SceneColours;
}

export interface SceneColours {
  readonly outline: string;
  readonly selection: string;
}

function gaps(covered: readonly (readonly [number, number])[], from: number, to: number): [number, number][] {
  const out: [number, number][] = [];
  let at = from;
  for (const [a, b] of [...covered].sort((x, y) => x[0] - y[0])) {
    if (a > at) out.push([at, Math.min(a, to)]);
    at = Math.max(at, b);
    if (at >= to) return out;
  }
  if (at < to) out.push([at, to]);
  return out;
}

/** Shares the columns out among the chunks, the first that has them first. */
export function segmentsOf(chunks: readonly Chunk[], range: Range, px: number): Segment[] {
  const out: Segment[] = [];
  const covered: [number, number][] = [];
  for (const chunk of chunks) {
    const left = Math.max(0, Math.floor(timeToPx(chunk.range.from, range, px)));
    const right = Math.min(px, Math.ceil(timeToPx(chunk.range.to, range, px)));
    if (left >= right) continue;
    for (const [a, b] of gaps(covered, left, right)) out.push({ chunk, left: a, right: b });
    covered.push([left, right]);
  }
  return out;
}

/** What is searched for: a text, in lower case, and whole names that the server found by it. */
export interface Sought {
  readonly text: string;
  readonly whole: readonly string[];
}

/** 1 for each name that was found. Names on slices may be shortened ("conv2d" of "aten::conv2d"), so
 * that the end of a whole name that was found counts too. */
export function foundNames(names: readonly string[], sought: Sought): Uint8Array {
  const ends = (name: string): boolean => name !== "" && sought.whole.some((w) => w === name || w.endsWith(`:${name}`));
  return Uint8Array.from(names, (name) => (name.toLowerCase().includes(sought.text) || ends(name) ? 1 : 0));
}

/** As much of a name as fits; "" when too little is left. A number is never cut: it would be another one. */
export function fitText(name: string, room: number, measure: (text: string) => number): string {
  const all = measure(name);
  if (all <= room) return name;
  const most = Math.floor((name.length * room) / all) - 1;
  return most < 3 || /^\d+$/.test(name) ? "" : `${name.slice(0, most)}…`;
}

interface NamedLabel extends Label {
  chunk: Chunk;
  kind: LaneKind;
  thin: boolean;
}

const LABEL_FROM = 26; /* CSS pixels; narrower ones have no room for three letters */
const NUMBER_FROM = 16; /* the number of a step needs less */
const FONT = 11;

/** Draws frames into one canvas; caches its pixels and measured names between them. */
export class Painter {
  #raster: Raster = makeRaster(1, 1);
  #image: ImageData | null = null;
  readonly #widths = new Map<string, number>();
  #ratio = 0;
  readonly #found = new WeakMap<Chunk, { sought: Sought; names: Uint8Array }>();

  constructor(readonly g: CanvasRenderingContext2D) {}

  /** Paints the scene; returns how many slices were drawn. */
  frame(scene: Scene, width: number, height: number, ratio: number): number {
    this.#resize(Math.round(width * ratio), Math.round(height * ratio), ratio);
    const labels: NamedLabel[] = [];
    clearRaster(this.#raster, scene.paint);
    this.#grid(scene, width);
    const painted = this.#rows(scene, height, labels);
    this.g.putImageData(this.#image!, 0, 0);
    this.#labels(labels, scene.paint);
    this.#outlines(scene, height);
    return painted;
  }

  #resize(width: number, height: number, ratio: number): void {
    const { canvas } = this.g;
    if (this.#ratio !== ratio) this.#widths.clear();
    this.#ratio = ratio;
    if (this.#image && canvas.width === width && canvas.height === height) return;
    canvas.width = Math.max(1, width);
    canvas.height = Math.max(1, height);
    this.#raster = makeRaster(canvas.width, canvas.height);
    const bytes = new Uint8ClampedArray(this.#raster.pixels.buffer as ArrayBuffer);
    this.#image = new ImageData(bytes, canvas.width, canvas.height);
  }

  #foundIn(chunk: Chunk, sought: Sought | null): Uint8Array | null {
    if (!sought) return null;
    const known = this.#found.get(chunk);
    if (known?.sought === sought) return known.names;
    const names = foundNames(chunk.names, sought);
    this.#found.set(chunk, { sought, names });
    return names;
  }

  #rows(scene: Scene, height: number, labels: NamedLabel[]): number {
    const segments = segmentsOf(scene.chunks, scene.range, this.#raster.width);
    const [first, last] = rowsBetween(scene.layout, scene.top, scene.top + height);
    let painted = 0;
    for (let i = first; i < last; i++)
      painted += this.#row(scene, scene.layout.rows[i]!, segments, labels);
    return painted;
  }

  #row(scene: Scene, row: RowBox, segments: readonly Segment[], labels: NamedLabel[]): number {
    const y = Math.round((row.y - scene.top) * this.#ratio);
    const height = Math.round((row.y - scene.top + row.height - 1) * this.#ratio) - y;
    let painted = 0;
    for (const { chunk, left, right } of segments) {
      const track = chunk.tracks.get(row.lane.id)?.[row.row];
      if (!track) continue;
      const before: Label[] = [];
      painted += paintRow(
        this.#raster,
        scene.paint,
        {
          track,
          range: scene.range,
          y,
          height,
          left,
          right,
          found: this.#foundIn(chunk, scene.sought),
          labelFrom: row.thin ? Infinity : (row.lane.kind === "steps" ? NUMBER_FROM : LABEL_FROM) * this.#ratio,
        },
        before,
      );
      for (const label of before) labels.push({ ...label, y, height, chunk, kind: row.lane.kind, thin: row.thin });
    }
    return painted;
  }

  #width(text: string): number {
    let known = this.#widths.get(text);
    if (known === undefined) {
      if (this.#widths.size > 20_000) this.#widths.clear();
      known = this.g.measureText(text).width;
      this.#widths.set(text, known);
    }
    return known;
  }

  #labels(labels: readonly NamedLabel[], paint: Paint): void {
    const g = this.g;
    g.font = `${FONT * this.#ratio}px system-ui, sans-serif`;
    g.textBaseline = "middle";
    const air = 4 * this.#ratio;
    for (const label of labels) {
      const name = labelOf(label.kind, label.chunk.names[label.name] ?? "");
      const text = fitText(name, label.width - 2 * air, (t) => this.#width(t));
      if (text === "") continue;
      g.fillStyle = paint.text[label.style]!;
      g.fillText(text, label.x + air, label.y + label.height / 2);
    }
  }

  /** Under the slices: into the pixels, not on top. */
  #grid(scene: Scene, width: number): void {
    const { pixels, width: wide } = this.#raster;
    for (const t of marks(scene.range, width / 110)) {
      const x = Math.round(timeToPx(t, scene.range, wide));
      for (let i = x; x < wide && i < pixels.length; i += wide) pixels[i] = scene.paint.grid;
    }
  }

  #outlines(scene: Scene, height: number): void {
    const g = this.g;
    const x = (t: number): number => timeToPx(t, scene.range, this.#raster.width);
    if (scene.selection) {
      g.fillStyle = scene.colours.selection;
      const left = x(scene.selection.from);
      g.fillRect(left, 0, Math.max(1, x(scene.selection.to) - left), height * this.#ratio);
    }
    for (const [slice, wide] of [
      [scene.hovered, 1],
      [scene.selected, 2],
    ] as const) {
      const row = slice && scene.layout.rows.find((r) => r.lane.id === slice.lane.id && r.row === slice.row);
      if (!slice || !row) continue;
      g.strokeStyle = scene.colours.outline;
      g.lineWidth = wide * this.#ratio;
      const left = Math.max(x(slice.start), -9);
      const right = Math.min(x(slice.end), this.#raster.width + 9);
      const y = (row.y - scene.top) * this.#ratio;
      g.strokeRect(left, y, Math.max(2, right - left), (row.height - 1) * this.#ratio);
    }
  }
}
