// SPDX-License-Identifier: Apache-2.0
// steps_model.ts - what the Steps view adds up itself, apart from drawing it.
import type { StepBar } from "../charts/bars";
import type { BreakdownStep, Histograms, Step, StepRank } from "../types";

/** Of one rank and mode. */
export const rankKey = (s: { node: string; rank: number | null; mode: string }): string =>
  `${s.node} ${s.rank ?? ""} ${s.mode}`;

export interface Line {
  key: string;
  node: string;
  rank: number | null;
  mode: string;
  steps: Step[];
}

/** Steps by rank and mode, in the order of their numbers. */
export function linesOf(steps: readonly Step[]): Line[] {
  const lines = new Map<string, Line>();
  for (const step of steps) {
    const key = rankKey(step);
    const line = lines.get(key) ?? { key, node: step.node, rank: step.rank, mode: step.mode, steps: [] };
    line.steps.push(step);
    lines.set(key, line);
  }
  for (const line of lines.values()) line.steps.sort((a, b) => a.start_ns - b.start_ns);
  return [...lines.values()].sort((a, b) => (a.rank ?? 1e9) - (b.rank ?? 1e9) || (a.node < b.node ? -1 : 1));
}

export interface Outlier {
  node: string;
  rank: number | null;
  mode: string;
  step: number;
  duration_s: number;
  iteration_s: number;
  start_ns: number;
  /** How many times the median iteration of its rank it took; null where that is not known. */
  times: number | null;
}

/** All outliers of the run, the worst first. */
export function outliersOf(h: Histograms, ranks: readonly StepRank[]): Outlier[] {
  const median = new Map(ranks.map((r) => [rankKey(r), r.iteration_s.p50]));
  const all = h.steps.flatMap((s) =>
    s.outliers.map((o) => {
      const p50 = median.get(rankKey(s)) ?? null;
      return { node: s.node, rank: s.rank, mode: s.mode, ...o, times: p50 ? o.iteration_s / p50 : null };
    }),
  );
  return all.sort((a, b) => b.iteration_s - a.iteration_s);
}

/** Why a step is excluded from the statistics; null: it is included. */
export type Mark = "warm-up" | "slowed by a detail window";

export function markOf(s: Pick<Step, "warmup" | "disturbed">): Mark | null {
  return s.disturbed ? "slowed by a detail window" : s.warmup ? "warm-up" : null;
}

/** Steps that have an iteration: the last one of a rank has none. */
export type Iteration = Step & { iteration_s: number };
export const iterationsOf = (steps: readonly Step[]): Iteration[] =>
  steps.filter((s): s is Iteration => s.iteration_s !== null);

/** A step with what follows it up to the next: its parts and "between" make up the iteration. */
export function asIteration(s: Step): Step {
  if (s.iteration_s === null) return s;
  return { ...s, duration_s: s.iteration_s, events: { ...s.events, between: s.between_s } };
}

/** The longest iteration that is no outlier and counts: a scale on which the usual ones can be distinguished. */
export function usualTop(steps: readonly Iteration[], outliers: ReadonlySet<string>): number {
  const usual = steps.filter((s) => markOf(s) === null && !outliers.has(`${rankKey(s)} ${s.step}`)).map((s) => s.iteration_s);
  const top = usual.reduce((a, b) => Math.max(a, b), 0);
  return top > 0 ? top * 1.15 : steps.reduce((a, s) => Math.max(a, s.iteration_s), 1e-9);
}

export interface Straggle {
  mode: string;
  step: number;
  start_ns: number;
  duration_s: number;
  slowest: { node: string; rank: number | null };
  /** Its own work above that of the median rank: what the others waited for. */
  lag_s: number;
  /** Where the ranks wait for each other. */
  wait: Wait;
}

/** The parts in which ranks wait for each other. DDP runs its collectives inside of backward; where they are recorded,
 * backward may be work (src/query/frontier.c). */
const WAITS = { backward: ["backward", "comm", "sync"], comm: ["comm", "sync"] } as const;
export type Wait = keyof typeof WAITS;

/** Of the steps of a rank: with fewer of them in collectives, these are not where the ranks wait. */
const COMM_LEAST = 0.6;

/** Own work of an iteration, for the ranks of one step: waiting for other ranks does not count for the one that
 * waits. So the parts in which the ranks wait for each other are left out: the rank that waits least there is slowest,
 * and only differences between ranks are used. What a rank does between its steps makes the others wait, too: an
 * iteration counts, not a step. */
function ownWorkIn(steps: readonly Step[], wait: Wait): (s: Step) => number {
  const whole = steps.every((s) => s.iteration_s !== null && s.iteration_s !== undefined);
  const lasted = (s: Step): number => (whole ? (s.iteration_s as number) : s.duration_s);
  return (s) => WAITS[wait].reduce((own, part) => own - (s.events[part] ?? 0), lasted(s));
}

export const hasComm = (s: Step): boolean => (s.events["comm"] ?? 0) > 0;

