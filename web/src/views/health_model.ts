// SPDX-License-Identifier: Apache-2.0
// health_model.ts - training health made ready for charts: scalars as columns by step or time, statistics of tensors as
// pictures, smoothing, and what the rules found as marks. Nothing here draws or fetches.
import { FULL, type HeatData, type HeatRow, NO_SAMPLE, NOT_FINITE } from "../charts/heatmap";
import type { LineMark } from "../charts/linechart";
import { msOf, type Span, width } from "../charts/span";
import { STEPS, TIME } from "../charts/timeaxis";
import { fixed, general, share, value } from "../format";
import type { Finding, Grid, GridSeries, HealthCurve, HealthIndex, HealthMatrix, HealthScalar, Verdict } from "../types";

export type HealthAxis = "step" | "time";

export const ACROSS = { step: STEPS, time: TIME } as const;

// ---- which scalars are shown where ----

const last = (name: string): string => name.split("/").pop() ?? name;

export const isLoss = (name: string): boolean => /^(loss|nll|cross_entropy)|[_-]loss$/.test(last(name));
const isRate = (name: string): boolean => /^lr(\.\d+)?$/.test(name);
const NORMS: readonly string[] = ["grad.norm", "grad.norm.clipped", "clip.max"];
const SCALE = "amp.scale";
/** Read by rules; a curve of them has no meaning. */
const HIDDEN = /^(batch\.hash|epoch|backward\.calls|step\.skipped|grad\.missing|health\.|nonfinite\.origin|importance\/)/;

export interface ScalarGroups {
  readonly losses: readonly HealthScalar[];
  readonly norms: readonly HealthScalar[];
  readonly rates: readonly HealthScalar[];
  readonly scale: readonly HealthScalar[];
  readonly others: readonly HealthScalar[];
}

/** The scalars of a rank by the chart they belong to. */
export function scalarGroups(index: HealthIndex, rank: number): ScalarGroups {
  const mine = index.scalars.filter((s) => s.rank === rank && !HIDDEN.test(s.name));
  const train = mine.filter((s) => s.mode === "train");
  const is = (s: HealthScalar): boolean => isLoss(s.name) || (s.mode === "train" && (isRate(s.name) || NORMS.includes(s.name) || s.name === SCALE));
  const losses = mine.filter((s) => isLoss(s.name));
  return {
    losses: [...losses.filter((s) => s.mode === "train"), ...losses.filter((s) => s.mode !== "train")],
    norms: NORMS.flatMap((n) => train.filter((s) => s.name === n)),
    rates: train.filter((s) => isRate(s.name)),
    scale: train.filter((s) => s.name === SCALE),
    others: mine.filter((s) => !is(s)),
  };
}

/** From the first to the last step of all scalars of a rank; null: none has steps. */
export function stepSpan(index: HealthIndex, rank: number): Span | null {
  const steps = index.scalars.filter((s) => s.rank === rank && s.first_step !== null && s.last_step !== null);
  if (steps.length === 0) return null;
  const from = steps.reduce((m, s) => Math.min(m, s.first_step as number), Infinity);
  const to = steps.reduce((m, s) => Math.max(m, s.last_step as number), -Infinity);
  return { from: from - 0.5, to: to + 0.5 };
}

/** A regular expression of the user; null: it is none. An empty one finds everything. */
export function pattern(text: string): RegExp | null {
  try {
    return new RegExp(text, "i");
  } catch {
    return null;
  }
}

/** Finds exactly this name, as an expression that the server understands; of a very long name its end. */
export function exactly(name: string): string {
  const escaped = name.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
  return escaped.length <= 190 ? `^${escaped}$` : `${name.slice(-90).replace(/[\\^$.|?*+()[\]{}]/g, "\\$&")}$`;
}

// ---- steps and times ----

/** Steps and when they were, both rising. */
export interface StepTimes {
  readonly step: readonly number[];
  readonly ms: readonly number[];
}

