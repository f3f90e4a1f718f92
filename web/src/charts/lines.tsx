// SPDX-License-Identifier: Apache-2.0
// lines.tsx - the line chart and its legend as components.
import { useEffect, useRef, useState } from "preact/hooks";

import { theme } from "../theme";
import type { Grid, GridSeries } from "../types";
import { keyOf, readingAt } from "./columns";
import { KEYS_HELP } from "./gestures";
import { LineChart, type LineChartOptions, type LineLook, type LineMark } from "./linechart";
import type { TimeSync } from "./sync";
import { type Across, TIME } from "./timeaxis";

export function Lines(p: {
  sync: TimeSync;
  grid: Grid;
  looks: readonly LineLook[];
  options: LineChartOptions;
  label: string;
  marks?: readonly LineMark[];
}) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<LineChart | null>(null);
  const { left, height, top, low, drag, intervalMs, across, right, unit } = p.options;
  const made = [p.sync, left, height, top, low, drag, intervalMs, unit, across, right];
  useEffect(() => {
    if (host.current === null) return undefined;
    const drawn = new LineChart(host.current, p.sync, p.options);
    chart.current = drawn;
    return () => drawn.close();
  }, made);
  useEffect(() => chart.current?.show(p.grid, p.looks, p.marks), [p.grid, p.looks, p.marks, ...made]);
  const colours = theme.value;
  useEffect(() => chart.current?.recolour(), [colours]);
  return (
    <div
      ref={host}
      class="chart-plot"
      style={{ height: `${height}px` }}
      tabIndex={0}
      role="application"
      aria-roledescription="chart"
      aria-label={`${p.label}. ${KEYS_HELP}`}
    />
  );
}

/** The time under the cursor, as state of a component; null: there is none. */
export function useCursor(sync: TimeSync): number | null {
  const [at, setAt] = useState(sync.cursor);
  useEffect(() => sync.join((changed) => changed.has("cursor") && setAt(sync.cursor)), [sync]);
  return at;
}

/** A line as the chart draws it, small. */
export function LineSample(p: { look: LineLook }) {
  return (
    <svg class="line-sample" width="22" height="8" aria-hidden="true">
      <line
        x1="0"
        y1="4"
        x2="22"
        y2="4"
        stroke={`var(${p.look.colour})`}
        stroke-width="2.5"
        stroke-opacity={p.look.faint === true ? 0.4 : 1}
        stroke-dasharray={p.look.dash?.join(" ")}
      />
    </svg>
  );
}

/** What each line is, and its value: under the cursor, else the mean of the window. */
export function LineLegend(p: {
  sync: TimeSync;
  grid: Grid;
  looks: readonly LineLook[];
  intervalMs: number | null;
  unit: (v: number, look: LineLook) => string;
  resting: (s: GridSeries, look: LineLook) => string;
  /** What the resting values are, if not means. */
  restingText?: string;
  across?: Across;
}) {
  const at = useCursor(p.sync);
  const byKey = new Map(p.grid.series.map((s) => [keyOf(s), s]));
  const text = (s: GridSeries, look: LineLook): string => {
    if (at === null) return p.resting(s, look);
    const v = readingAt(s, p.grid, at, p.intervalMs);
    return v === null ? "not measured" : p.unit(v, look);
  };
  return (
    <ul class="legend chart-legend">
      <li class="chart-time">{at === null ? (p.restingText ?? "mean of the window") : (p.across ?? TIME).text(at, p.grid.step_ns / 1e6)}</li>
      {p.looks.map((look) => {
        const s = byKey.get(look.key);
        return (
          <li key={look.key} data-series={look.key}>
            <LineSample look={look} /> {look.label} <b class="num">{s ? text(s, look) : "not measured"}</b>
          </li>
        );
      })}
    </ul>
  );
}
