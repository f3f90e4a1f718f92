// SPDX-License-Identifier: Apache-2.0
// steps_durations.tsx - how long each iteration took, a line for each rank. Outliers are marked and open
// the Timeline at their step; steps that no statistics count are drawn in grey, with a mark of their own.
import { useState } from "preact/hooks";

import { valueTicks } from "../charts/bars";
import { Choice, Legend } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import type { Column } from "../components/table";
import { useWidth } from "../components/width";
import { count, dateTime, rankText, value } from "../format";
import { seriesColor } from "../palette";
import { showInTimeline } from "../timeline/links";
import type { Step } from "../types";
import { plural } from "../words";
import { type Iteration, iterationsOf, type Line, linesOf, type Mark, markOf, type Outlier, rankKey, usualTop } from "./steps_model";

const [LEFT, RIGHT, TOP, BOTTOM, HEIGHT] = [64, 12, 14, 34, 240];
const MOST_MARKS = 60; /* that the Tab key stops at */
const MOST_UNCOUNTED = 150; /* with a mark of their own; more are a grey line */

const COLUMNS: readonly Column<Iteration>[] = [
  { id: "rank", title: "Rank", cell: (s) => rankText(s.rank), sort: (s) => s.rank },
  { id: "node", title: "Node", cell: (s) => s.node, sort: (s) => s.node },
  { id: "mode", title: "Mode", cell: (s) => s.mode, sort: (s) => s.mode },
  { id: "step", title: "Step", numeric: true, cell: (s) => s.step, sort: (s) => s.step },
  { id: "start", title: "Start", cell: (s) => dateTime(s.start_ns), sort: (s) => s.start_ns },
  { id: "iteration", title: "Iteration", numeric: true, cell: (s) => value(s.iteration_s, "s"), sort: (s) => s.iteration_s },
  { id: "note", title: "Note", cell: (s) => markOf(s) ?? "", sort: (s) => markOf(s) },
];

type Scale = "usual" | "all";

interface Frame {
  x: (step: number) => number;
  y: (seconds: number) => number;
  top: number;
  wide: number;
  first: number;
  last: number;
}

function frameOf(steps: readonly Step[], top: number, wide: number): Frame {
  const numbers = steps.map((s) => s.step);
  const first = numbers.reduce((a, b) => Math.min(a, b), Infinity);
  const last = Math.max(numbers.reduce((a, b) => Math.max(a, b), 0), first + 1);
  return {
    x: (n) => LEFT + ((n - first) / (last - first)) * (wide - LEFT - RIGHT),
    y: (s) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.min(s, top) / top),
    top,
    wide,
    first,
    last,
  };
}

function Axes(p: { frame: Frame }) {
  const { x, y, top, wide, first, last } = p.frame;
  const [, apart = 1] = valueTicks(last - first, Math.max(2, Math.floor(wide / 110)));
  const every = Math.max(1, Math.round(apart));
  const steps = Array.from({ length: Math.floor(last / every) - Math.ceil(first / every) + 1 }, (_, i) => (Math.ceil(first / every) + i) * every);
  return (
    <>
      {valueTicks(top).map((t) => (
        <g key={t}>
          <line class="grid" x1={LEFT} x2={wide - RIGHT} y1={y(t)} y2={y(t)} />
          <text x={LEFT - 6} y={y(t) + 4} text-anchor="end">
            {value(t, "s")}
          </text>
        </g>
      ))}
      {steps.map((n) => (
        <text key={n} x={x(n)} y={HEIGHT - 18} text-anchor="middle">
          {n}
        </text>
      ))}
      <text class="axis-title" x={(LEFT + wide) / 2} y={HEIGHT - 3} text-anchor="middle">
        step
      </text>
    </>
  );
}

function OutlierMark(p: { frame: Frame; outlier: Outlier; stops: boolean }) {
  const { frame, outlier: o } = p;
  const off = o.iteration_s > frame.top;
  const [x, y] = [frame.x(o.step), frame.y(o.iteration_s)];
  const open = (): void => showInTimeline(o.start_ns, o.iteration_s);
  const label = `Iteration ${o.step} of ${rankText(o.rank)} took ${value(o.iteration_s, "s")}; show in the timeline`;
  const shape = off ? `M${x} ${y - 8}l6 9h-12z` : `M${x} ${y - 5}l5 5l-5 5l-5 -5z`;
  return (
    <path
      class="steps-outlier"
      d={shape}
      data-step={o.step}
      role="button"
      tabIndex={p.stops ? 0 : -1}
      aria-label={label}
      onClick={open}
      onKeyDown={(e) => {
        if (e.key === "Enter" || e.key === " ") open();
      }}
    >
      <title>{label}</title>
    </path>
  );
}