export function stepTimes(c: Pick<HealthCurve, "step" | "time_ns">): StepTimes {
  const out = { step: [] as number[], ms: [] as number[] };
  c.step.forEach((s, i) => {
    const before = out.step[out.step.length - 1] ?? -Infinity;
    if (s === null || s <= before) return; // a run that went back to an earlier step keeps its first pass
    out.step.push(s);
    out.ms.push(msOf(c.time_ns[i] as number));
  });
  return out;
}

/** Where x lies in `from`, read off `to`: straight lines between known places, the slope of the ends beyond them. */
export function mapped(x: number, from: readonly number[], to: readonly number[]): number {
  const n = from.length;
  if (n < 2) return to[0] ?? x;
  let [low, high] = [0, n - 1];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((from[middle] as number) <= x) low = middle;
    else high = middle;
  }
  const [a, b] = [from[low] as number, from[high] as number];
  const [c, d] = [to[low] as number, to[high] as number];
  return b > a ? c + ((x - a) / (b - a)) * (d - c) : c;
}

// ---- curves as columns ----

export interface Curve {
  /** Run, name and mode of the scalar. */
  readonly node: string;
  readonly metric: string;
  readonly entity: string;
  readonly x: readonly (number | null)[];
  readonly v: readonly (number | null)[];
  readonly min: readonly (number | null)[];
  readonly max: readonly (number | null)[];
  /** Where known: a point has the mean of several values. */
  readonly newest?: { readonly x: number; readonly v: number };
}

/** The newest value of a scalar of the run itself. */
export function newestOf(scalars: readonly HealthScalar[], name: string, mode: string, axis: HealthAxis): Curve["newest"] {
  const s = scalars.find((one) => one.name === name && one.mode === mode);
  if (s === undefined || s.last === null || s.last_step === null) return undefined;
  return { x: axis === "step" ? s.last_step : msOf(s.last_ns), v: s.last };
}

/** `shift`: ms that are added to its times. */
export function curveOf(run: string, c: HealthCurve, mode: string, axis: HealthAxis, shift: number): Curve {
  const x = axis === "step" ? c.step : c.time_ns.map((t) => msOf(t) + shift);
  return { node: run, metric: c.name, entity: mode, x, v: c.mean, min: c.min, max: c.max };
}

function seriesOf(c: Curve, from: number, each: number, n: number): GridSeries {
  const empty = (): (number | null)[] => new Array<number | null>(n).fill(null);
  const [v, min, max, counts] = [empty(), empty(), empty(), new Array<number>(n).fill(0)];
  let [total, known] = [0, 0];
  c.x.forEach((x, k) => {
    const y = c.v[k] ?? null;
    if (x === null || y === null) return;
    const i = Math.floor((x - from) / each);
    if (i < 0 || i >= n) return;
    const already = counts[i] as number;
    v[i] = ((v[i] ?? 0) * already + y) / (already + 1);
    counts[i] = already + 1;
    min[i] = Math.min(min[i] ?? Infinity, c.min[k] ?? y);
    max[i] = Math.max(max[i] ?? -Infinity, c.max[k] ?? y);
    total += y;
    known++;
  });
  return { node: c.node, metric: c.metric, entity: c.entity, unit: "", mean: known > 0 ? total / known : null, count: known, v, min, max };
}

/** Columns as charts want them. By step a column is a whole number of steps and its middle is one. */
export function gridOf(curves: readonly Curve[], span: Span, axis: HealthAxis, columns: number): Grid {
  const wide = Math.max(width(span), 1e-3);
  const each = axis === "step" ? Math.max(1, Math.ceil(wide / Math.max(columns, 1))) : wide / Math.max(columns, 1);
  const from = axis === "step" ? Math.ceil(span.from) - each / 2 : span.from;
  const n = Math.max(1, Math.ceil((span.to - from) / each - 1e-9));
  return { from_ns: from * 1e6, to_ns: (from + n * each) * 1e6, step_ns: each * 1e6, n, series: curves.map((c) => seriesOf(c, from, each, n)) };
}

