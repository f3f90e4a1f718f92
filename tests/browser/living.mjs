// SPDX-License-Identifier: Apache-2.0
// living.mjs - a job that runs while its pages are looked at, on a machine with two GPUs that a
// stand-in of the driver's library plays; and hands for its charts.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { root, start, until } from "./help.mjs";
import { pieParts } from "./shown.mjs";

const BEGUN_S = 6; // of the job: enough for a window that is over

/** What both GPUs play: the first of a recorded play, and the same as the second, which is less busy. */
function twoAlike() {
  const lines = readFileSync(join(root, "tests", "data", "nvml", "two_gpus.play"), "utf8").split("\n");
  const kept = lines.filter((l) => !l.startsWith("series 1 "));
  const second = kept.filter((l) => l.startsWith("series 0 ")).map((l) => l.replace("series 0", "series 1"));
  return [...kept, ...second.map((l) => (l.includes("UtilizationRates") ? "series 1 UtilizationRates 20,5 60,30" : l))].join("\n");
}

/** From now on jobs run on a machine with two GPUs, as a file in the folder says. */
export function playGpus(folder) {
  process.env.FOOTPLATE_NVML = process.env.FOOTPLATE_STANDIN ?? join(root, "build", "gcc", "tests", "standin", "libnvidia-ml-standin.so");
  process.env.FOOTPLATE_NVML_PLAY = join(folder, "two_alike.play");
  writeFileSync(process.env.FOOTPLATE_NVML_PLAY, twoAlike());
}

/** A server and a job that has begun its steps: `end` ends both. */
export async function living(name) {
  const folder = mkdtempSync(join(tmpdir(), "footplate-live-"));
  playGpus(folder);
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

/** A page with what the server answered it last, by the end of the path. */
export async function watched(t, run, tab, ready) {
  const page = await t.open(`#/run/${run}/${tab}`, { ready });
  const last = {};
  const base = `/api/v1/runs/${run}`;
  page.on("response", async (r) => {
    const { pathname } = new URL(r.url());
    if (!pathname.startsWith(base) || r.status() !== 200 || pathname.endsWith("/live")) return;
    const key = pathname.slice(base.length + 1);
    const asked = (last[`${key} asked`] ?? 0) + 1;
    last[`${key} asked`] = asked;
    const body = await r.json().catch(() => null); // the page may be closed meanwhile
    if (body !== null && asked === last[`${key} asked`]) last[key] = body;
  });
  await page.reload(); // what came before anybody listened comes again
  await page.waitForSelector(ready);
  return { page, last };
}

/** Waits until the page shows what `want` makes of an answer that the server gave it meanwhile: on a busy
 * machine the page may be told well before the test is, and go on. */
export async function shows(what, got, want) {
  const [shown, wanted] = [new Set(), new Set()];
  const last = (texts) => [...texts].at(-1);
  await until(async () => {
    const expected = want();
    if (expected !== null) wanted.add(JSON.stringify(expected));
    if (wanted.size > 0) shown.add(JSON.stringify(await got()));
    return [...shown].some((text) => wanted.has(text));
  }, what).catch((e) => assert.fail(`${e.message}\n${last(shown)}\n${last(wanted)}`));
}

/** Seconds 1 to 4 of a job, as parts of an address or a question. */
export async function pastOf(t, run) {
  const { start_ns } = await t.api(`/runs/${run}`);
  return { from: start_ns + 1e9, to: start_ns + 4e9 };
}

/** What a chart says as a table, by an answer of the server: a row for each column of the window that
 * has a reading of one of the lines, each [metric, entity]. */
export function gridRows(grid, lines, { from, to }, { value }) {
  const series = lines.map(([metric, entity]) => grid.series.find((s) => s.metric === metric && s.entity === entity));
  const middle = (i) => grid.from_ns + (i + 0.5) * grid.step_ns;
  const filled = [...Array(grid.n).keys()].filter((i) => middle(i) >= from && middle(i) <= to && series.some((s) => s.v[i] !== null));
  return filled.map((i) => series.map((s) => value(s.v[i], s.unit)));
}

/** The parts of the pie that have time, as the server tells of them: all phases that it knows, the
 * loop as one. `words` are the page's format.ts and palette.ts. */
export function pieWanted(info, { format, palette }) {
  const kinds = Object.keys(info).flatMap((key) => /^(?!train|eval)(\w+)_pct$/.exec(key)?.[1] ?? []);
  const parts = kinds.map((kind) => {
    const [title, seconds] = kind === "loop" ? ["Training loop", info.train_s + info.eval_s] : [palette.PHASES[kind].title, info[`${kind}_s`]];
    return [title, format.value(seconds, "s"), format.percent(info[`${kind}_pct`])];
  });
  return withTime(parts, format);
}

const withTime = (parts, format) => parts.filter(([, took]) => took !== format.value(0, "s") && took !== format.value(null, "s"));

/** The pie and what stands in its middle are those of the server's last answer about the run. */
export async function showsPie(page, last, words) {
  const { format } = words;
  const middle = () => page.locator(".pie-middle").first().innerHTML();
  await shows(
    "the pie of phases",
    async () => [await middle(), ...withTime(await pieParts(page), format)],
    () => (last[""]?.loop_start_ns ? [format.duration(last[""].job_duration_s), ...pieWanted(last[""], words)] : null),
  );
  const percents = (await pieParts(page)).map(([, , pct]) => Number(pct.replace(" %", "")));
  assert.equal(Math.round(percents.reduce((a, b) => a + b, 0) * 10), 1000);
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
