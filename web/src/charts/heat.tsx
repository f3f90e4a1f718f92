// SPDX-License-Identifier: Apache-2.0
// heat.tsx - the heatmap as a component: phases along the top, rows with their labels, the colour
// bar with its scale at the right.
import { useEffect, useRef } from "preact/hooks";

import { percent } from "../format";
import { PHASES } from "../palette";
import { color, theme } from "../theme";
import type { Phase } from "../types";
import { AXIS_HEIGHT, CanvasChart, paintTimeAxis } from "./canvaschart";
import { cssOf, scaleColour, textOn } from "./colour";
import { type Area, KEYS_HELP } from "./gestures";
import { cellAt, heatLayout, type HeatData, HeatImage, type HeatLayout, rowAt, rowText, rowTop } from "./heatmap";
import { msOf, type Span, width } from "./span";
import type { TimeSync } from "./sync";
import { TIME, timeText } from "./timeaxis";

const STRIP = 16; // height of the phases
const STRIP_GAP = 4;
export const BAR_ROOM = 66; // for the colour bar
const BAR_WIDTH = 12;
const LABEL_FONT = "11px system-ui, sans-serif";

interface Scene {
  image: HeatImage;
  phases: readonly Phase[];
  left: number;
  row: number; // that the keyboard is on
}

const layoutOf = (s: Scene, area: Area): HeatLayout =>
  heatLayout(s.image.data.rows, { left: area.left, top: STRIP + STRIP_GAP, width: area.width }, s.image.data.look?.label);

const heightOf = (s: Scene): number => {
  const l = layoutOf(s, { left: 0, width: 1 });
  return l.top + l.height + AXIS_HEIGHT + 2;
};

function paintPhases(g: CanvasRenderingContext2D, phases: readonly Phase[], area: Area, shown: Span): void {
  const perMs = area.width / width(shown);
  g.font = LABEL_FONT;
  g.textBaseline = "middle";
  g.textAlign = "left";
  for (const p of phases) {
    const x0 = Math.max(area.left + (msOf(p.start_ns) - shown.from) * perMs, area.left);
    const x1 = Math.min(area.left + (msOf(p.end_ns) - shown.from) * perMs, area.left + area.width);
    if (x1 <= x0) continue;
    g.fillStyle = color(`--phase-${p.phase}`);
    g.fillRect(x0, 0, Math.max(x1 - x0, 1), STRIP - 2);
    const title = PHASES[p.phase].title;
    if (x1 - x0 < g.measureText(title).width + 10) continue;
    g.fillStyle = textOn(color(`--phase-${p.phase}`));
    g.fillText(title, x0 + 5, STRIP / 2 - 1);
  }
}

/** Where nothing was measured: a hatch, which no value looks like. */
function paintHatch(g: CanvasRenderingContext2D, l: HeatLayout): void {
  g.save();
  g.beginPath();
  g.rect(l.left, l.top, l.width, l.height);
  g.clip();
  g.strokeStyle = color("--line");
  g.lineWidth = 1;
  g.beginPath();
  for (let x = l.left - l.height; x < l.left + l.width; x += 8) {
    g.moveTo(x, l.top + l.height);
    g.lineTo(x + l.height, l.top);
  }
  g.stroke();
  g.restore();
}

function paintLabels(g: CanvasRenderingContext2D, l: HeatLayout): void {
  g.font = LABEL_FONT;
  g.textAlign = "right";
  g.textBaseline = "middle";
  g.fillStyle = color("--text-2");
  for (const label of l.labels) g.fillText(label.text, l.left - 6, label.y, l.left - 8);
}

function paintColourBar(g: CanvasRenderingContext2D, l: HeatLayout, text: (percent: number) => string): void {
  const x = l.left + l.width + 14;
  const high = Math.min(l.height, 220);
  for (let y = 0; y < high; y++) {
    g.fillStyle = cssOf(scaleColour(1 - y / high));
    g.fillRect(x, l.top + y, BAR_WIDTH, 1.5);
  }
  g.font = LABEL_FONT;
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.fillStyle = color("--text-2");
  const marks = high < 60 ? [0, 100] : [0, 25, 50, 75, 100];
  for (const p of marks) {
    const y = l.top + high * (1 - p / 100);
    g.fillText(text(p), x + BAR_WIDTH + 5, Math.min(Math.max(y, l.top + 5), l.top + high - 5));
  }
}

function paint(g: CanvasRenderingContext2D, s: Scene, area: Area, shown: Span): void {
  const l = layoutOf(s, area);
  paintPhases(g, s.phases, area, shown);
  paintHatch(g, l);
  s.image.draw(g, shown, l);
  paintLabels(g, l);
  const { look } = s.image.data;
  paintColourBar(g, l, look?.bar ?? ((p) => `${p} %`));
  paintTimeAxis(g, area, shown, l.top + l.height + 2, BAR_ROOM, look?.across);
}