/** A moving mean that forgets by `weight` a column; the first values count fully. */
export function smoothed(s: GridSeries, weight: number): GridSeries {
  let [sum, of] = [0, 0];
  const v = s.v.map((y) => {
    if (y === null) return null;
    sum = sum * weight + y;
    of = of * weight + 1;
    return sum / of;
  });
  return { ...s, entity: `${s.entity} smoothed`, v, min: v, max: v };
}

const log = (v: number | null): number | null => (v === null || v <= 0 ? null : Math.log10(v));

/** The same on a logarithmic scale; what is not above zero has no place there. */
export function logarithmic(grid: Grid, keep: (s: GridSeries) => boolean): Grid {
  return { ...grid, series: grid.series.map((s) => (keep(s) ? s : { ...s, v: s.v.map(log), min: s.min.map(log), max: s.max.map(log) })) };
}

export const lastOf = (v: readonly (number | null)[]): number | null => v.reduce<number | null>((a, x) => x ?? a, null);

/** The newest value of a window: a column of a narrow chart has the mean of several. */
export function lastWithin(c: Pick<Curve, "x" | "v" | "newest">, span: Span): number | null {
  if (c.newest !== undefined && c.newest.x >= span.from && c.newest.x <= span.to) return c.newest.v;
  return lastOf(c.v.map((v, i) => ((c.x[i] ?? Infinity) <= span.to && (c.x[i] ?? -Infinity) >= span.from ? v : null)));
}

// ---- findings ----

export interface HealthMark extends LineMark {
  readonly step: number | null;
  readonly rule: string;
  readonly finding: Finding;
}

const SEVERITIES: readonly Verdict["severity"][] = ["critical", "warning", "info"];

/** What rules about health found, at its place on the axis: the worst first, which is drawn over the others. */
export function findingMarks(verdicts: readonly Verdict[], axis: HealthAxis, times: StepTimes | null): HealthMark[] {
  return verdicts
    .filter((v) => v.health === true && v.state === "issue")
    .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity))
    .flatMap((v) =>
      v.findings.flatMap((finding) => {
        const step = finding.step ?? null;
        const ms = finding.start_ns === null ? null : msOf(finding.start_ns);
        const at = axis === "step" ? step : step !== null && times !== null ? mapped(step, times.step, times.ms) : ms;
        return at === null ? [] : [{ at, step, rule: v.title === "" ? v.rule : v.title, finding, colour: `--${v.severity}` }];
      }),
    );
}

// ---- pictures ----

/** The statistic that is made of two: how large the gradient is beside the weight. */
export const RATIO = "gradient/weight";

const cellOf = (m: HealthMatrix): Map<string, HealthMatrix["tensors"][number]> => new Map(m.tensors.map((t) => [t.name, t]));

/** The norm of each gradient over that of its weight, at the samples of the gradients. */
export function ratioOf(gradients: HealthMatrix, weights: HealthMatrix): HealthMatrix {
  const by = cellOf(weights);
  const column = gradients.step.map((s) => {
    let found = -1;
    weights.step.forEach((w, k) => {
      if (w !== null && s !== null && w <= s) found = k;
    });
    return found;
  });
  const tensors = gradients.tensors.flatMap((t) => {
    const w = by.get(t.name);
    if (w === undefined) return [];
    const values = t.values.map((g, i) => {
      const under = w.values[column[i] ?? -1] ?? null;
      return g === null || under === null || under <= 0 ? null : g / under;
    });
    return [{ name: t.name, values, bad: t.bad }];
  });
  return { ...gradients, statistic: RATIO, tensors };
}

export interface Shade {
  readonly low: number;
  readonly high: number;
  readonly log: boolean;
}

