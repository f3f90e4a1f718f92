// SPDX-License-Identifier: Apache-2.0
// compare_overlay.tsx - iterations, the program's counters, utilization and added metrics of both runs in one picture
// each, over time or by step (compare_curves.ts).
import { api } from "../api";
import { scaleOf } from "../charts/curve";
import { stepTicks, tickStep } from "../charts/timeaxis";
import { AddChart } from "../components/add_chart";
import { Button, Card, Choice, Legend } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Loaded } from "../components/empty";
import { ticks } from "../components/plots/scale";
import type { Column } from "../components/table";
import { useWidth } from "../components/width";
import { duration, fixed, value } from "../format";
import { useLoad } from "../load";
import { params, setParam } from "../state";
import { trackLines } from "../timeline/tracks_model";
import { A_COLOUR, B_COLOUR } from "./compare_charts";
import { addable, type Axis, oneRank, type Pair, pairsOf, type Point, type Row, rowsOf, shownOf, type Side } from "./compare_curves";
import { counterCharts, MARKS, metricCharts } from "./metrics_plan";

const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [64, 12, 8, 22, 150];
const POINTS = 400;
const STEPS = 2000;
const TWO = 1000; // pixels from which on two charts are side by side
const OVER = "over"; // in the address
const ADDED = "metrics"; // in the address: keys

async function readSide(run: string, added: readonly string[], signal: AbortSignal): Promise<Side> {
  const [info, counters, steps] = await Promise.all([
    api.run(run, signal),
    api.counters(run, { points: POINTS, exact: true }, signal),
    api.steps(run, { last: STEPS }, signal),
  ]);
  const hooks = counters.series.filter((c) => !c.own && c.unit !== MARKS);
  const charts = [...counterCharts(hooks), ...metricCharts(info.metrics, "")];
  const metric = [...new Set(shownOf(charts, added).filter((c) => !c.counter).flatMap((c) => trackLines(c).map((l) => l.ask)))];
  const grid = metric.length === 0 ? null : await api.grid(run, { metric, points: POINTS }, signal);
  const start_ns = info.loop_start_ns ?? info.start_ns ?? 0;
  return { start_ns, grid, counters: counters.series, counterGrid: counters, steps: oneRank(steps.steps), charts };
}

const keysAdded = (): string[] => (params.value[ADDED] ?? "").split(",").filter((k) => k !== "").map(decodeURIComponent);
const setAdded = (keys: readonly string[]): void => setParam(ADDED, keys.length === 0 ? null : keys.map(encodeURIComponent).join(","));

/** A mark of the axis, or the time of a row. */
export const axisText = (axis: Axis, x: number): string => (axis === "step" ? fixed(x, 0) : x === 0 ? "0 s" : duration(x));

function pathOf(all: readonly Point[], x: (v: number) => number, y: (v: number) => number): string {
  return all.map((p, i) => `${i === 0 ? "M" : "L"}${x(p.x).toFixed(1)} ${y(p.y).toFixed(1)}`).join("");
}

const MARK_PX = 90;

/** Round marks of the axis: seconds, or steps. */
export function marksOf(axis: Axis, low: number, high: number, pixels: number): number[] {
  if (axis === "step") return stepTicks({ from: low, to: high }, pixels).map((t) => t.at);
  const each = tickStep({ from: low * 1e3, to: high * 1e3 }, pixels, MARK_PX) / 1e3;
  const first = Math.ceil(low / each - 1e-9);
  return Array.from({ length: Math.max(Math.floor(high / each + 1e-9) - first + 1, 0) }, (_, k) => (first + k) * each);
}

/** Both ends of the axis that all charts have. */
function endsOf(pairs: readonly Pair[]): { low: number; high: number } {
  const all = pairs.flatMap((q) => [...q.a, ...q.b]);
  return { low: all.reduce((m, q) => Math.min(m, q.x), Infinity), high: all.reduce((m, q) => Math.max(m, q.x), -Infinity) };
}

function Curves(p: { pair: Pair; axis: Axis; ends: { low: number; high: number }; wide: number; label: string }) {
  const { a, b, unit, id } = p.pair;
  const all = [...a, ...b];
  const scale = scaleOf([all.map((q) => q.y)], unit, id.startsWith("counter "));
  if (scale === null) return null;
  const { low, high } = p.ends;
  const x = (v: number): number => LEFT + ((v - low) / Math.max(high - low, 1e-12)) * (p.wide - LEFT - RIGHT);
  const y = (v: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (v - scale.low) / (scale.high - scale.low));
  return (
    <svg class="bars-chart compare-curves" width={p.wide} height={HEIGHT} role="img" aria-label={p.label}>
      {ticks(scale.low, scale.high, 3).map((t) => (
        <g key={t}>
          <line class="grid" x1={LEFT} x2={p.wide - RIGHT} y1={y(t)} y2={y(t)} />
          <text x={LEFT - 6} y={y(t) + 4} text-anchor="end">
            {value(t, unit)}
          </text>
        </g>
      ))}
      <path class="curve-a" d={pathOf(a, x, y)} />
      <path class="curve-b" d={pathOf(b, x, y)} />
      {marksOf(p.axis, low, high, p.wide - LEFT - RIGHT).map((v) => (
        <text key={v} x={x(v)} y={HEIGHT - 6} text-anchor={x(v) < LEFT + MARK_PX / 4 ? "start" : x(v) > p.wide - RIGHT - MARK_PX / 4 ? "end" : "middle"}>
          {axisText(p.axis, v)}
        </text>
      ))}
    </svg>
  );
}

