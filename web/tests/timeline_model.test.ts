// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import type { Answer, Lane } from "../src/timeline/model";
import { asAnswer, buildChunk, covers, hasSlices, indexAt, sliceOf, uniteLanes } from "../src/timeline/model";
import { bodies, contrast, labelOf, lookOf, LOOKS, styleOf, textOn } from "../src/timeline/palette";

const lane = (id: string, more: Partial<Lane> = {}): Lane => ({
  id,
  node: "a",
  rank: 0,
  pid: 1,
  thread: id,
  title: `thread ${id}`,
  kind: "events",
  depth: 2,
  ...more,
});

/** Slices as [lane, row, start, dur, name]. */
function answer(lanes: Lane[], rows: [number, number, number, number, number][]): Answer {
  return {
    lanes,
    names: ["load", "forward", "conv"],
    categories: ["phase", "kernel"],
    slices: {
      lane: rows.map((r) => r[0]),
      row: rows.map((r) => r[1]),
      start: rows.map((r) => r[2]),
      dur: rows.map((r) => r[3]),
      name: rows.map((r) => r[4]),
      category: rows.map(() => 1),
      merged: rows.map(() => 0),
    },
    base: 0,
    cut: false,
  };
}

const SCENE = answer(
  [lane("7"), lane("9")],
  [
    [0, 0, 500, 100, 1],
    [0, 0, 100, 200, 0],
    [0, 1, 120, 30, 2],
    [1, 0, 0, 1000, 1],
  ],
);

test("a window is empty where nothing but phases lies in it", () => {
  const scene = answer([lane("7"), lane("9", { kind: "phases" })], [[0, 0, 500, 100, 1], [0, 1, 120, 30, 2], [1, 0, 0, 1000, 1]]);
  const chunks = [buildChunk(scene, { from: 0, to: 1000 }, 100)];
  const has = (from: number, to: number): boolean => hasSlices(chunks, { from, to });
  assert.deepEqual([has(0, 1000), has(140, 200), has(150, 500), has(599, 700), has(600, 700), has(0, 120)], [true, true, false, true, false, false]);
  assert.equal(hasSlices([], { from: 0, to: 1 }), false);
});

test("slices find their lane and row and are sorted by start", () => {
  const chunk = buildChunk({ ...SCENE, base: 1000 }, { from: 1000, to: 3000 }, 100);
  const rows = chunk.tracks.get(lane("7").id)!;
  assert.deepEqual([...rows[0]!.start], [1100, 1500]);
  assert.deepEqual([...rows[0]!.end], [1300, 1600]);
  assert.deepEqual([...rows[1]!.start], [1120]);
  assert.equal(chunk.count, 4);
});

test("phases of a GPU that overlap by a rounding are in one row, and those inside another are not", () => {
  const gpu = { ...lane("gpu0", { kind: "gpu", thread: "gpu0" }), id: 0 };
  const slices = (rows: [number, number, number][]) => ({
    lane: rows.map(() => 0),
    row: rows.map((r) => r[0]),
    start: rows.map((r) => r[1]),
    dur: rows.map((r) => r[2]),
    name: rows.map(() => 0),
    category: rows.map(() => 0),
    merged: rows.map(() => 0),
  });
  const asked = (rows: [number, number, number][], more = {}) =>
    asAnswer({ from_ns: 0, to_ns: 1e9, lanes: [{ ...gpu, ...more }], names: ["f"], categories: ["phase"], slices: slices(rows), cut: false }, 0);
  const after = asked([[0, 0, 50_020], [1, 50_000, 9000], [0, 80_000, 100]]);
  assert.deepEqual(after.slices.row, [0, 0, 0]);
  assert.equal(after.slices.dur[0], 50_000, "ends where the next begins");
  assert.equal(after.lanes[0]!.depth, 1);
  const nested = asked([[0, 0, 90_000], [1, 20_000, 9000]]);
  assert.deepEqual([nested.slices.row, nested.lanes[0]!.depth], [[0, 1], 2]);
  const stream = asked([[0, 0, 50_020], [1, 50_000, 9000]], { thread: "stream 7" });
  assert.deepEqual([stream.slices.row, stream.lanes[0]!.depth], [[0, 1], 2], "kernels stay as they are");
});

