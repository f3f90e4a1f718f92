// SPDX-License-Identifier: Apache-2.0
// metrics.test.ts - which charts the Metrics view has, and the lines in them.
import assert from "node:assert/strict";
import test from "node:test";

import { scaleOf } from "../src/charts/columns";
import { value } from "../src/format";
import type { Grid, MetricInfo } from "../src/types";
import { chartMatches, counterCharts, entityLabel, inGroups, inPercent, metricCharts, planMetrics, topOf, withMarks } from "../src/views/metrics_plan";

const info = (metric: string, entities: string[], more: Partial<MetricInfo> = {}): MetricInfo => ({ node: "a", metric, unit: "%", title: null, entities, ...more });

const METRICS = [
  info("cpu.util", ["cpu0", "cpu1", "total"], { title: "CPU utilization" }),
  info("fan.speed", ["fan0"], { unit: "rpm" }),
  info("mem.used", ["total"], { unit: "B", title: "memory used" }),
  info("self.cpu", ["total"]),
];

test("every metric has a chart, in groups of which an unknown one is its own", () => {
  const groups = inGroups(metricCharts(METRICS, ""));
  assert.deepEqual(groups.map((g) => [g.title, g.charts.map((c) => c.title)]), [
    ["CPU", ["CPU utilization"]],
    ["Memory", ["Memory used"]],
    ["Fan", ["Fan speed"]],
    ["Footplate itself", ["Self CPU"]],
  ]);
  const fan = groups[2]?.charts[0];
  assert.ok(fan !== undefined && chartMatches(fan, "speed fan0") && !chartMatches(fan, "speed cpu"));
});

test("counters of the program come first, those of the hooks apart", () => {
  const one = (metric: string, entity: string, own: boolean) => ({ node: "a", metric, entity, unit: "", own });
  const charts = counterCharts([one("loss", "rank 0", true), one("loss", "rank 1", true), one("loader.queue", "rank 0", false)]);
  assert.deepEqual(inGroups([...metricCharts(METRICS, ""), ...charts]).map((g) => g.title), [
    "Counters and marks of the program",
    "CPU",
    "Memory",
    "Counters of the hooks",
    "Fan",
    "Footplate itself",
  ]);
  const plan = planMetrics(charts.slice(0, 1), []);
  assert.deepEqual(plan.asks, ["counter:loss"]);
  assert.deepEqual(plan.looks.map((l) => l.label), ["rank 0", "rank 1"]);
});

test("marks of many names are one chart with a line each, those of few names have a chart each", () => {
  const mark = (metric: string) => ({ node: "a", metric, entity: "rank 0", unit: "marks", own: true });
  const epochs = [0, 1, 2].map((n) => mark(`epoch ${n}`));
  assert.deepEqual(withMarks(counterCharts(epochs.slice(0, 2)), 2).map((c) => c.title), ["epoch 0", "epoch 1"]);
  const charts = withMarks(counterCharts([{ ...mark("loss"), unit: "" }, ...epochs]), 2);
  assert.deepEqual(charts.map((c) => [c.key, c.title]), [["counter:loss", "loss"], ["marks", "Marks"]]);
  const plan = planMetrics(charts.slice(1), []);
  assert.deepEqual(plan.asks, ["counter:epoch 0", "counter:epoch 1", "counter:epoch 2"]);
  assert.deepEqual(plan.looks.map((l) => l.label), ["epoch 0, rank 0", "epoch 1, rank 0", "epoch 2, rank 0"]);
  assert.deepEqual([value(1, plan.unit), value(3, plan.unit)], ["1 mark", "3 marks"]);
});

test("few devices have a line each; of many the total, and those that are chosen", () => {
  const lines = (entities: string[], chosen: string[]): string[] => planMetrics(metricCharts([info("cpu.util", entities)], ""), chosen).looks.map((l) => l.label);
  const many = Array.from({ length: 12 }, (_, i) => `cpu${i}`);
  assert.deepEqual(lines(["cpu0", "cpu1", "total"], []), ["total", "cpu0", "cpu1"]);
  assert.deepEqual(lines([...many, "total"], ["cpu10", "gpu0"]), ["total", "cpu10"]);
  assert.deepEqual(lines(many, []), ["mean"]);
  assert.equal(entityLabel("417:python"), "python (417)");
});

test("several metrics in one chart keep their units and are drawn in percent of their largest value", () => {
  const plan = planMetrics(metricCharts(METRICS.slice(0, 3), ""), []);
  assert.deepEqual(plan.looks.map((l) => [l.label, l.unit]), [
    ["CPU utilization", "%"],
    ["Fan speed, fan0", "rpm"],
    ["Memory used", "B"],
  ]);
  const series = { node: "a", metric: "mem.used", entity: "total", unit: "B", mean: 1, count: 2, v: [50, null, 200], min: [50, null, 200], max: [50, null, 200] };
  const grid: Grid = { from_ns: 0, to_ns: 3, step_ns: 1, n: 3, series: [series] };
  assert.deepEqual(inPercent(grid).series[0]?.v, [25, null, 100]);
  assert.equal(topOf({ ...grid, series: [{ ...series, metric: "self.cpu", unit: "%" }] }, planMetrics(metricCharts(METRICS.slice(3), ""), [])), null, "more than one core");
});

test("a scale begins at zero or below, or fits the data", () => {
  assert.deepEqual(scaleOf(null, false, true), [0, 1024]);
  assert.deepEqual(scaleOf({ low: 5, high: 100 }, false, false), [0, 106]);
  assert.deepEqual(scaleOf({ low: -50, high: -10 }, false, false), [-53, 0]);
  const [low, high] = scaleOf({ low: 2, high: 3 }, true, false);
  assert.ok(low > 1.9 && low < 2 && high > 3 && high < 3.1);
  const [a, b] = scaleOf({ low: 0, high: 0 }, true, false);
  assert.ok(a < 0 && b > 0);
});
