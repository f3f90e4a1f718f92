// SPDX-License-Identifier: Apache-2.0
// minimap.tsx - the whole run in a strip: a line for each rank, and the window in it. Press to move
// the window there, drag it, or drag one of its edges.

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { width } from "../charts/span";
import { color, theme } from "../theme";
import { clearRaster, makeRaster, paintRow } from "./draw";
import { groupKey } from "./layout";
import type { Chunk, Lane } from "./model";
import { makePaint } from "./palette";
import { clampRange, pxToTime, type Range, timeToPx } from "./range";
import type { Store } from "./store";

const HEIGHT = 40;
const EDGE_PX = 8;

/** What represents each rank: its steps, or its first lane. */
export function strips(lanes: readonly Lane[], most: number): Lane[] {
  const out = new Map<string, Lane>();
  for (const lane of lanes) {
    const key = groupKey(lane);
    if (!out.has(key) || (lane.kind === "steps" && out.get(key)?.kind !== "steps")) out.set(key, lane);
  }
  return [...out.values()].slice(0, most);
}

function draw(canvas: HTMLCanvasElement, chunk: Chunk | null, lanes: readonly Lane[], bounds: Range): void {
  const g = canvas.getContext("2d");
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(canvas.clientWidth * ratio), Math.round(HEIGHT * ratio)];
  if (!g || wide === 0) return;
  canvas.width = wide;
  canvas.height = high;
  const raster = makeRaster(wide, high);
  const paint = makePaint(color);
  clearRaster(raster, paint);
  const shown = strips(lanes, 10);
  const each = Math.floor(high / Math.max(1, shown.length));
  shown.forEach((lane, i) => {
    const track = chunk?.tracks.get(lane.id)?.[0];
    if (!track) return;
    const row = { y: i * each + 1, height: Math.max(2, each - 2), left: 0, right: wide };
    paintRow(raster, paint, { track, range: bounds, ...row, found: null, labelFrom: Infinity }, []);
  });
  g.putImageData(new ImageData(new Uint8ClampedArray(raster.pixels.buffer as ArrayBuffer), wide, high), 0, 0);
}

type Grip = "from" | "to" | "both" | "new";

function gripAt(x: number, left: number, right: number): Grip {
  if (Math.abs(x - left) <= EDGE_PX) return "from";
  if (Math.abs(x - right) <= EDGE_PX) return "to";
  return x > left && x < right ? "both" : "new";
}

function dragged(grip: Grip, begun: Range, by: number, bounds: Range): Range {
  const least = width(bounds) / 1e6;
  if (grip === "from") return { from: Math.min(begun.from + by, begun.to - least), to: begun.to };
  if (grip === "to") return { from: begun.from, to: Math.max(begun.to + by, begun.from + least) };
  return { from: begun.from + by, to: begun.to + by };
}

export function Minimap(p: { store: Store }) {
  const { store } = p;
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const drag = useRef<((x: number) => void) | null>(null);
  useEffect(() => {
    const c = canvas.current;
    if (!c) return undefined;
    return effect(() => {
      theme.value;
      store.width.value;
      draw(c, store.whole.value, store.lanes.value, store.bounds.value);
    });
  }, [store]);
  const [r, bounds] = [store.range.value, store.bounds.value];
  const percent = (t: number): number => timeToPx(t, bounds, 100);
  const x = (e: PointerEvent): number => e.clientX - (box.current?.getBoundingClientRect().left ?? 0);
  const begin = (e: PointerEvent): void => {
    const wide = box.current?.clientWidth ?? 1;
    box.current?.setPointerCapture(e.pointerId);
    const x0 = x(e);
    const grip = gripAt(x0, timeToPx(r.from, bounds, wide), timeToPx(r.to, bounds, wide));
    const at = pxToTime(x0, bounds, wide);
    const half = width(r) / 2;
    const begun = grip === "new" ? clampRange({ from: at - half, to: at + half }, bounds) : r;
    store.show(begun);
    drag.current = (now) => store.show(dragged(grip, begun, ((now - x0) / wide) * width(bounds), bounds));
  };
  return (
    <div class="tl-mini-row">
      <span class="tl-corner">whole run</span>
      <div
        class="tl-mini"
        ref={box}
        aria-hidden="true"
        onPointerDown={begin}
        onPointerMove={(e) => drag.current?.(x(e))}
        onPointerUp={() => (drag.current = null)}
        onPointerCancel={() => (drag.current = null)}
      >
        <canvas ref={canvas} />
        <span class="tl-veil" style={{ left: "0", right: `${100 - percent(r.from)}%` }} />
        <span class="tl-veil" style={{ left: `${percent(r.to)}%`, right: "0" }} />
        <span class="tl-window" style={{ left: `${percent(r.from)}%`, right: `${100 - percent(r.to)}%` }} />
      </div>
    </div>
  );
}
