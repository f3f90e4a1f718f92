// SPDX-License-Identifier: Apache-2.0
// drawings.tsx - the drawings of the plots that rules make: boxes, bars, histograms, series. Only
// shapes; the frame in plot.tsx adds words and table.
import type { JSX } from "preact";

import { duration, value } from "../../format";
import { seriesColor } from "../../palette";
import type { Plot } from "../../types";
import { axisEnd, extent, scale, ticks } from "./scale";
import "./plots.css";

type Row = Plot["rows"][number];
export interface Drawing {
  plot: Plot;
  wide: number;
}

const LEFT = 132; // room for labels of rows
const RIGHT = 16;
const LINE = 26; // height of a row

function shorten(label: string, max = 21): string {
  return label.length > max ? `${label.slice(0, max - 1)}…` : label;
}

function all(plot: Plot): (number | null)[] {
  return plot.rows.flatMap((r) => r.v);
}

function ValueAxis(p: { x: (v: number) => number; high: number; y: number; top: number; unit: string; wide: number }) {
  const marks = ticks(0, p.high, p.wide < 420 ? 3 : 5);
  return (
    <g>
      {marks.map((t) => (
        <g key={t}>
          <line x1={p.x(t)} x2={p.x(t)} y1={p.top} y2={p.y} class="plot-grid" />
          <text x={p.x(t)} y={p.y + 14} class="mid">
            {value(t, p.unit)}
          </text>
        </g>
      ))}
    </g>
  );
}

/** Rows with a label at the left and something drawn along a common axis of values. */
function RowsPlot(p: Drawing & { draw: (row: Row, x: (v: number) => number, y: number, i: number) => JSX.Element }) {
  const high = axisEnd(extent(all(p.plot))?.[1] ?? 1, p.plot.unit);
  const x = scale(0, high, LEFT, Math.max(LEFT + 40, p.wide - RIGHT - 24));
  const bottom = p.plot.rows.length * LINE + 6;
  return (
    <svg width={p.wide} height={bottom + 20} aria-hidden="true">
      <ValueAxis x={x} high={high} y={bottom} top={0} unit={p.plot.unit} wide={p.wide} />
      {p.plot.rows.map((row, i) => (
        <g key={row.label}>
          <text x={LEFT - 8} y={i * LINE + LINE / 2 + 7} class="end">
            {shorten(row.label)}
            <title>{row.label}</title>
          </text>
          {p.draw(row, x, i * LINE + LINE / 2 + 3, i)}
        </g>
      ))}
    </svg>
  );
}

/** p5 and p95 are the whiskers, p25 and p75 the box, p50 the line in it. */
function Box(p: Drawing) {
  return (
    <RowsPlot
      {...p}
      draw={(row, x, y, i) => {
        const [p5, p25, p50, p75, p95] = row.v;
        if (p5 == null || p25 == null || p50 == null || p75 == null || p95 == null) return <g />;
        const c = seriesColor(i);
        return (
          <g stroke={c} stroke-width="1.5">
            <line x1={x(p5)} x2={x(p25)} y1={y} y2={y} />
            <line x1={x(p75)} x2={x(p95)} y1={y} y2={y} />
            <line x1={x(p5)} x2={x(p5)} y1={y - 5} y2={y + 5} />
            <line x1={x(p95)} x2={x(p95)} y1={y - 5} y2={y + 5} />
            <rect x={x(p25)} y={y - 8} width={Math.max(1, x(p75) - x(p25))} height={16} rx={2} fill={c} class="plot-box" />
            <line x1={x(p50)} x2={x(p50)} y1={y - 8} y2={y + 8} stroke-width="3" />
          </g>
        );
      }}
    />
  );
}

function Bars(p: Drawing) {
  return (
    <RowsPlot
      {...p}
      draw={(row, x, y) => {
        const v = row.v[0] ?? null;
        if (v === null) return <g />;
        return (
          <g>
            <rect x={x(0)} y={y - 7} width={Math.max(1, x(v) - x(0))} height={14} rx={2} fill="var(--c1)" />
            <text x={x(v) + 5} y={y + 4} class="plot-value">
              {value(v, p.plot.unit)}
            </text>
          </g>
        );
      }}
    />
  );
}

