// SPDX-License-Identifier: Apache-2.0
// run.mjs [NAME...] - runs the *.test.mjs beside it (or the named ones) with node's test runner, all of
// them in one browser and two files at a time: much of a test is waiting.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const logs = join(root, "build", "test-logs");
const FILES_AT_ONCE = 2;
const chromiumAt = process.env.CHROMIUM ?? "/usr/bin/chromium";

if (!existsSync(chromiumAt)) {
  console.log("there is no chromium here");
  process.exit(77);
}
mkdirSync(logs, { recursive: true });
const wanted = process.argv.slice(2);
const files = readdirSync(here)
  .filter((name) => name.endsWith(".test.mjs"))
  .filter((name) => wanted.length === 0 || wanted.includes(name.replace(".test.mjs", "")))
  .map((name) => join(here, name));
const reporters = [
  "--test-reporter=spec",
  "--test-reporter-destination=stdout",
  `--test-reporter=${pathToFileURL(join(root, "web", "tests", "junit.mjs"))}`,
  "--test-reporter-destination=stderr",
];
const { chromium } = createRequire(join(root, "web", "package.json"))("playwright-core");
const browser = await chromium.launchServer({ executablePath: chromiumAt, args: ["--no-sandbox"] });
const child = spawn(process.execPath, ["--test", `--test-concurrency=${FILES_AT_ONCE}`, ...reporters, ...files], {
  stdio: "inherit",
  env: { ...process.env, TZ: "UTC", JUNIT_XML: process.env.JUNIT_XML ?? join(logs, "browser.xml"), FOOTPLATE_BROWSER: browser.wsEndpoint() },
});
const status = await new Promise((done) => child.once("exit", done));
await browser.close();
process.exit(status ?? 1);
