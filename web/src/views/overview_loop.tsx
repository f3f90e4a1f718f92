// SPDX-License-Identifier: Apache-2.0
// overview_loop.tsx - the training loop after its warm-up: its speed, the parts of its iterations, and its use
// of the GPUs. A number that is not known is shown with the reason.
import type { ComponentChildren } from "preact";

import { Bar, Card } from "../components/basics";
import { type Column, DataTable } from "../components/table";
import { bytes, count, fixed, joules, percent, rankText, samplesPerSecond, value } from "../format";
import type { Load } from "../load";
import type { GpuEfficiency, GpuUse, RunGpu, RunInfo, StepRank, Steps, Verdict } from "../types";
import { CLOCK_HOLDS, hasGpu, plural } from "../words";
import { inOrder } from "./insights";
import { ClockBars } from "./steps_clocks";
import { loopOf } from "./rates";
import { leavesOut } from "./steps_tables";

/** Why a number of the object "gpu" is null. */
export function whyNot(run: Pick<RunInfo, "losses">, key: string): string {
  return run.losses.find((l) => l.what === `gpu.${key}`)?.why ?? "not recorded";
}

export interface Tile {
  term: string;
  /** Null: not known, and `below` has the reason. */
  text: string | null;
  unit?: string;
  below: string;
  /** What it was over time, as a small line. */
  line?: readonly (number | null)[];
}

const [SPARK_WIDE, SPARK_HIGH] = [100, 24];

