// SPDX-License-Identifier: Apache-2.0
// nodes.test.mjs - the Nodes view on recorded runs: what it shows equals what the API answers, all
// charts share one window and cursor, and everything can be reached without a pointer.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText, until } from "./help.mjs";
import { binCounts, heatPixel, showsColourBar, stackedBars, stepBins, stepBinsWanted } from "./shown.mjs";

const CORES = 20;
const SCENE = `scene 1
node n1 cores=${CORES} gpus=2
node n2 cores=2 gpus=0
n1 cpu.util total  0s..120s 40 noise 5
${[...Array(CORES).keys()].filter((i) => i !== 7).map((i) => `n1 cpu.util cpu${i}  0s..120s ${3 * i}`).join("\n")}
n1 cpu.util cpu7  0s..40s 10
n1 cpu.util cpu7  40s..41s 100
n1 cpu.util cpu7  41s..60s 10
n1 cpu.util cpu7  80s..120s 10
n1 cpu.iowait total  0s..120s 2
n1 net.rx eth0  0s..120s 1000
n1 net.tx eth0  0s..120s 2000
n1 gpu.util gpu0  0s..120s 90
n1 gpu.util gpu1  0s..120s 30
n1 gpu.mem gpu0  0s..120s 50
n1 gpu.mem gpu1  0s..120s 70
n1 gpu.sm_active gpu0  0s..120s 60
n1 gpu.sm_active gpu1  0s..120s 20
n1 gpu.tensor_active gpu0  0s..120s 25
n1 gpu.tensor_active gpu1  0s..120s 5
n2 cpu.util total  0s..120s 80
n2 cpu.util cpu0  0s..120s 70
n2 cpu.util cpu1  0s..120s 90
rank 0 on n1: steps 100 x 1s from 10s data=10% forward=30% backward=40% optimizer=10%; eval 5 x 1s every 50 forward=95%
rank 1 on n2: steps 100 x 1s from 10s data=20% forward=30% backward=40% optimizer=10%; step 70 takes 4s in comm; span checkpoint 2s..3s
`;

let t;
let name;
let bare;
let format;
let folder;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-nodes-"));
  writeFileSync(join(folder, "cluster.scene"), SCENE);
  writeFileSync(join(folder, "bare.scene"), "scene 1\nnode a cores=2 gpus=0\na cpu.util total  0s..60s 20\n");
  t = await start();
  name = await t.import(join(folder, "cluster.scene"));
  bare = await t.import(join(folder, "bare.scene"));
  format = await pageModule("format.ts");
});
afterEach(() => t.tidy());
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await t.stop();
});

const WHEEL_STEP = 1.25; // what a notch of the wheel zooms
const READY = ".nodes-cpu .chart-plot canvas";
const open = (query = "", options = {}) => t.open(`#/run/${name}/nodes${query}`, { ready: READY, ...options });
const plot = (page, chart) => page.locator(`.nodes-${chart} .chart-plot`);
const hash = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1] ?? "");
const windowText = (page) => page.getByTestId("window").innerText();

/** Where in a chart a share of its time lies, in pixels of the page. */
async function at(page, chart, share, y = 40) {
  const place = plot(page, chart);
  await place.scrollIntoViewIfNeeded();
  const box = await place.boundingBox();
  const left = 112;
  const right = chart === "heatmap" ? 66 : 14;
  return { x: box.x + left + share * (box.width - left - right), y: box.y + y };
}

async function drag(page, chart, from, to, { shift = false } = {}) {
  const a = await at(page, chart, from);
  const b = await at(page, chart, to);
  if (shift) await page.keyboard.down("Shift");
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move((a.x + b.x) / 2, a.y);
  await page.mouse.move(b.x, b.y);
  await page.mouse.up();
  if (shift) await page.keyboard.up("Shift");
}

/** The next answer of a route. */
const answer = async (page, what) => (await page.waitForResponse((r) => r.url().includes(`/${what}?`) && r.status() === 200)).json();

const addressHas = (page, key) => until(() => hash(page).get(key), `${key} in the address`);