test("a hit is the slice under the time, or the nearest within reach", () => {
  const chunk = buildChunk(SCENE, { from: 0, to: 2000 }, 100);
  const track = chunk.tracks.get(lane("7").id)![0]!;
  assert.equal(indexAt(track, 150, 0), 0);
  assert.equal(indexAt(track, 599, 0), 1);
  assert.equal(indexAt(track, 400, 50), -1);
  assert.equal(indexAt(track, 310, 50), 0);
  assert.equal(indexAt(track, 490, 50), 1);
  assert.equal(indexAt(track, 5000, 50), -1);
});

test("hits agree with a search through all slices", () => {
  const rows: [number, number, number, number, number][] = [];
  for (let i = 0, t = 0; i < 500; i++) {
    t += (i * 7919) % 13;
    rows.push([0, 0, t, 1 + (i % 5), i % 3]);
    t += 1 + (i % 5);
  }
  const track = buildChunk(answer([lane("7")], rows), { from: 0, to: 1e4 }, 100).tracks.get(
    lane("7").id,
  )![0]!;
  for (let t = 0; t < 6000; t += 3) {
    const slow = rows.findIndex((r) => r[2] <= t && t < r[2] + r[3]);
    assert.equal(indexAt(track, t, -1), slow);
  }
});

test("a slice names itself with times behind the start of the run", () => {
  const chunk = buildChunk({ ...SCENE, base: 1000 }, { from: 1000, to: 3000 }, 100);
  const slice = sliceOf(chunk, lane("7"), 1, 0)!;
  assert.equal(slice.name, "conv");
  assert.equal(slice.category, "kernel");
  assert.deepEqual([slice.start, slice.end], [1120, 1150]);
  assert.equal(sliceOf(chunk, lane("7"), 1, 5), null);
});

test("lanes of two answers become one list, as deep as either says", () => {
  const all = uniteLanes([lane("1"), lane("2")], [lane("2", { depth: 4 }), lane("6")]);
  assert.deepEqual(
    all.map((l) => [l.id, l.depth]),
    [
      ["1", 2],
      ["2", 4],
      ["6", 2],
    ],
  );
});

test("a chunk covers a window that lies well inside it and is not much sharper", () => {
  const bounds = { from: 0, to: 10000 };
  const chunk = buildChunk(SCENE, { from: 2000, to: 5000 }, 3000);
  assert.ok(covers(chunk, { from: 3000, to: 4000 }, 1000, bounds));
  assert.ok(!covers(chunk, { from: 4300, to: 5300 }, 1000, bounds), "beyond its end");
  assert.ok(!covers(chunk, { from: 3000, to: 3500 }, 1000, bounds), "too blurred");
  assert.ok(!covers(chunk, { from: 4500, to: 5000 }, 400, bounds), "no margin left");
});

test("the whole run needs no margin beyond its ends", () => {
  const bounds = { from: 0, to: 2000 };
  const chunk = buildChunk(SCENE, bounds, 1000);
  assert.ok(covers(chunk, bounds, 1000, bounds));
});

test("threads of a process that says its rank elsewhere belong to that rank", () => {
  const raw = { id: 0, node: "a", rank: null, pid: 7, thread: "t", title: "t", kind: "gpu", depth: 1 } as const;
  const { lanes, base } = asAnswer(
    {
      ...answer([], []),
      from_ns: 5000,
      to_ns: 6000,
      lanes: [{ ...raw, rank: 3, kind: "steps", thread: null }, raw, { ...raw, pid: 8 }],
    },
    2000,
  );
  assert.deepEqual(
    lanes.map((l) => l.rank),
    [3, 3, null],
  );
  assert.equal(new Set(lanes.map((l) => l.id)).size, 3);
  assert.equal(base, 3000);
});

