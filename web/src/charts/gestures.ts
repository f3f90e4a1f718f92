// SPDX-License-Identifier: Apache-2.0
// gestures.ts - what hands do on a time chart, the same on all of them: drag zooms (or selects, where
// the chart is for that), shift or the middle button pans, the wheel zooms, two fingers pinch, a
// double click shows everything; and the same from the keyboard.

import { type Hands, listen, pinch } from "./hands";
import { ordered, type Span, width } from "./span";
import type { TimeSync } from "./sync";

export interface Area {
  readonly left: number; // of the plot inside the element, in CSS pixels
  readonly width: number;
}

export interface Surface {
  readonly element: HTMLElement; // positioned; takes the pointer and the focus
  readonly area: () => Area;
  readonly drag: "zoom" | "select";
}

const CLICK_PX = 4;
const WHEEL_STEP = 1.25;
const CURSOR_STEP = 0.01;
const PAN_STEP = 0.25;

const timeAt = (x: number, a: Area, w: Span): number => w.from + (Math.min(Math.max(x - a.left, 0), a.width) / a.width) * width(w);

const inside = (x: number, a: Area): boolean => x >= a.left && x <= a.left + a.width;

/** What one finger or button does from its press to its release. */
interface Drag {
  move(x: number): void;
  end(x: number): void;
}

function bandDrag(s: Surface, sync: TimeSync, start: number): Drag {
  const mark = document.createElement("div");
  mark.className = `chart-drag chart-drag-${s.drag}`;
  const from = timeAt(start, s.area(), sync.window);
  s.element.append(mark);
  return {
    move(x) {
      const a = s.area();
      const span = ordered(Math.max(Math.min(x, a.left + a.width), a.left), Math.max(start, a.left));
      mark.style.left = `${span.from}px`;
      mark.style.width = `${width(span)}px`;
    },
    end(x) {
      mark.remove();
      const chosen = Math.abs(x - start) > CLICK_PX ? ordered(from, timeAt(x, s.area(), sync.window)) : null;
      if (s.drag === "select") sync.setSelection(chosen);
      else if (chosen) sync.setWindow(chosen);
    },
  };
}

function panDrag(s: Surface, sync: TimeSync, start: number): Drag {
  let last = start;
  return {
    move(x) {
      sync.pan(((last - x) / s.area().width) * width(sync.window));
      last = x;
    },
    end: () => undefined,
  };
}

class ChartHands implements Hands {
  readonly #s: Surface;
  readonly #sync: TimeSync;
  readonly #fingers = new Map<number, number>();
  #drag: Drag | null = null;
  #pinch: (() => Span) | null = null;
  #armed = false; // the wheel zooms: the pointer came here itself, the page did not scroll under it
  #seen = { x: -1, y: -1 };

  constructor(s: Surface, sync: TimeSync) {
    this.#s = s;
    this.#sync = sync;
  }

