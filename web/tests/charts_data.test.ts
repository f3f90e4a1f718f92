// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";

import { bandPieces, columnsIn } from "../src/charts/band";
import { partsOf, piecesOf, valueTicks } from "../src/charts/bars";
import { bridged, columnTimes, GrowingGrid, isFlatZero, lineData, lonely, readingAt, summary } from "../src/charts/columns";
import { cellAt, cellPixels, heatData, heatLayout, type HeatRow, hold, rowAt, rowTop } from "../src/charts/heatmap";
import { spreadEdges } from "../src/charts/histogram";
import { busyIn, partLanes, partOf, PARTS, sliceAt } from "../src/charts/lanes";
import type { Grid, GridSeries, Heatmap, Step, Timeline } from "../src/types";
import { asIteration } from "../src/views/steps_model";

const series = (v: (number | null)[], entity = "total"): GridSeries => ({
  node: "n",
  metric: "cpu.util",
  entity,
  unit: "%",
  mean: v.every((x) => x === null) ? null : 42,
  count: v.filter((x) => x !== null).length,
  v,
  min: v.map((x) => (x === null ? null : x - 1)),
  max: v.map((x) => (x === null ? null : x + 1)),
});

const gridOf = (...s: GridSeries[]): Grid => ({
  from_ns: 1e9,
  to_ns: 1e9 + (s[0]?.v.length ?? 0) * 1e8,
  step_ns: 1e8,
  n: s[0]?.v.length ?? 0,
  series: s,
});

test("columns between two readings of a slow series are drawn across, a real gap is not", () => {
  const cells = bridged([1, null, null, 2, null, null, 3, null, null, null, null, null, null, null, null, 4], 1);
  assert.deepEqual(cells.slice(0, 7), [1, undefined, undefined, 2, undefined, undefined, 3]);
  assert.deepEqual(cells.slice(7, 15), Array(8).fill(null));
});

test("one missed reading at the run's interval is no gap, three are", () => {
  assert.equal(bridged([1, 2, null, 3], 1)[2], undefined);
  assert.equal(bridged([1, 2, 3, null, null, null, 4], 1)[4], null);
});

test("a series without any reading stays a gap", () => {
  assert.deepEqual(bridged([null, null], 1), [null, null]);
});

test("a line has a band only where readings differ, and it keeps the extremes", () => {
  const flat = { ...series([1, 2]), min: [1, 2], max: [1, 2] };
  assert.equal(lineData(flat, gridOf(flat), 100).max, null);
  const spiky = { ...series([1, 2]), min: [1, 0], max: [1, 99] };
  assert.deepEqual(lineData(spiky, gridOf(spiky), 100).max, [1, 99]);
});

test("a reading between two gaps is drawn as a point, others are not", () => {
  assert.deepEqual(lonely([1, 2, null, 3, undefined, null, 4]), [3, 6]);
});

test("a band keeps the extremes of columns that share a pixel, and breaks at gaps", () => {
  const at = [0, 1, 2, 3, 4];
  const pieces = bandPieces(at, [1, 0, 5, null, 2], [2, 9, 6, null, 3], { first: 0, last: 4 }, (t) => t / 2);
  assert.deepEqual(pieces, [
    { x: [0, 1], low: [1, 0], high: [2, 9] },
    { x: [2], low: [2], high: [3] },
  ]);
});

test("the columns of a window are those inside and one more on each side", () => {
  assert.deepEqual(columnsIn([10, 20, 30, 40, 50], 25, 35), { first: 1, last: 3 });
  assert.deepEqual(columnsIn([10, 20], 0, 99), { first: 0, last: 1 });
});

test("a column's time is its middle", () => {
  assert.deepEqual(columnTimes(gridOf(series([1, 2]))), [1050, 1150]);
});

