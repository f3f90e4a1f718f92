// SPDX-License-Identifier: Apache-2.0
// health_lines.tsx - curves of training health: a chart with its legend, its marks and its numbers as a table.
import { useMemo } from "preact/hooks";

import { columnTimes, keyOf } from "../charts/columns";
import type { LineChartOptions, LineLook } from "../charts/linechart";
import { LineLegend, Lines } from "../charts/lines";
import { contains, type Span } from "../charts/span";
import { ChartFrame, type ChartTable } from "../components/chart_frame";
import { Loaded } from "../components/empty";
import { fixed, general, value } from "../format";
import { seriesColorName } from "../palette";
import type { Grid, GridSeries, HealthScalar } from "../types";
import { plural } from "../words";
import { type HealthAsk, useCurves } from "./health_data";
import { ACROSS, type Curve, gridOf, lastOf, lastWithin, logarithmic, smoothed } from "./health_model";

const HEIGHT = 200;
const plain = (v: number): string => value(v, "");
/** 0.032, 1.6, 100 */
const power = (v: number): string => (v >= 1 && v < 5 ? fixed(10 ** v, 0) : general(10 ** v, 2));
/** Values come when a step is sampled: between two of them the line goes on, however far apart they are. */
const ANY_APART = 1e15;
const POWERS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200];
const DASHES: readonly (readonly number[] | undefined)[] = [undefined, [7, 4], [2, 3], [9, 3, 2, 3]];

interface Place {
  at: number;
  cells: (number | null)[];
}

function tableOf(grid: Grid, looks: readonly LineLook[], ask: HealthAsk): ChartTable<Place> {
  const by = new Map(grid.series.map((s) => [keyOf(s), s]));
  const shown = looks.filter((l) => by.has(l.key));
  const text = ACROSS[ask.axis].text;
  const rows = columnTimes(grid)
    .map((at, i) => ({ at, cells: shown.map((l) => by.get(l.key)?.v[i] ?? null) }))
    .filter((r) => contains(ask.sync.window, r.at) && r.cells.some((c) => c !== null));
  return {
    rows,
    columns: [
      { id: "at", title: ask.axis === "step" ? "Step" : "Time", cell: (r: Place) => text(r.at, grid.step_ns / 1e6).replace("step ", ""), sort: (r: Place) => r.at },
      ...shown.map((l, k) => ({ id: l.key, title: l.label, numeric: true, cell: (r: Place) => value(r.cells[k], ""), sort: (r: Place) => r.cells[k] ?? null })),
    ],
  };
}

function sentence(grid: Grid, looks: readonly LineLook[], ask: HealthAsk): string {
  const by = new Map(grid.series.map((s) => [keyOf(s), s]));
  const parts = looks.flatMap((l) => {
    const s = by.get(l.key);
    const known = (s?.v ?? []).filter((v): v is number => v !== null);
    if (known.length === 0) return [];
    const [low, high] = [known.reduce((a, b) => Math.min(a, b)), known.reduce((a, b) => Math.max(a, b))];
    return [`${l.label}: first ${plain(known[0] as number)}, last ${plain(known[known.length - 1] as number)}, from ${plain(low)} to ${plain(high)}`];
  });
  const marks = ask.marks.map((m) => `${m.rule}${m.step === null ? "" : ` at step ${m.step}`}`);
  return `${parts.length === 0 ? "No values in this window" : parts.join("; ")}.${marks.length === 0 ? "" : ` Marked: ${marks.join("; ")}.`}`;
}

/** Columns of the window, a little wider. */
function shownSpan(ask: HealthAsk): Span {
  if (ask.asked.key === "whole") return ask.sync.whole;
  const { from, to } = ask.asked.span;
  const more = (to - from) / 10;
  return { from: Math.max(from - more, ask.sync.whole.from), to: Math.min(to + more, ask.sync.whole.to) };
}

export interface Picture {
  readonly title: string;
  readonly unit?: string;
  readonly log?: boolean;
  readonly smooth?: boolean;
  readonly height?: number;
  readonly low?: "zero" | "data";
  /** Whether its values have the scale at the right. */
  readonly right?: (c: Pick<GridSeries, "metric" | "entity">) => boolean;
  readonly label: (c: Pick<GridSeries, "node" | "metric" | "entity">) => string;
  /** Marks of findings are drawn. */
  readonly marked?: boolean;
}

const isTrain = (c: Pick<GridSeries, "entity">): boolean => c.entity !== "eval" && c.entity !== "predict";

