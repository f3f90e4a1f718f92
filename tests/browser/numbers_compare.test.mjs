// SPDX-License-Identifier: Apache-2.0
// numbers_compare.test.mjs - a comparison read in every place it is shown, as numbers.test.mjs reads a
// run: HTML, text, Markdown, JSON, the API, the dashboard.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { compareFigures } from "./figures_compare.mjs";
import { pageModule, start } from "./help.mjs";
import { blocksOf, FLAT, follows, hasDigit, pageFigures } from "./media.mjs";
import { agree, same, sameChart, sameTable } from "./numbers_kit.mjs";

/** Three machines, or two that do the same for less. */
const scene = (nodes, seconds, extra = "") => `scene 1
${nodes.map((n) => `node ${n} cores=8 gpus=2 memory=61GiB`).join("\n")}
* cpu.util total 0s..${seconds}s 40 noise 9
* gpu.util gpu*  0s..${seconds}s 30 for 7s, 46 for 1s
* mem.util       0s..${seconds}s 12
job 0s..${seconds}s
${extra}`;
const STEPS = (ms, jitter) => `rank 0 on a: steps 1090 x ${ms}ms from 3s data=13% forward=31% backward=33% batch 32 jitter ${jitter}%`;

const RUNS = {
  three: [scene(["a", "b", "c"], 503, STEPS(417.3, 6)), 14.688],
  two: [scene(["a", "b"], 502, STEPS(398.7, 6)), 3.825],
  alike: [scene(["a", "b"], 501, STEPS(399.1, 7)), 3.825],
  bare: [scene(["a"], 77), null],
};

const PAIRS = {
  "two runs with operators, of one machine": ["h200-1-worker", "h200-12-workers"],
  "runs of other machines and prices": ["three", "two"],
  "groups of runs": ["two,alike", "three,h200-12-workers"],
  "a run without steps or price": ["three", "bare"],
  "a run and itself": ["two", "two"],
};

let t;
let f;
let F;
const names = {};

const priced = (price) => (folder) => {
  for (const node of ["node-a", "node-b", "node-c"]) {
    const file = join(folder, node, "node.json");
    try {
      writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), price_per_hour: price }));
    } catch (e) {
      if (e.code !== "ENOENT") throw e; // it has fewer nodes
    }
  }
};

before(async () => {
  t = await start();
  f = await pageModule("format.ts");
  F = compareFigures(f);
  for (const run of ["h200-1-worker", "h200-12-workers"]) names[run] = await t.copy(run);
  for (const [name, [text, price]] of Object.entries(RUNS)) {
    const file = join(t.dir, `${name}.scene`);
    writeFileSync(file, text);
    names[name] = await t.import(file, priced(price));
  }
});
afterEach(() => t.tidy());
after(() => t?.stop());

const side = (word) => word.split(",").map((name) => names[name]).join(",");
const SHOWN_OPS = 20;

function checkHtml(c, { blocks, stray }) {
  const texts = F.texts(c, SHOWN_OPS);
  assert.deepEqual(stray, [], "figures that stand in no table, fact, chart or sentence");
  for (const b of blocks) {
    const tables = { ...F.documentTables, ...Object.fromEntries([F.gpuTable(c)]) };
    if (b.kind === "table") sameTable(b, tables[b.caption], c, `the table "${b.caption}"`);
    if (b.kind === "figure") sameChart(b, F.chart(c), "the chart");
    if (b.kind === "fact") same(b, F.facts[b.name]?.(c) ?? "in no list of figures", b.name);
    if ((b.kind === "text" || b.kind === "heading") && hasDigit(b.text)) assert.ok(texts.has(b.text), `"${b.text}" is no sentence that the JSON tells; it has:\n${[...texts].join("\n")}`);
  }
}

function piecesOf(b) {
  if (b.kind === "table") return [b.caption, ...b.titles, ...b.rows.flatMap((row) => row.map((cell) => cell.text))];
  if (b.kind === "fact") return [b.name, b.text];
  return b.kind === "figure" ? [] : [b.text];
}