/** A line as wide as its place. Its values come when the program reports them: a pause is no gap. */
export function sparkPath(values: readonly (number | null)[]): string {
  const known = values.filter((v): v is number => v !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (i: number): string => ((i / Math.max(values.length - 1, 1)) * SPARK_WIDE).toFixed(1);
  const y = (v: number): string => (high > low ? 1 + (SPARK_HIGH - 2) * (1 - (v - low) / (high - low)) : SPARK_HIGH / 2).toFixed(1);
  const points = values.flatMap((v, i) => (v === null ? [] : [`${x(i)} ${y(v)}`]));
  return points.length === 0 ? "" : `M${points.join("L")}`;
}

function Spark(p: { values: readonly (number | null)[] }) {
  return (
    <svg class="spark" viewBox={`0 0 ${SPARK_WIDE} ${SPARK_HIGH}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={sparkPath(p.values)} />
    </svg>
  );
}

function iterationTile(best: StepRank | null): Tile {
  const term = "Iteration, median";
  const s = best?.iteration_s;
  if (best === null || s === undefined || s.p50 === null)
    return { term, text: null, below: best === null ? "no training steps were detected" : "no iteration has ended yet" };
  const left = leavesOut(best) ? best.warmup_steps + best.disturbed_steps : 0;
  const out = left === 0 ? "" : `; excludes ${plural(left, "step")} (warm-up${best.disturbed_steps > 0 ? ", detail windows" : ""})`;
  return { term, text: value(s.p50, "s"), below: `mean ${value(s.mean, "s")}, p95 ${value(s.p95, "s")}${out}` };
}

function throughputTile(l: ReturnType<typeof loopOf>): Tile {
  const term = "Throughput, steady";
  if (l.steady === null) return { term, text: null, below: "the batch size is not known" };
  const all = l.ranks > 1 ? `, ${l.ranks} ranks together` : "";
  return { term, text: samplesPerSecond(l.steady), unit: "samples/s", below: `${samplesPerSecond(l.overall)} overall${all}` };
}

function computeTile(run: RunInfo, g: RunGpu): Tile {
  const each = g.gpus_used > 1 ? " per GPU" : "";
  const term = `Compute${each}`;
  if (g.tflops === null) return { term, text: null, below: whyNot(run, "tflops") };
  const peak = g.mfu_pct === null ? whyNot(run, "mfu_pct") : `${percent(g.mfu_pct)} of peak (${count(g.peak_tflops ?? 0)} TFLOP/s${g.peak_format === null ? "" : `, ${g.peak_format}`})`;
  return { term, text: fixed(g.tflops, 0), unit: "TFLOP/s", below: peak };
}

function energyTile(run: RunInfo, g: RunGpu): Tile {
  const step = g.energy_per_step_j === null ? `per step not known: ${whyNot(run, "energy_per_step_j")}` : `${joules(g.energy_per_step_j)} per step`;
  if (g.energy_per_sample_j !== null) return { term: "GPU energy", text: joules(g.energy_per_sample_j), unit: "per sample", below: step };
  const why = whyNot(run, "energy_per_sample_j");
  if (g.energy_per_step_j === null) return { term: "GPU energy", text: null, below: why };
  return { term: "GPU energy", text: joules(g.energy_per_step_j), unit: "per step", below: `per sample not known: ${why}` };
}

export function Tiles(p: { tiles: readonly Tile[] }) {
  return (
    <dl class="tiles">
      {p.tiles.map((t) => (
        <div key={t.term} class={t.text === null ? "unknown" : undefined}>
          <dt>{t.term}</dt>
          <dd class="tile-value tabular">
            {t.text ?? "not known"}
            {t.unit !== undefined && <span class="tile-unit"> {t.unit}</span>}
          </dd>
          <dd class="tile-below">
            {t.line !== undefined && <Spark values={t.line} />}
            {t.below}
          </dd>
        </div>
      ))}
    </dl>
  );
}

type Activity = "util_pct" | "sm_active_pct" | "tensor_active_pct" | "dram_active_pct";

/** How busy the units of a GPU are, each more specific than the one before. */
const ACTIVITIES: readonly { key: Activity; title: string; says: string }[] = [
  { key: "util_pct", title: "GPU utilization", says: "share of the time with a kernel running" },
  { key: "sm_active_pct", title: "SMs active", says: "share of the multiprocessors in use" },
  { key: "tensor_active_pct", title: "Tensor cores active", says: "share of their cycles in use" },
  { key: "dram_active_pct", title: "Memory bandwidth", says: "share of the GPU memory's bandwidth" },
];

function heldText(held: GpuUse["clock_held_pct"]): string {
  const reasons = Object.entries(held ?? {}).filter(([, pct]) => pct >= 1);
  if (held === null) return "";
  if (reasons.length === 0) return ", not throttled";
  return `, reduced by ${reasons.map(([key, pct]) => `${CLOCK_HOLDS[key] ?? key} ${fixed(pct, 0)} % of the time`).join(", ")}`;
}

/** The rows beside the activities. */
function gpuFacts(run: RunInfo, g: RunGpu): { term: string; text: string }[] {
  const each = g.gpus_used > 1 ? " per GPU" : "";
  const known = (v: number | null, key: string, text: (v: number) => string): string => (v === null ? `not known: ${whyNot(run, key)}` : text(v));
  const total = Math.max(...g.gpus.filter((x) => x.used).map((x) => x.memory_bytes ?? 0));
  const reserved = g.reserved_memory_bytes === null ? "" : `, ${bytes(g.reserved_memory_bytes)} reserved`;
  return [
    { term: "Power", text: known(g.power_w, "power_w", (v) => `${value(v, "W")}${each}`) },
    { term: "SM clock", text: known(g.clock_mhz, "clock_mhz", (v) => `${value(v, "MHz")}${heldText(g.clock_held_pct)}`) },
    { term: "Peak memory", text: known(g.peak_memory_bytes, "peak_memory_bytes", (v) => `${bytes(v)} allocated${reserved}`) },
    { term: "Memory in use", text: known(g.used_memory_bytes, "used_memory_bytes", (v) => `${bytes(v)}${total > 0 ? ` of ${bytes(total)}` : ""} (all processes)`) },
  ];
}

/** Units without a number, one line for each reason. */
function absences(run: RunInfo, g: RunGpu): string[] {
  const by = new Map<string, string[]>();
  for (const a of ACTIVITIES.filter((x) => g[x.key] === null)) by.set(whyNot(run, a.key), [...(by.get(whyNot(run, a.key)) ?? []), a.title]);
  return [...by].map(([why, titles]) => `Not measured: ${titles.join(", ")} (${why})`);
}

function GpuPart(p: { run: RunInfo; gpu: RunGpu }) {
  const { run, gpu } = p;
  return (
    <div class="loop-gpu">
      <div>
        <h3>{gpu.gpus_used > 1 ? `GPU activity, mean of ${gpu.gpus_used} GPUs` : "GPU activity"}</h3>
        <ul class="loop-activity">
          {ACTIVITIES.map((a) => {
            const v = gpu[a.key];
            if (v === null) return null;
            return (
              <li key={a.key} data-key={a.key} title={a.says}>
                <span>{a.title}</span>
                <Bar share={v / 100} text={percent(v)} />
              </li>
            );
          })}
        </ul>
        {absences(run, gpu).map((text) => (
          <p key={text} class="quiet loop-why">
            {text}
          </p>
        ))}
      </div>
      <div>
        <h3>Power, clock and memory</h3>
        <dl class="facts loop-facts">
          {gpuFacts(run, gpu).map((f) => (
            <div key={f.term} class="fact">
              <dt>{f.term}</dt>
              <dd>{f.text}</dd>
            </div>
          ))}
        </dl>
      </div>
    </div>
  );
}

const use = (key: Activity, title: string): Column<GpuEfficiency> => ({
  id: key,
  title,
  numeric: true,
  cell: (g) => percent(g.loop[key]),
  sort: (g) => g.loop[key],
});

const GPU_COLUMNS: readonly Column<GpuEfficiency>[] = [
  { id: "node", title: "Node", cell: (g) => g.node, sort: (g) => g.node },
  { id: "gpu", title: "GPU", cell: (g) => g.entity, sort: (g) => g.entity },
  use("util_pct", "Utilization"),
  use("sm_active_pct", "SMs"),
  use("tensor_active_pct", "Tensor"),
  use("dram_active_pct", "Bandwidth"),
  { id: "power", title: "Power", numeric: true, cell: (g) => value(g.loop.power_w, "W"), sort: (g) => g.loop.power_w },
  { id: "clock", title: "SM clock", numeric: true, cell: (g) => value(g.loop.clock_mhz, "MHz"), sort: (g) => g.loop.clock_mhz },
  { id: "memory", title: "Memory", numeric: true, cell: (g) => value(g.loop.used_memory_bytes, "B"), sort: (g) => g.loop.used_memory_bytes },
];

/** "13.9 s after warm-up, 96 iterations" */
function hintOf(run: RunInfo, g: RunGpu | null): ComponentChildren {
  if (run.loop_start_ns === null) return "whole job (no training steps were detected)";
  if (g === null || g.window !== "loop") return `${value(run.loop_duration_s, "s")}`;
  return `${value((g.end_ns - g.start_ns) / 1e9, "s")} after warm-up, ${plural(g.steps, "iteration")}`;
}

function NoGpus(p: { run: RunInfo }) {
  return <p class="quiet">GPU metrics are missing: {p.run.losses.find((l) => l.what === "gpu")?.why ?? "no GPU was measured"}.</p>;
}

const NOTHING: Steps = { ranks: [], steps: [], losses: [] };

/** The rank whose iterations are shown: the one that the first finding is about, else the one with most steps. */
export function shownRank(ranks: readonly StepRank[], best: StepRank | null, first: Verdict | null): StepRank | null {
  const f = first?.findings[0];
  const meant = ranks.find((r) => r.mode === "train" && r.node === f?.node && rankText(r.rank) === f.entity);
  return meant ?? best;
}

export function TrainingLoop(p: { run: RunInfo; steps: Load<Steps>; verdicts: readonly Verdict[] | null }) {
  const { run, steps } = p;
  const looped = run.loop_start_ns !== null;
  const gpu = run.gpu ?? null;
  const used = gpu !== null && gpu.gpus_used > 0 ? gpu : null;
  if (!looped && used === null) return null;
  const data = steps.data ?? NOTHING;
  const loop = loopOf(data.ranks);
  const rank = shownRank(data.ranks, loop.best, inOrder(p.verdicts ?? []).issues[0]?.v ?? null);
  const waiting = looped && steps.data === null;
  const wait = (t: Tile): Tile => (waiting ? { ...t, text: "…", below: "loading" } : t);
  const tiles = [
    ...(looped ? [wait(iterationTile(rank)), wait(throughputTile(loop))] : []),
    ...(used === null ? [] : [computeTile(run, used), energyTile(run, used)]),
  ];
  const onGpu = used !== null || hasGpu(run);
  return (
    <Card title={looped ? "Training loop" : "GPUs"} hint={hintOf(run, gpu)} class="loop">
      <Tiles tiles={tiles} />
      {looped && (
        <div class={`loop-clocks${onGpu ? " two" : ""}`}>{rank !== null && <ClockBars short ranks={[rank]} losses={data.losses} title={`Iteration breakdown${loop.ranks > 1 ? `, ${rankText(rank.rank)}` : ""}`} />}</div>
      )}
      {used !== null && <GpuPart run={run} gpu={used} />}
      {used !== null && used.gpus_used > 1 && (
        <DataTable caption="Each GPU in the training loop" columns={GPU_COLUMNS} rows={used.gpus.filter((g) => g.used)} rowKey={(g) => `${g.node} ${g.entity}`} limit={8} />
      )}
      {gpu !== null && used === null && hasGpu(run) && <NoGpus run={run} />}
    </Card>
  );
}
