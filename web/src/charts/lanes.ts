// SPDX-License-Identifier: Apache-2.0
// lanes.ts - what a training loop did, as bars in lanes: one lane for each part of a step and rank.
// Sorting slices into lanes and finding one under the pointer is apart from drawing.

import type { Timeline } from "../types";
import { partTitle } from "../words";
import { overlap, type Span, width } from "./span";

export interface Slice {
  readonly from: number; // ms
  readonly to: number;
  readonly name: string;
  readonly merged: number; // how many were too narrow to draw apart; 0: this is one
}

export interface Lane {
  readonly node: string;
  readonly rank: number | null;
  readonly part: Part;
  readonly slices: readonly Slice[]; // by their start
}

export interface Part {
  readonly id: string;
  readonly title: string;
  readonly names: readonly string[]; // events that belong to it: their name, or its first word
  readonly category?: string;
}

/** In the order a step has them. The first that fits takes an event. */
export const PARTS: readonly Part[] = [
  { id: "data", title: partTitle("data"), names: ["data"] },
  { id: "h2d", title: partTitle("h2d"), names: ["h2d"] },
  { id: "forward", title: partTitle("forward"), names: ["forward"] },
  { id: "backward", title: partTitle("backward"), names: ["backward"] },
  { id: "optimizer", title: partTitle("optimizer"), names: ["optimizer", "zero_grad"] },
  { id: "eval", title: partTitle("eval"), names: ["eval"] },
  { id: "checkpoint", title: partTitle("checkpoint"), names: ["checkpoint"] },
  { id: "comm", title: partTitle("comm"), names: ["comm"], category: "comm" },
  { id: "compile", title: partTitle("compile"), names: ["compile"] },
];

/** Where the server drew many events as one without their names. */
const DENSE: Part = { id: "dense", title: "Dense (zoom in)", names: [] };

/** An event is called as its part, or its part with a suffix: "forward.eval", "eval 12". */
export function partOf(name: string, category: string): Part | null {
  const fits = (p: Part): boolean =>
    category === p.category || p.names.some((n) => name === n || name.startsWith(`${n}.`) || name.startsWith(`${n} `));
  return PARTS.find(fits) ?? null;
}

interface Building {
  lane: Lane;
  slices: Slice[];
}

/** Sorts the slices of the requested kinds into lanes; parts that never ran have none. */
export function partLanes(t: Timeline, kinds: readonly string[] = ["events", "steps"]): Lane[] {
  // Only steps have the rank of a process that did not report it.
  const process = (l: Timeline["lanes"][number]): string => `${l.node} ${l.pid}`;
  const ranks = new Map(t.lanes.filter((l) => l.kind === "steps").map((l) => [process(l), l.rank]));
  const built = new Map<string, Building>();
  t.slices.lane.forEach((k, i) => {
    const lane = t.lanes[k];
    const name = t.names[t.slices.name[i] ?? -1] ?? "";
    const merged = t.slices.merged[i] ?? 0;
    const part = partOf(name, t.categories[t.slices.category[i] ?? -1] ?? "") ?? (merged > 1 && lane?.kind === "events" ? DENSE : null);
    if (!lane || !part || !kinds.includes(lane.kind)) return;
    const rank = lane.rank ?? ranks.get(process(lane)) ?? null;
    const from = (t.from_ns + (t.slices.start[i] ?? 0)) / 1e6;
    const slice = { from, to: from + (t.slices.dur[i] ?? 0) / 1e6, name, merged };
    const key = `${lane.node} ${rank ?? ""} ${part.id}`;
    let b = built.get(key);
    if (!b) {
      const slices: Slice[] = [];
      b = { slices, lane: { node: lane.node ?? "", rank, part, slices } };
      built.set(key, b);
    }
    b.slices.push(slice);
  });
  const lanes = [...built.values()];
  for (const b of lanes) b.slices.sort((x, y) => x.from - y.from);
  return lanes.map((b) => b.lane).sort(laneOrder);
}

function laneOrder(a: Lane, b: Lane): number {
  if (a.node !== b.node) return a.node < b.node ? -1 : 1;
  if (a.rank !== b.rank) return (a.rank ?? 1e9) - (b.rank ?? 1e9);
  return PARTS.indexOf(a.part) - PARTS.indexOf(b.part);
}

/** The slice that runs at a time, the latest begun where several do. */
export function sliceAt(lane: Lane, at: number, slack = 0): Slice | null {
  for (let i = after(lane.slices, at + slack) - 1, seen = 0; i >= 0 && seen < 64; i--, seen++) {
    const s = lane.slices[i] as Slice;
    if (s.to + slack >= at) return s;
  }
  return null;
}

/** How many slices begin at or before a time. */
function after(slices: readonly Slice[], at: number): number {
  let [low, high] = [0, slices.length];
  while (low < high) {
    const mid = (low + high) >> 1;
    if ((slices[mid] as Slice).from <= at) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** Time that a lane was busy inside a span, and how many slices had a share in it. */
export function busyIn(lane: Lane, span: Span): { ms: number; count: number } {
  let ms = 0;
  let count = 0;
  let done = -Infinity; // what overlaps counts once; merged ones are as long as all in them together, wherever those lie
  for (const s of lane.slices) {
    const both = overlap(s, span);
    if (!both) continue;
    ms += Math.max(0, both.to - (s.merged > 1 ? both.from : Math.max(both.from, done)));
    if (s.merged <= 1) done = Math.max(done, both.to);
    count += Math.max(s.merged, 1);
  }
  return { ms, count };
}

export const LANE_HEIGHT = 22;
const BAR = 14;
const NARROWEST_PX = 1;

export interface LaneLayout {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

export const laneLayout = (lanes: number, box: { left: number; top: number; width: number }): LaneLayout => ({
  ...box,
  height: lanes * LANE_HEIGHT,
});

export const laneAt = (y: number, layout: LaneLayout): number => Math.floor((y - layout.top) / LANE_HEIGHT);

/** Draws the bars; those that touch on the screen become one rectangle. */
export function drawLanes(
  g: CanvasRenderingContext2D,
  lanes: readonly Lane[],
  shown: Span,
  layout: LaneLayout,
  colour: (part: Part) => string,
): void {
  const perMs = layout.width / width(shown);
  const right = layout.left + layout.width;
  lanes.forEach((lane, k) => {
    const y = layout.top + k * LANE_HEIGHT + (LANE_HEIGHT - BAR) / 2;
    g.fillStyle = colour(lane.part);
    let [from, to] = [NaN, NaN];
    const flush = (): void => {
      if (to > from) g.fillRect(from, y, to - from, BAR);
    };
    for (const s of lane.slices) {
      const x0 = Math.max(layout.left + (s.from - shown.from) * perMs, layout.left);
      const x1 = Math.min(Math.max(layout.left + (s.to - shown.from) * perMs, x0 + NARROWEST_PX), right);
      if (s.to < shown.from || x0 > right) continue;
      if (x0 <= to + 0.25) {
        to = Math.max(to, x1);
        continue;
      }
      flush();
      [from, to] = [x0, x1];
    }
    flush();
  });
}
