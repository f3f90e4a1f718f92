// SPDX-License-Identifier: Apache-2.0
// operators_parts.tsx - what the tables of the Operators view have in common: the columns of times, a card
// that filters and ranks its rows by self time, and what recording the windows cost.
import { api } from "../api";
import { Bar, Card } from "../components/basics";
import { hasWords } from "../components/filter_box";
import { type Column, DataTable, secondsColumn } from "../components/table";
import { count, rankText, share, value } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import type { BreakdownWindow } from "../types";

/** What the time of a name is told by. */
interface Timed {
  share: number;
  self_s: number;
  total_s: number;
  calls: number | null;
  mean_s: number | null;
}

/** Share, self, total, calls and mean; `of` says what the share is of. */
export function timeColumns<T extends Timed>(of: string): Column<T>[] {
  return [
    { id: "share", title: "Share", numeric: true, cell: (r) => <Bar share={r.share} text={share(r.share)} />, sort: (r) => r.share, hint: of },
    { ...secondsColumn<T>("self", "Self", (r) => r.self_s), hint: "without what it called" },
    { ...secondsColumn<T>("total", "Total", (r) => r.total_s), hint: "with what it called" },
    { id: "calls", title: "Calls", numeric: true, cell: (r) => (r.calls === null ? "-" : count(r.calls)), sort: (r) => r.calls },
    secondsColumn("mean", "Mean", (r) => r.mean_s),
  ];
}

export function RankedTable<T extends Timed>(p: {
  title: string;
  class?: string;
  columns: readonly Column<T>[];
  /** All of the table, before the filter. */
  all: readonly T[];
  filter: string;
  /** What the filter looks for its words in. */
  words: (row: T) => string;
  rowKey: (row: T) => string;
  /** Rows that are shown at first. */
  limit: number;
}) {
  const rows = p.filter === "" ? p.all : p.all.filter((r) => hasWords(p.words(r), p.filter));
  const self = p.all.reduce((sum, r) => sum + r.self_s, 0);
  const found = rows.length === p.all.length ? count(rows.length) : `${count(rows.length)} of ${count(p.all.length)}`;
  return (
    <Card title={p.title} class={p.class ?? ""} hint={`${found}, ${value(self, "s")} of self time`}>
      <DataTable
        caption={`${p.title}, ranked by self time`}
        columns={p.columns}
        rows={rows}
        rowKey={p.rowKey}
        start={{ id: "self", down: true }}
        limit={p.limit}
        empty="Nothing has these words in its name."
      />
    </Card>
  );
}

/** One line for each window whose cost is known: its steps are slower than others. */
export function WindowLines(p: { windows: readonly BreakdownWindow[] }) {
  const known = p.windows.filter((w) => w.note !== null);
  const several = new Set(known.map((w) => w.rank)).size > 1;
  const steps = (w: BreakdownWindow): string =>
    w.first_step === null ? "" : w.steps === 1 ? `step ${w.first_step}: ` : `steps ${w.first_step} to ${w.first_step + w.steps - 1}: `;
  return (
    <>
      {known.map((w) => (
        <p key={`${w.node} ${w.rank} ${w.first_step}`} class="hint window-note">
          {several ? `${rankText(w.rank)}, ` : ""}
          {steps(w)}
          {w.note}.
        </p>
      ))}
    </>
  );
}

export function WindowNotes(p: { run: string; rank: number | null }) {
  const load = useLoad(p.run, (signal) => api.breakdown(p.run, {}, signal), version.value);
  const windows = (load.data?.windows ?? []).filter((w) => p.rank === null || w.rank === p.rank);
  return <WindowLines windows={windows} />;
}
