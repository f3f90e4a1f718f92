// SPDX-License-Identifier: Apache-2.0
// nodes_hist.tsx - the distribution of utilization and of iterations.
import { api } from "../api";
import { Histogram, percentBins } from "../charts/histogram";
import { Button, Field } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Empty, Loaded } from "../components/empty";
import type { Column } from "../components/table";
import { count, dateTime, rankText, share, value } from "../format";
import { params, setParam } from "../state";
import type { Histograms, RunInfo } from "../types";
import { hasGpu, plural } from "../words";
import { byNumber, gpuAbsence } from "./nodes_charts";
import { type Ask, useWindowed } from "./nodes_data";
import { NoFramework } from "./nodes_framework";

type Device = Histograms["devices"][number];
type StepBins = Histograms["steps"][number];

interface BinRow {
  readonly from: number;
  readonly to: number;
  readonly n: number;
  readonly share: number;
}

const columnsIn = (title: string, unit: string, inclusive: boolean): readonly Column<BinRow>[] => [
  {
    id: "bin",
    title,
    cell: (r) => (inclusive ? `${r.from} %` : `${value(r.from, unit)} to ${value(r.to, unit)}`),
    sort: (r) => r.from,
  },
  { id: "n", title: inclusive ? "Readings" : "Steps", numeric: true, cell: (r) => count(r.n), sort: (r) => r.n },
  { id: "share", title: "Share", numeric: true, cell: (r) => share(r.share), sort: (r) => r.share },
];
const PERCENT_COLUMNS = columnsIn("Utilization", "%", true);
const STEP_COLUMNS = columnsIn("Iteration", "s", false);

function binRows(edges: readonly number[], counts: readonly number[]): BinRow[] {
  const all = Math.max(counts.reduce((a, b) => a + b, 0), 1);
  return counts.map((n, i) => ({ from: edges[i] ?? 0, to: edges[i + 1] ?? 0, n, share: n / all })).filter((r) => r.n > 0);
}

/** The bin that half of the readings are at or below. */
export function medianBin(counts: readonly number[]): number | null {
  const all = counts.reduce((a, b) => a + b, 0);
  let seen = 0;
  for (let i = 0; i < counts.length; i++) {
    seen += counts[i] ?? 0;
    if (all > 0 && seen * 2 >= all) return i;
  }
  return null;
}

export function HistogramsPanel(p: { ask: Ask }) {
  const { run, node } = p.ask;
  const load = useWindowed(p.ask, "histograms", (from, to, signal) =>
    api.histograms(run.run, { node: node === "" ? undefined : node, from, to }, signal),
  );
  return (
    <Loaded load={load} what="the histograms">
      {(h) => (
        <>
          <div class="nodes-pair">
            <DeviceHistogram kind="cpu" title="CPU utilization distribution" devices={h.devices} run={run} node={node} colour="var(--c1)" />
            {hasGpu(run, node) && (
              <DeviceHistogram kind="gpu" title="GPU utilization distribution" devices={h.devices} run={run} node={node} colour="var(--c3)" />
            )}
          </div>
          <StepHistograms steps={h.steps} run={run} ask={p.ask} />
        </>
      )}
    </Loaded>
  );
}

const deviceKey = (d: Device): string => `${d.node}:${d.entity}`;

