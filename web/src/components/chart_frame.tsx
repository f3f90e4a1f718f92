// SPDX-License-Identifier: Apache-2.0
// chart_frame.tsx - the frame every chart sits in: title, unit, a summary in words for readers who do not see it, and
// the same data as a table.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

import { Button } from "./basics";
import { type Column, DataTable } from "./table";

/** The chart's data for the table view; made only when it is requested. */
export interface ChartTable<T> {
  columns: readonly Column<T>[];
  rows: readonly T[];
}

export function ChartFrame<T>(p: {
  title: string;
  unit?: string;
  /** One or two sentences with the numbers that matter: what a sighted user would take from the picture. */
  summary: string;
  table: () => ChartTable<T>;
  /** Buttons and choices beside the title. */
  actions?: ComponentChildren;
  /** Below the chart, shown with the table too. */
  legend?: ComponentChildren;
  level?: 3 | 4;
  class?: string;
  children?: ComponentChildren;
}) {
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  const Heading = p.level === 4 ? "h4" : "h3";
  return (
    <figure class={`chart ${p.class ?? ""}`} aria-labelledby={`${id}-t`} aria-describedby={`${id}-s`}>
      <div class="chart-head">
        <Heading id={`${id}-t`}>
          {p.title}
          {p.unit !== undefined && p.unit !== "" && <span class="unit"> {p.unit}</span>}
        </Heading>
        <div class="chart-actions">
          {p.actions}
          <Button kind="quiet" onClick={() => setAsTable(!asTable)} label={`Show as ${asTable ? "chart" : "table"}: ${p.title}`}>
            As {asTable ? "chart" : "table"}
          </Button>
        </div>
      </div>
      <p id={`${id}-s`} class="sr-only">
        {p.summary}
      </p>
      {asTable ? <FrameTable title={p.title} table={p.table()} /> : p.children}
      {p.legend}
    </figure>
  );
}

function FrameTable<T>(p: { title: string; table: ChartTable<T> }) {
  return (
    <DataTable
      caption={p.title}
      columns={p.table.columns}
      rows={p.table.rows}
      rowKey={(_, i) => String(i)}
      limit={100}
    />
  );
}
