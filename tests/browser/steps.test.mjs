// SPDX-License-Identifier: Apache-2.0
// steps.test.mjs - the Steps tab: numbers of each rank, outliers that open the timeline, parts, shares,
// stragglers, the breakdown.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText, until } from "./help.mjs";

let t;
let format;
let model;
const detailed = "h200"; // one rank with an outlier, evaluation, and two steps in detail
let twoRanks;
let none;
let lagging;
let shortComm;
let insideBackward;

// Rank 1 works 100 ms longer in each step, rank 0 spends them waiting for it in a collective; in every
// tenth step it is rank 0 that works longest.
const SCENE = `scene 1
node fast cores=2 gpus=0
node slow cores=2 gpus=0
rank 0 on fast: steps 100 x 500ms from 5s forward=60% comm=30%; every 10 takes 900ms in forward
rank 1 on slow: steps 100 x 500ms from 5s forward=80% comm=10%
`;

before(async () => {
  t = await start({ scenes: ["dataloader/one_bad_node", "cpu_bottleneck/fires", "straggler/ddp_and_comm", "straggler/busy_in_backward"] });
  [twoRanks, none, shortComm, insideBackward] = t.runs;
  await t.copy(detailed);
  const scene = join(t.dir, "..", `lagging-${process.pid}.scene`);
  writeFileSync(scene, SCENE);
  lagging = await t.import(scene);
  rmSync(scene);
  await until(async () => (await t.api("/runs")).length === 6, "all runs in the list");
  format = await pageModule("format.ts");
  model = await pageModule("views/steps_model.ts");
});
afterEach(() => t.tidy());
after(() => t?.stop());

async function opened(name, query = "", more = {}) {
  const page = await t.open(`#/run/${name}/steps${query}`, { ready: "[aria-label='Iterations by rank and mode'] td", ...more });
  await until(async () => (await page.locator(".loading").count()) === 0, "the end of loading");
  return page;
}

test("every number of each rank is the API's", async () => {
  const page = await opened(detailed);
  const { ranks } = await t.api(`/runs/${detailed}/steps`);
  const s = (v) => format.value(v, "s");
  const expected = ranks.map((r) => [
    format.rankText(r.rank),
    r.node,
    r.mode,
    format.count(r.count),
    s(r.iteration_s.mean),
    s(r.iteration_s.p50),
    s(r.iteration_s.p95),
    s(r.iteration_s.p99),
    s(r.iteration_s.max),
    s(r.iteration_s.stddev),
    format.samplesPerSecond(r.throughput.steady),
    format.samplesPerSecond(r.throughput.overall),
    format.count(r.outliers.length),
  ]);
  assert.deepEqual(await tableText(page, "Iterations by rank and mode"), expected);
  const sum = (key) => ranks.reduce((n, r) => n + r[key], 0);
  assert.deepEqual([sum("warmup_steps"), sum("disturbed_steps")], [2, 4]);
  await page.getByText("2 warm-up steps and 4 steps slowed by a detail window").waitFor();
  t.calm(page);
});

test("warm-up and steps that a detail window slowed are drawn, marked and named, and leave the scale alone", async () => {
  const page = await opened(detailed);
  const { steps } = await t.api(`/runs/${detailed}/steps?last=500`);
  const mine = steps.filter((s) => s.mode === "train");
  for (const [key, text] of [["warmup", "warm-up"], ["disturbed", "slowed by a detail window"]]) {
    const marked = mine.filter((s) => s[key]).map((s) => String(s.step));
    assert.ok(marked.length > 0, key);
    const shown = await page.locator(`path.steps-uncounted[data-mark="${text}"]`).evaluateAll((all) => all.map((el) => el.dataset.step));
    assert.deepEqual(shown, marked);
    await page.locator(".legend li", { hasText: text }).waitFor();
  }
  const slowest = mine.reduce((a, b) => ((b.iteration_s ?? 0) > a.iteration_s ? b : a));
  assert.ok(slowest.warmup || slowest.disturbed, "what counts is shorter");
  await page.getByRole("group", { name: "Scale of the iterations" }).getByRole("button", { name: "Usual", pressed: true }).waitFor();
  t.calm(page);
});

