// SPDX-License-Identifier: Apache-2.0
// tracks.test.mjs - counter tracks below the lanes of the timeline, and the curves of two runs in Compare.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { root, start, tableText, until } from "./help.mjs";

const PROGRAM = `
import sys, time
import footplate
footplate.init()
for k in range(40):
    with footplate.step(k):
        with footplate.span("forward"):
            time.sleep(float(sys.argv[1]))
    footplate.counter("loss", 2 + 1 / (1 + k))
    if k % 10 == 9:
        footplate.mark(f"epoch {k // 10}")
`;

let t;
let quick;
let slow;

before(async () => {
  t = await start();
  const program = join(t.dir, "..", `tracks-${process.pid}.py`);
  writeFileSync(program, PROGRAM);
  const python = join(root, ".venv", "bin", "python");
  const record = async (name, pause) => {
    const job = await t.recordJob(name, [python, program, pause]);
    await job.done;
    return job.run;
  };
  quick = await record("quick", "0.02");
  slow = await record("slow", "0.05");
});
afterEach(() => t.tidy());
after(() => t?.stop());

const ready = ".tl-track path[d]";

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
  test(`the timeline has the program's counters, marks and metrics as tracks at ${width} px, ${scheme}`, async () => {
    const page = await t.open(`#/run/${quick}/timeline`, { width, scheme, ready });
    const keys = await page.locator(".tl-track").evaluateAll((all) => all.map((x) => x.dataset.track));
    assert.deepEqual(keys.slice(0, 4), ["counter:loss", "marks", "cpu.util", "mem.used"]);
    await until(async () => (await page.locator(".tl-track path[d^=M]").count()) >= 4, "curves in all tracks");
    assert.match(await page.locator('[data-track="marks"]').innerText(), /4 marks/);
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `tracks-${width}-${scheme}`);
    t.calm(page);
  });
}

test("the tracks have the time axis of the lanes, also when it is zoomed", async () => {
  const page = await t.open(`#/run/${quick}/timeline`, { ready });
  const [plot, lanes] = [await page.locator(".tl-track-plot").first().boundingBox(), await page.locator("canvas.tl-canvas").boundingBox()];
  assert.ok(Math.abs(plot.x - lanes.x) <= 1 && Math.abs(plot.width - lanes.width) <= 2, `${plot.x} ${lanes.x}, ${plot.width} ${lanes.width}`);
  const path = () => page.locator('[data-track="counter:loss"] path').getAttribute("d");
  const before = await path();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await until(async () => (await path()) !== before, "another part of the curve");
  t.calm(page);
});

test("tracks are the API's numbers as a table; they are added, removed, and in the address", async () => {
  const page = await t.open(`#/run/${quick}/timeline`, { ready });
  await page.getByRole("button", { name: "Show as table: Metrics and counters" }).click();
  const rows = await tableText(page, "Metrics and counters");
  const loss = rows.find((r) => r[0] === "loss");
  assert.deepEqual([loss[4], loss[5]], ["3", "40"]);
  await page.getByRole("button", { name: "Show as chart: Metrics and counters" }).click();
  await page.getByRole("button", { name: "Remove track: loss" }).click();
  await until(async () => (await page.locator('[data-track="counter:loss"]').count()) === 0, "no track of the loss");
  await page.getByLabel("Add a track").selectOption("job.cpu");
  await page.locator('[data-track="job.cpu"]').waitFor();
  assert.match(page.url(), /tracks=[^&]*job\.cpu/);
  assert.doesNotMatch(page.url(), /counter/);
  t.calm(page);
});

test("the value under the pointer stands beside its track", async () => {
  const page = await t.open(`#/run/${quick}/timeline`, { ready });
  const text = () => page.locator('[data-track="cpu.util"] .tabular').innerText();
  const box = await page.locator('[data-track="cpu.util"] .tl-track-plot').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 10);
  await page.locator(".tl-cursor").first().waitFor();
  assert.match(await text(), /%/);
  t.calm(page);
});

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
  test(`Compare has iterations, counters and utilization of both runs in one picture at ${width} px, ${scheme}`, async () => {
    const page = await t.open(`#/compare/${quick}/${slow}`, { width, scheme, ready: ".compare-curves" });
    const card = page.locator("section.card", { has: page.getByRole("heading", { name: "Curves of both runs" }) });
    const titles = await card.locator("h3").allInnerTexts();
    assert.deepEqual(titles, ["Iteration", "loss", "CPU utilization", "CPU of the job", "CPU memory"]);
    for (const side of ["a", "b"]) assert.equal(await card.locator(`path.curve-${side}[d^=M]`).count(), 5);
    await card.getByRole("button", { name: "By step" }).click();
    assert.match(page.url(), /over=step/);
    await card.getByRole("button", { name: "Show as table: loss" }).click();
    const rows = await tableText(page, "loss");
    assert.deepEqual(rows.map((row) => row[0]), Array.from({ length: 40 }, (_, k) => String(k)));
    for (const row of rows) assert.equal(row[1], row[2], `at step ${row[0]} both have the same loss`);
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `compare-curves-${width}-${scheme}`);
    t.calm(page);
  });
}

test("any metric of both runs can be added in Compare, stays in the address, and can be removed", async () => {
  const page = await t.open(`#/compare/${quick}/${slow}`, { ready: ".compare-curves" });
  const card = page.locator("section.card", { has: page.getByRole("heading", { name: "Curves of both runs" }) });
  const add = card.getByLabel("Add a metric");
  const metrics = async (run) => (await t.api(`/runs/${run}`)).metrics.map((m) => m.metric);
  const both = new Set((await metrics(quick)).filter(((b) => (m) => b.has(m))(new Set(await metrics(slow)))));
  const offered = await add.locator("option").evaluateAll((all) => all.map((o) => o.value));
  for (const m of both) assert.equal(offered.includes(m), !["cpu.util", "job.cpu", "gpu.util", "mem.util"].includes(m), m);
  await add.selectOption("mem.used");
  const chart = card.locator(".chart", { has: page.locator("h3", { hasText: /^Memory used/ }) });
  await chart.locator("path.curve-b[d^=M]").waitFor();
  assert.match(page.url(), /metrics=mem\.used/);
  await t.axe(page);
  const again = await t.open(page.url().slice(t.address.length), { ready: ".compare-curves" });
  assert.equal(await again.locator("path.curve-a[d^=M]").count(), 6);
  await chart.getByRole("button", { name: /^Remove: / }).click();
  await until(async () => (await card.locator("path.curve-a[d^=M]").count()) === 5, "the chart to go");
  assert.doesNotMatch(page.url(), /metrics=/);
  t.calm(page);
});
