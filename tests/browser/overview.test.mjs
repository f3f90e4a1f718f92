// SPDX-License-Identifier: Apache-2.0
// overview.test.mjs - the Overview of runs that ended: every number on it is the API's.
import assert from "node:assert/strict";
import test, { after, afterEach, before } from "node:test";

import { listed, pageModule, start, sortByAll, tableText, until } from "./help.mjs";
import { jobDetails, pieParts, ruleTexts } from "./shown.mjs";

let t;
let format;
let withPhases; // steps, checkpoints, four GPUs
let bottleneck; // two findings, no steps
let twoNodes;
let recorded; // by the recorder
const detailed = "h200"; // with operators

before(async () => {
  t = await start({ scenes: ["checkpoint_stall/fires", "cpu_bottleneck/fires", "gpu_memory_increase/one_bad_node"] });
  [withPhases, bottleneck, twoNodes] = t.runs;
  await t.copy(detailed);
  const live = await t.record("short", "--seconds", "2");
  await live.done;
  recorded = live.run;
  format = await pageModule("format.ts");
});
afterEach(() => t.tidy());
after(() => t?.stop());

/** Opens or closes a rule, unless it is so already. */
async function open(item, wanted) {
  const button = item.locator("h3 button").first();
  if ((await button.getAttribute("aria-expanded")) !== String(wanted)) await button.click();
}

const overview = (name, options = {}) => t.open(`#/run/${name}/overview`, { ready: ".insight-count", ...options });

test("the pie has the total and each phase with time and percent, and the percents sum to 100", async () => {
  for (const name of [withPhases, recorded]) {
    const page = await overview(name);
    const info = await t.api(`/runs/${name}`);
    const parts = await pieParts(page);
    assert.deepEqual(parts.map((p) => p[0]), ["Initialization", "Training loop", "Finalization"]);
    assert.deepEqual(
      parts.map((p) => p[1]),
      [info.initialization_s, info.train_s + info.eval_s, info.finalization_s].map((v) => format.value(v, "s")),
    );
    const percents = parts.map((p) => Number(p[2].replace(" %", "")));
    assert.equal(Math.round(percents.reduce((a, b) => a + b, 0) * 10), 1000);
    [info.initialization_pct, info.loop_pct, info.finalization_pct].forEach((want, i) => {
      assert.ok(Math.abs(percents[i] - want) <= 0.1, `${percents[i]} for ${want}`);
    });
    assert.equal(await page.locator(".pie-middle").first().innerHTML(), format.duration(info.job_duration_s));
    t.calm(page);
  }
});

