// SPDX-License-Identifier: Apache-2.0
// overview_job.tsx - the training job summary: its phases, its times, its progress.
import { Card } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Empty } from "../components/empty";
import { percentages } from "../components/plots/arcs";
import { Pie, type Part } from "../components/plots/pie";
import type { Column } from "../components/table";
import { clock, dateTime, DEFAULT_CURRENCY, general, joules, percent, price, value, zone } from "../format";
import { PHASES } from "../palette";
import type { Phase, PhaseName, RunInfo } from "../types";
import { isAttached, STEPS_OF } from "../words";

const KINDS = ["initialization", "train", "eval", "finalization", "interruption"] as const satisfies readonly PhaseName[];

const phaseSeconds = (run: RunInfo): number[] => KINDS.map((kind) => run[`${kind}_s`] ?? 0);

const LOOP = { title: "Training loop", color: PHASES.train.color };

/** The parts that the job's time is made of. An interruption is one only where there was one. The
 * percentages are shared out among all phases, as in the terminal and in the report: those of the
 * loop are the ones of training and evaluation together. */
export function phaseParts(run: RunInfo): Part[] {
  const seconds = phaseSeconds(run);
  const pcts = percentages(seconds);
  const of = (...kinds: readonly number[]): { v: number; pct?: number } => {
    const v = kinds.reduce((sum, kind) => sum + (seconds[kind] ?? 0), 0);
    return pcts === null ? { v } : { v, pct: kinds.reduce((sum, kind) => sum + (pcts[kind] ?? 0), 0) };
  };
  const parts: Part[] = [
    { label: PHASES.initialization.title, color: PHASES.initialization.color, ...of(0) },
    { label: LOOP.title, color: LOOP.color, ...of(1, 2) },
  ];
  // null while the job runs: more steps may follow.
  if (run.finalization_s !== null) parts.push({ label: PHASES.finalization.title, color: PHASES.finalization.color, ...of(3) });
  if ((run.interruption_s ?? 0) > 0)
    parts.push({ label: PHASES.interruption.title, color: PHASES.interruption.color, ...of(4) });
  return parts;
}

function PhasePie(p: { run: RunInfo }) {
  const parts = phaseParts(p.run);
  if (parts.every((part) => part.v === 0)) {
    return (
      <Empty title={p.run.live ? "No phases yet" : "No phases recorded"} command="footplate run -- python train.py">
        Phases are derived from training steps.{" "}
        {isAttached(p.run)
          ? "Attach records no steps; start the job with:"
          : `Steps are detected automatically in ${STEPS_OF} when the program is started with:`}
      </Empty>
    );
  }
  return <Pie title="Time spent in phases of training" unit="s" parts={parts} total={value(p.run.job_duration_s, "s")} />;
}

interface Detail {
  term: string;
  text: string;
}

/** The percentages of the panel: those of the pie, so that they sum to 100 here too. */
function percentTexts(run: RunInfo): Record<string, string> {
  return Object.fromEntries(
    phaseParts(run).map((part) => [part.label, percent(part.pct)]),
  );
}

/** "0.0615 USD (p5.4xlarge, 6.88 USD/h)" */
export function priceText(run: RunInfo): string {
  const hour = run.price_per_hour === null ? [] : [`${general(run.price_per_hour)} ${run.currency ?? DEFAULT_CURRENCY}/h`];
  const rate = [...(run.machine === null ? [] : [run.machine]), ...hour].join(", ");
  return `${price(run.cost, run.currency)}${rate === "" ? "" : ` (${rate})`}`;
}

export function jobDetails(run: RunInfo): Detail[] {
  const running = (ns: number | null): string => (ns === null && run.live ? "still running" : dateTime(ns));
  const pct = percentTexts(run);
  const rows: Detail[] = [
    { term: "Start time", text: dateTime(run.job_start_ns ?? run.start_ns) },
    { term: "End time", text: run.live ? "still running" : running(run.job_end_ns ?? run.end_ns) },
    { term: "Job duration", text: value(run.job_duration_s ?? run.duration_s, "s") },
    { term: "Training loop start", text: dateTime(run.loop_start_ns) },
    { term: "Training loop end", text: run.loop_start_ns === null ? "-" : running(run.loop_end_ns) },
    { term: "Training loop duration", text: value(run.loop_duration_s, "s") },
    { term: "Initialization", text: value(run.initialization_s, "s") },
    { term: "Finalization", text: value(run.finalization_s, "s") },
    { term: "Initialization (%)", text: pct["Initialization"] ?? "-" },
    { term: "Training loop (%)", text: pct["Training loop"] ?? "-" },
    { term: "Finalization (%)", text: run.finalization_s === null ? "-" : (pct["Finalization"] ?? "-") },
  ];
  if ((run.interruption_s ?? 0) > 0) {
    rows.splice(8, 0, { term: "Interruption", text: value(run.interruption_s, "s") });
    rows.push({ term: "Interruption (%)", text: pct["Interruption"] ?? "-" });
  }
  const job = run.gpu?.job;
  if (job !== undefined && job.util_pct !== null) rows.push({ term: "GPU utilization, whole job", text: percent(job.util_pct) });
  if (job !== undefined && job.energy_j !== null) rows.push({ term: "GPU energy, whole job", text: joules(job.energy_j) });
  if (run.cost !== null) rows.push({ term: run.live ? "Cost so far" : "Cost", text: priceText(run) });
  return rows;
}

