// SPDX-License-Identifier: Apache-2.0
// model.ts - the answer of the server for a window, sorted so that drawing and hit tests are quick:
// one Track per row of a lane, its slices in order of their start, in typed columns.

import type { Timeline, TimelineLane } from "../types";
import { styleOf } from "./palette";
import type { Range } from "./range";

/** A lane; its id is the same in every answer, unlike its place in the list. node null: the whole job. */
export type Lane = Omit<TimelineLane, "id"> & { id: string };
export type LaneKind = TimelineLane["kind"];
/** An answer; its slices' starts count from `base`, ns after the start of the run. */
export type Answer = Omit<Timeline, "from_ns" | "to_ns" | "lanes"> & { lanes: Lane[]; base: number };
type SliceColumns = Timeline["slices"];

/** One row of one lane. Starts are sorted; slices of a row do not overlap, so ends are, too. */
export interface Track {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly name: Uint32Array;
  readonly style: Uint8Array;
  readonly category: Uint16Array;
  readonly merged: Uint32Array;
}

export interface Chunk {
  readonly range: Range;
  /** For how many pixels the range was requested: what was narrower than one is merged. */
  readonly px: number;
  readonly lanes: readonly Lane[];
  readonly names: readonly string[];
  readonly categories: readonly string[];
  /** By the lane's id, then by row. */
  readonly tracks: ReadonlyMap<string, readonly Track[]>;
  readonly count: number;
  readonly cut: boolean;
}

/** A slice with its texts; start and end after the start of the run. */
export interface Slice {
  lane: Lane;
  row: number;
  start: number;
  end: number;
  name: string;
  category: string;
  merged: number;
}

/** The ranks of processes, from any of their lanes: those of traces have it on their steps only. */
function ranksByProcess(lanes: readonly TimelineLane[]): Map<string, number> {
  const known = lanes.filter((l) => l.rank !== null && l.pid !== null);
  return new Map(known.map((l) => [`${l.node} ${l.pid}`, l.rank as number]));
}

/** Lanes with the same id as one, and which of them each was: every detail window has its own, and what
 * is one thread or stream for people should be one here. */
function joinLanes(lanes: readonly Lane[]): { lanes: Lane[]; place: number[] } {
  const joined = uniteLanes([], lanes);
  const places = new Map(joined.map((l, i) => [l.id, i]));
  return { lanes: joined, place: lanes.map((l) => places.get(l.id)!) };
}

/** A lane of phases that hooks timed with CUDA events, on some of the steps; not a stream of kernels. */
export const isTimed = (lane: Pick<Lane, "kind" | "thread">): boolean => lane.kind === "gpu" && /^gpu\d+$/.test(lane.thread ?? "");

const CLOCK_NS = 2000; /* two phases of a GPU that overlap by less follow each other */

/** One phase ends where the next begins, but times of CUDA events are rounded: what overlaps by so little
 * was put into a separate row, and moves back into the first. */
function inOneRow(lanes: readonly Lane[], s: SliceColumns): { lanes: Lane[]; slices: SliceColumns } {
  if (!lanes.some((l) => isTimed(l) && l.depth > 1)) return { lanes: [...lanes], slices: s };
  const [row, dur] = [s.row.slice(), s.dur.slice()];
  const depths = new Map<number, number>();
  lanes.forEach((lane, k) => {
    if (!isTimed(lane) || lane.depth < 2) return;
    const mine = s.lane.flatMap((l, i) => (l === k ? [i] : [])).sort((a, b) => s.start[a]! - s.start[b]!);
    let last = -1; /* in the first row */
    for (const i of mine) {
      const over = last < 0 ? 0 : s.start[last]! + dur[last]! - s.start[i]!;
      if (row[i]! > 0 && over <= CLOCK_NS) row[i] = 0;
      if (row[i] !== 0) continue;
      if (over > 0 && over <= CLOCK_NS) dur[last]! -= over;
      last = i;
    }
    depths.set(k, 1 + mine.reduce((most, i) => Math.max(most, row[i]!), 0));
  });
  return { lanes: lanes.map((l, k) => ({ ...l, depth: depths.get(k) ?? l.depth })), slices: { ...s, row, dur } };
}

/** The server's answer as the timeline takes it, for a run that began at `start_ns`. */
export function asAnswer(t: Timeline, start_ns: number): Answer {
  const ranks = ranksByProcess(t.lanes);
  const each = t.lanes.map((l) => ({
    ...l,
    id: [l.node, l.rank, l.pid, l.thread, l.kind, l.title].join("\u001f"),
    rank: l.rank ?? (l.pid === null ? null : (ranks.get(`${l.node} ${l.pid}`) ?? null)),
  }));
  const { lanes, place } = joinLanes(each);
  const lane = lanes.length === each.length ? t.slices.lane : t.slices.lane.map((l) => place[l]!);
  return { ...t, ...inOneRow(lanes, { ...t.slices, lane }), base: t.from_ns - start_ns };
}

/** How many slices each row of each lane has; slices name their lane by its place in the list. */
function rowSizes(columns: SliceColumns, lanes: number): number[][] {
  const sizes: number[][] = Array.from({ length: lanes }, () => []);
  columns.lane.forEach((lane, i) => {
    const rows = sizes[lane]!;
    const row = columns.row[i]!;
    while (rows.length <= row) rows.push(0);
    rows[row]!++;
  });
  return sizes;
}

