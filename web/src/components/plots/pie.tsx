// SPDX-License-Identifier: Apache-2.0
// pie.tsx - a ring of shares. Its parts carry their percentage, and the list beside it names them in
// the same order with value and percentage.
import { fixed, value } from "../../format";
import { Swatch } from "../basics";
import { ChartFrame } from "../chart_frame";
import type { Column } from "../table";
import { percentages, ringLabel, ringPart } from "./arcs";
import "./plots.css";

export interface Part {
  label: string;
  v: number;
  color: string;
  /** Its percentage where that is known already; all parts have one, or none. */
  pct?: number;
}

interface Share extends Part {
  pct: number;
  text: string;
}

const SIZE = 176;
const OUTER = 80;
const INNER = 52;
const LABEL_FROM = 8; // percent: narrower parts have no room for theirs

function withShares(parts: readonly Part[], unit: string): Share[] {
  const pcts = percentages(parts.map((p) => p.v));
  return parts.map((p, i) => ({ ...p, pct: p.pct ?? pcts?.[i] ?? 0, text: value(p.v, unit) }));
}

function pctText(pct: number): string {
  return `${fixed(pct, 1)} %`;
}

function Ring(p: { shares: readonly Share[]; middle: string; under: string }) {
  const c = SIZE / 2;
  let at = 0;
  return (
    <svg width={SIZE} height={SIZE} viewBox={`0 0 ${SIZE} ${SIZE}`} aria-hidden="true" class="pie-ring">
      {p.shares.map((s) => {
        const from = at;
        at += s.pct / 100;
        const where = ringLabel(c, c, (INNER + OUTER) / 2, from, at);
        return (
          <g key={s.label}>
            {s.pct > 0 && <path d={ringPart(c, c, INNER, OUTER, from, at)} fill={s.color} class="pie-part" />}
            {s.pct >= LABEL_FROM && (
              <text x={where.x} y={where.y + 4} class="pie-number">
                {Math.round(s.pct)} %
              </text>
            )}
          </g>
        );
      })}
      <text x={c} y={c + 1} class="pie-middle">
        {p.middle}
      </text>
      <text x={c} y={c + 17} class="pie-under">
        {p.under}
      </text>
    </svg>
  );
}

const columns: readonly Column<Share>[] = [
  { id: "label", title: "Part", cell: (s) => s.label, sort: (s) => s.label },
  { id: "v", title: "Value", cell: (s) => s.text, sort: (s) => s.v, numeric: true },
  { id: "pct", title: "Percent", cell: (s) => pctText(s.pct), sort: (s) => s.pct, numeric: true },
];

export function Pie(p: {
  title: string;
  unit: string;
  parts: readonly Part[];
  /** The text in the middle; the sum by default. */
  total?: string;
  level?: 3 | 4;
}) {
  const shares = withShares(p.parts, p.unit);
  const total = p.total ?? value(p.parts.reduce((sum, part) => sum + part.v, 0), p.unit);
  // Of percentages the value is the percentage: once is enough.
  const once = p.unit === "%";
  return (
    <ChartFrame
      title={p.title}
      level={p.level ?? 3}
      summary={`Total ${total}: ${shares.map((s) => `${s.label} ${once ? "" : `${s.text}, `}${pctText(s.pct)}`).join("; ")}.`}
      table={() => ({ columns, rows: shares })}
    >
      <div class="pie">
        <Ring shares={shares} middle={once ? "" : total} under={once ? "" : "total"} />
        <ul class="pie-list">
          {shares.map((s) => (
            <li key={s.label} data-part={s.label}>
              <Swatch color={s.color}>
                <span class="pie-label">{s.label}</span>
              </Swatch>
              {!once && <span class="num">{s.text}</span>}
              <span class="num pie-pct">{pctText(s.pct)}</span>
            </li>
          ))}
        </ul>
      </div>
    </ChartFrame>
  );
}