test("new samples grow the columns, keep spikes, and count for their own series only", () => {
  const g = new GrowingGrid(gridOf(series([10, 20]), series([1, 1], "cpu0")));
  const own = (s: GridSeries): boolean => s.entity === "total";
  assert.ok(g.append([{ at: 1310, value: 30 }, { at: 1350, value: 90 }], own));
  const { n, series: got, to_ns } = g.snapshot();
  assert.equal(n, 4);
  assert.equal(to_ns, 1e9 + 4e8);
  assert.deepEqual(got[0]?.v, [10, 20, null, 60]);
  assert.equal(got[0]?.max[3], 90);
  assert.equal(got[0]?.min[3], 30);
  assert.deepEqual(got[1]?.v, [1, 1, null, null]);
  assert.deepEqual([got[0]?.mean, got[0]?.count], [(42 * 2 + 30 + 90) / 4, 4]);
  assert.deepEqual([got[1]?.mean, got[1]?.count], [42, 2]);
});

test("a sample that the columns hold already is not counted again", () => {
  const g = new GrowingGrid(gridOf(series([10, 20])));
  assert.ok(!g.append([{ at: 1150, value: 99 }], () => true));
  assert.deepEqual(g.snapshot().series[0]?.v, [10, 20]);
});

test("the reading under the cursor is that of the nearest column near by, else nothing", () => {
  const g = gridOf(series([10, null, 30, null, null, null, null, null]));
  const s = g.series[0] as GridSeries;
  assert.equal(readingAt(s, g, 1050, 100), 10);
  assert.equal(readingAt(s, g, 1110, 100), 10);
  assert.equal(readingAt(s, g, 1750, 100), null);
});

test("values that come when they are reported have no gaps, however long a pause is", () => {
  const g = gridOf(series([null, 10, null, null, null, null, 20, null, 30]));
  const line = lineData(g.series[0] as GridSeries, g, Infinity);
  assert.deepEqual(line.mean, [null, 10, undefined, undefined, undefined, undefined, 20, undefined, 30]);
  assert.deepEqual(line.alone, []);
  assert.equal(readingAt(g.series[0] as GridSeries, g, 1350, Infinity), 10);
  const none = gridOf(series([null, null]));
  assert.equal(readingAt(none.series[0] as GridSeries, none, 1050, Infinity), null);
});

test("a summary has the smallest and largest reading and the mean of all, not those of the columns' means", () => {
  assert.deepEqual(summary(series([10, null, 20])), { min: 9, max: 21, mean: 42 });
  assert.equal(summary(series([null])), null);
});

const ROWS: HeatRow[] = [
  { node: "n", metric: "cpu.util", entity: "cpu0" },
  { node: "n", metric: "cpu.util", entity: "cpu1" },
  { node: "n", metric: "gpu.util", entity: "gpu0" },
];

const heat = (cells: number[], n = 4): Heatmap => ({
  from_ns: 0,
  to_ns: n * 1e9,
  step_ns: 1e9,
  n,
  rows: ROWS,
  cells: btoa(String.fromCharCode(...cells)),
});

test("the cell under a point has the row, the time and the value of the answer", () => {
  const data = heatData(heat([0, 1, 2, 3, 50, 51, 52, 53, 200, 255, 255, 255]), null);
  const l = heatLayout(ROWS, { left: 60, top: 20, width: 400 });
  const y = 20 + rowTop(1, l.rowHeight, l.gaps) + 1;
  assert.equal(rowAt(y, l, 3), 1);
  assert.deepEqual(cellAt(data, 1, 2500), { row: ROWS[1], from: 2000, to: 3000, percent: 26 });
  assert.equal(cellAt(data, 2, 100)?.percent, 100);
  assert.equal(cellAt(data, 2, 3500)?.percent, null);
  assert.equal(cellAt(data, 0, 4500), null);
});

test("a gap stands between cores and GPUs, and no row is under it", () => {
  const l = heatLayout(ROWS, { left: 60, top: 20, width: 400 });
  assert.deepEqual(l.gaps, [2]);
  assert.equal(rowAt(20 + rowTop(2, l.rowHeight, l.gaps) - 2, l, 3), null);
});

test("labels of many rows do not overlap, and each group's first row has one", () => {
  const rows = [...Array(96).keys()].map((i) => ({ node: "n", metric: "cpu.util", entity: `cpu${i}` }));
  rows.push({ node: "n", metric: "gpu.util", entity: "gpu0" });
  const l = heatLayout(rows, { left: 60, top: 0, width: 400 });
  l.labels.forEach((label, i) => {
    const before = l.labels[i - 1];
    if (before) assert.ok(label.y - before.y >= 13);
  });
  assert.ok(l.labels.some((x) => x.text === "gpu0"));
});

