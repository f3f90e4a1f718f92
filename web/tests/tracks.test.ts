// SPDX-License-Identifier: Apache-2.0
// Counter tracks of the timeline and the curves of two runs, without drawing them.
import assert from "node:assert/strict";
import test from "node:test";

import { curvePath, growths, scaleOf } from "../src/charts/curve";
import { firstTracks, trackLines, valueAt } from "../src/timeline/tracks_model";
import type { CounterSeries, Grid, GridSeries, MetricInfo, Step } from "../src/types";
import { addable, oneRank, pairsOf, rowsOf, shownOf, type Side, stepAt } from "../src/views/compare_curves";
import { axisText, marksOf } from "../src/views/compare_overlay";
import { counterCharts, metricCharts, withMarks } from "../src/views/metrics_plan";

const metric = (name: string, entities: string[], node = "a"): MetricInfo => ({ node, metric: name, unit: "%", title: null, entities });
const counter = (name: string, unit = "", own = true): CounterSeries =>
  ({ node: "a", metric: name, entity: "rank 0", unit, own, mean: 1, count: 2, v: [1, 2], min: [1, 2], max: [1, 2], last: 2 }) as CounterSeries;

test("a curve has pieces between gaps, is drawn across slow readings, and a reading alone is a point", () => {
  const x = (i: number): number => i;
  assert.equal(curvePath([1, 2, null, 3, undefined, 4, null, 5], x, (v) => v), "M0.0 1.0h0L1.0 2.0M3.0 3.0h0L5.0 4.0M7.0 5.0h0");
  assert.equal(curvePath([null, undefined], x, (v) => v), "");
});

test("scales begin at zero, percentages end at 100, and counters fit their values", () => {
  assert.deepEqual(scaleOf([[3, null, 7]], "B"), { low: 0, high: 7 });
  assert.deepEqual(scaleOf([[3, 7]], "%"), { low: 0, high: 100 });
  assert.deepEqual(scaleOf([[130]], "%"), { low: 0, high: 130 });
  assert.deepEqual(scaleOf([[2.28, 2.33]], "", true), { low: 2.28, high: 2.33 });
  assert.deepEqual(scaleOf([[-2, 5]], ""), { low: -2, high: 5 });
  assert.deepEqual(scaleOf([[5]], "", true), { low: 4.5, high: 5.5 });
  assert.equal(scaleOf([[null]], "%"), null);
});

test("marks are where their count grew", () => {
  assert.deepEqual(growths([0, 1, 1, null, 3, 3]), [1, 4]);
});

test("the first tracks are the program's own counters, all marks in one, then a few metrics", () => {
  const charts = [
    ...withMarks(counterCharts([counter("loss"), counter("epoch 0", "marks"), counter("epoch 1", "marks"), counter("cuda.reserved", "B", false)])),
    ...metricCharts([metric("cpu.util", ["cpu0", "cpu1", "total"]), metric("disk.read", ["sda"])], ""),
  ];
  assert.deepEqual(firstTracks(charts), ["counter:loss", "marks", "cpu.util"]);
  const marks = charts.find((c) => c.key === "marks");
  assert.deepEqual(marks && trackLines(marks).map((l) => [l.label, l.ask]), [["epoch 0, rank 0", "epoch 0"], ["epoch 1, rank 0", "epoch 1"]]);
});

test("of a metric a track has the whole, or the mean of its devices, for each node", () => {
  const [cpu, gpu, one] = metricCharts([metric("cpu.util", ["cpu0", "total"], "n1"), metric("cpu.util", ["cpu0", "total"], "n2"), metric("gpu.util", ["gpu0", "gpu1"]), metric("disk.read", ["sda"])], "");
  assert.deepEqual(trackLines(cpu!).map((l) => [l.label, l.ask]), [["n1", "cpu.util:total"], ["n2", "cpu.util:total"]]);
  assert.deepEqual(trackLines(gpu!).map((l) => l.ask), ["gpu.util:*mean*"]);
  assert.deepEqual(trackLines(one!).map((l) => l.ask), ["disk.read:sda"]);
});

test("the value at a time is the last reading before it, and nothing outside", () => {
  const grid = { from_ns: 100, to_ns: 140, step_ns: 10, n: 4, series: [] } as Grid;
  const s = { v: [1, null, 3, null] } as unknown as GridSeries;
  assert.deepEqual([105, 115, 125, 139, 99, 140].map((t) => valueAt(grid, s, t, 1)), [1, 1, 3, null, null, null]);
});

const step = (n: number, rank = 0): Step => ({ node: "a", rank, mode: "train", step: n, start_ns: 1e9 * n, duration_s: 0.5, iteration_s: n < 3 ? 1 : null, events: {} }) as unknown as Step;

test("a time is a step and the part of it that is over; before and after the steps there is none", () => {
  const steps = [0, 1, 2, 3].map((n) => step(n));
  assert.deepEqual([-1, 0.25e9, 1.5e9, 3.25e9, 3.6e9].map((t) => stepAt(steps, t)), [null, 0.25, 1.5, 3.5, null]);
  assert.equal(stepAt([], 5), null);
  assert.deepEqual(oneRank([step(1, 1), step(1), step(0, 1), step(0)]).map((s) => [s.rank, s.step]), [[0, 0], [0, 1]]);
});

