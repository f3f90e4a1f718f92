// SPDX-License-Identifier: Apache-2.0
// run.mjs [NAME...] - runs the *.test.mjs beside it (or the named ones) with node's test runner.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const logs = join(root, "build", "test-logs");

if (!existsSync("/usr/bin/chromium") && process.env.CHROMIUM === undefined) {
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
const { status } = spawnSync(process.execPath, ["--test", ...reporters, ...files], {
  stdio: "inherit",
  env: { ...process.env, TZ: "UTC", JUNIT_XML: join(logs, "browser.xml") },
});
process.exit(status ?? 1);
