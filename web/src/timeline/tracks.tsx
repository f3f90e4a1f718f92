// SPDX-License-Identifier: Apache-2.0
// tracks.tsx - counter tracks below the lanes of the timeline: metrics and the program's own counters and marks on the
// same time axis. They follow the window; the numbers beside a track are those under the pointer, else means.
import { useEffect, useMemo, useState } from "preact/hooks";

import { api } from "../api";
import { bridged } from "../charts/columns";
import { curvePath, growths, scaleOf } from "../charts/curve";
import { AddChart } from "../components/add_chart";
import { Button } from "../components/basics";
import { ChartFrame, type ChartTable } from "../components/chart_frame";
import type { Column } from "../components/table";
import { value } from "../format";
import { useLoad } from "../load";
import { seriesColorName } from "../palette";
import { node, params, setParam } from "../state";
import type { Grid, GridSeries, RunInfo } from "../types";
import { counterCharts, MARKS, type MetricChart, metricCharts, withMarks } from "../views/metrics_plan";
import { joined, useSlowTick } from "../views/nodes_data";
import { plural } from "../words";
import { pxToTime, type Range, timeToPx } from "./range";
import type { Store } from "./store";
import { firstTracks, seriesOf, type TrackLine, trackLines, valueAt } from "./tracks_model";

const TRACKS = "tracks"; // in the address: keys, or "none"
const NONE = "none";
const SETTLE_MS = 150;
const HEIGHT = 40;
const PX_PER_POINT = 2;
const [LEAST_PX, MOST_POINTS] = [200, 2000];

interface Track {
  readonly chart: MetricChart;
  readonly lines: readonly TrackLine[];
}

/** The window of the lanes, once it has come to rest. */
function useSettled(range: Range): Range {
  const [settled, setSettled] = useState(range);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(range), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [range]);
  return settled;
}

async function loadTracks(run: string, tracks: readonly Track[], q: { from: number; to: number; points: number; node: string | undefined }, signal: AbortSignal): Promise<Grid> {
  const metric = [...new Set(tracks.filter((t) => !t.chart.counter).flatMap((t) => t.lines.map((l) => l.ask)))];
  const names = [...new Set(tracks.filter((t) => t.chart.counter).flatMap((t) => t.lines.map((l) => l.ask)))];
  const parts = names.map((name): Promise<Grid> => api.counters(run, { ...q, name }, signal));
  if (metric.length > 0) parts.unshift(api.grid(run, { ...q, metric }, signal));
  return joined(await Promise.all(parts));
}

/** The tracks that the address names, else the first ones. */
function chosenTracks(charts: readonly MetricChart[]): Track[] {
  const text = params.value[TRACKS];
  const keys = text === undefined ? firstTracks(charts) : text === NONE ? [] : text.split(",").map(decodeURIComponent);
  return keys.flatMap((k) => charts.filter((c) => c.key === k)).map((chart) => ({ chart, lines: trackLines(chart) }));
}

const setTracks = (keys: readonly string[]): void => setParam(TRACKS, keys.length === 0 ? NONE : keys.map(encodeURIComponent).join(","));

interface Drawn {
  readonly line: TrackLine;
  readonly series: GridSeries;
  readonly colour: string;
}

const drawnOf = (grid: Grid, t: Track): Drawn[] =>
  t.lines.flatMap((line, i) => {
    const series = seriesOf(grid, line);
    return series === null ? [] : [{ line, series, colour: seriesColorName(i) }];
  });

/** Columns that readings lie apart: counters come when the program reports them. */
function apart(chart: MetricChart, grid: Grid, intervalMs: number | null): number {
  return chart.counter || intervalMs === null ? grid.n : (intervalMs * 1e6) / grid.step_ns;
}