function JobDetails(p: { run: RunInfo }) {
  return (
    <div class="job-details">
      <h3>Training job details (times in {zone(p.run.job_start_ns ?? p.run.start_ns)})</h3>
      <dl>
        {jobDetails(p.run).map((d) => (
          <div key={d.term}>
            <dt>{d.term}</dt>
            <dd class="tabular">{d.text}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

interface Stretch extends Phase {
  left: number; // share of the job, 0..1
  wide: number;
}

/** Phases as shares of the job's time; those too narrow to be seen join what is before them. */
export function stretches(phases: readonly Phase[], from: number, to: number, pixels: number): Stretch[] {
  const span = Math.max(1, to - from);
  const out: Stretch[] = [];
  for (const ph of phases) {
    const left = (ph.start_ns - from) / span;
    const wide = (ph.end_ns - ph.start_ns) / span;
    const last = out[out.length - 1];
    if (last !== undefined && wide * pixels < 0.5 && left - (last.left + last.wide) < 1 / pixels) {
      last.wide = Math.max(last.wide, left + wide - last.left);
      last.end_ns = Math.max(last.end_ns, ph.end_ns);
    } else out.push({ ...ph, left, wide });
  }
  return out;
}

const columns: readonly Column<Phase>[] = [
  { id: "phase", title: "Phase", cell: (s) => PHASES[s.phase].title, sort: (s) => s.phase },
  { id: "start", title: "Start", cell: (s) => dateTime(s.start_ns), sort: (s) => s.start_ns },
  { id: "end", title: "End", cell: (s) => dateTime(s.end_ns), sort: (s) => s.end_ns },
  {
    id: "duration",
    title: "Duration",
    cell: (s) => value((s.end_ns - s.start_ns) / 1e9, "s"),
    sort: (s) => s.end_ns - s.start_ns,
    numeric: true,
  },
];

const PIXELS = 1200;

function progressText(run: RunInfo): string {
  const pcts = percentages(phaseSeconds(run)) ?? [];
  return KINDS.flatMap((kind, i) => ((run[`${kind}_s`] ?? 0) > 0 ? [`${PHASES[kind].title} ${percent(pcts[i])}`] : [])).join(", ");
}

function Progress(p: { run: RunInfo }) {
  const { phases } = p.run;
  const first = phases[0];
  const last = phases[phases.length - 1];
  if (first === undefined || last === undefined) return null;
  const from = Math.min(first.start_ns, p.run.job_start_ns ?? first.start_ns);
  const to = Math.max(last.end_ns, p.run.job_end_ns ?? last.end_ns);
  const span = to - from;
  const seen = (Object.keys(PHASES) as PhaseName[]).filter((name) => phases.some((ph) => ph.phase === name));
  return (
    <ChartFrame
      title="Training progress over time"
      summary={progressText(p.run)}
      table={() => ({ columns, rows: phases })}
      legend={
        <div class="legend">
          {seen.map((name) => (
            <span key={name} class="swatch">
              <i class={`phase-${name}`} aria-hidden="true" />
              {PHASES[name].title}
            </span>
          ))}
        </div>
      }
    >
      <div class="progress-bar" role="img" aria-label="Phases of the job in order">
        {stretches(phases, from, to, PIXELS).map((s) => (
          <span
            key={s.start_ns}
            class={`phase-${s.phase}`}
            style={{ left: `${s.left * 100}%`, width: `${s.wide * 100}%` }}
            title={`${PHASES[s.phase].title}: ${clock(s.start_ns, span)} to ${clock(s.end_ns, span)}, ${value((s.end_ns - s.start_ns) / 1e9, "s")}`}
          />
        ))}
      </div>
      <div class="progress-ends quiet tabular">
        {[0, 0.25, 0.5, 0.75, 1].map((at) => (
          <span key={at}>{clock(from + at * span, span)}</span>
        ))}
      </div>
    </ChartFrame>
  );
}

export function JobSummary(p: { run: RunInfo }) {
  return (
    <Card title="Training job summary" hint="whole job" class="job-summary">
      <div class="job-top">
        <PhasePie run={p.run} />
        <JobDetails run={p.run} />
      </div>
      <Progress run={p.run} />
    </Card>
  );
}