test("two runs are drawn together on the time after their first step, or on the step's number", () => {
  const side = (start: number, names: string[], gpu: boolean): Side => ({
    start_ns: start,
    grid: { from_ns: start, to_ns: start + 2e9, step_ns: 1e9, n: 2, series: [{ node: "a", metric: gpu ? "gpu.util" : "cpu.util", v: [10, 30] }, { node: "b", metric: gpu ? "gpu.util" : "cpu.util", v: [20, null] }] } as unknown as Grid,
    counters: names.map((n) => counter(n)),
    counterGrid: { from_ns: start, step_ns: 1e9 },
    steps: [0, 1, 2, 3].map((n) => ({ ...step(n), start_ns: start + n * 1e9 })),
    charts: metricCharts([metric(gpu ? "gpu.util" : "cpu.util", ["total"])], ""),
  });
  const [a, b] = [side(5e9, ["loss", "mine"], false), side(50e9, ["loss"], true)];
  const pairs = pairsOf(a, b, "time");
  assert.deepEqual(pairs.map((p) => [p.id, p.a.length, p.b.length]), [["iteration", 3, 3], ["counter loss", 2, 2], ["cpu.util", 2, 0], ["gpu.util", 0, 2]]);
  assert.deepEqual(pairs[2]?.a, [{ x: 0.5, y: 15 }, { x: 1.5, y: 30 }]);
  assert.deepEqual(pairsOf(a, b, "step")[1]?.b.map((p) => p.x), [0.5, 1.5]);
  const rows = rowsOf(pairs[0]!, "time", 2);
  assert.deepEqual(rows.map((r) => [r.x, r.a, r.b]), [[0, 1, 1], [1, 1, 1]]);
});

test("what both runs have can be added, metrics and counters of the hooks, beside those that are shown at first", () => {
  const side = (names: string[]): Side => ({
    start_ns: 0,
    grid: { from_ns: 0, to_ns: 2e9, step_ns: 1e9, n: 2, series: names.map((n) => ({ node: "a", metric: n, v: [1, 2] })) } as unknown as Grid,
    counters: [counter("cuda.reserved", "B", false)],
    counterGrid: { from_ns: 0, step_ns: 1e9 },
    steps: [],
    charts: [...counterCharts([counter("cuda.reserved", "B", false)]), ...metricCharts(names.map((n) => metric(n, ["total"])), "")],
  });
  const [a, b] = [side(["cpu.util", "job.cpu", "mem.used", "disk.read"]), side(["mem.used", "psi.cpu.some", "job.cpu"])];
  const keys = (added: string[]): string[] => addable(a, b, added).map((c) => c.key);
  assert.deepEqual(keys([]), ["counter:cuda.reserved", "mem.used"]);
  assert.deepEqual(keys(["mem.used"]), ["counter:cuda.reserved"]);
  assert.deepEqual(shownOf(a.charts, ["mem.used", "gone"]).map((c) => c.key), ["cpu.util", "job.cpu", "mem.used"]);
  const added = pairsOf(a, b, "time", ["counter:cuda.reserved", "mem.used"]).map((p) => [p.title, p.a.length, p.b.length]);
  assert.deepEqual(added, [["CPU utilization", 2, 0], ["CPU of the job", 2, 2], ["Cuda reserved", 2, 2], ["Memory used", 2, 2]]);
  assert.deepEqual(pairsOf(a, b, "step", ["mem.used"]).map((p) => [p.id, p.a.length]), [["mem.used", 0]], "an added one is shown without points, so that it can be removed");
});

test("the curves of two runs have round marks, from before the first step on", () => {
  const rounded = (axis: "time" | "step", low: number, high: number): number[] => marksOf(axis, low, high, 500).map((v) => Math.round(v * 1e6) / 1e6);
  assert.deepEqual(rounded("time", -0.085, 3.96), [0, 1, 2, 3]);
  assert.deepEqual(rounded("time", 0.018, 0.5), [0.1, 0.2, 0.3, 0.4, 0.5]);
  assert.deepEqual(rounded("time", -70, 400), [0, 120, 240, 360]);
  assert.deepEqual(rounded("step", 0, 39), [0, 10, 20, 30]);
  assert.deepEqual([-10, 0, 0.5, 20].map((v) => axisText("time", v)), ["-10.0 s", "0 s", "500 ms", "20.0 s"]);
});

test("by step a counter's value belongs to the step that began last, wherever in it or behind it the value came", () => {
  const side = (late: number): Side => ({
    start_ns: 0,
    grid: null,
    counters: [{ ...counter("loss"), t_ns: [-1, 0.3e9, 1.6e9, 2.5e9, 3.9e9].map((t) => t + late * 1e9), values: [9, 4, 3, 2, 1] }],
    counterGrid: { from_ns: 0, step_ns: 1e9 },
    steps: [0, 1, 2, 3].map((n) => step(n)),
    charts: [],
  });
  const [, loss] = pairsOf(side(0), side(0.35), "step");
  const points = [4, 3, 2, 1].map((y, x) => ({ x, y }));
  assert.deepEqual(loss?.a, points);
  assert.deepEqual(loss?.b.slice(1), points, "the first is that of the value before");
  assert.deepEqual(rowsOf({ ...loss!, b: points }, "step").map((r) => [r.x, r.a, r.b]), [[0, 4, 4], [1, 3, 3], [2, 2, 2], [3, 1, 1]]);
  assert.deepEqual(rowsOf({ ...loss!, b: points }, "step", 2).map((r) => [r.x, r.a]), [[0, 3.5], [2, 1.5]]);
  assert.deepEqual(pairsOf(side(0), side(0), "time")[1]?.a.map((p) => p.x), [-1e-9, 0.3, 1.6, 2.5, 3.9]);
});
