// SPDX-License-Identifier: Apache-2.0
// metrics_plan.ts - the charts of the Metrics view, from the server's list of what was recorded:
// one for each metric and counter, in groups by the first word of the name. A metric whose word is
// not listed here is in a group of its own. Nothing here draws or fetches.
import { keyOf } from "../charts/columns";
import type { LineLook } from "../charts/linechart";
import { hasWords } from "../components/filter_box";
import { seriesColorName } from "../palette";
import type { CounterSeries, Grid, GridSeries, MetricInfo } from "../types";
import { readable, sentenceCase } from "../words";
import { byNumber, type ChartPlan, MEAN } from "./nodes_charts";

/** What a chart draws of one node. */
type Source = Pick<MetricInfo, "node" | "metric" | "unit" | "entities">;

export interface MetricChart {
  /** In the address: the name of the metric, or "counter:" and that of the counter. */
  readonly key: string;
  readonly title: string;
  readonly name: string;
  readonly unit: string;
  readonly group: string;
  readonly counter: boolean;
  /** Reported by the program itself. */
  readonly own?: boolean;
  readonly sources: readonly Source[];
}

export const MARKS = "marks"; // the unit of marks: how many there were so far
export const MOST_MARKS = 40; // names of marks in one chart

const OWN = "Counters and marks of the program";
const HOOKS = "Counters of the hooks";

/** Groups by the first word of a metric, in the order in which they are shown; others follow before the last. */
const GROUPS: readonly { title: string; words: readonly string[] }[] = [
  { title: "CPU", words: ["cpu"] },
  { title: "Memory", words: ["mem", "swap"] },
  { title: "Job", words: ["job"] },
  { title: "GPU", words: ["gpu"] },
  { title: "Pressure", words: ["psi"] },
  { title: "Disk", words: ["disk"] },
  { title: "Network", words: ["net"] },
  { title: "Processes of the job", words: ["proc"] },
  { title: "Programs outside of the job", words: ["others"] },
  { title: "Control group", words: ["cgroup"] },
];
const LAST = { title: "Footplate itself", words: ["self"] };

function groupOf(metric: string): string {
  const word = metric.split(".")[0] ?? "";
  return [...GROUPS, LAST].find((g) => g.words.includes(word))?.title ?? sentenceCase(readable(word));
}

function grouped<T>(all: readonly T[], key: (x: T) => string): Map<string, T[]> {
  const out = new Map<string, T[]>();
  for (const x of all) out.set(key(x), [...(out.get(key(x)) ?? []), x]);
  return out;
}

export function metricCharts(metrics: readonly MetricInfo[], node: string): MetricChart[] {
  const here = metrics.filter((m) => node === "" || m.node === node);
  return [...grouped(here, (m) => m.metric)].map(([name, sources]) => ({
    key: name,
    title: sentenceCase(sources[0]?.title ?? readable(name)),
    name,
    unit: sources[0]?.unit ?? "",
    group: groupOf(name),
    counter: false,
    sources,
  }));
}

/** Series that come one by one, as sources with all their entities. */
export function counterCharts(series: readonly Pick<CounterSeries, "node" | "metric" | "entity" | "unit" | "own">[]): MetricChart[] {
  return [...grouped(series, (s) => s.metric)].map(([name, all]) => ({
    key: `counter:${name}`,
    title: all[0]?.own === true ? name : sentenceCase(readable(name)),
    name,
    unit: all[0]?.unit ?? "",
    group: all[0]?.own === true ? OWN : HOOKS,
    counter: true,
    own: all[0]?.own === true,
    sources: [...grouped(all, (s) => s.node)].map(([node, mine]) => ({
      node,
      metric: name,
      unit: mine[0]?.unit ?? "",
      entities: mine.map((s) => s.entity),
    })),
  }));
}

/** The marks of more than `apart` names in one chart: a program may give each mark a name of its own. */
export function withMarks(charts: readonly MetricChart[], apart = 0): MetricChart[] {
  const marks = charts.filter((c) => c.counter && c.unit === MARKS);
  const first = marks[0];
  if (first === undefined || marks.length <= apart) return [...charts];
  const all = { ...first, key: MARKS, title: "Marks", name: MARKS, sources: marks.flatMap((c) => c.sources) };
  return [...charts.filter((c) => !marks.includes(c)), all];
}

