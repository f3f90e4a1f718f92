// SPDX-License-Identifier: Apache-2.0
// live_rules.test.mjs - what the rules say of a job that lives comes into its page by itself, as its
// data does, and the list says the same.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { listed, start, tableText, trainer, until } from "./help.mjs";
import { shows, watched } from "./living.mjs";

const NO_STEPS = "no training steps were detected";
const WAITS = ["sh", "-c", 'while ! [ -e "$0" ]; do sleep 0.1; done; exec "$@"']; // for a file, then it is the program

let t;
let folder;
let job;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-rules-"));
  t = await start();
  job = await t.recordJob("waits", [...WAITS, join(folder, "go"), trainer, "--seconds", "600", "--slow-input"]);
});
afterEach(() => t.tidy());
after(async () => {
  job?.child.kill("SIGINT");
  await job?.done;
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const rows = (page) => page.locator(".insight").evaluateAll((all) => all.map((li) => [li.dataset.rule, li.className, li.querySelector(".insight-short").textContent]));
const stateOf = (v) => [v.rule, `insight ${v.state}${v.state === "issue" ? ` ${v.severity}` : ""}`];

test("a loop that begins while the page is open changes what the rules say, without a reload", async () => {
  const { page, last } = await watched(t, job.run, "overview", ".insight");
  const without = async () => (await rows(page)).filter(([, , short]) => short.includes(NO_STEPS)).length;
  await until(async () => (await without()) > 0, "rules without steps");
  await page.evaluate(() => (window.untouched = true));
  const outliers = page.locator('[data-rule="StepOutlier"]');
  await outliers.locator("h3 button").click();
  writeFileSync(join(folder, "go"), "");
  await until(async () => (await without()) === 0, "no rule that misses steps");
  await until(async () => (await rows(page)).some(([rule, kind]) => rule === "Dataloader" && kind !== "insight not_evaluated"), "whether the job waits for data");
  await shows(
    "the state of every rule",
    async () => (await rows(page)).map(([rule, kind]) => [rule, kind]).sort(),
    () => (Array.isArray(last.findings) ? last.findings.filter(listed).map(stateOf).sort() : null),
  );
  assert.equal(await page.evaluate(() => window.untouched), true, "the page was loaded again");
  assert.equal(await outliers.locator("h3 button").getAttribute("aria-expanded"), "true", "an open rule stays open");
  t.calm(page);
});

test("numbers of an open rule go on with the job, and the server evaluates once for all pages", async () => {
  const pages = [await watched(t, job.run, "overview", ".insight"), await watched(t, job.run, "overview?rule=OverallFrameworkMetrics", ".insight")];
  const { page, last } = pages[1];
  const points = () => last.findings?.find?.((v) => v.rule === "OverallFrameworkMetrics")?.datapoints;
  const item = page.locator('[data-rule="OverallFrameworkMetrics"]');
  const first = await until(points, "data points");
  const before = await t.api("/status");
  await until(() => points() > first, "more data points");
  const told = async () => Number(/Readings\s+([\d ,]+)/i.exec(await item.innerText())?.[1].replace(/\D/g, ""));
  await until(async () => (await told()) > first, "them in the page");
  const now = await t.api("/status");
  const seconds = now.uptime_s - before.uptime_s;
  assert.ok(now.evaluations - before.evaluations <= seconds / 0.9 + 1, `${now.evaluations - before.evaluations} evaluations in ${seconds} s`);
  for (const p of pages) t.calm(p.page);
});

test("a page of another tab has nothing evaluated", async () => {
  const page = await t.open(`#/run/${job.run}/nodes`, { ready: ".nodes-cpu .chart-plot canvas" });
  const { evaluations } = await t.api("/status");
  const { duration_s } = await t.api(`/runs/${job.run}`);
  await until(async () => (await t.api(`/runs/${job.run}`)).duration_s > duration_s + 3, "three seconds more of the job");
  const now = (await t.api("/status")).evaluations;
  assert.ok(now <= evaluations + 1, `${now - evaluations} evaluations`); // one may have been under way
  t.calm(page);
});

test("the list counts what the page of the run shows", async () => {
  const [overview, list] = [await t.open(`#/run/${job.run}/overview`, { ready: ".insight" }), await t.open("#/", { ready: "tbody tr" })];
  const shown = () => overview.locator(".insight.issue").evaluateAll((all) => ["critical", "warning", "info"].flatMap((kind) => {
    const n = all.filter((li) => li.querySelector("h3").textContent.includes(`: ${kind}`)).length;
    return n === 0 ? [] : [`${n} ${kind}`];
  }).join(" ") || "none");
  const counted = async () => (await tableText(list, "Runs"))[0].at(-1).replace(/[^\w ]+/g, " ").replace(/\s+/g, " ").trim();
  await until(async () => (await shown()) === (await counted()), "the same in both").catch(async (e) => assert.fail(`${e.message}: ${await shown()} and ${await counted()}`));
  t.calm(overview);
  t.calm(list);
});
