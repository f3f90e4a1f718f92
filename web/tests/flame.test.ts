// SPDX-License-Identifier: Apache-2.0
// The flame graph without drawing it.
import assert from "node:assert/strict";
import test from "node:test";

import { boxesOf, colourOf, neighbour, shownBoxes, totalOf } from "../src/views/flame_model";

const frame = (name: string, depth: number, total_s: number) => ({ name, depth, total_s, self_s: 0 });
//  main 10         other 2
//  f 6      g 3    h 2
//  leaf 6
const boxes = boxesOf([frame("main", 0, 10), frame("f", 1, 6), frame("leaf", 2, 6), frame("g", 1, 3), frame("other", 0, 2), frame("h", 1, 2)]);

test("callees lie side by side below their callers", () => {
  assert.deepEqual(boxes.map((b) => [b.name, b.from, b.to, b.parent]), [
    ["main", 0, 10, null],
    ["f", 0, 6, 0],
    ["leaf", 0, 6, 1],
    ["g", 6, 9, 0],
    ["other", 10, 12, null],
    ["h", 10, 12, 4],
  ]);
  assert.equal(totalOf(boxes), 12);
  assert.deepEqual(boxesOf([]), []);
});

test("a function that is zoomed into fills the width, with its callers above it", () => {
  assert.deepEqual(shownBoxes(boxes, 3).map((s) => [s.box.name, s.left, s.width]), [["main", 0, 1], ["g", 0, 1]]);
  assert.deepEqual(shownBoxes(boxes, 1).map((s) => s.box.name), ["main", "f", "leaf"]);
  assert.equal(shownBoxes(boxes, null).length, boxes.length);
  assert.deepEqual(shownBoxes(boxes, null)[4], { box: boxes[4], left: 10 / 12, width: 2 / 12 });
});

test("arrow keys go to the caller, the longest callee and the neighbours, and stay at the edges", () => {
  const go = (at: number, key: string): string => boxes[neighbour(boxes, at, key)]!.name;
  assert.deepEqual([go(2, "ArrowUp"), go(0, "ArrowUp"), go(0, "ArrowDown"), go(2, "ArrowDown")], ["f", "main", "f", "leaf"]);
  assert.deepEqual([go(1, "ArrowRight"), go(3, "ArrowRight"), go(5, "ArrowRight"), go(0, "ArrowLeft")], ["g", "h", "h", "main"]);
});

test("functions of one file have one colour", () => {
  assert.equal(colourOf("a (x/y.py:1)", 6), colourOf("b (x/y.py:99)", 6));
});
