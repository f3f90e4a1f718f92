// SPDX-License-Identifier: Apache-2.0
// timeline.test.mjs - the Timeline tab on a recorded run with operators: lanes, zoom, pan, the address,
// ranges, search, details.
import assert from "node:assert/strict";
import test, { after, afterEach, before } from "node:test";

import { pageModule, start, tableText, until } from "./help.mjs";

let t;
let info;
let format;
let words;
const name = "h200"; // one rank on one GPU, two steps of it in detail
let bare;

before(async () => {
  t = await start();
  await t.copy(name);
  bare = await t.import("cpu_bottleneck/fires");
  await until(async () => (await t.api("/runs")).length === 2, "both runs in the list");
  info = await t.api(`/runs/${name}`);
  format = await pageModule("format.ts");
  words = await pageModule("words.ts");
});
afterEach(() => t.tidy());
after(() => t?.stop());

async function opened(query = "", more = {}) {
  const page = await t.open(`#/run/${name}/timeline${query}`, { ready: ".tl-lane", ...more });
  await settled(page);
  return page;
}

const settled = (page) =>
  until(async () => (await page.locator(".tl-corner").nth(1).innerText()) === "", "the end of loading");

/** The window in the address, in seconds behind the start of the run; null: the whole run. */
function windowOf(page) {
  const query = new URLSearchParams(page.url().split("?")[1] ?? "");
  if (!query.has("from")) return null;
  const behind = (key) => Number(BigInt(query.get(key)) - BigInt(info.start_ns)) / 1e9;
  return { from: behind("from"), to: behind("to") };
}

const changed = (page, before, what) =>
  until(() => {
    const now = windowOf(page);
    return JSON.stringify(now) !== JSON.stringify(before) && { now };
  }, what).then((got) => got.now);

/** Waits until the window is so wide, as a share of the run: the address follows when the hand rests. */
const wide = (page, share) =>
  until(() => {
    const now = windowOf(page);
    return now && Math.abs((now.to - now.from) / length() / share - 1) < 0.03 && now;
  }, `a window of ${share} of the run`);

const canvasBox = (page) => page.locator(".tl-canvas").boundingBox();
const near = (a, b, within, what) => assert.ok(Math.abs(a - b) <= within, `${what}: ${a} is not ${b} (within ${within})`);
const length = () => info.duration_s;

/** An address that shows the steps that were recorded in detail. */
async function detailWindow() {
  const [first] = (await t.api(`/runs/${name}/breakdown`)).steps;
  const at = BigInt(first.start_ns);
  return { from: at, to: at + BigInt(Math.round(first.total_us * 2000)), query: `?from=${at}&to=${at + BigInt(Math.round(first.total_us * 2000))}` };
}

test("there is a lane for each that the API has something in", async () => {
  const page = await opened();
  const { lanes } = await t.api(`/runs/${name}/timeline?px=1000`);
  const shown = await page.locator(".tl-lane").evaluateAll((all) => all.map((el) => el.title.replace(/^.*by CUDA events \((.*)\)$/, "$1")));
  assert.deepEqual(new Set(shown), new Set(lanes.filter((l) => l.depth > 0).map((l) => l.title)));
  for (const kind of ["steps", "phases", "operators", "gpu"]) assert.ok(lanes.some((l) => l.kind === kind && l.depth > 0), kind);
  t.calm(page);
});

test("the lane of phases that were timed on the GPU says how many steps those are, and has one row", async () => {
  const page = await opened();
  const { lanes } = await t.api(`/runs/${name}/timeline?px=1000`);
  const timed = lanes.filter((l) => l.kind === "gpu" && l.thread === "gpu0");
  assert.equal(timed.length, 1);
  const [rank] = (await t.api(`/runs/${name}/steps?last=1`)).ranks.filter((r) => r.mode === "train");
  assert.ok(rank.gpu_timed_steps > 0);
  const lane = page.locator(".tl-lane", { hasText: `gpu0: ${rank.gpu_timed_steps} of ${rank.count} steps timed` });
  await lane.waitFor();
  assert.ok((await lane.boundingBox()).height < 30, "one row");
  t.calm(page);
});

