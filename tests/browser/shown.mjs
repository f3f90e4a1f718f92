// SPDX-License-Identifier: Apache-2.0
// shown.mjs - what stands on a page of a run, read from it, and beside it what must stand there by the
// server's answer; the same for a run that ended and for one that lives.
import assert from "node:assert/strict";

import { pageModule, until } from "./help.mjs";

/** The parts of the first pie of a page, each with what it says: name, value, percent. */
export function pieParts(page) {
  return page.locator(".pie-list").first().locator("li").evaluateAll((all) =>
    all.map((li) => [li.dataset.part, ...[...li.querySelectorAll(".num")].map((n) => n.innerText)]),
  );
}

/** What the details of the job say, by their terms. */
export async function jobDetails(page) {
  const pairs = await page.locator(".job-details dl > div").evaluateAll((all) =>
    all.map((d) => [d.querySelector("dt").innerText, d.querySelector("dd").innerText]),
  );
  return Object.fromEntries(pairs);
}

/** The counts of the bars of a histogram of Nodes, or of several. */
export function binCounts(page, chart) {
  return page.locator(`.nodes-${chart} rect[data-count]`).evaluateAll((all) => all.map((r) => Number(r.dataset.count)));
}

/** The stacked bars of Nodes: each step with its parts in seconds and its height. */
export function stackedBars(page) {
  return page.locator(".nodes-steps .bar-step").evaluateAll((all) =>
    all.map((g) => ({
      step: Number(g.dataset.step),
      duration: Number(g.dataset.duration),
      parts: Object.fromEntries([...g.querySelectorAll("rect")].map((r) => [r.dataset.part, Number(r.dataset.seconds)])),
      pixels: [...g.querySelectorAll("rect")].reduce((sum, r) => sum + Number(r.getAttribute("height")), 0),
    })),
  );
}

/** What the histograms of step durations must show: bars, those of outliers, and the slowest by name. */
export function stepBinsWanted(steps, { value }) {
  return steps.map((s) => ({
    counts: s.counts,
    marked: s.counts.filter((n, i) => n > 0 && s.outlier_from_s !== null && s.edges_s[i + 1] > s.outlier_from_s),
    named: [...s.outliers].sort((a, b) => b.iteration_s - a.iteration_s).slice(0, 8).map((o) => `step ${o.step}: ${value(o.iteration_s, "s")}`),
  }));
}

export function stepBins(page) {
  return page.locator(".nodes-hist-steps").evaluateAll((all) =>
    all.map((figure) => {
      const counts = (which) => [...figure.querySelectorAll(`rect${which}[data-count]`)].map((r) => Number(r.dataset.count));
      return { counts: counts(""), marked: counts(".outlier"), named: [...figure.querySelectorAll(".nodes-outliers button")].map((b) => b.innerText.trim()) };
    }),
  );
}

/** What an opened rule must say of its first finding and of itself. */
export function ruleTexts(verdict, { count, dateTime, value }) {
  const [found] = verdict.findings;
  return [
    found.message,
    found.advice ?? verdict.recommendation,
    verdict.description,
    ...(found.lost_s === null ? [] : [value(found.lost_s, "s")]),
    count(verdict.triggered),
    count(verdict.datapoints),
    dateTime(verdict.last_triggered_ns),
    ...Object.keys(verdict.params).map((name) => `${name} = ${verdict.params_text?.[name] ?? ""}`),
  ].map((text) => text.replace(/\s+/g, " "));
}

/** The colour of a pixel of the heatmap: x from the left or, below 0, from the right. */
export function heatPixel(page, x, y) {
  return page.locator(".nodes-heatmap canvas").first().evaluate((c, [px, py]) => {
    const k = c.width / c.clientWidth;
    const at = px < 0 ? c.clientWidth + px : px;
    return [...c.getContext("2d").getImageData(Math.round(at * k), Math.round(py * k), 1, 1).data.slice(0, 3)];
  }, [x, y]);
}

/** The bar right of a heatmap of these rows has the colours of 100 % at its top down to 0 %. */
export async function showsColourBar(page, rows) {
  const { scaleColour } = await pageModule("charts/colour.ts");
  const { heatLayout } = await pageModule("charts/heatmap.ts");
  await page.locator(".nodes-heatmap canvas").first().scrollIntoViewIfNeeded();
  const high = Math.min(heatLayout(rows, { left: 0, top: 0, width: 500 }).height, 220);
  const bar = -66 + 14 + 6;
  const top = await until(async () => {
    for (let y = 10; y < 40; y++) if (JSON.stringify(await heatPixel(page, bar, y)) === JSON.stringify([...scaleColour(1)])) return y;
    return null;
  }, "the top of the bar in the colour of 100 %");
  for (const share of [0.75, 0.5, 0.25]) {
    const seen = await heatPixel(page, bar, top + high * (1 - share));
    const far = Math.max(...scaleColour(share).map((c, i) => Math.abs(c - seen[i])));
    assert.ok(far <= 6, `${100 * share} %: ${seen} is not ${scaleColour(share)}`);
  }
}
