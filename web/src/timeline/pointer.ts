// SPDX-License-Identifier: Apache-2.0
// pointer.ts - what hands do on the timeline. Dragging moves the window (and scrolls the lanes), with
// shift or on the ruler it selects a range, the wheel zooms at the cursor, two fingers pinch, a click
// selects a slice, a double click shows the whole run. Keys as in other trace viewers.

import { type Hands, listen as listenTo, pinch } from "../charts/hands";
import { ordered, width } from "../charts/span";
import { rowAt } from "./layout";
import type { Slice } from "./model";
import { clampRange, pxToTime, type Range } from "./range";
import type { Store } from "./store";

export interface Surface {
  readonly store: Store;
  /** The lanes' pixels; x and y of events count from its corner. */
  readonly element: HTMLElement;
  /** What scrolls the lanes up and down. */
  readonly scroller: HTMLElement;
}

const CLICK_PX = 4;
const WHEEL = 1.2;
const REACH_PX = 3;
const PAN_KEY = 0.15;
const ZOOM_KEY = 1.4;

/** The slice under a point of the surface. */
export function sliceUnder(s: Surface, x: number, y: number): Slice | null {
  const { store } = s;
  const row = rowAt(store.layout.value, y + s.scroller.scrollTop);
  if (!row) return null;
  const r = store.range.value;
  const wide = s.element.clientWidth;
  return store.sliceAt(row.lane, row.row, pxToTime(x, r, wide), (REACH_PX / wide) * width(r));
}

interface Drag {
  move(x: number, y: number): void;
  end(x: number, y: number): void;
}

function panDrag(s: Surface, x0: number, y0: number, touch: boolean): Drag {
  const { store } = s;
  const begun = store.range.value;
  const top = s.scroller.scrollTop;
  let moved = false;
  return {
    move(x, y) {
      if (!moved && Math.hypot(x - x0, y - y0) < CLICK_PX) return;
      moved = true;
      const by = ((x0 - x) / s.element.clientWidth) * width(begun);
      store.show(clampRange({ from: begun.from + by, to: begun.to + by }, store.bounds.value));
      if (!touch) s.scroller.scrollTop = top + y0 - y; // the browser scrolls for fingers
    },
    end(x, y) {
      if (!moved) store.selected.value = sliceUnder(s, x, y);
    },
  };
}

/** Draws out a range from a point; a click without a drag drops the range. */
export function rangeDrag(store: Store, wide: () => number, x0: number): Drag {
  const from = pxToTime(x0, store.range.value, wide());
  const rangeTo = (x: number): Range =>
    ordered(from, pxToTime(Math.min(Math.max(x, 0), wide()), store.range.value, wide()));
  return {
    move(x) {
      if (Math.abs(x - x0) >= CLICK_PX) store.selection.value = rangeTo(x);
    },
    end(x) {
      store.select(Math.abs(x - x0) >= CLICK_PX ? rangeTo(x) : null);
    },
  };
}

class StageHands implements Hands {
  readonly #fingers = new Map<number, { x: number; y: number }>();
  #drag: Drag | null = null;
  #pinch: (() => Range) | null = null;

  constructor(readonly s: Surface) {}