test("GPU time comes first and says how much was timed, host time is below it and says what it is", async () => {
  const page = await opened(detailed);
  const { ranks } = await t.api(`/runs/${detailed}/steps`);
  const [train, evaluation] = ["train", "eval"].map((mode) => ranks.find((r) => r.mode === mode));
  const labels = await page.locator(".steps-shares li").evaluateAll((all) => all.map((li) => [...li.querySelectorAll(".steps-clock-label")].map((el) => el.innerText)));
  assert.deepEqual(labels, [[`GPU time, ${train.gpu_timed_steps} of ${train.count} steps timed`, "host time"], ["host time (launch)"]]);
  assert.equal(evaluation.gpu_parts_s, null);
  const bar = await page.locator(".steps-clock.gpu .steps-share-bar span").evaluateAll((all) => all.map((el) => [el.dataset.part, Number(el.dataset.share)]));
  const known = Object.entries(train.gpu_parts_s).filter(([, v]) => v !== null && v > 0);
  const total = known.reduce((sum, [, v]) => sum + v, 0);
  assert.deepEqual(bar.map(([part]) => part), known.map(([part]) => part));
  bar.forEach(([part, share], i) => assert.ok(Math.abs(share - known[i][1] / total) < 1e-9, part));
  t.calm(page);
});

test("places that wait for the GPU are in a table, the longest first", async () => {
  const page = await t.open(`#/run/${detailed}/overview`);
  await page.route(`**/runs/${detailed}/steps*`, async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    for (const r of body.ranks)
      r.sync = [
        { where: "log.py:7", call: "", count: 2, seconds: 0.25 },
        { where: "train.py:31", call: "item", count: 150, seconds: 1.5 },
      ];
    await route.fulfill({ response: answer, json: body });
  });
  await page.getByRole("tab", { name: "Steps" }).click();
  assert.deepEqual(await tableText(page, "Source lines that wait for the GPU"), [
    ["train.py:31", "item", "rank 0", "150", "1.5 s", "10 ms"],
    ["log.py:7", "-", "rank 0", "2", "250 ms", "125 ms"],
  ]);
  await t.axe(page);
  t.calm(page);
});

test("the iterations of the chart, as a table, are the API's, and a mode can be chosen", async () => {
  const page = await opened(detailed);
  const title = "Iteration by step";
  await page.getByRole("button", { name: `Show as table: ${title}` }).click();
  const { steps } = await t.api(`/runs/${detailed}/steps?last=500`);
  const note = (x) => (x.disturbed ? "slowed by a detail window" : x.warmup ? "warm-up" : "");
  const expected = (mode) => steps.filter((x) => x.mode === mode && x.iteration_s !== null).slice(0, 100).map((x) => [String(x.step), format.value(x.iteration_s, "s"), note(x)]);
  const shown = async () => (await tableText(page, title)).map((c) => [c[3], c[5], c[6]]);
  assert.deepEqual(await shown(), expected("train"));
  await page.getByRole("group", { name: "Mode" }).getByRole("button", { name: "eval" }).click();
  assert.deepEqual(await shown(), expected("eval"));
  assert.match(page.url(), /mode=eval/);
  t.calm(page);
});

for (const how of ["its mark in the chart", "its row in the table"])
  test(`an outlier opens the timeline at its step, by ${how}`, async () => {
    const { steps } = await t.api(`/runs/${detailed}/histograms`);
    const outlier = steps.find((s) => s.mode === "train").outliers[0];
    const page = await opened(detailed);
    if (how.startsWith("its mark")) await page.locator(`path.steps-outlier[data-step="${outlier.step}"]`).first().click();
    else await page.getByRole("button", { name: `Show step ${outlier.step} in the timeline` }).first().click();
    await page.waitForSelector("#tab-timeline[aria-selected=true]");
    await page.waitForSelector(".tl-lane");
    const query = new URLSearchParams(page.url().split("?")[1]);
    const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
    assert.ok(from <= outlier.start_ns && to >= outlier.start_ns + outlier.iteration_s * 1e9, page.url());
    assert.ok(to - from < outlier.iteration_s * 2e9, "near enough to be seen");
    t.calm(page);
  });