/** Whether each rank has collectives in most of its steps. */
function commOnAll(steps: readonly Step[]): boolean {
  return linesOf(steps).every((l) => l.steps.filter(hasComm).length >= COMM_LEAST * l.steps.length);
}

/** Steps of each number, of all ranks. */
function byNumber(steps: readonly Step[]): Step[][] {
  const out = new Map<string, Step[]>();
  for (const s of steps) {
    const key = `${s.mode} ${s.step}`;
    const list = out.get(key);
    if (list) list.push(s);
    else out.set(key, [s]);
  }
  return [...out.values()].filter((list) => list.length > 1);
}

function straggleOf(ranks: readonly Step[], wait: Wait): Straggle {
  const ownWork = ownWorkIn(ranks, wait);
  const sorted = [...ranks].sort((a, b) => ownWork(a) - ownWork(b));
  const last = sorted[sorted.length - 1]!;
  const middle = sorted[Math.floor((sorted.length - 1) / 2)]!;
  return {
    mode: last.mode,
    step: last.step,
    start_ns: last.start_ns,
    duration_s: last.iteration_s ?? last.duration_s,
    slowest: { node: last.node, rank: last.rank },
    lag_s: ownWork(last) - ownWork(middle),
    wait,
  };
}

/** The slowest rank of each step that several ranks took part in. Warm-up and steps that a detail window slowed are
 * left out, unless there are no others. Where the ranks wait is not recorded: of both possibilities the one with
 * the larger lag is used, as by the rule. */
export function stragglesOf(steps: readonly Step[]): Straggle[] {
  const all = byNumber(steps);
  const usual = all.filter((list) => list.every((s) => markOf(s) === null));
  const used = usual.length > 0 ? usual : all;
  const lags = (wait: Wait): Straggle[] => used.map((ranks) => straggleOf(ranks, wait)).sort((a, b) => a.step - b.step);
  const total = (list: readonly Straggle[]): number => list.reduce((sum, s) => sum + s.lag_s, 0);
  const backward = lags("backward");
  const comm = commOnAll(used.flat()) ? lags("comm") : [];
  return total(comm) > total(backward) ? comm : backward;
}

export interface Straggler {
  node: string;
  rank: number | null;
  slowest: number;
  share: number;
  lag_s: number;
}

/** Below this share of the step, ranks are equally fast. */
const EVEN = 0.01;

/** How often each rank was the slowest, and what the others waited for it; the worst first. */
export function stragglersOf(straggles: readonly Straggle[]): Straggler[] {
  const out = new Map<string, Straggler>();
  for (const s of straggles) {
    if (s.lag_s < s.duration_s * EVEN) continue;
    const key = `${s.slowest.node} ${s.slowest.rank ?? ""}`;
    const row = out.get(key) ?? { ...s.slowest, slowest: 0, share: 0, lag_s: 0 };
    row.slowest++;
    row.lag_s += s.lag_s;
    out.set(key, row);
  }
  const rows = [...out.values()].map((r) => ({ ...r, share: r.slowest / straggles.length }));
  return rows.sort((a, b) => b.lag_s - a.lag_s);
}

/** Whether anything but the loader was recorded inside the steps: otherwise there is no breakdown. */
export function hasDetail(steps: readonly BreakdownStep[]): boolean {
  return steps.some((s) => s.kernel_us + s.memcpy_us + s.communication_us + s.runtime_us + s.cpu_us > 0);
}

/** Parts of a step by the breakdown, in the order in which they count. */
export const ROLES = [
  { id: "kernel", title: "Kernels" },
  { id: "memcpy", title: "Copies" },
  { id: "memset", title: "Memset" },
  { id: "communication", title: "Communication" },
  { id: "runtime", title: "CUDA runtime" },
  { id: "dataloader", title: "Data loading" },
  { id: "cpu", title: "CPU operators" },
  { id: "other", title: "Other" },
] as const;

export type Role = (typeof ROLES)[number]["id"];

export const roleUs = (s: BreakdownStep, role: Role): number => s[`${role}_us`];

/** A step of the breakdown in the shape the stacked bars take. */
export function asStep(s: BreakdownStep): StepBar {
  const events = Object.fromEntries(ROLES.map((r) => [r.id, roleUs(s, r.id) / 1e6]));
  const { node, rank, step } = s;
  return { node, rank, step, duration_s: s.total_us / 1e6, cut: false, warmup: false, disturbed: false, events };
}

export interface Critical {
  role: (typeof ROLES)[number];
  /** Of the time of all steps. */
  share: number;
  steps: number;
}

/** What most of the steps' time goes to. */
export function criticalOf(steps: readonly BreakdownStep[]): Critical | null {
  const total = steps.reduce((sum, s) => sum + s.total_us, 0);
  if (total <= 0) return null;
  const of = (role: Role): number => steps.reduce((sum, s) => sum + roleUs(s, role), 0);
  const role = [...ROLES].sort((a, b) => of(b.id) - of(a.id))[0]!;
  return { role, share: of(role.id) / total, steps: steps.filter((s) => s.critical === role.id).length };
}