  #at(e: MouseEvent): { x: number; y: number } {
    const box = this.s.element.getBoundingClientRect();
    return { x: e.clientX - box.left, y: e.clientY - box.top };
  }

  down(e: PointerEvent): void {
    if (e.button > 1) return;
    const at = this.#at(e);
    this.s.element.setPointerCapture(e.pointerId);
    this.#fingers.set(e.pointerId, at);
    this.s.store.hover.value = null;
    if (this.#fingers.size === 2) {
      this.#drag = null;
      this.#pinch = this.#startPinch();
      return;
    }
    const { store, element } = this.s;
    this.#drag = e.shiftKey
      ? rangeDrag(store, () => element.clientWidth, at.x)
      : panDrag(this.s, at.x, at.y, e.pointerType === "touch");
  }

  move(e: PointerEvent): void {
    const at = this.#at(e);
    if (this.#fingers.has(e.pointerId)) this.#fingers.set(e.pointerId, at);
    if (this.#pinch) return this.s.store.show(this.#pinch());
    if (this.#drag) return this.#drag.move(at.x, at.y);
    if (e.pointerType === "touch") return;
    const slice = sliceUnder(this.s, at.x, at.y);
    this.s.store.hover.value = slice && { slice, ...at };
  }

  up(e: PointerEvent): void {
    const at = this.#at(e);
    this.#fingers.delete(e.pointerId);
    if (e.type === "pointerup") this.#drag?.end(at.x, at.y);
    this.#drag = null;
    this.#pinch = null;
  }

  leave(): void {
    this.s.store.hover.value = null;
  }

  wheel(e: WheelEvent): void {
    const { store } = this.s;
    if (e.deltaX !== 0 && Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      e.preventDefault();
      store.pan(e.deltaX / this.s.element.clientWidth);
      return;
    }
    if (e.deltaY === 0) return;
    if (e.shiftKey) {
      e.preventDefault();
      this.s.scroller.scrollTop += e.deltaY;
      return;
    }
    if (e.deltaY > 0 && !store.zoomed.value && !e.ctrlKey) return; // nothing to zoom out of: the page scrolls
    e.preventDefault();
    const at = pxToTime(this.#at(e).x, store.range.value, this.s.element.clientWidth);
    store.zoom(e.deltaY > 0 ? WHEEL : 1 / WHEEL, at);
  }

  double(): void {
    this.s.store.reset();
  }

  key(e: KeyboardEvent): (() => void) | null {
    const act = KEYS[e.key.toLowerCase()];
    return act === undefined || e.ctrlKey || e.metaKey || e.altKey ? null : () => act(this.s, e);
  }

  #startPinch(): () => Range {
    const begun = this.s.store.range.value;
    const fingers = (): [number, number] => [...this.#fingers.values()].map((f) => f.x) as [number, number];
    return pinch(begun, fingers, (x) => pxToTime(x, begun, this.s.element.clientWidth));
  }
}

type Key = (s: Surface, e: KeyboardEvent) => void;

const pan = (by: number): Key => (s, e) => (e.shiftKey ? stretch(s.store, by) : s.store.pan(by));
const zoomBy = (factor: number): Key => (s) => s.store.zoom(factor);
const scroll = (by: number): Key => (s) => (s.scroller.scrollTop += by);

/** Grows the selected range at its end; without one it starts in the middle of the window. */
function stretch(store: Store, by: number): void {
  const r = store.range.value;
  const middle = (r.from + r.to) / 2;
  const now = store.selection.value ?? { from: middle, to: middle };
  const to = Math.min(Math.max(now.to + by * width(r), r.from), r.to);
  store.select(ordered(now.from, to));
}

const neighbour = (by: 1 | -1): Key => ({ store }) => {
  const now = store.selected.value;
  const next = now ? store.neighbour(now, by) : firstSlice(store);
  if (next) store.goTo(next);
};

const vertical = (by: 1 | -1): Key => (s) => {
  const { store } = s;
  const now = store.selected.value;
  if (!now) return neighbour(1)(s, new KeyboardEvent("keydown"));
  const { rows } = store.layout.value;
  let i = rows.findIndex((r) => r.lane.id === now.lane.id && r.row === now.row);
  for (i += by; i >= 0 && i < rows.length; i += by) {
    const row = rows[i]!;
    const slice = store.sliceAt(row.lane, row.row, (now.start + now.end) / 2, width(store.range.value) / 4);
    if (!slice) continue;
    store.goTo(slice);
    return;
  }
};

/** The first slice on the screen, from the top. */
function firstSlice(store: Store): Slice | null {
  const r = store.range.value;
  for (const row of store.layout.value.rows) {
    const slice = store.sliceAt(row.lane, row.row, r.from, width(r));
    if (slice) return slice;
  }
  return null;
}

function zoomToSelected({ store }: Surface): void {
  const chosen = store.selected.value;
  if (chosen) store.show({ from: chosen.start - (chosen.end - chosen.start) / 2, to: chosen.end + (chosen.end - chosen.start) / 2 });
  else if (store.selection.value) store.show(store.selection.value);
}

function selectRangeOfSelected({ store }: Surface): void {
  const chosen = store.selected.value;
  if (chosen) store.select({ from: chosen.start, to: chosen.end });
}

function letGo({ store }: Surface): void {
  if (store.selected.value) store.selected.value = null;
  else store.select(null);
}

const KEYS: Readonly<Record<string, Key>> = {
  w: zoomBy(1 / ZOOM_KEY),
  "+": zoomBy(1 / ZOOM_KEY),
  "=": zoomBy(1 / ZOOM_KEY),
  s: zoomBy(ZOOM_KEY),
  "-": zoomBy(ZOOM_KEY),
  a: pan(-PAN_KEY),
  d: pan(PAN_KEY),
  arrowleft: pan(-PAN_KEY),
  arrowright: pan(PAN_KEY),
  arrowup: scroll(-40),
  arrowdown: scroll(40),
  pageup: pan(-0.9),
  pagedown: pan(0.9),
  "0": ({ store }) => store.reset(),
  home: ({ store }) => store.reset(),
  ".": neighbour(1),
  ",": neighbour(-1),
  "]": vertical(1),
  "[": vertical(-1),
  enter: neighbour(1),
  f: zoomToSelected,
  m: selectRangeOfSelected,
  escape: letGo,
};

export const KEYS_HELP: readonly (readonly [string, string])[] = [
  ["W / S, + / -", "zoom in, out"],
  ["A / D, ← / →", "left, right"],
  ["↑ / ↓", "scroll the lanes"],
  ["0, double click", "whole run"],
  [", / .", "previous, next slice in the row"],
  ["[ / ]", "slice above, below"],
  ["F", "zoom to the selected slice"],
  ["M", "select the time of the slice"],
  ["Shift + drag, Shift + ← / →", "select a range"],
  ["Shift + wheel", "scroll the lanes"],
  ["Escape", "clear selection"],
];

/** Listens on the surface until the returned function is called. */
export function listen(s: Surface): () => void {
  const over = new AbortController();
  listenTo(s.element, new StageHands(s), over.signal);
  return () => over.abort();
}
