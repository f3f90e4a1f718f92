// SPDX-License-Identifier: Apache-2.0
// live_ranks.test.mjs - Nodes while a job of two ranks runs that says all parts a step can have.
import assert from "node:assert/strict";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, root, start, tableText, until } from "./help.mjs";
import { shows, watched } from "./living.mjs";
import { stackedBars, stepBins, stepBinsWanted } from "./shown.mjs";

const PARTS = ["Data loading", "Forward", "Backward", "Optimizer", "Evaluation", "Checkpoint", "Collectives"];

let t;
let job;
let format;

before(async () => {
  t = await start();
  format = await pageModule("format.ts");
  job = await t.recordJob("ranks", ["python3", join(root, "tests", "browser", "two_ranks.py")]);
  await until(async () => {
    const { steps } = await t.api(`/runs/${job.run}/histograms`).catch(() => ({ steps: [] }));
    return new Set(steps.map((s) => s.rank)).size === 2 && steps.some((s) => s.outliers.length > 0);
  }, "steps of both ranks, one of them slow");
});
afterEach(() => t.tidy());
after(async () => {
  job?.child.kill("SIGINT");
  await job?.done;
  await t?.stop();
});

const open = (ready) => watched(t, job.run, "nodes", ready);

test("the lanes of a living run name all parts of a step for each rank", async () => {
  const { page } = await open(".nodes-lanes canvas");
  await page.getByRole("button", { name: "Show as table: Framework metrics over time" }).click();
  const lanes = async () => (await tableText(page, "Framework metrics over time")).map((r) => `${r[1]} ${r[0]}`);
  for (const rank of [0, 1])
    for (const part of PARTS) await until(async () => (await lanes()).some((l) => l.startsWith(`rank ${rank} `) && l.includes(part)), `${part} of rank ${rank}`);
  t.calm(page);
});

test("the steps of each rank of a living run have a histogram, with the slow ones marked and named", async () => {
  const { page, last } = await open(".nodes-hist-steps svg");
  await shows("the steps of both ranks", () => stepBins(page), () => (last.histograms ? stepBinsWanted(last.histograms.steps, format) : null));
  const trained = last.histograms.steps.filter((s) => s.mode === "train");
  assert.deepEqual(trained.map((s) => s.rank).sort(), [0, 1]);
  assert.ok((await stepBins(page)).some((s) => s.marked.length > 0 && s.named.length > 0), "a slow one");
  t.calm(page);
});

test("the bars of a living run are those of the rank that was chosen", async () => {
  const { page, last } = await open(".nodes-steps .bar-step");
  const rank = page.locator(".nodes-steps").getByLabel("Rank");
  await rank.selectOption({ index: 1 });
  await shows(
    "the last steps of rank 1",
    async () => (await stackedBars(page)).map((b) => [b.step, b.duration]),
    () => last.steps?.steps.filter((s) => s.mode === "train" && s.rank === 1).slice(-30).map((s) => [s.step, s.duration_s]) ?? null,
  );
  t.calm(page);
});
