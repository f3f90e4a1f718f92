// SPDX-License-Identifier: Apache-2.0
// living.mjs - a job that runs while its pages are looked at, on a machine with two GPUs that a
// stand-in of the driver's library plays; and hands for its charts.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { root, start, until } from "./help.mjs";

const BEGUN_S = 6; // of the job: enough for a window that is over

/** What both GPUs play: the first of a recorded play, and the same as the second, which is less busy. */
function twoAlike() {
  const lines = readFileSync(join(root, "tests", "data", "nvml", "two_gpus.play"), "utf8").split("\n");
  const kept = lines.filter((l) => !l.startsWith("series 1 "));
  const second = kept.filter((l) => l.startsWith("series 0 ")).map((l) => l.replace("series 0", "series 1"));
  return [...kept, ...second.map((l) => (l.includes("UtilizationRates") ? "series 1 UtilizationRates 20,5 60,30" : l))].join("\n");
}

/** A server and a job that has begun its steps: `end` ends both. */
export async function living(name) {
  const folder = mkdtempSync(join(tmpdir(), "footplate-live-"));
  process.env.FOOTPLATE_NVML = process.env.FOOTPLATE_STANDIN ?? join(root, "build", "gcc", "tests", "standin", "libnvidia-ml-standin.so");
  process.env.FOOTPLATE_NVML_PLAY = join(folder, "two_alike.play");
  writeFileSync(process.env.FOOTPLATE_NVML_PLAY, twoAlike());
  const t = await start();
  const job = await t.record(name, "--seconds", "600", "--slow-input");
  const info = () => t.api(`/runs/${job.run}`);
  await until(async () => (await info()).loop_start_ns !== null && (await info()).duration_s > BEGUN_S, "steps of the job");
  const end = async () => {
    job.child.kill("SIGINT");
    await job.done;
    await t.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { t, job, node: (await info()).nodes[0].id, end };
}

/** What an address holds behind its path. */
export const hash = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1] ?? "");

/** Where in a chart of Nodes a share of its time lies, in pixels of the page. */
export async function place(page, chart, share) {
  const plot = page.locator(`.nodes-${chart} .chart-plot`);
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  return { x: box.x + 112 + share * (box.width - 112 - 14), y: box.y + 40 };
}

export async function drag(page, chart, from, to) {
  const [a, b] = [await place(page, chart, from), await place(page, chart, to)];
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move((a.x + b.x) / 2, a.y);
  await page.mouse.move(b.x, b.y);
  await page.mouse.up();
}
