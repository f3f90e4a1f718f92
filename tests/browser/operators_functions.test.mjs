// SPDX-License-Identifier: Apache-2.0
// operators_functions.test.mjs - the Operators tab by function: a table of Python functions for each phase
// and timer of profiled windows, as the API has them.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, root, start, tableText, until } from "./help.mjs";

const WHOLE = "Python functions: whole window, ranked by self time";
const FORWARD = "Python functions: Forward, ranked by self time";
const TITLES = [
  "Python functions: whole window, sampled",
  "Python functions: whole window",
  "Python functions: whole window, CPU time",
  "Python functions: Forward, sampled",
  "Python functions: Forward",
  "Python functions: Forward, CPU time",
];
const FUNCTIONS = 12; // of a whole window: more than are shown at first

let t;
let format;
let folder;
let name;
let none;

/** A window of three steps, as the hooks leave it. */
function profile(at_s, profiler, timer) {
  const took = (i) => ({
    file: "/home/me/train.py",
    line: 7 + i,
    name: i === 0 ? "load_batch" : `f${i}`,
    calls: profiler === "sampling" ? 0 : 4 + ((i * 5) % FUNCTIONS),
    self_s: 0.5 ** i,
    total_s: 2 * 0.5 ** i,
  });
  const functions = [...Array(FUNCTIONS).keys()].map(took);
  const about = { version: 1, pid: 4242 + at_s, profiler, timer, start_step: 5, end_step: 7 };
  return { ...about, start_ns: at_s * 1e9, end_ns: (at_s + 1) * 1e9, functions, phases: { forward: functions.slice(0, 3) } };
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-functions-"));
  const traces = join(folder, "profiled");
  mkdirSync(traces);
  const kinds = [["cprofile", "total_time"], ["cprofile", "cpu_time"], ["sampling", "default"]];
  const write = (file, what) => writeFileSync(join(traces, `${file}.json`), JSON.stringify(what));
  for (const at_s of [100, 110]) kinds.forEach(([profiler, timer], i) => write(`${timer}-${at_s}`, profile(at_s + 2 * i, profiler, timer)));
  t = await start({ scenes: ["dataloader/fires"] });
  none = t.runs[0];
  name = await t.import(traces);
  format = await pageModule("format.ts");
});
afterEach(() => t.tidy());
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await t?.stop();
});

const opened = (query = "", more = {}) => t.open(`#/run/${name}/operators?by=function${query}`, { ready: "td.ops-cell", ...more });
const functions = (query = "") => t.api(`/runs/${name}/ops?by=function${query}`);
const heads = (page) => page.locator("section.card h2").allInnerTexts();
const s = (v) => format.value(v, "s");
const counted = (n) => (n === null ? "-" : format.count(n));
const row = (f) => [f.name, format.share(f.share), s(f.self_s), s(f.total_s), counted(f.calls), s(f.mean_s)];
const of = (all, phase, timer) => all.filter((f) => f.phase === phase && f.timer === timer).sort((a, b) => b.self_s - a.self_s);

test("there is a table for each phase and timer, whole windows first, with the API's rows", async () => {
  const page = await opened();
  const all = await functions();
  assert.deepEqual(await heads(page), TITLES);
  const kinds = [null, "forward"].flatMap((phase) => ["default", "total_time", "cpu_time"].map((timer) => [phase, timer]));
  for (const [i, [phase, timer]] of kinds.entries()) {
    const own = of(all, phase, timer);
    assert.equal(own.length, phase === null ? FUNCTIONS : 3);
    assert.deepEqual(await tableText(page, `${TITLES[i]}, ranked by self time`), own.slice(0, 10).map(row), TITLES[i]);
    const hint = `${own.length} function${own.length === 1 ? "" : "s"}, ${s(own.reduce((sum, f) => sum + f.self_s, 0))} self time`;
    assert.equal(await page.locator("section.card .hint").nth(i).innerText(), hint);
  }
  t.calm(page);
});

test("samples count no calls, and a call that was not counted is no zero", async () => {
  const page = await opened();
  const sampled = await tableText(page, `${TITLES[0]}, ranked by self time`);
  assert.deepEqual(sampled.map((c) => c.slice(4)), sampled.map(() => ["-", "-"]));
  const told = await tableText(page, WHOLE);
  assert.ok(told.every((c) => Number(c[4]) >= 8), told.join("\n"));
  t.calm(page);
});

