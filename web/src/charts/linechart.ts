// SPDX-License-Identifier: Apache-2.0
// linechart.ts - lines over time, drawn by uPlot, with the band from the smallest to the largest
// reading below each, so that no spike is averaged away. Window, cursor and selection are those of
// the page; uPlot's own handling of the pointer is off.

import uPlot from "uplot";
import { color } from "../theme";
import type { Grid, GridSeries } from "../types";
import { bandPieces, columnsIn, fillBand } from "./band";
import { type Cell, columnTimes, keyOf, type LineData, lineData, scaleOf } from "./columns";
import { type Area, gestures } from "./gestures";
import { type Span, width } from "./span";
import type { Change, TimeSync } from "./sync";
import { type Across, TIME } from "./timeaxis";

/** A line of the chart: which series it is, and how it looks. */
export interface LineLook {
  readonly key: string; // "node metric entity", as keyOf returns it
  readonly label: string;
  readonly colour: string; // name of a CSS variable
  readonly dash?: readonly number[];
  readonly unit?: string; // of its values, where lines of several units are in one chart
  readonly axis?: "right"; // its values have a separate scale, at the right
  readonly faint?: true; // drawn below another line with the same values, smoothed
}

/** A place that is marked by a line across the chart. */
/** The first of several at one place is seen. */
export interface LineMark {
  readonly at: number;
  readonly colour: string; // name of a CSS variable
}

export interface LineChartOptions {
  readonly height: number;
  readonly left: number; // room for the axis, the same in charts that lie above each other
  readonly top: number | null; // fixed end of the scale; null: as high as the data
  readonly low?: "zero" | "data"; // where the scale begins; a scale from zero includes what is below it
  readonly unit: (v: number) => string;
  readonly binary: boolean; // bytes: marks at powers of two
  readonly drag: "zoom" | "select";
  readonly intervalMs: number | null; // Infinity: of values that come when they are reported, without gaps
  readonly across?: Across; // what lies across, if not time
  readonly right?: number; // room at the right, the same in charts that lie above each other
  readonly rightUnit?: (v: number) => string; // of the scale at the right
  readonly marksAt?: readonly number[]; // distances of the marks of the scale, to choose from
}

export const RIGHT = 14;
const AXIS = 34;
const PADDING = 8;
const LINE = 1.5;
const THIN_LINE = 1; // browsers draw it several times faster than any wider one
const MANY = 5000; // columns of all lines together: from here on they are thin
const BAND_ALPHA = "38"; // of 255, in hex
const FAINT_ALPHA = "60";
const BINARY_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);

export class LineChart {
  readonly #host: HTMLElement;
  readonly #sync: TimeSync;
  readonly #options: LineChartOptions;
  readonly #cursor = document.createElement("div");
  readonly #selection = document.createElement("div");
  readonly #leave: (() => void)[] = [];
  #plot: uPlot | null = null;
  #looks: readonly LineLook[] = [];
  #lines: readonly LineData[] = [];
  readonly #colours = new Map<string, string>();
  #shape = "";
  #data: uPlot.AlignedData = [[]];
  #wide = 0;
  #marks: readonly LineMark[] = [];

