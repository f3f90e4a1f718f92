// SPDX-License-Identifier: Apache-2.0
// timeline_drive.mjs WEB SCRIPT ROUNDS - draws slices in a headless browser for bench_timeline; prints
// JSON: for each number of slices the times of both ways.
import { createRequire } from "node:module";

const [web, script, rounds] = process.argv.slice(2);
const { chromium } = createRequire(`${web}/package.json`)("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
await page.setContent("<!doctype html><title>timeline</title><body></body>");
await page.addScriptTag({ path: script });
const out = [];
for (const slices of [10_000, 100_000, 400_000]) {
  await page.evaluate((n) => window.timelineBench.load(n), slices);
  const one = { slices };
  for (const how of ["ours", "plain"])
    one[how] = await page.evaluate(([h, n]) => window.timelineBench.frames(h, n), [how, Number(rounds)]);
  out.push(one);
}
await browser.close();
console.log(JSON.stringify(out));
