// SPDX-License-Identifier: Apache-2.0
// operators.test.mjs - the Operators tab: the API's rows ranked by self time, sorting, filters, whole
// names on demand.
import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText, until } from "./help.mjs";

let t;
let format;
let words;
const name = "h200";
let none;
let twoRanks; // traces of two ranks
const CPU = "CPU operators, ranked by self time";
const GPU = "GPU kernels and copies, ranked by self time";

before(async () => {
  t = await start({ scenes: ["dataloader/fires"] });
  [none] = t.runs;
  await t.copy(name);
  twoRanks = await t.import(tracesOfTwoRanks());
  await until(async () => (await t.api("/runs")).length === 3, "all runs in the list");
  format = await pageModule("format.ts");
  words = await pageModule("words.ts");
});
afterEach(() => t.tidy());
after(() => t?.stop());

/** A folder with a trace of each of two ranks, the second twice as slow. */
function tracesOfTwoRanks() {
  const folder = mkdtempSync(join(tmpdir(), "footplate-ranks-"));
  for (const rank of [0, 1]) {
    const span = (cat, name, ts, dur) => ({ ph: "X", cat, name, pid: 100 + rank, tid: 100 + rank, ts: 1.7e15 + ts, dur: dur * (rank + 1), args: {} });
    const traceEvents = [span("user_annotation", "ProfilerStep#5", 0, 400), span("cpu_op", "aten::mm", 10, 100), span("cpu_op", "aten::add", 250, 20)];
    writeFileSync(join(folder, `rank${rank}.json`), JSON.stringify({ schemaVersion: 1, distributedInfo: { rank, world_size: 2 }, traceEvents }));
  }
  return folder;
}

const opened = (query = "", more = {}) => t.open(`#/run/${name}/operators${query}`, { ready: ".ops-filters", ...more });
const s = (v) => format.value(v, "s");
const ops = (query = "") => t.api(`/runs/${name}/ops${query}`);

test("both tables are the API's rows, ranked by self time", async () => {
  const page = await opened();
  const all = await ops();
  const own = (device) => all.filter((o) => o.device === device).sort((a, b) => b.self_s - a.self_s).slice(0, 25);
  const common = (o) => [o.group ?? words.categoryTitle(o.category), format.share(o.share), s(o.self_s), s(o.total_s), format.count(o.calls), s(o.mean_s)];
  assert.deepEqual((await tableText(page, GPU)).map((c) => c.slice(1)), own("gpu").map(common));
  assert.deepEqual(
    (await tableText(page, CPU)).map((c) => c.slice(1)),
    own("cpu").map((o) => [...common(o), s(o.device_self_s), s(o.device_total_s)]),
  );
  assert.deepEqual((await tableText(page, CPU)).map((c) => c[0].replace(/^▸ /, "")), own("cpu").map((o) => o.name));
  t.calm(page);
});

test("a click on a column sorts by it, and another one turns it round", async () => {
  const page = await opened();
  const header = page.locator(`[aria-label="${CPU}"] th button`, { hasText: "Calls" });
  const calls = async () => (await tableText(page, CPU)).map((c) => Number(c[5].replaceAll(" ", "")));
  await header.click();
  const all = (await ops("?device=cpu")).map((o) => o.calls).sort((a, b) => b - a);
  assert.deepEqual(await calls(), all.slice(0, 25));
  await header.click();
  assert.deepEqual(await calls(), all.reverse().slice(0, 25));
  t.calm(page);
});

test("the whole name of a kernel comes on demand", async () => {
  const page = await opened("?device=gpu");
  const kernel = (await ops("?device=gpu")).sort((a, b) => b.self_s - a.self_s).find((o) => o.full_name !== o.name);
  const button = page.locator(".ops-toggle", { hasText: kernel.name }).first();
  assert.equal(await page.locator(".ops-full").count(), 0);
  await button.click();
  assert.equal(await page.locator(".ops-full").first().innerText(), kernel.full_name);
  assert.equal(await button.getAttribute("aria-expanded"), "true");
  await button.click();
  assert.equal(await page.locator(".ops-full").count(), 0);
  t.calm(page);
});

