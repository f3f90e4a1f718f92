// SPDX-License-Identifier: Apache-2.0
// flame.test.mjs - the flame graph of sampled Python stacks in the Operators tab.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { start, tableText, until } from "./help.mjs";

let t;
let name;
let counted;
let folder;

const at = (depth, line, total_s, self_s) => ({ depth, file: "/home/me/train.py", line, name: `f${line}`, total_s, self_s });
const STACKS = [at(0, 1, 1, 0), at(1, 2, 0.7, 0.1), at(2, 3, 0.6, 0.6), at(1, 4, 0.3, 0.3)];

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-flame-"));
  const about = { version: 1, pid: 7, timer: "default", start_step: 1, end_step: 3, start_ns: 1e11, end_ns: 1e11 + 1e9 };
  const functions = [{ file: "/home/me/train.py", line: 3, name: "f3", calls: 0, self_s: 0.6, total_s: 0.6 }];
  t = await start();
  const write = (file, what) => {
    writeFileSync(join(folder, file), JSON.stringify(what));
    return t.import(join(folder, file));
  };
  name = await write("sampled.json", { ...about, profiler: "sampling", functions, phases: {}, stacks: STACKS });
  counted = await write("counted.json", { ...about, profiler: "cprofile", functions, phases: {} });
});
afterEach(() => t.tidy());
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await t?.stop();
});

const address = () => `#/run/${name}/operators?by=function`;
const names = (page) => page.locator(".flame-box").allInnerTexts();
const now = (page) => page.locator(".flame-now").innerText();

test("the boxes are the stacks of the API, as wide as their time", async () => {
  const stacks = await t.api(`/runs/${name}/stacks`);
  assert.deepEqual(stacks.map((s) => [s.name, s.depth, s.total_s]), STACKS.map((s) => [`${s.name} (me/train.py:${s.line})`, s.depth, s.total_s]));
  assert.ok(Math.abs(stacks[1].self_s - 0.1) < 1e-6 && stacks[0].self_s < 1e-6);
  const functions = await t.api(`/runs/${name}/ops?by=function`);
  assert.deepEqual(functions.map((f) => f.name), ["f3 (me/train.py:3)"], "frames are no functions of the table");
  const page = await t.open(address(), { ready: ".flame-box" });
  const wide = await page.locator(".flame-box").evaluateAll((all) => all.map((x) => x.getBoundingClientRect().width));
  assert.ok(Math.abs(wide[1] / wide[0] - 0.7) < 0.01 && Math.abs(wide[3] / wide[0] - 0.3) < 0.01, wide.join());
  t.calm(page);
});

test("a click zooms into a function, a second one out; the filter dims the others", async () => {
  const page = await t.open(address(), { ready: ".flame-box" });
  await page.locator(".flame-box", { hasText: "f4" }).click();
  await until(async () => (await names(page)).length === 2, "f4 and its caller");
  await page.getByRole("button", { name: "Show all" }).click();
  await until(async () => (await names(page)).length === 4, "all");
  await page.getByLabel("Filter by name").fill("f4");
  await until(async () => (await page.locator(".flame-dim").count()) === 3, "three dimmed ones");
  t.calm(page);
});

test("arrow keys move, Enter zooms, Escape shows all, and each frame is said", async () => {
  const page = await t.open(address(), { ready: ".flame-box" });
  await page.locator(".flame").focus();
  for (const [key, what] of [["ArrowDown", "f2"], ["ArrowRight", "f4"], ["ArrowUp", "f1"], ["ArrowDown", "f2"], ["ArrowDown", "f3"]]) {
    await page.keyboard.press(key);
    await until(async () => (await now(page)).startsWith(what), `${what} after ${key}`);
  }
  assert.match(await now(page), /600 ms, 60\.0 %; 600 ms self/);
  await page.keyboard.press("Enter");
  await until(async () => (await names(page)).length === 3, "f3 and its callers");
  await page.keyboard.press("Escape");
  await until(async () => (await names(page)).length === 4, "all");
  t.calm(page);
});

test("the flame graph is a table as well", async () => {
  const page = await t.open(address(), { ready: ".flame-box" });
  await page.getByRole("button", { name: "Show as table: Flame graph of sampled stacks" }).click();
  const rows = await tableText(page, "Flame graph of sampled stacks");
  assert.deepEqual(rows.map((r) => [r[0], r[2], r[3]]), [
    ["f1 (me/train.py:1)", "1.0 s", "0 ms"],
    ["f2 (me/train.py:2)", "700 ms", "100 ms"],
    ["f3 (me/train.py:3)", "600 ms", "600 ms"],
    ["f4 (me/train.py:4)", "300 ms", "300 ms"],
  ]);
  t.calm(page);
});

test("a profile that counts calls says how to get a flame graph", async () => {
  const page = await t.open(`#/run/${counted}/operators?by=function`, { ready: "td.ops-cell" });
  await page.getByText("A flame graph needs sampled stacks").waitFor();
  t.calm(page);
});

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
  test(`the flame graph is accessible and fits at ${width} px, ${scheme}`, async () => {
    const page = await t.open(address(), { width, scheme, ready: ".flame-box" });
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `flame-${width}-${scheme}`);
    t.calm(page);
  });
}
