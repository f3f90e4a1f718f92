// SPDX-License-Identifier: Apache-2.0
// runs.test.mjs - the list of runs.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText, until } from "./help.mjs";

let t;
let format;

before(async () => {
  t = await start({ scenes: ["cpu_bottleneck/fires", "dataloader/fires", "gpu_throttling/one_bad_node"] });
  format = await pageModule("format.ts");
  for (const name of t.runs) await t.findings(name);
});
afterEach(() => t.tidy());
after(() => t?.stop());

const names = (page) => page.locator("tbody .runs-name a").allInnerTexts();
const hrefs = (page) => page.locator("tbody .runs-name a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));

test("every run is listed with the values of the API, newest first", async () => {
  const page = await t.open("#/", { ready: "tbody tr" });
  const rows = await tableText(page, "Runs");
  const runs = await t.api("/runs");
  assert.equal(rows.length, runs.length);
  runs.forEach((r, i) => {
    const [, name, status, startTime, duration, , nodes, gpus] = rows[i];
    assert.ok(name.startsWith(r.name), name);
    assert.match(status, new RegExp(r.status));
    assert.equal(startTime, format.dateTime(r.start_ns));
    assert.equal(duration, format.duration(r.duration_s));
    assert.equal(nodes, String(r.nodes.length));
    assert.equal(gpus, String(r.gpus));
  });
  await t.axe(page);
  await t.shot(page, "runs");
  t.calm(page);
});

test("what the rules found is counted by severity", async () => {
  const slow = await t.record("slow", "--seconds", "3", "--slow-input");
  await slow.done;
  const page = await t.open("#/", { ready: "tbody tr" });
  const { run } = slow;
  const verdicts = await t.findings(run);
  const critical = verdicts.filter((v) => v.state === "issue" && v.severity === "critical").length;
  assert.ok(critical > 0);
  const cell = page.locator("tbody tr", { has: page.locator(`a[href*="${run}"]`) }).locator("td").last();
  await until(async () => (await cell.innerText()).includes(`${critical} critical`), "the number of findings");
  rmSync(join(t.dir, run), { recursive: true });
  await until(async () => (await t.api("/runs")).every((r) => r.run !== run), "a list without the deleted run");
  t.calm(page);
});

test("the list has the speed of runs with steps, labels that can be filtered by, and says where no rule applied", async () => {
  const job = await t.recordJob("labelled", ["sleep", "0.3"], { args: ["--label", "team=vision"], env: { USER: "maria" } });
  await job.done;
  const sampled = await t.copy("h200");
  const page = await t.open("#/", { ready: "tbody tr" });
  const runs = await t.api("/runs");
  const withSteps = [];
  for (const r of runs.filter((x) => x.status !== null)) {
    const { ranks } = await t.api(`/runs/${r.run}/steps?last=1`);
    const best = ranks.filter((x) => x.mode === "train").sort((a, b) => b.count - a.count)[0];
    const samples = ranks.filter((x) => x.mode === "train").map((x) => x.throughput.steady);
    const below = samples.includes(null) ? [] : [`${format.samplesPerSecond(samples.reduce((a, b) => a + b, 0))} samples/s`];
    if (best?.iteration_s.mean > 0) withSteps.push([r.run, [format.general(1 / best.iteration_s.mean, 3), ...below].join("\n")]);
  }
  for (const [run, rate] of withSteps) {
    const cell = page.locator("tbody tr", { has: page.locator(`a[href$="/${run}/overview"]`) }).locator("td").nth(5);
    await until(async () => (await cell.innerText()) === rate, `${rate} steps/s of ${run}`);
  }
  assert.ok(withSteps.some(([, rate]) => rate.includes("\n")), "samples/s of a run whose batch size is known");
  await page.getByLabel("Filter runs").fill("team=vision maria");
  await until(async () => (await tableText(page, "Runs")).length === 1, "the labelled run");
  const [row] = await tableText(page, "Runs");
  assert.match(row[1], /team=vision/);
  assert.ok(row.includes("maria"), row.join(" | "));
  await until(async () => (await tableText(page, "Runs"))[0].at(-1) === "no rule applied", "no rule applied");
  for (const run of [job.run, sampled]) rmSync(join(t.dir, run), { recursive: true });
  await until(async () => (await t.api("/runs")).every((r) => ![job.run, sampled].includes(r.run)), "a list without the deleted runs");
  t.calm(page);
});

test("a click on a column sorts by it, a second one turns it around, and it says so", async () => {
  const page = await t.open("#/", { ready: "tbody tr" });
  const head = page.locator("th", { hasText: "Duration" });
  const shown = async () => (await tableText(page, "Runs")).map((r) => r[4]);
  const runs = await t.api("/runs");
  const sorted = runs.map((r) => r.duration_s).sort((a, b) => b - a).map(format.duration);
  await head.getByRole("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  assert.deepEqual(await shown(), sorted);
  await head.getByRole("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  assert.deepEqual(await shown(), sorted.reverse());
  t.calm(page);
});

test("the filter keeps what has all its words, and is in the address", async () => {
  const page = await t.open("#/", { ready: "tbody tr" });
  await page.getByLabel("Filter runs").fill("one_bad");
  await until(async () => (await names(page)).length === 1, "one run left");
  assert.match(page.url(), /q=one_bad/);
  assert.match(await page.locator("[role=status]").innerText(), /1 of 3 runs/);
  await page.getByLabel("Status").selectOption("running");
  await page.getByText("No matches").waitFor();
  t.calm(page);
});

test("two selected runs can be compared, one cannot", async () => {
  const page = await t.open("#/", { ready: "tbody tr" });
  const compare = page.getByRole("button", { name: "Compare" });
  const boxes = page.locator("tbody input[type=checkbox]");
  assert.equal(await compare.getAttribute("aria-disabled"), "true");
  assert.match(await compare.getAttribute("title"), /two runs/);
  await boxes.nth(0).check();
  await boxes.nth(2).check();
  assert.equal(await boxes.nth(1).isDisabled(), true);
  const [a, , b] = (await hrefs(page)).map((h) => h.split("/")[2]);
  await compare.click();
  assert.match(page.url(), new RegExp(`#/compare/${a}/${b}`));
  t.calm(page);
});

test("a damaged run has a line that says so, the others are as they were", async () => {
  const bad = join(t.dir, "broken-run");
  cpSync(join(t.dir, t.runs[0]), bad, { recursive: true });
  writeFileSync(join(bad, "run.json"), "{ this is no run");
  const page = await t.open("#/", { ready: "tbody tr" });
  const line = page.locator("tbody tr", { has: page.locator('a[href*="broken-run"]') });
  await line.getByText("damaged").waitFor();
  assert.equal((await names(page)).length, 4);
  rmSync(bad, { recursive: true });
  await until(async () => (await names(page)).length === 3, "the list without the damaged run");
  t.calm(page);
});

test("a run whose recorder was killed is listed as died, and its page opens", async () => {
  const job = await t.record("killed", "--seconds", "3");
  job.child.kill("SIGKILL");
  await job.done;
  await until(async () => (await t.api("/runs")).some((r) => r.run === job.run && r.status === "died"), "the death to be seen");
  const page = await t.open("#/?status=died", { ready: "tbody tr" });
  assert.deepEqual(await names(page), ["killed"]);
  await page.getByRole("link", { name: "killed" }).click();
  await page.locator(".run-title").getByText("died").waitFor();
  await page.locator(".insight-ended", { hasText: "The recorder ended without closing its files" }).waitFor();
  assert.deepEqual(await page.locator(".controls-row a").allInnerTexts(), ["Download report", "Trace for Perfetto"]);
  rmSync(join(t.dir, job.run), { recursive: true });
  t.calm(page, /404|410/);
});

test("runs of the same name have different short ids, and a failed one shows its exit status", async () => {
  const jobs = [];
  for (const status of [3, 4]) jobs.push(await t.recordJob("same", ["sh", "-c", `exit ${status}`]));
  for (const job of jobs) await job.done;
  await until(async () => (await t.api("/runs")).filter((r) => r.name === "same" && r.status === "failed").length === 2, "both ends");
  const page = await t.open("#/?q=same", { width: 390, ready: "tbody tr" });
  const rows = await tableText(page, "Runs");
  const known = await Promise.all(jobs.map(async (job, i) => [job.run.split("-").at(-1), format.dateTime((await t.api(`/runs/${job.run}`)).start_ns), `failed (${3 + i})`]));
  for (const [id, start, status] of known) {
    const row = rows.find((r) => r[1].includes(id));
    assert.ok(row !== undefined, `${id} in ${JSON.stringify(rows)}`);
    assert.ok(row[1].includes(start), row[1]);
    assert.ok(row[2].includes(status), row[2]);
  }
  for (const job of jobs) rmSync(join(t.dir, job.run), { recursive: true });
  await until(async () => (await t.api("/runs")).every((r) => r.name !== "same"), "a list without them");
  t.calm(page);
});

test("a list too long to be read shows its first part, and all of it when asked", async () => {
  const scene = join(t.dir, "..", `small-${process.pid}.scene`);
  writeFileSync(scene, "scene 1\nnode a cores=1 gpus=0\na cpu.util total  0s..2s 20\n");
  const small = join(t.dir, await t.import(scene));
  rmSync(scene);
  const copies = Array.from({ length: 119 }, (_, i) => join(t.dir, `copy-${i}`));
  for (const copy of copies) cpSync(small, copy, { recursive: true });
  const page = await t.open("#/", { ready: "tbody tr" });
  await page.getByText("123 runs").waitFor();
  assert.equal(await page.locator("tbody tr").count(), 100);
  await page.getByRole("button", { name: "Show all 123" }).click();
  assert.equal(await page.locator("tbody tr").count(), 123);
  for (const copy of [small, ...copies]) rmSync(copy, { recursive: true });
  t.calm(page);
});

test("the list can be used on a telephone, light and dark", async () => {
  for (const scheme of ["light", "dark"]) {
    const page = await t.open("#/", { width: 390, height: 800, scheme, ready: "tbody tr" });
    await until(async () => (await page.locator(".runs-found-here .badge").count()) > 0, "findings below the status");
    const ends = await page.locator("td:nth-child(3) .badge").evaluateAll((all) => all.map((el) => el.getBoundingClientRect().right));
    const edge = await page.locator(".table-scroll").evaluate((el) => el.getBoundingClientRect().right);
    assert.ok(Math.max(...ends) <= edge, `status and findings are in sight: ${Math.max(...ends)} of ${edge}`);
    await t.fits(page);
    await t.axe(page);
    await t.shot(page, `runs-390-${scheme}`);
    t.calm(page);
  }
});

test("an empty folder teaches how to record a run", async () => {
  const empty = await start();
  try {
    mkdirSync(empty.dir, { recursive: true });
    const page = await empty.open("#/", { ready: ".empty" });
    assert.match(await page.locator(".empty").innerText(), /footplate run/);
    await empty.axe(page);
    empty.calm(page);
  } finally {
    await empty.stop();
  }
});