test("a reading holds between columns narrower than the interval, not across a gap", () => {
  const cells = Uint8Array.from([10, 255, 255, 20, 255, 255, 255, 255, 255, 30]);
  hold(cells, 10, 4);
  assert.deepEqual([...cells], [10, 10, 10, 20, 255, 255, 255, 255, 255, 30]);
});

test("holding does not run on into the next row", () => {
  const cells = Uint8Array.from([255, 10, 255, 20]);
  hold(cells, 2, 4);
  assert.deepEqual([...cells], [255, 10, 255, 20]);
});

test("a pixel is one cell, row after row", () => {
  const data = heatData(heat([0, 0, 0, 200, 0, 0, 0, 0, 255, 0, 0, 0]), null);
  const pixels = cellPixels(data);
  assert.equal(pixels.length, 12);
  assert.notEqual(pixels[3], pixels[2]);
  assert.equal(pixels[8], 0);
});

const TIMELINE: Timeline = {
  from_ns: 1e9,
  to_ns: 2e9,
  lanes: [
    { id: 0, node: "n", rank: 1, pid: 1, thread: "main", title: "", kind: "events", depth: 1 },
    { id: 1, node: "n", rank: 0, pid: 1, thread: "main", title: "", kind: "events", depth: 1 },
    { id: 2, node: "n", rank: 0, pid: 1, thread: "ops", title: "", kind: "operators", depth: 1 },
  ],
  names: ["forward", "data", "all_reduce", "forward.eval", "mine"],
  categories: ["phase", "loader", "comm", "user"],
  slices: {
    lane: [0, 1, 1, 1, 1, 2],
    row: [0, 0, 0, 0, 0, 0],
    start: [5e6, 1e6, 3e6, 7e6, 9e6, 0],
    dur: [1e6, 1e6, 1e6, 1e6, 1e6, 1e6],
    name: [0, 1, 0, 2, 4, 0],
    category: [0, 1, 0, 2, 3, 0],
    merged: [0, 0, 12, 0, 0, 0],
  },
  cut: false,
};

test("slices are sorted into a lane for each rank and part, in the order of a step", () => {
  const lanes = partLanes(TIMELINE);
  assert.deepEqual(
    lanes.map((l) => [l.rank, l.part.id, l.slices.length]),
    [
      [0, "data", 1],
      [0, "forward", 1],
      [0, "comm", 1],
      [1, "forward", 1],
    ],
  );
  assert.equal(lanes[0]?.slices[0]?.from, 1001);
});

test("an event belongs to the part it is called after, a collective goes by its category", () => {
  assert.equal(partOf("forward.eval", "phase")?.id, "forward");
  assert.equal(partOf("eval 12", "phase")?.id, "eval");
  assert.equal(partOf("all_reduce", "comm")?.id, "comm");
  assert.equal(partOf("h2d", "memcpy")?.title, "Copy to device");
  assert.equal(partOf("forwarding", "user"), null);
});

test("a process that did not say its rank has that of its steps", () => {
  const steps = { id: 0, node: "n", rank: 3, pid: 9, thread: null, title: "", kind: "steps", depth: 1 } as const;
  const silent = { ...steps, id: 1, rank: null, thread: "main", kind: "events" } as const;
  const slices = { ...TIMELINE.slices, lane: [1], row: [0], start: [0], dur: [1], name: [0], category: [0], merged: [0] };
  assert.deepEqual(partLanes({ ...TIMELINE, lanes: [steps, silent], slices }).map((l) => l.rank), [3]);
});

test("events that the server could not tell apart are shown as such", () => {
  const slices = { ...TIMELINE.slices, lane: [0], row: [0], start: [0], dur: [5e6], name: [4], category: [3], merged: [900] };
  assert.deepEqual(partLanes({ ...TIMELINE, slices }).map((l) => l.part.title), ["Dense (zoom in)"]);
});

