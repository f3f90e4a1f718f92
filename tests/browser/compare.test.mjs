// SPDX-License-Identifier: Apache-2.0
// compare.test.mjs - the Compare page: choosing two runs, the verdict, every table against the API.
import assert from "node:assert/strict";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText, until } from "./help.mjs";

let t;
let format;
let words;
let a;
let b;
const detailed = "h200";

before(async () => {
  t = await start({ scenes: ["dataloader/fires", "dataloader/below"] });
  [a, b] = t.runs;
  await t.copy(detailed);
  await until(async () => (await t.api("/runs")).length === 3, "all runs in the list");
  format = await pageModule("format.ts");
  words = await pageModule("words.ts");
});
afterEach(() => t.tidy());
after(() => t?.stop());

const opened = (x = a, y = b, more = {}) => t.open(`#/compare/${x}/${y}`, { ready: ".compare-sentence", ...more });
const compared = (x = a, y = b) => t.api(`/compare?a=${x}&b=${y}`);
const s = (v) => format.value(v, "s");
const sign = (text, v) => (v !== null && v > 0 ? `+${text}` : text);

test("the verdict is the API's sentence", async () => {
  const page = await opened();
  const c = await compared();
  assert.equal(await page.locator(".compare-sentence span").last().innerText(), c.sentence);
  await page.getByText(c.why, { exact: true }).waitFor();
  t.calm(page);
});

test("step times, parts, phases and utilization are the API's", async () => {
  const page = await opened();
  const c = await compared();
  const steps = await tableText(page, "Iterations of both runs");
  const keys = ["mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "max_s", "stddev_s"];
  assert.deepEqual(steps.map((r) => [r[1], r[2]]), keys.map((k) => [s(c.step_time.a[k]), s(c.step_time.b[k])]));
  assert.deepEqual(
    (await tableText(page, "Parts of an iteration, host time")).map((r) => r.slice(0, 4)),
    c.parts.map((p) => [words.partTitle(p.part), s(p.a_s), s(p.b_s), sign(s(p.diff), p.diff)]),
  );
  assert.deepEqual(
    (await tableText(page, "Phases of both runs")).map((r) => r.slice(1, 3)),
    c.phases.map((p) => [s(p.a_s), s(p.b_s)]),
  );
  const use = (side, u) => (u[side].p50 === null ? "not measured" : format.value(u[side].p50, u.unit));
  assert.deepEqual(
    (await tableText(page, "Utilization in both runs")).map((r) => r.slice(0, 3)),
    c.utilization.map((u) => [words.sentenceCase(u.title), use("a", u), use("b", u)]),
  );
  t.calm(page);
});

test("the interval of a part's difference is told in numbers", async () => {
  const page = await opened();
  const c = await compared();
  const rows = await tableText(page, "Parts of an iteration, host time");
  const told = c.parts.map((p) => (p.ci_low === null ? "-" : `${sign(s(p.ci_low), p.ci_low)} to ${sign(s(p.ci_high), p.ci_high)}`));
  assert.deepEqual(rows.map((r) => r[4]), told);
  t.calm(page);
});

test("a change below 1 % of the iteration is not coloured, and an absurd interval ends in an arrow", async () => {
  const page = await t.open("#/", {});
  const whole = (await compared()).step_time.a.mean_s;
  const part = (name, diff, reach) => ({ part: name, clock: "host", a_s: whole / 4, b_s: whole / 4 + diff, diff, ci_low: diff - reach, ci_high: diff + reach, verdict: "slower" });
  const parts = [part("data", whole / 2, whole / 10), part("forward", whole / 200, whole / 1000), part("sync", whole / 10, whole * 300)];
  await page.route("**/api/v1/compare*", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), parts } });
  });
  await page.goto(`${t.address}#/compare/${a}/${b}`);
  const rows = page.locator('[aria-label="Parts of an iteration, host time"] tbody tr');
  await rows.first().waitFor();
  const kinds = await rows.locator(".badge").evaluateAll((all) => all.map((el) => el.className));
  assert.deepEqual(kinds, ["badge critical", "badge neutral", "badge critical"]);
  assert.deepEqual(await rows.evaluateAll((all) => all.map((tr) => tr.querySelectorAll(".beyond").length)), [0, 0, 2]);
  const dot = await rows.first().locator("circle").evaluate((el) => Number(el.getAttribute("cx")));
  assert.ok(dot > 100, `the dot of half an iteration is at ${dot} of 140`);
  t.calm(page);
});