/** The text of a point: the phase in the strip, else row, time and value. */
export function heatTip(s: { image: { data: HeatData }; phases: readonly Phase[] }, l: HeatLayout, at: number, y: number): string[] | null {
  const { data } = s.image;
  if (y < STRIP) {
    const phase = s.phases.find((p) => at >= msOf(p.start_ns) && at <= msOf(p.end_ns));
    return phase ? [PHASES[phase.phase].title, timeText(at)] : null;
  }
  const row = rowAt(y, l, data.rows.length);
  const hit = row === null ? null : cellAt(data, row, at);
  if (!hit) return null;
  const several = new Set(data.rows.map((r) => r.node)).size > 1;
  const value = hit.text ?? (hit.percent === null ? "not measured" : percent(hit.percent));
  const across = data.look?.across ?? TIME;
  return [rowText(hit.row, several), across.text(hit.from, hit.to - hit.from), value];
}

export function HeatmapChart(p: {
  sync: TimeSync;
  data: HeatData;
  phases: readonly Phase[];
  left: number;
  label: string;
  /** A row was clicked, or Enter was pressed on it. */
  onPick?: (row: number) => void;
}) {
  const pressed = useRef({ x: 0, y: 0 });
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<CanvasChart | null>(null);
  const scene = useRef<Scene | null>(null);
  if (scene.current === null || scene.current.image.data !== p.data) {
    scene.current = { image: new HeatImage(p.data), phases: p.phases, left: p.left, row: scene.current?.row ?? 0 };
  }
  scene.current.phases = p.phases;
  useEffect(() => {
    if (host.current === null) return undefined;
    const now = (): Scene => scene.current as Scene;
    const made: CanvasChart = new CanvasChart(host.current, p.sync, {
      left: p.left,
      right: BAR_ROOM,
      drag: "zoom",
      height: () => heightOf(now()),
      paint: (g, area, shown) => paint(g, now(), area, shown),
      tip: (at, y) => heatTip(now(), layoutOf(now(), made.area()), at, y),
      marks: () => ({ top: 0, bottom: heightOf(now()) - AXIS_HEIGHT }),
    });
    chart.current = made;
    return () => made.close();
  }, [p.sync, p.left]);
  const colours = theme.value;
  useEffect(() => chart.current?.draw(), [p.data, p.phases, colours, p.sync, p.left]);
  return (
    <div
      ref={host}
      class="chart-plot"
      style={{ height: `${heightOf(scene.current)}px` }}
      tabIndex={0}
      role="application"
      aria-roledescription="heatmap"
      aria-label={`${p.label}. ${KEYS_HELP} Up and down choose a row.`}
      onKeyDown={(e) => {
        if (e.key === "Enter") p.onPick?.((scene.current as Scene).row);
        else onKey(e, p.sync, scene.current as Scene, chart.current);
      }}
      onPointerDown={(e) => (pressed.current = { x: e.clientX, y: e.clientY })}
      onClick={(e) => {
        const row = p.onPick === undefined ? null : clickedRow(e, pressed.current, scene.current as Scene, chart.current);
        if (row !== null) p.onPick?.(row);
      }}
    />
  );
}

const CLICK_PX = 4;

/** The row that was clicked; null: none, or the pointer moved and zoomed. */
function clickedRow(e: MouseEvent, from: { x: number; y: number }, s: Scene, chart: CanvasChart | null): number | null {
  if (chart === null || !(e.currentTarget instanceof HTMLElement)) return null;
  if (Math.abs(e.clientX - from.x) + Math.abs(e.clientY - from.y) > CLICK_PX) return null;
  const y = e.clientY - e.currentTarget.getBoundingClientRect().top;
  return rowAt(y, layoutOf(s, chart.area()), s.image.data.rows.length);
}

function onKey(e: KeyboardEvent, sync: TimeSync, s: Scene, chart: CanvasChart | null): void {
  const rows = s.image.data.rows.length;
  if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    s.row = Math.min(Math.max(s.row + (e.key === "ArrowDown" ? 1 : -1), 0), rows - 1);
    if (sync.cursor === null) sync.stepCursor(0);
    e.preventDefault();
  }
  if (!e.key.startsWith("Arrow") || chart === null || sync.cursor === null) return;
  const l = layoutOf(s, chart.area());
  chart.showTipAt(sync.cursor, l.top + rowTop(s.row, l.rowHeight, l.gaps) + l.rowHeight / 2);
}
