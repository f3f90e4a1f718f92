// SPDX-License-Identifier: Apache-2.0
// health.test.mjs - the Health view: the verdict first, curves by step and time with findings as marks, pictures of
// tensors, one tensor, several runs, and the file of it; the loss on the overview and in a comparison.
import assert from "node:assert/strict";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import test, { after, afterEach, before } from "node:test";

import { pageModule, root, start, tableText, until } from "./help.mjs";

const SCRIPT = join(root, "tests", "py", "scripts", "train_health.py");

let t;
let good;
let bad;
let empty;
let format;

before(async () => {
  t = await start();
  const record = async (name, ...args) => {
    const job = await t.recordJob(name, ["python3", SCRIPT, ...args]);
    await job.done;
    return job.run;
  };
  good = await record("good");
  bad = await record("bad", "75", "120");
  empty = await t.import("cpu_bottleneck/fires");
  format = await pageModule("format.ts");
});
afterEach(() => t.tidy());
after(() => t.stop());

const open = (run, query = "", options = {}) => t.open(`#/run/${run}/health${query}`, { ready: ".health canvas", ...options });
const figure = (page, title) => page.locator("figure.chart", { has: page.locator("h3", { hasText: new RegExp(`^${title}`) }) });
const inWords = (page, title) => figure(page, title).locator("p.sr-only").first().innerText();
const legend = (page, title) => figure(page, title).locator(".chart-legend li").allInnerTexts();
const asTable = (page, title) => figure(page, title).getByRole("button", { name: /^Show as table/ }).click();

test("the verdict comes first, and what was found is marked on the curves", async () => {
  const page = await open(bad);
  const verdict = page.locator(".health-verdict");
  await verdict.getByText("Non-finite values").waitFor();
  assert.ok((await verdict.boundingBox()).y < (await figure(page, "Loss").boundingBox()).y);
  const marks = page.getByRole("list", { name: "Findings on the curves" });
  await marks.getByText(/Non-finite values, step 120/).waitFor();
  assert.match(await inWords(page, "Loss"), /Marked: .*at step 120/);
  await page.getByText("loss: 80 values not finite, first at step 120").waitFor();
  t.calm(page);
});

test("the curve of a loss has the values of the run, by step", async () => {
  const page = await open(good);
  await asTable(page, "Loss");
  const rows = await tableText(page, "Loss");
  assert.deepEqual(rows[0].slice(0, 2), ["0", format.value(1, "")]);
  assert.deepEqual(rows[1].slice(0, 2), ["1", format.value(Math.exp(-1 / 50) + 0.01, "")]);
  assert.match(await inWords(page, "Gradient norm"), /lr: first 5e-05, last 0.001/);
  assert.match(await inWords(page, "AMP loss scale"), /65 536/);
  assert.match(await inWords(page, "accuracy"), /last 0.995/);
  t.calm(page);
});

test("by time the charts share the window with the system metrics", async () => {
  const page = await open(good, "?axis=time");
  await figure(page, "System metrics").waitFor();
  const plot = figure(page, "Loss").locator(".chart-plot");
  await plot.focus();
  await page.keyboard.press("+");
  await until(() => /from=\d+/.test(page.url()), "the window in the address");
  await page.getByRole("button", { name: "Step", exact: true }).click();
  await until(() => figure(page, "Loss").locator("canvas").count(), "the charts by step");
  await page.getByRole("button", { name: "Whole run" }).click();
  await until(() => !/from=\d+/.test(page.url()), "the whole run again");
  t.calm(page);
});

test("a zoom by step is a zoom of the system metrics", async () => {
  const page = await open(good);
  await figure(page, "System metrics").waitFor();
  await figure(page, "Loss").locator(".chart-plot").focus();
  await page.keyboard.press("+");
  await until(() => /from=\d+/.test(page.url()), "the window in the address");
  t.calm(page);
});

test("a row of the picture opens the panel of its tensor", async () => {
  const page = await open(bad);
  const picture = figure(page, "Norm of the gradient over that of the weight");
  await picture.getByText("NaN or infinite").waitFor();
  assert.match(await inWords(page, "Norm of the gradient over that of the weight"), /8 rows, 20 samples.*Not finite: layer\.2\.weight\./);
  const plot = picture.locator(".chart-plot");
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await plot.click({ position: { x: box.width / 2, y: 20 + 4.5 * 22 } });
  const panel = page.locator(".health-tensor");
  await panel.getByRole("heading", { name: "layer.2.weight" }).waitFor();
  await panel.locator("figure h3", { hasText: "update.ratio" }).waitFor();
  assert.match(await inWords(page, "Gradient by power of two"), /^4 rows, 4 samples\. At the end most values are at 2\^-15: 75\.0 %\./);
  await panel.getByRole("button", { name: "Close: layer.2.weight" }).click();
  await plot.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await panel.getByRole("heading", { name: "layer.0.bias" }).waitFor();
  t.calm(page);
});