/** Evaluations are few, limits are constant, and learning rates are smooth. */
const smooths = (c: Pick<GridSeries, "metric" | "entity">, p: Picture): boolean => p.right?.(c) !== true && isTrain(c) && c.metric !== "clip.max";

function looksOf(curves: readonly Curve[], p: Picture, smooth: boolean): LineLook[] {
  return curves.flatMap((c, k) => {
    const right = p.right?.(c) === true;
    const dash = right ? [2, 3] : DASHES[Math.floor(k / 8) + (isTrain(c) ? 0 : 1)];
    const look: LineLook = { key: keyOf(c), label: p.label(c), colour: seriesColorName(k), ...(dash ? { dash } : {}), ...(right ? { axis: "right" as const } : {}) };
    if (!smooth || !smooths(c, p)) return [look];
    return [{ ...look, faint: true as const }, { ...look, key: `${look.key} smoothed`, label: `${look.label}, smoothed` }];
  });
}

/** Curves that are there already. */
export function CurveChart(p: { ask: HealthAsk; picture: Picture; curves: readonly Curve[] }) {
  const { ask, picture, curves } = p;
  const smooth = picture.smooth === true && ask.smoothing > 0;
  const looks = useMemo(() => looksOf(curves, picture, smooth), [curves, picture.title, smooth]);
  const span = shownSpan(ask);
  const grid = useMemo(() => {
    const raw = gridOf(curves, span, ask.axis, Math.max(ask.pixels, 50));
    if (!smooth) return raw;
    return { ...raw, series: raw.series.flatMap((s) => (smooths(s, picture) ? [s, smoothed(s, ask.smoothing)] : [s])) };
  }, [curves, span.from, span.to, ask.axis, ask.pixels, smooth, ask.smoothing]);
  const drawn = useMemo(() => (picture.log === true ? logarithmic(grid, (s) => picture.right?.(s) === true) : grid), [grid, picture.log]);
  const across = ACROSS[ask.axis];
  const options: LineChartOptions = useMemo(
    () => ({
      height: picture.height ?? HEIGHT,
      left: ask.left,
      right: ask.right,
      top: null,
      low: picture.log === true ? "data" : (picture.low ?? "data"),
      unit: picture.log === true ? power : plain,
      rightUnit: plain,
      binary: false,
      drag: "zoom",
      intervalMs: ANY_APART,
      across,
      ...(picture.log === true ? { marksAt: POWERS } : {}),
    }),
    [picture.height, picture.log, picture.low, ask.left, ask.right, across],
  );
  const resting = (s: GridSeries): string => {
    const curve = curves.find((c) => keyOf(c) === keyOf(s)); // a smoothed one has only columns
    return value(curve === undefined ? lastOf(s.v) : lastWithin(curve, span), "");
  };
  return (
    <ChartFrame
      title={picture.title}
      {...(picture.unit === undefined ? {} : { unit: picture.unit })}
      class="nodes-chart"
      summary={sentence(grid, looks, ask)}
      table={() => tableOf(grid, looks, ask)}
      legend={<LineLegend sync={ask.sync} grid={grid} looks={looks} intervalMs={(grid.n * grid.step_ns) / 1e6} unit={(v) => value(v, "")} resting={resting} restingText="last value" across={across} />}
    >
      <Lines sync={ask.sync} grid={drawn} looks={looks} options={options} label={picture.title} {...(picture.marked === true ? { marks: ask.marks } : {})} />
    </ChartFrame>
  );
}

/** Values that no chart can show. */
function NotFinite(p: { scalars: readonly HealthScalar[] }) {
  const bad = p.scalars.filter((s) => s.nonfinite > 0);
  if (bad.length === 0) return null;
  const text = (s: HealthScalar): string => `${s.name}: ${plural(s.nonfinite, "value")} not finite${s.nonfinite_step === null ? "" : `, first at step ${s.nonfinite_step}`}`;
  return <p class="health-bad">{bad.map(text).join("; ")}</p>;
}

/** Scalars in one chart, loaded for the window. */
export function ScalarChart(p: { ask: HealthAsk; picture: Picture; scalars: readonly HealthScalar[] }) {
  const load = useCurves(p.ask, p.picture.title, p.scalars);
  return (
    <Loaded load={load} what={p.picture.title}>
      {(curves) => (
        <>
          <CurveChart ask={p.ask} picture={p.picture} curves={curves} />
          <NotFinite scalars={p.scalars} />
        </>
      )}
    </Loaded>
  );
}
