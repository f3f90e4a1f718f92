// SPDX-License-Identifier: Apache-2.0
// numbers.test.mjs - one run, read in four places: the page, the report, the terminal and the JSON. A
// figure that two of them show reads the same in both, to the last digit.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText } from "./help.mjs";

const name = "h200-1-worker";
const other = "h200-12-workers";

let t;
let format;
let report; // what the report's page says: { tables, facts, sections }
let comparison; // the same of the comparison's

before(async () => {
  t = await start();
  for (const run of [name, other]) await t.copy(run);
  format = await pageModule("format.ts");
  const files = { report: join(t.dir, "report.html"), comparison: join(t.dir, "comparison.html") };
  await t.footplate("report", name, "-o", files.report);
  await t.footplate("compare", name, other, "--html", files.comparison);
  const page = await t.open("#/");
  report = await page.evaluate(readPage, readFileSync(files.report, "utf8"));
  comparison = await page.evaluate(readPage, readFileSync(files.comparison, "utf8"));
  await t.tidy();
});
afterEach(() => t.tidy());
after(() => t?.stop());

/** Runs in the browser: the tables of a page by caption, its facts, and its sections by heading. */
function readPage(html) {
  const words = (el) => el.textContent.replace(/\s+/g, " ").trim();
  const facts = (el) => Object.fromEntries([...el.querySelectorAll("dt")].reverse().map((dt) => [words(dt), words(dt.nextElementSibling)])); // the first of a name
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const svg of page.querySelectorAll("td svg")) svg.remove();
  const tables = {};
  for (const table of page.querySelectorAll("table"))
    tables[words(table.caption)] = [...table.tBodies[0].rows].map((row) => [...row.cells].map(words));
  const sections = [...page.querySelectorAll("section")].map((s) => ({
    title: words(s.querySelector("h2")),
    text: [...s.querySelectorAll("p")].map(words),
    facts: facts(s),
  }));
  return { tables, sections, facts: facts(page) };
}

/** The rows below a line of titles in what the terminal shows, as objects by title. */
function printed(text, firstTitle) {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.startsWith(firstTitle));
  assert.ok(at >= 0, `a table of ${firstTitle} in:\n${text}`);
  const cells = (line) => line.trim().split(/ {2,}/);
  const titles = cells(lines[at]);
  const end = lines.findIndex((line, i) => i > at && cells(line).length !== titles.length);
  return lines.slice(at + 1, end < 0 ? undefined : end).map((line) => Object.fromEntries(cells(line).map((cell, i) => [titles[i], cell])));
}

/** A line of `show`: what stands behind its word. */
const shown = (text, word) => new RegExp(`^${word} +(.*)$`, "m").exec(text)?.[1];

const open = (tab, ready) => t.open(`#/run/${name}/${tab}`, { ready });
const detailsOf = (page) =>
  page.locator(".job-details dl > div").evaluateAll((rows) => Object.fromEntries(rows.map((r) => [r.children[0].textContent, r.children[1].textContent])));
const asTable = async (page, title) => {
  await page.getByRole("button", { name: `Show as table: ${title}` }).click();
  return tableText(page, title);
};

test("the job's times and the shares of its phases", async () => {
  const page = await open("overview", ".pie");
  const details = await detailsOf(page);
  const told = await t.footplate("show", name);
  const both = Object.keys(details).filter((term) => term !== "Cost");
  assert.ok(both.length >= 11);
  for (const term of both) assert.equal(details[term], report.facts[term], term);
  const phases = Object.fromEntries(printed(told, "PHASE").map((r) => [r.PHASE, r]));
  for (const [term, phase] of [["Initialization", "initialization"], ["Finalization", "finalization"]]) {
    assert.equal(details[term], phases[phase].TIME);
    assert.equal(details[`${term} (%)`], phases[phase].SHARE);
  }
  const pie = (await page.locator(".job-summary figure").first().innerText()).replace(/\s+/g, " ");
  for (const term of ["Initialization", "Training loop", "Finalization"])
    assert.ok(pie.includes(`${term} ${details[term] ?? details[`${term} duration`]} ${details[`${term} (%)`]}`), `${term} in ${pie}`);
  const progress = await page.locator(".job-summary figure").nth(1).locator(".sr-only").first().innerText();
  assert.equal(progress, Object.entries({ Initialization: "initialization", Training: "train", Evaluation: "eval", Finalization: "finalization" }).map(([title, phase]) => `${title} ${phases[phase].SHARE}`).join(", "));
  t.calm(page);
});

test("what the run cost", async () => {
  const page = await open("overview", ".pie");
  const details = await detailsOf(page);
  assert.match(details.Cost, /^0\.0615, at 6\.88 an hour/);
  assert.equal(details.Cost, shown(await t.footplate("show", name), "cost"));
  assert.equal(details.Cost.split(",")[0], report.facts.Cost);
  t.calm(page);
});

