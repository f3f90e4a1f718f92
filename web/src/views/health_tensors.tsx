// SPDX-License-Identifier: Apache-2.0
// health_tensors.tsx - statistics of tensors: a picture of all of them, the quantiles of the update ratio, and the panel
// of one tensor.
import { useMemo } from "preact/hooks";

import { HeatmapChart } from "../charts/heat";
import { RIGHT } from "../charts/linechart";
import { msOf } from "../charts/span";
import { Button, Card, Field, Legend } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { Loaded } from "../components/empty";
import type { Column } from "../components/table";
import { params, setParam } from "../state";
import type { HealthIndex, HealthMatrix } from "../types";
import { plural } from "../words";
import { type HealthAsk, useMatrix, useSharper, useTensor } from "./health_data";
import { CurveChart } from "./health_lines";
import { cellText, type Curve, exactly, histogramOf, lastOf, matricesOf, quantileCurves, RATIO, shadeOf, tensorHeat } from "./health_model";

/** Sums, histograms and facts: no picture would show anything about them. */
const UNSEEN = /^(weight\.sum|parameter\.dims|nonfinite\.origin)$|\.exponents$/;

interface Statistic {
  readonly name: string;
  readonly unit: string;
  readonly title: string;
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** The pictures that there are of a rank: the gradient beside the weight first. */
export function statisticsOf(index: HealthIndex, rank: number): Statistic[] {
  const mine = index.statistics.filter((s) => s.rank === rank && !UNSEEN.test(s.statistic));
  const has = (name: string): boolean => mine.some((s) => s.statistic === name);
  const ratio = has("gradient.l2") && has("weight.l2") ? [{ name: RATIO, unit: "", title: "norm of the gradient over that of the weight" }] : [];
  const all = mine.map((s) => ({ name: s.statistic, unit: s.unit, title: s.help }));
  const first = (s: Statistic): number => (s.name === "update.ratio" ? 0 : 1);
  return [...ratio, ...all.sort((a, b) => first(a) - first(b))];
}

// ---- the picture ----

interface TensorRow {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly bad: number;
}

const known = (r: TensorRow): number[] => r.values.filter((v): v is number => v !== null);

function tableColumns(unit: string): Column<TensorRow>[] {
  const number = (id: string, title: string, of: (r: TensorRow) => number | null): Column<TensorRow> => ({ id, title, numeric: true, cell: (r) => cellText(of(r), unit), sort: of });
  return [
    { id: "name", title: "Tensor or module", cell: (r) => r.name, sort: (r) => r.name },
    { id: "samples", title: "Samples", numeric: true, cell: (r) => String(known(r).length), sort: (r) => known(r).length },
    number("min", "Smallest", (r) => (known(r).length === 0 ? null : known(r).reduce((a, b) => Math.min(a, b)))),
    number("max", "Largest", (r) => (known(r).length === 0 ? null : known(r).reduce((a, b) => Math.max(a, b)))),
    number("last", "Last", (r) => lastOf(r.values)),
    { id: "bad", title: "Not finite", numeric: true, cell: (r) => String(r.bad), sort: (r) => r.bad },
  ];
}

function pictureSentence(m: HealthMatrix, unit: string): string {
  const bad = m.tensors.filter((t) => t.bad.length > 0).map((t) => t.name);
  const ends = m.tensors.map((t) => ({ name: t.name, last: lastOf(t.values) })).filter((t): t is { name: string; last: number } => t.last !== null);
  const sorted = [...ends].sort((a, b) => a.last - b.last);
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  const range = least && most ? ` At the end from ${cellText(least.last, unit)} (${least.name}) to ${cellText(most.last, unit)} (${most.name}).` : "";
  return `${plural(m.tensors.length, "row")}, ${plural(m.samples, "sample")}.${range}${bad.length === 0 ? "" : ` Not finite: ${bad.slice(0, 3).join(", ")}${bad.length > 3 ? ` and ${bad.length - 3} more` : ""}.`}`;
}

function Picture(p: { ask: HealthAsk; whole: HealthMatrix; statistic: Statistic; match: string }) {
  const { ask, whole, statistic } = p;
  const sharper = useSharper(ask, statistic.name, p.match, whole);
  const shade = useMemo(() => shadeOf(whole, statistic.unit), [whole, statistic.unit]);
  const data = useMemo(() => {
    const m = sharper ?? whole;
    const span = sharper === null ? ask.sync.whole : ask.asked.span;
    return tensorHeat(m, shade, statistic.unit, span, ask.axis, Math.max(ask.pixels, 50), ask.left);
  }, [whole, sharper, shade, ask.axis, ask.pixels, ask.left, ask.sync.whole.from, ask.sync.whole.to]);
  if (whole.tensors.length === 0) return <p class="quiet">No tensor or module has this statistic and matches the filter.</p>;
  const rows = whole.tensors.map((t) => ({ name: t.name, values: t.values, bad: t.bad.length }));
  return (
    <ChartFrame
      title={sentence(statistic.title)}
      class="nodes-chart health-picture"
      summary={pictureSentence(whole, statistic.unit)}
      table={() => ({ columns: tableColumns(statistic.unit), rows })}
      legend={
        <Legend items={whole.nonfinite > 0 ? [{ key: "bad", color: "rgb(226 29 46)", text: "NaN or infinite" }] : []}>
          <li class="quiet">
            Hatched: not measured. {plural(whole.samples, "sample")}
            {whole.more > 0 ? `; ${whole.more} more rows are left out: use the filter` : ""}. Click a row, or press Enter on it, for its statistics.
          </li>
        </Legend>
      }
    >
      <HeatmapChart sync={ask.sync} data={data} phases={[]} left={ask.left} label={sentence(statistic.title)} onPick={(row) => setParam("tensor", whole.tensors[row]?.name ?? null)} />
    </ChartFrame>
  );
}

export function TensorPicture(p: { ask: HealthAsk; match: string }) {
  const all = statisticsOf(p.ask.index, p.ask.rank);
  const statistic = all.find((s) => s.name === params.value["stat"]) ?? all[0];
  const load = useMatrix(p.ask, statistic?.name ?? null, p.match);
  if (statistic === undefined) return null;
  const choice = (
    <Field label="Statistic">
      {(id) => (
        <select id={id} value={statistic.name} onChange={(e) => setParam("stat", e.currentTarget.value)}>
          {all.map((s) => (
            <option key={s.name} value={s.name}>
              {s.name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
  return (
    <Card title="Tensors and modules" actions={choice} class="health-tensors">
      <Loaded load={load} what={statistic.title}>
        {(m) => <Picture ask={p.ask} whole={m} statistic={statistic} match={p.match} />}
      </Loaded>
    </Card>
  );
}

// ---- update ratios ----

const USUAL = [1e-5, 1e-2] as const;

const QUANTILE_LABEL: Readonly<Record<string, string>> = { p5: "p5", p50: "median", p95: "p95" };

export function UpdateRatios(p: { ask: HealthAsk; match: string }) {
  const has = (name: string): boolean => p.ask.index.statistics.some((s) => s.rank === p.ask.rank && s.statistic === name);
  const updates = useMatrix(p.ask, has("update.ratio") ? "update.ratio" : null, p.match);
  const dims = useMatrix(p.ask, has("parameter.dims") ? "parameter.dims" : null, p.match);
  const curves = useMemo(
    () => (updates.data === null ? null : quantileCurves(p.ask.run.run, updates.data, matricesOf(dims.data), p.ask.axis)),
    [updates.data, dims.data, p.ask.axis],
  );
  if (curves === null || curves.every((c) => c.v.every((v) => v === null))) return null;
  return (
    <Card title="Update ratio" hint={`over all matrices; of most healthy models between ${USUAL[0]} and ${USUAL[1]}`}>
      <CurveChart
        ask={p.ask}
        curves={curves}
        picture={{ title: "Norm of the change by one step over the norm of the parameter", log: true, height: 170, marked: true, label: (c) => QUANTILE_LABEL[c.entity] ?? c.entity }}
      />
    </Card>
  );
}

// ---- one tensor ----

const curveOfTensor = (ask: HealthAsk, m: HealthMatrix): Curve[] => {
  const x = ask.axis === "step" ? m.step : m.time_ns.map(msOf);
  return m.tensors.slice(0, 1).map((t) => ({ node: ask.run.run, metric: m.statistic, entity: t.name, x, v: t.values, min: t.values, max: t.values }));
};

function TensorChart(p: { ask: HealthAsk; m: HealthMatrix; unit: string }) {
  const curves = useMemo(() => curveOfTensor(p.ask, p.m), [p.m, p.ask.axis]);
  const log = shadeOf(p.m, p.unit).log && curves.some((c) => c.v.some((v) => (v ?? 0) > 0));
  return <CurveChart ask={p.ask} curves={curves} picture={{ title: p.m.statistic, log, low: p.unit === "share" ? "zero" : "data", height: 130, label: (c) => c.metric }} />;
}

const HISTOGRAMS = [
  { name: "gradient.exponents", title: "Gradient by power of two" },
  { name: "weight.exponents", title: "Weight by power of two" },
  { name: "output.exponents", title: "Output by power of two" },
] as const;

/** How the values of a tensor are distributed, over time. */
function TensorHistogram(p: { ask: HealthAsk; tensor: string; statistic: string; title: string }) {
  const { ask } = p;
  const has = ask.index.statistics.some((s) => s.rank === ask.rank && s.statistic === p.statistic);
  const load = useMatrix(ask, has ? p.statistic : null, exactly(p.tensor));
  const found = useMemo(() => (load.data === null ? null : histogramOf(load.data)), [load.data]);
  const data = useMemo(() => {
    if (found === null || found.tensors.length === 0) return null;
    const high = found.tensors.reduce((most, t) => t.values.reduce((a: number, b) => Math.max(a, b ?? 0), most), 1e-9);
    return tensorHeat(found, { low: 0, high, log: false }, "share", ask.sync.whole, ask.axis, Math.max(ask.pixels, 50), ask.left);
  }, [found, ask.axis, ask.pixels, ask.left, ask.sync.whole.from, ask.sync.whole.to]);
  if (found === null || data === null) return null;
  const rows = found.tensors.map((t) => ({ name: t.name, values: t.values, bad: 0 }));
  const largest = rows.map((r) => ({ name: r.name, last: lastOf(r.values) ?? 0 })).reduce((a, b) => (b.last > a.last ? b : a));
  return (
    <ChartFrame
      title={p.title}
      class="nodes-chart health-histogram"
      summary={`${plural(rows.length, "row")}, ${plural(found.samples, "sample")}. At the end most values are at ${largest.name}: ${cellText(largest.last, "share")}.`}
      table={() => ({ columns: tableColumns("share"), rows })}
      legend={<Legend items={[]}>{<li class="quiet">The share of values in each sample from this power of two to the next. Hatched: not measured.</li>}</Legend>}
    >
      <HeatmapChart sync={ask.sync} data={data} phases={[]} left={ask.left} label={p.title} />
    </ChartFrame>
  );
}

export function TensorPanel(p: { ask: HealthAsk }) {
  const name = params.value["tensor"] ?? "";
  const all = statisticsOf(p.ask.index, p.ask.rank);
  const load = useTensor(p.ask, name === "" ? null : exactly(name), all.map((s) => s.name));
  if (name === "") return null;
  const half = { ...p.ask, left: 66, right: RIGHT };
  return (
    <Card
      title={name}
      hint="statistics of one tensor or module"
      class="health-tensor"
      actions={
        <Button kind="quiet" label={`Close: ${name}`} onClick={() => setParam("tensor", null)}>
          Close
        </Button>
      }
    >
      <Loaded load={load} what={name}>
        {(found) =>
          found.length === 0 ? (
            <p class="quiet">No statistics of this tensor were recorded.</p>
          ) : (
            <div class="metrics-grid">
              {found.map((m) => (
                <TensorChart key={m.statistic} ask={half} m={m} unit={all.find((s) => s.name === m.statistic)?.unit ?? ""} />
              ))}
            </div>
          )
        }
      </Loaded>
      {HISTOGRAMS.map((h) => (
        <TensorHistogram key={h.name} ask={p.ask} tensor={name} statistic={h.name} title={h.title} />
      ))}
    </Card>
  );
}
