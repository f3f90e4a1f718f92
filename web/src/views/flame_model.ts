// SPDX-License-Identifier: Apache-2.0
// flame_model.ts - sampled stacks as boxes of a flame graph, and the frame that a key leads to. Pure.
import type { StackFrame } from "../types";

/** A frame with its place: `from` and `to` are seconds on the axis of all samples. */
export interface Box extends StackFrame {
  readonly index: number;
  readonly parent: number | null;
  readonly from: number;
  readonly to: number;
}

/** Callers come before callees; callees lie side by side from the start of their caller on. */
export function boxesOf(frames: readonly StackFrame[]): Box[] {
  const path: { index: number | null; next: number }[] = [{ index: null, next: 0 }];
  return frames.map((f, index) => {
    path.length = f.depth + 1;
    const above = path[f.depth] ?? { index: null, next: 0 };
    const from = above.next;
    above.next += f.total_s;
    path.push({ index, next: from });
    return { ...f, index, parent: above.index, from, to: from + f.total_s };
  });
}

export const totalOf = (boxes: readonly Box[]): number => boxes.reduce((sum, b) => (b.depth === 0 ? sum + b.total_s : sum), 0);

/** The boxes below `root` (null: all) and the callers above it, which fill the whole width. */
export function shownBoxes(boxes: readonly Box[], root: number | null): { box: Box; left: number; width: number }[] {
  const r = root === null ? undefined : boxes[root];
  const [from, to] = r === undefined ? [0, totalOf(boxes)] : [r.from, r.to];
  const above = new Set<number>();
  for (let at = r?.parent ?? null; at !== null; at = boxes[at]?.parent ?? null) above.add(at);
  const wide = Math.max(to - from, 1e-12);
  return boxes.flatMap((box) => {
    if (above.has(box.index)) return [{ box, left: 0, width: 1 }];
    const inside = box.from >= from - 1e-9 && box.to <= to + 1e-9 && (r === undefined || box.depth >= r.depth);
    return inside ? [{ box, left: (box.from - from) / wide, width: (box.to - box.from) / wide }] : [];
  });
}

/** The frame that an arrow key leads to: up to the caller, down to the longest callee, left and right to those beside it. */
export function neighbour(boxes: readonly Box[], at: number, key: string): number {
  const box = boxes[at];
  if (box === undefined) return 0;
  if (key === "ArrowUp") return box.parent ?? at;
  if (key === "ArrowDown") return boxes.find((b) => b.parent === at)?.index ?? at;
  const row = boxes.filter((b) => b.depth === box.depth).sort((a, b) => a.from - b.from);
  const place = row.findIndex((b) => b.index === at) + (key === "ArrowLeft" ? -1 : key === "ArrowRight" ? 1 : 0);
  return row[place]?.index ?? at;
}

/** A stable one of `n` colours for a name: the file decides, so that a module has one colour. */
export function colourOf(name: string, n: number): number {
  const file = /\(([^()]+):\d+\)$/.exec(name)?.[1] ?? name;
  let h = 0;
  for (let i = 0; i < file.length; i++) h = (h * 31 + file.charCodeAt(i)) | 0;
  return (h >>> 3) % n;
}
