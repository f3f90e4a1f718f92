// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import type { Answer, Chunk } from "../src/timeline/model";
import { buildChunk } from "../src/timeline/model";
import type { Range } from "../src/timeline/range";
import { fitText, foundNames, segmentsOf } from "../src/timeline/scene";

const EMPTY: Answer = {
  lanes: [],
  names: [],
  categories: [],
  slices: { lane: [], row: [], start: [], dur: [], name: [], category: [], merged: [] },
  base: 0,
  cut: false,
};
const chunk = (range: Range): Chunk => buildChunk(EMPTY, range, 100);

test("the sharp piece paints its columns and the whole run the rest", () => {
  const sharp = chunk({ from: 400, to: 600 });
  const whole = chunk({ from: 0, to: 1000 });
  const parts = segmentsOf([sharp, whole], { from: 300, to: 700 }, 400);
  assert.deepEqual(
    parts.map((s) => [s.chunk === sharp, s.left, s.right]),
    [
      [true, 100, 300],
      [false, 0, 100],
      [false, 300, 400],
    ],
  );
});

test("no column is painted twice and none is left out, whatever overlaps", () => {
  const ranges = [
    { from: 350, to: 420 },
    { from: 410, to: 500 },
    { from: 100, to: 380 },
    { from: 0, to: 1000 },
  ];
  const parts = segmentsOf(ranges.map(chunk), { from: 50, to: 950 }, 777);
  const hits = new Uint8Array(777);
  for (const s of parts) for (let x = s.left; x < s.right; x++) hits[x]!++;
  assert.ok(hits.every((n) => n === 1));
});

test("names are searched wherever the text stands, in any case", () => {
  assert.deepEqual([...foundNames(["aten::Conv2d", "relu", "CONV"], { text: "conv", whole: [] })], [1, 0, 1]);
});

test("a shortened name is found by the whole one that the server found", () => {
  const sought = { text: "aten::", whole: ["aten::conv2d", "aten::to"] };
  assert.deepEqual([...foundNames(["conv2d", "to", "d", "relu", ""], sought)], [1, 1, 0, 0, 0]);
});

test("a name is shortened to its room, or left out where nothing would be said", () => {
  const measure = (text: string): number => text.length * 6;
  assert.equal(fitText("forward", 42, measure), "forward");
  assert.equal(fitText("forward", 36, measure), "forwa…");
  assert.equal(fitText("forward", 20, measure), "");
  assert.equal(fitText("123456", 30, measure), "", "a number that is cut is another number");
});
