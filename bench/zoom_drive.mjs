// SPDX-License-Identifier: Apache-2.0
// zoom_drive.mjs - drives a headless browser for bench_zoom: node zoom_drive.mjs ASK.json prints JSON.
// A frame counts as drawn when a pixel of every canvas was read back after it: what the browser would
// do later, behind the page's back, is then done.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const ask = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(`${ask.web}/package.json`)("playwright-core");

const WIDE = 1280;
const HIGH = 900;

// In the page: how long an action takes until its frame is drawn.
const FRAME = `window.frame = (action) => new Promise((done) => {
  const begin = performance.now();
  action();
  requestAnimationFrame(() => {
    for (const c of document.querySelectorAll("canvas")) if (c.width > 0 && c.height > 0) c.getContext("2d").getImageData(0, 0, 1, 1);
    const after = new MessageChannel();
    after.port1.onmessage = () => done(performance.now() - begin);
    after.port2.postMessage(0);
  });
});`;

const STYLE = "body{margin:0}.plot{width:1200px;height:190px;position:relative}:root{--c1:#0072b2;--c2:#d55e00;--c3:#009e73;--c4:#cc79a7;--c5:#e69f00;--c6:#56b4e9;--c7:#7a5c3e;--c8:#5b4bb5;--text-2:#555555;--grid:#eeeeee;--line:#dddddd}";

// A walk with spikes, the same for both.
function synthetic(charts, lines, points) {
  let seed = 7;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const one = (k) => {
    let at = 50;
    const v = Array.from({ length: points }, () => (at = Math.min(95, Math.max(5, at + 8 * (random() - 0.5)))));
    return { node: "n", metric: "m", entity: `e${k}`, unit: "%", v, min: v.map((x) => x - 4), max: v.map((x) => x + 4) };
  };
  const grid = () => ({ from_ns: 1.7e18, to_ns: 1.7e18 + points * 1e9, step_ns: 1e9, n: points, series: Array.from({ length: lines }, (_, k) => one(k)) });
  return Array.from({ length: charts }, grid);
}

// Windows of a zoom in and out again, as shares of the whole.
const WINDOWS = Array.from({ length: 12 }, (_, i) => {
  const wide = 0.9 ** (i < 6 ? i : 12 - i);
  return [0.4 * (1 - wide), 0.4 * (1 - wide) + wide * 0.999];
});

async function bare(browser, script) {
  const page = await browser.newPage({ viewport: { width: WIDE, height: HIGH } });
  await page.setContent(`<!doctype html><style>${STYLE}</style><body></body>`);
  await page.evaluate(FRAME);
  await page.addScriptTag({ path: script });
  return page;
}

async function zoomTimes(page, from, to, rounds) {
  return page.evaluate(
    async ([a, b, windows, n]) => {
      const times = [];
      for (let i = 0; i < n; i++) {
        const [f, t] = windows[i % windows.length];
        times.push(await window.frame(() => window.bench.zoom(a + f * (b - a), a + t * (b - a))));
      }
      return times;
    },
    [from, to, WINDOWS, rounds],
  );
}

async function eightCharts(browser, script) {
  const page = await bare(browser, script);
  const size = { charts: 8, lines: 8, points: 5000 };
  const grids = synthetic(size.charts, size.lines, size.points);
  await page.evaluate(([s, g]) => window.bench.lines(s, g), [size, grids]);
  await page.waitForTimeout(500);
  const times = await zoomTimes(page, grids[0].from_ns / 1e6, grids[0].to_ns / 1e6, ask.rounds);
  await page.close();
  return times;
}

async function heatmap(browser, script) {
  const page = await bare(browser, script);
  const [rows, columns] = [128, 1500];
  const cells = Array.from({ length: rows * columns }, (_, i) => (i * 7919) % 201);
  await page.evaluate(([r, c, v]) => window.bench.heatmap(r, c, v), [rows, columns, cells]);
  await page.waitForTimeout(300);
  const times = await page.evaluate(async (n) => {
    const all = [];
    for (let i = 0; i < n; i++) all.push(await window.frame(() => window.bench.redraw()));
    return all;
  }, ask.rounds);
  await page.close();
  return times;
}