/** The ends of the colour scale: shares from 0 to 1, counts from 0, everything else by powers of ten. */
export function shadeOf(m: HealthMatrix, unit: string): Shade {
  if (unit === "share") return { low: 0, high: 1, log: false };
  let [low, high, least] = [Infinity, -Infinity, Infinity];
  for (const t of m.tensors)
    for (const v of t.values) {
      if (v === null) continue;
      high = Math.max(high, v);
      least = Math.min(least, v);
      if (v > 0) low = Math.min(low, v);
    }
  if (unit !== "" || least < 0) return { low: Math.min(least, 0), high: Math.max(high, 1e-30), log: false };
  if (!(low <= high)) return { low: -1, high: 0, log: true };
  const [a, b] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  return { low: a, high: b > a ? b : a + 1, log: true };
}

export function shadeText(s: Shade, percent: number, unit: string): string {
  const at = s.low + (percent / 100) * (s.high - s.low);
  return unit === "share" ? `${percent} %` : short(s.log ? 10 ** at : at);
}

/** At most five characters, beside the colour bar. */
function short(v: number): string {
  const a = Math.abs(v);
  if (a >= 9.95 && a < 9999.5) return fixed(v, 0);
  return a === 0 || (a >= 0.01 && a < 10) ? general(v, 2) : v.toExponential(0).replace("e+", "e");
}

function byteOf(v: number | null, s: Shade): number {
  if (v === null) return NO_SAMPLE;
  const at = s.log ? (v > 0 ? Math.log10(v) : s.low) : v;
  return Math.round(Math.min(Math.max((at - s.low) / (s.high - s.low), 0), 1) * FULL);
}

const HOLDS = 2.5;

/** The sample that each column shows, -1 for none: a sample holds until the next one, but not over a long pause. */
export function heldSamples(x: readonly (number | null)[], from: number, each: number, n: number): Int32Array {
  const out = new Int32Array(n).fill(-1);
  const apart = x.slice(1).map((v, i) => (v ?? 0) - (x[i] ?? 0)).sort((a, b) => a - b);
  const most = HOLDS * Math.max(apart[Math.floor(apart.length * 0.9)] ?? each, each);
  x.forEach((at, k) => {
    if (at === null) return;
    const next = x[k + 1] ?? at + (apart[apart.length >> 1] ?? each);
    const begin = Math.floor((at - from) / each);
    const end = Math.max(begin + 1, Math.ceil((Math.min(next, at + most) - from) / each));
    if (end > 0) out.fill(k, Math.max(begin, 0), Math.min(end, n));
  });
  return out;
}

const MOST_LABEL = 24;
const shortName = (name: string, most: number): string => (name.length <= most ? name : `…${name.slice(1 - most)}`);

/** A picture: a row per tensor, samples across. */
export function tensorHeat(m: HealthMatrix, shade: Shade, unit: string, span: Span, axis: HealthAxis, columns: number, room: number): HeatData {
  const x = axis === "step" ? m.step : m.time_ns.map(msOf);
  const each = axis === "step" ? Math.max(1, Math.ceil(width(span) / columns)) : width(span) / columns;
  const n = Math.max(1, Math.ceil(width(span) / each));
  const sample = heldSamples(x, axis === "step" ? span.from + 0.5 : span.from, each, n);
  const cells = new Uint8Array(n * m.tensors.length).fill(NO_SAMPLE);
  const bad = m.tensors.map((t) => new Set(t.bad));
  m.tensors.forEach((t, row) => {
    for (let c = 0; c < n; c++) {
      const k = sample[c] as number;
      if (k >= 0) cells[row * n + c] = bad[row]?.has(k) ? NOT_FINITE : byteOf(t.values[k] ?? null, shade);
    }
  });
  const rows: HeatRow[] = m.tensors.map((t) => ({ node: "", metric: m.statistic, entity: t.name }));
  const most = Math.min(MOST_LABEL, Math.floor(room / 6.2));
  const cell = (row: number, column: number): string => {
    const k = sample[column] ?? -1;
    if (k < 0) return "not measured";
    if (bad[row]?.has(k)) return "not finite";
    return cellText(m.tensors[row]?.values[k] ?? null, unit);
  };
  return { span: { from: span.from, to: span.from + n * each }, columns: n, rows, cells, look: { across: ACROSS[axis], bar: (p) => shadeText(shade, p, unit), cell, label: (r) => shortName(r.entity, most) } };
}

