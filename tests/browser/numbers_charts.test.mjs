// SPDX-License-Identifier: Apache-2.0
// numbers_charts.test.mjs - every chart of the dashboard as a table: what is drawn is what the API
// answers, cell by cell. A chart that is in no list of figures_page.mjs fails.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { chartTables, pageTables, sliceTexts, stepTables } from "./figures_page.mjs";
import { runFigures } from "./figures.mjs";
import { pageModule, start, until } from "./help.mjs";
import { watched } from "./living.mjs";
import { pageFigures } from "./media.mjs";
import { sameTable } from "./numbers_kit.mjs";

// Rank 1 holds the others back, but for every tenth step; two nodes, one of them without a GPU. There
// are more readings than columns in a chart.
const UNEVEN = `scene 1
node a cores=4 gpus=2 memory=64GiB
node b cores=2 gpus=0 memory=64GiB
interval 50ms
* cpu.util total  0s..90s 24 noise 4
* cpu.util cpu*   0s..90s 20 noise 7
a cpu.iowait total 0s..90s 3 noise 2
* net.rx total    0s..90s 1500000 noise 300000
* net.tx total    0s..90s 900 noise 300
a gpu.util gpu*   0s..20s 0   20s..90s 40 for 300ms, 3 for 200ms
a gpu.mem gpu*    0s..20s 2   20s..90s 35
rank 0 on a: steps 90 x 503.3ms from 20s data=11.3% forward=20.7% backward=30% optimizer=5% comm=20% jitter 3%; every 10 takes 890ms in forward; step 44 takes 9s in data
rank 0 on a: eval 4 x 101ms every 30; checkpoint 1.3s every 45
rank 1 on b: steps 90 x 503.3ms from 20s data=31.3% forward=20.7% backward=30% optimizer=5% jitter 3%
rank 1 on b: eval 4 x 101ms every 30; checkpoint 1.3s every 45
`;

const RUNS = {
  "a rank on a GPU": () => t.copy("h200-1-worker"),
  "two ranks on two nodes": () => {
    writeFileSync(join(folder, "uneven.scene"), UNEVEN);
    return t.import(join(folder, "uneven.scene"));
  },
};

let t;
let f;
let F;
let m;
let folder;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-charts-"));
  t = await start();
  f = await pageModule("format.ts");
  const { percentages } = await pageModule("components/plots/arcs.ts");
  const modules = ["charts/timeaxis.ts", "charts/heatmap.ts", "words.ts", "palette.ts", "timeline/range.ts"];
  m = Object.assign({}, ...(await Promise.all(modules.map(pageModule))));
  F = runFigures(f, percentages);
});
afterEach(() => t.tidy());
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await t?.stop();
});

/** A page, everything on it told as a table and shown whole, and what it was answered. */
async function told(name, tab, ready) {
  const { page, last: heard } = await watched(t, name, tab, ready);
  await until(async () => (await page.locator(".loading").count()) === 0, "the end of loading");
  for (const charts of [page.getByRole("button", { name: /^Show as table: / }), page.getByRole("button", { name: /^Show all \d+$/ })])
    while ((await charts.count()) > 0) await charts.first().click();
  const { tables } = await page.evaluate(pageFigures);
  const said = await page.locator("figure.chart").evaluateAll((all) =>
    all.map((el) => ({
      title: el.querySelector(".chart-head").firstChild.firstChild.textContent,
      summary: el.querySelector("p.sr-only").textContent,
      legend: [...el.querySelectorAll(".chart-legend li[data-series]")].map((li) => li.innerText.replace(/\s+/g, " ").trim()),
    })),
  );
  t.calm(page);
  return { heard, tables, said };
}

/** Everything that the page could be answered. */
async function answers(name, heard = {}) {
  const api = (path) => t.api(`/runs/${name}${path}`);
  const run = await api("");
  const window = [run.start_ns, run.end_ns];
  const events = await until(async () => {
    const got = await api(`/events?from=${window[0]}&to=${window[1]}`);
    return Array.isArray(got) ? got : null;
  }, "the events");
  return {
    run, window, events,
    steps: await api("/steps?last=500"),
    last: await api("/steps?last=30&mode=train"),
    histograms: await api("/histograms"),
    breakdown: await api("/breakdown"),
    grid: heard.grid,
    heatmap: heard.heatmap,
  };
}