// The Nodes tab itself, on the server's run; what it was answered is kept for the peer.
async function nodesTab(browser) {
  const page = await browser.newPage({ viewport: { width: WIDE, height: HIGH } });
  const kept = {};
  page.on("response", async (r) => {
    const what = /\/(grid|heatmap)\?/.exec(r.url())?.[1];
    if (what && r.ok() && !kept[what]) kept[what] = await r.json().catch(() => undefined);
  });
  await page.addInitScript(FRAME);
  await page.goto(`${ask.address}#/run/${ask.run}/nodes`);
  await page.locator(".nodes-heatmap canvas").waitFor({ timeout: 60000 });
  await page.waitForTimeout(2500);
  const times = [];
  for (let i = 0; i < ask.tabRounds; i++) {
    times.push(
      await page.evaluate(async (inward) => {
        const plot = document.querySelector(".nodes-cpu .chart-plot");
        const box = plot.getBoundingClientRect();
        const wheel = { clientX: box.left + box.width * 0.6, clientY: box.top + 50, deltaY: inward ? -100 : 100, ctrlKey: true, bubbles: true, cancelable: true };
        return window.frame(() => plot.dispatchEvent(new WheelEvent("wheel", wheel)));
      }, i % 12 < 8),
    );
    await page.waitForTimeout(i % 3 === 2 ? 600 : 40);
  }
  const answers = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .filter((e) => /\/(grid|heatmap|timeline|histograms)\?/.test(e.name) && e.responseStart > 0)
      .map((e) => ({ what: /\/(grid|heatmap|timeline|histograms)\?/.exec(e.name)[1], ms: e.responseStart - e.requestStart, bytes: e.encodedBodySize })),
  );
  await page.close();
  return { times, answers, kept };
}

// The same answers in ECharts: the same line charts, the same heatmap, zoomed through the same windows.
async function peerTab(browser, kept) {
  const page = await bare(browser, ask.peer);
  const charts = [["cpu.util"], ["net.rx", "net.tx"], ["gpu.util"], ["gpu.mem"], ["cpu.util", "gpu.util", "cpu.iowait"]];
  const grids = charts
    .map((m) => ({ ...kept.grid, series: kept.grid.series.filter((s) => m.includes(s.metric)) }))
    .filter((g) => g.series.length > 0);
  const cells = [...Buffer.from(kept.heatmap.cells, "base64")];
  await page.evaluate(([g, rows, n, c]) => window.bench.tab(g, rows, n, c), [grids, kept.heatmap.rows.length, kept.heatmap.n, cells]);
  await page.waitForTimeout(1500);
  const times = await zoomTimes(page, kept.grid.from_ns / 1e6, kept.grid.to_ns / 1e6, ask.tabRounds);
  await page.close();
  return times;
}

// A browser that has never been here: until the list of runs can be clicked.
async function firstPage(browser) {
  const times = [];
  let bytes = 0;
  for (let i = 0; i < 5; i++) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const seen = [];
    page.on("requestfinished", (r) => seen.push(r.sizes().then((s) => (r.url().includes("/api/") ? 0 : s.responseBodySize))));
    const begin = performance.now();
    await page.goto(ask.address, { waitUntil: "commit" });
    await page.locator("main a[href*='/run/']").first().waitFor();
    times.push(performance.now() - begin);
    await page.waitForTimeout(200);
    bytes = (await Promise.all(seen)).reduce((a, b) => a + b, 0);
    await context.close();
  }
  return { times, bytes };
}

// How old the newest sample is when the chart that shows it is drawn.
async function liveDelay(browser) {
  const page = await browser.newPage({ viewport: { width: WIDE, height: HIGH } });
  await page.addInitScript(() => {
    window.delays = [];
    const Plain = window.EventSource;
    window.EventSource = class extends Plain {
      constructor(...rest) {
        super(...rest);
        this.addEventListener("samples", (e) => {
          const newest = Math.max(...JSON.parse(e.data).series.flatMap((s) => s.t_ns.slice(-1))) / 1e6;
          const plot = document.querySelector(".nodes-cpu .chart-plot");
          const before = plot?.dataset.columns;
          const look = (left) =>
            requestAnimationFrame(() => {
              if (plot?.dataset.columns !== before) window.delays.push(Date.now() - newest);
              else if (left > 0) look(left - 1);
            });
          look(60);
        });
      }
    };
  });
  await page.goto(`${ask.live.address}#/run/${ask.live.run}/nodes`);
  await page.locator(".nodes-cpu .chart-plot canvas").waitFor({ timeout: 30000 });
  await page.waitForTimeout(ask.live.seconds * 1000);
  const delays = await page.evaluate(() => window.delays);
  await page.close();
  return delays;
}

const browser = await chromium.launch({ executablePath: ask.chromium, args: ["--no-sandbox"] });
const out = {};
const parts = {
  eight: async () => ({ ours: await eightCharts(browser, ask.ours), peer: await eightCharts(browser, ask.peer) }),
  heat: async () => ({ ours: await heatmap(browser, ask.ours), peer: await heatmap(browser, ask.peer) }),
  first: () => firstPage(browser),
  tab: async () => {
    const tab = await nodesTab(browser);
    return { ours: tab.times, answers: tab.answers, peer: await peerTab(browser, tab.kept) };
  },
  live: () => liveDelay(browser),
};
try {
  for (const name of ask.parts) out[name] = await parts[name]();
} finally {
  await browser.close();
}
console.log(JSON.stringify(out));