  constructor(host: HTMLElement, sync: TimeSync, options: LineChartOptions) {
    this.#host = host;
    this.#sync = sync;
    this.#options = options;
    this.#cursor.className = "chart-cursor";
    this.#selection.className = "chart-selection";
    this.#leave.push(gestures({ element: host, area: () => this.#area(), drag: options.drag }, sync));
    this.#leave.push(sync.join((changed) => this.#follow(changed)));
    const size = new ResizeObserver(() => this.#resize());
    size.observe(host);
    this.#leave.push(() => size.disconnect());
  }

  close(): void {
    for (const leave of this.#leave) leave();
    this.#plot?.destroy();
    this.#plot = null;
  }

  /** Draws these columns with these lines; a line without a series is left out. */
  show(grid: Grid, looks: readonly LineLook[], marks: readonly LineMark[] = []): void {
    this.#marks = marks;
    const byKey = new Map(grid.series.map((s) => [keyOf(s), s]));
    const present = looks.filter((l) => byKey.has(l.key));
    const lines = present.map((l) => lineData(byKey.get(l.key) as GridSeries, grid, this.#options.intervalMs));
    const columns: Cell[][] = [columnTimes(grid), ...lines.map((l) => l.mean)];
    this.#data = columns as unknown as uPlot.AlignedData;
    this.#lines = lines;
    this.#looks = present;
    this.#host.dataset["columns"] = String(grid.n); // for tests and measurements
    const shape = JSON.stringify(present);
    if (shape !== this.#shape || !this.#plot) this.#make(shape);
    else this.#draw(true);
  }

  /** Colours are read from the style sheet when drawn: draws again after a change of theme. */
  recolour(): void {
    this.#colours.clear();
    this.#plot?.redraw(false, true);
  }

  #area(): Area {
    return { left: this.#options.left, width: Math.max(this.#host.clientWidth - this.#options.left - this.#room(), 1) };
  }

  #room(): number {
    return this.#options.right ?? RIGHT;
  }

  #make(shape: string): void {
    this.#plot?.destroy();
    this.#shape = shape;
    this.#wide = this.#host.clientWidth;
    const w = this.#sync.window;
    this.#plot = new uPlot(
      {
        width: Math.max(this.#wide, 50),
        height: this.#options.height,
        cursor: { show: false },
        legend: { show: false },
        padding: [PADDING, this.#hasRight() ? 0 : this.#room(), 0, 0],
        scales: {
          x: { time: false, auto: false, min: w.from, max: w.to },
          y: this.#scale(),
          right: { range: () => scaleOf(this.#ends(this.#sync.window.from, this.#sync.window.to, true), false, false) },
        },
        axes: this.#axes(),
        series: [{}, ...this.#looks.map((look, k) => this.#line(look, k))],
        hooks: { drawClear: [(u) => this.#setThickness(u)], drawAxes: [(u) => this.#paintBands(u)], draw: [(u) => this.#paintMarks(u)] },
      },
      this.#data,
      this.#host,
    );
    this.#plot.over.append(this.#selection, this.#cursor);
    this.#placeMarks();
  }

  /** From nothing to the fixed end, or to a little above the largest reading in the window. */
  #scale(): uPlot.Scale {
    const { top, binary, low } = this.#options;
    if (top !== null) return { range: [0, top] };
    return {
      // The window, not the scale of x: at the first drawing that is set after this one.
      range: () => scaleOf(this.#ends(this.#sync.window.from, this.#sync.window.to), low === "data", binary),
    };
  }

  /** The smallest and the largest reading in the window; null: there is none. */
  #ends(from: number, to: number, right = false): { low: number; high: number } | null {
    const { first, last } = columnsIn(this.#data[0], from, to);
    let [low, high] = [Infinity, -Infinity];
    for (const [k, l] of this.#lines.entries()) {
      if ((this.#looks[k]?.axis === "right") !== right) continue;
      const [highs, lows] = [l.max ?? l.mean, l.min ?? l.mean];
      for (let i = first; i <= last; i++) {
        high = Math.max(high, highs[i] ?? -Infinity);
        low = Math.min(low, lows[i] ?? Infinity);
      }
    }
    return low <= high ? { low, high } : null;
  }

  #line(look: LineLook, k: number): uPlot.Series {
    return {
      label: look.label,
      stroke: () => (look.faint === true ? tint(this.#colour(look.colour), FAINT_ALPHA) : this.#colour(look.colour)),
      scale: look.axis ?? "y",
      width: LINE,
      ...(look.dash ? { dash: [...look.dash] } : {}),
      points: {
        show: () => (this.#lines[k]?.alone.length ?? 0) > 0,
        size: 4,
        filter: () => this.#lines[k]?.alone ?? null,
      },
    };
  }

  #setThickness(u: uPlot): void {
    const { first, last } = columnsIn(this.#data[0], u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1);
    const many = (last - first) * this.#lines.length > MANY;
    for (const line of u.series.slice(1)) line.width = many ? THIN_LINE : LINE;
  }

  #paintBands(u: uPlot): void {
    const { left, top, width: wide, height: high } = u.bbox;
    const [from, to] = [u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1];
    const span = columnsIn(this.#data[0], from, to);
    const place = (at: number): number => left + ((at - from) / (to - from)) * wide;
    const [begin, end] = [u.scales["y"]?.min ?? 0, u.scales["y"]?.max ?? 1];
    const level = (v: number): number => top + high * (1 - (v - begin) / (end - begin));
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, wide, high);
    u.ctx.clip();
    this.#lines.forEach((l, k) => {
      const look = this.#looks[k];
      if (!l.min || !l.max || !look || look.axis === "right") return;
      u.ctx.fillStyle = tint(this.#colour(look.colour));
      fillBand(u.ctx, bandPieces(this.#data[0], l.min, l.max, span, place), level);
    });
    u.ctx.restore();
  }

  #paintMarks(u: uPlot): void {
    const { left, top, width: wide, height: high } = u.bbox;
    const [from, to] = [u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1];
    const size = 5 * (devicePixelRatio || 1);
    u.ctx.save();
    for (const m of [...this.#marks].reverse()) {
      if (m.at < from || m.at > to) continue;
      const x = left + ((m.at - from) / (to - from)) * wide;
      u.ctx.strokeStyle = u.ctx.fillStyle = this.#colour(m.colour);
      u.ctx.setLineDash([size, size]);
      u.ctx.beginPath();
      u.ctx.moveTo(x, top);
      u.ctx.lineTo(x, top + high);
      u.ctx.stroke();
      u.ctx.beginPath();
      u.ctx.moveTo(x - size, top - size);
      u.ctx.lineTo(x + size, top - size);
      u.ctx.lineTo(x, top + size);
      u.ctx.fill();
    }
    u.ctx.restore();
  }

  #hasRight(): boolean {
    return this.#looks.some((l) => l.axis === "right");
  }

  /** Reading the style sheet costs more than drawing a line: it is read once for each theme. */
  #colour(name: string): string {
    let c = this.#colours.get(name);
    if (c === undefined) {
      c = color(name);
      this.#colours.set(name, c);
    }
    return c;
  }

  #axes(): uPlot.Axis[] {
    const look = {
      stroke: () => this.#colour("--text-2"),
      grid: { stroke: () => this.#colour("--grid"), width: 1 },
      ticks: { stroke: () => this.#colour("--line"), width: 1, size: 4 },
      font: "12px system-ui, sans-serif",
    };
    const ticks = (u: uPlot, from: number, to: number) => (this.#options.across ?? TIME).ticks({ from, to }, u.over.clientWidth || this.#area().width, this.#room());
    return [
      {
        ...look,
        size: AXIS,
        splits: (u, _k, from, to) => ticks(u, from, to).map((t) => t.at),
        values: (u) => ticks(u, u.scales["x"]?.min ?? 0, u.scales["x"]?.max ?? 1).map((t) => t.text),
      },
      { ...look, size: this.#options.left, space: this.#apart(), ...this.#increments(), values: (_u, at) => at.map((v) => this.#options.unit(v)) },
      ...(this.#hasRight() ? [this.#rightAxis(look)] : []),
    ];
  }

  /** Between two marks of the scale: low charts have three of them, too. */
  #apart(): number {
    return Math.min(34, (this.#options.height - AXIS - PADDING) / 3.4);
  }

  #increments(): Pick<uPlot.Axis, "incrs"> {
    const { binary, marksAt } = this.#options;
    return binary ? { incrs: BINARY_STEPS } : marksAt ? { incrs: [...marksAt] } : {};
  }

  #rightAxis(look: uPlot.Axis): uPlot.Axis {
    const unit = this.#options.rightUnit ?? this.#options.unit;
    return { ...look, scale: "right", side: 1, size: this.#room(), space: 34, grid: { show: false }, values: (_u, at) => at.map((v) => unit(v)) };
  }

  #draw(withData: boolean): void {
    const plot = this.#plot;
    if (!plot) return;
    const w = this.#sync.window;
    plot.batch(() => {
      if (withData) plot.setData(this.#data, false);
      plot.setScale("x", { min: w.from, max: w.to });
    });
    this.#placeMarks();
  }

  #resize(): void {
    const wide = this.#host.clientWidth;
    if (wide === this.#wide || wide === 0) return;
    this.#wide = wide;
    this.#plot?.setSize({ width: wide, height: this.#options.height });
    this.#placeMarks();
  }

  #follow(changed: ReadonlySet<Change>): void {
    if (changed.has("window")) this.#draw(false);
    else this.#placeMarks();
  }

  #placeMarks(): void {
    placeMarks(this.#sync, this.#area().width, this.#cursor, this.#selection);
  }
}

/** A colour, thinned. */
function tint(c: string, alpha = BAND_ALPHA): string {
  return /^#[0-9a-f]{6}$/i.test(c) ? `${c}${alpha}` : c;
}

/** Cursor and selection as two elements over a plot of this width. */
export function placeMarks(sync: TimeSync, wide: number, cursor: HTMLElement, selection: HTMLElement): void {
  const w = sync.window;
  const x = (at: number): number => ((at - w.from) / width(w)) * wide;
  const at = sync.cursor;
  const inside = at !== null && at >= w.from && at <= w.to;
  cursor.style.display = inside ? "block" : "none";
  if (inside) cursor.style.transform = `translateX(${x(at).toFixed(1)}px)`;
  const s: Span | null = sync.selection;
  const from = s ? Math.max(x(s.from), 0) : 0;
  const to = s ? Math.min(x(s.to), wide) : 0;
  selection.style.display = to > from ? "block" : "none";
  selection.style.left = `${from}px`;
  selection.style.width = `${to - from}px`;
}
