// SPDX-License-Identifier: Apache-2.0
// lanechart.tsx - lanes of what the training loop did, as a component.
import { useEffect, useRef } from "preact/hooks";

import { value } from "../format";
import { eventColorName } from "../palette";
import { color, theme } from "../theme";
import { AXIS_HEIGHT, CanvasChart, paintTimeAxis } from "./canvaschart";
import type { Area } from "./gestures";
import { KEYS_HELP } from "./gestures";
import { drawLanes, type Lane, LANE_HEIGHT, laneAt, laneLayout, sliceAt } from "./lanes";
import { RIGHT } from "./linechart";
import { type Span, width } from "./span";
import type { TimeSync } from "./sync";

export function laneText(lane: Lane, severalRanks: boolean, severalNodes: boolean): string {
  const who = [severalNodes ? lane.node : "", severalRanks && lane.rank !== null ? `r${lane.rank}` : ""];
  return [...who, lane.part.title].filter((t) => t !== "").join(" ");
}

export function laneTexts(lanes: readonly Lane[]): string[] {
  const several = (of: (l: Lane) => unknown): boolean => new Set(lanes.map(of)).size > 1;
  return lanes.map((l) => laneText(l, several((x) => x.rank), several((x) => x.node)));
}

const heightOf = (lanes: readonly Lane[]): number => lanes.length * LANE_HEIGHT + AXIS_HEIGHT + 4;

function paint(g: CanvasRenderingContext2D, lanes: readonly Lane[], area: Area, shown: Span): void {
  const l = laneLayout(lanes.length, { left: area.left, top: 0, width: area.width });
  g.font = "12px system-ui, sans-serif";
  g.textAlign = "right";
  g.textBaseline = "middle";
  laneTexts(lanes).forEach((text, k) => {
    const y = l.top + k * LANE_HEIGHT;
    g.fillStyle = color("--line");
    g.fillRect(area.left, y + LANE_HEIGHT - 1, area.width, 1);
    g.fillStyle = color("--text-2");
    g.fillText(text, area.left - 8, y + LANE_HEIGHT / 2, area.left - 10);
  });
  drawLanes(g, lanes, shown, l, (part) => color(eventColorName(part.id)));
  paintTimeAxis(g, area, shown, l.height + 2, RIGHT);
}

function tip(lanes: readonly Lane[], at: number, y: number, slack: number): string[] | null {
  const k = laneAt(y, laneLayout(lanes.length, { left: 0, top: 0, width: 1 }));
  const lane = lanes[k];
  const slice = lane ? sliceAt(lane, at, slack) : null;
  if (!lane || !slice) return null;
  const what = slice.merged > 1 ? `${slice.merged} events, longest ${slice.name}; zoom in for details` : slice.name;
  const rank = lane.rank === null ? lane.node : `rank ${lane.rank} on ${lane.node}`;
  return [what, rank, value((slice.to - slice.from) / 1000, "s")];
}

export function LaneChart(p: { sync: TimeSync; lanes: readonly Lane[]; left: number; label: string }) {
  const host = useRef<HTMLDivElement>(null);
  const chart = useRef<CanvasChart | null>(null);
  const lanes = useRef(p.lanes);
  lanes.current = p.lanes;
  useEffect(() => {
    if (host.current === null) return undefined;
    const made: CanvasChart = new CanvasChart(host.current, p.sync, {
      left: p.left,
      right: RIGHT,
      drag: "select",
      height: () => heightOf(lanes.current),
      paint: (g, area, shown) => paint(g, lanes.current, area, shown),
      tip: (at, y) => tip(lanes.current, at, y, (2 * width(p.sync.window)) / made.area().width),
      marks: () => ({ top: 0, bottom: heightOf(lanes.current) - AXIS_HEIGHT }),
    });
    chart.current = made;
    return () => made.close();
  }, [p.sync, p.left]);
  const colours = theme.value;
  useEffect(() => chart.current?.draw(), [p.lanes, colours, p.sync, p.left]);
  return (
    <div
      ref={host}
      class="chart-plot"
      style={{ height: `${heightOf(p.lanes)}px` }}
      tabIndex={0}
      role="application"
      aria-roledescription="lanes"
      aria-label={`${p.label}. ${KEYS_HELP}`}
    />
  );
}
