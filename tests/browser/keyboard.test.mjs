// SPDX-License-Identifier: Apache-2.0
// keyboard.test.mjs - a walk through the page without a pointer. After every key something has the
// focus, it can be seen, and nothing lies over it.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { start, until } from "./help.mjs";

const name = "h200-1-worker";
const CORES = 20; // more than have a label each: they are in a list
const SCENE = `scene 1
node n1 cores=${CORES} gpus=0
n1 cpu.util total  0s..120s 40
${[...Array(CORES).keys()].map((i) => `n1 cpu.util cpu${i}  0s..120s ${3 * i}`).join("\n")}
rank 0 on n1: steps 100 x 1s from 10s data=10% forward=30% backward=40% optimizer=10%
`;
const TOKEN = "a-token-for-the-keyboard-test";

let t;
let folder;
let wide;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-keyboard-"));
  writeFileSync(join(folder, "wide.scene"), SCENE);
  t = await start();
  wide = await t.import(join(folder, "wide.scene"));
  await t.copy(name);
  await t.findings(name);
});
afterEach(() => t.tidy());
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await t?.stop();
});

/** Runs in the browser: what has the focus, and what is wrong with that. */
function focusNow() {
  const el = document.activeElement;
  const style = getComputedStyle(el);
  const box = el.getBoundingClientRect();
  const ring = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
  const within = (v, most) => Math.min(Math.max(v, 1), most - 1);
  const x = within((Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2, innerWidth);
  const y = within((Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2, innerHeight);
  const top = document.elementFromPoint(x, y);
  const wrong = [];
  if (el === document.body) wrong.push("nothing has the focus");
  else if (!el.matches(":focus-visible") || !ring) wrong.push("the focus cannot be seen");
  else if (box.bottom <= 0 || box.top >= innerHeight) wrong.push("it is outside of the window");
  else if (top === null || !(el.contains(top) || top.contains(el))) wrong.push(`${top?.outerHTML.slice(0, 80)} lies over it`);
  return { wrong, what: el.outerHTML.slice(0, 120) };
}

async function press(page, key) {
  await page.keyboard.press(key);
  const { wrong, what } = await page.evaluate(focusNow);
  assert.deepEqual(wrong, [], `after ${key}: ${what}`);
}

/** What a key sets off may need a moment (an answer of the server, a view that is fetched). */
async function settled(page, key) {
  const { wrong, what } = await page.evaluate(focusNow);
  assert.deepEqual(wrong, [], `a while after ${key}: ${what}`);
}

const has = (page, selector) => page.evaluate((s) => document.activeElement.matches(s), selector);

/** Tab until what was meant has the focus; everything on the way has it visibly. */
async function tabTo(page, selector, key = "Tab") {
  for (let i = 0; i < 150; i++) {
    await press(page, key);
    if (await has(page, selector)) return;
  }
  assert.fail(`${selector} cannot be reached with ${key}`);
}

const address = (page) => new URL(page.url()).hash;

test("from the list into a run, and through all of its tabs", async () => {
  const page = await t.open("#/", { ready: "tbody tr" });
  await tabTo(page, `a[href*="${name}"]`);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".pie");
  await settled(page, "Enter");
  await tabTo(page, "[role=tab]");
  const ready = { nodes: ".nodes-cpu .chart-plot", metrics: ".metrics-chart .chart-plot", steps: ".steps-shares", health: ".empty", operators: ".ops-toggle", timeline: ".tl-lane" };
  for (const [tab, content] of Object.entries(ready)) {
    await press(page, "ArrowRight");
    await page.waitForSelector(content);
    await settled(page, "ArrowRight");
    assert.ok(await has(page, `#tab-${tab}[aria-selected=true]`), tab);
  }
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("main h1");
  await until(() => address(page).startsWith("#/compare/"), "the comparison");
  await settled(page, "ArrowRight to Compare");
  t.calm(page);
});

test("a finding opens, its time leads into Nodes, and the way back", async () => {
  const page = await t.open(`#/run/${name}/overview`, { ready: ".insight" });
  await tabTo(page, ".insight > h3 > button");
  assert.ok(await has(page, "[aria-expanded=true]"), "an issue is open at first");
  await press(page, "Enter");
  assert.ok(!(await has(page, "[aria-expanded=true]")));
  await press(page, "Space");
  assert.ok(await has(page, "[aria-expanded=true]"));
  await tabTo(page, ".insight-body .link");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".nodes-cpu .chart-plot");
  assert.match(address(page), /\/nodes\?.*from=/);
  await settled(page, "Enter on the time");
  await tabTo(page, "[role=tab]", "Shift+Tab");
  await press(page, "Home");
  assert.match(address(page), /\/overview/);
  t.calm(page);
});