async function checkPage(a, b, c) {
  const page = await t.open(`#/compare/${a}/${b}`, { ready: ".compare-verdict table" });
  const { tables } = await page.evaluate(pageFigures);
  for (const shown of tables) sameTable(shown, F.pageTables[shown.caption], c, `the page's table "${shown.caption}"`);
  assert.equal(await page.locator(".compare-sentence span").last().innerText(), c.sentence);
  assert.equal(await page.locator(".compare-verdict p.quiet").first().innerText(), c.why);
  const cost = await page.locator("[data-part=cost]").innerText();
  if (hasDigit(cost)) assert.equal(cost, F.cost(c).page);
  assert.equal(hasDigit(cost), c.cost.saving !== null);
  const notes = await page.locator(".compare-note").allInnerTexts();
  const figures = notes.filter((text) => text !== "Changes below 1 % of the iteration are not coloured.");
  assert.deepEqual(figures, c.step_time.diff_share === null ? [] : [F.note(c)]);
  const found = await page.locator(".compare-findings p").allInnerTexts();
  assert.deepEqual(found, F.findings.rows(c).flatMap(F.findingTexts));
  if (c.step_time.histogram.a.length > 0) {
    await page.getByRole("button", { name: "Show as table: Iterations of both runs" }).click();
    const [bins] = (await page.evaluate(pageFigures)).tables.filter((s) => s.titles[0] === "From");
    sameTable(bins, F.bins, c, "the page's chart as a table");
  }
  t.calm(page);
}

for (const [what, [left, right]] of Object.entries(PAIRS)) {
  let c;
  let read;
  const compared = (...args) => t.footplate("compare", side(left), side(right), ...args);

  test(`${what}: the API says the numbers of the command line`, async () => {
    const file = join(t.dir, "comparison.html");
    c = JSON.parse(await compared("--json", "--html", file));
    agree(c, await t.api(`/compare?a=${side(left)}&b=${side(right)}`), "comparison");
    const page = await t.open("#/");
    read = await page.evaluate(blocksOf, readFileSync(file, "utf8"));
  });

  test(`${what}: every figure of the HTML is a number of the JSON`, () => checkHtml(c, read));

  test(`${what}: text and Markdown have the figures of the HTML, and no others`, async () => {
    const [, ...blocks] = read.blocks; // the name of the program
    for (const form of ["text", "markdown"]) follows(FLAT[form](await compared("--format", form)), blocks.flatMap(piecesOf), form);
  });

  test(`${what}: the dashboard shows the same figures`, () => checkPage(side(left), side(right), c));
}

test("the runs that are compared say the same numbers of themselves", async () => {
  const c = JSON.parse(await t.footplate("compare", names.three, names["h200-1-worker"], "--json"));
  for (const [{ runs }, phase] of [[c.a, "a_s"], [c.b, "b_s"]]) {
    const [one] = runs;
    const told = JSON.parse(await t.footplate("show", one.run, "--json"));
    agree({ duration_s: one.duration_s, cost: one.cost, start_ns: one.start_ns }, told, one.run);
    for (const p of c.phases.filter((x) => x[phase] > 0)) assert.equal(p[phase], told[p.phase === "total" ? "job_duration_s" : `${p.phase}_s`], `${p.phase} of ${one.run}`);
    const verdicts = JSON.parse(await t.footplate("check", one.run, "--json"));
    for (const x of Object.values(c.findings).flat().filter((y) => y[`lost_s_${phase[0]}`] !== null && typeof y === "object"))
      assert.equal(x[`lost_s_${phase[0]}`], verdicts.find((v) => v.rule === x.rule).lost_s, `${x.rule} of ${one.run}`);
  }
});

test("what a change of machines saves comes out to the cent", async () => {
  const c = JSON.parse(await t.footplate("compare", names.three, names.two, "--json"));
  assert.deepEqual([f.money(c.cost.a), f.money(c.cost.b), f.money(c.cost.saving), f.share(c.cost.saving_share)], ["6.16", "1.07", "5.09", "82.6 %"]);
});
