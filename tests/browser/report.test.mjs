// SPDX-License-Identifier: Apache-2.0
// The report and the comparison as people get them: files, opened from disk in a real browser, with
// their script and without, light, dark and printed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { root } from "./help.mjs";

const require = createRequire(join(root, "web", "package.json"));
const { chromium } = require("playwright-core");
const { HtmlValidate } = require("html-validate");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const footplate = process.env.FOOTPLATE_BIN ?? join(root, "build", "footplate");
const artefacts = join(root, "build", "test-artefacts");
const RECORDED = ["h200-1-worker", "h200-12-workers"];
const HOSTILE = `</title><script>alert(1)</script>"'`;

const dir = mkdtempSync(join(tmpdir(), "footplate-report-"));
let browser;
let plain; // a run with steps and an issue
let odd; // one whose names are markup
let compared; // the comparison of two runs with steps and detail
let oddCompared; // one of runs whose names are markup

const call = (...args) => execFileSync(footplate, [...args, "--dir", dir], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

function compare(name, ...args) {
  const file = join(dir, `${name}.html`);
  call("compare", ...args, "--html", file);
  return file;
}

before(async () => {
  mkdirSync(artefacts, { recursive: true });
  call("import", join(root, "tests", "rules", "eval_heavy", "one_bad_node.scene"));
  plain = call("report", "last", "--price", "3.6").trim();
  const where = { pid: 1, tid: 1, ph: "X" };
  const events = ["aten::mm", HOSTILE, "x".repeat(4096)].map((name, i) => ({ name, cat: "cpu_op", ts: 10 + 100 * i, dur: 50, ...where }));
  writeFileSync(join(dir, "odd.json"), JSON.stringify({ traceEvents: [{ name: "ProfilerStep#1", cat: "user_annotation", ts: 0, dur: 400, ...where }, ...events] }));
  call("import", join(dir, "odd.json"));
  const folder = readdirSync(dir).find((name) => name.startsWith("odd-"));
  const told = JSON.parse(readFileSync(join(dir, folder, "run.json"), "utf8"));
  writeFileSync(join(dir, folder, "run.json"), JSON.stringify({ ...told, name: HOSTILE, command: [HOSTILE, "y".repeat(4096)] }));
  odd = call("report", "odd").trim();
  oddCompared = compare("odd-compared", "odd", "odd", "--price", "3.6", "--price", "2");
  for (const run of RECORDED) cpSync(join(root, "tests", "data", "runs", run), join(dir, run), { recursive: true });
  compared = compare("compared", ...RECORDED);
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Opens the file; every error and every request but that for the file itself is a trouble. */
async function open(file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (e) => troubles.push(e.message));
  page.on("console", (m) => m.type() !== "log" && troubles.push(m.text()));
  page.on("dialog", (d) => troubles.push(`dialog: ${d.message()}`) && d.dismiss());
  page.on("request", (r) => r.url() !== pathToFileURL(file).href && troubles.push(`asked for ${r.url()}`));
  await page.goto(pathToFileURL(file).href);
  return { page, calm: () => assert.deepEqual(troubles, []), close: () => context.close() };
}

test("both pages are valid HTML, whatever the names in them are", async () => {
  const validator = new HtmlValidate({ extends: ["html-validate:standard", "html-validate:a11y"] });
  for (const file of [plain, odd, compared, oddCompared]) {
    const { results } = await validator.validateFile(file);
    assert.deepEqual(results.flatMap((r) => r.messages.map((m) => `${m.line}: ${m.message} (${m.ruleId})`)), []);
  }
});

test("the report and the comparison fit a phone", async () => {
  for (const [name, file] of Object.entries({ report: plain, comparison: compared, "report-odd": odd, "comparison-odd": oddCompared })) {
    const { page, calm, close } = await open(file, { viewport: { width: 390, height: 844 } });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `${name}: ${over} px too wide`);
    await page.screenshot({ path: join(artefacts, `${name}-390.png`), fullPage: true });
    calm();
    await close();
  }
});

for (const colorScheme of ["light", "dark"])
  test(`axe finds nothing in the ${colorScheme} pages, and they fit their window`, async () => {
    // Names do not change colours: those that are markup are looked at in one scheme.
    const odds = colorScheme === "light" ? { "report-odd": odd, "comparison-odd": oddCompared } : {};
    for (const [name, file] of Object.entries({ report: plain, comparison: compared, ...odds })) {
      const { page, calm, close } = await open(file, { colorScheme });
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(over <= 0, `${over} px too wide`);
      await page.screenshot({ path: join(artefacts, `${name}-${colorScheme}.png`), fullPage: true });
      calm();
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join("\n")}`), []);
      await close();
    }
  });

for (const [name, fileOf, figures] of [["report", () => plain, 5], ["comparison", () => compared, 1]])
  test(`without its script the ${name} says the same`, async () => {
    const words = ({ page }) => page.evaluate(() => document.querySelector("main").innerText.replace(/\s+/g, " "));
    const [without, with_] = [await open(fileOf(), { javaScriptEnabled: false }), await open(fileOf())];
    // evaluate() needs no script of the page's own.
    assert.equal(await words(without), await words(with_));
    assert.ok((await without.page.locator("figure svg").count()) >= figures);
    assert.equal(await without.page.locator("thead button").count(), 0);
    assert.ok((await with_.page.locator("thead button").count()) > 0);
    without.calm();
    with_.calm();
    await without.close();
    await with_.close();
  });

test("nothing in a name runs", async () => {
  for (const file of [odd, oddCompared]) {
    const { page, calm, close } = await open(file);
    assert.equal(await page.locator("script").count(), 1);
    assert.ok((await page.locator("main").innerText()).includes(HOSTILE));
    calm();
    await close();
  }
});

test("a comparison says at its top which run is faster, and by how much", async () => {
  const { page, calm, close } = await open(compared);
  assert.equal(await page.locator("h1").innerText(), "B is faster");
  assert.match(await page.locator("main .note").first().innerText(), /an iteration takes 17\.4 ms instead of 83\.3 ms, 79\.1 % less/);
  calm();
  await close();
});

test("a click on the title of a column sorts by its numbers", async () => {
  const { page, calm, close } = await open(plain);
  const table = page.locator("table", { hasText: "Rules by time lost" });
  const points = () => table.locator("tbody tr").evaluateAll((rows) => rows.map((r) => Number(r.cells[4].dataset.v)));
  const before_ = await points();
  await table.getByRole("button", { name: "Checked" }).click();
  assert.deepEqual(await points(), [...before_].sort((a, b) => b - a));
  await table.getByRole("button", { name: "Checked" }).click();
  assert.deepEqual(await points(), [...before_].sort((a, b) => a - b));
  assert.equal(await table.locator("th[aria-sort=ascending]").count(), 1);
  calm();
  await close();
});

test("a line tells its values under the pointer, and a drag zooms in", async () => {
  const { page, calm, close } = await open(plain);
  const chart = page.locator("figure", { hasText: "Training iteration time" });
  const inner = chart.locator("svg svg");
  await chart.scrollIntoViewIfNeeded();
  const box = await inner.boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width / 2, y);
  const told = await chart.locator(".readout").innerText();
  assert.match(told, /^step \d+\nrank 0 500 ms/);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, y, { steps: 4 });
  await page.mouse.up();
  const [from, , width] = (await inner.getAttribute("viewBox")).split(" ").map(Number);
  assert.ok(Math.abs(from - 500) < 5 && Math.abs(width - 250) < 5, `${from} ${width}`);
  await chart.getByRole("button", { name: "Whole run" }).click();
  assert.equal(await inner.getAttribute("viewBox"), "0 0 1000 100");
  calm();
  await close();
});

test("it prints", async () => {
  const { page, calm, close } = await open(plain, { colorScheme: "dark" });
  const pdf = await page.pdf({ format: "A4", printBackground: true });
  writeFileSync(join(artefacts, "report.pdf"), pdf);
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page[^s]/g).length;
  assert.ok(pages >= 3 && pages <= 14, `${pages} pages`);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  assert.ok(!(await page.locator("nav").isVisible()));
  calm();
  await close();
});