test("the tables of the line charts say what the grid answers, for the mean and for chosen cores", async () => {
  const page = await open("?node=n1&sel=cpu3,gpu1");
  const asked = await page.evaluate(() => performance.getEntriesByType("resource").map((e) => e.name).find((n) => n.includes("/grid?")));
  const grid = await (await fetch(asked)).json();
  const series = (metric, entity) => grid.series.find((s) => s.node === "n1" && s.metric === metric && s.entity === entity);
  await page.getByRole("button", { name: "Show as table: CPU utilization", exact: true }).click();
  const rows = await tableText(page, "CPU utilization");
  const filled = [...Array(grid.n).keys()].filter((i) => series("cpu.util", "total").v[i] !== null);
  for (const k of [0, 5, 50]) {
    const i = filled[k];
    assert.equal(rows[k][1], format.percent(series("cpu.util", "total").v[i]));
    assert.equal(rows[k][2], format.percent(series("cpu.util", "cpu3").v[i]));
  }
  await page.getByRole("button", { name: "Show as table: GPU utilization", exact: true }).click();
  const gpu = await tableText(page, "GPU utilization");
  const want = ["60.0 %", "40.0 %", "15.0 %", "30.0 %", "20.0 %", "5.0 %"];
  assert.deepEqual(gpu[3].slice(1), want, "mean, SM active and tensor active, of all and of gpu1");
  await page.getByRole("button", { name: "Show as table: Network utilization", exact: true }).click();
  assert.deepEqual((await tableText(page, "Network utilization"))[3].slice(1), [1000, 2000].map((v) => format.value(v, "B/s")));
  await page.getByRole("button", { name: "Show as table: GPU memory", exact: true }).click();
  assert.deepEqual((await tableText(page, "GPU memory"))[3].slice(1), ["60.0 %", "70.0 %"], "the mean of both, and gpu1");
  await page.getByRole("button", { name: "Show as table: System metrics over time", exact: true }).click();
  const system = await tableText(page, "System metrics over time");
  assert.deepEqual(system[3].slice(1), [format.percent(series("cpu.util", "total").v[filled[3]]), "60.0 %", "2.0 %"], "CPU, GPU and waiting for I/O");
  t.calm(page);
});

test("a spike shorter than a column is in the chart's band, and a gap stays one", async () => {
  const page = await open("?node=n1&sel=cpu7");
  const grid = await t.api(`/runs/${name}/grid?node=n1&metric=cpu.util:cpu7&points=30`);
  const [s] = grid.series;
  assert.equal(Math.max(...s.max), 100);
  assert.ok(Math.max(...s.v) < 90, "the mean hides it");
  const { lineData } = await pageModule("charts/columns.ts");
  const line = lineData(s, grid, 500);
  assert.equal(Math.max(...line.max.filter((v) => v != null)), 100);
  assert.ok(line.mean.includes(null), "the time without readings is a gap");
  const summary = await page.locator(".nodes-cpu p.sr-only").first().innerText();
  assert.match(summary, /cpu7: mean .* to 100\.0 %/);
  t.calm(page);
});

test("dragging in one chart zooms all of them, asks the server anew, and is in the address", async () => {
  const page = await open("?node=n1");
  const asked = answer(page, "heatmap");
  const before = await windowText(page);
  await drag(page, "cpu", 0.25, 0.5);
  const heat = await asked;
  const from = Number(await addressHas(page, "from"));
  const to = Number(hash(page).get("to"));
  const info = await t.api(`/runs/${name}`);
  const wide = info.end_ns - info.start_ns;
  assert.ok(Math.abs((from - info.start_ns) / wide - 0.25) < 0.02);
  assert.ok(Math.abs((to - info.start_ns) / wide - 0.5) < 0.02);
  assert.ok(heat.step_ns < 1.1e9 && Math.abs(heat.from_ns - from) < 1e7, "the heatmap's resolution followed");
  assert.notEqual(await windowText(page), before);
  // The cursor lies at the same time in all: the axes are the same.
  const p = await at(page, "cpu", 0.5);
  await page.mouse.move(p.x, p.y);
  await until(() => page.locator(".chart-cursor").evaluateAll((all) => all.length >= 6 && all.every((c) => c.style.display === "block")), "a cursor in every chart");
  const times = await page.locator(".chart-time").allInnerTexts();
  assert.equal(new Set(times).size, 1);
  t.calm(page);
});