  #x(e: MouseEvent): number {
    return e.clientX - this.#s.element.getBoundingClientRect().left;
  }

  down(e: PointerEvent): void {
    const x = this.#x(e);
    if (!inside(x, this.#s.area()) || e.button > 1) return;
    this.#s.element.setPointerCapture(e.pointerId);
    this.#fingers.set(e.pointerId, x);
    if (this.#fingers.size === 2) {
      this.#drag?.end(x);
      this.#drag = null;
      this.#pinch = this.#startPinch();
      return;
    }
    const pans = e.button === 1 || e.shiftKey || (e.pointerType === "touch" && this.#s.drag === "zoom");
    this.#drag = pans ? panDrag(this.#s, this.#sync, x) : bandDrag(this.#s, this.#sync, x);
    if (e.button === 1) e.preventDefault();
  }

  #startPinch(): () => Span {
    const begun = this.#sync.window;
    const fingers = (): [number, number] => [...this.#fingers.values()] as [number, number];
    return pinch(begun, fingers, (x) => timeAt(x, this.#s.area(), begun));
  }

  move(e: PointerEvent): void {
    const x = this.#x(e);
    if (e.clientX !== this.#seen.x || e.clientY !== this.#seen.y) this.#armed = true;
    this.#seen = { x: e.clientX, y: e.clientY };
    if (this.#fingers.has(e.pointerId)) this.#fingers.set(e.pointerId, x);
    if (this.#pinch) return this.#sync.setWindow(this.#pinch());
    this.#drag?.move(x);
    const a = this.#s.area();
    this.#sync.setCursor(inside(x, a) || this.#drag ? timeAt(x, a, this.#sync.window) : null);
  }

  up(e: PointerEvent): void {
    this.#fingers.delete(e.pointerId);
    this.#drag?.end(this.#x(e));
    this.#drag = null;
    this.#pinch = null;
  }

  leave(): void {
    this.#armed = false;
    if (!this.#drag) this.#sync.setCursor(null);
  }

  scrolled(): void {
    this.#armed = false;
  }

  wheel(e: WheelEvent): void {
    const x = this.#x(e);
    if (!this.#armed && !e.ctrlKey) return;
    if (!inside(x, this.#s.area()) || e.deltaY === 0) return;
    if (e.deltaY > 0 && !this.#sync.zoomed) return; // nothing to zoom out of: the page scrolls
    e.preventDefault();
    this.#sync.zoom(e.deltaY > 0 ? WHEEL_STEP : 1 / WHEEL_STEP, timeAt(x, this.#s.area(), this.#sync.window));
  }

  double(): void {
    this.#sync.setWindow(null);
  }

  key(e: KeyboardEvent): (() => void) | null {
    const act = KEYS[e.key];
    return act === undefined || e.metaKey ? null : () => act(this.#sync, e, this.#s);
  }
}

/** Grows or shrinks the selection from the cursor, which moves along. */
function extend(sync: TimeSync, share: number): void {
  const from = sync.cursor ?? (sync.window.from + sync.window.to) / 2;
  sync.stepCursor(share);
  const to = sync.cursor ?? from;
  const s = sync.selection;
  const still = s && (s.from === from ? s.to : s.to === from ? s.from : null);
  sync.setSelection(ordered(still ?? from, to));
}

type Key = (sync: TimeSync, e: KeyboardEvent, s: Surface) => void;

const step = (sign: number): Key => (sync, e, s) => {
  const share = sign * CURSOR_STEP * (e.ctrlKey || e.altKey ? 10 : 1);
  if (e.shiftKey && s.drag === "select") extend(sync, share);
  else sync.stepCursor(share);
};

const KEYS: Readonly<Record<string, Key>> = {
  ArrowLeft: step(-1),
  ArrowRight: step(1),
  Home: (sync) => sync.setCursor(sync.window.from),
  End: (sync) => sync.setCursor(sync.window.to),
  PageUp: (sync) => sync.pan(-PAN_STEP * width(sync.window)),
  PageDown: (sync) => sync.pan(PAN_STEP * width(sync.window)),
  "+": (sync) => sync.zoom(1 / 2),
  "=": (sync) => sync.zoom(1 / 2),
  "-": (sync) => sync.zoom(2),
  "0": (sync) => sync.setWindow(null),
  Escape: (sync) => (sync.selection ? sync.setSelection(null) : sync.setCursor(null)),
};

export const KEYS_HELP = "Arrow keys move the cursor, plus and minus zoom, Page Up and Page Down pan, 0 shows the whole run.";

/** Joins the element to the shared window until the returned function is called. */
export function gestures(s: Surface, sync: TimeSync): () => void {
  const hands = new ChartHands(s, sync);
  const over = new AbortController();
  listen(s.element, hands, over.signal);
  window.addEventListener("scroll", () => hands.scrolled(), { signal: over.signal, passive: true });
  return () => over.abort();
}