test("the job's details are exact, and the zone of their times is said once", async () => {
  const page = await overview(recorded);
  const info = await t.api(`/runs/${recorded}`);
  const shown = await jobDetails(page);
  assert.match(shown["Start time"], /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  assert.match(await page.locator(".job-details h3").innerText(), /UTC/);
  assert.deepEqual(
    ["Start time", "End time", "Training loop start", "Training loop end"].map((k) => shown[k]),
    [info.job_start_ns, info.job_end_ns, info.loop_start_ns, info.loop_end_ns].map(format.dateTime),
  );
  assert.deepEqual(
    ["Job duration", "Training loop duration", "Initialization", "Finalization"].map((k) => shown[k]),
    [info.job_duration_s, info.loop_duration_s, info.initialization_s, info.finalization_s].map((v) => format.value(v, "s")),
  );
  const percents = ["Initialization (%)", "Training loop (%)", "Finalization (%)"].map((k) => Number(shown[k].replace(" %", "")));
  assert.equal(Math.round(percents.reduce((a, b) => a + b, 0) * 10), 1000);
  t.calm(page);
});

test("the progress bar has the phases in their order, training and evaluation apart", async () => {
  const page = await overview(recorded);
  const info = await t.api(`/runs/${recorded}`);
  const seen = new Set(await page.locator(".progress-bar span").evaluateAll((all) => all.map((s) => s.className)));
  assert.deepEqual(seen, new Set(info.phases.map((p) => `phase-${p.phase}`)));
  await page.getByRole("button", { name: "Show as table: Training progress over time" }).click();
  const rows = await tableText(page, "Training progress over time");
  const want = info.phases.slice(0, 100).map((p) => format.dateTime(p.start_ns));
  assert.deepEqual(rows.map((r) => r[1]), want);
  t.calm(page);
});

test("a job that was told to stop has an interruption in the bar and in the pie", async () => {
  const job = await t.record("stopped", "--seconds", "600");
  await until(async () => (await t.api(`/runs/${job.run}`)).loop_start_ns !== null, "steps of the job");
  job.child.kill("SIGTERM");
  await job.done;
  const info = await until(async () => {
    const now = await t.api(`/runs/${job.run}`);
    return now.status === "interrupted" && now;
  }, "the end of the run");
  const stopped = info.phases.find((p) => p.phase === "interruption");
  assert.equal(stopped.end_ns, info.phases.at(-1).end_ns, "to the end");
  const page = await overview(job.run);
  const bar = page.locator(".progress-bar span.phase-interruption");
  await bar.first().waitFor({ state: "attached" });
  const parts = (await pieParts(page)).map(([name]) => name);
  assert.ok(parts.includes("Interruption"), parts.join());
  assert.equal((await jobDetails(page))["Interruption"], format.value(info.interruption_s, "s"));
  t.calm(page);
});

test("the resource table has every measured value of the API, a block and a verdict per node, and names the rest", async () => {
  for (const name of [twoNodes, recorded]) {
    const page = await overview(name);
    const stats = await t.api(`/runs/${name}/stats`);
    const verdicts = await t.findings(name);
    const { remarks } = verdicts.find((v) => v.rule === "OverallSystemUsage");
    for (const node of new Set(stats.map((s) => s.node))) {
      const mine = stats.filter((s) => s.node === node);
      const rows = await tableText(page, `Resource utilization of ${node}`);
      const shown = new Map(rows.map((r) => [r[0], r.slice(1)]));
      const titles = ["cpu Total CPU utilization", "gpu Total GPU utilization", "cpu_memory CPU memory utilization", "gpu_memory GPU memory utilization", "io_wait I/O wait", "net_in Network in", "net_out Network out", "gpu_sm GPU SMs active", "gpu_tensor GPU tensor cores", "gpu_dram GPU memory bandwidth", "gpu_power GPU power"];
      for (const s of mine) {
        const title = titles.find((w) => w.startsWith(`${s.metric} `)).slice(s.metric.length + 1);
        const values = [s.min, s.max, s.p99, s.p95, s.p90, s.p50].map((v) => format.value(v, s.unit));
        if (s.count > 0) assert.deepEqual(shown.get(title), [...values, format.count(s.count)]);
        else assert.match(await page.locator(`section[aria-label="Node ${node}"] .use-absent`).textContent(), new RegExp(title.replace("/", "\\/")));
      }
      const said = remarks.find((r) => r.startsWith(`${node}: `)).slice(node.length + 2);
      assert.equal((await page.locator(`section[aria-label="Node ${node}"] .use-verdict`).textContent()), said);
    }
    t.calm(page);
  }
});

test("the resource table sorts by any of its columns", async () => {
  const page = await overview(twoNodes);
  await sortByAll(page);
  t.calm(page);
});

test("operators are ranked by self time, with share, total, calls and mean", async () => {
  const page = await overview(detailed);
  const ops = (await t.api(`/runs/${detailed}/ops?device=cpu`)).slice(0, 10);
  assert.ok(ops.length > 2);
  const rows = await tableText(page, "CPU operators with the most self time");
  assert.deepEqual(
    rows,
    ops.map((o) => [
      o.name,
      format.share(o.share),
      format.value(o.self_s, "s"),
      format.value(o.total_s, "s"),
      format.count(o.calls),
      format.value(o.mean_s, "s"),
    ]),
  );
  t.calm(page);
});

test("absent operators say how to get them", async () => {
  const page = await overview(bottleneck);
  const card = page.locator("section.card", { has: page.locator("h2", { hasText: "Resource intensive operations" }) });
  assert.match(await card.locator(".empty").innerText(), /footplate run --detail-steps/);
  assert.equal(await card.locator(".empty").count(), 1, "once, not once for each device");
  t.calm(page);
});

test("every rule is in the pane, findings first, and they are counted", async () => {
  const page = await overview(bottleneck);
  const verdicts = (await t.findings(bottleneck)).filter(listed);
  const shown = await page.locator(".insight").evaluateAll((items) => items.map((li) => [li.dataset.rule, li.className]));
  assert.deepEqual(new Set(shown.map((s) => s[0])), new Set(verdicts.map((v) => v.rule)));
  const order = { issue: 0, clear: 1, not_evaluated: 2 };
  const states = shown.map((s) => order[s[1].split(" ")[1]]);
  assert.deepEqual(states, [...states].sort());
  const issues = verdicts.filter((v) => v.state === "issue").length;
  assert.ok(issues > 0);
  const insights = await pageModule("views/insights.tsx");
  assert.equal(await page.locator(".insight-count").innerText(), insights.countText(insights.inOrder(verdicts)));
  for (const text of ["issue: ", "passed", "skipped", "summary"]) await page.locator(".badge", { hasText: text }).first().waitFor();
  t.calm(page);
});

test("an issue is open: what was found, when, what it cost, what to do, and the criteria of its rule", async () => {
  const page = await overview(bottleneck);
  const verdict = (await t.findings(bottleneck)).find((v) => v.rule === "CPUBottleneck");
  const item = page.locator('[data-rule="CPUBottleneck"]');
  const button = item.locator("h3 button");
  assert.equal(await button.getAttribute("aria-expanded"), "true");
  const closed = page.locator(".insight.clear h3 button, .insight.not_evaluated h3 button");
  assert.deepEqual([...new Set(await closed.evaluateAll((all) => all.map((x) => x.getAttribute("aria-expanded"))))], ["false"]);
  const text = (await item.innerText()).replace(/\s+/g, " ");
  for (const part of ruleTexts(verdict, format)) assert.ok(text.includes(part), `${part} in: ${text}`);
  assert.ok((await item.locator("figure svg").count()) >= verdict.plots.length);
  await t.axe(page);
  await t.shot(page, "overview-rule");
  t.calm(page);
});

test("a click on when shows that time of that node in Nodes", async () => {
  const page = await overview(bottleneck);
  const [found] = (await t.findings(bottleneck)).find((v) => v.rule === "CPUBottleneck").findings;
  await page.locator('[data-rule="CPUBottleneck"] .insight-when button').first().click();
  await page.waitForSelector("#tab-nodes[aria-selected=true]");
  const query = new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
  assert.equal(query.get("node"), found.node);
  assert.ok(Math.abs(Number(query.get("from")) - found.start_ns) < 1000);
  assert.ok(Math.abs(Number(query.get("to")) - found.end_ns) < 1000);
  t.calm(page);
});

test("evidence of every kind is drawn, and can be read as a table", async () => {
  const kinds = new Set();
  for (const name of [bottleneck, twoNodes, recorded]) {
    const page = await overview(name);
    for (const v of (await t.findings(name)).filter((one) => one.plots.some((p) => p.rows.length > 0))) {
      const item = page.locator(`[data-rule="${v.rule}"]`);
      await open(item, true);
      for (const plot of v.plots.filter((p) => p.rows.length > 0)) {
        await item.getByText(plot.title, { exact: false }).first().waitFor();
        if (plot.kind !== "table") {
          await item.getByRole("button", { name: `Show as table: ${plot.title}`, exact: true }).first().click();
        }
        await item.locator(`[role=region][aria-label="${plot.title}"] tbody tr`).first().waitFor();
        kinds.add(plot.kind);
      }
      await open(item, false);
    }
    t.calm(page);
  }
  for (const kind of ["histogram", "box", "pie", "bars", "series", "table"]) assert.ok(kinds.has(kind), `no ${kind} was drawn`);
});

test("an address with a rule opens it", async () => {
  const page = await t.open(`#/run/${bottleneck}/overview?rule=OverallSystemUsage`, { ready: ".insight-body" });
  assert.equal(await page.locator('[data-rule="OverallSystemUsage"] .insight-body').count(), 1);
  t.calm(page);
});

test("the Overview is accessible and fits, at 1280 and on a telephone, light and dark", async () => {
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"]) {
      const page = await overview(recorded, { width, scheme });
      await until(async () => (await page.locator(".loading").count()) === 0, "the end of loading");
      await t.fits(page);
      await t.axe(page);
      await t.shot(page, `overview-${width}-${scheme}`);
      t.calm(page);
      await page.close();
    }
  }
});

