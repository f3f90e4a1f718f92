// SPDX-License-Identifier: Apache-2.0
// steps_breakdown.tsx - what steps and devices spent their time on, of runs with detail.
import { api } from "../api";
import { StackedBars } from "../charts/bars";
import { Bar, Card, Legend } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Empty, Loaded } from "../components/empty";
import { type Column, DataTable } from "../components/table";
import { useWidth } from "../components/width";
import { count, rankText, share, value } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import { eventColor } from "../palette";
import { node } from "../state";
import type { Breakdown, BreakdownDevice, BreakdownGroup, BreakdownStep, RunInfo } from "../types";
import { WindowLines } from "./operators_parts";
import { asStep, criticalOf, hasDetail, ROLES, roleUs } from "./steps_model";

const MOST_BARS = 60;
const us = (v: number): string => value(v / 1e6, "s");

const STEP_COLUMNS: readonly Column<BreakdownStep>[] = [
  { id: "rank", title: "Rank", cell: (s) => rankText(s.rank), sort: (s) => s.rank },
  { id: "step", title: "Step", numeric: true, cell: (s) => s.step, sort: (s) => s.step },
  { id: "total", title: "Time", numeric: true, cell: (s) => us(s.total_us), sort: (s) => s.total_us },
  ...ROLES.map((r) => ({
    id: r.id,
    title: r.title,
    numeric: true,
    cell: (s: BreakdownStep) => share(roleUs(s, r.id) / Math.max(1, s.total_us)),
    sort: (s: BreakdownStep) => roleUs(s, r.id) / Math.max(1, s.total_us),
  })),
];

const part = (id: string, title: string, get: (d: BreakdownDevice) => number, hint?: string): Column<BreakdownDevice> => ({
  id,
  title,
  numeric: true,
  cell: (d) => share(d.span_us > 0 ? get(d) / d.span_us : null),
  sort: get,
  ...(hint === undefined ? {} : { hint }),
});

const DEVICE_COLUMNS: readonly Column<BreakdownDevice>[] = [
  { id: "rank", title: "Rank", cell: (d) => rankText(d.rank), sort: (d) => d.rank },
  { id: "device", title: "GPU", cell: (d) => d.device, sort: (d) => String(d.device) },
  { id: "span", title: "Span", numeric: true, cell: (d) => us(d.span_us), sort: (d) => d.span_us },
  part("computation", "Computes", (d) => d.computation_us),
  part("comm", "Communicates", (d) => d.comm_us),
  part("exposed", "Communication not hidden", (d) => d.exposed_comm_us, "no computation ran at the same time"),
  part("memcpy", "Copies not hidden", (d) => d.exposed_memcpy_us),
  part("idle", "Idle", (d) => d.idle_us),
];

const GROUP_COLUMNS: readonly Column<BreakdownGroup>[] = [
  { id: "rank", title: "Rank", cell: (g) => rankText(g.rank), sort: (g) => g.rank },
  { id: "group", title: "Kernels", cell: (g) => g.group, sort: (g) => g.group },
  { id: "share", title: "Share", numeric: true, cell: (g) => <Bar share={g.share} text={share(g.share)} />, sort: (g) => g.share },
  { id: "time", title: "Time", numeric: true, cell: (g) => us(g.time_us), sort: (g) => g.time_us },
  { id: "ops", title: "Count", numeric: true, cell: (g) => count(g.ops), sort: (g) => g.ops },
];

function Sentence(p: { steps: readonly BreakdownStep[] }) {
  const critical = criticalOf(p.steps);
  if (critical === null) return null;
  const every = critical.steps === p.steps.length ? "each" : `${count(critical.steps)} of ${count(p.steps.length)}`;
  return (
    <p class="steps-sentence">
      {share(critical.share)} of the recorded steps' time {critical.role.says}; no other part is larger in {every} of them.
    </p>
  );
}

function Bars(p: { steps: readonly BreakdownStep[] }) {
  const [box, wide] = useWidth();
  const shown = p.steps.slice(-MOST_BARS);
  const critical = criticalOf(shown);
  const parts = ROLES.filter((r) => shown.some((s) => roleUs(s, r.id) > 0));
  const summary =
    critical === null ? "No steps." : `${count(shown.length)} steps; ${share(critical.share)} of their time ${critical.role.says}.`;
  return (
    <ChartFrame
      title="What each step was spent on"
      summary={summary}
      table={() => ({ columns: STEP_COLUMNS, rows: p.steps })}
      legend={<Legend items={parts.map((r) => ({ key: r.id, color: eventColor(r.id), text: r.title }))} />}
    >
      <div ref={box}>{wide > 0 && <StackedBars steps={shown.map(asStep)} parts={parts.map((r) => r.id)} wide={wide} />}</div>
    </ChartFrame>
  );
}

function NoDetail() {
  return (
    <Empty title="No step was recorded in detail" command="footplate run --detail-steps 5:2 -- python train.py">
      A detail window records every operator and kernel of a few steps; this begins one at step 5 for two steps. While a run is live, Configure
      begins one too.
    </Empty>
  );
}

function Shown(p: { data: Breakdown }) {
  const here = (x: { node: string }): boolean => node.value === "" || x.node === node.value;
  const steps = p.data.steps.filter(here);
  const devices = p.data.devices.filter(here);
  const groups = p.data.groups.filter(here);
  if (!hasDetail(steps) && devices.length === 0) return <NoDetail />;
  return (
    <>
      <Sentence steps={steps} />
      <WindowLines windows={p.data.windows.filter(here)} />
      {p.data.earlier_steps > 0 && <p class="hint">These are the last steps; {count(p.data.earlier_steps)} earlier ones are left out.</p>}
      {steps.length > 0 && <Bars steps={steps} />}
      {devices.length > 0 && (
        <>
          <h3 class="steps-h">Devices</h3>
          <DataTable
            caption="What each device spent its time on, of the span that was recorded in detail"
            columns={DEVICE_COLUMNS}
            rows={devices}
            rowKey={(d) => `${d.node} ${d.rank} ${d.device}`}
          />
        </>
      )}
      {groups.length > 0 && (
        <>
          <h3 class="steps-h">Kernels</h3>
          <DataTable
            caption="What kinds of kernels the devices ran"
            columns={GROUP_COLUMNS}
            rows={groups}
            rowKey={(g) => `${g.node} ${g.rank} ${g.group}`}
          />
        </>
      )}
    </>
  );
}

export function BreakdownCard(p: { run: RunInfo }) {
  const load = useLoad(p.run.run, (signal) => api.breakdown(p.run.run, {}, signal), version.value);
  return (
    <Card title="Breakdown" hint="of the steps that were recorded in detail" class="steps-breakdown">
      <Loaded load={load} what="the breakdown">
        {(data) => <Shown data={data} />}
      </Loaded>
    </Card>
  );
}