/** Each chart of the page is a table of the list, whole, with the API's numbers, and so is what it says
 * to who does not see it. */
function sameCharts(d, { tables, said }, least) {
  const known = { ...chartTables(f, m, d), ...stepTables(f, d) };
  const named = pageTables(f, F, () => []);
  const others = { "Breakdown by step": named["Breakdown by step"], "Share of the iteration": named.iterationBreakdown((x) => x.steps.ranks), "Iteration breakdown": named.iterationBreakdown((x) => x.steps.ranks.slice(0, 1)) };
  assert.ok(said.length >= least, `${said.length} charts: ${said.map((x) => x.title).join(", ")}`);
  for (const { title, summary, legend } of said) {
    assert.ok(title in known || title in others, `the chart "${title}" is in no list of figures`);
    if (known[title]?.summary !== undefined) assert.equal(summary, known[title].summary, title);
    if (known[title]?.legend !== undefined) assert.deepEqual(legend, known[title].legend, title);
  }
  for (const shown of tables.filter((x) => x.caption in known || x.caption in others)) {
    const spec = known[shown.caption] ?? others[shown.caption];
    const whole = { ...d, report: { steps: d.steps } };
    assert.equal(shown.rows.length, spec.rows(whole).length, `rows of "${shown.caption}"`);
    sameTable(shown, spec, whole, `the chart "${shown.caption}"`);
  }
  return tables.map((x) => x.caption);
}

for (const [what, make] of Object.entries(RUNS)) {
  let name;

  test(`${what}: the charts of Overview are the API's numbers`, async () => {
    name = await make();
    const seen = await told(name, "overview", ".progress-bar");
    const ours = seen.said.filter(({ title }) => /^(Training|Time|Iteration)/.test(title) && !title.includes(", rank "));
    sameCharts(await answers(name), { ...seen, said: ours }, 2);
  });

  test(`${what}: the charts of Nodes are the API's numbers`, async () => {
    const seen = await told(name, "nodes", ".nodes-steps");
    const d = await answers(name, seen.heard);
    sameCharts(d, seen, 11);
    const stats = await t.api(`/runs/${name}/stats?all=1`);
    for (const s of d.grid.series.filter((x) => x.entity !== "*mean*")) {
      const whole = stats.find((x) => x.node === s.node && x.metric === s.metric && x.entity === s.entity);
      assert.deepEqual([f.value(s.mean, s.unit), s.count], [f.value(whole.mean, s.unit), whole.count], `${s.node} ${s.metric} ${s.entity}`);
    }
  });

  test(`${what}: the charts, outliers and stragglers of Steps are the API's numbers`, async () => {
    const seen = await told(name, "steps", ".steps-durations");
    const d = await answers(name);
    const captions = sameCharts(d, seen, 3);
    for (const [caption, { rows }] of Object.entries(stepTables(f, d)))
      if (rows().length > 0) assert.ok(captions.includes(caption), `${caption} of ${captions.join(", ")}`);
  });

  test(`${what}: the slices of Timeline are the API's`, async () => {
    const { heard, tables } = await told(name, "timeline", "figure.chart");
    const { start_ns } = await t.api(`/runs/${name}`);
    const known = new Set(sliceTexts(f, m, heard.timeline, start_ns));
    const shown = tables.find((x) => x.caption === "Steps, phases, events and operators").rows.map((row) => row.map((cell) => cell.text).join("\t"));
    assert.equal(shown.length, Math.min(heard.timeline.slices.lane.length, 500));
    for (const text of shown) assert.ok(known.has(text), `${text} is no slice of the API`);
  });
}

test("a rank that lags and steps that stand out are in those tables", async () => {
  const d = await answers(t.runs[0]);
  const rows = Object.values(stepTables(f, d)).map((spec) => spec.rows(d).length);
  assert.ok(rows.every((n) => n > 0), rows.join(", "));
});
