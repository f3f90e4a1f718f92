// SPDX-License-Identifier: Apache-2.0
// metrics.test.mjs - the Metrics view: every recorded metric has a chart without a word about it in the page,
// charts can be searched, pinned and put together, zoom is common, and what is flat zero or missing says so.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, root, start, tableText, until } from "./help.mjs";

const SCENE = `scene 1
node n1 cores=2 gpus=1
n1 cpu.util total  0s..120s 40 noise 5
n1 cpu.util cpu0  0s..120s 30
n1 cpu.util cpu1  0s..120s 50
n1 mem.used total  0s..120s 8000000000
n1 job.cpu total  0s..120s 180
n1 disk.busy vda  0s..120s 0
n1 gpu.util gpu0  0s..120s 90
n1 gpu.power gpu0  0s..60s 300
n1 gpu.power gpu0  60s..120s 400
n1 gpu.temp gpu0  0s..40s 50
n1 gpu.temp gpu0  80s..120s 70
`;

let t;
let scene;
let folder;
let format;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-metrics-"));
  writeFileSync(join(folder, "many.scene"), SCENE);
  t = await start();
  scene = await t.import(join(folder, "many.scene"));
  format = await pageModule("format.ts");
});
afterEach(() => t.tidy());
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await t.stop();
});

const chart = (page, key) => page.locator(`.metrics-chart[data-chart="${key}"]`);
const open = (query = "", options = {}) => t.open(`#/run/${scene}/metrics${query}`, { ready: ".metrics-chart canvas", ...options });
const keys = (page) => page.locator(".metrics-chart").evaluateAll((all) => all.map((c) => c.dataset.chart));

test("every metric that the server lists has a chart, with its title and its values as a table", async () => {
  const page = await open();
  const { metrics } = await t.api(`/runs/${scene}`);
  const shown = await keys(page);
  assert.deepEqual([...shown].sort(), [...new Set(metrics.map((m) => m.metric))].sort());
  const power = chart(page, "gpu.power");
  await power.scrollIntoViewIfNeeded();
  await power.locator("canvas").waitFor();
  await power.getByRole("button", { name: /^Show as table/ }).click();
  const rows = await tableText(page, "Power draw");
  assert.equal(rows[1][1], format.value(300, "W"));
  assert.match(await power.locator("p.sr-only").first().innerText(), /from 300 W to 400 W/);
  t.calm(page);
});

test("what is flat zero is one line, and what is missing is a gap and no zero", async () => {
  const page = await open();
  const disk = chart(page, "disk.busy");
  await disk.scrollIntoViewIfNeeded();
  const line = disk.getByRole("button", { name: /0\.0 % throughout/ });
  await line.waitFor();
  assert.equal(await disk.locator("canvas").count(), 0);
  await line.click();
  await disk.locator("canvas").waitFor();
  const temp = chart(page, "gpu.temp");
  await temp.scrollIntoViewIfNeeded();
  await temp.locator("canvas").waitFor();
  assert.match(await temp.locator("p.sr-only").first().innerText(), /from 50 °C to 70 °C/, "no zero in between");
  t.calm(page);
});

test("a search leaves the charts with its words", async () => {
  const page = await open();
  await page.getByRole("searchbox", { name: "Filter metrics" }).fill("gpu power");
  await until(async () => (await keys(page)).length === 1, "one chart");
  assert.match(await page.locator(".metrics-tools").innerText(), /1 of 7 metrics/);
  await page.getByRole("searchbox", { name: "Filter metrics" }).fill("no such metric");
  await page.getByText("No matches.").waitFor();
  t.calm(page);
});

test("pinned charts are at the top and in the address, one each or all in one", async () => {
  const page = await open();
  for (const key of ["mem.used", "gpu.power"]) {
    await chart(page, key).scrollIntoViewIfNeeded();
    await chart(page, key).getByRole("button", { name: /^Pin/ }).click();
  }
  const pinned = page.locator(".metrics-pinned");
  await until(async () => (await pinned.locator(".metrics-chart").count()) === 2, "two pinned charts");
  await pinned.getByRole("button", { name: "All in one chart" }).click();
  await until(async () => (await pinned.locator(".metrics-chart canvas").count()) === 1, "one chart");
  const again = await t.open(`#${page.url().split("#")[1]}`, { ready: ".metrics-pinned canvas" });
  assert.match(await again.locator(".metrics-pinned").innerText(), /each in percent of its largest value/);
  await again.locator(".metrics-pinned").getByRole("button", { name: /^Show as table/ }).click();
  const rows = await tableText(again, "Pinned metrics, each in percent of its largest value");
  assert.deepEqual(rows[1].slice(1), [format.value(8e9, "B"), format.value(300, "W")], "the values have their own units");
  await again.getByRole("button", { name: "Unpin: Memory used" }).first().click();
  await until(() => !again.url().includes("mem.used"), "it is no longer in the address");
  t.calm(page);
  t.calm(again);
});

test("a zoom in one chart is that of all", async () => {
  const page = await open();
  const before = await page.getByTestId("window").innerText();
  const box = await chart(page, "cpu.util").locator(".chart-plot").boundingBox();
  await page.mouse.move(box.x + 150, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + 250, box.y + 40);
  await page.mouse.up();
  await until(async () => (await page.getByTestId("window").innerText()) !== before, "another window");
  await until(() => /from=\d+/.test(page.url()), "the window in the address");
  t.calm(page);
});

const python = process.env.FOOTPLATE_PYTHON ?? join(root, "build", "release", "python");

test("counters and marks of a program are curves", async () => {
  const code = "import footplate, time\nfor i in range(40):\n  footplate.counter('loss', 2.5 - i / 20); time.sleep(0.02)\n  if i % 10 == 0: footplate.mark('saved')\n";
  const job = await t.recordJob("own", ["python3", "-c", code], { env: { PYTHONPATH: python } });
  await job.done;
  const page = await t.open(`#/run/${job.run}/metrics?q=program`, { ready: ".metrics-chart canvas" });
  const counters = (await keys(page)).filter((key) => key.startsWith("counter:")); // a busy machine has readings of other programs, too
  assert.deepEqual(counters, ["counter:loss", "counter:saved"]);
  assert.match(await chart(page, "counter:loss").locator("p.sr-only").first().innerText(), /from 0\.55 to 2\.5\./);
  assert.match(await chart(page, "counter:saved").innerText(), /saved/);
  t.calm(page);
});

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
  test(`the view is accessible and fits at ${width} pixels, ${scheme}`, async () => {
    const page = await open("?pin=cpu.util,gpu.power&together=1", { width, scheme });
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `metrics-${width}-${scheme}`);
    t.calm(page);
  });
}
