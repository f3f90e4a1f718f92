// SPDX-License-Identifier: Apache-2.0
// live_gpu.test.mjs - kernels of a job that lives: a detail window that is asked for in the page comes
// into every tab by itself, and a second one is added to it; and functions of steps that were profiled. The
// machine has no GPU: what its profiler hands over was recorded on one, see tests/standin/torch_standin.py.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, root, start, tableText, until } from "./help.mjs";
import { playGpus, shows, watched } from "./living.mjs";

const GPU = "GPU kernels and copies, ranked by self time";
const CPU = "CPU operators, ranked by self time";
const WINDOW = { kernels: 84, steps: 2 }; // what one window has

let t;
let job;
let folder;
let format;
let words;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-gpu-"));
  playGpus(folder);
  format = await pageModule("format.ts");
  words = await pageModule("words.ts");
  t = await start();
  job = await t.recordJob("kernels", ["python3", join(root, "tests", "standin", "torch_standin.py")], { args: ["--python-profile-steps", "5:3,15:5:sampling"] });
  await until(async () => (await t.api(`/runs/${job.run}`)).loop_start_ns !== null, "steps of the job");
});
afterEach(() => t.tidy());
after(async () => {
  job?.child.kill("SIGINT");
  await job?.done;
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const s = (v) => format.value(v, "s");
const open = (tab, ready) => watched(t, job.run, tab, ready);
const calls = (ops) => ops.reduce((sum, o) => sum + o.calls, 0);
const gpuOps = async () => {
  const got = await t.api(`/runs/${job.run}/ops?device=gpu`);
  return Array.isArray(got) ? got : [];
};

/** As a user does: two steps, from now on. */
async function recordTwoSteps(page) {
  await page.getByRole("button", { name: "Configure" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/Detail window/).fill(String(WINDOW.steps));
  await dialog.getByRole("button", { name: "steps" }).click();
  await dialog.getByRole("button", { name: "Record" }).click();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}

/** The tables of the Operators tab are the rows of the server's last answer. */
async function showsOperators({ page, last }, device, caption) {
  const own = () => last.ops?.filter?.((o) => o.device === device).sort((a, b) => b.self_s - a.self_s).slice(0, 25) ?? [];
  const more = (o) => (device === "gpu" ? [] : [s(o.device_self_s), s(o.device_total_s)]);
  const row = (o) => [o.name, o.group ?? words.categoryTitle(o.category), format.share(o.share), s(o.self_s), s(o.total_s), format.count(o.calls), s(o.mean_s), ...more(o)];
  await shows(
    caption,
    async () => (await tableText(page, caption)).map(([name, ...rest]) => [name.replace(/^▸ /, ""), ...rest]).sort(),
    () => (own().length > 0 ? own().map(row).sort() : null),
  );
}

test("a window that is asked for in the page brings its kernels into Operators, and the next one adds to them", async () => {
  const at = await open("operators", ".empty");
  const { page, last } = at;
  assert.match(await page.locator(".empty").innerText(), /Start one now with Configure/);
  await page.evaluate(() => (window.untouched = true));
  const shown = () => page.locator(`[aria-label="${GPU}"] tbody tr`).count();
  assert.equal(await shown(), 0);
  for (const windows of [1, 2]) {
    await recordTwoSteps(page);
    await until(() => calls(last.ops?.filter?.((o) => o.device === "gpu") ?? []) === windows * WINDOW.kernels, `kernels of ${windows} windows`);
    await until(shown, "rows of kernels");
    await showsOperators(at, "gpu", GPU);
    await showsOperators(at, "cpu", CPU);
    assert.equal(await page.locator(".empty").count(), 0);
  }
  const own = await gpuOps();
  assert.equal(calls(own), 2 * WINDOW.kernels);
  const self = own.reduce((sum, o) => sum + o.self_s, 0);
  await page.getByText(new RegExp(`^${own.length} \\w+, ${s(self)} self time`)).waitFor();
  assert.equal(await page.evaluate(() => window.untouched), true, "the page was loaded again");
  await t.axe(page);
  await t.shot(page, "live-operators-gpu");
  t.calm(page);
});

test("the functions of a living job's profiled steps are the server's, apart for each timer", async () => {
  const { page, last } = await open("operators?by=function", "td.ops-cell");
  const counted = (n) => (n === null ? "-" : format.count(n));
  const row = (o) => [o.name, format.share(o.share), s(o.self_s), s(o.total_s), counted(o.calls), s(o.mean_s)];
  for (const [timer, suffix] of Object.entries({ total_time: "", default: ", sampled" })) {
    const own = () => last.ops?.filter?.((o) => o.timer === timer && o.phase === null).sort((a, b) => b.self_s - a.self_s).slice(0, 10) ?? [];
    await shows(
      `functions, ${timer}`,
      () => tableText(page, `Python functions: whole window${suffix}, ranked by self time`),
      () => (own().length > 0 ? own().map(row) : null),
    );
    assert.deepEqual(own().map((o) => o.calls === null), own().map(() => timer === "default"));
  }
  assert.match((await tableText(page, "Python functions: whole window, ranked by self time"))[0][0], /time\.sleep/);
  t.calm(page);
});

test("the kernels of a living job stand in its Overview, by self time", async () => {
  const { page } = await open("overview", 'section[aria-label="GPU operators"] tbody tr');
  const want = (await gpuOps()).sort((a, b) => b.self_s - a.self_s).slice(0, 10);
  const row = (o) => [o.name, format.share(o.share), s(o.self_s), s(o.total_s), format.count(o.calls), s(o.mean_s)];
  assert.deepEqual((await tableText(page, "GPU operators with the most self time")).sort(), want.map(row).sort());
  t.calm(page);
});

test("the breakdown of a living job has the steps of its windows and its GPU", async () => {
  const { page, last } = await open("steps", ".steps-breakdown .bar-step");
  const data = await until(() => last.breakdown?.devices.length > 0 && last.breakdown, "the device");
  assert.equal(data.steps.length, 2 * WINDOW.steps);
  const bars = page.locator(".steps-breakdown g.bar-step");
  assert.deepEqual(await bars.evaluateAll((all) => all.map((g) => Number(g.dataset.step))), data.steps.map((d) => d.step));
  const [device] = data.devices;
  const part = (v) => format.share(v / device.span_us);
  const [cells] = await tableText(page, "Time of each device in the detail window");
  assert.deepEqual(cells.slice(2, 4), [s(device.span_us / 1e6), part(device.computation_us)]);
  t.calm(page);
});

test("a step that is not over has no iteration yet, and a bar that says so", async () => {
  const { page, last } = await open("steps", ".steps-durations");
  const DURATIONS = "Iteration by step";
  await until(() => last.steps?.steps.some((step) => step.cut), "a step that is under way");
  const cut = await until(async () => (await page.locator(".bar-step.cut title").first().textContent({ timeout: 500 }).catch(() => null)), "its bar");
  assert.match(cut, /still running/);
  await page.getByRole("button", { name: `Show as table: ${DURATIONS}`, exact: true }).click();
  await page.locator(`[aria-label="${DURATIONS}"] th button`, { hasText: "Step" }).click(); // the newest first
  await shows("the newest iteration that is over", async () => Number((await tableText(page, DURATIONS))[0][3]), () => Math.max(...last.steps.steps.filter((step) => !step.cut && step.iteration_s !== null).map((step) => step.step)));
  t.calm(page);
});

test("the lanes of a living job have its kernels, a third window comes into a page that is open, and search finds them", async () => {
  const page = await t.open(`#/run/${job.run}/timeline`, { ready: ".tl-lane" });
  const { lanes } = await t.api(`/runs/${job.run}/timeline?px=1000&detail=1`);
  const stream = lanes.find((l) => l.kind === "gpu" && l.depth > 0 && !/^gpu\d+$/.test(l.thread));
  await page.locator(`.tl-lane[title="${stream.title}"]`).waitFor();
  const titles = await page.locator(".tl-lane").evaluateAll((all) => all.map((el) => el.title));
  assert.equal(new Set(titles).size, titles.length, `both windows in the same lanes: ${titles}`);
  const found = async () => (await t.api(`/runs/${job.run}/search?q=sgemm&limit=200`)).count;
  const before = await found();
  assert.ok(before > 0);
  await recordTwoSteps(page);
  await until(async () => (await found()) === (before / 2) * 3, "kernels of a third window");
  const hit = (await t.api(`/runs/${job.run}/search?q=sgemm&limit=200`)).matches.at(-1);
  await page.getByLabel("Search slices by name").fill("sgemm");
  await page.keyboard.press("Enter");
  const status = page.locator(".tl-found");
  await until(async () => (await status.innerText()).startsWith(format.count((before / 2) * 3)), "the number of matches");
  await page.getByRole("button", { name: "Previous match" }).click(); // the last one
  await page.locator(".tl-facts dd", { hasText: hit.name }).first().waitFor();
  assert.equal((await page.locator(".tl-facts dd").allInnerTexts())[1], s(hit.duration_s));
  // The run may have gone on since the page was last told how far it is: the window follows.
  const isShown = async () => {
    const [, from, to] = /from=(\d+)&to=(\d+)/.exec(await page.evaluate(() => location.hash)) ?? [];
    return from !== undefined && Number(from) <= hit.start_ns && hit.start_ns + hit.duration_s * 1e9 <= Number(to) + 512;
  };
  await until(isShown, "a window with the last match in it");
  await page.locator(".tl-facts dd", { hasText: /^kernel$/ }).waitFor(); // the slice itself is there
  await t.shot(page, "live-timeline-gpu");
  t.calm(page);
});

test("the GPUs of a living job with kernels are rows of its heatmap, and lines by their labels", async () => {
  const { page, last } = await open("nodes", ".nodes-heatmap canvas");
  const rows = await until(() => last.heatmap?.rows.map((r) => r.entity), "rows of the heatmap");
  assert.deepEqual(rows.filter((e) => e.startsWith("gpu")), ["gpu0", "gpu1"]);
  await page.locator(".nodes-gpu .nodes-label").getByText("gpu0").click();
  await until(() => last.grid?.series.some((x) => x.metric === "gpu.util" && x.entity === "gpu0"), "the line of gpu0");
  await page.locator('.nodes-gpu .chart-legend li[data-series*="gpu0"]').first().waitFor();
  t.calm(page);
});