test("the slice under the pointer is found, and none beside it", () => {
  const [, forward] = partLanes(TIMELINE);
  assert.ok(forward);
  assert.equal(sliceAt(forward, 1003.5)?.merged, 12);
  assert.equal(sliceAt(forward, 1005), null);
  assert.equal(sliceAt(forward, 1004.5, 1)?.merged, 12);
});

test("busy time inside an interval is clipped to it, and counts merged slices", () => {
  const [, forward] = partLanes(TIMELINE);
  assert.ok(forward);
  assert.deepEqual(busyIn(forward, { from: 1003.5, to: 1100 }), { ms: 0.5, count: 12 });
});

test("merged slices are as long as what is in them, and overlap nothing", () => {
  const slice = (from: number, to: number, merged: number) => ({ from, to, name: "optimizer", merged });
  const lane = { node: "n", rank: 0, part: PARTS[4]!, slices: [slice(0, 2, 2), slice(1, 1.5, 2), slice(4, 6, 0), slice(5, 6, 0)] };
  assert.deepEqual(busyIn(lane, { from: 0, to: 10 }), { ms: 2 + 0.5 + 2, count: 6 });
});

const step = (events: Record<string, number>, duration_s: number): Step =>
  ({ node: "n", rank: 0, mode: "train", step: 1, start_ns: 0, duration_s, between_s: null, iteration_s: null, cut: false, warmup: false, disturbed: false, events }) as unknown as Step;

test("the pieces of a bar add up to the step, with what is left over as other", () => {
  const s = step({ data: 0.1, forward: 0.3, other: 0.05 }, 0.5);
  const pieces = piecesOf(s, partsOf([s]));
  assert.deepEqual(pieces.map((p) => p.part), ["data", "forward", "other"]);
  assert.equal(pieces[pieces.length - 1]?.to_s, 0.5);
});

test("what lies between steps is the last piece of an iteration, and not other", () => {
  const s = asIteration({ ...step({ data: 0.1, forward: 0.3, other: 0.1 }, 0.5), between_s: 0.2, iteration_s: 0.7 });
  const pieces = piecesOf(s, partsOf([s]));
  assert.deepEqual(pieces.map((p) => p.part), ["data", "forward", "other", "between"]);
  assert.ok(Math.abs(pieces[2]!.to_s - pieces[2]!.from_s - 0.1) < 1e-12);
  assert.ok(Math.abs(pieces[3]!.to_s - 0.7) < 1e-12, "up to the begin of the next step");
  assert.equal(asIteration(step({ data: 0.1 }, 0.5)).duration_s, 0.5, "the last step has no iteration");
});

test("a chart whose every reading is zero is flat; one without readings, or with one above, is not", () => {
  const of = (v: (number | null)[], max = v): GridSeries => ({ ...series(v), min: v, max });
  assert.ok(isFlatZero([of([0, null, 0]), of([0])]));
  assert.ok(!isFlatZero([of([0, 0]), of([0, 3])]), "one of two lines");
  assert.ok(!isFlatZero([of([null, null])]), "not measured is not zero");
  assert.ok(!isFlatZero([of([0, 0, 0], [0, 0.5, 0])]), "a mean of zero with a peak");
  assert.ok(!isFlatZero([]));
});

test("a part that was not measured, or took no time, has no piece", () => {
  const s = step({ data: 0, forward: 0.5 }, 0.5);
  assert.deepEqual(piecesOf(s, ["data", "forward", "other"]).map((p) => p.part), ["forward"]);
});

test("marks of a value axis are round and reach from nothing to near the top", () => {
  assert.deepEqual(valueTicks(0.011), [0, 0.005, 0.01]);
  assert.deepEqual(valueTicks(0), [0]);
});

test("bins without a width get some, others stay as they are", () => {
  assert.deepEqual(spreadEdges([1, 2, 3]), { edges: [1, 2, 3], low: 1, high: 3 });
  const { edges, low, high } = spreadEdges([1, 1, 1]);
  const [first, second, third] = edges as [number, number, number];
  assert.ok(first < 1 && second > 1 && third === second, "the first bin is around the value");
  assert.ok(low < first && high > second && Math.abs((low + high) / 2 - 1) < 1e-9, "in the middle of the axis");
});