test("how it was measured, and what that cost", async () => {
  const page = await open("overview", ".measured");
  const facts = await page.locator(".measured .fact").evaluateAll((all) => Object.fromEntries(all.map((f) => [f.children[0].textContent, f.children[1].textContent])));
  const told = await t.footplate("show", name);
  assert.equal(facts["Footplate's own cost"], shown(told, "own cost"));
  assert.equal(facts["Footplate's own cost"], `${report.facts["Footplate's own cost"]}, ${report.facts.Written} written`);
  for (const term of ["Sampling interval", "Samples", "Events lost"]) assert.equal(facts[term], report.facts[term], term);
  assert.ok(shown(told, "recorded").startsWith(`every ${facts["Sampling interval"]}, ${facts.Samples} samples, `));
  const losses = await tableText(page, "Not measured, or lost");
  assert.deepEqual(losses.map(([what, , why]) => `${what}: ${why}`).sort(), (await t.api(`/runs/${name}`)).losses.map((l) => `${l.what}: ${l.why}`).sort());
  t.calm(page);
});

test("the statistics of every resource", async () => {
  const page = await open("overview", ".use-node table");
  const onPage = await tableText(page, "Resource utilization of vm");
  const inReport = report.tables["Resource utilization of each node, over the whole job"];
  const inTerminal = printed(await t.footplate("stats", name), "NODE");
  const json = JSON.parse(await t.footplate("stats", name, "--json"));
  assert.equal(onPage.length, 7);
  onPage.forEach((row, i) => {
    const figures = row.slice(2, 8); // min, max, p99, p95, p90, p50
    const [cli, raw] = [inTerminal[i], json[i]];
    assert.deepEqual(figures, inReport[i].slice(3, 9), row[0]);
    assert.deepEqual(figures, ["MIN", "MAX", "P99", "P95", "P90", "P50"].map((q) => cli[q]), row[0]);
    assert.deepEqual(figures, ["min", "max", "p99", "p95", "p90", "p50"].map((q) => format.value(raw[q], raw.unit)), row[0]);
    assert.equal(row[8], cli.SAMPLES);
  });
  t.calm(page);
});

test("the steps of each rank, and what they were spent on", async () => {
  const page = await open("steps", ".steps-shares");
  const onPage = await tableText(page, "Duration of steps by rank and mode");
  const inReport = report.tables["Steps of each rank"];
  const inTerminal = printed(await t.footplate("steps", name), "NODE");
  assert.equal(onPage.length, 2);
  onPage.forEach(([rank, node, mode, steps, mean, p50, p95, p99, max, , samples], i) => {
    assert.deepEqual([node, rank.replace("rank ", ""), mode, steps, mean, p50, p95, p99, max, samples], inReport[i]);
    const cli = inTerminal[i];
    assert.deepEqual([mode, steps, mean, p50, p95, max, samples], ["MODE", "STEPS", "MEAN", "P50", "P95", "MAX", "SAMPLES/S"].map((c) => cli[c]));
  });
  const shares = await asTable(page, "Shares of the parts, of all steps");
  const parts = ["data", "forward", "backward", "optimizer", "h2d", "other"];
  const times = Object.fromEntries(report.tables["Where the time of the steps went"].map(([rank, mode, ...cells]) => [`rank ${rank}, ${mode}`, cells]));
  assert.equal(shares.length, 7);
  for (const [who, part, time, share] of shares) {
    assert.equal(time, times[who][parts.indexOf(part)], `${who} ${part}`);
    assert.equal(share, inTerminal.find((r) => who.endsWith(r.MODE))[part.toUpperCase()], `${who} ${part}`);
  }
  const [show] = /steps +180 train, .*/.exec(await t.footplate("show", name));
  assert.equal(show.replace(/ +/, " "), `steps 180 train, p50 ${onPage[0][5]}, p95 ${onPage[0][6]}, ${onPage[0][10]} samples/s`);
  t.calm(page);
});

test("the operators and kernels", async () => {
  const page = await open("operators", ".ops-filters");
  const cli = await t.footplate("ops", name);
  for (const device of ["CPU", "GPU"]) {
    const caption = device === "CPU" ? "CPU operators, ranked by self time" : "GPU kernels and copies, ranked by self time";
    const onPage = await tableText(page, caption);
    const inReport = report.tables[`Most expensive ${device} operators`];
    const inTerminal = printed(cli, `${device} `);
    assert.ok(inTerminal.length >= 10);
    inReport.slice(0, inTerminal.length).forEach(([, share, self, total, calls, mean], i) => {
      assert.deepEqual(onPage[i].slice(2, 7), [share, self, total, calls, mean], `${device} ${i}`);
      const line = inTerminal[i];
      assert.deepEqual([line.SHARE, line.SELF, line.TOTAL, line.CALLS, line.MEAN], [share, self, total, calls, mean], `${device} ${i}`);
    });
  }
  t.calm(page);
});

