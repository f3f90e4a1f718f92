// SPDX-License-Identifier: Apache-2.0
// plot.tsx - the evidence of a rule: one drawing for each kind of plot that rules make. Each shows
// its numbers as a table too.
import { duration, value } from "../../format";
import { partColors, seriesColor } from "../../palette";
import type { Plot, PlotKind } from "../../types";
import { plural } from "../../words";
import { Legend } from "../basics";
import { ChartFrame, type ChartTable } from "../chart_frame";
import { type Column, DataTable } from "../table";
import { useWidth } from "../width";
import { DRAWINGS } from "./drawings";
import { Pie } from "./pie";
import "./plots.css";

type Row = Plot["rows"][number];
type Line = { label: string; cells: (string | number | null)[]; sort: (number | null)[] };

function tableOf(titles: readonly string[], lines: Line[], first = ""): ChartTable<Line> {
  const columns: Column<Line>[] = [
    { id: "label", title: first, cell: (l) => l.label, sort: (l) => l.label },
    ...titles.map((title, i) => ({
      id: `v${i}`,
      title,
      numeric: true,
      cell: (l: Line) => l.cells[i] ?? "-",
      sort: (l: Line) => l.sort[i] ?? null,
    })),
  ];
  return { columns, rows: lines };
}

function rowLines(plot: Plot): Line[] {
  return plot.rows.map((r) => ({ label: r.label, cells: r.v.map((v) => value(v, plot.unit)), sort: r.v }));
}

const QUANTILES = ["p5", "p25", "p50", "p75", "p95"] as const;

/** Bins or times down, rows across. */
function turned(plot: Plot, first: string, label: (i: number) => string): ChartTable<Line> {
  const n = Math.max(0, ...plot.rows.map((r) => r.v.length));
  const counts = plot.kind === "histogram";
  const lines = Array.from({ length: n }, (_, i) => {
    const at = plot.rows.map((r) => r.v[i] ?? null);
    return { label: label(i), cells: at.map((v) => value(v, counts ? "" : plot.unit)), sort: at };
  });
  return tableOf(plot.rows.map((r) => r.label), lines, first);
}

const TABLES: Readonly<Record<PlotKind, (plot: Plot) => ChartTable<Line>>> = {
  box: (p) => tableOf(QUANTILES, rowLines(p)),
  bars: (p) => tableOf(["Value"], rowLines(p)),
  pie: (p) => tableOf(["Value"], rowLines(p)),
  table: (p) => tableOf(p.columns ?? [], rowLines(p)),
  histogram: (p) =>
    turned(p, "Bin", (i) => `${value(p.edges?.[i], p.unit)} to ${value(p.edges?.[i + 1], p.unit)}`),
  series: (p) => turned(p, "After", (i) => duration(p.edges?.[i])),
};

const SUMMARIES: Readonly<Record<PlotKind, (plot: Plot) => string>> = {
  box: (p) => p.rows.map((r) => `${r.label}: median ${value(r.v[2], p.unit)}, 5th to 95th percentile ${value(r.v[0], p.unit)} to ${value(r.v[4], p.unit)}`).join("; "),
  bars: (p) => p.rows.map((r) => `${r.label}: ${value(r.v[0], p.unit)}`).join("; "),
  pie: (p) => p.rows.map((r) => `${r.label}: ${value(r.v[0], p.unit)}`).join("; "),
  table: (p) => plural(p.rows.length, "row"),
  histogram: (p) => p.rows.map((r) => `${r.label}: ${r.v.reduce<number>((s, v) => s + (v ?? 0), 0)} values, most in ${fullest(p, r)}`).join("; "),
  series: (p) => p.rows.map((r) => `${r.label}: from ${value(r.v[0], p.unit)} to ${value(r.v[r.v.length - 1], p.unit)}`).join("; "),
};

function fullest(p: Plot, r: Row): string {
  const i = r.v.reduce<number>((best, v, at) => ((v ?? 0) > (r.v[best] ?? 0) ? at : best), 0);
  return `${value(p.edges?.[i], p.unit)} to ${value(p.edges?.[i + 1], p.unit)}`;
}

const NOTES: Partial<Record<PlotKind, string>> = {
  box: "whiskers p5 and p95, box p25 to p75, line p50",
};

function Drawn(p: { plot: Plot; kind: keyof typeof DRAWINGS }) {
  const [box, wide] = useWidth();
  const Draw = DRAWINGS[p.kind];
  const named = p.kind === "series" && p.plot.rows.length > 1;
  return (
    <div ref={box}>
      {wide > 0 && <Draw plot={p.plot} wide={wide} />}
      {named && <Legend items={p.plot.rows.map((r, i) => ({ key: r.label, color: seriesColor(i), text: r.label }))} />}
    </div>
  );
}

/** A plot of a verdict, whatever its kind. An empty one is left out. */
export function EvidencePlot(p: { plot: Plot }) {
  const { plot } = p;
  if (plot.rows.length === 0) return null;
  if (plot.kind === "pie") {
    const colors = partColors(plot.rows.map((r) => r.label));
    const parts = plot.rows.map((r, i) => ({ label: r.label, v: r.v[0] ?? 0, color: colors[i] ?? seriesColor(i) }));
    return <Pie title={plot.title} unit={plot.unit} parts={parts} level={4} />;
  }
  if (plot.kind === "table") {
    const table = TABLES.table(plot);
    return (
      <div class="chart">
        <h4>
          {plot.title} <span class="quiet">{plot.unit}</span>
        </h4>
        <DataTable caption={plot.title} columns={table.columns} rows={table.rows} rowKey={(l) => l.label} />
      </div>
    );
  }
  const note = NOTES[plot.kind];
  return (
    <ChartFrame
      title={plot.title}
      unit={plot.unit}
      level={4}
      summary={SUMMARIES[plot.kind](plot)}
      table={() => TABLES[plot.kind](plot)}
      legend={note === undefined ? undefined : <p class="legend">{note}</p>}
    >
      <Drawn plot={plot} kind={plot.kind} />
    </ChartFrame>
  );
}
