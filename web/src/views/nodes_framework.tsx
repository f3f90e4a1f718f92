// SPDX-License-Identifier: Apache-2.0
// nodes_framework.tsx - "System metrics over time" above "Framework metrics over time": an interval
// selected in one shows in the other, and a table lists its events.
import { useEffect, useMemo, useState } from "preact/hooks";

import { api } from "../api";
import { LaneChart, laneTexts } from "../charts/lanechart";
import { busyIn, type Lane, partLanes } from "../charts/lanes";
import { type Span, nsOf, width } from "../charts/span";
import type { TimeSync } from "../charts/sync";
import { timeText } from "../charts/timeaxis";
import { Button, Legend } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Empty, Loaded } from "../components/empty";
import { type Column, DataTable } from "../components/table";
import { count, rankText, share, value } from "../format";
import { useLoad } from "../load";
import { eventColor } from "../palette";
import type { EventRow, Grid, RunInfo, Timeline } from "../types";
import { categoryTitle, STEPS_OF } from "../words";
import { CHARTS, type ChartPlan } from "./nodes_charts";
import { type Ask, useSlowTick, useWindowed } from "./nodes_data";
import { LinePanel } from "./nodes_lines";

interface LaneRow {
  readonly lane: Lane;
  readonly text: string;
  readonly s: number;
  readonly count: number;
  readonly share: number;
}

const LANE_COLUMNS: readonly Column<LaneRow>[] = [
  { id: "lane", title: "Lane", cell: (r) => r.text, sort: (r) => r.text },
  { id: "rank", title: "Rank", cell: (r) => rankText(r.lane.rank), sort: (r) => r.lane.rank },
  { id: "count", title: "Events", numeric: true, cell: (r) => count(r.count), sort: (r) => r.count },
  { id: "time", title: "Time", numeric: true, cell: (r) => value(r.s, "s"), sort: (r) => r.s },
  { id: "share", title: "Share of window", numeric: true, cell: (r) => share(r.share), sort: (r) => r.share },
];

const EVENT_COLUMNS: readonly Column<EventRow>[] = [
  { id: "name", title: "Event", cell: (r) => r.name, sort: (r) => r.name },
  { id: "category", title: "Category", cell: (r) => categoryTitle(r.category), sort: (r) => categoryTitle(r.category) },
  { id: "rank", title: "Rank", cell: (r) => (r.rank === null ? r.node : `${rankText(r.rank)} on ${r.node}`), sort: (r) => r.rank },
  { id: "count", title: "Count", numeric: true, cell: (r) => count(r.count), sort: (r) => r.count },
  { id: "total", title: "Time", numeric: true, cell: (r) => value(r.total_s, "s"), sort: (r) => r.total_s },
  { id: "share", title: "Share of interval", numeric: true, cell: (r) => share(r.share), sort: (r) => r.share },
  { id: "p50", title: "p50", numeric: true, cell: (r) => value(r.p50_s, "s"), sort: (r) => r.p50_s },
  { id: "max", title: "Max", numeric: true, cell: (r) => value(r.max_s, "s"), sort: (r) => r.max_s },
];

export function laneRows(lanes: readonly Lane[], span: Span): LaneRow[] {
  const texts = laneTexts(lanes);
  return lanes.map((lane, k) => {
    const busy = busyIn(lane, span);
    return { lane, text: texts[k] ?? "", s: busy.ms / 1000, count: busy.count, share: busy.ms / width(span) };
  });
}

/** The selected interval, as state of a component. */
function useSelection(sync: TimeSync): Span | null {
  const [s, setS] = useState(sync.selection);
  useEffect(() => {
    setS(sync.selection);
    return sync.join((changed) => changed.has("selection") && setS(sync.selection));
  }, [sync]);
  return s;
}

