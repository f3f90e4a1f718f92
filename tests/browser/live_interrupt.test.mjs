// SPDX-License-Identifier: Apache-2.0
// live_interrupt.test.mjs - interruptions of a job that lives: the bar of its progress, the pie and
// the details have them while it goes on.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText, trainer, until } from "./help.mjs";
import { shows, showsPie, watched } from "./living.mjs";

const DEAF = ["sh", "-c", 'trap "" TERM; exec "$0" "$@"']; // before a program: it does not hear SIGTERM
const JOB = [trainer, "--seconds", "600", "--slow-input"];
const SPOT = "/latest/meta-data/spot/instance-action";
const LIKELIER = "/latest/meta-data/events/recommendations/rebalance";

let t;
let words;
let folder;
let job; // of the test that runs

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-interrupt-"));
  words = { format: await pageModule("format.ts"), palette: await pageModule("palette.ts") };
  t = await start();
});
afterEach(async () => {
  await t.tidy();
  job?.child.kill("SIGINT");
  await job?.done;
});
after(async () => {
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const info = () => t.api(`/runs/${job.run}`);
const begun = (sessions = 1) =>
  until(async () => {
    const r = await info();
    return r.loop_start_ns !== null && r.nodes[0].sessions === sessions && r.phases.at(-1).phase === "train" && r;
  }, "steps of the job");

/** Where the bar has interruptions: shares of its width, and what each says. */
const bar = (page) =>
  page.locator(".progress-bar span.phase-interruption").evaluateAll((all) => all.map((s) => [s.style.left, s.style.width].map((v) => Number(v.replace("%", "")).toFixed(1))));

function wanted(r) {
  const { format } = words;
  const [from, to] = [r.job_start_ns, r.job_end_ns];
  const percent = (ns) => ((100 * ns) / (to - from)).toFixed(1);
  const away = r.phases.filter((p) => p.phase === "interruption");
  return {
    bar: away.map((p) => [percent(p.start_ns - from), percent(p.end_ns - p.start_ns)]),
    table: r.phases.map((p) => [words.palette.PHASES[p.phase].title, format.dateTime(p.start_ns), format.dateTime(p.end_ns)]),
    details: [format.value(r.interruption_s, "s"), format.percent(r.interruption_pct)],
  };
}

/** The bar, its table, the details and the pie have the interruptions that the server told of. */
async function showsInterrupted(page, last) {
  const detail = (term) => page.locator(".job-details dl > div", { has: page.locator(`dt:text-is("${term}")`) }).locator("dd").innerText();
  await page.locator(".progress-bar span.phase-interruption").first().waitFor({ state: "attached" });
  assert.match(await page.locator("figure", { has: page.locator(".progress-bar") }).locator(".legend").innerText(), /Interruption/);
  const want = (what) => () => (last[""]?.interruption_s > 0 ? wanted(last[""])[what] : null);
  await shows("the interruptions in the bar", () => bar(page), want("bar"));
  await shows("the interruption in the details", () => Promise.all(["Interruption", "Interruption (%)"].map(detail)), want("details"));
  await showsPie(page, last, words);
  const shownAs = (what) => page.getByRole("button", { name: `Show as ${what}: Training progress over time` }).click();
  await shownAs("table");
  await shows("the phases as a table", async () => (await tableText(page, "Training progress over time")).map((r) => r.slice(0, 3)), want("table"));
  await shownAs("chart");
}

/** It lives and takes steps, by the server and on the page. */
async function goesOn(page) {
  const steps = async () => (await t.api(`/runs/${job.run}/steps?last=1`)).steps.at(-1).step;
  const first = await steps();
  await until(async () => (await steps()) > first, "a step after it");
  assert.equal((await info()).status, "running");
  assert.match(await page.locator(".run-title .badge").innerText(), /running/);
}

test("a job that goes on in spite of SIGTERM has an interruption in its bar that grows", async () => {
  job = await t.recordJob("deaf", [...DEAF, ...JOB]);
  await begun();
  const { page, last } = await watched(t, job.run, "overview", ".progress-bar");
  assert.deepEqual(await bar(page), []);
  job.child.kill("SIGTERM");
  await showsInterrupted(page, last);
  const before = last[""].interruption_s;
  await until(() => last[""].interruption_s > before + 1, "a longer interruption");
  await shows("the longer interruption", () => bar(page), () => wanted(last[""]).bar);
  await t.axe(page);
  await t.shot(page, "overview-interrupted-live");
  await goesOn(page);
  t.calm(page);
});

/** A stand-in of the cloud's metadata service: what is in `answers` it tells, all else is not there. */
async function metadata(answers) {
  const server = createServer((q, a) => {
    const body = q.method === "PUT" ? "a-token" : answers[q.url];
    a.writeHead(body === undefined ? 404 : 200, { "Content-Length": body?.length ?? 0 }).end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: `127.0.0.1:${server.address().port}`, close: () => new Promise((done) => server.close(done)) };
}

/** The environment of a recorder on a machine of that cloud. */
function onSpot(address) {
  const dmi = join(folder, "sys", "class", "dmi", "id");
  mkdirSync(dmi, { recursive: true });
  writeFileSync(join(dmi, "sys_vendor"), "Amazon EC2\n");
  return { FOOTPLATE_SYS: join(folder, "sys"), FOOTPLATE_METADATA: address };
}

test("a notice that the machine is taken away is in the bar of the living job, a mere warning is not", async () => {
  const answers = { [LIKELIER]: '{"noticeTime": "2026-01-01T08:22:00Z"}' };
  const cloud = await metadata(answers);
  try {
    job = await t.recordJob("spot", JOB, { env: onSpot(cloud.address) });
    await begun();
    const notices = async () => (await info()).marks.filter((m) => m.mark === "interruption").map((m) => m.text);
    await until(async () => (await notices()).length === 1, "the warning");
    const { page, last } = await watched(t, job.run, "overview", ".progress-bar");
    await until(() => last[""] !== undefined, "an answer about the run");
    assert.deepEqual(await bar(page), []);
    answers[SPOT] = '{"action": "terminate", "time": "2026-01-01T08:24:00Z"}';
    await showsInterrupted(page, last);
    assert.equal((await notices()).at(-1), "AWS spot: terminate at 2026-01-01T08:24:00Z");
    await goesOn(page);
    t.calm(page);
  } finally {
    await cloud.close();
  }
});

test("a node that was restarted has the time it was away in the bar of the living job, and trains on behind it", async () => {
  const args = ["--run", "twice", "--node", "n"];
  job = await t.recordJob("twice", JOB, { args });
  await begun();
  job.child.kill("SIGTERM");
  await job.done;
  job = await t.recordJob("twice", JOB, { args, run: job.run });
  await begun(2);
  const { page, last } = await watched(t, job.run, "overview", ".progress-bar");
  await showsInterrupted(page, last);
  const order = last[""].phases.map((p) => p.phase).join(" ");
  assert.match(order, /^initialization .*train.* interruption initialization train/);
  await goesOn(page);
  t.calm(page);
});
