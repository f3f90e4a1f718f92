// SPDX-License-Identifier: Apache-2.0
// hub.test.mjs - the dashboard of a hub: runs of many hosts, what they use, and controls that reach a recorder on
// another machine.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { root, start, until } from "./help.mjs";

const CONTROL = "a-control-token-of-the-hub-test";
const WRITE = "a-write-token-of-the-hub-test";
const MANY = 1000;
const USERS = ["ada", "grace", "linus"];

let t;
let folder;
let jobs = [];

const headers = { Authorization: `Bearer ${CONTROL}` };
const api = (path) => t.api(path, { headers });

/** A run that another host sent: only what the list reads. */
function arrived(i) {
  const name = `night-${i}`;
  const start_ns = 1_790_000_000_000_000_000 + i * 60_000_000_000;
  const run = join(t.dir, name);
  const node = join(run, `node-host${i % 40}`);
  const status = i % 10 === 0 ? "failed" : "finished";
  mkdirSync(node, { recursive: true });
  writeFileSync(join(run, "received.json"), JSON.stringify({ by: i % 2 === 0 ? "team" : "guests" }));
  writeFileSync(
    join(node, "node.json"),
    JSON.stringify({ format_version: 1, id: `host${i % 40}`, session: 1, host: `host${i % 40}`, status, start_ns, end_ns: start_ns + 5e9, exit_status: i % 10 === 0 ? 3 : 0 }),
  );
  writeFileSync(
    join(run, "run.json"),
    JSON.stringify({ format: "footplate-run", format_version: 1, id: name, name, command: ["python", "train.py"], user: USERS[i % 3], labels: { project: `p${i % 5}` }, start_ns }),
  );
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "footplate-hub-"));
  const file = join(folder, "tokens");
  writeFileSync(file, `control ${CONTROL} name=alice\nwrite ${WRITE} name=team quota=5GiB\n`, { mode: 0o600 });
  t = await start({ args: ["--receive", "--token-file", file] });
});
afterEach(() => t.tidy());
after(async () => {
  for (const job of jobs) job.kill("SIGTERM");
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A page of the hub, after the login that its context may need. */
async function open(hash, options = {}) {
  const { ready = "tbody tr" } = options;
  const page = await t.open(hash, { ...options, ready: `${ready}, input[type=password]` });
  const field = page.getByLabel("Access token");
  if ((await field.count()) > 0) {
    await field.fill(CONTROL);
    await page.keyboard.press("Enter");
  }
  await page.waitForSelector(ready);
  return page;
}

/** A job on "another machine": its run is in a folder of its own and sent to the hub. */
async function recorded(name, dir = join(folder, "elsewhere")) {
  const words = ["run", "--name", name, "--dir", dir, "--interval", "100ms", "--to", t.address.replace(/\/$/, ""), "--to-interval", "1s", "--", "sleep", "600"];
  const env = { ...process.env, FOOTPLATE_TOKEN: WRITE };
  const job = spawn(process.env.FOOTPLATE_BIN ?? join(root, "build", "footplate"), words, { stdio: "ignore", env });
  jobs = [...jobs, job];
  const { run } = await until(async () => (await api("/runs")).find((r) => r.name === name && r.live), `${name} on the hub`);
  await until(async () => (await api(`/runs/${run}/control`)).within_s !== null, "a recorder that takes requests");
  return { run, job };
}

const LOGIN = /401/; // before the login

test("the controls of a run on a hub reach its recorder on another machine", async () => {
  const { run, job } = await recorded("far");
  const page = await open(`#/run/${run}/overview`, { ready: ".controls" });
  await page.getByRole("button", { name: "Configure" }).click();
  await page.getByText("The recorder is on another machine: changes take effect within 1 s.").waitFor();
  await page.getByRole("group", { name: "Sampling interval" }).getByText("200 ms").click();
  await until(async () => (await api(`/runs/${run}/control`)).requests.some((q) => q.set === "interval=200ms" && q.state === "applied"), "the interval");
  await page.locator(".notice", { hasText: "200 ms" }).waitFor();
  await t.axe(page);
  await t.shot(page, "hub-configure");
  await page.keyboard.press("Escape");
  await page.getByRole("switch").click();
  await until(async () => (await api(`/runs/${run}`)).marks.some((m) => m.mark === "monitoring" && m.number === 0), "the pause");
  await page.getByRole("button", { name: "Stop training" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop training" }).click();
  await until(() => job.exitCode !== null || job.signalCode !== null, "the end of the job");
  await until(async () => (await api(`/runs/${run}`)).status === "stopped", "the end on the hub");
  const audit = readFileSync(join(t.dir, "audit.jsonl"), "utf8").trim().split("\n").map((l) => JSON.parse(l));
  assert.deepEqual(audit.map((l) => [l.by, l.detail]), [["alice", "interval=200ms"], ["alice", "monitoring=off"], ["alice", "stop"]]);
  t.calm(page, LOGIN);
});

test("the machine that sends a run shows how far it is", async () => {
  const here = await start();
  try {
    const { run } = await recorded("near", here.dir);
    await until(async () => (await here.api("/runs")).some((r) => r.run === run), "the run here");
    const page = await here.open(`#/run/${run}/overview`, { ready: ".measured" });
    const sent = page.locator(".measured .fact", { hasText: "Sent" });
    await until(async () => / to http:\/\/\S+, last \d+ s ago$/.test(await sent.innerText()), "how far it is");
    here.calm(page);
  } finally {
    await here.stop();
  }
});

test("a hub lists thousands of runs of all hosts and filters them by label, user, host, sender and status", async () => {
  for (let i = 0; i < MANY; i++) arrived(i);
  await until(async () => (await api("/runs")).length >= MANY, "all runs in the list");
  const page = await open("#/");
  const counted = page.locator(".runs-tools [role=status]");
  await until(async () => /^\d+ runs$/.test(await counted.innerText()), "the number of runs");
  await page.getByLabel("Host").selectOption("host7");
  await until(async () => (await counted.innerText()).startsWith("25 of"), "the runs of a host");
  await page.getByLabel("User").selectOption("ada");
  const both = (await api("/runs")).filter((r) => r.user === "ada" && r.nodes.some((n) => n.host === "host7"));
  await until(async () => (await counted.innerText()).startsWith(`${both.length} of`), "of a user on it");
  assert.match(page.url(), /host=host7/);
  await page.reload();
  await until(async () => (await counted.innerText()).startsWith(`${both.length} of`), "the same after a reload");
  await page.getByLabel("Host").selectOption("");
  await page.getByLabel("User").selectOption("");
  await page.getByLabel("Label").selectOption("project=p3");
  await page.getByLabel("Sender").selectOption("guests");
  await page.getByLabel("Status").selectOption("finished");
  await until(async () => (await counted.innerText()).startsWith("100 of"), "label, sender and status");
  t.calm(page, LOGIN);
});

for (const [name, options] of [["light", {}], ["dark", { scheme: "dark" }], ["phone", { width: 390, height: 844 }]]) {
  test(`the list of a hub has its storage and can be read: ${name}`, async () => {
    const page = await open("#/?q=night-99", options);
    const summary = page.locator(".runs-storage summary");
    await summary.waitFor();
    assert.match(await summary.innerText(), /Storage: .* used, .* free/);
    await summary.focus();
    await page.keyboard.press("Enter");
    const { names } = (await api("/status")).hub;
    const lines = await page.locator(".runs-storage li").allInnerTexts();
    assert.equal(lines.length, names.length);
    assert.ok(lines.some((l) => /^team: .* of 5(\.00?)? GiB$/.test(l)), lines.join("\n"));
    await t.axe(page);
    await t.fits(page);
    await t.shot(page, `hub-${name}`);
    t.calm(page, LOGIN);
  });
}