test("the stacked bars are the last iterations of the API, part by part, as many as wanted", async () => {
  for (const n of ["30", "10"]) {
    const page = await opened(detailed, n === "30" ? "" : `?last=${n}`);
    const all = (await t.api(`/runs/${detailed}/steps?last=500`)).steps.filter((s) => s.mode === "train");
    const last = all.slice(-Number(n));
    const bars = page.locator(".chart", { hasText: "iterations by part" }).locator("g.bar-step");
    const shown = await bars.evaluateAll((all) =>
      all.map((g) => ({
        step: Number(g.dataset.step),
        parts: Object.fromEntries([...g.querySelectorAll("rect")].map((r) => [r.dataset.part, Number(r.dataset.seconds)])),
      })),
    );
    assert.deepEqual(shown.map((b) => b.step), last.map((s) => s.step));
    for (const [i, bar] of shown.entries())
      for (const [part, v] of [...Object.entries(last[i].events).filter(([part]) => part !== "other"), ["between", last[i].between_s]])
        assert.ok(Math.abs((bar.parts[part] ?? 0) - (v ?? 0)) < 1e-5 * last[i].duration_s, `${part} of step ${bar.step}`);
    t.calm(page);
  }
});

test("the shares of the parts are those of the API and make up the whole", async () => {
  const page = await opened(twoRanks);
  const { ranks } = await t.api(`/runs/${twoRanks}/steps`);
  const bars = await page.locator(".steps-share-bar").evaluateAll((all) =>
    all.map((b) => Object.fromEntries([...b.children].map((c) => [c.dataset.part, Number(c.dataset.share)]))),
  );
  assert.equal(bars.length, ranks.length);
  bars.forEach((bar, i) => {
    const known = Object.entries(ranks[i].host_parts_s).filter(([, v]) => v !== null);
    const total = known.reduce((sum, [, v]) => sum + v, 0);
    for (const [part, v] of known.filter(([, v]) => v > 0)) assert.ok(Math.abs(bar[part] - v / total) < 1e-9, part);
    assert.ok(Math.abs(Object.values(bar).reduce((a, b) => a + b, 0) - 1) < 1e-9);
  });
  t.calm(page);
});

test("several ranks are held against each other, and each can be chosen for the bars", async () => {
  const page = await opened(twoRanks);
  await page.getByRole("heading", { name: "Slowest rank of each step" }).waitFor();
  const { steps, ranks } = await t.api(`/runs/${twoRanks}/steps?last=500`);
  // Without collectives the rank that waits least in backward is the one that others wait for: it waits for data.
  const shortest = ranks.reduce((a, b) => (b.events.backward < a.events.backward ? b : a));
  await page.getByText(`Rank ${shortest.rank} on ${shortest.node} is slowest in 100.0 % of the steps`).waitFor();
  const second = ranks[1];
  await page.getByLabel("Rank", { exact: true }).selectOption({ label: `rank ${second.rank} on ${second.node}` });
  const last = steps.filter((s) => s.rank === second.rank && s.mode === "train").slice(-1)[0];
  await page.locator(`g.bar-step[data-step="${last.step}"] rect[data-part="data"]`).waitFor();
  const seconds = await page.locator(`g.bar-step[data-step="${last.step}"] rect[data-part="data"]`).getAttribute("data-seconds");
  assert.ok(Math.abs(Number(seconds) - last.events.data) < 1e-9);
  t.calm(page);
});

