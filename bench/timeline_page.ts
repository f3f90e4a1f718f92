// SPDX-License-Identifier: Apache-2.0
// timeline_page.ts - a hundred thousand slices on a bare page, for bench_timeline: drawn by the
// timeline's own painter, and the plain way, a rectangle for each slice.
import { buildLayout, type Layout } from "../web/src/timeline/layout";
import { type Answer, buildChunk, type Chunk, type Lane } from "../web/src/timeline/model";
import { makePaint } from "../web/src/timeline/palette";
import type { Range } from "../web/src/timeline/range";
import { Painter, type Scene } from "../web/src/timeline/scene";

const WIDE = 1500;
const HIGH = 900;
const COLOURS: Readonly<Record<string, string>> = { "--surface": "#ffffff", "--grid": "#eeeeee" };
const CATEGORIES = ["op", "kernel", "comm", "memcpy", "runtime", "loader"];

interface Stage {
  chunk: Chunk;
  layout: Layout;
  g: CanvasRenderingContext2D;
  painter: Painter;
}

let stage: Stage;

/** Slices of five rows in each of ten lanes, evenly over the second, no two of a row overlapping. */
function answerOf(count: number): Answer {
  const [lanes, rows] = [10, 5];
  const each = count / (lanes * rows);
  const apart = 1e9 / each;
  const slices: Answer["slices"] = { lane: [], row: [], start: [], dur: [], name: [], category: [], merged: [] };
  for (let i = 0; i < count; i++) {
    const track = Math.floor(i / each);
    slices.lane.push(Math.floor(track / rows));
    slices.row.push(track % rows);
    slices.start.push(Math.floor((i % each) * apart));
    slices.dur.push(Math.floor(apart * (0.3 + ((i * 7919) % 60) / 100)));
    slices.name.push((i * 31) % 200);
    slices.category.push((i * 17) % CATEGORIES.length);
    slices.merged.push(0);
  }
  const lane = (i: number): Lane => ({ id: String(i), node: "n", rank: 0, pid: 1, thread: String(i), title: `thread ${i}`, kind: "operators", depth: rows });
  const names = Array.from({ length: 200 }, (_, i) => `operator_${i}`);
  return { lanes: Array.from({ length: lanes }, (_, i) => lane(i)), names, categories: CATEGORIES, slices, cut: false, base: 0 };
}

function load(count: number): void {
  const chunk = buildChunk(answerOf(count), { from: 0, to: 1e9 }, WIDE);
  const layout = buildLayout(chunk.lanes, { collapsed: new Set(), inlineTitles: false, severalNodes: false });
  const canvas = document.createElement("canvas");
  canvas.width = WIDE;
  canvas.height = HIGH;
  document.body.replaceChildren(canvas);
  const g = canvas.getContext("2d") as CanvasRenderingContext2D;
  stage = { chunk, layout, g, painter: new Painter(g) };
}

const paint = makePaint((name) => COLOURS[name] ?? "#3d9be0");

function ours(range: Range): number {
  const { chunk, layout, painter } = stage;
  const scene: Scene = {
    layout,
    range,
    top: 0,
    chunks: [chunk],
    sought: null,
    selected: null,
    hovered: null,
    selection: null,
    paint,
    colours: { outline: "#000000", selection: "#0000ff33" },
  };
  return painter.frame(scene, WIDE, HIGH, 1);
}

function plain(range: Range): number {
  const { chunk, layout, g } = stage;
  const scale = WIDE / (range.to - range.from);
  let drawn = 0;
  g.clearRect(0, 0, WIDE, HIGH);
  for (const row of layout.rows) {
    const track = chunk.tracks.get(row.lane.id)?.[row.row];
    if (!track || row.y > HIGH) continue;
    for (let i = 0; i < track.start.length; i++) {
      const x = (track.start[i]! - range.from) * scale;
      const wide = (track.end[i]! - track.start[i]!) * scale;
      if (x + wide < 0 || x > WIDE) continue;
      g.fillStyle = `hsl(${track.style[i]! * 7} 60% 60%)`;
      g.fillRect(x, row.y, Math.max(1, wide), row.height - 1);
      drawn++;
    }
  }
  return drawn;
}

/** Times until a frame's pixels are there, through a pan and a zoom that keep all slices in sight. */
async function frames(how: "ours" | "plain", rounds: number): Promise<{ ms: number[]; slices: number }> {
  const draw = how === "ours" ? ours : plain;
  const ms: number[] = [];
  let slices = 0;
  for (let i = 0; i < rounds + 3; i++) {
    const by = (i % 10) * 1e5;
    const begin = performance.now();
    slices = draw({ from: by, to: 1e9 - by });
    stage.g.getImageData(0, 0, 1, 1); // what the browser put off is done now
    if (i >= 3) ms.push(performance.now() - begin);
    await new Promise((done) => requestAnimationFrame(done));
  }
  return { ms, slices };
}

declare global {
  interface Window {
    timelineBench: { load: typeof load; frames: typeof frames };
  }
}

window.timelineBench = { load, frames };