test("both runs' step times are drawn over each other, with the same numbers as a table", async () => {
  const page = await opened();
  const { histogram } = (await compared()).step_time;
  await page.locator("path.compare-a").waitFor();
  await page.locator("path.compare-b").waitFor();
  await page.getByRole("button", { name: "Show as table: Iterations of both runs" }).click();
  const rows = await until(async () => {
    const table = page.locator(".chart table");
    return (await table.count()) > 0 && table.evaluate((el) => [...el.querySelectorAll("tbody tr")].map((tr) => [...tr.children].map((td) => td.innerText)));
  }, "the table");
  assert.deepEqual(rows.map((r) => [Number(r[2]), Number(r[3])]), histogram.a.map((n, i) => [n, histogram.b[i]]).slice(0, 100));
  t.calm(page);
});

test("findings that appeared, went and stayed are told apart", async () => {
  const page = await opened();
  const { findings } = await compared();
  const changes = ["appeared", "went", "stayed", "unknown"];
  assert.ok(changes.some((change) => findings[change].length > 0));
  for (const change of changes) {
    const list = findings[change];
    const shown = await page.locator(`[data-change="${change}"] li strong`).allInnerTexts();
    assert.deepEqual(shown, list.map((f) => f.title), change);
  }
  t.calm(page);
});

test("of runs with detail the operators are compared", async () => {
  const page = await opened(detailed, detailed);
  const c = await compared(detailed, detailed);
  assert.ok(c.operators.length > 0);
  const rows = await tableText(page, "Operators of both runs");
  assert.deepEqual(
    rows.map((r) => [r[0], r[1], r[2], r[3]]),
    c.operators.slice(0, 20).map((o) => [o.device.toUpperCase(), o.name, s(o.a_self_s), s(o.b_self_s)]),
  );
  t.calm(page);
});

test("runs are added to a side and left out again, and the groups are compared", async () => {
  const page = await opened();
  await until(async () => (await page.getByLabel("More runs for A").locator("option").count()) > 1, "the runs");
  await page.getByLabel("More runs for A").selectOption(detailed);
  await until(() => decodeURIComponent(new URL(page.url()).hash) === `#/compare/${a},${detailed}/${b}`, "the group in the address");
  const c = await compared(`${a},${detailed}`, b);
  assert.equal(c.a.runs.length, 2);
  await page.getByText(c.why, { exact: true }).waitFor();
  assert.deepEqual(await page.locator(".compare-verdict tbody tr").first().locator("a").allInnerTexts(), [a, detailed]);
  await t.axe(page);
  await page.getByRole("button", { name: `Remove ${detailed} from A` }).click();
  await until(() => new URL(page.url()).hash === `#/compare/${a}/${b}`, "two runs again");
  const two = await compared();
  await page.getByText(two.sentence, { exact: true }).waitFor();
  t.calm(page);
});

test("runs are chosen in the pickers, and swapped", async () => {
  const page = await t.open(`#/compare/${a}/`, { ready: ".empty" });
  await t.axe(page);
  await until(async () => (await page.getByLabel("Run B").locator("option").count()) === 4, "the runs");
  await page.getByLabel("Run B").selectOption(b);
  await page.waitForSelector(".compare-sentence");
  assert.equal(new URL(page.url()).hash, `#/compare/${a}/${b}`);
  await page.getByRole("button", { name: "Swap A and B" }).click();
  await until(() => new URL(page.url()).hash === `#/compare/${b}/${a}`, "the other way round");
  const swapped = await compared(b, a);
  await page.getByText(swapped.sentence, { exact: true }).waitFor();
  t.calm(page);
});

test("a run that is not there is told in a sentence", async () => {
  const page = await t.open(`#/compare/${a}/never-was`, { ready: "[role=alert]" });
  assert.match(await page.locator("[role=alert]").innerText(), /never-was/);
  t.calm(page, /404/);
});

test("Compare is accessible and fits, at 1280 and on a telephone, light and dark", async () => {
  for (const [width, scheme] of [
    [1280, "light"],
    [1280, "dark"],
    [390, "dark"],
  ]) {
    const page = await opened(a, b, { width, scheme });
    await t.fits(page);
    await t.axe(page);
    await t.shot(page, `compare-${width}-${scheme}`);
    t.calm(page);
    await page.close();
  }
});
