// SPDX-License-Identifier: Apache-2.0
// layout.ts - lanes to rows of pixels: one group per rank (or node, for what has none), in it its
// lanes, in them their rows. Collapsed lanes and groups are one thin row, so that something is
// seen.

import type { Lane } from "./model";

export const ROW = 18;
export const THIN = 10;
export const GROUP_HEAD = 26;
export const LANE_GAP = 6;
/** Height of a lane's title where it is above the lane instead of beside it. */
export const INLINE_TITLE = 18;

export interface RowBox {
  readonly lane: Lane;
  readonly row: number;
  readonly y: number;
  readonly height: number;
  /** Thin rows carry no labels. */
  readonly thin: boolean;
}

export interface LaneBox {
  readonly lane: Lane;
  readonly key: string;
  readonly y: number;
  readonly height: number;
  readonly collapsed: boolean;
}

export interface GroupBox {
  readonly key: string;
  readonly title: string;
  readonly y: number;
  readonly height: number;
  readonly collapsed: boolean;
  readonly lanes: readonly LaneBox[];
}

export interface Layout {
  readonly groups: readonly GroupBox[];
  /** Of all groups, from top to bottom. */
  readonly rows: readonly RowBox[];
  readonly height: number;
}

export interface LayoutAsk {
  /** Keys of groups and lanes that are folded. */
  readonly collapsed: ReadonlySet<string>;
  readonly inlineTitles: boolean;
  readonly severalNodes: boolean;
}

export function groupKey(lane: Lane): string {
  return `group\u001f${lane.node ?? ""}\u001f${lane.rank ?? ""}`;
}

function groupTitle(lane: Lane, severalNodes: boolean): string {
  if (lane.node === null) return "whole job";
  if (lane.rank === null) return lane.node;
  return severalNodes ? `rank ${lane.rank} on ${lane.node}` : `rank ${lane.rank}`;
}

function byGroup(lanes: readonly Lane[]): Map<string, Lane[]> {
  const out = new Map<string, Lane[]>();
  for (const lane of lanes) {
    const key = groupKey(lane);
    const list = out.get(key);
    if (list) list.push(lane);
    else out.set(key, [lane]);
  }
  return out;
}

/** The whole job first, then ranks in order, then what has no rank. */
function inOrder(groups: Map<string, Lane[]>): [string, Lane[]][] {
  const place = ([lane]: Lane[]): number => (lane!.node === null ? -1 : (lane!.rank ?? Number.MAX_SAFE_INTEGER));
  return [...groups].sort(([, a], [, b]) => place(a) - place(b));
}

class Builder {
  y = 0;
  readonly rows: RowBox[] = [];

  constructor(readonly ask: LayoutAsk) {}

  group(key: string, lanes: Lane[]): GroupBox {
    const top = this.y;
    const collapsed = this.ask.collapsed.has(key);
    const title = groupTitle(lanes[0]!, this.ask.severalNodes);
    if (collapsed) {
      const shown = lanes.find((lane) => lane.kind === "steps") ?? lanes[0]!;
      const y = top + (GROUP_HEAD - THIN) / 2;
      this.rows.push({ lane: shown, row: 0, y, height: THIN, thin: true });
    }
    this.y += GROUP_HEAD;
    const boxes = collapsed ? [] : lanes.map((lane) => this.lane(lane));
    return { key, title, y: top, height: this.y - top, collapsed, lanes: boxes };
  }

  lane(lane: Lane): LaneBox {
    const top = this.y;
    const key = lane.id;
    const collapsed = this.ask.collapsed.has(key);
    const height = collapsed ? THIN : ROW;
    const rows = collapsed ? 1 : Math.max(1, lane.depth);
    if (this.ask.inlineTitles) this.y += INLINE_TITLE;
    for (let row = 0; row < rows; row++) {
      this.rows.push({ lane, row, y: this.y, height, thin: collapsed });
      this.y += height;
    }
    // Beside a lane there must be room for its title.
    if (collapsed && !this.ask.inlineTitles) this.y += ROW - THIN;
    this.y += LANE_GAP;
    return { lane, key, y: top, height: this.y - top, collapsed };
  }
}

export function buildLayout(lanes: readonly Lane[], ask: LayoutAsk): Layout {
  const builder = new Builder(ask);
  const groups = inOrder(byGroup(lanes)).map(([key, list]) => builder.group(key, list));
  return { groups, rows: builder.rows, height: builder.y };
}

/** Index of the first row that ends below `y`. */
export function firstRowBelow(layout: Layout, y: number): number {
  let low = 0;
  let high = layout.rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = layout.rows[middle]!;
    if (row.y + row.height > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function rowAt(layout: Layout, y: number): RowBox | null {
  const row = layout.rows[firstRowBelow(layout, y)];
  return row && row.y <= y ? row : null;
}

/** The rows between two heights, as a half-open range of indices. */
export function rowsBetween(layout: Layout, top: number, bottom: number): [number, number] {
  const first = firstRowBelow(layout, top);
  let last = first;
  while (last < layout.rows.length && layout.rows[last]!.y < bottom) last++;
  return [first, last];
}

/** What to fold at first: with many ranks all but the first, or nothing can be found. */
export function foldedAtFirst(lanes: readonly Lane[], most = 4): Set<string> {
  const keys = inOrder(byGroup(lanes.filter((l) => l.node !== null))).map(([key]) => key);
  return new Set(keys.length > most ? keys.slice(1) : []);
}
