// SPDX-License-Identifier: Apache-2.0
// bars.tsx - stacked bars: one bar per step, a segment for each part, as high as its time. And what
// goes into them, apart from the drawing.
import { Legend } from "../components/basics";
import { value } from "../format";
import { eventColor } from "../palette";
import type { Step } from "../types";
import { partTitle } from "../words";

/** What a bar needs of a step. */
export interface StepBar extends Pick<Step, "node" | "step" | "duration_s" | "cut" | "warmup" | "disturbed" | "events"> {
  rank: number | null;
}

export interface Piece {
  readonly part: string;
  readonly from_s: number;
  readonly to_s: number;
}

const NEGLIGIBLE = 1e-6; // of a step: what adding up left over

/** The segments of a step from the bottom up. What no part accounts for is "other", so that the bar
 * is as high as the step, or its iteration, was long. Parts that were not measured have no
 * segment. */
export function piecesOf(step: StepBar, parts: readonly string[]): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const part of parts) {
    const s = part === "other" ? step.duration_s - (step.events["between"] ?? 0) - at : (step.events[part] ?? 0);
    if (!(s > NEGLIGIBLE * step.duration_s)) continue;
    pieces.push({ part, from_s: at, to_s: at + s });
    at += s;
  }
  return pieces;
}

/** The parts that any of the steps has, in the order of a step, "other" and "between" last. */
export function partsOf(steps: readonly StepBar[]): string[] {
  const found = new Set<string>();
  for (const s of steps) for (const [part, v] of Object.entries(s.events)) if (v !== null && v > 0) found.add(part);
  const between = found.delete("between") ? ["between"] : [];
  found.delete("other");
  // "other" is what is left of a step; what lies between steps comes after it.
  const parts = [...found, "other", ...between];
  const rest = steps.some((s) => piecesOf(s, parts).some((p) => p.part === "other"));
  return rest ? parts : [...found, ...between];
}

/** Round marks from 0 to the top. */
export function valueTicks(top: number, want = 4): number[] {
  if (!(top > 0)) return [0];
  const raw = top / want;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((s) => s >= raw) ?? raw;
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** What the colours of the parts of a step are. */
export function PartLegend(p: { parts: readonly string[] }) {
  return <Legend items={p.parts.map((part) => ({ key: part, color: eventColor(part), text: partTitle(part) }))} />;
}

function noteOf(s: StepBar): string {
  return s.cut ? ", still running" : s.disturbed ? ", slowed by a detail window" : s.warmup ? ", warm-up" : "";
}

const LEFT = 64;
const BOTTOM = 30;
const HEIGHT = 240;
const TOP = 8;

export function StackedBars(p: { steps: readonly StepBar[]; parts: readonly string[]; wide: number }) {
  const high = HEIGHT - BOTTOM - TOP;
  const longest = Math.max(...p.steps.map((s) => s.duration_s), 1e-9);
  const slot = (p.wide - LEFT - 8) / Math.max(p.steps.length, 1);
  const y = (s: number): number => TOP + high * (1 - s / longest);
  const every = Math.max(1, Math.ceil(44 / slot));
  return (
    <svg class="bars-chart" width={p.wide} height={HEIGHT} role="img" aria-label="Time of each step by part">
      {valueTicks(longest).map((t) => (
        <g key={t}>
          <line class="grid" x1={LEFT} x2={p.wide - 8} y1={y(t)} y2={y(t)} />
          <text x={LEFT - 6} y={y(t) + 4} text-anchor="end">
            {value(t, "s")}
          </text>
        </g>
      ))}
      {p.steps.map((step, k) => (
        <g key={`${step.node} ${step.rank} ${step.step}`} class={`bar-step${step.cut ? " cut" : ""}${step.warmup || step.disturbed ? " uncounted" : ""}`} data-step={step.step} data-duration={step.duration_s}>
          {piecesOf(step, p.parts).map((piece) => (
            <rect
              key={piece.part}
              data-part={piece.part}
              data-seconds={piece.to_s - piece.from_s}
              x={LEFT + k * slot + slot * 0.1}
              width={Math.max(slot * 0.8, 0.5)}
              y={y(piece.to_s)}
              height={Math.max(y(piece.from_s) - y(piece.to_s), 0)}
              fill={eventColor(piece.part)}
            >
              <title>{`step ${step.step}, ${partTitle(piece.part)}: ${value(piece.to_s - piece.from_s, "s")} of ${value(step.duration_s, "s")}${noteOf(step)}`}</title>
            </rect>
          ))}
          {k % every === 0 && (
            <text x={LEFT + (k + 0.5) * slot} y={HEIGHT - 14} text-anchor="middle">
              {step.step}
            </text>
          )}
        </g>
      ))}
      <text x={LEFT + (p.wide - LEFT) / 2} y={HEIGHT - 3} text-anchor="middle" class="axis-title">
        step
      </text>
    </svg>
  );
}
