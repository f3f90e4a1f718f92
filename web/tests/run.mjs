// SPDX-License-Identifier: Apache-2.0
// run.mjs - bundles every *.test.ts into build/web-tests and runs them with node's test runner: node
// itself does not read TypeScript.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const out = process.env.FOOTPLATE_WEB_TESTS ?? join(root, "build", "web-tests");
const logs = join(root, "build", "test-logs");

const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
rmSync(out, { recursive: true, force: true });
mkdirSync(logs, { recursive: true });
await esbuild.build({
  entryPoints: tests.map((name) => join(here, name)),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node18",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".css": "empty" },
  logLevel: "warning",
});
const reporters = [
  "--test-reporter=spec",
  "--test-reporter-destination=stdout",
  `--test-reporter=${pathToFileURL(join(here, "junit.mjs"))}`,
  "--test-reporter-destination=stderr",
];
const files = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--test", ...reporters, ...files], {
  stdio: "inherit",
  env: { ...process.env, TZ: "UTC", JUNIT_XML: join(logs, "web.xml"), FOOTPLATE_ROOT: root },
});
process.exit(status ?? 1);
