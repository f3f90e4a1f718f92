// SPDX-License-Identifier: Apache-2.0
// live_cores.test.mjs - Nodes while a job runs on a machine with more cores than have a label each: a
// stand-in of /proc/stat plays them.
import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";

import { pageModule, start, tableText, trainer, until } from "./help.mjs";
import { gridRows, hash, pastOf, shows, watched } from "./living.mjs";

const CORES = 20;
const TICK_MS = 10; // of the counters in the file
const WRITE_MS = 50;
const JOB_S = 6; // enough for a window that is over

let t;
let job;
let format;
let folder;
let play; // { file, timer }

/** /proc/stat after so many ticks, core k busy for k in CORES of them; as long at all times, so that
 * it can be written over. */
function stat(ticks) {
  const line = (name, busy, idle) => `${name} ${[busy, 0, 0, idle, 0, 0, 0, 0, 0, 0].map((v) => String(v).padStart(9, "0")).join(" ")}`;
  const busy = [...Array(CORES).keys()].map((k) => Math.floor((ticks * k) / CORES));
  const all = busy.reduce((a, b) => a + b, 0);
  return [line("cpu ", all, CORES * ticks - all), ...busy.map((b, k) => line(`cpu${k}`, b, ticks - b)), ""].join("\n");
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-cores-"));
  const file = openSync(join(folder, "stat"), "w");
  const begun = Date.now();
  const write = () => writeSync(file, stat(1 + Math.floor((Date.now() - begun) / TICK_MS)), 0);
  write();
  play = { file, timer: setInterval(write, WRITE_MS) };
  t = await start();
  format = await pageModule("format.ts");
  job = await t.recordJob("cores", [trainer, "--seconds", "600", "--slow-input"], { env: { FOOTPLATE_PROC: folder } });
  await until(async () => (await t.api(`/runs/${job.run}`)).duration_s > JOB_S, "some readings");
});
after(async () => {
  await t?.tidy();
  job?.child.kill("SIGINT");
  await job?.done;
  clearInterval(play?.timer);
  if (play !== undefined) closeSync(play.file);
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("one of many cores of a living run is searched for in a list, added, and its line is the server's", async () => {
  const window = await pastOf(t, job.run);
  const { page, last } = await watched(t, job.run, `nodes?from=${window.from}&to=${window.to}`, ".nodes-cpu .chart-plot canvas");
  await page.getByRole("button", { name: `Add one of ${CORES} cores` }).click();
  await page.getByRole("searchbox", { name: "Search cores" }).fill("cpu1");
  const found = await page.locator(".nodes-cpu .nodes-list .nodes-label").allInnerTexts();
  assert.deepEqual(found, ["cpu1", ...[...Array(10).keys()].map((i) => `cpu1${i}`)]);
  await page.locator(".nodes-cpu .nodes-list").getByRole("button", { name: "cpu12", exact: true }).click();
  await until(() => hash(page).get("sel") === "cpu12", "the core in the address");
  await page.getByRole("button", { name: "Show as table: CPU utilization", exact: true }).click();
  const lines = [["cpu.util", "total"], ["cpu.util", "cpu12"]];
  const wanted = () => (last.grid?.series.some((s) => s.entity === "cpu12") ? gridRows(last.grid, lines, window, format) : null);
  await shows("the values of the core", async () => (await tableText(page, "CPU utilization")).map((r) => r.slice(1)), wanted);
  assert.ok(wanted().length > 10, "there are rows");
  t.calm(page);
});
