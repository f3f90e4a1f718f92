// SPDX-License-Identifier: Apache-2.0
// steps_tables.tsx - the numbers of each rank, the places where it waits, the outliers, the stragglers.
import { Bar, Button, Card } from "../components/basics";
import { type Column, DataTable, secondsColumn } from "../components/table";
import { count, dateTime, fixed, rankText, samplesPerSecond, share, value } from "../format";
import { showInTimeline } from "../timeline/links";
import type { RunInfo, StepRank, SyncPlace, Verdict } from "../types";
import { plural, sentenceCase } from "../words";
import { TopFinding } from "./overview_answer";
import { type Outlier, rankKey, type Straggle, type Straggler, stragglersOf, type Wait } from "./steps_model";

/** A column of buttons that show the row's step in the timeline. */
function whereColumn<T extends { step: number; start_ns: number; duration_s: number; iteration_s?: number }>(): Column<T> {
  return {
    id: "open",
    title: "Show",
    cell: (s) => (
      <Button kind="quiet" label={`Show step ${s.step} in the timeline`} onClick={() => showInTimeline(s.start_ns, s.iteration_s ?? s.duration_s)}>
        Timeline
      </Button>
    ),
  };
}

const rateColumn = (id: string, title: string, of: (r: StepRank) => number | null, hint: string): Column<StepRank> => ({
  id,
  title,
  numeric: true,
  cell: (r) => samplesPerSecond(of(r)),
  sort: of,
  hint,
});

export const RANK_COLUMNS: readonly Column<StepRank>[] = [
  { id: "rank", title: "Rank", cell: (r) => rankText(r.rank), sort: (r) => r.rank },
  { id: "node", title: "Node", cell: (r) => r.node, sort: (r) => r.node },
  { id: "mode", title: "Mode", cell: (r) => r.mode, sort: (r) => r.mode },
  { id: "count", title: "Steps", numeric: true, cell: (r) => count(r.count), sort: (r) => r.count },
  { ...secondsColumn<StepRank>("mean", "Iteration", (r) => r.iteration_s.mean), hint: "mean time from the start of a step to the start of the next" },
  secondsColumn("p50", "p50", (r) => r.iteration_s.p50),
  secondsColumn("p95", "p95", (r) => r.iteration_s.p95),
  secondsColumn("p99", "p99", (r) => r.iteration_s.p99),
  secondsColumn("max", "Max", (r) => r.iteration_s.max),
  secondsColumn("stddev", "Std. dev.", (r) => r.iteration_s.stddev),
  rateColumn("steady", "Samples/s, steady", (r) => r.throughput.steady, "excludes warm-up, evaluation, checkpoints and detail windows"),
  rateColumn("overall", "Overall", (r) => r.throughput.overall, "samples/s from the start of the first step to the end of the last, including everything"),
  { id: "outliers", title: "Outliers", numeric: true, cell: (r) => count(r.outliers.length), sort: (r) => r.outliers.length },
];

/** Whether warm-up and detail windows are excluded from a rank's numbers. They are included where nothing else is left. */
export const leavesOut = (r: StepRank): boolean => r.warmup_steps + r.disturbed_steps < r.count;

/** "1 warm-up step and 7 steps slowed by a detail window"; "" where every step is included. */
export function leftOut(ranks: readonly StepRank[]): string {
  const sum = (of: (r: StepRank) => number): number => ranks.filter(leavesOut).reduce((n, r) => n + of(r), 0);
  const [warmup, disturbed] = [sum((r) => r.warmup_steps), sum((r) => r.disturbed_steps)];
  return [
    ...(warmup > 0 ? [plural(warmup, "warm-up step")] : []),
    ...(disturbed > 0 ? [`${plural(disturbed, "step")} slowed by a detail window`] : []),
  ].join(" and ");
}

export function RankNotes(p: { ranks: readonly StepRank[] }) {
  const out = leftOut(p.ranks);
  const all = p.ranks.filter((r) => !leavesOut(r));
  return (
    <p class="quiet steps-note">
      An iteration lasts from the start of a step to the start of the next. Samples/s are samples per second of wall time.
      {out !== "" && ` All numbers but “Overall” exclude ${out}.`}
      {all.map((r) => ` All ${r.mode} steps of ${rankText(r.rank)} are warm-up or slowed by a detail window, so none is excluded.`)}
    </p>
  );
}

type Place = SyncPlace & { rank: number | null; node: string };

const PLACE_COLUMNS: readonly Column<Place>[] = [
  { id: "where", title: "Source line", cell: (s) => <code>{s.where}</code>, sort: (s) => s.where },
  { id: "call", title: "Call", cell: (s) => (s.call === "" ? "-" : <code>{s.call}</code>), sort: (s) => s.call },
  { id: "rank", title: "Rank", cell: (s) => rankText(s.rank), sort: (s) => s.rank },
  { id: "count", title: "Waits", numeric: true, cell: (s) => count(s.count), sort: (s) => s.count },
  secondsColumn("seconds", "Time", (s) => s.seconds),
  secondsColumn("each", "Each", (s) => (s.count > 0 ? s.seconds / s.count : null)),
];

/** Places of all ranks; those of a process are listed in each of its modes. */
export function placesOf(ranks: readonly StepRank[]): Place[] {
  const first = ranks.filter((r, i) => ranks.findIndex((x) => x.node === r.node && x.pid === r.pid && x.session === r.session) === i);
  return first.flatMap((r) => r.sync.map((s) => ({ ...s, rank: r.rank, node: r.node })));
}

