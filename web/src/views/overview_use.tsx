// SPDX-License-Identifier: Apache-2.0
// overview_use.tsx - resource utilization: a block per node with its summary and the quantiles of every
// resource that was measured.
import { useState } from "preact/hooks";

import { api } from "../api";
import { Button, Card } from "../components/basics";
import { Loaded } from "../components/empty";
import { type Column, DataTable } from "../components/table";
import { count, value } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import type { RunInfo, Stat, Verdict } from "../types";
import { RESOURCES } from "../words";

const FIRST_NODES = 8;

function title(s: Stat): string {
  return RESOURCES.find((r) => r.id === s.metric)?.title ?? s.metric;
}

function order(s: Stat): number {
  return RESOURCES.findIndex((r) => r.id === s.metric);
}

const quantile = (id: "min" | "max" | "p99" | "p95" | "p90" | "p50"): Column<Stat> => ({
  id,
  title: id,
  numeric: true,
  cell: (s) => value(s[id], s.unit),
  sort: (s) => s[id],
});

const columns: readonly Column<Stat>[] = [
  { id: "metric", title: "Resource", cell: title, sort: order },
  quantile("min"),
  quantile("max"),
  quantile("p99"),
  quantile("p95"),
  quantile("p90"),
  quantile("p50"),
  { id: "count", title: "Readings", numeric: true, cell: (s) => count(s.count), sort: (s) => s.count },
];

/** The remark of the summary rule about a node: it begins with the node's name. */
export function verdictOf(node: string, verdicts: readonly Verdict[] | null): string | null {
  const remark = verdicts?.find((v) => v.rule === "OverallSystemUsage")?.remarks.find((r) => r.startsWith(`${node}: `));
  return remark === undefined ? null : remark.slice(node.length + 2);
}

/** "Not measured: GPU, GPU memory (no driver)", one for each reason. */
export function absentText(rows: readonly Stat[]): string {
  const whys = new Map<string, string[]>();
  for (const s of rows.filter((r) => r.count === 0)) {
    const why = s.losses[0]?.why ?? "no readings";
    whys.set(why, [...(whys.get(why) ?? []), title(s)]);
  }
  return [...whys].map(([why, titles]) => `Not measured: ${titles.join(", ")} (${why}).`).join(" ");
}

function NodeBlock(p: { node: string; stats: readonly Stat[]; verdict: string | null }) {
  const all = p.stats.filter((s) => s.node === p.node).sort((a, b) => order(a) - order(b));
  const rows = all.filter((s) => s.count > 0);
  const absent = absentText(all);
  return (
    <section class="use-node" aria-label={`Node ${p.node}`}>
      <h3>
        {p.node}
        {p.verdict !== null && <span class="use-verdict">{p.verdict}</span>}
      </h3>
      <DataTable caption={`Resource utilization of ${p.node}`} columns={columns} rows={rows} rowKey={(s) => s.metric} />
      {absent !== "" && <p class="quiet use-absent">{absent}</p>}
    </section>
  );
}

export function ResourceUse(p: { run: RunInfo; verdicts: readonly Verdict[] | null }) {
  const run = p.run.run;
  const load = useLoad(run, (signal) => api.stats(run, {}, signal), version.value);
  const [all, setAll] = useState(false);
  return (
    <Card title="Resource utilization summary" hint="whole job">
      <Loaded load={load} what="the statistics">
        {(stats) => {
          const nodes = [...new Set(stats.map((s) => s.node))];
          const shown = all ? nodes : nodes.slice(0, FIRST_NODES);
          return (
            <div class="stack">
              {shown.map((n) => (
                <NodeBlock key={n} node={n} stats={stats} verdict={verdictOf(n, p.verdicts)} />
              ))}
              {shown.length < nodes.length && <Button onClick={() => setAll(true)}>Show all {nodes.length} nodes</Button>}
            </div>
          );
        }}
      </Loaded>
    </Card>
  );
}