function Curves(p: { store: Store; grid: Grid; track: Track; drawn: readonly Drawn[]; intervalMs: number | null }) {
  const { store, grid, drawn } = p;
  const { chart } = p.track;
  const wide = store.width.value;
  const least = apart(chart, grid, p.intervalMs);
  const x = (i: number): number => timeToPx(grid.from_ns + (i + 0.5) * grid.step_ns - store.start, store.range.value, wide);
  const scale = scaleOf(drawn.map((d) => d.series.v), chart.unit, chart.counter && chart.unit === "");
  if (scale === null || wide === 0) return null;
  const y = (v: number): number => HEIGHT - 3 - ((v - scale.low) / (scale.high - scale.low)) * (HEIGHT - 6);
  return (
    <svg class="tl-curves" width={wide} height={HEIGHT} aria-hidden="true">
      {drawn.map((d) =>
        chart.unit === MARKS ? (
          <path key={d.line.key} d={growths(d.series.v).map((i) => `M${x(i).toFixed(1)} 6v${HEIGHT - 12}`).join("")} style={{ stroke: `var(${d.colour})` }} />
        ) : (
          <path key={d.line.key} d={curvePath(bridged(d.series.v, least), x, y)} style={{ stroke: `var(${d.colour})` }} />
        ),
      )}
    </svg>
  );
}

/** The mean, or under the pointer the value there; of several lines each. */
function Numbers(p: { grid: Grid; drawn: readonly Drawn[]; unit: string; at: number | null; least: number }) {
  const { at } = p;
  const unit = p.unit === MARKS ? "" : p.unit;
  const text = (s: GridSeries): string => value(at === null ? s.mean : valueAt(p.grid, s, at, p.least), unit);
  if (p.drawn.length === 0) return <span class="quiet">no readings here</span>;
  if (p.unit === MARKS && at === null) return <span class="quiet">{plural(p.drawn.reduce((n, d) => n + d.series.count, 0), "mark")}</span>;
  return (
    <span class="quiet tabular">
      {p.drawn.slice(0, 2).map((d, i) => (
        <span key={d.line.key}>
          {i > 0 && " · "}
          {p.drawn.length > 1 && <i class="tl-dot" style={{ background: `var(${d.colour})` }} />}
          {text(d.series)}
        </span>
      ))}
      {p.drawn.length > 2 && ` · ${p.drawn.length - 2} more`}
    </span>
  );
}

interface RowProps {
  store: Store;
  run: RunInfo;
  grid: Grid | null;
  track: Track;
  at: number | null;
  onAt: (at_ns: number | null) => void;
  onRemove: () => void;
}

function TrackRow(p: RowProps) {
  const { store, grid, track } = p;
  const { chart } = track;
  const drawn = grid === null ? [] : drawnOf(grid, track);
  const move = (e: PointerEvent & { currentTarget: HTMLElement }): void => {
    const box = e.currentTarget.getBoundingClientRect();
    p.onAt(store.absolute(pxToTime(e.clientX - box.left, store.range.value, box.width)));
  };
  const cursor = p.at === null ? null : timeToPx(p.at - store.start, store.range.value, 100);
  return (
    <div class="tl-track" data-track={chart.key}>
      <div class="tl-track-title">
        <span class="tl-name" title={chart.name}>
          {chart.title}
        </span>
        <Button kind="quiet" label={`Remove track: ${chart.title}`} onClick={p.onRemove}>
          ✕
        </Button>
        {grid !== null && <Numbers grid={grid} drawn={drawn} unit={chart.unit} at={p.at} least={apart(chart, grid, p.run.interval_ms)} />}
      </div>
      <div class="tl-track-plot" onPointerMove={move} onPointerLeave={() => p.onAt(null)}>
        {grid !== null && <Curves store={store} grid={grid} track={track} drawn={drawn} intervalMs={p.run.interval_ms} />}
        {cursor !== null && <span class="tl-cursor" style={{ left: `${cursor}%` }} />}
      </div>
    </div>
  );
}

interface TrackNumbers {
  title: string;
  line: string;
  unit: string;
  low: number | null;
  mean: number | null;
  high: number | null;
  count: number;
}