test("a phase is coloured by its name, an operator by its category", () => {
  assert.equal(lookOf(styleOf("phases", "phase", "backward")).key, "backward");
  assert.equal(lookOf(styleOf("operators", "op", "aten::add")).key, "op");
  assert.equal(lookOf(styleOf("gpu", "unheard of", "x")).key, "other");
  assert.equal(lookOf(styleOf("steps", "phase", "train 3")).key, "step");
  assert.equal(lookOf(styleOf("steps", "phase", "eval 3")).key, "eval");
});

/** Variables of a theme, from the style sheet itself. */
function themeColours(dark: boolean): Map<string, string> {
  const sheet = readFileSync(join(process.env["FOOTPLATE_ROOT"] ?? ".", "web", "made", "colours.css"), "utf8");
  const [light = "", darkOnes = ""] = sheet.split(':root[data-theme="dark"]');
  const read = (text: string) => [...text.matchAll(/(--[a-z0-9-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1]!, m[2]!] as const);
  return new Map([...read(light), ...(dark ? read(darkOnes) : [])]);
}

for (const dark of [false, true])
  test(`names can be read on every slice of the ${dark ? "dark" : "light"} theme`, () => {
    const colours = themeColours(dark);
    const white = [255, 255, 255] as const;
    bodies((name) => colours.get(name) ?? assert.fail(name)).forEach((body, style) => {
      const text = textOn(body) === "#ffffff" ? white : ([0x0b, 0x0e, 0x13] as const);
      assert.ok(contrast(body, text) >= 4.5, `${lookOf(style).key} ${contrast(body, text)}`);
    });
  });

test("no two looks are the same in colour and in pattern", () => {
  const seen = new Set(LOOKS.map((look) => look.colour + look.pattern));
  assert.equal(seen.size, LOOKS.length);
});

test("a stream of two detail windows is one lane that has the slices of both", () => {
  const place = { node: "a", rank: 0, pid: 1, thread: "stream 7", title: "stream 7", kind: "gpu" as const };
  const { lanes, slices } = answer([], [
    [0, 0, 500, 100, 1],
    [1, 0, 900, 50, 0],
    [1, 0, 100, 50, 1],
    [1, 2, 120, 30, 2],
    [2, 0, 0, 10, 0],
  ]);
  assert.deepEqual(lanes, []);
  const two = { ...place, thread: "stream 8", title: "stream 8" };
  const told = asAnswer(
    { from_ns: 5000, to_ns: 9000, lanes: [{ id: 0, depth: 1, ...place }, { id: 1, depth: 3, ...place }, { id: 2, depth: 1, ...two }], names: ["a", "b", "c"], categories: ["phase", "kernel"], slices, cut: false },
    5000,
  );
  assert.deepEqual(told.lanes.map((l) => [l.thread, l.depth]), [["stream 7", 3], ["stream 8", 1]]);
  const chunk = buildChunk(told, { from: 0, to: 4000 }, 100);
  const rows = chunk.tracks.get(told.lanes[0]!.id)!;
  assert.deepEqual([...rows[0]!.start], [100, 500, 900]);
  assert.deepEqual([...rows[2]!.start], [120]);
  assert.deepEqual([...chunk.tracks.get(told.lanes[1]!.id)![0]!.start], [0]);
});

test("neighbouring steps always differ in shade, and carry their number", () => {
  for (let n = 0; n < 50; n++) assert.notEqual(styleOf("steps", "phase", `train ${n}`), styleOf("steps", "phase", `train ${n + 1}`), String(n));
  assert.equal(labelOf("steps", "train 1234"), "1234");
  assert.equal(labelOf("events", "eval 12"), "eval 12", "only steps are called by their number");
  assert.equal(labelOf("steps", "train"), "train");
});
