// SPDX-License-Identifier: Apache-2.0
// notes.test.mjs - runs are renamed, tagged, annotated and deleted from the page, where the client may.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { start, until } from "./help.mjs";

let t;
let one;
let two;

before(async () => {
  t = await start({ scenes: ["cpu_bottleneck/fires", "dataloader/fires"] });
  [one, two] = t.runs;
});
afterEach(() => t.tidy());
after(() => t?.stop());

async function edit(page, { name, tags, note }) {
  await page.getByRole("button", { name: "Edit notes" }).click();
  const dialog = page.getByRole("dialog", { name: "Name, tags and note" });
  await dialog.waitFor();
  if (name !== undefined) await dialog.getByLabel("Name").fill(name);
  if (tags !== undefined) await dialog.getByLabel("Tags").fill(tags);
  if (note !== undefined) await dialog.getByLabel("Note").fill(note);
  return dialog;
}

for (const [width, scheme] of [[1280, "light"], [1280, "dark"], [390, "light"]]) {
  test(`a run gets a name, tags and a note at ${width} px, ${scheme}`, async () => {
    const page = await t.open(`#/run/${one}/overview`, { width, scheme });
    const before = (await t.api(`/runs/${one}`)).recorded_name;
    const name = `base ${width} ${scheme}`;
    const dialog = await edit(page, { name, tags: "paper, x y,, paper", note: "lr 0.01\n<b>bold</b>" });
    await t.axe(page);
    await t.shot(page, `notes-dialog-${width}-${scheme}`);
    await dialog.getByRole("button", { name: "Save" }).click();
    await until(async () => (await page.locator("h1").innerText()) === name, "the new name");
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(await page.locator(".run-notes .tag").allInnerTexts(), ["paper", "x y"]);
    assert.equal(await page.locator(".run-note").innerText(), "lr 0.01\n<b>bold</b>");
    assert.match(await page.locator(".run-notes").innerText(), new RegExp(`recorded as ${before}`));
    assert.deepEqual(JSON.parse(readFileSync(join(t.dir, one, "notes.json"), "utf8")), { name, tags: ["paper", "x y"], text: "lr 0.01\n<b>bold</b>" });
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `notes-${width}-${scheme}`);
    t.calm(page);
  });
}

test("the keyboard saves with Enter and leaves with Escape", async () => {
  const page = await t.open(`#/run/${two}/overview`);
  const dialog = await edit(page, { name: "not saved" });
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await edit(page, { name: "by Enter" });
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until(async () => (await page.locator("h1").innerText()) === "by Enter", "the new name");
  t.calm(page);
});

test("a mistake is said in the dialog, which stays", async () => {
  const page = await t.open(`#/run/${two}/overview`);
  const dialog = await edit(page, { tags: [...Array(40).keys()].join(",") });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("at most 32 tags").waitFor();
  t.calm(page, /400/);
});

test("the list is filtered by a tag, in the address and by a click on it", async () => {
  await t.api(`/runs/${one}/notes`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: "base", tags: ["paper"], text: "" }) });
  const page = await t.open("#/", { ready: "tbody tr" });
  await page.locator("tbody .tag", { hasText: "paper" }).click();
  await until(async () => (await page.locator("tbody tr").count()) === 1, "one run left");
  assert.match(page.url(), /tag=paper/);
  assert.equal(await page.getByLabel("Tag").inputValue(), "paper");
  assert.equal(await page.locator("tbody .runs-name a").first().innerText(), "base");
  await t.axe(page);
  await t.shot(page, "runs-tags");
  await page.getByLabel("Tag").selectOption("");
  await until(async () => (await page.locator("tbody tr").count()) === 2, "all runs");
  t.calm(page);
});

test("a run is deleted after a question, and the list has it no more", async () => {
  const gone = await t.import("batch_size/fires");
  const page = await t.open(`#/run/${gone}/overview`);
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete this run?" });
  await dialog.getByRole("button", { name: "Keep the run" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(existsSync(join(t.dir, gone)));
  await page.getByRole("button", { name: "Delete" }).click();
  await t.axe(page);
  await dialog.getByRole("button", { name: "Delete run" }).click();
  await page.locator("h1", { hasText: /^Runs$/ }).waitFor();
  await until(async () => (await page.locator("tbody tr").count()) === 2, "a list without the run");
  assert.ok(!existsSync(join(t.dir, gone)));
  t.calm(page, /410/);
});

test("a run that is being recorded can be annotated but has no Delete", async () => {
  const job = await t.recordJob("live", ["sleep", "30"]);
  const page = await t.open(`#/run/${job.run}/overview`);
  await page.getByRole("button", { name: "Edit notes" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Delete" }).count(), 0);
  job.child.kill("SIGTERM");
  await job.done;
  t.calm(page);
});

test("without the right to control there is neither Edit nor Delete", async () => {
  await t.serve(["--control", "off"]);
  const page = await t.open(`#/run/${one}/overview`);
  await page.getByRole("link", { name: "Download report" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /Edit notes|Delete/ }).count(), 0);
  t.calm(page);
});
