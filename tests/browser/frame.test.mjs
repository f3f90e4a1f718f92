// SPDX-License-Identifier: Apache-2.0
// frame.test.mjs - what all views share: tabs, theme, links, errors, the login.
import assert from "node:assert/strict";
import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { start, until } from "./help.mjs";

let t;
let name;

before(async () => {
  t = await start({ scenes: ["checkpoint_stall/fires", "dataloader/fires"] });
  [name] = t.runs;
});
afterEach(() => t.tidy());
after(() => t?.stop());

const selected = (page) => page.locator("[role=tab][aria-selected=true]").innerText();

test("a run has the tabs in their order, and arrow keys move between them", async () => {
  const page = await t.open(`#/run/${name}/overview`, { ready: "[role=tab]" });
  const titles = await page.locator("[role=tab]").allInnerTexts();
  assert.deepEqual(titles, ["Overview", "Nodes", "Metrics", "Steps", "Health", "Operators", "Timeline", "Compare"]);
  await page.locator("#tab-overview").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await selected(page), "Nodes");
  assert.match(page.url(), new RegExp(`#/run/${name}/nodes`));
  await page.keyboard.press("End");
  assert.match(page.url(), /#\/compare\//);
  await page.goBack();
  await page.waitForSelector("#tab-nodes[aria-selected=true]");
  t.calm(page);
});

test("on a telephone all tabs of a run are in sight", async () => {
  const page = await t.open(`#/run/${name}/timeline`, { width: 390, height: 800, ready: "[role=tab]" });
  const boxes = await page.locator("[role=tab]").evaluateAll((all) => all.map((el) => el.getBoundingClientRect()).map((b) => [b.left, b.right]));
  assert.ok(boxes.every(([left, right]) => left >= 0 && right <= 390), JSON.stringify(boxes));
  const words = await page.locator("[role=tab]").evaluateAll((all) => all.filter((el) => el.scrollWidth > el.clientWidth).length);
  assert.equal(words, 0, "no word is cut off");
  t.calm(page);
});

test("the header says where a run is from", async () => {
  const job = await t.recordJob("from", ["sleep", "0.3"], { args: ["--label", "team=vision"], env: { USER: "maria" } });
  await job.done;
  const page = await t.open(`#/run/${job.run}/overview`, { ready: ".run-origin" });
  const { nodes, directory, labels, user } = await t.api(`/runs/${job.run}`);
  assert.equal(user, "maria");
  const text = await page.locator(".run-origin").innerText();
  for (const word of [user, nodes[0].host ?? nodes[0].id, ...(directory === null ? [] : [directory]), ...Object.entries(labels).map(([k, v]) => `${k}=${v}`)])
    assert.ok(text.includes(word), `${word} in ${text}`);
  t.calm(page);
});

test("a link restores tab, node, window and selection", async () => {
  const info = await t.api(`/runs/${name}`);
  const from = BigInt(Math.round(info.start_ns)) + 60_000_000_000n;
  const hash = `#/run/${name}/nodes?node=${info.nodes[0].id}&from=${from}&to=${from + 60_000_000_000n}&sel=gpu0`;
  const page = await t.open(hash, { ready: "[role=tab]" });
  assert.equal(await selected(page), "Nodes");
  assert.equal(new URL(page.url()).hash, hash);
  t.calm(page);
});

test("the button beside the age asks the server for everything again", async () => {
  const page = await t.open(`#/run/${name}/overview`, { ready: ".insight" });
  await until(async () => (await page.locator(".loading").count()) === 0, "the end of loading");
  const asked = (end) => page.waitForRequest((r) => new URL(r.url()).pathname.endsWith(`/runs/${name}${end}`));
  const all = Promise.all([asked(""), asked("/stats"), asked("/findings")]);
  await page.locator(".run-age").getByRole("button", { name: "Refresh" }).click();
  await all;
  t.calm(page);
});

test("the theme follows the system until the switch is used, and the switch is remembered", async () => {
  const page = await t.open("#/", { scheme: "dark", own: true });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), "dark");
  await page.getByRole("button", { name: "Switch to the light theme" }).click();
  assert.equal(await theme(), "light");
  await page.reload();
  await page.waitForSelector("main h1");
  assert.equal(await theme(), "light");
  t.calm(page);
});

test("the keyboard can skip the bar at the top", async () => {
  const page = await t.open("#/");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Skip to content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  t.calm(page);
});

test("a run that is not there is told in a sentence, and the way back works", async () => {
  const page = await t.open("#/run/never-was/overview", { ready: "[role=alert]" });
  assert.match(await page.locator("[role=alert]").innerText(), /never-was/);
  await t.axe(page);
  await page.getByRole("link", { name: "Show all runs" }).click();
  await page.waitForSelector("table");
  t.calm(page, /404/);
});

