// SPDX-License-Identifier: Apache-2.0
// nodes_steps.tsx - "Time spent in training": the last iterations of the training loop, each a bar of the host time of its parts.
import { useMemo } from "preact/hooks";

import { api } from "../api";
import { PartLegend, partsOf, piecesOf, StackedBars } from "../charts/bars";
import { Field } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Loaded } from "../components/empty";
import { type Column, secondsColumn } from "../components/table";
import { useWidth } from "../components/width";
import { rankText, value } from "../format";
import { useLoad } from "../load";
import { params, setParam } from "../state";
import type { RunInfo, Step, Steps } from "../types";
import { partTitle, plural } from "../words";
import { useSlowTick } from "./nodes_data";
import { NoFramework } from "./nodes_framework";
import { hostText } from "./steps_clocks";
import { asIteration } from "./steps_model";

const DEFAULT_LAST = 30;
const LASTS = [10, 30, 50, 100, 200];

const rankKey = (s: { node: string; rank: number | null }): string => `${s.node}:${s.rank ?? ""}`;

function lastAsked(): number {
  const n = Number(params.value["last"]);
  return LASTS.includes(n) ? n : DEFAULT_LAST;
}

export function StepsPanel(p: { run: RunInfo; node: string }) {
  const last = lastAsked();
  const tick = useSlowTick(p.run.live);
  const load = useLoad(
    `${p.run.run} ${last}`,
    (signal) => api.steps(p.run.run, { last, mode: "train" }, signal),
    tick,
    true,
  );
  return (
    <Loaded load={load} what="the steps">
      {(steps) => <Drawn steps={steps} node={p.node} last={last} run={p.run} />}
    </Loaded>
  );
}

function columnsFor(parts: readonly string[]): Column<Step>[] {
  return [
    { id: "step", title: "Step", numeric: true, cell: (s) => s.step, sort: (s) => s.step },
    secondsColumn("iteration", "Iteration", (s) => s.iteration_s),
    ...parts.map((part) => secondsColumn<Step>(part, partTitle(part), (s) => s.events[part] ?? null)),
  ];
}

function sentence(steps: readonly Step[], parts: readonly string[]): string {
  const sums = parts.map((part) => ({
    part,
    s: steps.reduce((t, s) => t + piecesOf(s, parts).reduce((u, x) => u + (x.part === part ? x.to_s - x.from_s : 0), 0), 0),
  }));
  const all = steps.reduce((t, s) => t + s.duration_s, 0);
  const most = sums.sort((a, b) => b.s - a.s)[0];
  if (!most || all === 0) return "No steps.";
  return `${plural(steps.length, "iteration")}, ${value(all / steps.length, "s")} on average; largest part ${partTitle(most.part)}, ${value((100 * most.s) / all, "%")}.`;
}

function Drawn(p: { steps: Steps; node: string; last: number; run: RunInfo }) {
  const [box, wide] = useWidth();
  const mine = p.steps.steps.filter((s) => s.mode === "train" && (p.node === "" || s.node === p.node));
  const ranks = [...new Set(mine.map(rankKey))];
  const wanted = params.value["steprank"] ?? "";
  const rank = ranks.includes(wanted) ? wanted : (ranks[0] ?? "");
  const shown = mine
    .filter((s) => rankKey(s) === rank)
    .slice(-p.last)
    .map(asIteration);
  const clock = hostText(p.steps.ranks.find((r) => rankKey(r) === rank && r.mode === "train") ?? { device: null, gpu_timed_steps: 0 });
  const parts = useMemo(() => partsOf(shown), [shown]);
  if (shown.length === 0) return <NoFramework run={p.run} what="No steps recorded" />;
  return (
    <ChartFrame
      title={`Last ${plural(shown.length, "iteration")}, ${clock}`}
      class="nodes-chart nodes-steps"
      summary={sentence(shown, parts)}
      table={() => ({ columns: columnsFor(parts), rows: shown })}
      actions={
        <>
          {ranks.length > 1 && (
            <Field label="Rank">
              {(id) => (
                <select id={id} value={rank} onChange={(e) => setParam("steprank", e.currentTarget.value)}>
                  {ranks.map((r) => (
                    <option key={r} value={r}>
                      {rankTitle(mine, r)}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
          <Field label="Steps">
            {(id) => (
              <select id={id} value={p.last} onChange={(e) => setParam("last", e.currentTarget.value === String(DEFAULT_LAST) ? null : e.currentTarget.value)}>
                {LASTS.map((n) => (
                  <option key={n} value={n}>
                    last {n}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </>
      }
      legend={<PartLegend parts={parts} />}
    >
      <div ref={box}>{wide > 0 && <StackedBars steps={shown} parts={parts} wide={wide} />}</div>
    </ChartFrame>
  );
}

function rankTitle(steps: readonly Step[], key: string): string {
  const s = steps.find((x) => rankKey(x) === key);
  return s ? `${s.node} ${rankText(s.rank)}` : key;
}
