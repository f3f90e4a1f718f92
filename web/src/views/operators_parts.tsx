// SPDX-License-Identifier: Apache-2.0
// operators_parts.tsx - what the tables of the Operators view have in common: the columns of times, a card
// that filters and ranks its rows by self time, and the cost of recording the windows.
import { api } from "../api";
import { Bar, Card } from "../components/basics";
import { hasWords } from "../components/filter_box";
import { type Column, DataTable, secondsColumn } from "../components/table";
import { count, rankText, share, value } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import type { BreakdownWindow } from "../types";
import { plural, sentenceCase } from "../words";

/** The times of a name. */
interface Timed {
  share: number;
  self_s: number;
  total_s: number;
  calls: number | null;
  mean_s: number | null;
}

/** Share, self, total, calls and mean; `of` explains the share. */
export function timeColumns<T extends Timed>(of: string): Column<T>[] {
  return [
    { id: "share", title: "Share", numeric: true, cell: (r) => <Bar share={r.share} text={share(r.share)} />, sort: (r) => r.share, hint: of },
    { ...secondsColumn<T>("self", "Self", (r) => r.self_s), hint: "excluding calls" },
    { ...secondsColumn<T>("total", "Total", (r) => r.total_s), hint: "including calls" },
    { id: "calls", title: "Calls", numeric: true, cell: (r) => (r.calls === null ? "-" : count(r.calls)), sort: (r) => r.calls },
    secondsColumn("mean", "Mean", (r) => r.mean_s),
  ];
}

export function RankedTable<T extends Timed>(p: {
  title: string;
  /** What a row is called. */
  noun: string;
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
  const found = rows.length === p.all.length ? plural(rows.length, p.noun) : `${count(rows.length)} of ${plural(p.all.length, p.noun)}`;
  return (
    <Card title={p.title} class={p.class ?? ""} hint={`${found}, ${value(self, "s")} self time`}>
      <DataTable
        caption={`${p.title}, ranked by self time`}
        columns={p.columns}
        rows={rows}
        rowKey={p.rowKey}
        start={{ id: "self", down: true }}
        limit={p.limit}
        empty="No matches."
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
        <p key={`${w.node} ${w.rank} ${w.first_step}`} class="quiet window-note">
          {sentenceCase(`${several ? `${rankText(w.rank)}, ` : ""}${steps(w)}${w.note}`)}.
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