test("a link opens the same window, and the button or a double click shows everything again", async () => {
  const page = await open("?node=n1");
  await drag(page, "cpu", 0.25, 0.5);
  await addressHas(page, "from");
  const again = await t.open(new URL(page.url()).hash, { ready: READY });
  assert.equal(await windowText(again), await windowText(page));
  await again.getByRole("button", { name: "Whole run" }).click();
  await until(() => !hash(again).has("from"), "an address without a window");
  const p = await at(page, "net", 0.5);
  await page.mouse.dblclick(p.x, p.y);
  await until(() => !hash(page).has("from"), "an address without a window");
  assert.match(await windowText(page), /^Whole run/);
  t.calm(page);
});

test("node and window stay in sight below the page's bar when it is scrolled", async () => {
  const page = await open("?node=n1");
  await page.locator(".nodes-hist-cpu").scrollIntoViewIfNeeded();
  const [top, bar] = [await page.locator(".top").boundingBox(), await page.locator(".nodes-bar").boundingBox()];
  assert.ok((await page.evaluate(() => scrollY)) > 500);
  assert.ok(bar.y >= top.y + top.height - 1, `the bar at ${bar.y} is below ${top.y + top.height}`);
  assert.ok(bar.y + bar.height < 300);
  t.calm(page);
});

test("the wheel zooms around the pointer, Shift and drag pans", async () => {
  const page = await open("?node=n1");
  const p = await at(page, "cpu", 0.5);
  await page.mouse.move(p.x - 3, p.y);
  await page.mouse.move(p.x, p.y);
  const info = await t.api(`/runs/${name}`);
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -100);
  const zoomed = (info.end_ns - info.start_ns) / WHEEL_STEP ** 4;
  const width = () => Number(hash(page).get("to")) - Number(hash(page).get("from"));
  await until(() => hash(page).has("from") && Math.abs(width() / zoomed - 1) < 0.01, "a window zoomed four times");
  const from = Number(hash(page).get("from"));
  const to = Number(hash(page).get("to"));
  assert.ok(Math.abs(((from + to) / 2 - info.start_ns) / (info.end_ns - info.start_ns) - 0.5) < 0.02, "around the pointer");
  await drag(page, "cpu", 0.5, 0.25, { shift: true });
  const moved = () => (Number(hash(page).get("from")) - from) / (to - from);
  await until(() => Math.abs(moved() - 0.25) < 0.02, "a window later by as much as it was dragged");
  assert.ok(Math.abs(width() - (to - from)) < 1e6, "and as wide as before");
  t.calm(page);
});

test("the keyboard moves the cursor, zooms, and shows everything", async () => {
  const page = await open("?node=n1");
  await plot(page, "cpu").focus();
  await page.keyboard.press("ArrowRight");
  const first = await until(async () => {
    const text = await page.locator(".nodes-cpu .chart-time").innerText();
    return /\d\d:\d\d:\d\d/.test(text) ? text : null;
  }, "a time at the cursor");
  await page.keyboard.press("ArrowRight");
  await until(async () => (await page.locator(".nodes-cpu .chart-time").innerText()) > first, "a later time");
  await page.keyboard.press("+");
  await addressHas(page, "from");
  await page.keyboard.press("0");
  await until(() => !hash(page).has("from"), "everything");
  await plot(page, "heatmap").focus();
  await page.keyboard.press("ArrowDown");
  assert.match(await page.locator(".nodes-heatmap .chart-tip").innerText(), /cpu\d+/);
  t.calm(page);
});

test("single cores are added by label from a list that can be searched, and are in the address", async () => {
  const page = await open("?node=n1");
  const legend = () => page.locator(".nodes-cpu .chart-legend li[data-series]").allInnerTexts();
  assert.equal((await legend()).length, 1);
  assert.match((await legend())[0], /mean of 20 cores/);
  await page.getByRole("button", { name: "Add one of 20 cores" }).click();
  await page.getByRole("searchbox", { name: "Search cores" }).fill("cpu1");
  const found = await page.locator(".nodes-cpu .nodes-list .nodes-label").allInnerTexts();
  assert.deepEqual(found, ["cpu1", ...[...Array(10).keys()].map((i) => `cpu1${i}`)]);
  await page.locator(".nodes-cpu .nodes-list").getByRole("button", { name: "cpu12", exact: true }).click();
  await until(async () => (await legend()).some((l) => /cpu12 36\.0 %/.test(l.replace(/\s+/g, " "))), "cpu12 with its mean");
  assert.equal(await addressHas(page, "sel"), "cpu12");
  await page.locator(".nodes-gpu .nodes-label").getByText("gpu1").click();
  await until(async () => (await page.locator(".nodes-gpumem .chart-legend li[data-series]").count()) === 2, "gpu1 in the memory chart too");
  t.calm(page);
});

