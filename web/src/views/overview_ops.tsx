// SPDX-License-Identifier: Apache-2.0
// overview_ops.tsx - the operators that took most time, on the CPU and on the GPU. Ranked by self
// time, so that a wrapper is not counted again with what it wraps.
import { api } from "../api";
import { Bar, Button, Card } from "../components/basics";
import { Empty, Loaded } from "../components/empty";
import { type Column, DataTable } from "../components/table";
import { count, share, value } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import { showTab } from "../state";
import type { Operator, RunInfo } from "../types";

const SHOWN = 10;

const DEVICES = {
  cpu: { title: "CPU operators", tone: "var(--c1)" },
  gpu: { title: "GPU operators", tone: "var(--c2)" },
} as const;

type Device = keyof typeof DEVICES;

function columnsFor(device: Device): Column<Operator>[] {
  return [
    { id: "name", title: "Name", cell: (o) => <span title={o.full_name}>{o.name}</span>, sort: (o) => o.name, class: "cut" },
    {
      id: "share",
      title: "Share of time",
      cell: (o) => <Bar share={o.share} text={share(o.share)} tone={DEVICES[device].tone} />,
      sort: (o) => o.share,
      numeric: true,
    },
    { id: "self", title: "Self time", cell: (o) => value(o.self_s, "s"), sort: (o) => o.self_s, numeric: true },
    { id: "total", title: "Total time", cell: (o) => value(o.total_s, "s"), sort: (o) => o.total_s, numeric: true },
    { id: "calls", title: "Calls", cell: (o) => count(o.calls), sort: (o) => o.calls, numeric: true },
    { id: "mean", title: "Mean", cell: (o) => value(o.mean_s, "s"), sort: (o) => o.mean_s, numeric: true },
  ];
}

const COLUMNS = { cpu: columnsFor("cpu"), gpu: columnsFor("gpu") } as const;

function DetailMissing(p: { device: Device; run: RunInfo }) {
  const gpu = p.run.has_detail || p.run.nodes.some((n) => (n.gpus ?? 0) > 0) || p.run.metrics.some((m) => m.metric.startsWith("gpu."));
  const noGpu = p.device === "gpu" && !gpu;
  if (noGpu) {
    const why = p.run.nodes.find((n) => n.gpu_absent !== null)?.gpu_absent;
    return <Empty title="No GPU on this run's nodes">{why ?? "None was seen while it was recorded."}</Empty>;
  }
  return (
    <Empty title={`No ${DEVICES[p.device].title} recorded`} command="footplate run --detail-steps 5:2 -- python train.py">
      {p.run.live
        ? "Configure, at the top of the page, records those of the next steps; or from the start with:"
        : "They are recorded in detail windows. Ask for one when the run is started:"}
    </Empty>
  );
}

function OperatorTable(p: { run: RunInfo; device: Device }) {
  const run = p.run.run;
  const load = useLoad(`${run} ${p.device}`, (signal) => api.ops(run, { device: p.device, limit: SHOWN }, signal), version.value);
  return (
    <section class="ops-block" aria-label={DEVICES[p.device].title}>
      <h3>{DEVICES[p.device].title}</h3>
      <Loaded load={load} what="the operators">
        {(ops) =>
          ops.length === 0 ? (
            <DetailMissing device={p.device} run={p.run} />
          ) : (
            <DataTable
              caption={`${DEVICES[p.device].title}, those with most self time`}
              columns={COLUMNS[p.device]}
              rows={ops.slice(0, SHOWN)}
              rowKey={(o) => o.full_name}
              start={{ id: "self", down: true }}
            />
          )
        }
      </Loaded>
    </section>
  );
}

export function IntensiveOperations(p: { run: RunInfo }) {
  return (
    <Card
      title="Resource intensive operations"
      hint="ranked by self time"
      actions={
        <Button kind="quiet" onClick={() => showTab("operators")}>
          All operators
        </Button>
      }
    >
      <div class="ops-two">
        <OperatorTable run={p.run} device="cpu" />
        <OperatorTable run={p.run} device="gpu" />
      </div>
    </Card>
  );
}
