// SPDX-License-Identifier: Apache-2.0
// compare_charts.tsx - both runs' step times in one picture, and a difference with its interval.
import { valueTicks } from "../charts/bars";
import { Legend } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import type { Column } from "../components/table";
import { useWidth } from "../components/width";
import { count, share, value } from "../format";
import type { Comparison } from "../types";

const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [56, 12, 10, 36, 230];
export const A_COLOUR = "var(--c1)";
export const B_COLOUR = "var(--c2)";

interface BinRow {
  from: number;
  to: number;
  a: number;
  b: number;
}

export function binRows(h: Comparison["step_time"]["histogram"]): BinRow[] {
  return h.a.map((a, i) => ({ from: h.edges_s[i] ?? 0, to: h.edges_s[i + 1] ?? 0, a, b: h.b[i] ?? 0 }));
}

const BIN_COLUMNS: readonly Column<BinRow>[] = [
  { id: "from", title: "From", numeric: true, cell: (r) => value(r.from, "s"), sort: (r) => r.from },
  { id: "to", title: "To", numeric: true, cell: (r) => value(r.to, "s"), sort: (r) => r.to },
  { id: "a", title: "Steps of A", numeric: true, cell: (r) => count(r.a), sort: (r) => r.a },
  { id: "b", title: "Steps of B", numeric: true, cell: (r) => count(r.b), sort: (r) => r.b },
];

const sum = (v: readonly number[]): number => v.reduce((a, b) => a + b, 0);

/** The outline of a histogram, from the axis up and back. */
function outline(shares: readonly number[], edges: readonly number[], x: (v: number) => number, y: (v: number) => number): string {
  const steps = shares.map((s, i) => `L${x(edges[i] ?? 0).toFixed(1)} ${y(s).toFixed(1)}L${x(edges[i + 1] ?? 0).toFixed(1)} ${y(s).toFixed(1)}`);
  return `M${x(edges[0] ?? 0).toFixed(1)} ${y(0)}${steps.join("")}L${x(edges[edges.length - 1] ?? 0).toFixed(1)} ${y(0)}`;
}

function Overlaid(p: { histogram: Comparison["step_time"]["histogram"]; wide: number; label: string }) {
  const { edges_s: edges, a, b } = p.histogram;
  const shares = (counts: readonly number[]): number[] => counts.map((n) => n / Math.max(1, sum(counts)));
  const [sa, sb] = [shares(a), shares(b)];
  const most = Math.max(...sa, ...sb, 1e-9);
  const [low, high] = [edges[0] ?? 0, edges[edges.length - 1] ?? 1];
  const x = (v: number): number => LEFT + ((v - low) / Math.max(high - low, 1e-12)) * (p.wide - LEFT - RIGHT);
  const y = (v: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - v / most);
  const marks = Math.max(2, Math.floor((p.wide - LEFT) / 110));
  return (
    <svg class="bars-chart" width={p.wide} height={HEIGHT} role="img" aria-label={p.label}>
      {valueTicks(most, 3).map((t) => (
        <g key={t}>
          <line class="grid" x1={LEFT} x2={p.wide - RIGHT} y1={y(t)} y2={y(t)} />
          <text x={LEFT - 6} y={y(t) + 4} text-anchor="end">
            {share(t)}
          </text>
        </g>
      ))}
      <path class="compare-a" d={outline(sa, edges, x, y)} />
      <path class="compare-b" d={outline(sb, edges, x, y)} />
      {Array.from({ length: marks + 1 }, (_, k) => low + ((high - low) * k) / marks).map((v, k) => (
        <text key={k} x={x(v)} y={HEIGHT - 20} text-anchor={k === 0 ? "start" : k === marks ? "end" : "middle"}>
          {value(v, "s")}
        </text>
      ))}
      <text class="axis-title" x={(LEFT + p.wide) / 2} y={HEIGHT - 4} text-anchor="middle">
        iteration
      </text>
    </svg>
  );
}

export function StepTimes(p: { data: Comparison }) {
  const [box, wide] = useWidth();
  const { step_time: t } = p.data;
  if (t.histogram.edges_s.length < 2) return <p class="quiet">Iterations cannot be compared: {p.data.why}</p>;
  const summary =
    `${count(t.a.count)} iterations of A with a median of ${value(t.a.p50_s, "s")}, ` +
    `${count(t.b.count)} iterations of B with a median of ${value(t.b.p50_s, "s")}.`;
  return (
    <ChartFrame
      title="Iterations of both runs"
      unit="share of iterations"
      summary={summary}
      table={() => ({ columns: BIN_COLUMNS, rows: binRows(t.histogram) })}
      legend={
        <Legend
          items={[
            { key: "a", color: A_COLOUR, text: `A: ${p.data.a.name} (filled)` },
            { key: "b", color: B_COLOUR, text: `B: ${p.data.b.name} (dashed line)` },
          ]}
        />
      }
    >
      <div ref={box}>{wide > 0 && <Overlaid histogram={t.histogram} wide={wide} label={summary} />}</div>
    </ChartFrame>
  );
}

export interface Interval {
  at: number | null;
  low: number | null;
  high: number | null;
}

/** The end of the scale of some differences. Interval bounds beyond a whole iteration are left out: a single one
 * would squash all others; such an interval is cut off at the end. */
export function reachOf(all: readonly Interval[], iteration: number | null): number {
  const most = iteration ?? Infinity;
  const bounds = all.flatMap((i) => [i.low, i.high]).map((v) => Math.abs(v ?? 0));
  return Math.max(0, ...all.map((i) => Math.min(most, Math.abs(i.at ?? 0))), ...bounds.filter((v) => v <= most));
}

/** The end of an interval: a bar, or an arrow where it lies beyond the scale. */
function End(p: { v: number; x: number; reach: number }) {
  if (Math.abs(p.v) <= p.reach) return <line class="range" x1={p.x} x2={p.x} y1="5" y2="13" />;
  const back = p.x - Math.sign(p.v) * 5;
  return <path class="range beyond" d={`M${back} 5L${p.x} 9L${back} 13`} />;
}

/** A dot with its interval over a line at zero; `reach` is the end of the scale on both sides. */
export function Whisker(p: { interval: Interval; reach: number }) {
  const { at, low, high } = p.interval;
  if (at === null || low === null || high === null || p.reach <= 0) return null;
  const x = (v: number): number => 70 + Math.min(1, Math.max(-1, v / p.reach)) * 64;
  return (
    <svg class="compare-whisker" width="140" height="18" aria-hidden="true">
      <line class="zero" x1="70" x2="70" y1="1" y2="17" />
      <line class="range" x1={x(low)} x2={x(high)} y1="9" y2="9" />
      <End v={low} x={x(low)} reach={p.reach} />
      <End v={high} x={x(high)} reach={p.reach} />
      <circle cx={x(at)} cy="9" r="3.5" />
    </svg>
  );
}
