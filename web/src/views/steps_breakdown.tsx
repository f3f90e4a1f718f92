// SPDX-License-Identifier: Apache-2.0
// steps_breakdown.tsx - breakdown of the time of steps and devices, for runs with detail.
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
import { plural } from "../words";
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
  part("computation", "Computation", (d) => d.computation_us),
  part("comm", "Communication", (d) => d.comm_us),
  part("exposed", "Exposed communication", (d) => d.exposed_comm_us, "without computation at the same time"),
  part("memcpy", "Exposed copies", (d) => d.exposed_memcpy_us, "without computation at the same time"),
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
  const every = critical.steps === p.steps.length ? "in all steps" : `in ${count(critical.steps)} of ${plural(p.steps.length, "step")}`;
  return (
    <p class="steps-sentence">
      Largest part: {critical.role.title}, {share(critical.share)} of step time (largest {every}).
    </p>
  );
}

function Bars(p: { steps: readonly BreakdownStep[] }) {
  const [box, wide] = useWidth();
  const shown = p.steps.slice(-MOST_BARS);
  const critical = criticalOf(shown);
  const parts = ROLES.filter((r) => shown.some((s) => roleUs(s, r.id) > 0));
  const summary =
    critical === null ? "No steps." : `${plural(shown.length, "step")}; largest part ${critical.role.title}, ${share(critical.share)} of step time.`;
  return (
    <ChartFrame
      title="Breakdown by step"
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
    <Empty title="No steps were recorded in detail" command="footplate run --detail-steps 5:2 -- python train.py">
      A detail window records all operators and kernels of a few steps. This command records steps 5 and 6. For a live run, use Configure.
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
      {p.data.earlier_steps > 0 && <p class="hint">Last steps only; {plural(p.data.earlier_steps, "earlier step")} not shown.</p>}
      {steps.length > 0 && <Bars steps={steps} />}
      {devices.length > 0 && (
        <>
          <h3 class="steps-h">Devices</h3>
          <DataTable
            caption="Time of each device in the detail window"
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
            caption="Kernels by kind"
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
    <Card title="Breakdown" hint="steps recorded in detail" class="steps-breakdown">
      <Loaded load={load} what="the breakdown">
        {(data) => <Shown data={data} />}
      </Loaded>
    </Card>
  );
}