test("words filter both tables, and the filter is in the address", async () => {
  const page = await opened();
  const all = await ops();
  await page.getByLabel("Filter by name").fill("addmm");
  const wanted = all.filter((o) => o.device === "cpu" && o.full_name.toLowerCase().includes("addmm"));
  assert.ok(wanted.length > 0);
  await until(async () => (await page.locator(`[aria-label="${CPU}"] tbody tr`).count()) === Math.min(25, wanted.length), "the filtered rows");
  const names = (await tableText(page, CPU)).map((c) => c[0]);
  assert.ok(names.every((n) => n.toLowerCase().includes("addmm")), names.join());
  assert.match(page.url(), /find=addmm/);
  await page.getByLabel("Filter by name").fill("there is no such operator");
  await page.getByText("No matches.").first().waitFor();
  t.calm(page);
});

test("one kind of device can be chosen, and a link keeps the choice", async () => {
  const page = await opened();
  await page.getByRole("group", { name: "Device" }).getByRole("button", { name: "GPU" }).click();
  await until(async () => (await page.locator(`[aria-label="${CPU}"]`).count()) === 0, "the CPU's table to go");
  assert.equal(await page.locator(`[aria-label="${GPU}"]`).count(), 1);
  const again = await opened(page.url().split("operators")[1]);
  await again.locator(`[aria-label="${GPU}"]`).waitFor();
  assert.equal(await again.locator(`[aria-label="${CPU}"]`).count(), 0);
  t.calm(page);
});

test("one rank of several can be chosen, and a link keeps the choice", async () => {
  const page = await t.open(`#/run/${twoRanks}/operators`, { ready: ".ops-filters select" });
  const self = async (on) => (await tableText(on, CPU)).map((c) => [c[0].replace(/^▸ /, ""), c[3]]);
  const expected = async (query) => (await t.api(`/runs/${twoRanks}/ops?device=cpu${query}`)).sort((a, b) => b.self_s - a.self_s).map((o) => [o.name, s(o.self_s)]);
  const [first, second] = [await expected("&rank=0"), await expected("&rank=1")];
  assert.notDeepEqual(first, second);
  assert.deepEqual(await self(page), await expected(""));
  await page.getByLabel("Rank", { exact: true }).selectOption("rank 1");
  await until(async () => JSON.stringify(await self(page)) === JSON.stringify(second), "what rank 1 did");
  const again = await t.open(new URL(page.url()).hash, { ready: ".ops-filters select" });
  assert.deepEqual(await self(again), second);
  assert.equal(await again.getByLabel("Rank", { exact: true }).inputValue(), "1");
  t.calm(page);
});

test("by group there is one row for each kind of kernel, and windows say what they cost", async () => {
  const page = await opened("?by=group");
  const rows = (await ops("?by=group")).sort((a, b) => b.self_s - a.self_s);
  assert.ok(rows.some((o) => o.name === "optimizer"));
  const shown = await tableText(page, "Groups of kernels, ranked by self time");
  assert.deepEqual(shown.map((c) => c[0]), rows.map((o) => o.name));
  const { windows } = await t.api(`/runs/${name}/breakdown`);
  await page.locator(".window-note").first().waitFor();
  assert.match(await page.locator(".window-note").first().innerText(), new RegExp(`^Steps ${windows[0].first_step} to .*recording slowed the host`));
  t.calm(page);
});

test("by module the rows are the API's modules", async () => {
  const page = await opened("?by=module");
  const all = await ops("?by=module");
  for (const [device, caption] of [
    ["cpu", "Modules on the CPU, ranked by self time"],
    ["gpu", "Modules on GPUs, ranked by self time"],
  ]) {
    const own = all.filter((o) => o.device === device).sort((a, b) => b.self_s - a.self_s).slice(0, 25);
    if (own.length === 0) continue;
    const shown = await tableText(page, caption);
    assert.deepEqual(shown.map((c) => [c[0].replace(/^▸ /, ""), c[3]]), own.map((o) => [o.name, s(o.self_s)]));
  }
  t.calm(page);
});

test("a run without detail says how to record it", async () => {
  const page = await t.open(`#/run/${none}/operators`, { ready: ".empty" });
  assert.match(await page.locator(".empty").innerText(), /footplate run --detail-steps 5:2/);
  await t.axe(page);
  t.calm(page);
});

test("Operators is accessible and fits, at 1280 and on a telephone, light and dark", async () => {
  for (const [width, scheme] of [
    [1280, "light"],
    [1280, "dark"],
    [390, "light"],
  ]) {
    const page = await opened("", { width, scheme });
    await page.locator(`[aria-label="${CPU}"] tbody tr`).first().waitFor();
    await t.fits(page);
    await t.axe(page);
    await t.shot(page, `operators-${width}-${scheme}`);
    t.calm(page);
    await page.close();
  }
});
