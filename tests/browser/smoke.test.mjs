// SPDX-License-Identifier: Apache-2.0
// smoke.test.mjs - every view once, in one size: it shows its content, logs no error and asks only its
// own server. `make test` runs this file; the others, about what the views show, are for `make test-all`.
import assert from "node:assert/strict";
import test, { after, afterEach, before } from "node:test";
import { pathToFileURL } from "node:url";

import { start, until } from "./help.mjs";

const RICH = "h200"; // steps, operators, functions, one GPU
let t;
let scene; // two nodes with findings

before(async () => {
  t = await start({ scenes: ["gpu_memory_increase/one_bad_node"] });
  [scene] = t.runs;
  await t.copy(RICH);
  await t.copy("h200-1-worker");
});
afterEach(() => t.tidy());
after(() => t?.stop());

const loaded = (page) => until(async () => (await page.locator("main .loading").count()) === 0, "the end of loading");

/** The view has loaded and shows more than a frame, and nothing went wrong meanwhile. */
async function whole(page, what) {
  await loaded(page);
  await until(async () => (await page.locator("main :is(canvas, svg, table)").count()) > 0, `a chart or table in ${what}`);
  assert.ok((await page.locator("main").innerText()).length > 100, what);
  assert.equal(await page.locator("main [role=alert]").count(), 0, what);
  await t.fits(page);
  t.calm(page);
}

test("the list has every run, and a click opens one", async () => {
  const page = await t.open("#/", { ready: "tbody tr" });
  await until(async () => (await page.locator("tbody .runs-name a").count()) === 3, "all runs");
  await whole(page, "the list");
  await page.locator(`tbody a[href*="${RICH}/"], tbody a[href$="${RICH}"]`).first().click();
  await page.waitForSelector("[role=tab][aria-selected=true]");
  await whole(page, "the opened run");
});

for (const [what, run] of [["a run with operators and a GPU", () => RICH], ["a run of two nodes", () => scene]])
  test(`every tab of ${what} shows its content`, async () => {
    const page = await t.open(`#/run/${run()}/overview`, { ready: "[role=tab]" });
    const tabs = await page.locator("[role=tab]").evaluateAll((all) => all.map((el) => el.id));
    assert.ok(tabs.length >= 6, tabs.join(" "));
    for (const id of tabs.filter((one) => one !== "tab-compare")) {
      await page.locator(`#${id}`).click();
      await page.waitForSelector(`#${id}[aria-selected=true]`);
      await loaded(page);
      const empty = (await page.locator("main .empty").count()) > 0; // no operators in the run of two nodes
      const no_health = empty && id === "tab-health";
      if (!no_health && (!empty || run() === RICH)) await whole(page, `${id} of ${what}`);
      t.calm(page);
    }
  });

test("two runs are compared", async () => {
  const page = await t.open(`#/compare/${RICH}/h200-1-worker`, { ready: ".compare-sentence" });
  await whole(page, "the comparison");
});

test("a living run is followed, and the page knows when it has ended", async () => {
  const live = await t.record("living", "--seconds", "3");
  const page = await t.open(`#/run/${live.run}/overview`, { ready: "[role=tab]" });
  const before = await page.locator("main").innerText();
  await until(async () => (await page.locator("main").innerText()) !== before, "something new on the page");
  await live.done;
  await until(async () => (await t.api(`/runs/${live.run}`)).state !== "running", "the end of the run");
  await whole(page, "the run that ended");
});

test("the report opens from disk", async () => {
  const file = (await t.footplate("report", scene)).trim();
  const page = await (await t.open("#/")).context().newPage();
  const troubles = [];
  page.on("pageerror", (e) => troubles.push(e.message));
  page.on("request", (r) => /^(file|data|blob):/.test(r.url()) || troubles.push(`asked for ${r.url()}`));
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector("h1");
  assert.ok((await page.locator("table").count()) > 0);
  assert.deepEqual(troubles, []);
});
