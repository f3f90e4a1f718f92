// SPDX-License-Identifier: Apache-2.0
// health_data.ts - the Health view's windows, by step and by time, which follow each other, and what is requested from
// the server for them.
import { useEffect, useMemo } from "preact/hooks";

import { api } from "../api";
import { nsOf, type Span, same, width } from "../charts/span";
import { TimeSync } from "../charts/sync";
import { type Load, useLoad } from "../load";
import { params } from "../state";
import type { HealthIndex, HealthMatrix, HealthScalar, RunInfo, RunRow } from "../types";
import { type Curve, curveOf, type HealthAxis, type HealthMark, mapped, newestOf, RATIO, ratioOf, type StepTimes, stepSpan, stepTimes } from "./health_model";
import { type Asked, useSlowTick } from "./nodes_data";

/** What the charts of the view have in common. */
export interface HealthAsk {
  readonly run: RunInfo;
  readonly index: HealthIndex;
  readonly rank: number;
  readonly axis: HealthAxis;
  readonly sync: TimeSync;
  readonly asked: Asked;
  readonly times: StepTimes | null;
  readonly pixels: number;
  readonly left: number;
  readonly right: number;
  /** Runs that are shown too. */
  readonly others: readonly RunRow[];
  readonly smoothing: number;
  readonly marks: readonly HealthMark[];
}

const MAP_POINTS = 2000;

/** When the steps of a rank were. */
export function useStepTimes(run: RunInfo, index: HealthIndex, rank: number): StepTimes | null {
  const mine = index.scalars.filter((s) => s.rank === rank && s.first_step !== null);
  const most = mine.reduce<HealthScalar | null>((a, s) => (a === null || s.count > a.count ? s : a), null);
  const load = useLoad(
    most === null ? null : `${run.run} ${rank} ${most.name} ${most.mode}`,
    (signal) => api.healthScalars(run.run, { name: [most?.name ?? ""], mode: most?.mode, rank, points: MAP_POINTS }, signal),
    useSlowTick(run.live),
    true,
  );
  const curve = load.data?.[0];
  return useMemo(() => (curve === undefined ? null : stepTimes(curve)), [curve]);
}

/** The window by step; it and the window by time lead each other. */
export function useStepSync(run: RunInfo, index: HealthIndex, rank: number, time: TimeSync, times: StepTimes | null): TimeSync {
  const whole = stepSpan(index, rank) ?? { from: 0, to: 1 };
  const sync = useMemo(() => new TimeSync(whole), [run.run, rank]);
  useEffect(() => sync.setWhole(whole), [sync, whole.from, whole.to]);
  useEffect(() => (times === null || times.step.length < 2 ? undefined : linked(sync, time, times)), [sync, time, times]);
  return sync;
}

function linked(steps: TimeSync, time: TimeSync, times: StepTimes): () => void {
  const toTime = (x: number): number => mapped(x, times.step, times.ms);
  const toStep = (x: number): number => Math.min(Math.max(mapped(x, times.ms, times.step), steps.whole.from), steps.whole.to); // before and after training there are no steps
  const spanTo = (s: Span, to: (x: number) => number): Span => ({ from: to(s.from), to: to(s.to) });
  const lead = (from: TimeSync, to: TimeSync, map: (x: number) => number, set: { by: TimeSync | null }) =>
    from.join((changed) => {
      if (changed.has("cursor")) to.setCursor(from.cursor === null ? null : map(from.cursor));
      if (!changed.has("window")) return;
      if (set.by === to) {
        set.by = null; // it was set from the other side
        return;
      }
      const next = from.zoomed ? spanTo(from.window, map) : null;
      if (next === null ? !to.zoomed : to.zoomed && same(next, to.window)) return;
      const before = to.window;
      set.by = from;
      to.setWindow(next !== null && width(next) > 0 ? next : null);
      if (to.window === before || same(to.window, before)) set.by = null;
    });
  const set: { by: TimeSync | null } = { by: null };
  const first = time.zoomed ? spanTo(time.window, toStep) : null;
  if (first !== null && width(first) > 0) steps.setWindow(first);
  const leave = [lead(steps, time, toTime, set), lead(time, steps, toStep, set)];
  return () => {
    for (const l of leave) l();
  };
}

/** The window as it is requested from the server: null where all is requested. */
function askSpan(a: HealthAsk): Span | null {
  return a.asked.key === "whole" ? null : a.asked.span;
}

