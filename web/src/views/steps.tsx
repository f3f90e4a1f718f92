// SPDX-License-Identifier: Apache-2.0
// steps.tsx - the Steps view: iterations of each rank, their parts by each clock, outliers, and the slowest rank.
import { api } from "../api";
import { PartLegend, partsOf, StackedBars } from "../charts/bars";
import { Card, Choice, Field } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Empty, Loaded } from "../components/empty";
import { type Column, DataTable, secondsColumn } from "../components/table";
import { useWidth } from "../components/width";
import { count, rankText, value } from "../format";
import { findingsVersion, version } from "../live";
import { type Load, useLoad } from "../load";
import { node, params, setParam } from "../state";
import type { Histograms, RunInfo, Step, StepRank, Steps } from "../types";
import type { ViewProps } from "../views";
import { partTitle, plural, STEPS_OF } from "../words";
import { BreakdownCard } from "./steps_breakdown";
import { ClockBars, hostText } from "./steps_clocks";
import { StepDurations } from "./steps_durations";
import { asIteration, hasComm, linesOf, markOf, outliersOf, rankKey, type Straggle, stragglesOf } from "./steps_model";
import { OutlierTable, RANK_COLUMNS, RankNotes, Stragglers, SyncPlaces } from "./steps_tables";
import "./overview.css";
import "./steps.css";

const LASTS = ["100", "500", "2000"] as const;
const BARS = ["10", "30", "100"] as const;

function NoSteps() {
  return (
    <Empty title="No steps were detected in this run" command="footplate run -- python train.py">
      Steps are detected automatically in {STEPS_OF} when the program is started with footplate run. In other programs, mark them with
      footplate.step() in Python or fp_step_begin() in C.
    </Empty>
  );
}

const stepColumns = (parts: readonly string[]): Column<Step>[] => [
  { id: "step", title: "Step", numeric: true, cell: (s) => s.step, sort: (s) => s.step },
  secondsColumn("iteration", "Iteration", (s) => s.iteration_s),
  ...parts.map((part) => secondsColumn<Step>(part, partTitle(part), (s) => s.events[part] ?? null)),
  { id: "note", title: "Note", cell: (s) => markOf(s) ?? "", sort: (s) => markOf(s) },
];

/** The last iterations of one rank, stacked by part: the host's clock, which every step has. */
function LastSteps(p: { steps: readonly Step[]; ranks: readonly StepRank[]; mode: string }) {
  const [box, wide] = useWidth();
  const lines = linesOf(p.steps.filter((s) => s.mode === p.mode));
  const wanted = params.value["of"] ?? "";
  const line = lines.find((l) => l.key === wanted) ?? lines[0];
  const n = BARS.find((b) => b === params.value["last"]) ?? "30";
  if (line === undefined) return null;
  const shown = line.steps.slice(-Number(n)).map(asIteration);
  const parts = partsOf(shown);
  const rank = p.ranks.find((r) => rankKey(r) === line.key);
  const clock = rank === undefined ? "host time" : hostText(rank);
  const total = shown.reduce((sum, s) => sum + s.duration_s, 0);
  return (
    <ChartFrame
      title={`Last ${plural(shown.length, "iteration")} by part, ${clock}`}
      class="steps-gap"
      summary={`Last ${shown.length} ${p.mode} iterations of ${rankText(line.rank)}: ${value(total, "s")} in total.`}
      table={() => ({ columns: stepColumns(parts), rows: shown })}
      actions={
        <>
          {lines.length > 1 && (
            <Field label="Rank">
              {(id) => (
                <select id={id} value={line.key} onChange={(e) => setParam("of", e.currentTarget.value)}>
                  {lines.map((l) => (
                    <option key={l.key} value={l.key}>
                      {rankText(l.rank)} on {l.node}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          )}
          <Choice label="Number of steps" value={n} options={BARS.map((b) => ({ value: b, text: b }))} onChange={(v) => setParam("last", v)} />
        </>
      }
      legend={<PartLegend parts={parts} />}
    >
      <div ref={box}>{wide > 0 && <StackedBars steps={shown} parts={parts} wide={wide} />}</div>
    </ChartFrame>
  );
}

function Shown(p: { run: RunInfo; data: Steps; histograms: Load<Histograms>; last: string }) {
  const here = (x: { node: string }): boolean => node.value === "" || x.node === node.value;
  const ranks = p.data.ranks.filter(here);
  const steps = p.data.steps.filter(here);
  const modes = [...new Set(ranks.map((r) => r.mode as string))];
  const mode = modes.find((m) => m === params.value["mode"]) ?? modes[0] ?? "train";
  const outliers = p.histograms.data === null ? [] : outliersOf(p.histograms.data, ranks).filter(here);
  const ended = steps.filter((s) => !s.cut); // the others have not ended
  const straggles = stragglesOf(ended.filter((s) => s.mode === mode));
  if (ranks.length === 0) return <NoSteps />;
  return (
    <>
      <Card title="Steps by rank">
        <DataTable caption="Iterations by rank and mode" columns={RANK_COLUMNS} rows={ranks} rowKey={(r) => `${rankKey(r)} ${r.pid} ${r.session}`} />
        <RankNotes ranks={ranks} />
      </Card>
      <Card title="Iteration breakdown">
        <ClockBars ranks={ranks} losses={p.data.losses ?? []} title="Share of the iteration" />
        <SyncPlaces ranks={ranks} />
        <LastSteps steps={steps} ranks={ranks} mode={mode} />
      </Card>
      <Card
        title="Iterations"
        actions={
          <>
            {modes.length > 1 && (
              <Choice label="Mode" value={mode} options={modes.map((m) => ({ value: m, text: m }))} onChange={(m) => setParam("mode", m)} />
            )}
            <Choice
              label="How many steps"
              value={p.last}
              options={LASTS.map((n) => ({ value: n as string, text: `last ${count(Number(n))}` }))}
              onChange={(n) => setParam("steps", n)}
            />
          </>
        }
      >
        <StepDurations steps={ended} outliers={outliers} mode={mode} />
        <h3 class="steps-h">Outliers</h3>
        <Loaded load={p.histograms} what="the outliers">
          {() => <OutlierTable outliers={outliers} />}
        </Loaded>
      </Card>
      {straggles.length > 0 && <SlowestRank run={p.run} straggles={straggles} collectives={ended.some(hasComm)} />}
    </>
  );
}

/** The slowest rank, by the rule and by the steps. */
function SlowestRank(p: { run: RunInfo; straggles: readonly Straggle[]; collectives: boolean }) {
  const { run, live } = p.run;
  const verdicts = useLoad(run, (signal) => api.findings(run, signal), live ? findingsVersion.value : version.value);
  const found = verdicts.data?.find((v) => v.rule === "Straggler" && v.state === "issue") ?? null;
  return <Stragglers {...p} found={found} />;
}

export function StepsView(p: ViewProps) {
  const { run } = p.run;
  const last = LASTS.find((n) => n === params.value["steps"]) ?? "500";
  const steps = useLoad(`${run} ${last}`, (signal) => api.steps(run, { last: Number(last) }, signal), version.value, true);
  const histograms = useLoad(run, (signal) => api.histograms(run, {}, signal), version.value);
  return (
    <div class="stack">
      <Loaded load={steps} what="the steps">
        {(data) => <Shown run={p.run} data={data} histograms={histograms} last={last} />}
      </Loaded>
      <BreakdownCard run={p.run} />
    </div>
  );
}