function DeviceHistogram(p: {
  kind: "cpu" | "gpu";
  title: string;
  devices: readonly Device[];
  run: RunInfo;
  node: string;
  colour: string;
}) {
  const mine = p.devices.filter((d) => d.metric === `${p.kind}.util`).sort((a, b) => byNumber(deviceKey(a), deviceKey(b)));
  const wanted = params.value[`hist${p.kind}`] ?? "";
  const shown = mine.find((d) => deviceKey(d) === wanted) ?? mine.find((d) => d.entity === "total") ?? mine[0];
  if (!shown) return <NoDevice kind={p.kind} run={p.run} node={p.node} />;
  const several = new Set(mine.map((d) => d.node)).size > 1;
  const name = (d: Device): string => {
    const of = d.entity === "total" ? "all cores" : d.entity;
    return several ? `${d.node} ${of}` : of;
  };
  const bins = percentBins(shown.bins);
  const half = medianBin(shown.bins);
  return (
    <ChartFrame
      title={p.title}
      class={`nodes-chart nodes-hist-${p.kind}`}
      summary={`${name(shown)}: ${count(shown.count)} readings${half === null ? "" : `, half of them at or below ${half} %`}.`}
      table={() => ({ columns: PERCENT_COLUMNS, rows: binRows(bins.edges, bins.counts) })}
      actions={
        mine.length > 1 && (
          <Field label="Device">
            {(id) => (
              <select id={id} value={deviceKey(shown)} onChange={(e) => setParam(`hist${p.kind}`, e.currentTarget.value)}>
                {mine.map((d) => (
                  <option key={deviceKey(d)} value={deviceKey(d)}>
                    {name(d)}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )
      }
      legend={
        <p class="hint">
          {count(shown.count)} readings of {name(shown)} in this window, one bar per percent
        </p>
      }
    >
      <Histogram bins={bins} edgeText={percentEdge} axis="utilization" marks={PERCENT_MARKS} colour={p.colour} label={`${p.title} of ${name(shown)}`} />
    </ChartFrame>
  );
}

const PERCENT_MARKS = [0, 25, 50, 75, 100].map((v) => ({ at: v + 0.5, text: `${v} %` }));

/** The last bin is 100 % itself and ends at 101. */
const percentEdge = (v: number): string => `${Math.min(Math.round(v), 100)} %`;

function NoDevice(p: { kind: "cpu" | "gpu"; run: RunInfo; node: string }) {
  if (p.kind === "gpu") return <NoGpu run={p.run} node={p.node} />;
  return <Empty title="No CPU utilization in this window">Nothing was measured then. Show everything, or record the job with footplate run.</Empty>;
}

/** Shows why there is no GPU, in the recorder's words. */
export function NoGpu(p: { run: RunInfo; node: string }) {
  const why = gpuAbsence(p.run, p.node);
  return (
    <Empty title={`GPU metrics were not recorded${why === null ? "" : `: ${why}`}`} command="footplate doctor">
      footplate doctor lists what can be measured on a machine, with reasons for what cannot.
    </Empty>
  );
}

function StepHistograms(p: { steps: readonly StepBins[]; run: RunInfo; ask: Ask }) {
  if (p.steps.length === 0) return <NoFramework run={p.run} what="No steps in this window" />;
  return (
    <div class="nodes-pair">
      {p.steps.map((s) => (
        <StepHistogram key={`${s.node} ${s.rank} ${s.mode}`} s={s} ask={p.ask} />
      ))}
    </div>
  );
}

const SHOWN_OUTLIERS = 8;
const AROUND_STEPS = 3; // iterations shown on each side

function StepHistogram(p: { s: StepBins; ask: Ask }) {
  const { s } = p;
  const who = `${s.node} ${rankText(s.rank)}, ${s.mode === "eval" ? "evaluation" : "training"}`;
  const n = s.counts.reduce((a, b) => a + b, 0);
  const show = (o: StepBins["outliers"][number]): void => {
    const ms = o.iteration_s * 1000;
    const at = o.start_ns / 1e6;
    p.ask.sync.setWindow({ from: at - AROUND_STEPS * ms, to: at + (1 + AROUND_STEPS) * ms });
    p.ask.sync.setSelection({ from: at, to: at + ms });
  };
  const outText = s.outliers.length === 0 ? "no outliers" : `${plural(s.outliers.length, "outlier")}${s.outlier_from_s === null ? "" : ` above ${value(s.outlier_from_s, "s")}`}`;
  return (
    <ChartFrame
      title={`Iterations, ${who}`}
      class="nodes-chart nodes-hist-steps"
      summary={`${count(n)} iterations, ${outText}.`}
      table={() => ({ columns: STEP_COLUMNS, rows: binRows(s.edges_s, s.counts) })}
      legend={
        <div class="nodes-outliers">
          <p class="hint">
            {count(n)} iterations, {outText}
            {s.outliers.length > 0 && " (hatched)"}; excludes warm-up and steps slowed by a detail window
          </p>
          {[...s.outliers]
            .sort((a, b) => b.iteration_s - a.iteration_s)
            .slice(0, SHOWN_OUTLIERS)
            .map((o) => {
              const what = `step ${o.step}: ${value(o.iteration_s, "s")}`;
              return (
                <Button key={o.start_ns} kind="quiet" onClick={() => show(o)} label={`${what}, show it at ${dateTime(o.start_ns)}`}>
                  {what}
                </Button>
              );
            })}
        </div>
      }
    >
      <Histogram
        bins={{ edges: s.edges_s, counts: s.counts }}
        edgeText={(v) => value(v, "s")}
        axis="iteration (start of a step to start of the next)"
        colour="var(--c1)"
        label={`Iterations of ${who}`}
        outlierFrom={s.outlier_from_s}
      />
    </ChartFrame>
  );
}
