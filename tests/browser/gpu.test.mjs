// SPDX-License-Identifier: Apache-2.0
// gpu.test.mjs - what the page shows of a job on a GPU: the training loop first, numbers that are not
// known with their reasons, causes before symptoms, charts that are flat, and noise between runs.
import assert from "node:assert/strict";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText, until } from "./help.mjs";

const run = "h200"; // one rank on an H200, with steps that were timed
let t;
let format;
let words;

before(async () => {
  t = await start();
  format = await pageModule("format.ts");
  words = await pageModule("words.ts");
  await t.copy(run);
  await t.copy("h200-1-worker");
  await t.findings(run);
});
afterEach(() => t.tidy());
after(() => t?.stop());

const USE = {
  util_pct: 98.72,
  sm_active_pct: 93.6,
  sm_occupancy_pct: 30,
  tensor_active_pct: 60.5,
  dram_active_pct: 30.1,
  tflops: 513.4,
  mfu_pct: 51.9,
  power_w: 685,
  energy_j: 8334.8,
  clock_mhz: 1612,
  clock_held_pct: { power_cap: 99.6, thermal: 0.2 },
  used_memory_bytes: 27534557184,
};
const GPU = {
  ...USE,
  peak_tflops: 989,
  peak_format: "BF16",
  dram_tb_s: 1.4,
  loop_energy_j: 8000,
  energy_per_step_j: 86.8,
  energy_per_sample_j: 21.7,
  peak_memory_bytes: 26218329600,
  reserved_memory_bytes: 26656899072,
  window: "loop",
  start_ns: 1e18,
  end_ns: 1e18 + 12e9,
  steps: 96,
  samples: 384,
  gpus_used: 1,
  job: { ...USE, util_pct: 51.7, energy_j: 10719.7 },
  gpus: [{ node: "vm", entity: "gpu0", name: "NVIDIA H200", used: true, peak_tflops: 989, peak_dram_tb_s: 4.8, memory_bytes: 150754820096, loop: USE, job: USE }],
};

/** The Overview of the run, its answers changed on their way. */
async function overview({ gpu = GPU, losses = [], findings = null, ...more } = {}) {
  const page = await t.open("#/", more);
  await page.route(`**/api/v1/runs/${run}`, async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    await route.fulfill({ response: answer, json: { ...body, gpu, losses: [...body.losses.filter((l) => !l.what.startsWith("gpu.")), ...losses] } });
  });
  if (findings !== null) await page.route(`**/runs/${run}/findings`, async (route) => route.fulfill({ json: findings(await t.findings(run)) }));
  await page.goto(`${t.address}#/run/${run}/overview`);
  await page.waitForSelector(".loop .steps-share-bar");
  await page.waitForSelector(".insight-count");
  return page;
}

const tiles = (page) =>
  page.locator(".loop .tiles > div").evaluateAll((all) => Object.fromEntries(all.map((el) => [el.children[0].innerText, [...el.children].slice(1).map((x) => x.innerText.trim())])));

const facts = (page) =>
  page.locator(".loop-facts > div").evaluateAll((all) => Object.fromEntries(all.map((el) => [el.children[0].innerText, el.children[1].innerText])));