test("a table of functions is sorted by any column without the others, and shows the rest on demand", async () => {
  const page = await opened();
  const own = of(await functions(), null, "total_time");
  const region = page.locator(`[aria-label="${WHOLE}"]`);
  await region.getByRole("button", { name: "Show all 12" }).press("Enter");
  const values = async () => (await tableText(page, WHOLE)).map((c) => Number(c[4]));
  const calls = own.map((f) => f.calls).sort((a, b) => b - a);
  const header = region.locator("th button", { hasText: "Calls" });
  await header.press("Enter");
  assert.deepEqual(await values(), calls);
  await header.press("Space");
  assert.deepEqual(await values(), calls.reverse());
  assert.equal(await page.locator(`[aria-label="${FORWARD}"] th[aria-sort=descending]`).textContent(), "Self↓");
  t.calm(page);
});

test("By function is reached with the keyboard, keeps the focus, and is in the address", async () => {
  const page = await t.open(`#/run/${name}/operators?device=gpu`, { ready: ".ops-filters" });
  const rows = page.getByRole("group", { name: "Rows" });
  await rows.getByRole("button", { name: "By function" }).focus();
  await page.keyboard.press("Enter");
  await page.locator(`[aria-label="${WHOLE}"]`).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "By function");
  assert.equal(await page.getByRole("group", { name: "Device" }).count(), 0);
  assert.match(page.url(), /by=function/);
  await page.getByLabel("Filter by name").fill("train.py load_BATCH");
  const found = async (on) => (await tableText(on, WHOLE)).map((c) => c[0]);
  await until(async () => (await found(page)).length === 1, "the filtered row");
  const again = await t.open(new URL(page.url()).hash, { ready: "td.ops-cell" });
  assert.deepEqual(await found(again), ["load_batch (me/train.py:7)"]);
  assert.equal(await again.locator("section.card .hint").nth(1).innerText(), await page.locator("section.card .hint").nth(1).innerText());
  await rows.getByRole("button", { name: "By operator" }).click();
  await page.locator(`[aria-label="${WHOLE}"]`).waitFor({ state: "detached" });
  assert.doesNotMatch(page.url(), /by=/);
  assert.match(await page.locator(".empty").innerText(), /No operators were recorded/);
  t.calm(page);
});

test("one rank of several can be chosen, and a link to it has its functions", async () => {
  const args = ["--python-profile-steps", "3:2"];
  const job = await t.recordJob("two", ["python3", join(root, "tests", "browser", "two_ranks.py")], { args });
  const told = (rank) => t.api(`/runs/${job.run}/ops?by=function&rank=${rank}`).catch(() => []);
  await until(async () => (await told(0)).length > 0 && (await told(1)).length > 0, "functions of both ranks");
  job.child.kill("SIGINT");
  await job.done;
  assert.equal((await t.api(`/runs/${job.run}`)).has_detail, false, "functions are no operators");
  const page = await t.open(`#/run/${job.run}/operators?by=function`, { ready: ".ops-filters select" });
  const both = (await tableText(page, WHOLE))[0];
  const [first, second] = (await Promise.all([told(0), told(1)])).map((all) => of(all, null, "total_time").slice(0, 10).map(row));
  assert.notDeepEqual(first, second);
  assert.notDeepEqual(both, second[0]);
  await page.getByLabel("Rank", { exact: true }).selectOption("rank 1");
  await until(async () => JSON.stringify(await tableText(page, WHOLE)) === JSON.stringify(second), "the functions of rank 1");
  const again = await t.open(new URL(page.url()).hash, { ready: ".ops-filters select" });
  assert.equal(await again.getByLabel("Rank", { exact: true }).inputValue(), "1");
  assert.deepEqual(await tableText(again, WHOLE), second);
  t.calm(page);
});

test("a run or a rank without a profile says how to record one, and the way back stays", async () => {
  for (const [query, whose] of [
    ["", "in this run"],
    ["&rank=0", "on rank 0"],
  ]) {
    const page = await t.open(`#/run/${none}/operators?by=function${query}`, { ready: ".empty" });
    const told = await page.locator(".empty").innerText();
    assert.ok(told.startsWith(`No Python functions were profiled ${whose}`), told);
    assert.match(told, /footplate run --python-profile-steps 5:3 -- python train\.py/);
    await t.fits(page);
    await t.axe(page);
    await page.getByRole("button", { name: "By operator" }).click();
    await page.getByText("No operators were recorded in this run").waitFor(); // spans of hooks are none
    t.calm(page);
  }
});

test("functions are accessible and fit, at 1280 and on a telephone, light and dark", async () => {
  for (const [width, scheme] of [
    [1280, "light"],
    [1280, "dark"],
    [390, "light"],
    [390, "dark"],
  ]) {
    const page = await opened("", { width, scheme });
    const shares = page.locator(`[aria-label="${WHOLE}"] td:nth-child(2)`);
    assert.ok(await shares.first().isVisible(), `shares at ${width}`);
    await t.fits(page);
    await t.axe(page);
    await t.shot(page, `operators-functions-${width}-${scheme}`);
    t.calm(page);
    await page.close();
  }
});
