// SPDX-License-Identifier: Apache-2.0
// steps_tables.tsx - the numbers of each rank, the shares of its parts, the outliers, the stragglers.
import { PartLegend } from "../charts/bars";
import { Bar, Button, Card } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { percentages } from "../components/plots/arcs";
import { type Column, DataTable, secondsColumn } from "../components/table";
import { count, dateTime, fixed, percent, rankText, samplesPerSecond, share, value } from "../format";
import { eventColor } from "../palette";
import { showInTimeline } from "../timeline/links";
import type { Loss, StepRank } from "../types";
import { partTitle } from "../words";
import { type Outlier, rankKey, type Straggle, type Straggler, stragglersOf } from "./steps_model";

/** A column of buttons that show the row's step in the timeline. */
function whereColumn<T extends { step: number; start_ns: number; duration_s: number }>(): Column<T> {
  return {
    id: "open",
    title: "Where",
    cell: (s) => (
      <Button kind="quiet" label={`Show step ${s.step} in the timeline`} onClick={() => showInTimeline(s.start_ns, s.duration_s)}>
        Timeline
      </Button>
    ),
  };
}

export const RANK_COLUMNS: readonly Column<StepRank>[] = [
  { id: "rank", title: "Rank", cell: (r) => rankText(r.rank), sort: (r) => r.rank },
  { id: "node", title: "Node", cell: (r) => r.node, sort: (r) => r.node },
  { id: "mode", title: "Mode", cell: (r) => r.mode, sort: (r) => r.mode },
  { id: "count", title: "Steps", numeric: true, cell: (r) => count(r.count), sort: (r) => r.count },
  secondsColumn("mean", "Mean", (r) => r.mean_s),
  secondsColumn("p50", "p50", (r) => r.p50_s),
  secondsColumn("p95", "p95", (r) => r.p95_s),
  secondsColumn("p99", "p99", (r) => r.p99_s),
  secondsColumn("max", "Max", (r) => r.max_s),
  secondsColumn("stddev", "Std. dev.", (r) => r.stddev_s),
  {
    id: "samples",
    title: "Samples/s",
    numeric: true,
    cell: (r) => samplesPerSecond(r.samples_per_s),
    sort: (r) => r.samples_per_s,
  },
  { id: "outliers", title: "Outliers", numeric: true, cell: (r) => count(r.outliers.length), sort: (r) => r.outliers.length },
];

const OUTLIER_COLUMNS: readonly Column<Outlier>[] = [
  { id: "step", title: "Step", numeric: true, cell: (o) => o.step, sort: (o) => o.step },
  { id: "rank", title: "Rank", cell: (o) => rankText(o.rank), sort: (o) => o.rank },
  { id: "mode", title: "Mode", cell: (o) => o.mode, sort: (o) => o.mode },
  secondsColumn("duration", "Duration", (o) => o.duration_s),
  {
    id: "times",
    title: "Times the median",
    numeric: true,
    cell: (o) => (o.times === null ? "-" : `${fixed(o.times, 1)} ×`),
    sort: (o) => o.times,
  },
  { id: "start", title: "Start", cell: (o) => dateTime(o.start_ns), sort: (o) => o.start_ns },
  whereColumn(),
];

export function OutlierTable(p: { outliers: readonly Outlier[] }) {
  if (p.outliers.length === 0) return <p class="quiet">No step took much longer than the others of its rank.</p>;
  return (
    <DataTable
      caption="Steps that took much longer than the others of their rank"
      columns={OUTLIER_COLUMNS}
      rows={p.outliers}
      rowKey={(o) => `${rankKey(o)} ${o.step}`}
      start={{ id: "duration", down: true }}
      limit={10}
    />
  );
}

interface PartShare {
  rank: StepRank;
  parts: { part: string; seconds: number; share: number; pct: number }[];
  /** Parts that were not told. */
  missing: string[];
}

export function partShares(r: StepRank): PartShare {
  const known = Object.entries(r.events).filter((e): e is [string, number] => e[1] !== null);
  const total = known.reduce((sum, [, s]) => sum + s, 0);
  const pcts = percentages(known.map(([, s]) => s)) ?? [];
  const parts = known
    .map(([part, s], i) => ({ part, seconds: s, share: total > 0 ? s / total : 0, pct: pcts[i] ?? 0 }))
    .filter((p) => p.seconds > 0);
  const missing = Object.keys(r.events).filter((k) => r.events[k] === null);
  return { rank: r, parts, missing };
}

interface ShareRow {
  rank: StepRank;
  part: string;
  seconds: number;
  pct: number;
}