function rowsOf(tracks: readonly Track[], grid: Grid | null): TrackNumbers[] {
  if (grid === null) return [];
  const end = (v: readonly (number | null)[], pick: (...all: number[]) => number): number | null => {
    const known = v.filter((x): x is number => x !== null);
    return known.length === 0 ? null : known.reduce((a, b) => pick(a, b));
  };
  return tracks.flatMap((t) =>
    drawnOf(grid, t).map(({ line, series: s }) => ({
      title: t.chart.title,
      line: line.label,
      unit: t.chart.unit === MARKS ? "" : t.chart.unit,
      low: end(s.min, Math.min),
      mean: s.mean,
      high: end(s.max, Math.max),
      count: s.count,
    })),
  );
}

const COLUMNS: readonly Column<TrackNumbers>[] = [
  { id: "track", title: "Track", cell: (r) => r.title, sort: (r) => r.title },
  { id: "line", title: "Of", cell: (r) => (r.line === "" ? "-" : r.line), sort: (r) => r.line },
  { id: "min", title: "Min", numeric: true, cell: (r) => value(r.low, r.unit), sort: (r) => r.low },
  { id: "mean", title: "Mean", numeric: true, cell: (r) => value(r.mean, r.unit), sort: (r) => r.mean },
  { id: "max", title: "Max", numeric: true, cell: (r) => value(r.high, r.unit), sort: (r) => r.high },
  { id: "count", title: "Readings", numeric: true, cell: (r) => r.count, sort: (r) => r.count },
];

export function Tracks(p: { store: Store; run: RunInfo }) {
  const { store, run } = p;
  const at = node.value;
  const [cursor, setCursor] = useState<number | null>(null);
  const tick = useSlowTick(run.live);
  const counters = useLoad(`${run.run} ${at}`, (signal) => api.counters(run.run, { points: 1, node: at }, signal), tick, true);
  const charts = useMemo(() => [...withMarks(counterCharts(counters.data?.series ?? [])), ...metricCharts(run.metrics, at)], [run.metrics, at, counters.data]);
  const tracks = chosenTracks(charts);
  const shown = tracks.map((t) => t.chart.key);
  const r = useSettled(store.range.value);
  const px = store.width.value;
  const points = Math.min(MOST_POINTS, Math.max(LEAST_PX, Math.round(px / PX_PER_POINT)));
  const [from, to] = [store.absolute(r.from), store.absolute(r.to)];
  const key = px === 0 || tracks.length === 0 || counters.data === null ? null : [run.run, at, from, to, points, ...tracks.map((t) => t.chart.key)].join(" ");
  const grid = useLoad(key, (signal) => loadTracks(run.run, tracks, { from, to, points, node: at === "" ? undefined : at }, signal), tick, true);
  if (charts.length === 0) return null;
  const table = (): ChartTable<TrackNumbers> => ({ columns: COLUMNS, rows: rowsOf(tracks, grid.data) });
  return (
    <ChartFrame
      title="Metrics and counters"
      class="tl-counters"
      summary={`${plural(tracks.length, "track")} on the time axis of the lanes: ${tracks.map((t) => t.chart.title).join(", ")}.`}
      table={table}
      actions={<AddChart label="Add a track" charts={charts.filter((c) => !shown.includes(c.key))} onAdd={(key) => setTracks([...shown, key])} />}
    >
      {tracks.length > 0 && (
        <div class={`tl-box tl-tracks ${store.narrow.value ? "tl-narrow" : ""}`}>
          {tracks.map((t) => (
            <TrackRow
              key={t.chart.key}
              store={store}
              run={run}
              grid={grid.data}
              track={t}
              at={cursor}
              onAt={setCursor}
              onRemove={() => setTracks(tracks.filter((x) => x !== t).map((x) => x.chart.key))}
            />
          ))}
        </div>
      )}
      {grid.error !== null && <p class="quiet">{grid.error.message}</p>}
    </ChartFrame>
  );
}