test("the head answers first: status, steps, speed, and the most important finding with its advice", async () => {
  for (const width of [1280, 390]) {
    const page = await overview(withPhases, { width });
    const info = await t.api(`/runs/${withPhases}`);
    const { ranks } = await t.api(`/runs/${withPhases}/steps?last=1`);
    const best = ranks.filter((r) => r.mode === "train").reduce((a, b) => (b.count > a.count ? b : a));
    const head = page.locator(".answer");
    const tiles = Object.fromEntries(
      await head.locator(".tiles > div").evaluateAll((all) => all.map((el) => [el.querySelector("dt").innerText, el.querySelector(".tile-value").innerText])),
    );
    assert.equal(tiles["Status"], info.status);
    assert.equal(tiles["Steps"], format.count(best.count));
    assert.equal(tiles["Steps/s"], format.general(1 / best.iteration_s.mean, 3));
    const found = (await t.findings(withPhases)).find((v) => v.rule === "CheckpointStall");
    const text = await head.innerText();
    assert.ok(text.includes(found.title) && text.includes(found.findings[0].advice), text);
    assert.ok(text.includes(format.value(found.lost_s, "s")), "and what it would save");
    const top = (selector) => page.locator(selector).first().evaluate((el) => el.getBoundingClientRect().top);
    assert.ok((await top(".answer")) < (await top(".insights")) && (await top(".answer")) < (await top(".loop")));
    t.calm(page);
  }
});
