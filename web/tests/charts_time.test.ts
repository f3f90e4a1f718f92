// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";

import { luminance, scaleColour, scalePixels, textOn } from "../src/charts/colour";
import { fit, move, same, zoom } from "../src/charts/span";
import { type Change, TimeSync } from "../src/charts/sync";
import { timeText, timeTicks } from "../src/charts/timeaxis";

const RUN = { from: 1_000_000, to: 2_000_000 };

function fresh(): { sync: TimeSync; frame: () => void; seen: Change[][] } {
  const due: (() => void)[] = [];
  const sync = new TimeSync(RUN, (run) => void due.push(run));
  const seen: Change[][] = [];
  sync.join((changed) => seen.push([...changed]));
  return { sync, seen, frame: () => due.splice(0).forEach((run) => run()) };
}

test("zooming keeps the time under the pointer where it is", () => {
  const z = zoom(RUN, 1_250_000, 0.5);
  assert.deepEqual(z, { from: 1_125_000, to: 1_625_000 });
  assert.equal((1_250_000 - z.from) / (z.to - z.from), (1_250_000 - RUN.from) / (RUN.to - RUN.from));
});

test("a window is moved into the run and never wider than it", () => {
  assert.deepEqual(fit({ from: 900_000, to: 1_100_000 }, RUN), { from: 1_000_000, to: 1_200_000 });
  assert.deepEqual(fit({ from: 1_900_000, to: 2_100_000 }, RUN), { from: 1_800_000, to: 2_000_000 });
  assert.deepEqual(fit({ from: 0, to: 9_000_000 }, RUN), RUN);
});

test("a window of no width gets the narrowest that can be drawn", () => {
  const f = fit({ from: 1_500_000, to: 1_500_000 }, RUN);
  assert.ok(f.to > f.from);
});

test("changes within a frame are told once, with what changed", () => {
  const { sync, seen, frame } = fresh();
  sync.setWindow({ from: 1_100_000, to: 1_200_000 });
  sync.setWindow({ from: 1_100_000, to: 1_300_000 });
  sync.setCursor(1_150_000);
  assert.deepEqual(seen, []);
  frame();
  assert.deepEqual(seen, [["window", "cursor"]]);
  frame();
  assert.equal(seen.length, 1);
});

test("a window that is not zoomed follows the run as it grows, a zoomed one stays", () => {
  const { sync } = fresh();
  sync.setWhole({ from: RUN.from, to: 3_000_000 });
  assert.equal(sync.window.to, 3_000_000);
  sync.setWindow({ from: 1_100_000, to: 1_200_000 });
  sync.setWhole({ from: RUN.from, to: 4_000_000 });
  assert.deepEqual(sync.window, { from: 1_100_000, to: 1_200_000 });
});

test("zooming out to everything is the same as showing everything", () => {
  const { sync } = fresh();
  sync.setWindow({ from: 1_100_000, to: 1_200_000 });
  assert.ok(sync.zoomed);
  sync.zoom(100, 1_150_000);
  assert.ok(!sync.zoomed);
});

test("panning stops at the ends of the run and keeps the width", () => {
  const { sync } = fresh();
  sync.setWindow({ from: 1_100_000, to: 1_200_000 });
  sync.pan(-500_000);
  assert.deepEqual(sync.window, { from: 1_000_000, to: 1_100_000 });
});

test("a cursor moved beyond the window takes the window along", () => {
  const { sync } = fresh();
  sync.setWindow({ from: 1_100_000, to: 1_200_000 });
  sync.setCursor(1_200_000);
  sync.stepCursor(0.1);
  assert.equal(sync.cursor, 1_210_000);
  assert.deepEqual(sync.window, { from: 1_110_000, to: 1_210_000 });
});

test("a chart that left is told nothing", () => {
  const due: (() => void)[] = [];
  const sync = new TimeSync(RUN, (run) => void due.push(run));
  let told = 0;
  sync.join(() => told++)();
  sync.setCursor(1_500_000);
  due.forEach((run) => run());
  assert.equal(told, 0);
});

test("two windows are the same when no eye could tell", () => {
  assert.ok(same(RUN, move(RUN, 1)));
  assert.ok(!same(RUN, move(RUN, 1000)));
});

test("marks of the time axis are round, inside, and apart", () => {
  const day = { from: Date.UTC(2026, 10, 14, 0, 3), to: Date.UTC(2026, 10, 15, 0, 3) };
  for (const [s, px] of [[day, 1200], [{ from: day.from, to: day.from + 61_234 }, 390], [{ from: day.from + 0.2, to: day.from + 3.7 }, 800]] as const) {
    const ticks = timeTicks(s, px);
    assert.ok(ticks.length >= 2, `${ticks.length} marks`);
    const step = (ticks[1]?.at ?? 0) - (ticks[0]?.at ?? 0);
    for (const [i, t] of ticks.entries()) {
      assert.ok(t.at >= s.from && t.at <= s.to);
      const before = ticks[i - 1];
      if (before) assert.ok(Math.abs(t.at - before.at - step) < 1e-6 * step + 1e-3);
    }
    assert.ok((step * px) / (s.to - s.from) >= 71.9);
    assert.equal(new Set(ticks.map((t) => t.text)).size, ticks.length, "two marks read alike");
  }
});

test("a mark at the right edge has no word that would be cut off", () => {
  const from = new Date(2026, 10, 15, 19, 22, 0).getTime();
  const s = { from, to: from + 60_000 };
  const words = (right: number): string[] => timeTicks(s, 600, right).map((t) => t.text);
  assert.equal(words(60).at(-1), "19:23:00");
  assert.equal(words(10).at(-1), "");
  assert.deepEqual(words(10).slice(0, -1), words(60).slice(0, -1));
});

test("a time says as many digits as the zoom resolves", () => {
  const at = new Date(2026, 10, 15, 19, 22, 2).getTime() + 105.25;
  assert.equal(timeText(at, 60_000), "2026-11-15 19:22:02");
  assert.equal(timeText(at, 1), "2026-11-15 19:22:02.105");
  assert.equal(timeText(at, 0.01), "2026-11-15 19:22:02.10525");
});

test("the colour scale grows brighter all the way, so that it reads without colours", () => {
  let last = -1;
  for (let i = 0; i <= 200; i++) {
    const l = luminance(scaleColour(i / 200));
    assert.ok(l > last, `at ${i / 2} %`);
    last = l;
  }
  assert.ok(luminance(scaleColour(1)) / (luminance(scaleColour(0)) + 0.05) > 7);
});

test("a cell without a sample has no colour at all", () => {
  const pixels = scalePixels(200);
  assert.equal(pixels[255], 0);
  assert.notEqual(pixels[200], 0);
  assert.equal((pixels[0] as number) >>> 24, 255);
});

test("text on a bar is black on bright ones and white on dark ones", () => {
  assert.equal(textOn("#e69f00"), "#000");
  assert.equal(textOn("#16191f"), "#fff");
});
