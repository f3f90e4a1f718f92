// SPDX-License-Identifier: Apache-2.0
// table.tsx - DataTable: a table that sorts by any column. Columns are records; a cell is drawn by
// `cell`, ordered by `sort`. Long tables show `limit` rows and a button for the rest.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

import { count, value } from "../format";
import { Button } from "./basics";

export interface Column<T> {
  id: string;
  title: string;
  /** Numbers are aligned to the right. */
  numeric?: boolean;
  cell: (row: T) => ComponentChildren;
  /** Without it the column cannot be sorted by. Null goes last either way. */
  sort?: (row: T) => number | string | null;
  /** Starts descending on the first click (the usual for numbers). */
  hint?: string;
  class?: string;
}

/** A column of times. */
export function secondsColumn<T>(id: string, title: string, of: (row: T) => number | null): Column<T> {
  return { id, title, numeric: true, cell: (row) => value(of(row), "s"), sort: of };
}

export interface SortBy {
  id: string;
  down: boolean;
}

export function sortRows<T>(rows: readonly T[], columns: readonly Column<T>[], by: SortBy | null): T[] {
  const get = columns.find((c) => c.id === by?.id)?.sort;
  if (by === null || get === undefined) return [...rows];
  const sign = by.down ? -1 : 1;
  return rows
    .map((row, i) => ({ row, i, k: get(row) }))
    .sort((x, y) => {
      if (x.k === null || y.k === null) return x.k === y.k ? x.i - y.i : x.k === null ? 1 : -1;
      if (x.k === y.k) return x.i - y.i;
      const less = typeof x.k === "string" && typeof y.k === "string" ? x.k.localeCompare(y.k) < 0 : x.k < y.k;
      return less ? -sign : sign;
    })
    .map((e) => e.row);
}

function nextSort<T>(now: SortBy | null, c: Column<T>): SortBy {
  if (now?.id === c.id) return { id: c.id, down: !now.down };
  return { id: c.id, down: c.numeric === true };
}

function Head<T>(p: { columns: readonly Column<T>[]; by: SortBy | null; onSort: (by: SortBy) => void }) {
  return (
    <thead>
      <tr>
        {p.columns.map((c) => {
          const on = p.by?.id === c.id;
          const direction = on ? (p.by?.down === true ? "descending" : "ascending") : "none";
          return (
            <th
              key={c.id}
              scope="col"
              class={c.numeric === true ? "num" : undefined}
              aria-sort={c.sort === undefined ? undefined : direction}
              title={c.hint}
            >
              {c.sort === undefined ? (
                c.title
              ) : (
                <button type="button" class="bare sort" onClick={() => p.onSort(nextSort(p.by, c))}>
                  {c.title}
                  <span class="arrow" aria-hidden="true">
                    {on ? (p.by?.down === true ? "↓" : "↑") : "↕"}
                  </span>
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

export function DataTable<T>(p: {
  /** The contents of the table; for screen readers. */
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T, i: number) => string;
  start?: SortBy;
  limit?: number;
  rowClass?: (row: T) => string;
  onRow?: (row: T) => void;
  empty?: string;
}) {
  const [by, setBy] = useState<SortBy | null>(p.start ?? null);
  const [all, setAll] = useState(false);
  const sorted = useMemo(() => sortRows(p.rows, p.columns, by), [p.rows, p.columns, by]);
  const limit = p.limit ?? 200;
  const shown = all ? sorted : sorted.slice(0, limit);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={p.caption}>
      <table>
        <caption class="sr-only">{p.caption}</caption>
        <Head columns={p.columns} by={by} onSort={setBy} />
        <tbody>
          {shown.map((row, i) => (
            <tr
              key={p.rowKey(row, i)}
              class={`${p.rowClass?.(row) ?? ""}${p.onRow === undefined ? "" : " clickable"}`}
              onClick={p.onRow === undefined ? undefined : () => p.onRow?.(row)}
            >
              {p.columns.map((c) => (
                <td key={c.id} class={`${c.numeric === true ? "num " : ""}${c.class ?? ""}`}>
                  {c.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {sorted.length === 0 && <p class="quiet table-empty">{p.empty ?? "No entries."}</p>}
      {sorted.length > shown.length && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          Show all {count(sorted.length)}
        </Button>
      )}
    </div>
  );
}