test("the training loop comes first, with iteration, throughput, compute and energy; the whole job second", async () => {
  const page = await overview();
  const [rank] = (await t.api(`/runs/${run}/steps`)).ranks;
  const shown = await tiles(page);
  assert.deepEqual(Object.keys(shown), ["Iteration, median", "Throughput, steady", "Compute", "GPU energy"]);
  const { p50, mean, p95 } = rank.iteration_s;
  assert.equal(shown["Iteration, median"][0], format.value(p50, "s"));
  assert.ok(shown["Iteration, median"][1].startsWith(`mean ${format.value(mean, "s")}, p95 ${format.value(p95, "s")}`), shown["Iteration, median"][1]);
  assert.deepEqual(shown["Throughput, steady"], [`${format.samplesPerSecond(rank.throughput.steady)} samples/s`, `${format.samplesPerSecond(rank.throughput.overall)} overall`]);
  assert.deepEqual(shown.Compute, ["513 TFLOP/s", "51.9 % of peak (989 TFLOP/s, BF16)"]);
  assert.deepEqual(shown["GPU energy"], ["21.7 J per sample", "86.8 J per step"]);
  assert.deepEqual(await page.locator(".loop-activity .num").allInnerTexts(), ["98.7 %", "93.6 %", "60.5 %", "30.1 %"]);
  assert.deepEqual(await facts(page), {
    Power: "685 W",
    "SM clock": "1612 MHz, reduced by power limit 100 % of the time",
    "Peak memory": "24.4 GiB allocated, 24.8 GiB reserved",
    "Memory in use": "25.6 GiB of 140 GiB (all processes)",
  });
  const titles = await page.locator(".overview h2").allInnerTexts();
  assert.ok(titles.indexOf("Training loop") < titles.indexOf("Training job summary"), titles.join());
  const labels = await page.locator(".loop .steps-clock-label").allInnerTexts();
  assert.deepEqual(labels, [`GPU time, ${rank.gpu_timed_steps} of ${rank.count} steps timed`, "host time"]);
  const job = await page.locator(".job-details").innerText();
  assert.match(job, /GPU utilization, whole job\s+51\.7 %/);
  assert.match(job, /GPU energy, whole job\s+10\.7 kJ \(2\.98 Wh\)/);
  t.calm(page);
});

test("numbers that are not known say why, each reason once", async () => {
  const old = "the GPU has no performance monitors (GPM): it is older than Hopper";
  const none = { sm_active_pct: null, tensor_active_pct: null, dram_active_pct: null, tflops: null, mfu_pct: null };
  const page = await overview({
    gpu: { ...GPU, ...none, peak_memory_bytes: null },
    losses: [...Object.keys(none).map((k) => [k, old]), ["peak_memory_bytes", "no process reported it"]].map(([key, why]) => ({ what: `gpu.${key}`, title: `gpu.${key}`, why, count: 1, kind: "absent", node: null })),
  });
  const shown = await tiles(page);
  assert.deepEqual(shown.Compute, ["not known", old]);
  assert.deepEqual(await page.locator(".loop-activity .num").allInnerTexts(), ["98.7 %"]);
  assert.deepEqual(await page.locator(".loop-why").allInnerTexts(), [`Not measured: SMs active, Tensor cores active, Memory bandwidth (${old})`]);
  assert.equal((await facts(page))["Peak memory"], "not known: no process reported it");
  await t.axe(page);
  t.calm(page);
});

test("a job whose GPUs were not measured has its loop and one sentence about them", async () => {
  const gpu = { ...GPU, ...Object.fromEntries(Object.keys(USE).map((k) => [k, null])), gpus_used: 0, gpus: [] };
  const page = await overview({ gpu, losses: [{ what: "gpu", title: "gpu", why: "no NVIDIA driver", count: 1, kind: "absent", node: null }] });
  assert.deepEqual(Object.keys(await tiles(page)), ["Iteration, median", "Throughput, steady"]);
  await page.getByText(/GPU metrics are missing: no NVIDIA driver/).waitFor();
  assert.equal(await page.locator(".loop-gpu").count(), 0);
  t.calm(page);
});

const issue = (v, more, explained_by = []) => ({ ...v, state: "issue", lost_s: 3, lost_share: 0.3, ...more, findings: [{ node: "vm", entity: "gpu0", start_ns: null, end_ns: null, message: `${v.rule} says so`, advice: null, refute: null, numbers: {}, units: {}, lost_s: 3, lost_gpu_s: null, explained_by, ranges: [], shares: [] }] });

/** Verdicts in which some rules found something. */
const found = (which) => (all) => all.map((v) => (v.rule in which ? issue(v, ...which[v.rule]) : { ...v, state: v.state === "issue" ? "clear" : v.state, findings: [] }));

