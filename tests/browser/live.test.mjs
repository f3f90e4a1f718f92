// SPDX-License-Identifier: Apache-2.0
// live.test.mjs - Overview and Nodes while a job runs, on a machine with two GPUs that a stand-in of
// the driver's library plays: what the page shows is what the server answered it last, or, of a time
// that is over, what it answers now.
import assert from "node:assert/strict";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { listed, pageModule, root, tableText, until } from "./help.mjs";
import { drag, gridRows, hash, living, pastOf, pieWanted, place, shows, showsPie, watched } from "./living.mjs";
import { binCounts, jobDetails, ruleTexts, stackedBars, stepBins, stepBinsWanted } from "./shown.mjs";

let t;
let job;
let format;
let palette;
let insights;
let node;
let live;

before(async () => {
  live = await living("lively");
  ({ t, job, node } = live);
  format = await pageModule("format.ts");
  palette = await pageModule("palette.ts");
  insights = await pageModule("views/insights.tsx");
});
afterEach(() => t.tidy());
after(() => live?.end());

const open = (tab, ready) => watched(t, job.run, tab, ready);

const past = () => pastOf(t, job.run);

test("the list has a living run with the server's values and findings, filters, sorts and ticks it", async () => {
  const page = await t.open("#/", { ready: "tbody tr" });
  const row = async () => (await tableText(page, "Runs"))[0];
  const [run] = await t.api("/runs");
  const first = await row();
  assert.ok(first[1].startsWith(run.name), first[1]);
  assert.deepEqual([first[3], first[6], first[7]], [format.dateTime(run.start_ns), String(run.nodes.length), "2"]);
  assert.match(first[2], /running/);
  await until(async () => (await row())[4] !== first[4], "a longer run");
  await until(async () => /\d (critical|warning|info)/.test((await row()).at(-1)), "what the rules found so far");
  await page.getByLabel("Status").selectOption("running");
  assert.equal((await tableText(page, "Runs")).length, 1);
  await page.getByLabel("Status").selectOption("finished");
  await page.getByText("No matches").waitFor();
  await page.getByLabel("Status").selectOption("running");
  await page.locator("th", { hasText: "Duration" }).getByRole("button").click();
  assert.equal(await page.locator("th", { hasText: "Duration" }).getAttribute("aria-sort"), "descending");
  await page.locator("tbody input[type=checkbox]").check();
  t.calm(page);
});

test("the phases and details of a living job are the server's, sum to 100 and grow", async () => {
  const { page, last } = await open("overview", ".job-details");
  const detail = async (term) => (await jobDetails(page))[term];
  const all = async (...terms) => Promise.all(terms.map(detail));
  const info = () => last[""] ?? null;
  assert.deepEqual(await all("End time", "Training loop end"), ["still running", "still running"]);
  await shows(
    "the details of the job",
    () => all("Start time", "Training loop start", "Job duration", "Training loop duration", "Initialization"),
    () => {
      const r = info();
      if (r === null) return null;
      const seconds = [r.job_duration_s, r.loop_duration_s, r.initialization_s].map((v) => format.value(v, "s"));
      return [...[r.job_start_ns, r.loop_start_ns].map(format.dateTime), ...seconds];
    },
  );
  const terms = (parts) => Object.fromEntries(parts.flatMap(([title, took, pct]) => [[title, took], [`${title} (%)`, pct]]).filter(([term]) => term !== "Training loop"));
  const want = () => (info() === null ? null : terms(pieWanted(info(), { format, palette })));
  await shows("each phase in the details", async () => {
    const shown = await jobDetails(page);
    return Object.fromEntries(Object.keys(want() ?? {}).map((term) => [term, shown[term]]));
  }, want);
  const percents = Object.entries(await jobDetails(page)).flatMap(([term, text]) => (term.endsWith("(%)") && text !== "-" ? [Number(text.replace(" %", ""))] : []));
  assert.equal(Math.round(percents.reduce((a, b) => a + b, 0) * 10), 1000);
  assert.deepEqual(await all("Finalization", "Finalization (%)"), ["-", "-"], "a live job has no finalization, which is not zero");
  const phases = () => page.locator(".progress-bar span").evaluateAll((spans) => [...new Set(spans.map((s) => s.className))].sort());
  await until(() => info()?.phases.some((p) => p.phase === "eval"), "an evaluation");
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
  const titles = {
    cpu: "Total CPU utilization", gpu: "Total GPU utilization", cpu_memory: "CPU memory utilization", gpu_memory: "GPU memory utilization",
    io_wait: "I/O wait", net_in: "Network in", net_out: "Network out",
  };
  for (const [metric, title] of Object.entries(titles)) {
    await shows(
      title,
      async () => (await tableText(page, `Resource utilization of ${node}`)).find((r) => r[0] === title)?.slice(1),
      () => {
        const s = last.stats?.find((one) => one.node === node && one.metric === metric);
        if (s === undefined) return null;
        return [...[s.min, s.max, s.p99, s.p95, s.p90, s.p50].map((v) => format.value(v, s.unit)), format.count(s.count)];
      },
    );
  }
  const usage = () => last.findings?.find?.((v) => v.rule === "OverallSystemUsage")?.remarks.find((r) => r.startsWith(`${node}: `));
  const verdict = page.locator(`section[aria-label="Node ${node}"] .use-verdict`);
  await shows("the verdict", () => verdict.textContent(), () => usage()?.slice(node.length + 2) ?? null);
  t.calm(page);
});