const meanOf = (all: readonly Point[]): number | null => (all.length === 0 ? null : all.reduce((n, q) => n + q.y, 0) / all.length);

function Overlay(p: { pair: Pair; axis: Axis; ends: { low: number; high: number }; wide: number }) {
  const { pair, axis } = p;
  const text = (of: readonly Point[]): string => (of.length === 0 ? "not recorded" : value(meanOf(of), pair.unit));
  const summary = `${pair.title} of both runs ${axis === "time" ? "over time" : "by step"}: mean of A ${text(pair.a)}, of B ${text(pair.b)}.`;
  const missing = [...(pair.a.length === 0 ? ["A"] : []), ...(pair.b.length === 0 ? ["B"] : [])];
  const remove = (
    <Button kind="quiet" label={`Remove: ${pair.title}`} onClick={() => setAdded(keysAdded().filter((k) => k !== pair.id))}>
      ✕
    </Button>
  );
  const columns: readonly Column<Row>[] = [
    { id: "x", title: axis === "time" ? "Time" : "Step", numeric: true, cell: (r) => axisText(axis, r.x), sort: (r) => r.x },
    { id: "a", title: "A", numeric: true, cell: (r) => value(r.a, pair.unit), sort: (r) => r.a },
    { id: "b", title: "B", numeric: true, cell: (r) => value(r.b, pair.unit), sort: (r) => r.b },
  ];
  return (
    <ChartFrame title={pair.title} summary={summary} table={() => ({ columns, rows: rowsOf(pair, axis) })} {...(keysAdded().includes(pair.id) ? { actions: remove } : {})}>
      {p.wide > 0 && <Curves pair={pair} axis={axis} ends={p.ends} wide={p.wide} label={summary} />}
      {missing.length > 0 && <p class="quiet">Not recorded in {missing.join(" and ")}.</p>}
    </ChartFrame>
  );
}

function Charts(p: { a: Side; b: Side; names: readonly [string, string]; added: readonly string[] }) {
  const [box, wide] = useWidth();
  const steps = p.a.steps.length > 1 && p.b.steps.length > 1;
  const axis: Axis = steps && params.value[OVER] === "step" ? "step" : "time";
  const pairs = pairsOf(p.a, p.b, axis, p.added);
  const ends = endsOf(pairs);
  const columns = wide >= TWO ? 2 : 1;
  const each = Math.floor((wide - (columns - 1) * 24) / columns);
  const axes = steps && (
    <Choice<Axis>
      label="Axis"
      value={axis}
      options={[
        { value: "time", text: "Over time" },
        { value: "step", text: "By step" },
      ]}
      onChange={(v) => setParam(OVER, v === "step" ? v : null)}
    />
  );
  const actions = (
    <>
      <AddChart label="Add a metric" charts={addable(p.a, p.b, keysAdded())} onAdd={(key) => setAdded([...keysAdded(), key])} />
      {axes}
    </>
  );
  return (
    <Card title="Curves of both runs" hint={axis === "time" ? "time after the first training step" : "number of the training step"} actions={actions}>
      <div ref={box} class="compare-overlays">
        {pairs.map((pair) => (
          <Overlay key={pair.id} pair={pair} axis={axis} ends={ends} wide={each} />
        ))}
        {pairs.length === 0 && <p class="quiet">Nothing that both runs recorded can be drawn together.</p>}
      </div>
      <Legend
        items={[
          { key: "a", color: A_COLOUR, text: `A: ${p.names[0]} (solid line)` },
          { key: "b", color: B_COLOUR, text: `B: ${p.names[1]} (dashed line)` },
        ]}
      />
    </Card>
  );
}

/** `a` and `b`: the first run of each side. */
export function Overlays(p: { a: string; b: string; names: readonly [string, string] }) {
  const added = keysAdded();
  const load = useLoad(
    [p.a, p.b, ...added].join(" "),
    async (signal) => {
      const [a, b] = await Promise.all([readSide(p.a, added, signal), readSide(p.b, added, signal)]);
      return { a, b, read: added };
    },
    0,
    true,
  );
  return (
    <Loaded load={load} what="the curves">
      {({ a, b, read }) => <Charts a={a} b={b} names={p.names} added={added.filter((k) => read.includes(k))} />}
    </Loaded>
  );
}