test("the heatmap's tip says row, time and value as the API has them", async () => {
  const page = await t.open(`#/run/${name}/nodes?node=n1`, { ready: ".nodes-heatmap canvas" });
  const heat = await t.api(`/runs/${name}/heatmap?node=n1&columns=200`);
  const { heatLayout, rowTop } = await pageModule("charts/heatmap.ts");
  for (const entity of ["cpu3", "cpu15", "gpu1"]) {
    const row = heat.rows.findIndex((r) => r.entity === entity);
    const l = heatLayout(heat.rows, { left: 112, top: 20, width: 500 });
    const p = await at(page, "heatmap", 0.3, l.top + rowTop(row, l.rowHeight, l.gaps) + l.rowHeight / 2);
    await page.mouse.move(p.x, p.y);
    const lines = (await page.locator(".nodes-heatmap .chart-tip").innerText()).split("\n");
    const cell = Buffer.from(heat.cells, "base64")[row * heat.n + Math.floor(0.3 * heat.n)];
    assert.equal(lines[0], entity);
    assert.equal(lines[2], `${(cell / 2).toFixed(1)} %`);
    assert.match(lines[1], /^2026-01-01 00:00:3\d/);
  }
  t.calm(page);
});

test("the heatmap has the phases above it and a bar of its colours beside it", async () => {
  const page = await open("?node=n1");
  await showsColourBar(page, (await t.api(`/runs/${name}/heatmap?node=n1&columns=10`)).rows);
  const strip = new Set();
  for (let x = 120; x < 700; x += 20) strip.add((await heatPixel(page, x, 3)).join());
  assert.ok(strip.size >= 3, "initialization, training and evaluation have colours of their own");
  const legend = await page.locator(".nodes-heatmap .legend li").allInnerTexts();
  for (const phase of ["Initialization", "Training", "Evaluation"]) assert.ok(legend.includes(phase), `${phase} in ${legend}`);
  t.calm(page);
});

test("an interval selected in the system metrics shows in the lanes and in a table of what ran", async () => {
  const page = await open("?node=n1");
  await page.locator(".nodes-lanes canvas").waitFor();
  await drag(page, "system", 0.3, 0.5);
  const brush = await addressHas(page, "brush");
  const [from, to] = brush.split("-");
  const events = await t.api(`/runs/${name}/events?node=n1&from=${from}&to=${to}`);
  const rows = await tableText(page, "Events in the selected interval");
  assert.ok(rows.length > 0);
  for (const [i, e] of events.slice(0, 4).entries()) {
    assert.deepEqual([rows[i][0], rows[i][3], rows[i][4], rows[i][5]], [e.name, format.count(e.count), format.value(e.total_s, "s"), format.share(e.share)]);
  }
  const shown = await page.locator(".chart-selection").evaluateAll((all) => all.map((s) => s.style.display));
  assert.ok(shown.length >= 6 && shown.every((d) => d === "block"));
  assert.ok(!hash(page).has("from"), "selecting is not zooming");
  const again = await t.open(new URL(page.url()).hash, { ready: READY });
  assert.deepEqual(await tableText(again, "Events in the selected interval"), rows);
  await again.getByRole("button", { name: "Zoom to interval" }).click();
  await addressHas(again, "from");
  await again.getByRole("button", { name: "Clear" }).click();
  await until(() => !hash(again).has("brush"), "no selection");
  t.calm(page);
});

test("the framework's lanes name the parts of a step for each rank", async () => {
  const page = await open("");
  await page.getByRole("button", { name: "Show as table: Framework metrics over time" }).click();
  const rows = await tableText(page, "Framework metrics over time");
  for (const [rank, parts] of [["rank 0", ["Data loading", "Forward", "Backward", "Optimizer", "Evaluation"]], ["rank 1", ["Data loading", "Forward", "Backward", "Optimizer", "Checkpoint", "Collectives"]]])
    for (const part of parts) assert.ok(rows.some((r) => r[0].includes(part) && r[1] === rank), `${part} of ${rank}`);
  t.calm(page);
});

