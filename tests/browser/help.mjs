// SPDX-License-Identifier: Apache-2.0
// help.mjs - what the browser tests share: a server with runs of its own, pages in Chromium that
// notice every error, and checks.
//
//     const t = await start({ scenes: ["cpu_bottleneck/fires"] });   // in before()
//     const page = await t.open(`#/run/${t.runs[0]}/overview`);
//     await t.axe(page);  await t.shot(page, "overview");  await t.api("/runs");
//     await t.tidy();                                                // in afterEach()
//     await t.stop();                                                // in after()
//
// A page fails the test that opened it, through t.calm(page), when it logged an error or asked
// anybody but the server for anything. All files share the browser that run.mjs started; pages of
// the same size and scheme share a context, so that the page's scripts are compiled once.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const require = createRequire(join(root, "web", "package.json"));
const { chromium } = require("playwright-core");
const axeSource = require.resolve("axe-core/axe.min.js");
const esbuild = require("esbuild");

const footplate = process.env.FOOTPLATE_BIN ?? join(root, "build", "footplate");
export const trainer = process.env.FOOTPLATE_TRAIN ?? join(root, "build", "release", "examples", "c", "train");
const artefacts = join(root, "build", "test-artefacts");
const PATIENCE_MS = 20_000;

/** A module of web/src, so that a test can say what a number must read like. */
export async function pageModule(name) {
  const folder = mkdtempSync(join(tmpdir(), "footplate-module-"));
  const outfile = join(folder, "module.mjs");
  try {
    await esbuild.build({
      entryPoints: [join(root, "web", "src", name)],
      outfile,
      bundle: true,
      format: "esm",
      loader: { ".css": "empty" },
      logLevel: "warning",
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits until `ask` gives something true, and hands that over. */
export async function until(ask, what) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const got = await ask();
    if (got) return got;
    assert.ok(Date.now() < end, `waited in vain for: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** The address that a server says it is at. */
function addressOf(child) {
  return new Promise((done, fail) => {
    let said = "";
    child.stderr.on("data", (data) => {
      said += data;
      const found = /dashboard at (https?:\/\/\S+\/)/.exec(said);
      if (found !== null) done(found[1]);
    });
    child.on("exit", (code) => fail(new Error(`the server ended with ${code}: ${said}`)));
  });
}

function ended(child) {
  return child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((done) => child.once("exit", done));
}

/** The browser that run.mjs started; a file that is run by itself starts one. */
function browserOf() {
  const shared = process.env.FOOTPLATE_BROWSER;
  if (shared !== undefined) return chromium.connect(shared);
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
}

class Stage {
  #children = [];
  #contexts = new Map();
  #browser;
  #troubles = new WeakMap();
  #server;

  constructor(dir) {
    this.dir = dir;
    this.runs = []; // names of those imported, in the order they were asked for
  }

  async footplate(...args) {
    return (await run(footplate, [...args, "--dir", this.dir], { maxBuffer: 1 << 26 })).stdout;
  }

  /** Imports a file; `what` is a scene of tests/rules without its ending, or a path. The run is
   * changed by `change` before it can be seen. */
  async import(what, change = () => undefined) {
    const file = what.startsWith("/") ? what : join(root, "tests", "rules", `${what}.scene`);
    const aside = mkdtempSync(join(tmpdir(), "footplate-import-"));
    await run(footplate, ["import", file, "--dir", aside]);
    const [name] = readdirSync(aside);
    change(join(aside, name));
    await this.#moveIn(aside, name);
    this.runs.push(name);
    return name;
  }

  /** Copies a run of tests/data/runs in, changed by `change`; resolves when the server has it. */
  async copy(name, change = () => undefined) {
    const aside = mkdtempSync(join(tmpdir(), "footplate-copy-"));
    cpSync(join(root, "tests", "data", "runs", name), join(aside, name), { recursive: true });
    change(join(aside, name));
    await this.#moveIn(aside, name);
    return name;
  }

  async #moveIn(aside, name) {
    renameSync(join(aside, name), join(this.dir, name));
    rmSync(aside, { recursive: true });
    if (this.address !== undefined) await until(() => this.#knows(name), `${name} in the list`);
  }

  /** Records the example trainer; resolves as soon as the run can be seen, `done` when it ended. */
  record(name, ...options) {
    return this.recordJob(name, [trainer, ...options]);
  }

  /** Records any program, with options of `run` and an environment of its own, into a new run or as
   * the next session of `run`. */
  async recordJob(name, command, { args = [], env = {}, run: known } = {}) {
    const before = new Set(readdirSync(this.dir).filter((n) => n !== known));
    const words = ["run", "--name", name, "--interval", "100ms", "--dir", this.dir, ...args, "--", ...command];
    const child = spawn(footplate, words, { stdio: "ignore", env: { ...process.env, ...env } });
    this.#children.push(child);
    const folder = await until(() => readdirSync(this.dir).find((n) => !before.has(n) && n.startsWith(name)), `the run ${name}`);
    if (this.address !== undefined) await until(() => this.#knows(folder), `${folder} in the list`);
    return { run: folder, done: ended(child), child };
  }

  async serve(args = [], port = "0") {
    const child = spawn(footplate, ["serve", "--port", port, "--dir", this.dir, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#children.push(child);
    this.#server = child;
    this.address = await addressOf(child);
  }

  /** The server ends; `meanwhile` is done; it is back at the same address. */
  async restart(meanwhile) {
    this.#server.kill("SIGTERM");
    await ended(this.#server);
    await meanwhile();
    await this.serve([], new URL(this.address).port);
  }

  async #knows(name) {
    return (await this.api("/runs")).some((r) => r.run === name);
  }

  /** The answer of a route below /api/v1. */
  async api(path, init = {}) {
    const answer = await fetch(`${this.address}api/v1${path}`, init);
    const body = await answer.json();
    assert.ok(answer.ok, `${path}: ${answer.status} ${JSON.stringify(body)}`);
    return body;
  }

  /** The verdicts, once they are worked out. */
  findings(name) {
    return until(async () => {
      const got = await this.api(`/runs/${name}/findings`);
      return Array.isArray(got) ? got : null;
    }, `the findings of ${name}`);
  }

  /** A context of that size and scheme; `own` (for a test that stores something) is not shared. */
  async #context(width, height, scheme, own) {
    this.#browser ??= browserOf();
    const browser = await this.#browser;
    const key = own ? Symbol("own") : `${width} ${height} ${scheme}`;
    if (!this.#contexts.has(key)) {
      this.#contexts.set(key, browser.newContext({ viewport: { width, height }, colorScheme: scheme, timezoneId: "UTC" }));
    }
    return this.#contexts.get(key);
  }

  /** A page at an address of the app; waits until something of it stands. */
  async open(hash, { width = 1280, height = 900, scheme = "light", own = false, ready = "main h1" } = {}) {
    const context = await this.#context(width, height, scheme, own);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    this.#watch(page);
    await page.goto(this.address + hash);
    try {
      await page.waitForSelector(ready);
    } catch (e) {
      e.message += `\nthe page said: ${await page.locator("body").innerText()}\n${this.#troubles.get(page).join("\n")}`;
      e.stack += e.message;
      throw e;
    }
    return page;
  }

  /** Closes the pages of the test that ended, and with them their streams: a context has six connections. */
  async tidy() {
    for (const context of this.#contexts.values())
      for (const page of (await context).pages()) await page.close();
  }

  #watch(page) {
    const troubles = [];
    this.#troubles.set(page, troubles);
    page.on("pageerror", (e) => troubles.push(`error on the page: ${e.stack ?? e.message}`));
    page.on("console", (m) => m.type() === "error" && troubles.push(`console: ${m.text()} ${m.location().url}`));
    page.on("request", (r) => {
      const url = r.url();
      if (!url.startsWith(this.address) && !/^(data|blob):/.test(url)) troubles.push(`asked somebody else: ${url}`);
    });
  }

  /** Nothing went wrong on the page; `allowed` is a pattern of what the test provokes. */
  calm(page, allowed = /$^/) {
    assert.deepEqual(this.#troubles.get(page).filter((t) => !allowed.test(t)), []);
  }

  /** No violation of the accessibility rules that axe knows. */
  async axe(page) {
    if (!(await page.evaluate(() => "axe" in window))) {
      // As a user script: the page's own content security policy forbids foreign ones.
      await page.evaluate(readFileSync(axeSource, "utf8"));
    }
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const told = violations.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.slice(0, 4).map((n) => `${n.html} ${n.failureSummary}`).join("\n  ")}`);
    assert.equal(told.join("\n"), "");
  }

  /** Keeps a picture of the whole page in build/test-artefacts/. */
  async shot(page, name) {
    mkdirSync(artefacts, { recursive: true });
    await page.screenshot({ path: join(artefacts, `${name}.png`), fullPage: true });
  }

  /** A page is not wider than its window. */
  async fits(page) {
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `the page is ${over} px wider than its window`);
  }

  async stop() {
    for (const context of this.#contexts.values()) await (await context).close();
    if (this.#browser !== undefined) await (await this.#browser).close();
    for (const child of this.#children) {
      child.kill("SIGTERM");
      await ended(child);
    }
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A server over a folder of its own with the given scenes in it. */
export async function start({ scenes = [], args = [] } = {}) {
  const stage = new Stage(mkdtempSync(join(tmpdir(), "footplate-browser-")));
  for (const scene of scenes) await stage.import(scene);
  await stage.serve(args);
  return stage;
}

/** Whether the page lists a verdict: not that of a rule on training health without any data. */
export const listed = (v) => !(v.health && v.state === "not_evaluated" && v.datapoints === 0);

/** The cells of a table by its caption, row by row, as text. */
export async function tableText(page, caption) {
  const table = page.locator(`[role=region][aria-label="${caption}"] table`);
  await table.first().waitFor();
  return table.first().evaluate((el) =>
    [...el.querySelectorAll("tbody tr")].map((tr) => [...tr.children].map((td) => td.innerText.replace(/\s+/g, " ").trim())),
  );
}

/** Clicks on the head of every column of a node's resources, and looks that the table is sorted by it. */
export async function sortByAll(page) {
  const block = page.locator("section.use-node").first();
  for (const column of ["Resource", "min", "max", "p99", "p95", "p90", "p50", "Readings"]) {
    const head = block.locator("th", { hasText: new RegExp(`^${column}`) });
    await head.getByRole("button").click();
    assert.match(await head.getAttribute("aria-sort"), /ascending|descending/);
  }
}
