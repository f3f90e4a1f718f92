// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import type { Label, Raster, RowAsk } from "../src/timeline/draw";
import { clearRaster, makeRaster, paintRow } from "../src/timeline/draw";
import type { Track } from "../src/timeline/model";
import { makePaint, styleOf } from "../src/timeline/palette";

const PAINT = makePaint((name) => (name === "--surface" ? "#ffffff" : "#2080c0"));
const OP = styleOf("operators", "op", "k");
const COMM = styleOf("gpu", "comm", "k");

function track(slices: [number, number][], style = OP): Track {
  return {
    start: Float64Array.from(slices, (s) => s[0]),
    end: Float64Array.from(slices, (s) => s[1]),
    name: Uint32Array.from(slices.keys()),
    style: new Uint8Array(slices.length).fill(style),
    category: new Uint16Array(slices.length),
    merged: new Uint32Array(slices.length),
  };
}

function fresh(width = 100, height = 10): Raster {
  const raster = makeRaster(width, height);
  clearRaster(raster, PAINT);
  return raster;
}

function ask(t: Track, more: Partial<RowAsk> = {}): RowAsk {
  return {
    track: t,
    range: { from: 0, to: 1000 },
    y: 2,
    height: 4,
    left: 0,
    right: 100,
    found: null,
    labelFrom: Infinity,
    ...more,
  };
}

/** Columns of a line of pixels that are not background. */
function painted(raster: Raster, y: number): number[] {
  const out: number[] = [];
  for (let x = 0; x < raster.width; x++)
    if (raster.pixels[y * raster.width + x] !== PAINT.background) out.push(x);
  return out;
}

test("a slice fills its pixels in every line of its row and no other", () => {
  const raster = fresh();
  paintRow(raster, PAINT, ask(track([[200, 400]])), []);
  const columns = Array.from({ length: 19 }, (_, i) => 20 + i);
  for (let y = 0; y < 10; y++)
    assert.deepEqual(painted(raster, y), y >= 2 && y < 6 ? columns : [], `line ${y}`);
  assert.equal(raster.pixels[2 * 100 + 25], PAINT.body[OP]);
});

test("two slices that touch keep a gap between them", () => {
  const raster = fresh();
  paintRow(raster, PAINT, ask(track([[0, 100], [100, 200]])), []);
  assert.ok(!painted(raster, 3).includes(9));
  assert.ok(painted(raster, 3).includes(10));
});

test("a slice of less than a pixel is still seen, and one of them per pixel is enough", () => {
  const raster = fresh();
  const many: [number, number][] = Array.from({ length: 500 }, (_, i) => [500 + i * 0.01, 500 + i * 0.01 + 0.005]);
  const n = paintRow(raster, PAINT, ask(track(many)), []);
  assert.deepEqual(painted(raster, 2), [50]);
  assert.equal(n, 1);
});

test("what lies outside the window costs nothing and paints nothing", () => {
  const raster = fresh();
  const n = paintRow(raster, PAINT, ask(track([[0, 10], [2000, 3000]]), { range: { from: 100, to: 1100 } }), []);
  assert.equal(n, 0);
  assert.deepEqual(painted(raster, 3), []);
});

test("a slice that begins before the window is cut at its edge", () => {
  const raster = fresh();
  paintRow(raster, PAINT, ask(track([[0, 150]]), { range: { from: 100, to: 1100 } }), []);
  assert.deepEqual(painted(raster, 3), [0, 1, 2, 3]);
});

test("a chunk paints only the columns that are its own", () => {
  const raster = fresh();
  paintRow(raster, PAINT, ask(track([[0, 1000]]), { left: 30, right: 60 }), []);
  assert.deepEqual([painted(raster, 4)[0], painted(raster, 4).length], [30, 30]);
});

test("rows that lie half outside the raster are cut, not wrapped", () => {
  const raster = fresh();
  paintRow(raster, PAINT, ask(track([[0, 1000]]), { y: -2, height: 4 }), []);
  paintRow(raster, PAINT, ask(track([[0, 1000]]), { y: 8, height: 40 }), []);
  assert.deepEqual(
    Array.from({ length: 10 }, (_, y) => painted(raster, y).length > 0),
    [true, true, false, false, false, false, false, false, true, true],
  );
});

test("communication carries a pattern besides its colour, operators none", () => {
  const colours = (style: number): Set<number> => {
    const raster = fresh();
    paintRow(raster, PAINT, ask(track([[0, 900]], style)), []);
    return new Set([...raster.pixels].filter((p) => p !== PAINT.background));
  };
  assert.deepEqual([...colours(OP)], [PAINT.body[OP]]);
  assert.deepEqual(colours(COMM), new Set([PAINT.body[COMM]!, PAINT.ink[COMM]!]));
});

test("while searching, what was not found is dimmed", () => {
  const raster = fresh();
  paintRow(raster, PAINT, ask(track([[0, 300], [500, 800]]), { found: Uint8Array.of(0, 1) }), []);
  assert.equal(raster.pixels[2 * 100 + 5], PAINT.dim[OP]);
  assert.equal(raster.pixels[2 * 100 + 55], PAINT.body[OP]);
});

test("only slices wide enough ask for a label", () => {
  const labels: Label[] = [];
  paintRow(fresh(), PAINT, ask(track([[0, 100], [200, 700]]), { labelFrom: 30 }), labels);
  assert.deepEqual(
    labels.map((l) => [l.name, l.x, l.width]),
    [[1, 20, 49]],
  );
});

test("a hundred thousand slices take no more pixels than there are", () => {
  const raster = fresh(1500, 20);
  const many: [number, number][] = Array.from({ length: 100_000 }, (_, i) => [i, i + 0.6]);
  const n = paintRow(raster, PAINT, ask(track(many), { range: { from: 0, to: 1e5 }, right: 1500 }), []);
  assert.ok(n <= 1500, String(n));
});
