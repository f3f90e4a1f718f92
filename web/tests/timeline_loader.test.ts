// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { Loader } from "../src/timeline/loader";
import type { Answer } from "../src/timeline/model";
import type { Range } from "../src/timeline/range";

const RUN = { from: 0, to: 1_000_000 };

function answer(cut = false): Answer {
  return {
    lanes: [],
    names: [],
    categories: [],
    slices: { lane: [], row: [], start: [], dur: [], name: [], category: [], merged: [] },
    base: 0,
    cut,
  };
}

function watched(cutWhen: (r: Range) => boolean = () => false) {
  const asked: { range: Range; px: number }[] = [];
  const failures: unknown[] = [];
  const loader = new Loader(
    async (range, px) => {
      asked.push({ range, px });
      return answer(cutWhen(range));
    },
    RUN,
    { changed: () => undefined, failed: (e) => failures.push(e) },
  );
  return { loader, asked, failures };
}

test("the whole run is asked for once and is enough for the whole run", async () => {
  const { loader, asked } = watched();
  await loader.show(RUN, 1000);
  await loader.show(RUN, 1000);
  assert.deepEqual(asked, [{ range: RUN, px: 1000 }]);
});

test("a zoomed window is asked for with a screen on both sides, at the same sharpness", async () => {
  const { loader, asked } = watched();
  await loader.show({ from: 400_000, to: 500_000 }, 1000);
  assert.deepEqual(asked[1], { range: { from: 300_000, to: 600_000 }, px: 3000 });
});

test("panning inside what was loaded ahead asks for nothing", async () => {
  const { loader, asked } = watched();
  await loader.show({ from: 400_000, to: 500_000 }, 1000);
  await loader.show({ from: 440_000, to: 540_000 }, 1000);
  assert.equal(asked.length, 2);
  await loader.show({ from: 520_000, to: 620_000 }, 1000);
  assert.equal(asked.length, 3);
});

test("what was loaded stays drawn behind what is newer", async () => {
  const { loader } = watched();
  await loader.show({ from: 400_000, to: 500_000 }, 1000);
  await loader.show({ from: 410_000, to: 415_000 }, 1000);
  assert.deepEqual(
    loader.chunks.map((c) => c.range.to - c.range.from),
    [15_000, 300_000, 1_000_000],
  );
});

test("an answer that was cut short is asked for again in halves", async () => {
  const { loader, asked } = watched((r) => r.to - r.from > 150_000 && r.to - r.from < 900_000);
  await loader.show({ from: 400_000, to: 500_000 }, 1000);
  assert.deepEqual(
    asked.slice(1).map((a) => [a.range.from, a.range.to, a.px]),
    [
      [300_000, 600_000, 3000],
      [300_000, 450_000, 1500],
      [450_000, 600_000, 1500],
    ],
  );
  await loader.show({ from: 400_000, to: 500_000 }, 1000);
  assert.equal(asked.length, 4, "the halves are complete");
});

test("halving ends although every answer is cut", async () => {
  const { loader, asked } = watched(() => true);
  await loader.show({ from: 400_000, to: 500_000 }, 1000);
  assert.equal(asked.length, 1 + 15);
});

test("a window that is left again takes its question back", async () => {
  const signals: AbortSignal[] = [];
  let open: (() => void) | undefined;
  const loader = new Loader(
    (range, _px, signal) => {
      signals.push(signal);
      if (range.to - range.from === 1_000_000 || signals.length > 2) return Promise.resolve(answer());
      return new Promise((resolve) => (open = () => resolve(answer())));
    },
    RUN,
    { changed: () => undefined, failed: () => assert.fail("an aborted question is no failure") },
  );
  await loader.show(RUN, 1000);
  const first = loader.show({ from: 100_000, to: 200_000 }, 1000);
  const second = loader.show({ from: 700_000, to: 710_000 }, 1000);
  await second;
  open?.();
  await first;
  assert.deepEqual([signals[1]!.aborted, signals[2]!.aborted], [true, false]);
  assert.equal(loader.chunks[0]!.range.from, 690_000);
});

test("a failure is told and what was there stays", async () => {
  let fail = false;
  const told: unknown[] = [];
  const loader = new Loader(
    async () => {
      if (fail) throw new Error("gone");
      return answer();
    },
    RUN,
    { changed: () => undefined, failed: (e) => told.push(e) },
  );
  await loader.show(RUN, 1000);
  fail = true;
  await loader.show({ from: 1000, to: 2000 }, 1000);
  assert.equal(told.length, 1);
  assert.equal(loader.chunks.length, 1);
  assert.equal(loader.loading, false);
});
