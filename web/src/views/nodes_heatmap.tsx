// SPDX-License-Identifier: Apache-2.0
// nodes_heatmap.tsx - "Overall system utilization": all cores and GPUs over time.
import { useMemo } from "preact/hooks";

import { api } from "../api";
import { HeatmapChart } from "../charts/heat";
import { type HeatData, heatData, type HeatRow, percentAt, rowText } from "../charts/heatmap";
import { msOf } from "../charts/span";
import { Legend } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Empty, Loaded } from "../components/empty";
import type { Column } from "../components/table";
import { percent } from "../format";
import { PHASES } from "../palette";
import type { Heatmap, RunInfo } from "../types";
import { type Ask, pointsFor, useWindowed } from "./nodes_data";

interface DeviceRow {
  readonly row: HeatRow;
  readonly min: number | null;
  readonly mean: number | null;
  readonly max: number | null;
}

const METRICS: Readonly<Record<string, string>> = { "cpu.util": "CPU core", "gpu.util": "GPU" };

const COLUMNS: readonly Column<DeviceRow>[] = [
  { id: "node", title: "Node", cell: (r) => r.row.node, sort: (r) => r.row.node },
  { id: "kind", title: "Kind", cell: (r) => METRICS[r.row.metric] ?? r.row.metric, sort: (r) => r.row.metric },
  { id: "device", title: "Device", cell: (r) => r.row.entity, sort: (r) => r.row.entity },
  { id: "min", title: "Lowest cell", numeric: true, cell: (r) => percent(r.min), sort: (r) => r.min },
  { id: "mean", title: "Mean of cells", numeric: true, cell: (r) => percent(r.mean), sort: (r) => r.mean },
  { id: "max", title: "Highest cell", numeric: true, cell: (r) => percent(r.max), sort: (r) => r.max },
];

/** Each row of the picture in numbers. */
export function deviceRows(data: HeatData): DeviceRow[] {
  return data.rows.map((row, k) => {
    let [n, sum, min, max] = [0, 0, Infinity, -Infinity];
    for (let c = 0; c < data.columns; c++) {
      const v = percentAt(data, k, c);
      if (v === null) continue;
      n++;
      sum += v;
      min = Math.min(min, v);
      max = Math.max(max, v);
    }
    return n === 0 ? { row, min: null, mean: null, max: null } : { row, min, mean: sum / n, max };
  });
}

function sentence(rows: readonly DeviceRow[]): string {
  const seen = rows.filter((r): r is DeviceRow & { mean: number } => r.mean !== null);
  const sorted = [...seen].sort((a, b) => b.mean - a.mean);
  const [most, least] = [sorted[0], sorted[sorted.length - 1]];
  if (!most || !least) return `${rows.length} devices, none measured in this window.`;
  const text = (r: DeviceRow): string => `${rowText(r.row, true)} with a mean of ${percent(r.mean)}`;
  return `${rows.length} devices over time. Busiest: ${text(most)}. Least busy: ${text(least)}.`;
}

export function HeatmapPanel(p: { ask: Ask; left: number }) {
  const { run, node, pixels } = p.ask;
  const load = useWindowed(p.ask, "heatmap", (from, to, signal) =>
    api.heatmap(run.run, { node: node === "" ? undefined : node, from, to, columns: pointsFor({ from: msOf(from), to: msOf(to) }, pixels, 1, run.interval_ms) }, signal),
  );
  return (
    <Loaded load={load} what="the heatmap">
      {(h) => <Drawn run={run} answer={h} ask={p.ask} left={p.left} />}
    </Loaded>
  );
}

function Drawn(p: { run: RunInfo; answer: Heatmap; ask: Ask; left: number }) {
  const data = useMemo(() => heatData(p.answer, p.run.interval_ms), [p.answer, p.run.interval_ms]);
  const rows = useMemo(() => deviceRows(data), [data]);
  if (data.rows.length === 0) {
    return (
      <Empty title="No utilization was recorded" command="footplate run -- python train.py">
        Imported traces have no readings of cores or GPUs. Record the job to get them:
      </Empty>
    );
  }
  const phases = [...new Set(p.run.phases.map((x) => x.phase))];
  return (
    <ChartFrame
      title="Overall system utilization"
      class="nodes-chart nodes-heatmap"
      summary={sentence(rows)}
      table={() => ({ columns: COLUMNS, rows })}
      legend={
        <Legend items={phases.map((name) => ({ key: name, color: PHASES[name].color, text: PHASES[name].title }))}>
          <li class="quiet">Hatched: not measured. Each cell shows a mean.</li>
        </Legend>
      }
    >
      <HeatmapChart sync={p.ask.sync} data={data} phases={p.run.phases} left={p.left} label="Utilization of all cores and GPUs" />
    </ChartFrame>
  );
}
