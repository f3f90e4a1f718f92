// SPDX-License-Identifier: Apache-2.0
// live_use.test.mjs - what hands do on the pages of a job that runs: what works on a run that ended
// works while it lives.
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { sortByAll, tableText, until } from "./help.mjs";
import { drag, hash, living, place } from "./living.mjs";
import { showsColourBar } from "./shown.mjs";

const NODES = ".nodes-cpu .chart-plot canvas";
const NOTCH = 1.25; // what a notch of the wheel zooms

let t;
let job;
let node;
let live;

before(async () => {
  live = await living("handled");
  ({ t, job, node } = live);
});
afterEach(() => t.tidy());
after(() => live?.end());

const open = (tab, ready) => t.open(`#/run/${job.run}/${tab}`, { ready });

test("the tabs of a living run open by the arrow keys, each with what it shows", async () => {
  const page = await open("overview", ".insight");
  const shown = { Nodes: NODES, Metrics: ".metrics-grid canvas", Steps: ".steps-durations", Health: ".empty", Operators: ".empty", Timeline: "canvas" };
  await page.locator("#tab-overview").focus();
  for (const [tab, what] of Object.entries(shown)) {
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector(`#tab-${tab.toLowerCase()}[aria-selected=true]`);
    await page.locator("[role=tabpanel]").locator(what).first().waitFor();
  }
  t.calm(page);
});

test("the button beside the age asks for everything of a living run again", async () => {
  const page = await open("overview", ".insight");
  const asked = [];
  page.on("request", (r) => asked.push(new URL(r.url()).pathname.split(`/runs/${job.run}`)[1]));
  await page.locator(".run-age").getByRole("button", { name: "Refresh" }).click();
  await until(() => ["", "/stats", "/findings"].every((end) => asked.includes(end)), "all three").catch((e) => assert.fail(`${e.message}: ${asked}`));
  t.calm(page);
});

test("the wheel zooms in a living run, a link opens the same window, a double click shows everything", async () => {
  const page = await open("nodes", NODES);
  const p = await place(page, "cpu", 0.5);
  await page.mouse.move(p.x - 3, p.y);
  await page.mouse.move(p.x, p.y);
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -100);
  const width = () => Number(hash(page).get("to")) - Number(hash(page).get("from"));
  const { duration_s } = await t.api(`/runs/${job.run}`);
  await until(() => hash(page).has("from") && width() < (1.1 * duration_s * 1e9) / NOTCH ** 4, "a window zoomed four times");
  const again = await t.open(new URL(page.url()).hash, { ready: NODES });
  assert.equal(await again.getByTestId("window").innerText(), await page.getByTestId("window").innerText());
  const before = Number(hash(page).get("from"));
  const wide = width();
  await page.keyboard.down("Shift");
  await drag(page, "cpu", 0.5, 0.75);
  await page.keyboard.up("Shift");
  await until(() => Number(hash(page).get("from")) < before - 0.2 * wide, "an earlier window");
  assert.ok(Math.abs(width() - wide) < 1e6, "as wide as before");
  await page.mouse.dblclick(p.x, p.y);
  await until(() => !hash(page).has("from"), "an address without a window");
  t.calm(page);
});

test("the resources of a living run sort by any of their columns", async () => {
  const page = await open("overview", "section.use-node");
  await sortByAll(page);
  t.calm(page);
});

test("the evidence of what is found while the job runs is drawn, and can be read as a table", async () => {
  const page = await open("overview", ".insight");
  const found = await until(async () => {
    const all = await t.findings(job.run);
    return all.find((v) => v.findings.length > 0 && v.plots.some((p) => p.rows.length > 0));
  }, "a finding with evidence");
  const item = page.locator(`[data-rule="${found.rule}"]`);
  const opens = item.locator("h3 button");
  if ((await opens.getAttribute("aria-expanded")) !== "true") await opens.click();
  const plot = found.plots.find((p) => p.rows.length > 0);
  await item.getByText(plot.title, { exact: false }).first().waitFor();
  if (plot.kind !== "table") await item.getByRole("button", { name: `Show as table: ${plot.title}`, exact: true }).first().click();
  await item.locator(`[role=region][aria-label="${plot.title}"] tbody tr`).first().waitFor();
  t.calm(page);
});

test("the GPU chart of a living run has SM and tensor activity beside utilization", async () => {
  const { start_ns } = await t.api(`/runs/${job.run}`);
  const page = await open(`nodes?node=${node}&from=${start_ns + 1e9}&to=${start_ns + 4e9}`, NODES);
  await page.getByRole("button", { name: "Show as table: GPU utilization", exact: true }).click();
  const heads = await page.locator('[role=region][aria-label="GPU utilization"] thead th').allInnerTexts();
  for (const what of ["SM active", "tensor active"]) assert.ok(heads.some((h) => h.includes(what)), `${what} in ${heads}`);
  const grid = await t.api(`/runs/${job.run}/grid?node=${node}&metric=gpu.tensor_active&points=20&from=${start_ns + 1e9}&to=${start_ns + 4e9}`);
  assert.ok(grid.series.length > 0 && grid.series.every((s) => s.v.some((v) => v !== null)), "the server has it");
  t.calm(page);
});

test("the heatmap of a living run says what its colours are, and which phases lie beside it", async () => {
  const page = await open("nodes", ".nodes-heatmap canvas");
  const legend = await page.locator(".nodes-heatmap .legend li").allInnerTexts();
  assert.ok(legend.includes("Training"), `training in ${legend}`);
  assert.ok(legend.some((l) => l.startsWith("Hatched: not measured")), `what is hatched in ${legend}`);
  await showsColourBar(page, (await t.api(`/runs/${job.run}/heatmap?columns=10`)).rows);
  t.calm(page);
});

test("the framework's lanes of a living run name the parts of its steps", async () => {
  const page = await open("nodes", ".nodes-lanes canvas");
  await page.getByRole("button", { name: "Show as table: Framework metrics over time" }).click();
  await until(async () => {
    const rows = await tableText(page, "Framework metrics over time");
    return ["Data loading", "Forward", "Backward", "Optimizer"].every((part) => rows.some((r) => r[0].includes(part)));
  }, "all parts of a step");
  t.calm(page);
});

test("the report of a living run downloads, says that it lives, and opens from disk", async () => {
  const page = await open("overview", ".insight");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download report" }).click()]);
  const file = join(t.dir, "..", `report-live-${process.pid}.html`);
  await download.saveAs(file);
  const html = readFileSync(file, "utf8");
  assert.ok(html.includes("handled"));
  assert.match(html, /This run is still running/);
  await page.goto(`file://${file}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  rmSync(file);
});