export function cellText(v: number | null, unit: string): string {
  return v === null ? "not measured" : unit === "share" ? share(v) : value(v, unit);
}

// ---- histograms ----

const SMALLEST = -127; // zeros, and what float32 stores without an exponent
const SPECIAL = 128; // NaN and infinite

const exponentOf = (name: string): number => (name === "0" ? SMALLEST : name === "not finite" ? SPECIAL : Number(name.replace("2^", "")));
const exponentName = (e: number): string => (e === SMALLEST ? "0" : e === SPECIAL ? "not finite" : `2^${e}`);

/** The shares of a tensor's values by power of two, the largest first and none left out between them. */
export function histogramOf(m: HealthMatrix): HealthMatrix {
  const of = new Map(m.tensors.map((t) => [exponentOf(t.name), t.values]));
  const whole = m.step.map((_, k) => m.tensors.reduce((sum, t) => sum + (t.values[k] ?? 0), 0));
  const powers = [...of.keys()].filter((e) => e !== SMALLEST && e !== SPECIAL);
  const [low, high] = [powers.reduce((a, b) => Math.min(a, b), SPECIAL), powers.reduce((a, b) => Math.max(a, b), SMALLEST)];
  const between = Array.from({ length: Math.max(high - low + 1, 0) }, (_, i) => high - i);
  const rows = [...(of.has(SPECIAL) ? [SPECIAL] : []), ...between, ...(of.has(SMALLEST) ? [SMALLEST] : [])];
  const share = (e: number, k: number): number | null => ((whole[k] ?? 0) > 0 ? (of.get(e)?.[k] ?? 0) / (whole[k] as number) : null);
  return { ...m, tensors: rows.map((e) => ({ name: exponentName(e), values: m.step.map((_, k) => share(e, k)), bad: [] })) };
}

// ---- update ratios ----

function quantile(sorted: readonly number[], q: number): number {
  const at = q * (sorted.length - 1);
  const [a, b] = [sorted[Math.floor(at)] as number, sorted[Math.ceil(at)] as number];
  return a + (b - a) * (at - Math.floor(at));
}

export const QUANTILES = [0.05, 0.5, 0.95] as const;

/** p5, p50 and p95 over the matrices of a model at each sample. */
export function quantileCurves(run: string, m: HealthMatrix, matrices: ReadonlySet<string> | null, axis: HealthAxis): Curve[] {
  const mine = m.tensors.filter((t) => matrices === null || matrices.has(t.name));
  const x = axis === "step" ? m.step : m.time_ns.map(msOf);
  const columns = x.map((_, i) =>
    mine
      .map((t) => t.values[i] ?? null)
      .filter((v): v is number => v !== null)
      .sort((a, b) => a - b),
  );
  return QUANTILES.map((q) => {
    const v = columns.map((c) => (c.length === 0 ? null : quantile(c, q)));
    return { node: run, metric: m.statistic, entity: `p${Math.round(100 * q)}`, x, v, min: v, max: v };
  });
}

/** Parameters of two or more dimensions; null: it is not known. */
export function matricesOf(dims: HealthMatrix | null): ReadonlySet<string> | null {
  if (dims === null || dims.tensors.length === 0) return null;
  return new Set(dims.tensors.filter((t) => (lastOf(t.values) ?? 0) >= 2).map((t) => t.name));
}

// ---- CSV ----

const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

export function csvText(head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string {
  return [head, ...rows].map((r) => `${r.map((c) => (c === null ? "" : quoted(String(c)))).join(",")}\n`).join("");
}