test("what the rules found: its size, its cost and its figures", async () => {
  const page = await open("overview", ".insight");
  const told = await t.footplate("check", name);
  const issues = (await t.findings(name)).filter((v) => v.state === "issue");
  assert.equal(issues.length, 3);
  for (const issue of issues) {
    const section = report.sections.find((s) => s.title === `${issue.rule}: ${issue.title}`);
    const head = new RegExp(`^${issue.rule}: .*\\((.*)\\)$`, "m").exec(told)[1];
    assert.equal(`${head}.`, section.text[0]);
    const pane = page.locator(".insight", { hasText: issue.title });
    await pane.getByRole("button", { expanded: false }).first().click();
    const facts = await pane.locator(".fact").evaluateAll((all) => Object.fromEntries(all.map((f) => [f.children[0].textContent, f.children[1].innerText])));
    const [, lost, share, cost] = /^critical, (.*) lost, (.*) of the training loop, at a cost of (.*)$/.exec(head);
    assert.equal(facts["Cost in all"], `${lost}, ${format.value(issue.lost_gpu_s, "s")} of GPU time, ${share} of the training loop, at a cost of ${cost}`);
    assert.equal(facts.Cost, section.facts.Cost);
    assert.ok(told.includes(`cost      ${facts.Cost}.`));
    assert.equal(facts["During it"], section.facts["What ran meanwhile"]);
    assert.ok(told.includes(`during    ${facts["During it"]}.`));
    for (const number of facts.Numbers.split(", ")) {
      const [, what, value] = /^(\S+) (.*)$/.exec(number);
      assert.equal(value, section.facts[what.replaceAll("_", " ")], what);
    }
    const set = report.tables["Every rule, by what it cost the run"].find(([rule]) => rule === issue.rule)[5].split(", ");
    const criteria = facts.Criteria.split("\n").map((line) => line.replace(/:.*/, "").replace(" = ", "="));
    assert.deepEqual(criteria, set);
  }
  t.calm(page);
});

test("the detail of steps and devices", async () => {
  const page = await open("steps", ".steps-sentence");
  const cli = await t.footplate("breakdown", name);
  const onPage = await asTable(page, "What each step was spent on");
  const lines = cli.split("\n").slice(1, 4).map((line) => line.trim().split(/ {2,}/));
  assert.deepEqual(onPage.map((row) => row.slice(1)), lines.map((line) => line.slice(1)));
  t.calm(page);
});

test("two runs compared", async () => {
  const page = await t.open(`#/compare/${name}/${other}`, { ready: ".compare-verdict table" });
  const cli = await t.footplate("compare", name, other);
  const table = (caption) => comparison.tables[caption];
  const steps = Object.fromEntries(table("Time of a step").map(([what, ...cells]) => [what, cells]));
  const names = { median: "p50", longest: "max", "spread (sigma)": "standard deviation" };
  const onPage = Object.fromEntries((await tableText(page, "Step times of both runs")).map(([what, ...cells]) => [what, cells]));
  for (const [what, cells] of Object.entries(steps)) {
    if (what !== "shortest") assert.deepEqual(onPage[names[what] ?? what], cells, what);
    assert.ok(cli.replace(/ +/g, " ").includes([what, ...cells].join(" ")), `${what} in the terminal`);
  }
  const parts = await tableText(page, "Parts of a step in both runs");
  assert.deepEqual(
    parts.map(([part, a, b, diff, interval]) => [part, a, b, diff, ...interval.split(" to ")]),
    table("Parts of a step, each with the interval of its change").map((row) => row.slice(0, 6)),
  );
  assert.deepEqual(await tableText(page, "Phases of both runs"), table("Time spent in phases"));
  assert.deepEqual(
    (await tableText(page, "Utilization in both runs")).map(([, a, b, diff, a95, b95]) => [a, b, a95, b95, diff]),
    table("Of all machines").map((row) => row.slice(1)),
  );
  const costs = await page.locator(".compare-verdict tbody tr td:last-child").allInnerTexts();
  assert.deepEqual(costs, table("Runs").map((row) => row[7]));
  const [, saved, share] = /B saves (\S+) \((.*)\)\./.exec(comparison.sections.find((s) => s.title === "Cost").text[0]);
  assert.match(await page.locator("[data-part=cost]").innerText(), new RegExp(`^B costs ${saved} less than A \\(${share}\\): ${costs[1]} instead of ${costs[0]}`));
  const ops = table("Operators, most changed first; of one step");
  assert.deepEqual(
    (await tableText(page, "Operators of both runs")).slice(0, ops.length).map(([device, what, ...cells]) => [what, device, ...cells]),
    ops.slice(0, 20).map(([what, device, ...cells]) => [what, device.toUpperCase(), ...cells]),
  );
  assert.deepEqual(await tableText(page, "Breakdown of both runs"), table("Breakdown: time of a step, shares of the time of devices"));
  t.calm(page);
});