test("the wheel zooms at the cursor, and the window is in the address", async () => {
  const page = await opened();
  const box = await canvasBox(page);
  await page.mouse.move(box.x + box.width * 0.3, box.y + 60);
  for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -100);
  const now = await wide(page, 1 / 1.2 ** 6);
  near(now.from + 0.3 * (now.to - now.from), 0.3 * length(), 0.01 * length(), "time under the cursor");
  t.calm(page);
});

test("dragging moves the window along with the hand, and a double click shows the whole run", async () => {
  const from = BigInt(info.start_ns) + 4_000_000_000n;
  const page = await opened(`?from=${from}&to=${from + 2_000_000_000n}`);
  const before = windowOf(page);
  const box = await canvasBox(page);
  await page.mouse.move(box.x + 600, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + 400, box.y + 40, { steps: 4 });
  await page.mouse.up();
  const wanted = before.from + (200 / box.width) * 2;
  const now = await until(() => Math.abs(windowOf(page).from - wanted) < 0.01 && windowOf(page), "the start where the hand took it");
  near(now.to - now.from, 2, 0.001, "width after the drag");
  await page.mouse.dblclick(box.x + 300, box.y + 40);
  assert.equal(await changed(page, now, "no window"), null);
  t.calm(page);
});

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]])
  test(`a window without slices says so, and a button shows all, at ${width} px, ${scheme}`, async () => {
    const { steps } = await t.api(`/runs/${name}/steps?last=500`);
    const first = Math.min(...steps.map((s) => s.start_ns));
    assert.ok(first - info.start_ns > 2e9, "time before the first step");
    const [from, to] = [info.start_ns + 1e8, info.start_ns + 6e8].map((ns) => BigInt(Math.round(ns)));
    const page = await opened(`?from=${from}&to=${to}`, { width, scheme });
    await page.getByText("No steps, events or operators in this time range.").waitFor();
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `timeline-nothing-${width}-${scheme}`);
    await page.getByRole("button", { name: "Show all", exact: true }).click();
    await page.locator(".tl-nothing").waitFor({ state: "detached" });
    await until(() => windowOf(page) === null, "the whole run in the address");
    t.calm(page);
  });

test("keys zoom, move and show the whole run as in other trace viewers", async () => {
  const page = await opened();
  await page.locator(".tl-canvas").focus();
  for (let i = 0; i < 4; i++) await page.keyboard.press("w");
  const zoomed = await wide(page, 1 / 1.4 ** 4);
  await page.keyboard.press("d");
  const right = await changed(page, zoomed, "a window further right");
  assert.ok(right.from > zoomed.from);
  await page.keyboard.press("ArrowLeft");
  const left = await changed(page, right, "a window further left");
  near(left.from, zoomed.from, 0.001 * length(), "back where it was");
  await page.keyboard.press("s");
  const wider = await changed(page, left, "a wider window");
  assert.ok(wider.to - wider.from > left.to - left.from);
  await page.keyboard.press("0");
  assert.equal(await changed(page, wider, "no window"), null);
  t.calm(page);
});

test("the window stays when another tab is chosen, and comes back", async () => {
  const { query } = await detailWindow();
  const page = await opened(query);
  const before = windowOf(page);
  await page.locator("#tab-steps").click();
  await page.waitForSelector("#tab-steps[aria-selected=true]");
  assert.deepEqual(windowOf(page), before);
  await page.locator("#tab-timeline").click();
  await page.waitForSelector(".tl-lane");
  assert.deepEqual(windowOf(page), before);
  t.calm(page);
});

const RANGE = "Events of the selected range";
const TITLE = "Steps, phases, events and operators";

async function expectRange(page) {
  const picked = /pick=(\d+)-(\d+)/.exec(decodeURIComponent(page.url()));
  assert.ok(picked, page.url());
  const rows = await t.api(`/runs/${name}/events?from=${picked[1]}&to=${picked[2]}&detail=1&limit=500`);
  const shown = await until(async () => {
    const cells = await tableText(page, RANGE);
    return cells.length === Math.min(25, rows.length) && cells;
  }, "the table of the range");
  const expected = rows.slice(0, 25).map((r) => [r.name, words.categoryTitle(r.category), format.count(r.count), format.value(r.total_s, "s"), format.share(r.share)]);
  assert.deepEqual(shown.map((c) => [c[0], c[1], c[4], c[5], c[6]]), expected);
  return rows;
}

