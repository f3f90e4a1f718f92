// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import {
  clampRange,
  marks,
  markStep,
  offsetText,
  panBy,
  pxToTime,
  rangeAround,
  timeToPx,
  withMargins,
  zoomAt,
} from "../src/timeline/range";

const RUN = { from: 0, to: 10e9 };

test("zooming leaves the time under the cursor where it is", () => {
  const before = { from: 2e9, to: 6e9 };
  const at = pxToTime(250, before, 1000);
  const after = zoomAt(before, 0.5, at, RUN);
  assert.equal(after.to - after.from, 2e9);
  assert.ok(Math.abs(timeToPx(at, after, 1000) - 250) < 1e-6);
});

test("zooming out stops at the whole run", () => {
  assert.deepEqual(zoomAt({ from: 4e9, to: 6e9 }, 100, 5e9, RUN), RUN);
});

test("zooming in stops where only rounding would be seen", () => {
  const after = zoomAt({ from: 5e9, to: 5e9 + 3000 }, 1e-6, 5e9 + 100, RUN);
  assert.equal(after.to - after.from, 2000);
});

test("panning past an end stops there and keeps the width", () => {
  assert.deepEqual(panBy({ from: 1e9, to: 3e9 }, -5, RUN), { from: 0, to: 2e9 });
  assert.deepEqual(panBy({ from: 7e9, to: 9e9 }, 5, RUN), { from: 8e9, to: 10e9 });
});

test("a window from a link that lies outside the run is moved into it", () => {
  assert.deepEqual(clampRange({ from: 20e9, to: 21e9 }, RUN), { from: 9e9, to: 10e9 });
});

test("one screen is loaded on each side, and never beyond the run", () => {
  assert.deepEqual(withMargins({ from: 4e9, to: 6e9 }, RUN), { from: 2e9, to: 8e9 });
  assert.deepEqual(withMargins({ from: 1e9, to: 3e9 }, RUN), { from: 0, to: 5e9 });
});

test("a slice is shown with air around it", () => {
  const r = rangeAround(5e9, 5e9 + 1e6, RUN);
  assert.deepEqual(r, { from: 5e9 - 2e6, to: 5e9 + 3e6 });
});

test("marks are round, inside the window and not too many", () => {
  const r = { from: 1.23e9, to: 4.9e9 };
  const list = marks(r, 8);
  assert.ok(list.length > 2 && list.length <= 9);
  for (const t of list) {
    assert.ok(t >= r.from && t <= r.to);
    assert.equal(t % markStep(r, 8), 0);
  }
});

test("times after the start are as exact as their marks are close", () => {
  assert.equal(offsetText(2.35e9, 50e6), "2.35 s");
  assert.equal(offsetText(2e9, 1e9), "2 s");
  assert.equal(offsetText(1500, 500), "1.5 µs");
  assert.equal(offsetText(65e9, 5e9), "1 min 05 s");
  assert.equal(offsetText(3 * 3600e9, 3600e9), "3 h 00 min");
  assert.equal(offsetText(-2e6, 1e6), "-2 ms");
  assert.equal(offsetText(0, 1e9), "0 s");
});

test("two marks next to each other never read the same", () => {
  for (const width of [300, 5e4, 7e6, 2e9, 90e9, 4000e9]) {
    const r = { from: 61e9, to: 61e9 + width };
    const texts = marks(r, 10).map((t) => offsetText(t, markStep(r, 10)));
    assert.equal(new Set(texts).size, texts.length, texts.join(" | "));
  }
});
