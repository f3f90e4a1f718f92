// SPDX-License-Identifier: Apache-2.0
// controls.test.mjs - the header of a run: a live one changes by itself and can be steered, an ended
// one says how it ended.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, trainer, until } from "./help.mjs";

let t;
let live;
let ended;
let format;

before(async () => {
  t = await start({ scenes: ["dataloader/fires"] });
  [ended] = t.runs;
  format = await pageModule("format.ts");
  live = await t.record("steered", "--seconds", "600");
  await until(async () => (await t.api(`/runs/${live.run}`)).loop_start_ns !== null, "steps of the live run");
});
afterEach(() => t.tidy());
after(() => t?.stop());

const open = (name, options) => t.open(`#/run/${name}/overview`, { ready: ".controls", ...options });
const marks = async (what) => (await t.api(`/runs/${live.run}`)).marks.filter((m) => m.mark === what);

test("of the controls an ended run has only its report and its trace", async () => {
  const page = await open(ended);
  assert.deepEqual(await page.locator(".controls a").allInnerTexts(), ["Download report", "Trace for Perfetto"]);
  assert.equal(await page.getByRole("switch").count(), 0);
  assert.equal((await page.locator(".run-title .badge").innerText()).replace(/\W/g, ""), "finished");
  const { end_ns } = await t.api(`/runs/${ended}`);
  assert.equal(await page.locator(".run-title .tabular").innerText(), `ended ${format.dateTime(end_ns)}`);
  await t.axe(page);
  t.calm(page);
});

test("the header has the name of a run, and how it ended", async () => {
  const [failed, interrupted] = [await t.record("failing", "--no-such-option"), await t.record("told", "--seconds", "600")];
  await failed.done;
  await until(async () => (await t.api(`/runs/${interrupted.run}`)).loop_start_ns !== null, "steps of it");
  interrupted.child.kill("SIGTERM");
  await interrupted.done;
  const { name } = await t.api(`/runs/${ended}`);
  for (const [run, title, status] of [[ended, name, "finished"], [failed.run, "failing", "failed, exit status 2"], [interrupted.run, "told", "interrupted, exit status 143"], [live.run, "steered", "running"]]) {
    const page = await open(run);
    assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), title);
    await until(async () => (await page.locator(".run-title .badge").innerText()).replace(/^\W+/, "") === status, `${title} as ${status}`);
    t.calm(page);
  }
});

test("a failed run without issues says first that it failed, and is not green", async () => {
  const job = await t.recordJob("fails", ["sh", "-c", `${trainer} --seconds 2; exit 3`]);
  await job.done;
  const verdicts = await t.findings(job.run);
  const page = await t.open("#/");
  // On a busy machine even this job can have an issue.
  const clear = verdicts.map((v) => (v.state === "issue" ? { ...v, state: "clear", why: "", findings: [] } : v));
  await page.route(`**/runs/${job.run}/findings`, (route) => route.fulfill({ json: clear }));
  await page.goto(`${t.address}#/run/${job.run}/overview`);
  await page.waitForSelector(".insight-ended");
  const said = await page.locator(".insights > p").allInnerTexts();
  assert.match(said[0], /The job failed with exit status 3$/);
  assert.equal(said[1], "No performance issues found in the recorded part");
  assert.equal(await page.locator(".insight-calm").count(), 0);
  await t.axe(page);
  t.calm(page);
});

test("an attached run says that attach records no steps", async () => {
  const job = spawn("sleep", ["3"]);
  await t.footplate("attach", "--pid", String(job.pid), "--name", "joined", "--interval", "100ms");
  const { run } = await until(async () => (await t.api("/runs")).find((r) => r.name === "joined" && !r.live), "the attached run");
  await t.findings(run);
  const page = await open(run, { ready: ".insight-none" });
  const text = await page.locator(".insights .insight-none").innerText();
  assert.match(text, /attach records no steps\. Start the job with footplate run/);
  assert.doesNotMatch(text, /footplate\.step/);
  t.calm(page);
});

test("a run without steps says why it has none, and in which programs they are detected", async () => {
  const job = await t.recordJob("stepless", ["sleep", "1"]);
  await job.done;
  await t.findings(job.run);
  const page = await open(job.run, { ready: ".insight-none" });
  const text = await page.locator(".insights .insight-none").innerText();
  assert.match(text, /no training steps were detected \(no process reported events\)\. Steps are detected automatically in PyTorch .* and LightGBM\. In other programs, mark them/);
  t.calm(page);
});