test("the stacked bars are as high as their iterations, part by part as the API says", async () => {
  const page = await open("?node=n1&last=10");
  const { steps } = await t.api(`/runs/${name}/steps?last=10&mode=train&rank=0`);
  await page.locator(".nodes-steps svg").waitFor();
  const bars = await stackedBars(page);
  assert.equal(bars.length, 10);
  for (const [i, bar] of bars.entries()) {
    const sum = Object.values(bar.parts).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - bar.duration) < 1e-9, `step ${bar.step}: ${sum} of ${bar.duration}`);
    assert.equal(bar.step, steps.at(i).step);
    assert.equal(bar.duration, steps.at(i).iteration_s ?? steps.at(i).duration_s);
    assert.ok(Math.abs(bar.parts.backward - steps.at(i).events.backward) < 1e-9);
    assert.ok(Math.abs(bar.pixels / bars[0].pixels - bar.duration / bars[0].duration) < 0.01);
  }
  await page.locator(".nodes-steps").getByLabel("Steps", { exact: true }).selectOption("50");
  await until(async () => (await page.locator(".nodes-steps .bar-step").count()) === 50, "50 bars");
  assert.equal(hash(page).get("last"), "50");
  t.calm(page);
});

test("the histograms count what the API counts, for the device that was chosen", async () => {
  const page = await open("?node=n1");
  const { devices } = await t.api(`/runs/${name}/histograms?node=n1`);
  await page.locator(".nodes-hist-cpu svg").waitFor();
  await page.locator(".nodes-hist-cpu select").selectOption("n1:cpu7");
  const cpu7 = devices.find((d) => d.entity === "cpu7");
  await until(async () => JSON.stringify(await binCounts(page, "hist-cpu")) === JSON.stringify(cpu7.bins), "the bins of cpu7");
  assert.equal(cpu7.bins.length, 101);
  assert.ok(cpu7.bins[100] > 0, "100 % has a bin of its own");
  assert.deepEqual(await binCounts(page, "hist-gpu"), devices.find((d) => d.entity === "gpu0").bins);
  t.calm(page);
});

test("iterations are counted for each rank, and those that took much longer are marked and named", async () => {
  const page = await open("");
  await page.locator(".nodes-hist-steps svg").first().waitFor();
  const { steps } = await t.api(`/runs/${name}/histograms`);
  assert.deepEqual(new Set(steps.map((s) => s.rank)), new Set([0, 1]));
  assert.ok(steps.some((s) => s.outliers.length > 0), "one took longer");
  assert.deepEqual(await stepBins(page), stepBinsWanted(steps, format));
  const [slow] = steps.flatMap((s) => s.outliers);
  await page.getByRole("button", { name: `step ${slow.step}: ${format.value(slow.iteration_s, "s")}, show it at ${format.dateTime(slow.start_ns)}` }).click();
  const [from, to] = (await addressHas(page, "brush")).split("-").map(Number);
  assert.ok(Math.abs(from - slow.start_ns) < 1e6 && Math.abs(to - from - slow.iteration_s * 1e9) < 1e6, "the iteration is selected");
  t.calm(page);
});

test("all nodes at once have a line each, one node only its own", async () => {
  const page = await open("");
  const labels = () => page.locator(".nodes-cpu .chart-legend li[data-series]").evaluateAll((all) => all.map((l) => l.dataset.series));
  assert.deepEqual(await labels(), ["n1 cpu.util total", "n2 cpu.util total"]);
  await page.getByLabel("Node", { exact: true }).selectOption("n2");
  await until(async () => (await labels()).length === 1, "one line");
  assert.deepEqual(await labels(), ["n2 cpu.util total"]);
  assert.equal(hash(page).get("node"), "n2");
  assert.equal(await page.getByRole("heading", { name: "GPU", exact: true }).count(), 0, "a node without a GPU has no card for it");
  t.calm(page);
});

test("what was not recorded says why and how to get it", async () => {
  const page = await t.open(`#/run/${bare}/nodes`, { ready: READY });
  const texts = (await page.locator(".empty").allInnerTexts()).join("\n");
  assert.match(texts, /Network utilization was not recorded/);
  await until(async () => /No steps/.test((await page.locator(".empty").allInnerTexts()).join("\n")), "no steps");
  assert.match(await page.locator(".nodes").innerText(), /footplate run -- python train\.py/);
  t.calm(page);
});

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
  test(`the view is accessible and fits at ${width} pixels, ${scheme}`, async () => {
    const page = await open("?sel=cpu3", { width, scheme });
    await page.locator(".nodes-hist-steps svg").first().waitFor();
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `nodes-${width}-${scheme}`);
    t.calm(page);
  });
}