test("a range drawn with shift is added up as the API adds it up", async () => {
  const { query } = await detailWindow();
  const page = await opened(query);
  const box = await canvasBox(page);
  await page.keyboard.down("Shift");
  await page.mouse.move(box.x + 200, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 700, box.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await until(() => page.url().includes("pick="), "the range in the address");
  const rows = await expectRange(page);
  assert.ok(rows.length > 5, "operators ran in the range");
  const again = await opened(page.url().split("timeline")[1]);
  await expectRange(again);
  await page.locator(".tl-canvas").focus();
  await page.keyboard.press("Escape");
  await until(async () => (await page.getByText("Events in the selected range").count()) === 0, "the range to go");
  t.calm(page);
});

test("a range drawn on the ruler does the same, and its table sorts", async () => {
  const { query } = await detailWindow();
  const page = await opened(query);
  const ruler = await page.locator(".tl-ruler").boundingBox();
  await page.mouse.move(ruler.x + 100, ruler.y + 10);
  await page.mouse.down();
  await page.mouse.move(ruler.x + 400, ruler.y + 10, { steps: 4 });
  await page.mouse.up();
  await until(() => page.url().includes("pick="), "the range in the address");
  await expectRange(page);
  await page.locator(`[aria-label="${RANGE}"] th button`, { hasText: "Name" }).click();
  const names = (await tableText(page, RANGE)).map((c) => c[0]);
  assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b)));
  t.calm(page);
});

test("search finds what the API finds, jumps to it and shows its whole name", async () => {
  const page = await opened();
  const found = await t.api(`/runs/${name}/search?q=addmm&limit=200`);
  assert.ok(found.count > 2);
  await page.getByLabel("Search slices by name").fill("addmm");
  await page.keyboard.press("Enter");
  const status = page.locator(".tl-found");
  const all = found.count > 200 ? `the first 200 of ${format.count(found.count)}` : format.count(found.count);
  await until(async () => (await status.innerText()).startsWith(all), "the number of matches");
  const hits = [...found.matches].sort((a, b) => a.start_ns - b.start_ns);
  for (const [i, key] of [
    [0, "Next match"],
    [1, "Next match"],
    [0, "Previous match"],
  ]) {
    await page.getByRole("button", { name: key }).click();
    await until(async () => (await status.innerText()) === `${i + 1} of ${all}`, "the place among the matches");
    const hit = hits[i];
    await page.locator(".tl-facts dd", { hasText: hit.name }).first().waitFor();
    const facts = await page.locator(".tl-facts dd").allInnerTexts();
    assert.equal(facts[1], format.value(hit.duration_s, "s"));
    const shown = await until(() => {
      const w = windowOf(page);
      const at = Number(BigInt(hit.start_ns) - BigInt(info.start_ns)) / 1e9;
      return w && w.from <= at && w.to >= at + hit.duration_s && w;
    }, "the match in the window");
    assert.ok(hit.duration_s / (shown.to - shown.from) > 0.005, "near enough to be seen");
  }
  const linked = await opened(`?find=addmm`);
  await until(async () => (await linked.locator(".tl-found").innerText()).startsWith(all), "the search of the link");
  t.calm(page);
});

test("a click selects the slice under it; keys go to its neighbours", async () => {
  const { lanes, names, slices, from_ns } = await t.api(`/runs/${name}/timeline?px=1000`);
  const lane = lanes.find((l) => l.kind === "phases");
  const own = slices.lane.map((l, i) => ({ l, i })).filter((s) => s.l === lane.id).map((s) => s.i);
  const longest = own.reduce((a, b) => (slices.dur[b] > slices.dur[a] ? b : a));
  const page = await opened();
  const box = await canvasBox(page);
  const title = await page.locator(`.tl-lane[title="${lane.title}"]`).boundingBox();
  const middle = from_ns - info.start_ns + slices.start[longest] + slices.dur[longest] / 2;
  await page.mouse.click(box.x + (middle / 1e9 / length()) * box.width, title.y + 8);
  const facts = page.locator(".tl-facts dd");
  await facts.first().waitFor();
  assert.equal((await facts.allInnerTexts())[0], names[slices.name[longest]]);
  assert.equal((await facts.allInnerTexts())[1], format.value(slices.dur[longest] / 1e9, "s"));
  await page.locator(".tl-canvas").focus();
  await page.keyboard.press(".");
  const next = own[own.indexOf(longest) + 1];
  await until(async () => (await facts.allInnerTexts())[1] === format.value(slices.dur[next] / 1e9, "s"), "the next slice");
  await page.getByRole("button", { name: "Events in its time" }).click();
  await page.getByText("Events in the selected range").waitFor();
  t.calm(page);
});