test("a chart zooms, shows everything again, and gives up what was selected", async () => {
  const page = await t.open(`#/run/${wide}/nodes`, { ready: ".nodes-cpu .chart-plot canvas" });
  await tabTo(page, ".nodes-cpu .chart-plot");
  await press(page, "+");
  await until(() => address(page).includes("from="), "the window in the address");
  await press(page, "ArrowRight");
  await press(page, "0");
  await until(() => !address(page).includes("from="), "the whole run");
  await tabTo(page, ".nodes-add");
  await press(page, "Enter");
  await press(page, "Tab");
  assert.ok(await has(page, ".nodes-list input"));
  await page.keyboard.type("cpu1");
  await press(page, "Escape");
  assert.ok(await has(page, ".nodes-add[aria-expanded=false]"));
  await tabTo(page, ".nodes-system .chart-plot");
  await press(page, "ArrowRight");
  await press(page, "Shift+ArrowRight");
  await press(page, "Shift+ArrowRight");
  await page.getByRole("button", { name: "Clear" }).waitFor();
  await tabTo(page, ".nodes-brush-head .button.quiet");
  await press(page, "Enter");
  await page.getByRole("button", { name: "Clear" }).waitFor({ state: "detached" });
  await settled(page, "Enter on Clear");
  t.calm(page);
});

test("the timeline is moved in, a slice is looked at and closed, and Escape closes the dialog", async () => {
  const page = await t.open(`#/run/${name}/timeline`, { ready: ".tl-lane" });
  await tabTo(page, ".tl-buttons .button:last-child");
  await press(page, "Enter");
  await page.waitForSelector("dialog[open]");
  await press(page, "Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await settled(page, "Escape");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Keys");
  await tabTo(page, ".tl-canvas");
  await press(page, "w");
  await press(page, "d");
  await until(() => address(page).includes("from="), "the window in the address");
  await press(page, "0");
  await press(page, ".");
  await page.waitForSelector(".tl-panel");
  await press(page, "Escape");
  await page.waitForSelector(".tl-panel", { state: "detached" });
  assert.ok(await has(page, ".tl-canvas"));
  await press(page, ".");
  await tabTo(page, '[aria-label="Close slice details"]');
  await press(page, "Enter");
  await page.waitForSelector(".tl-panel", { state: "detached" });
  await settled(page, "Enter on the cross");
  t.calm(page);
});

test("the rest of a table is shown, and the focus stays with the table", async () => {
  const page = await t.open(`#/run/${name}/operators`, { ready: ".ops-toggle" });
  await tabTo(page, ".table-scroll > .button");
  await press(page, "Enter");
  assert.ok(await has(page, ".table-scroll"));
  t.calm(page);
});

test("a token is given, and the list has the focus", async () => {
  writeFileSync(join(folder, "tokens"), `read ${TOKEN}\n`, { mode: 0o600 });
  const guarded = await start({ args: ["--token-file", join(folder, "tokens")], scenes: ["eval_heavy/fires"] });
  try {
    const page = await guarded.open("#/", { ready: "input[type=password]", own: true });
    await tabTo(page, "input[type=password]");
    await page.keyboard.type(TOKEN);
    await page.keyboard.press("Enter");
    await page.waitForSelector("tbody tr");
    await settled(page, "Enter");
    guarded.calm(page, /401/);
  } finally {
    await guarded.stop();
  }
});
