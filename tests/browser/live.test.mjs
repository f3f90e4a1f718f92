// SPDX-License-Identifier: Apache-2.0
// live.test.mjs - Overview and Nodes while a job runs, on a machine with two GPUs that a stand-in of
// the driver's library plays: what the page shows is what the server answered it last, or, of a time
// that is over, what it answers now.
import assert from "node:assert/strict";
import test, { after, afterEach, before } from "node:test";

import { pageModule, tableText, until } from "./help.mjs";
import { drag, hash, living, shows, showsPie, watched } from "./living.mjs";

let t;
let job;
let format;
let palette;
let node;
let live;

before(async () => {
  live = await living("lively");
  ({ t, job, node } = live);
  format = await pageModule("format.ts");
  palette = await pageModule("palette.ts");
});
afterEach(() => t.tidy());
after(() => live?.end());

const open = (tab, ready) => watched(t, job.run, tab, ready);

/** Seconds 1 to 4 of the job, as parts of an address or a question. */
async function past() {
  const { start_ns } = await t.api(`/runs/${job.run}`);
  return { from: start_ns + 1e9, to: start_ns + 4e9 };
}

test("the list has a living run as running, with its GPUs, and its duration grows", async () => {
  const page = await t.open("#/", { ready: "tbody tr" });
  const row = async () => (await tableText(page, "Runs"))[0];
  const first = await row();
  assert.match(first[2], /running/);
  assert.equal(first[6], "2");
  await until(async () => (await row())[4] !== first[4], "a longer run");
  t.calm(page);
});

test("the phases and details of a living job are the server's, sum to 100 and grow", async () => {
  const { page, last } = await open("overview", ".job-details");
  const detail = (term) => page.locator(".job-details dl > div", { has: page.locator(`dt:text-is("${term}")`) }).locator("dd").innerText();
  const all = (...terms) => Promise.all(terms.map(detail));
  const info = () => last[""] ?? null;
  assert.equal(await detail("End time"), "still running");
  await shows(
    "the details of the job",
    () => all("Start time", "Training loop start", "Training loop end", "Job duration", "Training loop duration", "Initialization"),
    () => {
      const r = info();
      if (r === null) return null;
      const seconds = [r.job_duration_s, r.loop_duration_s, r.initialization_s].map((v) => format.value(v, "s"));
      return [...[r.job_start_ns, r.loop_start_ns, r.loop_end_ns].map(format.timestamp), ...seconds];
    },
  );
  const shares = () => page.locator(".job-details dl > div").evaluateAll((all) =>
    all.filter((d) => d.querySelector("dt").innerText.endsWith("(%)")).map((d) => Number(d.querySelector("dd").innerText.replace(" %", ""))),
  );
  assert.equal(Math.round((await shares()).reduce((a, b) => a + b, 0) * 10), 1000);
  const phases = () => page.locator(".progress-bar span").evaluateAll((spans) => [...new Set(spans.map((s) => s.className))].sort());
  await shows("the phases in the bar", phases, () => info() && [...new Set(info().phases.map((p) => `phase-${p.phase}`))].sort());
  const before = await detail("Training loop duration");
  await until(async () => (await detail("Training loop duration")) !== before, "a longer loop");
  t.calm(page);
});

test("the pie of a living job has the times and percents of the server, and goes on to", async () => {
  const { page, last } = await open("overview", ".pie");
  await showsPie(page, last, { format, palette });
  const first = last[""].job_duration_s;
  await until(() => last[""].job_duration_s > first + 1, "a second more of the job");
  await showsPie(page, last, { format, palette });
  t.calm(page);
});

test("the resources of a living node, its GPUs among them, are the server's, with a verdict above", async () => {
  const { page, last } = await open("overview", "section.use-node");
  const titles = { cpu: "Total CPU utilization", gpu: "Total GPU utilization", gpu_memory: "GPU memory utilization" };
  for (const [metric, title] of Object.entries(titles)) {
    await shows(
      title,
      async () => (await tableText(page, `Resource utilization of ${node}`)).find((r) => r[0] === title)?.slice(1),
      () => {
        const s = last.stats?.find((one) => one.node === node && one.metric === metric);
        if (s === undefined) return null;
        return [s.unit, ...[s.min, s.max, s.p99, s.p95, s.p90, s.p50].map((v) => format.value(v, s.unit)), format.count(s.count)];
      },
    );
  }
  const usage = () => last.findings?.find?.((v) => v.rule === "OverallSystemUsage")?.remarks.find((r) => r.startsWith(`${node}: `));
  const verdict = page.locator(`section[aria-label="Node ${node}"] .use-verdict`);
  await shows("the verdict", () => verdict.textContent(), () => usage()?.slice(node.length + 2) ?? null);
  t.calm(page);
});