test("the pointer over a slice tells its name, and moving away hides it", async () => {
  const page = await opened();
  const box = await canvasBox(page);
  const title = await page.locator(".tl-lane").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, title.y + 8);
  await page.locator(".tl-tip strong").waitFor();
  await page.mouse.move(box.x + box.width / 2, box.y - 60);
  await until(async () => (await page.locator(".tl-tip").count()) === 0, "the tip to go");
  t.calm(page);
});

test("ranks and lanes fold and unfold", async () => {
  const page = await opened();
  const heads = page.locator(".tl-group-head");
  const lanes = await page.locator(".tl-lane").count();
  await page.getByRole("button", { name: "Fold all" }).click();
  assert.equal(await page.locator(".tl-lane").count(), 0);
  assert.equal(await heads.first().getAttribute("aria-expanded"), "false");
  await page.getByRole("button", { name: "Unfold all" }).click();
  assert.equal(await page.locator(".tl-lane").count(), lanes);
  const deep = page.locator(".tl-lane[title*=thread]").first();
  const high = (await deep.boundingBox()).height;
  await deep.click();
  assert.equal(await deep.getAttribute("aria-expanded"), "false");
  assert.ok((await deep.boundingBox()).height <= high);
  t.calm(page);
});

test("pressing into the strip of the whole run brings the window there", async () => {
  const from = BigInt(info.start_ns) + 1_000_000_000n;
  const page = await opened(`?from=${from}&to=${from + 1_000_000_000n}`);
  const before = windowOf(page);
  const mini = await page.locator(".tl-mini").boundingBox();
  await page.mouse.click(mini.x + mini.width * 0.7, mini.y + 20);
  const now = await changed(page, before, "the window to move");
  near((now.from + now.to) / 2, 0.7 * length(), 0.02 * length(), "middle of the window");
  near(now.to - now.from, 1, 0.001, "width");
  t.calm(page);
});

test("no answer that the timeline asks for is larger than a megabyte, and zooming asks for sharper ones", async () => {
  const sizes = [];
  const page = await opened();
  page.on("response", async (r) => {
    if (r.url().includes("/timeline?")) sizes.push((await r.body()).length);
  });
  const { from, to } = await detailWindow();
  await page.evaluate((q) => (location.hash = q), `#/run/${name}/timeline?from=${from}&to=${to}`);
  await until(() => sizes.length > 0, "a request for the window");
  await settled(page);
  assert.ok(Math.max(...sizes) <= 1e6, String(sizes));
  t.calm(page);
});

test("a run without marks says how to get them", async () => {
  const page = await t.open(`#/run/${bare}/timeline`, { ready: ".empty" });
  assert.match(await page.locator(".empty").innerText(), /--detail-steps 5:2/);
  await t.axe(page);
  t.calm(page);
});

test("the Timeline is accessible and fits, at 1280 and on a telephone, light and dark, also as a table", async () => {
  const { query, from, to } = await detailWindow();
  for (const width of [1280, 390]) {
    for (const scheme of ["light", "dark"]) {
      const page = await opened(`${query}&pick=${from}-${to}`, { width, scheme });
      await page.locator(`[aria-label="${RANGE}"] tbody tr`).first().waitFor();
      await t.fits(page);
      await t.axe(page);
      await t.shot(page, `timeline-${width}-${scheme}`);
      await page.getByRole("button", { name: `Show as table: ${TITLE}` }).click();
      await page.locator(`[role=region][aria-label="${TITLE}"] tbody tr`).first().waitFor();
      await t.axe(page);
      t.calm(page);
      await page.close();
    }
  }
});
