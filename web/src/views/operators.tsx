// SPDX-License-Identifier: Apache-2.0
// operators.tsx - the Operators view: the time of operators, kernels, groups of kernels or modules, on the
// CPU and on GPUs, ranked by self time, so that a wrapper is not counted again with what it wraps; or of Python
// functions (operators_functions.tsx).
import { useMemo, useState } from "preact/hooks";

import { api } from "../api";
import { Card, Choice, Field } from "../components/basics";
import { Empty, Loaded } from "../components/empty";
import { FilterBox } from "../components/filter_box";
import { type Column, secondsColumn } from "../components/table";
import { rankText } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import { params, setParam } from "../state";
import type { Operator, PythonFunction } from "../types";
import type { ViewProps } from "../views";
import { categoryTitle, hasGpu } from "../words";
import { FlameCard } from "./flame";
import { FunctionTables } from "./operators_functions";
import { RankedTable, timeColumns, WindowNotes } from "./operators_parts";
import "./operators.css";

type Device = Operator["device"];
type By = "name" | "module" | "group";
type Answer = { by: By; rows: readonly Operator[] } | { by: "function"; rows: readonly PythonFunction[] };

const TITLES: Readonly<Record<Device, Readonly<Record<By, string>>>> = {
  cpu: { name: "CPU operators", module: "Modules on the CPU", group: "" },
  gpu: { name: "GPU kernels and copies", module: "Modules on GPUs", group: "Groups of kernels" },
};

const MOST = 2000;

function NameCell(p: { op: Operator; open: boolean; onToggle: () => void }) {
  const { op } = p;
  if (op.full_name === op.name) return <span class="ops-name">{op.name}</span>;
  return (
    <>
      <button type="button" class="bare ops-toggle" aria-expanded={p.open} title="Show the full name" onClick={p.onToggle}>
        <span aria-hidden="true">{p.open ? "▾" : "▸"}</span>
        <span class="ops-name">{op.name}</span>
      </button>
      {p.open && <code class="ops-full">{op.full_name}</code>}
    </>
  );
}

const kindOf = (o: Operator): string => o.group ?? categoryTitle(o.category);

function columnsFor(device: Device, onGpu: boolean, open: ReadonlySet<string>, toggle: (key: string) => void): Column<Operator>[] {
  const common: Column<Operator>[] = [
    {
      id: "name",
      title: "Name",
      cell: (o) => <NameCell op={o} open={open.has(o.full_name)} onToggle={() => toggle(o.full_name)} />,
      sort: (o) => o.name,
      class: "ops-cell",
    },
    { id: "category", title: "Kind", cell: kindOf, sort: kindOf, hint: "kernels are classified by name" },
    ...timeColumns<Operator>("share of all self time on this kind of device"),
  ];
  if (device === "gpu" || !onGpu) return common;
  return [
    ...common,
    { ...secondsColumn<Operator>("gpu_self", "GPU self", (o) => o.device_self_s ?? null), hint: "kernels and copies launched by the operator itself" },
    { ...secondsColumn<Operator>("gpu_total", "GPU total", (o) => o.device_total_s ?? null), hint: "including operators that it called" },
  ];
}

function OperatorTable(p: { device: Device; by: By; all: readonly Operator[]; filter: string }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  const mine = p.all.filter((o) => o.device === p.device);
  const onGpu = mine.some((o) => (o.device_total_s ?? 0) > 0);
  const columns = useMemo(() => columnsFor(p.device, onGpu, open, toggle), [p.device, onGpu, open]);
  const title = TITLES[p.device][p.by];
  if (mine.length === 0) {
    const why = p.device === "gpu" ? "No kernels were recorded in the detail window." : "No CPU operators were recorded.";
    return (
      <Card title={title}>
        <p class="quiet">{why}</p>
      </Card>
    );
  }
  return (
    <RankedTable
      title={title}
      noun={p.by === "module" ? "module" : p.by === "group" ? "group" : p.device === "gpu" ? "kernel" : "operator"}
      class="ops-kinds"
      columns={columns}
      all={mine}
      filter={p.filter}
      words={(o) => `${o.name} ${o.full_name} ${o.category} ${o.group ?? ""}`}
      rowKey={(o) => `${o.category} ${o.full_name}`}
      limit={25}
    />
  );
}