test("a symptom is listed once, below its cause and quieter, and opens by keyboard", async () => {
  const page = await overview({
    findings: found({
      LowGPUUtilization: [{ severity: "info", lost_s: 9 }, ["Dataloader"]],
      BatchSize: [{ severity: "info", lost_s: 9 }, ["Dataloader"]],
      Dataloader: [{ severity: "critical" }],
      GPUThrottling: [{ severity: "info" }],
    }),
  });
  const rules = await page.locator(".insight").evaluateAll((all) => all.map((li) => li.dataset.rule));
  assert.equal(new Set(rules).size, rules.length, "each once");
  assert.equal(rules[0], "Dataloader");
  const title = await page.locator('[data-rule="Dataloader"] .insight-name').innerText();
  const group = page.getByRole("list", { name: `Explained by ${title}` });
  assert.deepEqual((await group.locator(".insight").evaluateAll((all) => all.map((li) => li.dataset.rule))).sort(), ["BatchSize", "LowGPUUtilization"]);
  assert.ok((await group.innerText()).includes(`explained by ${title}: BatchSize says so`), "by its title, not its name");
  assert.match(await page.locator(".insight-count").innerText(), /^1 issue · 2 explained · 1 info · \d+ passed/);
  assert.match(await page.locator('[data-rule="GPUThrottling"] .badge').innerText(), /issue: info/);
  assert.equal(rules[3], "GPUThrottling");
  await group.getByRole("button").first().focus();
  await page.keyboard.press("Enter");
  await group.locator(".insight-body").waitFor();
  await t.axe(page);
  await t.shot(page, "gpu-causes");
  t.calm(page);
});

test("on a telephone the insights come first, and rules that passed or were skipped behind a button", async () => {
  const page = await overview({ width: 390, findings: found({ Dataloader: [{ severity: "critical" }] }) });
  const top = (selector) => page.locator(selector).evaluate((el) => el.getBoundingClientRect().top);
  assert.ok((await top(".insights")) < (await top(".loop")));
  const shown = () => page.locator(".insight").evaluateAll((all) => all.filter((li) => li.offsetHeight > 0).map((li) => li.dataset.rule));
  assert.deepEqual(await shown(), ["Dataloader"]);
  await page.locator(".insight-more").getByRole("button").click();
  assert.equal((await shown()).length, await page.locator(".insight").count());
  await t.axe(page);
  t.calm(page);
});

test("the numbers of a finding are a list of labels and values", async () => {
  const numbers = { wait_share: 79.4, workers: 2, idle: null };
  const units = { wait_share: "%", workers: "" };
  const labels = { wait_share: "Loader wait", workers: "Loader workers", idle: "Idle" };
  const page = await overview({
    findings: (all) => found({ Dataloader: [{ severity: "critical" }] })(all).map((v) => ({ ...v, findings: v.findings.map((f) => ({ ...f, numbers, units, labels })) })),
  });
  const rows = await page.locator('[data-rule="Dataloader"] .numbers > div').evaluateAll((all) => all.map((el) => [...el.children].map((x) => x.innerText)));
  assert.deepEqual(rows, [["Loader wait", "79.4 %"], ["Loader workers", "2"]]);
  t.calm(page);
});

test("a healthy run says so and has no coloured badge", async () => {
  const page = await overview({ findings: found({ GPUThrottling: [{ severity: "info" }] }) });
  await page.locator(".insights").getByText("No issues found").waitFor();
  assert.match(await page.locator(".insight-count").innerText(), /^0 issues · 1 info · /);
  const grounds = await page.locator(".insight .badge").evaluateAll((all) => [...new Set(all.map((el) => getComputedStyle(el).backgroundColor))]);
  assert.deepEqual(grounds, ["rgba(0, 0, 0, 0)"]);
  t.calm(page);
});

