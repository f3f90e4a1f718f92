// SPDX-License-Identifier: Apache-2.0
// canvaschart.ts - a canvas over time that takes part in the page's window and cursor: it keeps its
// size and sharpness, calls back to be painted, and shows cursor, selection and a tip over it.

import { color } from "../theme";
import { type Area, gestures } from "./gestures";
import { placeMarks } from "./linechart";
import { type Span, width } from "./span";
import type { TimeSync } from "./sync";
import { type Across, TIME } from "./timeaxis";

export interface CanvasOptions {
  readonly left: number;
  readonly right: number;
  readonly drag: "zoom" | "select";
  /** Height in CSS pixels for what is to be shown now. */
  readonly height: () => number;
  /** Paints in CSS pixels; the canvas is empty. */
  readonly paint: (g: CanvasRenderingContext2D, area: Area, shown: Span) => void;
  /** The lines of the tip at a point; null: no tip. */
  readonly tip?: (at: number, y: number) => readonly string[] | null;
  /** From where to where the cursor's line goes. */
  readonly marks?: () => { top: number; bottom: number };
}

const TIP_APART = 14;
export const AXIS_HEIGHT = 22;

export class CanvasChart {
  readonly #host: HTMLElement;
  readonly #sync: TimeSync;
  readonly #options: CanvasOptions;
  readonly #canvas = document.createElement("canvas");
  readonly #over = document.createElement("div");
  readonly #cursor = document.createElement("div");
  readonly #selection = document.createElement("div");
  readonly #tip = document.createElement("div");
  readonly #leave: (() => void)[] = [];
  #height = 0;

  constructor(host: HTMLElement, sync: TimeSync, options: CanvasOptions) {
    this.#host = host;
    this.#sync = sync;
    this.#options = options;
    this.#over.className = "chart-over";
    this.#cursor.className = "chart-cursor";
    this.#selection.className = "chart-selection";
    this.#tip.className = "tip chart-tip";
    this.#tip.hidden = true;
    this.#over.append(this.#selection, this.#cursor);
    host.append(this.#canvas, this.#over, this.#tip);
    this.#leave.push(gestures({ element: host, area: () => this.area(), drag: options.drag }, sync));
    this.#leave.push(sync.join((changed) => (changed.has("window") ? this.draw() : this.#marks())));
    this.#hover();
    const size = new ResizeObserver(() => this.draw());
    size.observe(host);
    this.#leave.push(() => size.disconnect());
  }

  close(): void {
    for (const leave of this.#leave) leave();
    this.#host.replaceChildren();
  }

  area(): Area {
    const { left, right } = this.#options;
    return { left, width: Math.max(this.#host.clientWidth - left - right, 1) };
  }

  draw(): void {
    const wide = this.#host.clientWidth;
    if (wide === 0) return;
    this.#height = this.#options.height();
    this.#fitCanvas(wide, this.#height);
    const g = this.#canvas.getContext("2d");
    if (!g) return;
    const sharp = devicePixelRatio || 1;
    g.setTransform(sharp, 0, 0, sharp, 0, 0);
    g.clearRect(0, 0, wide, this.#height);
    this.#options.paint(g, this.area(), this.#sync.window);
    this.#marks();
  }

  #fitCanvas(wide: number, high: number): void {
    const sharp = devicePixelRatio || 1;
    const [w, h] = [Math.round(wide * sharp), Math.round(high * sharp)];
    if (this.#canvas.width !== w || this.#canvas.height !== h) {
      this.#canvas.width = w;
      this.#canvas.height = h;
      this.#canvas.style.width = `${wide}px`;
      this.#canvas.style.height = `${high}px`;
      this.#host.style.height = `${high}px`;
    }
    const a = this.area();
    const m = this.#options.marks?.() ?? { top: 0, bottom: high };
    Object.assign(this.#over.style, {
      left: `${a.left}px`,
      width: `${a.width}px`,
      top: `${m.top}px`,
      height: `${m.bottom - m.top}px`,
    });
  }

  #marks(): void {
    placeMarks(this.#sync, this.area().width, this.#cursor, this.#selection);
  }

  #hover(): void {
    const over = new AbortController();
    const on = { signal: over.signal };
    this.#host.addEventListener("pointermove", (e) => {
      const box = this.#host.getBoundingClientRect();
      this.showTip(e.clientX - box.left, e.clientY - box.top);
    }, on);
    this.#host.addEventListener("pointerleave", () => (this.#tip.hidden = true), on);
    this.#leave.push(() => over.abort());
  }

  /** The tip for a point of the element, or none when nothing is there. */
  showTip(x: number, y: number): void {
    const a = this.area();
    const w = this.#sync.window;
    const inside = x >= a.left && x <= a.left + a.width;
    const at = w.from + ((x - a.left) / a.width) * width(w);
    const lines = inside ? (this.#options.tip?.(at, y) ?? null) : null;
    this.#tip.hidden = lines === null;
    if (lines === null) return;
    this.#tip.textContent = lines.join("\n");
    const leftward = x + TIP_APART + this.#tip.offsetWidth > this.#host.clientWidth;
    const put = leftward ? Math.max(x - TIP_APART - this.#tip.offsetWidth, 0) : x + TIP_APART;
    const down = Math.min(y + TIP_APART, Math.max(this.#height - this.#tip.offsetHeight, 0));
    this.#tip.style.transform = `translate(${put}px, ${down}px)`;
  }

  /** The same for a time instead of a place, as the keyboard has it. */
  showTipAt(at: number, y: number): void {
    const a = this.area();
    const w = this.#sync.window;
    this.showTip(a.left + ((at - w.from) / width(w)) * a.width, y);
  }
}

/** An axis below a plot, which has `right` pixels of canvas after it. */
export function paintTimeAxis(g: CanvasRenderingContext2D, area: Area, shown: Span, top: number, right: number, across: Across = TIME): void {
  g.font = "12px system-ui, sans-serif";
  g.textBaseline = "top";
  g.textAlign = "center";
  g.fillStyle = color("--text-2");
  g.strokeStyle = color("--line");
  g.lineWidth = 1;
  for (const tick of across.ticks(shown, area.width, right)) {
    const x = Math.round(area.left + ((tick.at - shown.from) / width(shown)) * area.width) + 0.5;
    g.beginPath();
    g.moveTo(x, top);
    g.lineTo(x, top + 4);
    g.stroke();
    g.fillText(tick.text, x, top + 7);
  }
}
