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
import { hasGpu } from "../words";

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

function DetailMissing(p: { title: string; run: RunInfo }) {
  return (
    <Empty title={`No ${p.title} were recorded`} command="footplate run --detail-steps 5:2 -- python train.py">
      {p.run.live
        ? "They are recorded in detail windows. Start one with Configure at the top of the page, or at the start of a run with:"
        : "They are recorded in detail windows. Request one when starting a run:"}
    </Empty>
  );
}

function OperatorTable(p: { run: RunInfo; device: Device }) {
  const run = p.run.run;
  const { title } = DEVICES[p.device];
  const load = useLoad(`${run} ${p.device}`, (signal) => api.ops(run, { device: p.device, limit: SHOWN }, signal), version.value);
  return (
    <section class="ops-block" aria-label={title}>
      <h3>{title}</h3>
      <Loaded load={load} what="the operators">
        {(ops) =>
          ops.length === 0 ? (
            <DetailMissing title={title} run={p.run} />
          ) : (
            <DataTable
              caption={`${title} with the most self time`}
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
  // An imported trace does not name the GPUs of its node.
  const gpu = hasGpu(p.run) || (p.run.has_detail && p.run.nodes.some((n) => n.gpus === null));
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
      {p.run.has_detail ? (
        <div class="ops-two">
          <OperatorTable run={p.run} device="cpu" />
          {gpu && <OperatorTable run={p.run} device="gpu" />}
        </div>
      ) : (
        <DetailMissing title="operators" run={p.run} />
      )}
    </Card>
  );
}