export function SyncPlaces(p: { ranks: readonly StepRank[] }) {
  const places = placesOf(p.ranks);
  if (places.length === 0) return null;
  return (
    <>
      <h3 class="steps-h">GPU waits by source line</h3>
      <p class="quiet steps-note">At these lines the host waits until the GPU has finished all queued work, and launches nothing new.</p>
      <DataTable
        caption="Source lines that wait for the GPU"
        columns={PLACE_COLUMNS}
        rows={places}
        rowKey={(s) => `${s.node} ${s.rank} ${s.where} ${s.call}`}
        start={{ id: "seconds", down: true }}
        limit={10}
      />
    </>
  );
}

const OUTLIER_COLUMNS: readonly Column<Outlier>[] = [
  { id: "step", title: "Step", numeric: true, cell: (o) => o.step, sort: (o) => o.step },
  { id: "rank", title: "Rank", cell: (o) => rankText(o.rank), sort: (o) => o.rank },
  { id: "mode", title: "Mode", cell: (o) => o.mode, sort: (o) => o.mode },
  secondsColumn("iteration", "Iteration", (o) => o.iteration_s),
  {
    id: "times",
    title: "× median",
    numeric: true,
    cell: (o) => (o.times === null ? "-" : `${fixed(o.times, 1)} ×`),
    sort: (o) => o.times,
  },
  { id: "start", title: "Start", cell: (o) => dateTime(o.start_ns), sort: (o) => o.start_ns },
  whereColumn(),
];

export function OutlierTable(p: { outliers: readonly Outlier[] }) {
  if (p.outliers.length === 0) return <p class="quiet">No outliers.</p>;
  return (
    <DataTable
      caption="Outliers: iterations much longer than others of the same rank"
      columns={OUTLIER_COLUMNS}
      rows={p.outliers}
      rowKey={(o) => `${rankKey(o)} ${o.step}`}
      start={{ id: "iteration", down: true }}
      limit={10}
    />
  );
}

const STRAGGLER_COLUMNS: readonly Column<Straggler>[] = [
  { id: "rank", title: "Rank", cell: (s) => rankText(s.rank), sort: (s) => s.rank },
  { id: "node", title: "Node", cell: (s) => s.node, sort: (s) => s.node },
  { id: "slowest", title: "Slowest in", numeric: true, cell: (s) => `${count(s.slowest)} steps`, sort: (s) => s.slowest },
  { id: "share", title: "Share of steps", numeric: true, cell: (s) => <Bar share={s.share} text={share(s.share)} />, sort: (s) => s.share },
  {
    id: "lag",
    title: "Lag behind median rank",
    numeric: true,
    cell: (s) => value(s.lag_s, "s"),
    sort: (s) => s.lag_s,
    hint: "total of those steps",
  },
];

const STEP_COLUMNS: readonly Column<Straggle>[] = [
  { id: "step", title: "Step", numeric: true, cell: (s) => s.step, sort: (s) => s.step },
  { id: "rank", title: "Slowest rank", cell: (s) => `${rankText(s.slowest.rank)} on ${s.slowest.node}`, sort: (s) => s.slowest.rank },
  secondsColumn("lag", "Lag behind median rank", (s) => s.lag_s),
  whereColumn(),
];

const WAIT_TEXT: Readonly<Record<Wait, string>> = { backward: "the backward pass", comm: "collectives" };

/** `collectives`: they were recorded. `found`: what the rule found, by other evidence, too. */
export function Stragglers(p: { run: RunInfo; straggles: readonly Straggle[]; collectives: boolean; found: Verdict | null }) {
  const rows = stragglersOf(p.straggles);
  const worst = rows[0];
  const wait = WAIT_TEXT[p.straggles[0]?.wait ?? "backward"];
  return (
    <Card title="Slowest rank of each step" hint={`${plural(p.straggles.length, "step")} with several ranks, without warm-up`}>
      {p.found !== null && <TopFinding v={p.found} run={p.run} more={0} />}
      {worst === undefined ? (
        <p>
          Outside of {wait}, all ranks are within 1 % of each other in every step.
        </p>
      ) : (
        <p>
          {sentenceCase(rankText(worst.rank))} on {worst.node} is slowest in {share(worst.share)} of the steps, {value(worst.lag_s, "s")} behind the median
          rank in total.
        </p>
      )}
      <p class="quiet">
        {p.collectives ? "Time" : "Collectives were not recorded: time"} in {wait} above that of the rank with the shortest one counts as waiting for others.
        Time between steps counts as work.
      </p>
      {worst !== undefined && <StragglerTables rows={rows} straggles={p.straggles} />}
    </Card>
  );
}

function StragglerTables(p: { rows: readonly Straggler[]; straggles: readonly Straggle[] }) {
  return (
    <div class="steps-two">
        <DataTable
          caption="How often each rank is the slowest"
          columns={STRAGGLER_COLUMNS}
          rows={p.rows}
          rowKey={(s) => `${s.node} ${s.rank}`}
          start={{ id: "lag", down: true }}
        />
        <DataTable
          caption="Steps with the largest lag"
          columns={STEP_COLUMNS}
          rows={p.straggles}
          rowKey={(s) => `${s.mode} ${s.step}`}
          start={{ id: "lag", down: true }}
          limit={8}
        />
    </div>
  );
}