function NoDetail(p: { live: boolean }) {
  return (
    <Empty title="No operators were recorded in this run" command="footplate run --detail-steps 5:2 -- python train.py">
      Operators and kernels are recorded in detail windows. {p.live ? "Start one now with Configure above, or at" : "Request one at"} the start of a run: this
      command records steps 5 and 6. Traces of the PyTorch profiler can be imported with footplate import.
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
  { value: "group", text: "By group" },
  { value: "module", text: "By module" },
  { value: "function", text: "By function" },
] as const;

function pick<T extends string>(options: readonly { value: T }[], wanted: string | undefined): T {
  return (options.find((o) => o.value === wanted) ?? options[0]!).value;
}

interface Choices {
  by: Answer["by"];
  device: (typeof DEVICES)[number]["value"];
  rank: number | null;
  filter: string;
}

function choices(): Choices {
  const rank = params.value["rank"] ?? "";
  return {
    by: pick(BYS, params.value["by"]),
    device: pick(DEVICES, params.value["device"]),
    rank: /^\d+$/.test(rank) ? Number(rank) : null,
    filter: (params.value["find"] ?? "").trim(),
  };
}

function RankField(p: { ranks: readonly number[]; rank: number | null }) {
  return (
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
  );
}

/** What the rows are can always be chosen; the rest where there is something to choose from. */
function Filters(p: { chosen: Choices; ranks: readonly number[]; some: boolean }) {
  const { by, device, rank } = p.chosen;
  return (
    <div class="ops-filters">
      <Choice label="Rows" value={by} options={BYS} onChange={(v) => setParam("by", v === "name" ? null : v)} />
      {p.some && by !== "function" && (
        <Choice label="Device" value={device} options={DEVICES} onChange={(v) => setParam("device", v === "all" ? null : v)} />
      )}
      {(p.some || rank !== null) && p.ranks.length > 1 && <RankField ranks={p.ranks} rank={rank} />}
      {p.some && <FilterBox label="Filter by name" hint="Filter by name" param="find" />}
    </div>
  );
}

async function read(run: string, { by, rank }: Choices, signal: AbortSignal): Promise<Answer> {
  const asked = { limit: MOST, rank: rank ?? undefined };
  if (by === "function") return { by, rows: await api.functions(run, asked, signal) };
  return { by, rows: await api.ops(run, { ...asked, by }, signal) };
}

function OperatorTables(p: { by: By; all: readonly Operator[]; chosen: Choices; run: ViewProps["run"] }) {
  const { device, rank, filter } = p.chosen;
  const some = p.all.length > 0 || rank !== null;
  const gpu = device === "gpu" || hasGpu(p.run) || p.all.some((o) => o.device === "gpu");
  return (
    <>
      {p.run.has_detail ? <WindowNotes run={p.run.run} rank={rank} /> : <NoDetail live={p.run.live} />}
      {some && device !== "cpu" && gpu && <OperatorTable device="gpu" by={p.by} all={p.all} filter={filter} />}
      {some && device !== "gpu" && p.by !== "group" && <OperatorTable device="cpu" by={p.by} all={p.all} filter={filter} />}
    </>
  );
}

export function OperatorsView(p: ViewProps) {
  const { run } = p.run;
  const chosen = choices();
  const { by, rank, filter } = chosen;
  const load = useLoad(`${run} ${by} ${rank ?? ""}`, (signal) => read(run, chosen, signal), version.value, true);
  const steps = useLoad(run, (signal) => api.steps(run, { last: 1 }, signal));
  const ranks = [...new Set(steps.data?.ranks.map((r) => r.rank))].filter((r): r is number => r !== null).sort((a, b) => a - b);
  return (
    <div class="stack">
      <Loaded load={load} what="the operators">
        {(answer) => (
          <>
            <Filters chosen={chosen} ranks={ranks} some={answer.rows.length > 0} />
            {answer.by === "function" ? (
              <>
                <FlameCard run={run} rank={rank} filter={filter} counted={answer.rows.length > 0} />
                <FunctionTables all={answer.rows} filter={filter} rank={rank === null ? null : rankText(rank)} />
              </>
            ) : (
              <OperatorTables by={answer.by} all={answer.rows} chosen={chosen} run={p.run} />
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}
