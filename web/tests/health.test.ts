// SPDX-License-Identifier: Apache-2.0
// health.test.ts - training health made ready for charts: columns by step, smoothing, pictures, marks, quantiles.
import assert from "node:assert/strict";
import test from "node:test";

import { bridged } from "../src/charts/columns";
import { NO_SAMPLE, NOT_FINITE } from "../src/charts/heatmap";
import { stepTicks } from "../src/charts/timeaxis";
import type { Finding, HealthIndex, HealthMatrix, HealthScalar, Verdict } from "../src/types";
import {
  type Curve,
  csvText,
  exactly,
  findingMarks,
  gridOf,
  lastWithin,
  newestOf,
  heldSamples,
  histogramOf,
  logarithmic,
  mapped,
  matricesOf,
  quantileCurves,
  RATIO,
  ratioOf,
  scalarGroups,
  shadeOf,
  shadeText,
  smoothed,
  stepTimes,
  tensorHeat,
} from "../src/views/health_model";

const curve = (x: number[], v: (number | null)[]): Curve => ({ node: "r", metric: "loss", entity: "train", x, v, min: v, max: v });

const matrix = (statistic: string, step: number[], rows: Record<string, (number | null)[]>, bad: Record<string, number[]> = {}): HealthMatrix => ({
  statistic,
  rank: 0,
  samples: step.length,
  values: 0,
  nonfinite: 0,
  more: 0,
  step,
  time_ns: step.map((s) => s * 1e9),
  tensors: Object.entries(rows).map(([name, values]) => ({ name, values, bad: bad[name] ?? [] })),
});

test("each step has a column of its own whose middle is the step, while there are few", () => {
  const grid = gridOf([curve([0, 1, 2, 4], [5, 4, 3, 1])], { from: -0.5, to: 4.5 }, "step", 100);
  assert.deepEqual([grid.n, grid.step_ns, grid.from_ns], [5, 1e6, -0.5e6]);
  assert.deepEqual(grid.series[0]?.v, [5, 4, 3, null, 1]);
});

test("columns of several steps keep the mean, the smallest and the largest", () => {
  const grid = gridOf([curve([0, 1, 2, 3], [1, 3, 10, 20])], { from: -0.5, to: 3.5 }, "step", 2);
  const s = grid.series[0];
  assert.equal(grid.step_ns, 2e6);
  assert.deepEqual([s?.min, s?.max].map((v) => v?.filter((x) => x !== null)), [[1, 3, 20], [1, 10, 20]]);
  assert.equal(s?.count, 4);
});

test("the last value of a curve is that of its last step, not of a column of several", () => {
  const c = curve([0, 1, 2, 3], [1, 3, 10, 20]);
  assert.equal(lastWithin(c, { from: -0.5, to: 3.5 }), 20);
  assert.equal(lastWithin(c, { from: 0, to: 2 }), 10);
  assert.equal(lastWithin(c, { from: 7, to: 9 }), null);
  const scalar = { name: "loss", mode: "train", last: 21, last_step: 3, last_ns: 5e6 } as HealthScalar;
  const thinned = { ...c, newest: newestOf([scalar], "loss", "train", "step")! };
  assert.deepEqual([3.5, 2].map((to) => lastWithin(thinned, { from: 0, to })), [21, 10]);
  assert.equal(newestOf([scalar], "loss", "eval", "step"), undefined);
});

test("samples that lie far apart are one line", () => {
  assert.deepEqual(bridged([1, null, null, null, 2], 1e9), [1, undefined, undefined, undefined, 2]);
});

test("smoothing keeps a constant, begins at the first value and leaves gaps", () => {
  const grid = gridOf([curve([0, 1, 3], [2, 2, 2])], { from: -0.5, to: 3.5 }, "step", 10);
  const s = smoothed(grid.series[0]!, 0.9);
  assert.deepEqual(s.v.map((v) => (v === null ? null : Number(v.toFixed(9)))), [2, 2, null, 2]);
  assert.equal(s.entity, "train smoothed");
});

test("a logarithmic scale has no place for what is not above zero", () => {
  const grid = gridOf([curve([0, 1, 2], [100, 0, -1])], { from: -0.5, to: 2.5 }, "step", 10);
  assert.deepEqual(logarithmic(grid, () => false).series[0]?.v, [2, null, null]);
});

test("steps and times are read off each other, also beyond the ends", () => {
  const times = stepTimes({ step: [0, 10, 5, 20], time_ns: [0, 1e9, 2e9, 3e9] });
  assert.deepEqual(times.step, [0, 10, 20], "a step that goes back is left out");
  assert.equal(mapped(5, times.step, times.ms), 500);
  assert.equal(mapped(500, times.ms, times.step), 5);
  assert.equal(mapped(30, times.step, times.ms), 5000);
});

test("the gradient is compared with the weight of the last sample before it", () => {
  const g = matrix("gradient.l2", [0, 10, 20], { a: [1, 2, 4], b: [1, null, 1] }, { b: [1] });
  const w = matrix("weight.l2", [0, 20], { a: [2, 8], b: [0, 1] });
  const r = ratioOf(g, w);
  assert.equal(r.statistic, RATIO);
  assert.deepEqual(r.tensors.map((t) => t.values), [[0.5, 1, 0.5], [null, null, 1]]);
  assert.deepEqual(r.tensors[1]?.bad, [1]);
});

