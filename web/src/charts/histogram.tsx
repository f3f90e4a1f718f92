// SPDX-License-Identifier: Apache-2.0
// histogram.tsx - counts in bins, as bars; bins after `outlierFrom` are marked.
import { useWidth } from "../components/width";
import { count } from "../format";
import { valueTicks } from "./bars";

const LEFT = 52;
const BOTTOM = 34;
const HEIGHT = 170;
const TOP = 8;
const EDGE = 16; // nearer to an edge of the plot, a word is inside

export interface Bins {
  readonly edges: readonly number[]; // one more than counts
  readonly counts: readonly number[];
}

/** Bins of whole percents, 0 to 100 inclusive. */
export const percentBins = (counts: readonly number[]): Bins => ({
  edges: Array.from({ length: counts.length + 1 }, (_, i) => i),
  counts,
});

export function Histogram(p: {
  bins: Bins;
  edgeText: (v: number) => string;
  axis: string;
  colour: string;
  label: string;
  outlierFrom?: number | null;
  /** Where the axis has its marks, with their places; without it they are at round values. */
  marks?: readonly { at: number; text: string }[];
}) {
  const [box, wide] = useWidth();
  return (
    <div ref={box} class="histogram">
      {wide > 0 && <Drawn {...p} wide={wide} />}
    </div>
  );
}

/** Where everything took equally long the bins have no width: the first, which has all, gets some around
 * that value, and the axis some to both sides of it. */
export function spreadEdges(edges: readonly number[]): { edges: readonly number[]; low: number; high: number } {
  const [low, high] = [edges[0] ?? 0, edges[edges.length - 1] ?? 0];
  if (high > low) return { edges, low, high };
  const room = Math.abs(low) * 0.1 || 1;
  const half = room / Math.max(edges.length - 1, 1);
  return { edges: edges.map((v, i) => (i === 0 ? v - half : v + half)), low: low - room, high: low + room };
}

type HistogramProps = Parameters<typeof Histogram>[0];

function marksOf(p: HistogramProps, low: number, high: number, n: number): readonly { at: number; text: string }[] {
  if (p.marks !== undefined) return p.marks;
  const step = valueTicks(high - low, n)[1] ?? high - low;
  const first = Math.ceil(low / step - 1e-9);
  const steps = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: steps }, (_, k) => ({ at: (first + k) * step, text: p.edgeText((first + k) * step) }));
}

function Drawn(p: HistogramProps & { wide: number }) {
  const { counts } = p.bins;
  const { edges, low, high } = spreadEdges(p.bins.edges);
  const most = Math.max(...counts, 1);
  const x = (v: number): number => LEFT + ((v - low) / Math.max(high - low, 1e-12)) * (p.wide - LEFT - 10);
  const y = (n: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - n / most);
  const marks = valueTicks(most, 3);
  const shown = Math.max(2, Math.floor((p.wide - LEFT) / 90));
  return (
    <svg class="bars-chart" width={p.wide} height={HEIGHT} role="img" aria-label={p.label}>
      {marks.map((t) => (
        <g key={t}>
          <line class="grid" x1={LEFT} x2={p.wide - 10} y1={y(t)} y2={y(t)} />
          <text x={LEFT - 6} y={y(t) + 4} text-anchor="end">
            {t >= 1e5 ? `${count(t / 1000)}k` : count(t)}
          </text>
        </g>
      ))}
      {counts.map((n, i) => {
        const [from, to] = [edges[i] ?? 0, edges[i + 1] ?? 0];
        const out = p.outlierFrom !== null && p.outlierFrom !== undefined && (p.bins.edges[i + 1] ?? 0) > p.outlierFrom && n > 0;
        const wide = Math.max(x(to) - x(from) - (counts.length > 60 ? 0.5 : 1), 0.5);
        return (
          <rect
            key={i}
            data-count={n}
            class={out ? "outlier" : undefined}
            x={x(from)}
            width={wide}
            y={y(n)}
            height={n === 0 ? 0 : Math.max(y(0) - y(n), 1)}
            fill={out ? "url(#outlier-hatch)" : p.colour}
          >
            <title>{`${p.edgeText(from)} to ${p.edgeText(to)}: ${count(n)}`}</title>
          </rect>
        );
      })}
      {marksOf(p, low, high, shown).map((m) => (
        <text key={m.at} x={x(m.at)} y={HEIGHT - 18} text-anchor={x(m.at) < LEFT + EDGE ? "start" : x(m.at) > p.wide - 10 - EDGE ? "end" : "middle"}>
          {m.text}
        </text>
      ))}
      <text x={LEFT + (p.wide - LEFT) / 2} y={HEIGHT - 3} text-anchor="middle" class="axis-title">
        {p.axis}
      </text>
      <defs>
        <pattern id="outlier-hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" fill="var(--critical)" />
          <line x1="0" y1="0" x2="0" y2="5" stroke="var(--bg)" stroke-width="2" />
        </pattern>
      </defs>
    </svg>
  );
}