test("a live run is marked so, its data is young, and its numbers change by themselves", async () => {
  const page = await open(live.run);
  assert.equal((await page.locator(".run-title .badge").innerText()).replace(/\W/g, ""), "running");
  await until(async () => /updated [0-3] s ago/.test(await page.locator(".run-title").innerText()), "young data");
  const samples = page.locator("section.use-node tbody tr").first().locator("td").last();
  const first = await samples.innerText();
  await until(async () => (await samples.innerText()) !== first, "more samples on the page");
  const duration = page.locator(".job-details dl > div", { hasText: "Job duration" }).locator("dd");
  const before = await duration.innerText();
  await until(async () => (await duration.innerText()) !== before, "a longer job on the page");
  await t.axe(page);
  await t.shot(page, "overview-live");
  t.calm(page);
});

test("monitoring is switched off and on again", async () => {
  const page = await open(live.run);
  const button = page.getByRole("switch");
  assert.equal(await button.getAttribute("aria-checked"), "true");
  await button.click();
  await until(async () => (await button.getAttribute("aria-checked")) === "false", "the switch off");
  assert.equal((await marks("monitoring")).at(-1).number, 0);
  await button.click();
  await until(async () => (await button.getAttribute("aria-checked")) === "true", "the switch on");
  assert.equal((await marks("monitoring")).at(-1).number, 1);
  t.calm(page);
});

test("the interval and a detail window are set in a dialog that keeps the focus", async () => {
  const page = await open(live.run);
  await page.getByRole("button", { name: "Configure" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  const choices = await dialog.getByRole("group", { name: "Sampling interval" }).getByRole("button").allInnerTexts();
  assert.deepEqual(choices, ["100 ms", "200 ms", "500 ms", "1 s", "5 s", "1 min"]);
  await dialog.getByRole("button", { name: "200 ms" }).click();
  await dialog.locator("[role=status]").waitFor();
  await until(async () => (await marks("interval")).at(-1)?.number === 200e6, "the new interval in the run");
  for (const [unit, said] of [["steps", "now:2"], ["seconds", "+0s:2s"]]) {
    await dialog.getByLabel(/Detail window/).fill("2");
    await dialog.getByRole("button", { name: unit }).click();
    const before = (await marks("detail")).length;
    const asked = page.waitForRequest((r) => r.method() === "POST" && r.postData().includes(said));
    await dialog.getByRole("button", { name: "Record" }).click();
    await asked;
    await until(async () => (await marks("detail")).length > before, `a detail window of ${unit} in the run`);
  }
  await t.axe(page);
  await t.shot(page, "configure");
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press("Tab");
    const inside = await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest("dialog") !== null);
    assert.ok(inside, "the focus left the dialog");
  }
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Configure");
  t.calm(page);
});

test("the report of a run downloads as one file with the run's name in it", async () => {
  const page = await open(ended);
  const info = await t.api(`/runs/${ended}`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download report" }).click(),
  ]);
  assert.match(download.suggestedFilename(), /\.html$/);
  const file = join(t.dir, "..", `report-${process.pid}.html`);
  await download.saveAs(file);
  const html = readFileSync(file, "utf8");
  rmSync(file);
  assert.match(html, /<html/);
  assert.ok(html.includes(info.name));
  t.calm(page);
});

test("the trace of a run downloads, as the command line exports it", async () => {
  const page = await open(ended);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Trace for Perfetto" }).click()]);
  assert.equal(download.suggestedFilename(), `${ended}-trace.json`);
  const file = join(t.dir, "..", `trace-${process.pid}.json`);
  await download.saveAs(file);
  const text = readFileSync(file, "utf8");
  rmSync(file);
  assert.equal(text, await t.footplate("export", ended, "--format", "chrome", "-o", "-"));
  t.calm(page);
});

test("stop training asks first, and then really ends the job", async () => {
  const page = await open(live.run);
  await page.getByRole("button", { name: "Stop training" }).click();
  const dialog = page.getByRole("dialog");
  await t.axe(page);
  await t.shot(page, "stop");
  await dialog.getByRole("button", { name: "Keep running" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(live.child.exitCode, null);
  await page.getByRole("button", { name: "Stop training" }).click();
  await dialog.getByRole("button", { name: "Stop training" }).click();
  await live.done;
  await until(async () => (await page.locator(".run-title .badge").innerText()).includes("stopped"), "the new status on the page");
  await until(async () => (await page.getByRole("button", { name: "Configure" }).count()) === 0, "a header without controls");
  t.calm(page);
});

test("who may only read is told so", async () => {
  const reader = await start({ scenes: ["dataloader/fires"], args: ["--control", "off"] });
  try {
    const run = await reader.record("watched", "--seconds", "30");
    const page = await reader.open(`#/run/${run.run}/overview`, { ready: ".controls" });
    const button = page.getByRole("button", { name: "Stop training" });
    assert.equal(await button.getAttribute("aria-disabled"), "true");
    assert.notEqual(await button.getAttribute("title"), "");
    reader.calm(page);
  } finally {
    await reader.stop();
  }
});
