// SPDX-License-Identifier: Apache-2.0
// tracks_model.ts - which counter tracks lie below the lanes, and what to request from the server. Pure.
import { bridged, keyOf } from "../charts/columns";
import type { Grid, GridSeries } from "../types";
import type { MetricChart } from "../views/metrics_plan";
import { entityLabel, MARKS, MOST_MARKS } from "../views/metrics_plan";
import { MEAN } from "../views/nodes_charts";

const TOTAL = "total";
const MOST_COUNTERS = 6; // of the program, at first
const MOST_LINES = 8; // of one track
const FIRST = ["cpu.util", "mem.used", "gpu.util", "gpu.mem"]; // metrics that are shown at first

export interface TrackLine {
  /** As keyOf returns it for its series. */
  readonly key: string;
  readonly label: string;
  /** Of a metric "cpu.util:total", of a counter its name. */
  readonly ask: string;
}

/** The keys of the tracks before the user has chosen any: the program's own counters, then a few metrics. */
export function firstTracks(charts: readonly MetricChart[]): string[] {
  const own = charts.filter((c) => c.counter && c.own === true).slice(0, MOST_COUNTERS);
  const metrics = FIRST.flatMap((name) => charts.filter((c) => !c.counter && c.name === name));
  return [...own, ...metrics].map((c) => c.key);
}

/** Of a metric one line per node: the whole, else the mean of its devices. Of a counter one per rank. */
export function trackLines(c: MetricChart): TrackLine[] {
  const many = new Set(c.sources.map((s) => s.node)).size > 1;
  const lines = c.sources.flatMap((s) => {
    const devices = s.entities.filter((e) => e !== TOTAL);
    const shown = c.counter ? devices : s.entities.includes(TOTAL) ? [TOTAL] : devices.length === 1 ? devices : [MEAN];
    return shown.map((e) => ({
      key: keyOf({ ...s, entity: e }),
      label: [many ? s.node : "", c.unit === MARKS ? s.metric : "", e === TOTAL ? "" : entityLabel(e)].filter((x) => x !== "").join(", "),
      ask: c.counter ? s.metric : `${s.metric}:${e}`,
    }));
  });
  return lines.slice(0, c.unit === MARKS ? MOST_MARKS : MOST_LINES);
}

export function seriesOf(grid: Grid, line: TrackLine): GridSeries | null {
  return grid.series.find((s) => keyOf(s) === line.key) ?? null;
}

/** What a series has at a time: the last reading before it, unless that is a gap. `least` as of bridged. */
export function valueAt(grid: Grid, s: GridSeries, at_ns: number, least: number): number | null {
  const i = Math.floor((at_ns - grid.from_ns) / grid.step_ns);
  if (i < 0 || i >= grid.n) return null;
  const cells = bridged(s.v, least);
  let k = i;
  while (k >= 0 && cells[k] === undefined) k--;
  return cells[k] ?? null;
}
