// SPDX-License-Identifier: Apache-2.0
// zoom_ours.ts - the dashboard's own charts on a bare page, for bench_zoom: eight line charts that
// share a window, and a heatmap.
import { HeatImage, heatLayout, type HeatRow } from "../web/src/charts/heatmap";
import { LineChart, type LineLook } from "../web/src/charts/linechart";
import { TimeSync } from "../web/src/charts/sync";
import type { Grid } from "../web/src/types";

interface Ask {
  charts: number;
  lines: number;
  points: number;
}

declare global {
  interface Window {
    bench: {
      lines: (ask: Ask, grids: Grid[]) => void;
      zoom: (from: number, to: number) => void;
      heatmap: (rows: number, columns: number, cells: number[]) => void;
      redraw: () => void;
    };
  }
}

let sync: TimeSync;
let heat: () => void;

function lines(ask: Ask, grids: Grid[]): void {
  const first = grids[0] as Grid;
  sync = new TimeSync({ from: first.from_ns / 1e6, to: first.to_ns / 1e6 });
  for (const grid of grids) {
    const host = document.createElement("div");
    host.className = "plot";
    document.body.append(host);
    const looks: LineLook[] = grid.series.map((s, k) => ({
      key: `${s.node} ${s.metric} ${s.entity}`,
      label: s.entity,
      colour: `--c${(k % 8) + 1}`,
    }));
    const chart = new LineChart(host, sync, {
      height: 190,
      left: 70,
      top: 100,
      unit: (v) => `${v} %`,
      binary: false,
      drag: "zoom",
      intervalMs: null,
    });
    chart.show(grid, looks);
  }
  void ask;
}

function heatmap(rows: number, columns: number, cells: number[]): void {
  const names: HeatRow[] = Array.from({ length: rows }, (_, i) => ({ node: "n", metric: "cpu.util", entity: `cpu${i}` }));
  const canvas = document.createElement("canvas");
  const layout = heatLayout(names, { left: 0, top: 0, width: columns });
  canvas.width = columns;
  canvas.height = layout.height;
  document.body.replaceChildren(canvas);
  const g = canvas.getContext("2d") as CanvasRenderingContext2D;
  const span = { from: 0, to: columns };
  const bytes = Uint8Array.from(cells);
  let turn = 0;
  heat = () => {
    // New cells each time, as after a zoom: the image is made anew, then drawn.
    bytes[turn % bytes.length] = turn % 200;
    turn++;
    new HeatImage({ span, columns, rows: names, cells: bytes }).draw(g, span, layout);
  };
  heat();
}

window.bench = { lines, zoom: (from, to) => sync.setWindow({ from, to }), heatmap, redraw: () => heat() };