const SHARE_COLUMNS: readonly Column<ShareRow>[] = [
  { id: "rank", title: "Rank", cell: (s) => `${rankText(s.rank.rank)}, ${s.rank.mode}`, sort: (s) => s.rank.rank },
  { id: "part", title: "Part", cell: (s) => s.part, sort: (s) => s.part },
  secondsColumn("seconds", "Time", (s) => s.seconds),
  { id: "share", title: "Share", numeric: true, cell: (s) => percent(s.pct), sort: (s) => s.pct },
];

function shareSummary(all: readonly PartShare[]): string {
  return all
    .map((s) => `${rankText(s.rank.rank)}, ${s.rank.mode}: ${s.parts.map((p) => `${p.part} ${percent(p.pct)}`).join(", ")}.`)
    .join(" ");
}

/** One bar for each rank and mode, as wide as the card, a piece for each part. */
export function PartShares(p: { ranks: readonly StepRank[]; losses: readonly Pick<Loss, "what" | "why">[] }) {
  const all = p.ranks.map(partShares);
  const parts = [...new Set(all.flatMap((s) => s.parts.map((x) => x.part)))];
  const missing = [...new Set(all.flatMap((s) => s.missing))];
  const rows = all.flatMap((s) => s.parts.map((x) => ({ rank: s.rank, ...x })));
  const why = p.losses.find((l) => missing.includes(l.what))?.why;
  return (
    <ChartFrame
      title="Shares of the parts, of all steps"
      class="steps-gap"
      summary={shareSummary(all)}
      table={() => ({ columns: SHARE_COLUMNS, rows })}
      legend={<PartLegend parts={parts} />}
    >
      <ul class="steps-shares">
        {all.map((s) => (
          <li key={rankKey(s.rank)}>
            <span class="steps-share-name">
              {rankText(s.rank.rank)}, {s.rank.mode}
            </span>
            <span class="steps-share-bar">
              {s.parts.map((x) => (
                <span
                  key={x.part}
                  data-part={x.part}
                  data-share={x.share}
                  title={`${partTitle(x.part)}: ${value(x.seconds, "s")}, ${percent(x.pct)}`}
                  style={{ width: `${x.share * 100}%`, background: eventColor(x.part) }}
                />
              ))}
            </span>
            <span class="steps-share-text">
              {[...s.parts]
                .sort((a, b) => b.share - a.share)
                .slice(0, 3)
                .map((x) => `${partTitle(x.part)} ${percent(x.pct)}`.replaceAll(" ", "\u00a0"))
                .join(" · ")}
            </span>
          </li>
        ))}
      </ul>
      {missing.length > 0 && (
        <p class="quiet">
          Not measured: {missing.map(partTitle).join(", ")}
          {why !== undefined ? ` (${why})` : ""}.
        </p>
      )}
    </ChartFrame>
  );
}

const STRAGGLER_COLUMNS: readonly Column<Straggler>[] = [
  { id: "rank", title: "Rank", cell: (s) => rankText(s.rank), sort: (s) => s.rank },
  { id: "node", title: "Node", cell: (s) => s.node, sort: (s) => s.node },
  { id: "slowest", title: "Slowest in", numeric: true, cell: (s) => `${count(s.slowest)} steps`, sort: (s) => s.slowest },
  { id: "share", title: "Share of the steps", numeric: true, cell: (s) => <Bar share={s.share} text={share(s.share)} />, sort: (s) => s.share },
  {
    id: "lag",
    title: "Behind the median rank",
    numeric: true,
    cell: (s) => value(s.lag_s, "s"),
    sort: (s) => s.lag_s,
    hint: "in all those steps together",
  },
];

const STEP_COLUMNS: readonly Column<Straggle>[] = [
  { id: "step", title: "Step", numeric: true, cell: (s) => s.step, sort: (s) => s.step },
  { id: "rank", title: "Slowest rank", cell: (s) => `${rankText(s.slowest.rank)} on ${s.slowest.node}`, sort: (s) => s.slowest.rank },
  secondsColumn("lag", "Behind the median rank", (s) => s.lag_s),
  whereColumn(),
];

export function Stragglers(p: { straggles: readonly Straggle[] }) {
  const rows = stragglersOf(p.straggles);
  const worst = rows[0];
  return (
    <Card title="Slowest rank of each step" hint={`${count(p.straggles.length)} steps of several ranks; waiting for others does not count`}>
      {worst === undefined ? (
        <p>No rank holds the others back: in every step all ranks are within 1 % of each other.</p>
      ) : (
        <p>
          {rankText(worst.rank)} on {worst.node} is slowest in {share(worst.share)} of the steps; the median rank waited {value(worst.lag_s, "s")}{" "}
          for it.
        </p>
      )}
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
