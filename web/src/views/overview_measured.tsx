// SPDX-License-Identifier: Apache-2.0
// overview_measured.tsx - how the run was measured: how often, at what cost, and what is missing.
import { Card } from "../components/basics";
import { type Column, DataTable } from "../components/table";
import { bytes, count, fixed, value } from "../format";
import type { Loss, RunInfo } from "../types";
import { lossTitle } from "../words";

/** "0.39 s CPU time (1.23 % of one core), 128 KiB written" */
export function ownCost(run: RunInfo): string {
  if (run.self === null || run.self.cpu_s === null) return "available when the run ends";
  const { cpu_s, bytes_written } = run.self;
  const part = (run.duration_s ?? 0) > 0 ? ` (${fixed((100 * cpu_s) / (run.duration_s ?? 1), 2)} % of one core)` : "";
  return `${fixed(cpu_s, 2)} s CPU time${part}${bytes_written === null ? "" : `, ${bytes(bytes_written)} written`}`;
}

function facts(run: RunInfo): [string, string][] {
  const every = run.interval_ms === null ? "-" : value(run.interval_ms / 1000, "s");
  const rows: [string, string][] = [
    ["Sampling interval", every],
    ["Footplate overhead", ownCost(run)],
  ];
  if (run.self === null) return rows;
  rows.splice(1, 0, ["Readings", count(run.self.samples)], ["Events lost", count(run.self.events_dropped)]);
  return rows;
}

const COLUMNS: readonly Column<Loss>[] = [
  { id: "what", title: "Missing", cell: (l) => lossTitle(l.what), sort: (l) => lossTitle(l.what) },
  { id: "node", title: "Node", cell: (l) => l.node ?? "-", sort: (l) => l.node },
  { id: "why", title: "Reason", cell: (l) => l.why, sort: (l) => l.why, class: "wrap" },
  { id: "times", title: "Count", numeric: true, cell: (l) => count(l.count), sort: (l) => l.count },
];

export function HowMeasured(p: { run: RunInfo }) {
  return (
    <Card title="Measurement">
      <dl class="facts measured">
        {facts(p.run).map(([term, text]) => (
          <div key={term} class="fact">
            <dt>{term}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      {p.run.losses.length > 0 && (
        <>
          <h3>Not measured or lost</h3>
          <DataTable caption="Not measured or lost" columns={p.run.losses.some((l) => l.count > 1) ? COLUMNS : COLUMNS.filter((c) => c.id !== "times")} rows={p.run.losses} rowKey={(_, i) => String(i)} limit={8} />
        </>
      )}
    </Card>
  );
}