/** The shape of a step that is drawn but not counted; above the scale it points up. */
const MARKS: Readonly<Record<Mark, (x: number, y: number) => string>> = {
  "warm-up": (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z`,
  "slowed by a detail window": (x, y) => `M${x - 3} ${y - 3}h6v6h-6z`,
};

function Uncounted(p: { frame: Frame; step: Iteration; mark: Mark }) {
  const [x, y] = [p.frame.x(p.step.step), p.frame.y(p.step.iteration_s)];
  const shape = p.step.iteration_s > p.frame.top ? `M${x} ${y - 7}l4 7h-8z` : MARKS[p.mark](x, y);
  return (
    <path class="steps-uncounted" d={shape} data-step={p.step.step} data-mark={p.mark}>
      <title>{`Step ${p.step.step} of ${rankText(p.step.rank)}: ${value(p.step.iteration_s, "s")}, ${p.mark}`}</title>
    </path>
  );
}

/** The line of a rank: segments of steps that count in its colour, the rest and what leads to it in
 * grey. */
function pathsOf(steps: readonly Iteration[], frame: Frame): { counted: string; rest: string } {
  const paths = { counted: "", rest: "" };
  const at = (s: Iteration): string => `${frame.x(s.step).toFixed(1)} ${frame.y(s.iteration_s).toFixed(1)}`;
  let last: "counted" | "rest" | null = null;
  steps.forEach((s, i) => {
    const before = steps[i - 1];
    if (before === undefined) return;
    const which = markOf(s) === null && markOf(before) === null ? "counted" : "rest";
    paths[which] += `${which === last ? "" : `M${at(before)}`}L${at(s)}`;
    last = which;
  });
  return paths;
}

function Drawn(p: { lines: readonly Line[]; outliers: readonly Outlier[]; top: number; wide: number; label: string }) {
  const lines = p.lines.map((l) => ({ ...l, steps: iterationsOf(l.steps) }));
  const frame = frameOf(lines.flatMap((l) => l.steps), p.top, p.wide);
  const few = lines.flatMap((l) => l.steps.filter((s) => markOf(s) !== null)).length <= MOST_UNCOUNTED;
  const shown = p.outliers.filter((o) => o.step >= frame.first && o.step <= frame.last);
  return (
    <svg class="bars-chart" width={p.wide} height={HEIGHT} role="group" aria-label={p.label}>
      <Axes frame={frame} />
      {lines.map((line, i) => {
        const { counted, rest } = pathsOf(line.steps, frame);
        return (
          <g key={line.key}>
            <path class="steps-line rest" d={rest} />
            <path class="steps-line" d={counted} stroke={seriesColor(i)} stroke-dasharray={i >= 8 ? "4 3" : undefined} />
          </g>
        );
      })}
      {lines.map((line, i) =>
        line.steps.map((s) => {
          const mark = markOf(s);
          if (mark !== null && !few) return null;
          if (mark !== null) return <Uncounted key={s.step} frame={frame} step={s} mark={mark} />;
          return line.steps.length > 40 ? null : <circle key={s.step} cx={frame.x(s.step)} cy={frame.y(s.iteration_s)} r="2.5" fill={seriesColor(i)} />;
        }),
      )}
      {shown.map((o, i) => (
        <OutlierMark key={`${rankKey(o)} ${o.step}`} frame={frame} outlier={o} stops={i < MOST_MARKS} />
      ))}
    </svg>
  );
}

function summaryOf(lines: readonly Line[], outliers: readonly Outlier[]): string {
  const steps = iterationsOf(lines.flatMap((l) => l.steps));
  const longest = steps.reduce<Iteration | null>((a, s) => (a === null || s.iteration_s > a.iteration_s ? s : a), null);
  if (longest === null) return "No iterations.";
  const mark = markOf(longest);
  const marked = steps.filter((s) => markOf(s) !== null).length;
  return (
    `${plural(steps.length, "iteration")} of ${plural(lines.length, "rank")}. Longest: step ${longest.step} of ` +
    `${rankText(longest.rank)}, ${value(longest.iteration_s, "s")}${mark === null ? "" : `, ${mark}`}. ${plural(outliers.length, "outlier")}; ` +
    `${count(marked)} warm-up or slowed by a detail window.`
  );
}

export function StepDurations(p: { steps: readonly Step[]; outliers: readonly Outlier[]; mode: string }) {
  const [scale, setScale] = useState<Scale>("usual");
  const [box, wide] = useWidth();
  const steps = iterationsOf(p.steps.filter((s) => s.mode === p.mode));
  const marks = new Set(steps.map(markOf));
  const outliers = p.outliers.filter((o) => o.mode === p.mode);
  const lines = linesOf(steps);
  const keys = new Set(outliers.map((o) => `${rankKey(o)} ${o.step}`));
  const longest = steps.reduce((a, s) => Math.max(a, s.iteration_s), 1e-9);
  const usual = usualTop(steps, keys);
  const summary = summaryOf(lines, outliers);
  return (
    <ChartFrame
      title="Iteration by step"
      summary={summary}
      table={() => ({ columns: COLUMNS, rows: steps })}
      actions={
        longest > usual * 1.01 && (
          <Choice
            label="Scale of the iterations"
            value={scale}
            onChange={setScale}
            options={[
              { value: "usual", text: "Usual" },
              { value: "all", text: "All" },
            ]}
          />
        )
      }
      legend={
        <Legend items={lines.map((l, i) => ({ key: l.key, color: seriesColor(i), text: `${rankText(l.rank)} on ${l.node}` }))}>
          {(Object.keys(MARKS) as Mark[])
            .filter((m) => marks.has(m))
            .map((m) => (
              <li key={m} class="steps-key">
                <svg width="12" height="12" aria-hidden="true">
                  <path class="steps-uncounted" d={MARKS[m](6, 6)} />
                </svg>
                {m}
              </li>
            ))}
          {outliers.length > 0 && (
            <li class="steps-key">
              <svg width="12" height="12" aria-hidden="true">
                <path class="steps-outlier" d="M6 1l5 5l-5 5l-5 -5z" />
              </svg>
              outlier (▲ above the scale): opens the timeline
            </li>
          )}
        </Legend>
      }
    >
      <div ref={box} class="steps-durations">
        {wide > 0 && steps.length > 0 && (
          <Drawn lines={lines} outliers={outliers} top={scale === "usual" ? usual : longest * 1.06} wide={wide} label={summary} />
        )}
      </div>
    </ChartFrame>
  );
}
