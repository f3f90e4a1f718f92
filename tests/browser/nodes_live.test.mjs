// SPDX-License-Identifier: Apache-2.0
// nodes_live.test.mjs - Nodes and Timeline while a job runs.
import assert from "node:assert/strict";
import test, { after, afterEach, before } from "node:test";

import { start, until } from "./help.mjs";

let t;
let job;

before(async () => {
  t = await start();
  job = await t.record("live", "--seconds", "40");
});
afterEach(() => t.tidy());
after(async () => {
  job.child.kill("SIGINT");
  await job.done;
  await t.stop();
});

const columns = async (page) => Number(await page.locator(".nodes-cpu .chart-plot").getAttribute("data-columns"));
const windowText = (page) => page.getByTestId("window").innerText();

test("the charts of a living run grow by themselves, and the window follows until it is zoomed", async () => {
  const page = await t.open(`#/run/${job.run}/nodes`, { ready: ".nodes-cpu .chart-plot canvas" });
  const first = await columns(page);
  const text = await windowText(page);
  await until(async () => (await columns(page)) > first + 5, "more columns");
  await until(async () => (await windowText(page)) !== text, "a longer window");
  await page.getByRole("button", { name: "Zoom in" }).click();
  await until(async () => !/^Whole run/.test(await windowText(page)), "the zoomed window");
  const kept = await windowText(page);
  const then = await t.api(`/runs/${job.run}`);
  await until(async () => (await t.api(`/runs/${job.run}`)).duration_s > then.duration_s + 2, "a longer run");
  assert.equal(await windowText(page), kept, "a zoomed window stays where it is");
  await page.getByRole("button", { name: "Follow the run" }).click();
  await until(async () => /^Whole run/.test(await windowText(page)), "the whole run");
  t.calm(page);
});

test("the newest steps of a living run come into the bars", async () => {
  const page = await t.open(`#/run/${job.run}/nodes`, { ready: ".nodes-steps .bar-step" });
  const newest = () => page.locator(".nodes-steps .bar-step").last().getAttribute("data-step").then(Number);
  const first = await newest();
  await until(async () => (await newest()) > first, "a later step");
  t.calm(page);
});

test("the timeline of a living run grows, in time and in slices", async () => {
  const page = await t.open(`#/run/${job.run}/timeline`, { ready: ".tl-lane" });
  const numbers = async () => {
    const said = await page.locator("figure p.sr-only").first().innerText();
    const found = /Showing .* to ([\d.]+) s; ([\d ]+) slices? loaded/.exec(said);
    return found === null ? null : { seconds: Number(found[1]), slices: Number(found[2].replaceAll(" ", "")) };
  };
  const first = await until(numbers, "what is shown, in words");
  await until(async () => {
    const now = await numbers();
    return now !== null && now.seconds > first.seconds + 1 && now.slices > first.slices;
  }, "more seconds and more slices");
  await page.getByRole("button", { name: "Zoom in" }).click();
  await until(() => page.url().includes("from="), "a window of one's own");
  const kept = page.url();
  const then = (await t.api(`/runs/${job.run}`)).duration_s;
  await until(async () => (await t.api(`/runs/${job.run}`)).duration_s > then + 1, "a longer run");
  assert.equal(page.url(), kept, "a zoomed window stays where it is");
  t.calm(page);
});
