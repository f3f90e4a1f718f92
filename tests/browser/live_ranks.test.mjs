// SPDX-License-Identifier: Apache-2.0
// live_ranks.test.mjs - a job that runs on two nodes: two ranks on the first that say all parts a step can
// have, nothing to see on the second.
import assert from "node:assert/strict";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, root, start, tableText, until } from "./help.mjs";
import { hash, shows, watched } from "./living.mjs";
import { stackedBars, stepBins, stepBinsWanted } from "./shown.mjs";

const PARTS = ["Data loading", "Forward", "Backward", "Optimizer", "Evaluation", "Checkpoint", "Collectives"];

let t;
let job;
let other; // the recorder of the second node
let format;

before(async () => {
  t = await start();
  format = await pageModule("format.ts");
  const on = (node) => ({ args: ["--run", "ranks", "--node", node] });
  job = await t.recordJob("ranks", ["python3", join(root, "tests", "browser", "two_ranks.py")], on("a"));
  other = await t.recordJob("ranks", ["sleep", "600"], { ...on("b"), run: job.run });
  await until(async () => {
    const { steps } = await t.api(`/runs/${job.run}/histograms`).catch(() => ({ steps: [] }));
    return new Set(steps.map((s) => s.rank)).size === 2 && steps.some((s) => s.outliers.length > 0);
  }, "steps of both ranks, one of them slow");
});
afterEach(() => t.tidy());
after(async () => {
  for (const one of [job, other]) {
    one?.child.kill("SIGINT");
    await one?.done;
  }
  await t?.stop();
});

const open = (ready) => watched(t, job.run, "nodes", ready);

test("the lanes of a living run name all parts of a step for each rank", async () => {
  const { page } = await open(".nodes-lanes canvas");
  await page.getByRole("button", { name: "Show as table: Framework metrics over time" }).click();
  const wanted = ["rank 0", "rank 1"].flatMap((rank) => PARTS.map((part) => [rank, part]));
  await until(async () => {
    const rows = await tableText(page, "Framework metrics over time");
    return wanted.every(([rank, part]) => rows.some((r) => r[1] === rank && r[0].includes(part)));
  }, "all parts of both ranks");
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
    () => last.steps?.steps.filter((s) => s.mode === "train" && s.rank === 1).slice(-30).map((s) => [s.step, s.iteration_s ?? s.duration_s]) ?? null,
  );
  t.calm(page);
});

test("all nodes of a living run have a line each, one that is chosen only its own", async () => {
  const { page } = await open(".nodes-cpu .chart-plot canvas");
  const labels = () => page.locator(".nodes-cpu .chart-legend li[data-series]").evaluateAll((all) => all.map((l) => l.dataset.series));
  await until(async () => (await labels()).join() === "a cpu.util total,b cpu.util total", "a line of each");
  await page.getByLabel("Node", { exact: true }).selectOption("b");
  await until(async () => (await labels()).join() === "b cpu.util total", "the line of the second");
  assert.equal(hash(page).get("node"), "b");
  t.calm(page);
});

test("each node of a living run has its resources and a verdict", async () => {
  const { page, last } = await watched(t, job.run, "overview", "section.use-node");
  for (const node of ["a", "b"]) {
    await shows(
      `the CPU of ${node}`,
      async () => (await tableText(page, `Resource utilization of ${node}`)).find((r) => r[0] === "Total CPU utilization")?.slice(1),
      () => {
        const s = last.stats?.find((one) => one.node === node && one.metric === "cpu");
        return s === undefined ? null : [...[s.min, s.max, s.p99, s.p95, s.p90, s.p50].map((v) => format.value(v, s.unit)), format.count(s.count)];
      },
    );
    const said = () => last.findings?.find?.((v) => v.rule === "OverallSystemUsage")?.remarks.find((r) => r.startsWith(`${node}: `))?.slice(node.length + 2);
    await shows(`the verdict of ${node}`, () => page.locator(`section[aria-label="Node ${node}"] .use-verdict`).textContent(), () => said() ?? null);
  }
  t.calm(page);
});