test("a rank that the others wait for is named, with how often and how long", async () => {
  const page = await opened(lagging);
  const rows = await tableText(page, "How often each rank is the slowest");
  assert.deepEqual(rows.map((c) => [c[0], c[1], c[2], c[3]]), [
    ["rank 1", "slow", "89 steps", "89.9 %"],
    ["rank 0", "fast", "10 steps", "10.1 %"],
  ]);
  assert.equal(rows[0][4], "8.9 s"); // without the first step, which is warm-up
  const card = slowestCard(page);
  assert.match(await card.innerText(), /Rank 1 on slow is slowest in 89\.9 % of the steps, 8\.9 s behind/);
  const worst = await tableText(page, "Steps with the largest lag");
  assert.equal(worst[0][1], "rank 0 on fast");
  await card.getByRole("button", { name: /^Show step/ }).first().click();
  await page.waitForSelector("#tab-timeline[aria-selected=true]");
  t.calm(page);
});

const slowestCard = (page) => page.locator("section.card", { has: page.getByRole("heading", { name: "Slowest rank of each step" }) });

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]])
  test(`the slowest rank is the one that the rule names, and the rule's finding comes first at ${width} px, ${scheme}`, async () => {
    for (const [name, rank, own] of [
      [shortComm, 3, /Rank 3 on a is slowest in 100\.0 % of the steps/], // by the steps, too
      [insideBackward, 2, /Outside of the backward pass, all ranks are within 1 %/], // only its thread shows it
    ]) {
      const page = await opened(name, "", { width, scheme });
      const verdict = (await t.findings(name)).find((v) => v.rule === "Straggler");
      const card = slowestCard(page);
      const text = await card.locator(".answer-finding").innerText();
      assert.equal(verdict.findings[0].entity, `rank ${rank}`);
      assert.ok(text.includes(verdict.title) && text.includes(verdict.findings[0].message.slice(1)), text);
      assert.ok(text.includes(verdict.findings[0].advice), text);
      const all = await card.innerText();
      assert.match(all, own);
      assert.ok(all.indexOf(verdict.title) < all.search(own), "the finding is first");
      await t.axe(page);
      await t.fits(page);
      await t.shot(page, `straggler-${rank}-${width}-${scheme}`);
      t.calm(page);
      await page.close();
    }
  });

test("the breakdown says in a sentence what is critical, and shows the API's steps and devices", async () => {
  const page = await opened(detailed);
  const data = await t.api(`/runs/${detailed}/breakdown`);
  const critical = model.criticalOf(data.steps);
  const sentence = await page.locator(".steps-sentence").innerText();
  assert.ok(sentence.includes(`${critical.role.title}, ${format.share(critical.share)}`), sentence);
  const notes = await page.locator(".steps-breakdown .window-note").allInnerTexts();
  assert.ok(notes.length === data.windows.length && notes.every((text, i) => text.endsWith(`${data.windows[i].note}.`)), notes.join());
  const bars = page.locator(".steps-breakdown g.bar-step");
  assert.equal(await bars.count(), data.steps.length);
  const devices = await tableText(page, "Time of each device in the detail window");
  assert.deepEqual(
    devices.map((c) => [c[2], c[3], c[7]]),
    data.devices.map((d) => [format.value(d.span_us / 1e6, "s"), format.share(d.computation_us / d.span_us), format.share(d.idle_us / d.span_us)]),
  );
  t.calm(page);
});

test("a run without steps says how to get them", async () => {
  const page = await t.open(`#/run/${none}/steps`, { ready: ".empty" });
  await page.locator(".empty", { hasText: /No steps were detected[\s\S]*footplate\.step\(\)/ }).waitFor();
  await t.axe(page);
  t.calm(page);
});

test("Steps is accessible and fits, at 1280 and on a telephone, light and dark", async () => {
  for (const [width, scheme] of [
    [1280, "light"],
    [390, "dark"],
  ])
    for (const name of [detailed, twoRanks]) {
      const page = await opened(name, "", { width, scheme });
      await t.fits(page);
      await t.axe(page);
      await t.shot(page, `steps-${name === detailed ? "detail" : "ranks"}-${width}-${scheme}`);
      t.calm(page);
      await page.close();
    }
});