test("nothing on the Overview moves when the steps come in", async () => {
  const page = await t.open("#/");
  let go;
  const held = new Promise((done) => (go = done));
  await page.route(`**/runs/${run}/steps*`, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${t.address}#/run/${run}/overview`);
  await page.waitForSelector(".tiles");
  await until(async () => (await page.locator(".loading").count()) === 0, "everything else");
  const top = () => page.locator(".job-summary").evaluate((el) => Math.round(el.getBoundingClientRect().top));
  const before = await top();
  go();
  await page.waitForSelector(".loop .steps-share-bar");
  assert.ok(Math.abs((await top()) - before) <= 30, `moved by ${(await top()) - before}`); // a further line of the legend
  t.calm(page);
});

test("a chart that is flat zero is a line that opens to the chart", async () => {
  const page = await t.open(`#/run/${run}/nodes`, { ready: ".nodes-flat-net" });
  const line = page.locator(".nodes-flat-net > button");
  assert.match(await line.innerText(), /Network utilization: 0 B\/s/);
  assert.equal(await page.locator(".nodes-net").count(), 0);
  await line.focus();
  await page.keyboard.press("Enter");
  assert.equal(await line.getAttribute("aria-expanded"), "true");
  await page.locator(".nodes-net .chart-plot canvas").waitFor();
  await t.axe(page);
  t.calm(page);
});

test("power, SM clock and PCIe of the GPU can be chosen, and DRAM is beside SM and tensor activity", async () => {
  const page = await t.open(`#/run/${run}/nodes`, { ready: ".nodes-gpu canvas" });
  const lines = await page.locator(".nodes-gpu .chart-legend li[data-series]").allInnerTexts();
  for (const name of ["SM active", "tensor active", "DRAM active"]) assert.ok(lines.some((l) => l.includes(name)), `${name} of ${lines}`);
  await page.locator(".nodes-power canvas").waitFor();
  for (const [name, id] of [["SM clock", "clock"], ["PCIe", "pcie"]]) {
    await page.getByRole("group", { name: "Other GPU metric" }).getByRole("button", { name }).click();
    await page.locator(`.nodes-${id} canvas, .nodes-flat-${id}`).first().waitFor();
    assert.match(page.url(), new RegExp(`gpumore=${id}`));
  }
  t.calm(page);
});

test("a comparison shows GPU time first, and a difference that may be noise as such", async () => {
  const page = await t.open("#/");
  await page.route("**/api/v1/compare*", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    const number = { key: "energy_per_sample", title: "Energy per sample", unit: "J", a: 1.26, b: null, diff_share: null, why_a: null, why_b: "no power was measured" };
    await route.fulfill({ response: answer, json: { ...body, verdict: "no_difference", may_be_noise: true, numbers: [...body.numbers, number] } });
  });
  await page.goto(`${t.address}#/compare/${run}/h200-1-worker`);
  await page.waitForSelector(".compare-verdict .badge");
  assert.match(await page.locator(".compare-sentence .badge").innerText(), /may be noise/);
  const c = await t.api(`/compare?a=${run}&b=h200-1-worker`);
  const gpu = await tableText(page, "Parts of an iteration, GPU time");
  assert.deepEqual(gpu.map((r) => r[0]), c.gpu_parts.map((p) => words.partTitle(p.part)));
  const host = await tableText(page, "Parts of an iteration, host time");
  assert.deepEqual(host.map((r) => r[0]), c.parts.map((p) => words.partTitle(p.part)));
  const heads = await page.locator("main h3").allInnerTexts();
  const at = heads.indexOf(`GPU time, ${c.a.gpu_timed_steps} of ${c.a.gpu_steps} steps timed in A, ${c.b.gpu_timed_steps} of ${c.b.gpu_steps} in B`);
  assert.ok(at >= 0 && heads[at + 1] === "Host time", heads.join(" | "));
  const numbers = await tableText(page, "Throughput and efficiency of both runs");
  assert.deepEqual(numbers.at(-1), ["Energy per sample", "1.26 J", "not known: no power was measured", "-"]);
  await t.axe(page);
  t.calm(page);
});

test("the Overview of a GPU job is accessible and fits, at 1280 and on a telephone, light and dark", async () => {
  for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "dark"]]) {
    const page = await overview({ width, scheme });
    await until(async () => (await page.locator(".loading").count()) === 0, "the end of loading");
    await t.fits(page);
    await t.axe(page);
    await t.shot(page, `gpu-overview-${width}-${scheme}`);
    t.calm(page);
    await page.close();
  }
});