/** The window in steps, for what is only stored by step. */
function askSteps(a: HealthAsk): { from_step?: number; to_step?: number } {
  const span = askSpan(a);
  if (span === null) return {};
  const step = (x: number): number => (a.axis === "step" || a.times === null ? x : mapped(x, a.times.ms, a.times.step));
  const around = Math.ceil((step(span.to) - step(span.from)) / 10) + 1;
  return { from_step: Math.max(0, Math.floor(step(span.from)) - around), to_step: Math.ceil(step(span.to)) + around };
}

async function curvesOfRun(a: HealthAsk, other: RunRow | null, scalars: readonly HealthScalar[], signal: AbortSignal): Promise<Curve[]> {
  const run = other?.run ?? a.run.run;
  const shift = other === null ? 0 : ((a.run.start_ns ?? 0) - (other.start_ns ?? 0)) / 1e6;
  const span = askSpan(a);
  const time = span === null ? {} : { from: nsOf(span.from - shift), to: nsOf(span.to - shift) };
  const where = a.axis === "step" ? askSteps(a) : time;
  const modes = [...new Set(scalars.map((s) => s.mode))];
  const parts = await Promise.all(
    modes.map(async (mode) => {
      const name = scalars.filter((s) => s.mode === mode).map((s) => s.name);
      const rank = other === null ? { rank: a.rank } : {};
      const curves = await api.healthScalars(run, { name, mode, ...rank, ...where, points: a.pixels }, signal);
      return curves.filter((c) => c.values > 0).map((c) => {
        const newest = other === null ? newestOf(scalars.filter((s) => s.rank === c.rank), c.name, mode, a.axis) : undefined;
        return { ...curveOf(run, c, mode, a.axis, shift), ...(newest === undefined ? {} : { newest }) };
      });
    }),
  );
  return parts.flat();
}

/** Scalars of the run and of those that are shown with it. */
export async function readCurves(a: HealthAsk, scalars: readonly HealthScalar[], signal: AbortSignal): Promise<Curve[]> {
  return (await Promise.all([null, ...a.others].map((o) => curvesOfRun(a, o, scalars, signal)))).flat();
}

/** The same, again whenever the window moves. */
export function useCurves(a: HealthAsk, what: string, scalars: readonly HealthScalar[]): Load<Curve[]> {
  const key = scalars.length === 0 || a.pixels === 0 ? null : [what, a.run.run, a.rank, a.axis, a.asked.key, a.pixels, ...a.others.map((o) => o.run), ...scalars.map((s) => `${s.name} ${s.mode}`)].join("|");
  return useLoad(key, (signal) => readCurves(a, scalars, signal), useSlowTick(a.run.live), true);
}

const COLUMNS = 600;
const ROWS = 400;

async function matrix(a: HealthAsk, statistic: string, q: { match?: string; from_step?: number; to_step?: number }, signal: AbortSignal): Promise<HealthMatrix> {
  const ask = (name: string): Promise<HealthMatrix> => api.healthTensors(a.run.run, { statistic: name, rank: a.rank, columns: COLUMNS, rows: ROWS, ...q }, signal);
  if (statistic !== RATIO) return ask(statistic);
  const [g, w] = await Promise.all([ask("gradient.l2"), ask("weight.l2")]);
  return ratioOf(g, w);
}

/** A statistic of the tensors that an expression finds, of the whole run. */
export function useMatrix(a: HealthAsk, statistic: string | null, match: string): Load<HealthMatrix> {
  const key = statistic === null ? null : [a.run.run, a.rank, statistic, match].join("|");
  return useLoad(key, (signal) => matrix(a, statistic ?? "", { match }, signal), useSlowTick(a.run.live), true);
}

/** The same of the window, where the whole run has more samples than columns; null: it has not. */
export function useSharper(a: HealthAsk, statistic: string, match: string, whole: HealthMatrix | null): HealthMatrix | null {
  const needed = whole !== null && whole.samples > whole.step.length && a.asked.key !== "whole";
  const key = needed ? [a.run.run, a.rank, statistic, match, a.asked.key].join("|") : null;
  return useLoad(key, (signal) => matrix(a, statistic, { match, ...askSteps(a) }, signal)).data;
}

/** Statistics of one tensor, those that it has. */
export function useTensor(a: HealthAsk, match: string | null, statistics: readonly string[]): Load<HealthMatrix[]> {
  const key = match === null ? null : [a.run.run, a.rank, match, ...statistics].join("|");
  return useLoad(
    key,
    async (signal) => {
      const all = await Promise.all(statistics.map((s) => matrix(a, s, { match: match ?? "" }, signal)));
      return all.filter((m) => m.tensors.length > 0);
    },
    useSlowTick(a.run.live),
  );
}

/** The names of runs in the address that are shown with this one. */
export const WITH = "with";
export const namesShown = (): string[] => (params.value[WITH] ?? "").split(",").filter((n) => n !== "").map(decodeURIComponent);