test("another statistic can be chosen, and the picture is a table too", async () => {
  const page = await open(good, "?stat=update.ratio");
  const title = "Norm of the change by one optimizer step over the norm before";
  await asTable(page, title);
  const rows = await tableText(page, title);
  assert.deepEqual(rows[0].slice(0, 3), ["layer.0.weight", "20", "0.001"]);
  assert.match(await inWords(page, "Norm of the change by one step over"), /median: first 0.004/, "of the four matrices");
  t.calm(page);
});

test("smoothing leaves the raw line, and can be switched off", async () => {
  const page = await open(good);
  assert.ok(!(await legend(page, "Loss")).some((x) => x.includes("smoothed")));
  await page.getByRole("checkbox", { name: "Smoothing" }).check();
  await until(async () => (await legend(page, "Loss")).some((x) => x.includes("loss, smoothed")), "the smoothed line");
  assert.ok((await legend(page, "Loss")).some((x) => /^\s*loss \d/.test(x)));
  await page.getByRole("checkbox", { name: "Smoothing" }).uncheck();
  await until(async () => !(await legend(page, "Loss")).some((x) => x.includes("smoothed")), "the raw line alone");
  t.calm(page);
});

test("other runs are shown in the same charts", async () => {
  const page = await open(good);
  await page.getByLabel("Compare with").selectOption(bad);
  await until(async () => (await legend(page, "Loss")).some((x) => x.includes("loss (bad)")), "the other run");
  assert.ok((await legend(page, "Loss")).some((x) => x.includes("loss (good)")));
  await page.getByRole("button", { name: "Remove: bad" }).click();
  await until(async () => !(await legend(page, "Loss")).some((x) => x.includes("bad")), "one run alone");
  t.calm(page);
});

test("a regular expression filters tensors and metrics", async () => {
  const page = await open(good, "?q=layer.[02].weight");
  await until(async () => /^2 rows/.test(await inWords(page, "Norm of the gradient over that of the weight")), "two tensors");
  assert.equal(await figure(page, "accuracy").count(), 0);
  await page.getByRole("searchbox").fill("layer.(");
  await page.getByText("The filter is not a regular expression.").waitFor();
  t.calm(page);
});

test("the curves can be taken away as CSV", async () => {
  const page = await open(good);
  const button = page.getByRole("button", { name: "Download CSV" });
  const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
  const lines = (await text(await file.createReadStream())).trim().split("\n");
  assert.equal(lines[0], "run,scalar,mode,step,mean,min,max");
  assert.ok(lines.includes(`${good},accuracy,train,100,0.5,0.5,0.5`));
  assert.equal(lines.filter((l) => l.includes(",loss,train,")).length, 200);
  t.calm(page);
});

for (const [name, options] of [
  ["light", {}],
  ["dark", { scheme: "dark" }],
  ["390", { width: 390, height: 800 }],
]) {
  test(`the view is accessible and fits: ${name}`, async () => {
    const page = await open(bad, "?tensor=layer.2.weight&smooth=0.6", options);
    await page.locator(".health-tensor canvas").first().waitFor();
    await figure(page, "Norm of the gradient over that of the weight").locator("canvas").waitFor();
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `health-${name}`);
    t.calm(page);
  });
}

test("the overview shows the loss, and a run without one no word about it", async () => {
  const page = await t.open(`#/run/${good}/overview`);
  const tile = page.locator(".tiles > div", { has: page.locator("dt", { hasText: /^Loss$/ }) });
  await tile.waitFor();
  assert.match(await tile.innerText(), new RegExp(`Loss\\s+${format.value(Math.exp(-199 / 50) + 0.01, "")}\\s`));
  assert.equal(await tile.locator("svg").count(), 1);
  t.calm(page);
  const other = await t.open(`#/run/${empty}/health`, { ready: ".empty-title" });
  await other.getByText("No training health was recorded").waitFor();
  await t.axe(other);
  t.calm(other);
});

test("a comparison says from which step two runs differ, and leads to both in one chart", async () => {
  const page = await t.open(`#/compare/${good}/${bad}`);
  await page.getByText(/the losses are the same up to step 74 and differ from step 75 on/).waitFor();
  await page.getByText(/their bits are the same up to step 70 and differ from step 80 on/).waitFor();
  assert.equal((await tableText(page, "Mean loss of equal steps")).length, 10);
  await page.getByRole("link", { name: "Both in one chart" }).click();
  await until(async () => (await legend(page, "Loss")).some((x) => x.includes("loss (bad)")), "both runs");
  t.calm(page);
});