function emptyTrack(n: number): Track {
  return {
    start: new Float64Array(n),
    end: new Float64Array(n),
    name: new Uint32Array(n),
    style: new Uint8Array(n),
    category: new Uint16Array(n),
    merged: new Uint32Array(n),
  };
}

function isSorted(a: Float64Array): boolean {
  for (let i = 1; i < a.length; i++) if (a[i]! < a[i - 1]!) return false;
  return true;
}

function sortTrack(t: Track): Track {
  if (isSorted(t.start)) return t;
  const order = Uint32Array.from(t.start.keys()).sort((a, b) => t.start[a]! - t.start[b]!);
  const out = emptyTrack(order.length);
  const columns = ["start", "end", "name", "style", "category", "merged"] as const;
  for (const c of columns) order.forEach((from, to) => (out[c][to] = t[c][from]!));
  return out;
}

/** The answer to a request for `range` at `px` pixels, sorted. */
export function buildChunk(answer: Answer, range: Range, px: number): Chunk {
  const { slices, base } = answer;
  const tracks = rowSizes(slices, answer.lanes.length).map((rows) => rows.map(emptyTrack));
  const filled = tracks.map((rows) => rows.map(() => 0));
  for (let i = 0; i < slices.lane.length; i++) {
    const lane = slices.lane[i]!;
    const row = slices.row[i]!;
    const track = tracks[lane]![row]!;
    const at = filled[lane]![row]!++;
    const name = slices.name[i]!;
    const category = slices.category[i]!;
    track.start[at] = base + slices.start[i]!;
    track.end[at] = base + slices.start[i]! + slices.dur[i]!;
    track.name[at] = name;
    track.category[at] = category;
    track.merged[at] = slices.merged[i] ?? 0;
    track.style[at] = styleOf(
      answer.lanes[lane]!.kind,
      answer.categories[category] ?? "other",
      answer.names[name] ?? "",
    );
  }
  const byKey = answer.lanes.map((lane, i) => [lane.id, tracks[i]!.map(sortTrack)] as const);
  return {
    range,
    px,
    lanes: answer.lanes,
    names: answer.names,
    categories: answer.categories,
    tracks: new Map(byKey),
    count: slices.lane.length,
    cut: answer.cut,
  };
}

/** Index of the first slice that ends after `t`; the length when there is none. */
export function firstEndingAfter(track: Track, t: number): number {
  let low = 0;
  let high = track.end.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (track.end[middle]! > t) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Index of the slice at `t`, or the nearest within `reach` ns of it; -1 when there is none. */
export function indexAt(track: Track, t: number, reach: number): number {
  const i = firstEndingAfter(track, t);
  const n = track.start.length;
  if (i < n && track.start[i]! <= t) return i;
  const before = i > 0 ? t - track.end[i - 1]! : Infinity;
  const after = i < n ? track.start[i]! - t : Infinity;
  if (Math.min(before, after) > reach) return -1;
  return before <= after ? i - 1 : i;
}

export function sliceOf(chunk: Chunk, lane: Lane, row: number, index: number): Slice | null {
  const track = chunk.tracks.get(lane.id)?.[row];
  if (!track || index < 0 || index >= track.start.length) return null;
  return {
    lane,
    row,
    start: track.start[index]!,
    end: track.end[index]!,
    name: chunk.names[track.name[index]!] ?? "",
    category: chunk.categories[track.category[index]!] ?? "other",
    merged: track.merged[index]!,
  };
}

/** All lanes of both answers, in the order of the first, as deep as in either. */
export function uniteLanes(a: readonly Lane[], b: readonly Lane[]): Lane[] {
  const out = new Map(a.map((lane) => [lane.id, lane]));
  for (const lane of b) {
    const old = out.get(lane.id);
    if (!old || old.depth < lane.depth) out.set(lane.id, lane);
  }
  return [...out.values()];
}

/** The longest slices in a window, each from the most detailed chunk that has its time. */
export function slicesIn(chunks: readonly Chunk[], window: Range, most: number): Slice[] {
  const out: Slice[] = [];
  const done: Range[] = [];
  for (const chunk of chunks) {
    for (const lane of chunk.lanes)
      chunk.tracks.get(lane.id)?.forEach((track, row) => {
        for (let i = firstEndingAfter(track, window.from); i < track.start.length && track.start[i]! < window.to; i++) {
          const start = track.start[i]!;
          if (done.some((r) => start >= r.from && start < r.to)) continue;
          out.push(sliceOf(chunk, lane, row, i)!);
        }
      });
    done.push(chunk.range);
  }
  return out.sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, most);
}

/** Whether anything but phases lies in a window. */
export function hasSlices(chunks: readonly Chunk[], window: Range): boolean {
  const inside = (track: Track): boolean => {
    const i = firstEndingAfter(track, window.from);
    return i < track.start.length && track.start[i]! < window.to;
  };
  return chunks.some((chunk) => chunk.lanes.some((lane) => lane.kind !== "phases" && (chunk.tracks.get(lane.id) ?? []).some(inside)));
}

/** Whether this chunk shows the window as sharply as one requested now would. */
export function covers(chunk: Chunk, window: Range, px: number, bounds: Range): boolean {
  const slack = (window.to - window.from) * 0.4;
  const from = Math.max(bounds.from, window.from - slack);
  const to = Math.min(bounds.to, window.to + slack);
  if (chunk.range.from > from || chunk.range.to < to) return false;
  const nsPerPx = (chunk.range.to - chunk.range.from) / chunk.px;
  return nsPerPx <= ((window.to - window.from) / px) * 1.5;
}