const HIGH = 120;
const SIDE = 44;

/** Counts per bin; each row is a separate histogram, one below the other. */
function Histogram(p: Drawing) {
  const edges = p.plot.edges ?? [];
  const low = edges[0] ?? 0;
  const high = edges[edges.length - 1] ?? 1;
  const x = scale(low, high, SIDE, p.wide - RIGHT);
  return (
    <div>
      {p.plot.rows.map((row, n) => {
        const most = axisEnd(extent(row.v)?.[1] ?? 1, "");
        const y = scale(0, most, HIGH - 20, 18);
        return (
          <svg key={row.label} width={p.wide} height={HIGH} aria-hidden="true">
            <text x={SIDE} y={12}>
              {row.label}
            </text>
            <text x={SIDE - 6} y={y(most) + 4} class="end">
              {value(most, "")}
            </text>
            <text x={SIDE - 6} y={y(0) + 4} class="end">
              0
            </text>
            {row.v.map((v, i) => (
              <rect
                key={i}
                x={x(edges[i] ?? 0)}
                width={Math.max(0.5, x(edges[i + 1] ?? 0) - x(edges[i] ?? 0) - 1)}
                y={y(v ?? 0)}
                height={y(0) - y(v ?? 0)}
                fill={seriesColor(n)}
              />
            ))}
            <line x1={SIDE} x2={p.wide - RIGHT} y1={y(0)} y2={y(0)} class="plot-axis" />
            {ticks(low, high, 5).map((t) => (
              <text key={t} x={x(t)} y={HIGH - 6} class="mid">
                {value(t, p.plot.unit)}
              </text>
            ))}
          </svg>
        );
      })}
    </div>
  );
}

/** Values over time since the job's start. Points are marked: there may be only a few. */
function SeriesPlot(p: Drawing) {
  const times = p.plot.edges ?? [];
  const [first, last] = extent(times) ?? [0, 1];
  const high = axisEnd(extent(all(p.plot))?.[1] ?? 1, p.plot.unit);
  const x = scale(first, last, SIDE + 20, p.wide - RIGHT);
  const y = scale(0, high, HIGH + 20, 8);
  return (
    <svg width={p.wide} height={HIGH + 42} aria-hidden="true">
      {ticks(0, high, 3).map((t) => (
        <g key={t}>
          <line x1={SIDE + 20} x2={p.wide - RIGHT} y1={y(t)} y2={y(t)} class="plot-grid" />
          <text x={SIDE + 14} y={y(t) + 4} class="end">
            {value(t, p.plot.unit)}
          </text>
        </g>
      ))}
      {ticks(first, last, 4).map((t) => (
        <text key={t} x={x(t)} y={HIGH + 36} class="mid">
          {duration(t)}
        </text>
      ))}
      {p.plot.rows.map((row, n) => (
        <g key={row.label} stroke={seriesColor(n)}>
          <path d={linePath(times, row.v, x, y)} class="plot-line" />
          {row.v.length <= 60 &&
            row.v.map((v, i) => v !== null && <circle key={i} cx={x(times[i] ?? 0)} cy={y(v)} r={2} fill={seriesColor(n)} />)}
        </g>
      ))}
    </svg>
  );
}

function linePath(
  times: readonly number[],
  v: readonly (number | null)[],
  x: (t: number) => number,
  y: (v: number) => number,
): string {
  let pen = "M";
  return v
    .map((one, i) => {
      if (one === null) {
        pen = "M";
        return "";
      }
      const part = `${pen}${x(times[i] ?? 0).toFixed(1)} ${y(one).toFixed(1)}`;
      pen = "L";
      return part;
    })
    .join("");
}

export const DRAWINGS = { box: Box, bars: Bars, histogram: Histogram, series: SeriesPlot } as const;