test("a picture tells what was not measured from what is not finite and from zero", () => {
  const m = matrix("gradient.l2", [0, 1, 2, 3], { a: [1, null, 0, 1000], b: [null, 10, null, 10] }, { a: [1] });
  const shade = shadeOf(m, "");
  assert.deepEqual(shade, { low: 0, high: 3, log: true });
  const heat = tensorHeat(m, shade, "", { from: -0.5, to: 3.5 }, "step", 100, 150);
  assert.deepEqual([...heat.cells], [0, NOT_FINITE, 0, 200, NO_SAMPLE, 67, NO_SAMPLE, 67]);
  assert.deepEqual([0, 1, 2, 3].map((c) => heat.look?.cell(0, c)), ["1", "not finite", "0", "1000"]);
  assert.equal(heat.look?.cell(1, 0), "not measured");
});

test("the marks beside the colour bar are short, and plain where they can be", () => {
  const shade = { low: -5, high: 5, log: true };
  assert.deepEqual([0, 50, 60, 70, 80, 100].map((p) => shadeText(shade, p, "")), ["1e-5", "1", "10", "100", "1000", "1e5"]);
  assert.deepEqual([33, 55].map((p) => shadeText(shade, p, "")), ["0.02", "3.2"]);
  assert.equal(shadeText({ low: 0, high: 1, log: false }, 25, "share"), "25 %");
});

test("shares have the scale from 0 to 1", () => {
  assert.deepEqual(shadeOf(matrix("output.dead", [0], { a: [0.2] }), "share"), { low: 0, high: 1, log: false });
});

test("a sample holds until the next one", () => {
  assert.deepEqual([...heldSamples([0, 1, 2, 6, 10], 0, 1, 12)], [0, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4]);
  assert.deepEqual([...heldSamples([0, 4, 8], 5, 1, 4)], [1, 1, 1, 2], "also into a window that begins after it");
});

test("quantiles are those of matrices alone", () => {
  const dims = matrix("parameter.dims", [0], { w: [2], v: [2], b: [1] });
  const m = matrix("update.ratio", [0, 10], { w: [1, 3], v: [3, 5], b: [1000, 1000] });
  const curves = quantileCurves("r", m, matricesOf(dims), "step");
  assert.deepEqual(curves.map((c) => c.entity), ["p5", "p50", "p95"]);
  assert.deepEqual(curves[1]?.v, [2, 4]);
  assert.equal(matricesOf(null), null);
});

const scalar = (name: string, mode: "train" | "eval" = "train"): HealthScalar => ({
  name, rank: 0, mode, count: 1, nonfinite: 0, first_step: 0, last_step: 0, first: 0, last: 0, min: 0, min_step: 0, max: 0, max_step: 0, nonfinite_step: null, first_ns: 0, last_ns: 0,
});

test("scalars go to the chart they belong to, and bookkeeping to none", () => {
  const names = ["lr", "accuracy", "loss", "grad.norm", "amp.scale", "batch.hash", "nonfinite.origin/loss/a", "validation_0/logloss"];
  const index: HealthIndex = { values: 1, ranks: [], statistics: [], tensors: [], saved: [], scalars: [scalar("loss", "eval"), ...names.map((n) => scalar(n))] };
  const g = scalarGroups(index, 0);
  assert.deepEqual(g.losses.map((s) => s.mode), ["train", "eval"]);
  assert.deepEqual([g.norms, g.rates, g.scale].map((x) => x.map((s) => s.name)), [["grad.norm"], ["lr"], ["amp.scale"]]);
  assert.deepEqual(g.others.map((s) => s.name), ["accuracy", "validation_0/logloss"]);
});

test("findings of rules about health are marks at their step or its time", () => {
  const finding = { step: 5, start_ns: 9e9, module: "2" } as unknown as Finding;
  const v = (health: boolean): Verdict => ({ rule: "NonFinite", title: "Not finite", health, state: "issue", severity: "critical", findings: [finding] }) as unknown as Verdict;
  assert.deepEqual(findingMarks([v(true), v(false)], "step", null).map((m) => [m.at, m.colour]), [[5, "--critical"]]);
  const slight: Verdict = { ...v(true), severity: "info" };
  assert.deepEqual(findingMarks([slight, v(true)], "step", null).map((m) => m.colour), ["--critical", "--info"], "the worst first");
  assert.equal(findingMarks([v(true)], "time", { step: [0, 10], ms: [0, 1000] })[0]?.at, 500);
});

test("marks of an axis of steps are whole numbers", () => {
  assert.deepEqual(stepTicks({ from: -0.5, to: 3.5 }, 1000).map((t) => t.at), [0, 1, 2, 3]);
  assert.ok(stepTicks({ from: 0, to: 1e6 }, 700).every((t) => t.at % 100000 === 0));
});

test("a name is searched as it is, and CSV quotes what needs it", () => {
  assert.equal(exactly("a.0.w+b"), "^a\\.0\\.w\\+b$");
  assert.ok(exactly("x.".repeat(300)).length <= 200);
  assert.equal(csvText(["a", "b"], [['x,"y"', null], ["z", 1.5]]), 'a,b\n"x,""y""",\nz,1.5\n');
});

test("a histogram has a row for every power of two between the ends, as shares of each sample", () => {
  const found = histogramOf(matrix("gradient.exponents", [0, 10], { "2^-3": [1, null], "0": [1, null], "2^-1": [2, 5], "not finite": [null, 5] }));
  assert.deepEqual(
    found.tensors.map((t) => [t.name, t.values]),
    [
      ["not finite", [0, 0.5]],
      ["2^-1", [0.5, 0.5]],
      ["2^-2", [0, 0]],
      ["2^-3", [0.25, 0]],
      ["0", [0.25, 0]],
    ],
  );
});