test("the operators of a living job are the server's, by self time", async () => {
  const { page, last } = await open("overview", "section.use-node");
  await shows(
    "the operators",
    async () => (await tableText(page, "CPU operators, those with most self time")).map((r) => r.slice(0, 3)),
    () => {
      const ops = last.ops?.filter?.((o) => o.device === "cpu").slice(0, 10) ?? [];
      return ops.length === 0 ? null : ops.map((o) => [o.name, format.share(o.share), format.value(o.self_s, "s")]);
    },
  );
  t.calm(page);
});

test("what the rules find while the job runs comes into the pane, opens, and leads to its time in Nodes", async () => {
  const { page, last } = await open("overview", ".insight");
  const verdicts = () => (Array.isArray(last.findings) ? last.findings : null);
  await shows(
    "the state of every rule",
    async () => (await page.locator(".insight").evaluateAll((items) => items.map((li) => `${li.dataset.rule} ${li.className}`))).sort(),
    () => verdicts()?.map((v) => `${v.rule} insight ${v.state}`).sort() ?? null,
  );
  const found = await until(() => verdicts()?.find((v) => v.state === "issue" && v.findings.some((f) => f.start_ns !== null)), "a finding with a time");
  const issues = () => verdicts().filter((v) => v.state === "issue").length;
  await shows("how many there are", () => page.locator(".insight-count").innerText(), () => `Showing ${issues()} suggestion${issues() === 1 ? "" : "s"} of ${verdicts().length} rules`);
  const item = page.locator(`[data-rule="${found.rule}"]`);
  await item.locator("h3 button").click();
  await shows("its sentence", async () => (await item.innerText()).replace(/\s+/g, " ").includes(verdicts().find((v) => v.rule === found.rule).findings[0].message.replace(/\s+/g, " ")), () => true);
  await item.locator(".insight-when button").first().click();
  await page.waitForSelector("#tab-nodes[aria-selected=true]");
  assert.ok(hash(page).has("from") && hash(page).has("to"));
  t.calm(page);
});

test("cores and GPUs of a living run are added by label, and a past window is the server's", async () => {
  const { from, to } = await past();
  const cores = (await t.api(`/runs/${job.run}`)).metrics.find((m) => m.metric === "cpu.util").entities.filter((e) => e !== "total");
  const { page } = await open(`nodes?from=${from}&to=${to}`, ".nodes-gpu .chart-plot canvas");
  const legend = (chart) => page.locator(`.nodes-${chart} .chart-legend li[data-series]`).evaluateAll((items) => items.map((li) => li.dataset.series));
  const alone = { cpu: (await legend("cpu")).length, gpumem: (await legend("gpumem")).length };
  if (cores.length > 16) await page.getByRole("button", { name: /Add one of/ }).click();
  await page.locator(".nodes-cpu .nodes-label").getByText(cores[0], { exact: true }).click();
  await until(async () => (await legend("cpu")).length === alone.cpu + 1, "the core's line");
  await page.locator(".nodes-gpu .nodes-label").getByText("gpu1").click();
  await until(async () => (await legend("gpumem")).length > alone.gpumem, "gpu1 in the memory chart too");
  assert.equal(hash(page).get("sel"), `${cores[0]},gpu1`);
  await page.getByRole("button", { name: "Show as table: GPU utilization", exact: true }).click();
  const rows = await tableText(page, "GPU utilization");
  const column = await page.locator('[role=region][aria-label="GPU utilization"] th').evaluateAll((all) => all.findIndex((th) => th.innerText.trim().startsWith("gpu1")));
  const { series } = await t.api(`/runs/${job.run}/grid?from=${from}&to=${to}&points=30&metric=gpu.util:gpu1`);
  const values = rows.map((r) => Number(r[column].replace(" %", "")));
  assert.ok(values.length > 10);
  assert.equal(Math.max(...values), Math.max(...series[0].max.filter((v) => v !== null)));
  t.calm(page);
});