// A program that reports how many steps it plans, and a number of its own.
const PLANS = `
import footplate, time
footplate.counter("steps.total", 20000)
for i in range(20000):
    with footplate.step():
        time.sleep(0.02)
    footplate.counter("reward", 2 + i / 10000)
`;

test("the head of a living job has its step of those planned, the time left and its own counter", async () => {
  const python = process.env.FOOTPLATE_PYTHON ?? join(root, "build", "release", "python");
  const plans = await t.recordJob("plans", ["python3", "-c", PLANS], { env: { PYTHONPATH: python } });
  for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
    const page = await t.open(`#/run/${plans.run}/overview`, { width, scheme, ready: ".answer .tiles" });
    const tile = (term) => page.locator(".answer dl.tiles > div", { has: page.locator("dt", { hasText: new RegExp(`^${term}$`) }) });
    const text = async (term, part) => (await tile(term).locator(part).innerText()).trim();
    const done = async () => Number((await text("Step", ".tile-value")).replace(/ of .*/s, "").replace(/\D/g, ""));
    await tile("reward").waitFor();
    await until(async () => / left$/.test(await text("Step", ".tile-below")), "the time left");
    assert.match(await text("Step", ".tile-value"), /^[\d,\u202f\u00a0 ]+ of 20.?000$/);
    assert.match(await text("Step", ".tile-below"), /^[\d.]+ % done, .*\d.* left$/);
    assert.match(await text("reward", ".tile-value"), /^2(\.\d+)?$/);
    assert.match(await text("reward", ".tile-below"), /^from 2 to 2(\.\d+)?$/);
    const before = await done();
    await until(async () => (await done()) > before, "more steps");
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `live-head-${width}-${scheme}`);
    t.calm(page);
  }
  plans.child.kill("SIGINT");
  await plans.done;
});

test("a living job without a detail window has no operators, and its overview says how to record some", async () => {
  const { page } = await open("overview", "section.use-node");
  assert.deepEqual(await t.api(`/runs/${job.run}/ops`), []);
  const card = page.locator("section.card", { has: page.locator("h2", { hasText: "Resource intensive operations" }) });
  assert.match(await card.locator(".empty").innerText(), /footplate run --detail-steps/);
  t.calm(page);
});

