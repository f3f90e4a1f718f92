// SPDX-License-Identifier: Apache-2.0
// stage.tsx - the lanes on the page: titles at the left (above, on a phone), the ruler on top, the
// canvas that stays in place while the titles scroll, and the tooltip.

import { effect, useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { duration, value } from "../format";
import { color, theme } from "../theme";
import type { GroupBox, LaneBox } from "./layout";
import { isTimed } from "./model";
import { makePaint } from "./palette";
import { listen, rangeDrag } from "./pointer";
import { marks, markStep, offsetText, timeToPx } from "./range";
import { Painter, type Scene } from "./scene";
import type { Store } from "./store";

const NARROW_PX = 640; /* below, titles are above their lanes */
const MARK_PX = 110;

export function Ruler(p: { store: Store }) {
  const { store } = p;
  const box = useRef<HTMLDivElement>(null);
  const drag = useRef<ReturnType<typeof rangeDrag> | null>(null);
  const wide = (): number => box.current?.clientWidth ?? 1;
  const x = (e: PointerEvent): number => e.clientX - (box.current?.getBoundingClientRect().left ?? 0);
  const r = store.range.value;
  const most = Math.max(2, store.width.value / MARK_PX);
  const picked = store.selection.value;
  const percent = (t: number): number => timeToPx(t, r, 100);
  const begin = (e: PointerEvent): void => {
    box.current?.setPointerCapture(e.pointerId);
    drag.current = rangeDrag(store, wide, x(e));
  };
  const finish = (e: PointerEvent): void => {
    drag.current?.end(x(e), 0);
    drag.current = null;
  };
  return (
    <div
      class="tl-ruler"
      ref={box}
      aria-hidden="true"
      title="Drag to select a range"
      onPointerDown={begin}
      onPointerMove={(e) => drag.current?.move(x(e), 0)}
      onPointerUp={finish}
    >
      {marks(r, most).map((t) => (
        <span key={t} class="tl-mark" style={{ left: `${percent(t)}%` }}>
          {offsetText(t, markStep(r, most))}
        </span>
      ))}
      {picked && (
        <span
          class="tl-picked"
          style={{ left: `${percent(Math.max(picked.from, r.from))}%`, right: `${100 - percent(Math.min(picked.to, r.to))}%` }}
        />
      )}
    </div>
  );
}

function LaneTitle(p: { store: Store; box: LaneBox }) {
  const { lane, collapsed, key, height } = p.box;
  return (
    <button
      type="button"
      class="bare tl-lane"
      style={{ height: `${height}px` }}
      aria-expanded={!collapsed}
      title={isTimed(lane) ? `${p.store.titleOf(lane)}: GPU time of phases, by CUDA events (${lane.title})` : lane.title}
      onClick={() => p.store.toggle(key)}
    >
      <span class="tl-arrow" aria-hidden="true">
        {lane.depth > 1 ? (collapsed ? "▸" : "▾") : "·"}
      </span>
      <span class="tl-name">{p.store.titleOf(lane)}</span>
    </button>
  );
}

function GroupTitle(p: { store: Store; group: GroupBox }) {
  const { group } = p;
  return (
    <div class="tl-group" style={{ height: `${group.height}px` }}>
      <button
        type="button"
        class="bare tl-group-head"
        aria-expanded={!group.collapsed}
        onClick={() => p.store.toggle(group.key)}
      >
        <span class="tl-arrow" aria-hidden="true">
          {group.collapsed ? "▸" : "▾"}
        </span>
        {group.title}
      </button>
      {group.lanes.map((box) => (
        <LaneTitle key={box.key} store={p.store} box={box} />
      ))}
    </div>
  );
}

function Tooltip(p: { store: Store }) {
  const hover = p.store.hover.value;
  if (!hover) return null;
  const { slice, x, y } = hover;
  const right = x > p.store.width.value * 0.6;
  const place = right ? { right: `${p.store.width.value - x + 12}px` } : { left: `${x + 12}px` };
  return (
    <div class="tip tl-tip" style={{ ...place, top: `${y + 16}px` }} aria-hidden="true">
      <strong>{slice.name}</strong>
      <span>
        {value((slice.end - slice.start) / 1e9, "s")} · at {offsetText(slice.start, 1000)}
      </span>
      <span class="quiet">
        {slice.category}
        {slice.merged > 1 && ` · ${slice.merged} slices too narrow to draw apart`}
      </span>
    </div>
  );
}

function sceneOf(store: Store, top: number, paint: Scene["paint"]): Scene {
  return {
    layout: store.layout.value,
    range: store.range.value,
    top,
    chunks: store.chunks.value,
    sought: store.sought.value,
    selected: store.selected.value,
    hovered: store.hover.value?.slice ?? null,
    selection: store.selection.value,
    paint,
    colours: {
      outline: color("--text"),
      selection: `${color("--accent")}33`,
    },
  };
}

/** Draws into the canvas whenever something it shows has changed, once per frame. */
function keepDrawn(store: Store, canvas: HTMLCanvasElement, scroller: HTMLElement): () => void {
  const g = canvas.getContext("2d");
  if (!g) return () => undefined;
  const painter = new Painter(g);
  let paint = makePaint(color);
  let painted: string | null = null;
  let asked = 0;
  const draw = (): void => {
    asked = 0;
    const { clientWidth, clientHeight } = canvas;
    if (clientWidth === 0) return;
    painter.frame(sceneOf(store, scroller.scrollTop, paint), clientWidth, clientHeight, devicePixelRatio || 1);
  };
  const ask = (): void => {
    if (asked === 0) asked = requestAnimationFrame(draw);
  };
  const resized = new ResizeObserver(() => {
    store.width.value = canvas.clientWidth;
    store.narrow.value = scroller.clientWidth < NARROW_PX;
    ask();
  });
  resized.observe(canvas);
  scroller.addEventListener("scroll", ask, { passive: true });
  const stop = effect(() => {
    if (painted !== theme.value) paint = makePaint(color);
    painted = theme.value;
    sceneOf(store, 0, paint);
    ask();
  });
  return () => {
    stop();
    resized.disconnect();
    cancelAnimationFrame(asked);
    scroller.removeEventListener("scroll", ask);
  };
}

/** Keeps the selected slice's row on the screen. */
function keepSeen(store: Store, scroller: HTMLElement): () => void {
  return effect(() => {
    const slice = store.selected.value;
    const row = slice && store.layout.peek().rows.find((r) => r.lane.id === slice.lane.id && r.row === slice.row);
    if (!row) return;
    const top = scroller.scrollTop;
    if (row.y < top + 30) scroller.scrollTop = Math.max(0, row.y - 60);
    else if (row.y + row.height > top + scroller.clientHeight) scroller.scrollTop = row.y - scroller.clientHeight + 60;
  });
}

export function Stage(p: { store: Store; describedBy: string }) {
  const { store } = p;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const layout = useComputed(() => store.layout.value).value;
  useEffect(() => {
    const [s, c] = [scroller.current, canvas.current];
    if (!s || !c) return undefined;
    const ends = [keepDrawn(store, c, s), keepSeen(store, s), listen({ store, element: c, scroller: s })];
    return () => ends.forEach((end) => end());
  }, [store]);
  const r = store.range.value;
  const label = `Timeline of ${layout.groups.length} ranks and nodes, showing ${duration((r.to - r.from) / 1e9)} from ${offsetText(r.from, 1e6)}`;
  return (
    <div class={`tl-stage ${store.narrow.value ? "tl-narrow" : ""}`}>
      <div class="tl-head">
        <span class="tl-corner">{store.loading.value ? "loading …" : ""}</span>
        <Ruler store={store} />
      </div>
      <div class="tl-scroll" ref={scroller}>
        <div class="tl-titles" style={{ height: `${layout.height}px` }}>
          {layout.groups.map((group) => (
            <GroupTitle key={group.key} store={store} group={group} />
          ))}
        </div>
        <div class="tl-lanes" style={{ height: `${layout.height}px` }}>
          <canvas
            class="tl-canvas"
            ref={canvas}
            tabIndex={0}
            role="application"
            aria-roledescription="timeline"
            aria-label={label}
            aria-describedby={p.describedBy}
          />
        </div>
      </div>
      <div class="tl-tips">
        <Tooltip store={store} />
      </div>
    </div>
  );
}