test("dragging in a chart of a living run zooms all of them, and new data does not move them", async () => {
  const { page, last } = await open("nodes", ".nodes-heatmap canvas");
  await drag(page, "cpu", 0.2, 0.6);
  await until(() => hash(page).has("from"), "a window in the address");
  const from = Number(hash(page).get("from"));
  await until(() => last.heatmap !== undefined && Math.abs(last.heatmap.from_ns - from) < 1e7, "a heatmap of that window");
  const { duration_s } = await t.api(`/runs/${job.run}`);
  await until(async () => (await t.api(`/runs/${job.run}`)).duration_s > duration_s + 1, "a longer run");
  assert.equal(Number(hash(page).get("from")), from);
  t.calm(page);
});

test("the heatmap of a living run has every core and GPU, tells their values, and grows", async () => {
  const { from, to } = await past();
  const page = (await open(`nodes?from=${from}&to=${to}`, ".nodes-heatmap canvas")).page;
  const heat = await t.api(`/runs/${job.run}/heatmap?from=${from}&to=${to}&columns=30`);
  const entities = (await t.api(`/runs/${job.run}`)).metrics.filter((m) => /^(cpu|gpu)\.util$/.test(m.metric)).flatMap((m) => m.entities);
  assert.deepEqual(heat.rows.map((r) => r.entity).sort(), entities.filter((e) => e !== "total").sort());
  const plot = page.locator(".nodes-heatmap .chart-plot");
  await plot.focus();
  for (let i = 0; i < heat.rows.length; i++) await page.keyboard.press("ArrowDown");
  const lines = (await page.locator(".nodes-heatmap .chart-tip").innerText()).split("\n");
  assert.equal(lines[0], heat.rows.at(-1).entity);
  assert.match(lines[2], /^\d+(\.\d)? %$/);
  const cells = [...Buffer.from(heat.cells, "base64").subarray(-heat.n)].filter((c) => c !== 255).map((c) => c / 2);
  const value = Number(lines[2].replace(" %", ""));
  assert.ok(value >= Math.min(...cells) - 0.5 && value <= Math.max(...cells) + 0.5, `${value} is none of ${cells}`);
  const whole = await open("nodes", ".nodes-heatmap canvas");
  const first = await until(() => whole.last.heatmap?.to_ns, "a heatmap of the whole run");
  await until(() => whole.last.heatmap.to_ns > first + 1e9, "a later end of the heatmap");
  t.calm(page);
});

test("an interval selected in the system metrics of a living run shows what ran in it", async () => {
  const { page } = await open("nodes", ".nodes-lanes canvas");
  await drag(page, "system", 0.2, 0.5);
  const brush = await until(() => hash(page).get("brush"), "the selection in the address");
  const [from, to] = brush.split("-");
  const events = await until(async () => {
    const got = await t.api(`/runs/${job.run}/events?from=${from}&to=${to}`);
    return Array.isArray(got) && got.length > 0 ? got : null;
  }, "events");
  await shows(
    "the table of events",
    async () => (await tableText(page, "Events in the selected interval")).slice(0, 4).map((r) => [r[0], r[3], r[4]]),
    () => events.slice(0, 4).map((e) => [e.name, format.count(e.count), format.value(e.total_s, "s")]),
  );
  t.calm(page);
});

test("the bars of a living run are its last steps, as many as wanted", async () => {
  const { page, last } = await open("nodes", ".nodes-steps .bar-step");
  await page.locator(".nodes-steps").getByLabel("Steps", { exact: true }).selectOption("10");
  await shows(
    "the last ten steps",
    () => page.locator(".nodes-steps .bar-step").evaluateAll((all) => all.map((g) => [Number(g.dataset.step), Number(g.dataset.duration)])),
    () => last.steps?.steps.filter((s) => s.mode === "train").slice(-10).map((s) => [s.step, s.duration_s]) ?? null,
  );
  t.calm(page);
});

test("the histograms of a living run count what the server counts, and grow", async () => {
  const { page, last } = await open("nodes", ".nodes-hist-gpu svg");
  const bins = (chart) => page.locator(`.nodes-${chart} rect[data-count]`).evaluateAll((all) => all.map((r) => Number(r.dataset.count)));
  const gpu0 = () => last.histograms?.devices.find((d) => d.entity === "gpu0") ?? null;
  await shows("the bins of gpu0", () => bins("hist-gpu"), () => gpu0()?.bins ?? null);
  const before = gpu0().count;
  await until(() => gpu0().count > before, "more samples");
  await shows("the bins of gpu0, later", () => bins("hist-gpu"), () => gpu0().bins);
  const sum = (v) => v.reduce((a, b) => a + b, 0);
  await shows("all steps in their histograms", async () => sum(await bins("hist-steps")), () => sum(last.histograms.steps.flatMap((s) => s.counts)));
  t.calm(page);
});