/** The groups that have charts, in order. */
export function inGroups(charts: readonly MetricChart[]): { title: string; charts: MetricChart[] }[] {
  const by = grouped(charts, (c) => c.group);
  const known = [OWN, ...GROUPS.map((g) => g.title), HOOKS];
  const rest = [...by.keys()].filter((g) => !known.includes(g) && g !== LAST.title).sort();
  return [...known, ...rest, LAST.title].flatMap((title) => {
    const mine = by.get(title);
    return mine === undefined ? [] : [{ title, charts: mine }];
  });
}

/** Whether a chart has all words of the filter in its name, title, group or entities. */
export function chartMatches(c: MetricChart, filter: string): boolean {
  return hasWords([c.name, c.title, c.group, ...c.sources.flatMap((s) => s.entities)].join(" "), filter);
}

const TOTAL = "total";
const MOST_LINES = 6; // of one node; more devices are added one by one
const DASHES: readonly (readonly number[] | undefined)[] = [undefined, [7, 4], [2, 3], [9, 3, 2, 3]];
const COLOURS = 8;

/** "python (417)" of "417:python". */
export function entityLabel(entity: string): string {
  if (entity === MEAN) return "mean";
  const found = /^(\d+):(.+)$/.exec(entity);
  return found === null ? entity : `${found[2]} (${found[1]})`;
}

/** The entities of a source that have a line: all where they are few, else the whole and the chosen ones. */
function shownOf(s: Source, counter: boolean, few: number, chosen: readonly string[]): string[] {
  const devices = s.entities.filter((e) => e !== TOTAL).sort(byNumber);
  const total = s.entities.includes(TOTAL) ? [TOTAL] : [];
  if (devices.length <= few) return [...total, ...devices];
  const first = total.length > 0 ? total : counter ? devices.slice(0, few) : [MEAN];
  return [...new Set([...first, ...devices.filter((d) => chosen.includes(d))])];
}

/** The lines of charts that are drawn together; one alone is not named in them. */
export function planMetrics(charts: readonly MetricChart[], chosen: readonly string[]): ChartPlan {
  const looks: LineLook[] = [];
  const asks = new Set<string>();
  const devices = new Set<string>();
  const nodes = new Set(charts.flatMap((c) => c.sources.map((s) => s.node))).size;
  const few = charts.length > 1 ? 1 : nodes > 1 ? 1 : MOST_LINES;
  for (const c of charts) {
    for (const s of c.key === MARKS ? c.sources.slice(0, MOST_MARKS) : c.sources) {
      const shown = shownOf(s, c.counter, few, chosen);
      for (const e of s.entities) if (e !== TOTAL && s.entities.filter((x) => x !== TOTAL).length > few) devices.add(e);
      for (const e of shown) {
        const alone = shown.length === 1 && charts.length > 1;
        const parts = [nodes > 1 ? s.node : "", c.key === MARKS ? s.metric : charts.length > 1 ? c.title : "", alone && e === TOTAL ? "" : entityLabel(e)];
        const dash = DASHES[Math.floor(looks.length / COLOURS) % DASHES.length];
        looks.push({
          key: keyOf({ ...s, entity: e }),
          label: parts.filter((x) => x !== "").join(", "),
          colour: seriesColorName(looks.length),
          unit: c.unit,
          ...(dash ? { dash } : {}),
        });
        asks.add(c.counter ? `counter:${s.metric}` : `${s.metric}:${e}`);
      }
    }
  }
  const units = new Set(charts.map((c) => c.unit));
  return { looks, asks: [...asks], devices: [...devices].sort(byNumber), unit: units.size === 1 ? ([...units][0] ?? "") : "%" };
}

/** Each series in percent of its own largest value, for lines of several units in one chart. */
export function inPercent(grid: Grid): Grid {
  const scaled = (s: GridSeries): GridSeries => {
    const most = [...s.max, ...s.min].reduce<number>((m, v) => Math.max(m, Math.abs(v ?? 0)), 0) || 1;
    const of = (all: readonly (number | null)[]): (number | null)[] => all.map((v) => (v === null ? null : (100 * v) / most));
    return { ...s, v: of(s.v), min: of(s.min), max: of(s.max) };
  };
  return { ...grid, series: grid.series.map(scaled) };
}

/** Percentages end at 100, unless 100 is one core or one of several devices. */
export function topOf(grid: Grid, plan: ChartPlan): number | null {
  if (plan.unit !== "%") return null;
  const keys = new Set(plan.looks.map((l) => l.key));
  const over = grid.series.some((s) => keys.has(keyOf(s)) && s.max.some((v) => (v ?? 0) > 100));
  return over ? null : 100;
}
