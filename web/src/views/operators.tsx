// SPDX-License-Identifier: Apache-2.0
// operators.tsx - the Operators view: which operators, kernels or modules the time went to, on the CPU
// and on GPUs, ranked by self time, so that a wrapper is not counted again with what it wraps.
import { useMemo, useState } from "preact/hooks";

import { api } from "../api";
import { Bar, Card, Choice, Field } from "../components/basics";
import { Empty, Loaded } from "../components/empty";
import { FilterBox } from "../components/filter_box";
import { type Column, DataTable } from "../components/table";
import { count, rankText, share, value } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import { params, setParam } from "../state";
import type { Operator } from "../types";
import type { ViewProps } from "../views";
import "./operators.css";

type Device = Operator["device"];
type By = "name" | "module";

const TITLES: Readonly<Record<Device, Readonly<Record<By, string>>>> = {
  cpu: { name: "CPU operators", module: "Modules on the CPU" },
  gpu: { name: "GPU kernels and copies", module: "Modules on GPUs" },
};

const MOST = 2000;

/** Whether an operator has all the words of the filter in its name or category. */
export function matchesOperator(o: Operator, filter: string): boolean {
  const all = `${o.name} ${o.full_name} ${o.category}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

function NameCell(p: { op: Operator; open: boolean; onToggle: () => void }) {
  const { op } = p;
  if (op.full_name === op.name) return <span class="ops-name">{op.name}</span>;
  return (
    <>
      <button type="button" class="bare ops-toggle" aria-expanded={p.open} title="Show the whole name" onClick={p.onToggle}>
        <span aria-hidden="true">{p.open ? "▾" : "▸"}</span>
        <span class="ops-name">{op.name}</span>
      </button>
      {p.open && <code class="ops-full">{op.full_name}</code>}
    </>
  );
}

const time = (id: string, title: string, get: (o: Operator) => number | null, hint?: string): Column<Operator> => ({
  id,
  title,
  numeric: true,
  cell: (o) => value(get(o), "s"),
  sort: get,
  ...(hint === undefined ? {} : { hint }),
});

function columnsFor(device: Device, open: ReadonlySet<string>, toggle: (key: string) => void): Column<Operator>[] {
  const common: Column<Operator>[] = [
    {
      id: "name",
      title: "Name",
      cell: (o) => <NameCell op={o} open={open.has(o.full_name)} onToggle={() => toggle(o.full_name)} />,
      sort: (o) => o.name,
      class: "ops-cell",
    },
    { id: "category", title: "Kind", cell: (o) => o.category, sort: (o) => o.category },
    { id: "share", title: "Share", numeric: true, cell: (o) => <Bar share={o.share} text={share(o.share)} />, sort: (o) => o.share, hint: "of all self time on this kind of device" },
    time("self", "Self", (o) => o.self_s, "without what it called"),
    time("total", "Total", (o) => o.total_s, "with what it called"),
    { id: "calls", title: "Calls", numeric: true, cell: (o) => count(o.calls), sort: (o) => o.calls },
    time("mean", "Mean", (o) => o.mean_s),
  ];
  if (device === "gpu") return common;
  return [
    ...common,
    time("gpu_self", "GPU self", (o) => o.device_self_s, "kernels and copies that it launched itself"),
    time("gpu_total", "GPU total", (o) => o.device_total_s, "and those of what it called"),
  ];
}

function OperatorTable(p: { device: Device; by: By; all: readonly Operator[]; filter: string }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  const columns = useMemo(() => columnsFor(p.device, open, toggle), [p.device, open]);
  const mine = p.all.filter((o) => o.device === p.device);
  const rows = p.filter === "" ? mine : mine.filter((o) => matchesOperator(o, p.filter));
  const title = TITLES[p.device][p.by];
  const self = mine.reduce((sum, o) => sum + o.self_s, 0);
  const found = rows.length === mine.length ? `${count(mine.length)}` : `${count(rows.length)} of ${count(mine.length)}`;
  if (mine.length === 0) {
    const why = p.device === "gpu" ? "No kernel was recorded: the job used no GPU, or the detail window saw none at work." : "No operator was recorded on the CPU.";
    return (
      <Card title={title}>
        <p class="quiet">{why}</p>
      </Card>
    );
  }
  return (
    <Card title={title} hint={`${found}, ${value(self, "s")} of self time`}>
      <DataTable
        caption={`${title}, ranked by self time`}
        columns={columns}
        rows={rows}
        rowKey={(o) => `${o.category} ${o.full_name}`}
        start={{ id: "self", down: true }}
        limit={25}
        empty="Nothing has these words in its name."
      />
    </Card>
  );
}

function NoDetail(p: { live: boolean }) {
  return (
    <Empty title="No operator was recorded in this run" command="footplate run --detail-steps 5:2 -- python train.py">
      Operators and kernels are recorded in detail windows only. This command records two steps from step 5 on
      {p.live ? "; or begin one now with Configure above" : "; of a live run, the Configure button begins one too"}. A trace of PyTorch's profiler
      can be taken in with footplate import. Spans of the hooks, where there are any, are listed below.
    </Empty>
  );
}

const DEVICES = [
  { value: "all", text: "Both" },
  { value: "cpu", text: "CPU" },
  { value: "gpu", text: "GPU" },
] as const;

const BYS = [
  { value: "name", text: "By operator" },
  { value: "module", text: "By module" },
] as const;

function pick<T extends string>(options: readonly { value: T }[], wanted: string | undefined): T {
  return (options.find((o) => o.value === wanted) ?? options[0]!).value;
}

function Filters(p: { ranks: readonly number[]; by: By; device: string; rank: number | null }) {
  return (
    <div class="ops-filters">
      <Choice label="Rows" value={p.by} options={BYS} onChange={(v) => setParam("by", v === "name" ? null : v)} />
      <Choice label="Device" value={p.device} options={DEVICES} onChange={(v) => setParam("device", v === "all" ? null : v)} />
      {p.ranks.length > 1 && (
        <Field label="Rank">
          {(id) => (
            <select id={id} value={p.rank ?? ""} onChange={(e) => setParam("rank", e.currentTarget.value)}>
              <option value="">all</option>
              {p.ranks.map((r) => (
                <option key={r} value={r}>
                  {rankText(r)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <FilterBox label="Filter by name" hint="Filter by name" param="find" />
    </div>
  );
}

export function OperatorsView(p: ViewProps) {
  const { run } = p.run;
  const by = pick(BYS, params.value["by"]);
  const device = pick(DEVICES, params.value["device"]);
  const rankParam = params.value["rank"] ?? "";
  const rank = /^\d+$/.test(rankParam) ? Number(rankParam) : null;
  const filter = (params.value["find"] ?? "").trim();
  const load = useLoad(
    `${run} ${by} ${rank ?? ""}`,
    (signal) => api.ops(run, { by, limit: MOST, rank: rank ?? undefined }, signal),
    version.value,
    true,
  );
  const steps = useLoad(run, (signal) => api.steps(run, { last: 1 }, signal));
  const ranks = [...new Set(steps.data?.ranks.map((r) => r.rank))].filter((r): r is number => r !== null).sort((a, b) => a - b);
  return (
    <div class="stack">
      <Loaded load={load} what="the operators">
        {(all) => (
          <>
            {!p.run.has_detail && <NoDetail live={p.run.live} />}
            {(all.length > 0 || rank !== null) && (
              <>
                <Filters ranks={ranks} by={by} device={device} rank={rank} />
                {device !== "cpu" && <OperatorTable device="gpu" by={by} all={all} filter={filter} />}
                {device !== "gpu" && <OperatorTable device="cpu" by={by} all={all} filter={filter} />}
              </>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}
