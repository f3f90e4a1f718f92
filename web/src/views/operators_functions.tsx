// SPDX-License-Identifier: Apache-2.0
// operators_functions.tsx - Python functions in the Operators view: a table for the whole profiled
// windows and one for each phase of their steps, apart for each timer.
import { Empty } from "../components/empty";
import type { Column } from "../components/table";
import type { PythonFunction } from "../types";
import { partTitle } from "../words";
import { RankedTable, timeColumns } from "./operators_parts";

export interface FunctionTable {
  key: string;
  title: string;
  rows: PythonFunction[];
}

const TIMERS: Readonly<Record<string, string>> = { total_time: "", cpu_time: "CPU time", off_cpu_time: "off-CPU time" };

/** No two timers have the same words. Samples name the default timer, and count no calls. */
function timerTitle(timer: string | null, counted: boolean): string {
  if (timer === null) return "unknown timer";
  if (timer === "default") return counted ? "default timer" : "sampled";
  return TIMERS[timer] ?? timer;
}

function titleOf(rows: readonly PythonFunction[]): string {
  const { phase, timer } = rows[0]!;
  const counted = rows.some((f) => f.calls !== null);
  const parts = [phase === null ? "whole window" : partTitle(phase), timerTitle(timer, counted)];
  return `Python functions: ${parts.filter((part) => part !== "").join(", ")}`;
}

/** A table for each phase and timer, in the order of the server: whole windows first, then as in a step. */
export function functionTables(all: readonly PythonFunction[]): FunctionTable[] {
  const groups = new Map<string, PythonFunction[]>();
  for (const f of all) {
    const key = JSON.stringify([f.phase, f.timer]);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [f]);
    else known.push(f);
  }
  return [...groups].map(([key, rows]) => ({ key, title: titleOf(rows), rows }));
}

const HOTTEST = 10; // of each table at first: there may be twenty tables

const COLUMNS: readonly Column<PythonFunction>[] = [
  { id: "name", title: "Function", cell: (f) => <span class="ops-name">{f.name}</span>, sort: (f) => f.name, class: "ops-cell" },
  ...timeColumns<PythonFunction>("share of the self time in this table"),
];

function NoFunctions(p: { rank: string | null }) {
  const whose = p.rank === null ? "in this run" : `on ${p.rank}`;
  return (
    <Empty title={`No Python functions were profiled ${whose}`} command="footplate run --python-profile-steps 5:3 -- python train.py">
      Python functions are recorded in profiled steps. This command profiles steps 5 to 7. It works for PyTorch and Keras, and for programs that mark
      their steps with footplate.step().
    </Empty>
  );
}

/** `rank`: the one that was requested, in words. */
export function FunctionTables(p: { all: readonly PythonFunction[]; filter: string; rank: string | null }) {
  if (p.all.length === 0) return <NoFunctions rank={p.rank} />;
  return (
    <>
      {functionTables(p.all).map((t) => (
        <RankedTable
          key={t.key}
          title={t.title}
          noun="function"
          columns={COLUMNS}
          all={t.rows}
          filter={p.filter}
          words={(f) => f.full_name}
          rowKey={(f) => f.full_name}
          limit={HOTTEST}
        />
      ))}
    </>
  );
}
