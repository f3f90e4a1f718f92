// SPDX-License-Identifier: Apache-2.0
// zoom_peer.mjs - the same charts in ECharts, for bench_zoom. Its fastest settings: no animation, no
// symbols, drawn at once.
import * as echarts from "echarts";

let charts = [];
let whole = { from: 0, to: 1 };

const axisOf = (grid) => {
  const step = grid.step_ns / 1e6;
  return Array.from({ length: grid.n }, (_, i) => grid.from_ns / 1e6 + (i + 0.5) * step);
};

function add(height) {
  const host = document.createElement("div");
  host.style.cssText = `width:1200px;height:${height}px`;
  document.body.append(host);
  const chart = echarts.init(host, null, { renderer: "canvas" });
  charts.push(chart);
  return chart;
}

const time = (dataZoom) => ({ animation: false, grid: { left: 70, right: 14, top: 8, bottom: 34 }, dataZoom });

// A line with the band from the smallest to the largest reading: two stacked areas and the mean.
function bandedLine(s, at) {
  const points = (of) => at.map((t, i) => [t, of(i)]);
  const plain = { type: "line", showSymbol: false, animation: false, lineStyle: { width: 1.5 } };
  const hidden = { ...plain, lineStyle: { opacity: 0 }, stack: s.entity + s.metric, silent: true };
  return [
    { ...hidden, data: points((i) => s.min[i]) },
    { ...hidden, areaStyle: { opacity: 0.2 }, data: points((i) => (s.max[i] === null ? null : s.max[i] - s.min[i])) },
    { ...plain, data: points((i) => s.v[i]) },
  ];
}

function lines(ask, grids) {
  charts = [];
  whole = { from: grids[0].from_ns / 1e6, to: grids[0].to_ns / 1e6 };
  for (const grid of grids) {
    const at = axisOf(grid);
    add(190).setOption({
      ...time([{ type: "inside", filterMode: "filter" }]),
      xAxis: { type: "time", min: whole.from, max: whole.to },
      yAxis: { type: "value" },
      series: grid.series.flatMap((s) => bandedLine(s, at)),
    });
  }
}

/** The Nodes tab: its line charts and its heatmap on one page. */
function tab(grids, rows, columns, cells) {
  lines(null, grids);
  addHeatmap(rows, columns, cells);
}

function heatmap(rows, columns, cells) {
  charts = [];
  addHeatmap(rows, columns, cells);
}

function addHeatmap(rows, columns, cells) {
  const chart = add(Math.max(rows * 4, 200));
  const data = cells.map((v, i) => [i % columns, Math.floor(i / columns), v > 200 ? "-" : v / 2]);
  chart.setOption({
    ...time([{ type: "inside" }]),
    xAxis: { type: "category", data: Array.from({ length: columns }, (_, i) => i) },
    yAxis: { type: "category", data: Array.from({ length: rows }, (_, i) => `cpu${i}`) },
    visualMap: { min: 0, max: 100, show: false },
    series: [{ type: "heatmap", data, animation: false, progressive: 0 }],
  });
}

function zoom(from, to) {
  const percent = (t) => (100 * (t - whole.from)) / (whole.to - whole.from);
  for (const chart of charts) chart.dispatchAction({ type: "dataZoom", start: percent(from), end: percent(to) });
}

const redraw = () => charts.forEach((chart) => chart.resize({ silent: true }));

window.bench = { lines, heatmap, tab, zoom, redraw };
