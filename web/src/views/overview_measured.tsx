// SPDX-License-Identifier: Apache-2.0
// overview_measured.tsx - how the run was measured: how often, at what cost, and what is missing.
import { Card } from "../components/basics";
import { type Column, DataTable } from "../components/table";
import { age, bytes, count, fixed, value } from "../format";
import type { Loss, RunInfo, Shipping } from "../types";
import { lossTitle } from "../words";

/** "0.39 s CPU time (1.23 % of one core), 128 KiB written" */
export function ownCost(run: RunInfo): string {
  if (run.self === null || run.self.cpu_s === null) return "available when the run ends";
  const { cpu_s, bytes_written } = run.self;
  const part = (run.duration_s ?? 0) > 0 ? ` (${fixed((100 * cpu_s) / (run.duration_s ?? 1), 2)} % of one core)` : "";
  return `${fixed(cpu_s, 2)} s CPU time${part}${bytes_written === null ? "" : `, ${bytes(bytes_written)} written`}`;
}

/** "1.20 MiB to https://hub:7171, last 42 s ago: no answer in time", as `footplate show` prints it. */
export function sentText(s: Shipping): string {
  if (s.state === "done") return `all, to ${s.to} (${bytes(s.bytes)})`;
  const last = s.lag_s === null ? "never" : age(s.lag_s);
  return `${bytes(s.bytes)} to ${s.to}, last ${last}${s.error === null ? "" : `: ${s.error}`}`;
}

function facts(run: RunInfo): [string, string][] {
  const every = run.interval_ms === null ? "-" : value(run.interval_ms / 1000, "s");
  const rows: [string, string][] = [
    ["Sampling interval", every],
    ["Footplate overhead", ownCost(run)],
  ];
  if (run.shipping !== null) rows.push(["Sent", sentText(run.shipping)]);
  if (run.self === null) return rows;
  rows.splice(1, 0, ["Readings", count(run.self.samples)], ["Events lost", count(run.self.events_dropped)]);
  return rows;
}

/** One line for what is missing for the same reason; that of the whole run is left out where a node has it too. */
export function lossLines(losses: readonly Loss[]): Line[] {
  const lines = new Map<string, Line>();
  for (const l of losses) {
    if (l.node === null && losses.some((x) => x.node !== null && x.why === l.why)) continue;
    const key = `${l.node ?? ""} ${l.why}`;
    const line = lines.get(key) ?? { what: [], node: l.node, why: l.why, count: 0 };
    line.what.push(lossTitle(l.what, l.title));
    line.count = Math.max(line.count, l.count);
    lines.set(key, line);
  }
  return [...lines.values()];
}

interface Line {
  what: string[];
  node: string | null;
  why: string;
  count: number;
}

const COLUMNS: readonly Column<Line>[] = [
  { id: "what", title: "Missing", cell: (l) => l.what.join(", "), sort: (l) => l.what.join(", "), class: "wrap" },
  { id: "node", title: "Node", cell: (l) => l.node ?? "all", sort: (l) => l.node },
  { id: "why", title: "Reason", cell: (l) => l.why, sort: (l) => l.why, class: "wrap" },
  { id: "times", title: "Count", numeric: true, cell: (l) => count(l.count), sort: (l) => l.count },
];

export function HowMeasured(p: { run: RunInfo }) {
  const lines = lossLines(p.run.losses);
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
      {lines.length > 0 && (
        <>
          <h3>Not measured or lost</h3>
          <DataTable caption="Not measured or lost" columns={lines.some((l) => l.count > 1) ? COLUMNS : COLUMNS.filter((c) => c.id !== "times")} rows={lines} rowKey={(_, i) => String(i)} limit={8} />
        </>
      )}
    </Card>
  );
}