test("an address that leads nowhere says so, and leads back to the list", async () => {
  const page = await t.open("#/runs/x", { ready: "main h1" });
  assert.match(await page.locator("main h1").innerText(), /not found/);
  assert.equal(await page.locator("table").count(), 0);
  await t.axe(page);
  await page.getByRole("link", { name: "Show all runs" }).click();
  await page.waitForSelector("table");
  t.calm(page);
});

test("a run with a torn file says so on every tab, and shows the rest", async () => {
  const torn = await t.copy("h200-12-workers", (folder) => truncateSync(join(folder, "node-vm", "events.fp"), 3000));
  for (const [tab, ready] of [["overview", ".use-node table"], ["nodes", ".nodes-cpu .chart-plot"]]) {
    const page = await t.open(`#/run/${torn}/${tab}`, { ready });
    assert.match(await page.getByRole("note", { name: "Missing data" }).innerText(), /vm: events\.fp: the file ends in the middle of a block/);
    await t.axe(page);
    t.calm(page);
  }
  const whole = await t.open(`#/run/${name}/overview`, { ready: ".pie" });
  assert.equal(await whole.getByRole("note").count(), 0);
  rmSync(join(t.dir, torn), { recursive: true });
});

test("a run that disappears while it is shown leaves a message, and the list goes on without it", async () => {
  const gone = await t.import("eval_heavy/fires");
  await until(async () => (await t.api("/runs")).some((r) => r.run === gone), "the run in the list");
  await t.findings(gone); // so that nothing is being worked out when it goes
  const page = await t.open(`#/run/${gone}/overview`, { ready: ".pie" });
  rmSync(join(t.dir, gone), { recursive: true });
  await page.waitForSelector("[role=alert]"); // it is noticed without being asked
  assert.match(await page.locator("[role=alert]").first().innerText(), new RegExp(gone));
  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await page.waitForSelector(`a[href*="${name}"]`);
  assert.equal(await page.locator(`a[href*="${gone}"]`).count(), 0);
  t.calm(page, /404|410/);
});

test("a server that goes away is told, what was shown stays, and the page goes on when it is back", async () => {
  const page = await t.open(`#/run/${name}/overview`, { ready: ".pie" });
  const lost = page.getByText("connection lost");
  await t.restart(async () => {
    await lost.waitFor();
    assert.equal(await page.locator(".pie").count(), 1);
  });
  await lost.waitFor({ state: "detached" });
  assert.equal(await page.locator(".pie").count(), 1);
  await page.locator("[role=alert]").waitFor({ state: "detached" });
  t.calm(page, /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|503/);
});

test("all that the first page needs is at most 120 kB, and comes from the server itself", async () => {
  const page = await t.open("#/");
  const answers = await page.evaluate(() =>
    performance.getEntriesByType("resource").filter((e) => e.name.includes("/assets/")).map((e) => e.encodedBodySize),
  );
  const index = await page.evaluate(() => performance.getEntriesByType("navigation")[0].encodedBodySize);
  const total = answers.reduce((sum, n) => sum + n, index);
  assert.ok(answers.length >= 2 && answers.every((n) => n > 0), answers.join());
  assert.ok(total <= 120_000, `${total} bytes`);
  t.calm(page);
});

test("the first page has its first row within 1 s of the navigation, without a cache of the browser", async () => {
  const page = await t.open("#/", { own: true, ready: "tbody tr" });
  await (await page.context().newCDPSession(page)).send("Network.setCacheDisabled", { cacheDisabled: true });
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (document.querySelector("tbody tr") !== null) window.firstRow ??= performance.now();
    }).observe(document, { childList: true, subtree: true });
  });
  const times = [];
  for (let k = 0; k < 3; k++) {
    await page.reload();
    times.push(await (await page.waitForFunction(() => window.firstRow)).jsonValue());
  }
  assert.ok(Math.min(...times) < 1000, `${times.map(Math.round).join(", ")} ms`); // other programs disturb single ones
  t.calm(page);
});

test("a server with a token asks for it, and a wrong one is refused", async () => {
  const file = join(t.dir, "..", `tokens-${process.pid}`);
  writeFileSync(file, "control let-me-in-please-0123456789\n", { mode: 0o600 });
  const guarded = await start({ scenes: ["dataloader/fires"], args: ["--token-file", file] });
  try {
    const page = await guarded.open("#/");
    await page.getByLabel("Access token").fill("wrong");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForSelector("[role=alert]");
    await guarded.axe(page);
    await guarded.shot(page, "login");
    await page.getByLabel("Access token").fill("let-me-in-please-0123456789");
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForSelector("table");
    assert.equal(await page.locator("tbody tr").count(), 1);
    guarded.calm(page, /401|403/);
  } finally {
    await guarded.stop();
    rmSync(file, { force: true });
  }
});