export function FrameworkPanel(p: { ask: Ask; grid: Grid | null; plan: ChartPlan; left: number }) {
  const { run, sync } = p.ask;
  const selected = useSelection(sync);
  return (
    <>
      {p.grid !== null && (
        <LinePanel kind={CHARTS.system} plan={p.plan} grid={p.grid} sync={sync} intervalMs={run.interval_ms} left={p.left} height={170} />
      )}
      <LanesPanel ask={p.ask} left={p.left} />
      <div class="nodes-brush" data-testid="brush">
        {selected === null ? (
          <p class="hint">
            Drag across the system metrics or the lanes to select an interval and list its events
            <span class="for-mouse"> (keyboard: Shift with the arrow keys)</span>.
          </p>
        ) : (
          <Ran run={run} node={p.ask.node} span={selected} sync={sync} />
        )}
      </div>
    </>
  );
}

function LanesPanel(p: { ask: Ask; left: number }) {
  const { run, node, pixels, sync } = p.ask;
  const load = useWindowed(p.ask, "lanes", (from, to, signal) =>
    api.timeline(run.run, { node: node === "" ? undefined : node, from, to, px: Math.min(pixels, 10000), detail: 0 }, signal),
  );
  return (
    <Loaded load={load} what="the framework's events">
      {(t) => <Drawn sync={sync} timeline={t} run={run} left={p.left} />}
    </Loaded>
  );
}

function Drawn(p: { sync: TimeSync; timeline: Timeline; run: RunInfo; left: number }) {
  const lanes = useMemo(() => partLanes(p.timeline), [p.timeline]);
  if (lanes.length === 0) return <NoFramework run={p.run} what="No framework events in this window" />;
  const rows = (): LaneRow[] => laneRows(lanes, p.sync.window);
  const most = [...rows()].sort((a, b) => b.s - a.s)[0];
  const parts = [...new Set(lanes.map((l) => l.part))];
  return (
    <ChartFrame
      title="Framework metrics over time"
      class="nodes-chart nodes-lanes"
      summary={`${lanes.length} lanes. ${most ? `Most time: ${most.text}, ${value(most.s, "s")}, ${share(most.share)} of the window.` : ""}`}
      table={() => ({ columns: LANE_COLUMNS, rows: rows() })}
      legend={<Legend items={parts.map((part) => ({ key: part.id, color: eventColor(part.id), text: part.title }))} />}
    >
      <LaneChart sync={p.sync} lanes={lanes} left={p.left} label="Parts of the training loop over time" />
    </ChartFrame>
  );
}

/** How to get steps and phases. */
export function NoFramework(p: { run: RunInfo; what: string }) {
  const why = p.run.losses.find((l) => l.what === "steps" || l.kind === "no-hooks")?.why;
  return (
    <Empty title={why === undefined ? p.what : `${p.what}: ${why}`} command="footplate run -- python train.py">
      Steps are detected automatically in {STEPS_OF} when the job is started with footplate run. In other
      programs, mark them with footplate.step() in Python or fp_step_begin() in C.
    </Empty>
  );
}

/** The events of the selected interval. */
function Ran(p: { run: RunInfo; node: string; span: Span; sync: TimeSync }) {
  const tick = useSlowTick(p.run.live);
  const [from, to] = [nsOf(p.span.from), nsOf(p.span.to)];
  const load = useLoad(
    `${p.run.run} ${p.node} ${from} ${to}`,
    (signal) => api.events(p.run.run, { node: p.node === "" ? undefined : p.node, from, to, limit: 200 }, signal),
    tick,
    true,
  );
  const resolution = width(p.span) / 1000;
  return (
    <>
      <div class="nodes-brush-head">
        <h3>
          Events from {timeText(p.span.from, resolution)} to {timeText(p.span.to, resolution)}{" "}
          <span class="unit">{value(width(p.span) / 1000, "s")}</span>
        </h3>
        <Button onClick={() => p.sync.setWindow(p.span)}>Zoom to interval</Button>
        <Button kind="quiet" onClick={() => p.sync.setSelection(null)}>
          Clear
        </Button>
      </div>
      <Loaded load={load} what="the events">
        {(rows) => (
          <DataTable
            caption="Events in the selected interval"
            columns={EVENT_COLUMNS}
            rows={rows}
            rowKey={(r) => `${r.node} ${r.rank} ${r.pid} ${r.thread} ${r.category} ${r.name}`}
            limit={15}
            empty="No events in this interval."
          />
        )}
      </Loaded>
    </>
  );
}
