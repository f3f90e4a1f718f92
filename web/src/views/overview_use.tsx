// SPDX-License-Identifier: Apache-2.0
// overview_use.tsx - how much of each node was used: a block per node with its verdict in a sentence
// and the quantiles of every resource.
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
  { id: "unit", title: "Unit", cell: (s) => s.unit, sort: (s) => s.unit },
  quantile("min"),
  quantile("max"),
  quantile("p99"),
  quantile("p95"),
  quantile("p90"),
  quantile("p50"),
  { id: "count", title: "Samples", numeric: true, cell: (s) => count(s.count), sort: (s) => s.count },
];

/** What the summary rule says of a node: its remarks begin with the node's name. */
export function verdictOf(node: string, verdicts: readonly Verdict[] | null): string | null {
  const said = verdicts?.find((v) => v.rule === "OverallSystemUsage")?.remarks.find((r) => r.startsWith(`${node}: `));
  return said === undefined ? null : said.slice(node.length + 2);
}

/** "GPU, GPU memory: not measured: no driver", one sentence for each reason. */
export function absentText(rows: readonly Stat[]): string {
  const whys = new Map<string, string[]>();
  for (const s of rows.filter((r) => r.count === 0)) {
    const why = s.losses[0]?.why ?? "no samples were recorded";
    whys.set(why, [...(whys.get(why) ?? []), title(s)]);
  }
  return [...whys].map(([why, titles]) => `${titles.join(", ")}: not measured: ${why}.`).join(" ");
}

function NodeBlock(p: { node: string; stats: readonly Stat[]; verdict: string | null }) {
  const rows = p.stats.filter((s) => s.node === p.node).sort((a, b) => order(a) - order(b));
  const absent = absentText(rows);
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
    <Card title="Resource utilization summary" hint="over the whole job">
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