test("what the rules find while the job runs comes into the pane, opens, and leads to its time in Nodes", async () => {
  const { page, last } = await open("overview", ".insight");
  const verdicts = () => (Array.isArray(last.findings) ? last.findings.filter(listed) : null);
  await shows(
    "the state of every rule",
    async () => (await page.locator(".insight").evaluateAll((items) => items.map((li) => `${li.dataset.rule} ${li.className}`))).sort(),
    () => verdicts()?.map((v) => `${v.rule} insight ${v.state}${v.state === "issue" ? ` ${v.severity}` : ""}`).sort() ?? null,
  );
  const found = await until(() => verdicts()?.find((v) => v.state === "issue" && v.findings.some((f) => f.start_ns !== null)), "a finding with a time");
  await shows("how many there are", () => page.locator(".insight-count").innerText(), () => insights.countText(insights.inOrder(verdicts())));
  const item = page.locator(`[data-rule="${found.rule}"]`);
  if ((await item.locator("h3 button").getAttribute("aria-expanded")) === "false") await item.locator("h3 button").click();
  const now = () => verdicts().find((v) => v.rule === found.rule);
  await shows("all that it says", async () => {
    const text = (await item.innerText()).replace(/\s+/g, " ");
    return ruleTexts(now(), format).filter((part) => !text.includes(part));
  }, () => []);
  const order = { issue: 0, clear: 1, not_evaluated: 2 };
  const states = await page.locator(".insight").evaluateAll((items) => items.map((li) => li.className.replace("insight ", "")));
  assert.deepEqual(states, [...states].sort((a, b) => order[a] - order[b]), "findings first");
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

test("each line chart of a living run, as a table, has the values of the server", async () => {
  const { from, to } = await past();
  const { page, last } = await open(`nodes?from=${from}&to=${to}&sel=gpu1`, ".nodes-gpu .chart-plot canvas");
  const { metrics } = await t.api(`/runs/${job.run}`);
  const ofAll = (metric) => {
    const { entities } = metrics.find((m) => m.metric === metric);
    return [metric, entities.includes("total") ? "total" : entities.length === 1 ? entities[0] : "*mean*"];
  };
  const busy = ["gpu.util", "gpu.sm_active", "gpu.tensor_active", "gpu.dram_active"];
  const charts = {
    "CPU utilization": [ofAll("cpu.util")],
    "Network utilization": [ofAll("net.rx"), ofAll("net.tx")],
    "GPU utilization": [...busy.map(ofAll), ...busy.map((metric) => [metric, "gpu1"])],
    "GPU memory": [ofAll("gpu.mem"), ["gpu.mem", "gpu1"]],
    "GPU power": [ofAll("gpu.power"), ofAll("gpu.power_limit"), ["gpu.power", "gpu1"], ["gpu.power_limit", "gpu1"]],
    "System metrics over time": [ofAll("cpu.util"), ofAll("gpu.util"), ofAll("cpu.iowait")],
  };
  const quiet = page.locator(".nodes-flat > button[aria-expanded=false]"); // nothing may have come over the network
  for (const one of await quiet.all()) await one.click();
  for (const [title, lines] of Object.entries(charts)) {
    await page.getByRole("button", { name: `Show as table: ${title}`, exact: true }).click();
    await shows(title, async () => (await tableText(page, title)).map((r) => r.slice(1)), () => (last.grid ? gridRows(last.grid, lines, { from, to }, format) : null));
    assert.ok(gridRows(last.grid, lines, { from, to }, format).length > 10, `${title} has rows`);
  }
  t.calm(page);
});

test("dragging in a chart of a living run zooms all of them, and new data does not move them", async () => {
  const { page, last } = await open("nodes", ".nodes-heatmap canvas");
  await drag(page, "cpu", 0.2, 0.6);
  await until(() => hash(page).has("from"), "a window in the address");
  const from = Number(hash(page).get("from"));
  const coarse = await t.api(`/runs/${job.run}/heatmap?columns=${last.heatmap.n}`);
  await until(() => last.heatmap !== undefined && Math.abs(last.heatmap.from_ns - from) < 1e7, "a heatmap of that window");
  assert.ok(last.heatmap.step_ns < coarse.step_ns, `columns of ${last.heatmap.step_ns} ns, of the whole run ${coarse.step_ns}`);
  const p = await place(page, "cpu", 0.5);
  await page.mouse.move(p.x, p.y);
  await until(() => page.locator(".chart-cursor").evaluateAll((all) => all.length >= 6 && all.every((c) => c.style.display === "block")), "a cursor in every chart");
  assert.equal(new Set(await page.locator(".chart-time").allInnerTexts()).size, 1, "at the same time");
  const { duration_s } = await t.api(`/runs/${job.run}`);
  await until(async () => (await t.api(`/runs/${job.run}`)).duration_s > duration_s + 1, "a longer run");
  assert.equal(Number(hash(page).get("from")), from);
  t.calm(page);
});

test("the heatmap of a living run has every core and GPU, tells their values, and grows", async () => {
  const { from, to } = await past();
  const { page, last } = await open(`nodes?from=${from}&to=${to}`, ".nodes-heatmap canvas");
  const heat = await until(() => last.heatmap, "an answer about the heatmap");
  const entities = (await t.api(`/runs/${job.run}`)).metrics.filter((m) => /^(cpu|gpu)\.util$/.test(m.metric)).flatMap((m) => m.entities);
  assert.deepEqual(heat.rows.map((r) => r.entity).sort(), entities.filter((e) => e !== "total").sort());
  await page.locator(".nodes-heatmap .chart-plot").focus();
  for (let i = 0; i < heat.rows.length; i++) await page.keyboard.press("ArrowDown");
  const [entity, , value] = await until(async () => {
    const lines = (await page.locator(".nodes-heatmap .chart-tip").innerText()).split("\n");
    if (lines[2] !== "not measured") return lines;
    await page.keyboard.press("ArrowRight"); // a busy machine may have missed this reading
    return null;
  }, "a column with a reading");
  assert.equal(entity, heat.rows.at(-1).entity);
  const cells = [...Buffer.from(heat.cells, "base64").subarray(-heat.n)].filter((c) => c !== 255).map((c) => `${(c / 2).toFixed(1)} %`);
  assert.ok(cells.includes(value), `${value} is none of ${cells}`);
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
    async () => (await stackedBars(page)).map((b) => [b.step, b.duration, (b.parts.forward ?? 0).toFixed(9)]),
    () => last.steps?.steps.filter((s) => s.mode === "train").slice(-10).map((s) => [s.step, s.iteration_s ?? s.duration_s, (s.events.forward ?? 0).toFixed(9)]) ?? null,
  );
  for (const bar of await stackedBars(page)) {
    const sum = Object.values(bar.parts).reduce((a, b) => a + b, 0);
    assert.ok(Math.abs(sum - bar.duration) < 1e-9, `step ${bar.step}: ${sum} of ${bar.duration}`);
  }
  t.calm(page);
});

test("the histograms of a living run count what the server counts, and grow", async () => {
  const { page, last } = await open("nodes", ".nodes-hist-gpu svg");
  const bins = (chart) => binCounts(page, chart);
  const device = (entity) => last.histograms?.devices.find((d) => d.entity === entity) ?? null;
  const gpu0 = () => device("gpu0");
  await shows("the bins of gpu0", () => bins("hist-gpu"), () => gpu0()?.bins ?? null);
  const before = gpu0().count;
  await until(() => gpu0().count > before, "more samples");
  await shows("the bins of gpu0, later", () => bins("hist-gpu"), () => gpu0().bins);
  const { entity } = last.histograms.devices.findLast((d) => d.entity.startsWith("cpu"));
  await page.locator(".nodes-hist-cpu select").selectOption(`${node}:${entity}`);
  await shows("the bins of a core", () => bins("hist-cpu"), () => device(entity).bins);
  await shows("the steps in their histograms", () => stepBins(page), () => stepBinsWanted(last.histograms.steps, format));
  t.calm(page);
});
