// SPDX-License-Identifier: Apache-2.0
// metrics.tsx - the Metrics view: a chart of everything that was recorded, metrics and the program's own counters
// and marks. Charts can be searched and pinned to the top, there in one chart too. All share one window.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { api } from "../api";
import { RIGHT } from "../charts/linechart";
import { Button, Card, Choice } from "../components/basics";
import { Empty, Loaded } from "../components/empty";
import { FilterBox, hasWords } from "../components/filter_box";
import { useWidth } from "../components/width";
import { useLoad } from "../load";
import { params, selection, setParam } from "../state";
import type { Grid, RunInfo } from "../types";
import type { ViewProps } from "../views";
import { lossTitle, plural } from "../words";
import {
  chartMatches,
  counterCharts,
  inGroups,
  inPercent,
  type MetricChart,
  metricCharts,
  planMetrics,
  topOf,
  withMarks,
} from "./metrics_plan";
import { Toolbar } from "./nodes_bar";
import type { ChartKind, ChartPlan } from "./nodes_charts";
import { type Ask, joined, nodeShown, pointsFor, useAsked, useSlowTick, useSync, useWindowed } from "./nodes_data";
import { LinePanel } from "./nodes_lines";
import "./nodes.css";
import "./metrics.css";

const LEFT = 76;
const [HEIGHT, PINNED_HEIGHT] = [130, 190];
const TWO = 1000; // pixels from which on two charts are side by side
const [GAP, EDGE] = [24, 34]; // between them, and of the card around them
const PIXELS_STEP = 50;
const NEAR = "400px"; // a chart is loaded before it comes into sight

const MARKS_APART = 2; // names of marks that have a chart each

const PINS = "pin";

const pinned = (): string[] => (params.value[PINS] ?? "").split(",").filter((k) => k !== "").map(decodeURIComponent);

function togglePin(key: string): void {
  const now = pinned();
  const next = now.includes(key) ? now.filter((k) => k !== key) : [...now, key];
  setParam(PINS, next.map(encodeURIComponent).join(","));
}

/** Whether an element came near the visible part of the page once, and whether it is there now. */
function useNear(): [{ current: HTMLDivElement | null }, boolean, boolean] {
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState(false);
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (box.current === null) return undefined;
    const watch = new IntersectionObserver(
      (entries) => {
        const now = entries[entries.length - 1]?.isIntersecting === true;
        setNear(now);
        if (now) setSeen(true);
      },
      { rootMargin: NEAR },
    );
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return [box, seen, near];
}

const isCounter = (ask: string): boolean => ask.startsWith("counter:");

/** The columns of metrics and counters together. */
async function loadGrid(run: RunInfo, at: string, plan: ChartPlan, q: { from: number; to: number; points: number }, signal: AbortSignal): Promise<Grid> {
  const where = at === "" ? q : { ...q, node: at };
  const metric = plan.asks.filter((a) => !isCounter(a));
  const counters = plan.asks.filter(isCounter).map((a) => a.slice("counter:".length));
  const parts: Promise<Grid>[] = counters.map((name) => api.counters(run.run, { ...where, name }, signal));
  if (metric.length > 0) parts.unshift(api.grid(run.run, { ...where, metric }, signal));
  return joined(await Promise.all(parts));
}

function PinButton(p: { chart: MetricChart }) {
  const on = pinned().includes(p.chart.key);
  return (
    <Button kind="quiet" pressed={on} label={`${on ? "Unpin" : "Pin"}: ${p.chart.title}`} onClick={() => togglePin(p.chart.key)}>
      {on ? "Unpin" : "Pin"}
    </Button>
  );
}

/** One or several metrics in one chart, loaded when it comes near. */
function Chart(p: { charts: readonly MetricChart[]; ask: Ask; title?: string; height: number }) {
  const { charts, ask } = p;
  const [box, seen, near] = useNear();
  const chosen = selection.value;
  const plan = useMemo(() => planMetrics(charts, chosen), [JSON.stringify(charts), chosen]);
  const here: Ask = { ...ask, run: { ...ask.run, live: ask.run.live && near }, pixels: seen ? ask.pixels : 0 };
  const grid = useWindowed(here, ["metrics", ...plan.asks].join(" "), (from, to, signal) => {
    const apart = plan.asks.every(isCounter) ? null : ask.run.interval_ms; // counters come when the program reports them
    const points = pointsFor({ from: from / 1e6, to: to / 1e6 }, ask.pixels, plan.looks.length, apart);
    return loadGrid(ask.run, ask.node, plan, { from, to, points }, signal);
  });
  const first = charts[0];
  const mixed = new Set(charts.map((c) => c.unit)).size > 1;
  const title = p.title ?? first?.title ?? "";
  const kind: ChartKind = useMemo(
    () => ({ id: `metric-${charts.map((c) => c.key.replace(/\W/g, "-")).join("-")}`, title, metrics: [], noun: "entity", picks: true, drag: "zoom" }),
    [title, plan],
  );
  const drawn = useMemo(() => (mixed && grid.data !== null ? inPercent(grid.data) : null), [mixed, grid.data]);
  if (first === undefined) return null;
  const single = charts.length === 1 ? first : null;
  return (
    <div ref={box} class="metrics-chart" data-chart={charts.map((c) => c.key).join(" ")}>
      {seen ? (
        <Loaded load={grid} what={title}>
          {(data) => (
            <LinePanel
              kind={kind}
              plan={plan}
              grid={data}
              sync={ask.sync}
              intervalMs={charts.every((c) => c.counter) ? Infinity : ask.run.interval_ms}
              left={LEFT}
              height={p.height}
              top={mixed ? 100 : topOf(data, plan)}
              low={single?.counter === true && single.unit === "" ? "data" : "zero"}
              {...(single === null || single.name === title ? {} : { name: single.name })}
              {...(single === null ? {} : { actions: <PinButton chart={single} /> })}
              {...(drawn === null ? {} : { drawn })}
            />
          )}
        </Loaded>
      ) : (
        <h3 class="quiet">{title}</h3>
      )}
    </div>
  );
}

const TOGETHER = "together";

function Pinned(p: { charts: readonly MetricChart[]; ask: Ask }) {
  const together = params.value[TOGETHER] === "1" && p.charts.length > 1;
  const mixed = new Set(p.charts.map((c) => c.unit)).size > 1;
  const choice = (
    <Choice
      label="Pinned charts"
      value={together ? "one" : "each"}
      options={[
        { value: "each", text: "One chart each" },
        { value: "one", text: "All in one chart" },
      ]}
      onChange={(v) => setParam(TOGETHER, v === "one" ? "1" : null)}
    />
  );
  return (
    <Card title="Pinned" class="metrics-pinned" {...(p.charts.length > 1 ? { actions: choice } : {})}>
      {together ? (
        <>
          <Chart charts={p.charts} ask={p.ask} height={PINNED_HEIGHT} title={mixed ? "Pinned metrics, each in percent of its largest value" : "Pinned metrics"} />
          <div class="row">
            {p.charts.map((c) => (
              <PinnedName key={c.key} chart={c} />
            ))}
          </div>
        </>
      ) : (
        <div class="metrics-grid">
          {p.charts.map((c) => (
            <Chart key={c.key} charts={[c]} ask={p.ask} height={PINNED_HEIGHT} />
          ))}
        </div>
      )}
    </Card>
  );
}

function PinnedName(p: { chart: MetricChart }) {
  return (
    <Button kind="quiet" label={`Unpin: ${p.chart.title}`} onClick={() => togglePin(p.chart.key)}>
      {p.chart.title} <span aria-hidden="true">✕</span>
    </Button>
  );
}

/** What the words of the search were about but was not recorded, with the reason. */
function Absent(p: { run: RunInfo; filter: string }) {
  const here = p.run.losses.filter((l) => l.kind === "absent" && hasWords(`${l.what} ${l.title}`, p.filter));
  if (p.filter.trim() === "" || here.length === 0) return null;
  return (
    <Card title="Not measured">
      <ul>
        {here.map((l, i) => (
          <li key={i}>
            {lossTitle(l.what, l.title)}: {l.why}
          </li>
        ))}
      </ul>
    </Card>
  );
}

export function MetricsView(p: ViewProps) {
  const { run } = p;
  const [box, wide] = useWidth();
  const at = nodeShown(run);
  const sync = useSync(run);
  const asked = useAsked(sync);
  const counters = useLoad(`${run.run} ${at}`, (signal) => api.counters(run.run, { points: 1, node: at }, signal), useSlowTick(run.live), true);
  const known = JSON.stringify(run.metrics);
  const charts = useMemo(
    () => [...withMarks(counterCharts(counters.data?.series ?? []), MARKS_APART), ...metricCharts(run.metrics, at)],
    [known, at, counters.data],
  );
  const filter = params.value["q"] ?? "";
  const found = charts.filter((c) => chartMatches(c, filter));
  const pins = pinned();
  const atTop = pins.flatMap((k) => charts.filter((c) => c.key === k));
  const columns = wide >= TWO ? 2 : 1;
  const each = (wide - EDGE - (columns - 1) * GAP) / columns;
  const pixels = Math.ceil(Math.max(each - LEFT - RIGHT, 0) / PIXELS_STEP) * PIXELS_STEP;
  const ask: Ask = { run, node: at, sync, asked, pixels };
  return (
    <div class="nodes metrics" ref={box}>
      <Toolbar run={run} at={at} sync={sync} loading={false} />
      <div class="row metrics-tools">
        <FilterBox label="Filter metrics" hint="memory, power, loss …" param="q" />
        <span class="quiet" role="status">
          {found.length === charts.length ? plural(charts.length, "metric") : `${found.length} of ${plural(charts.length, "metric")}`}
        </span>
      </div>
      {charts.length === 0 && (
        <Empty title="No metrics were recorded" command="footplate doctor">
          Imported traces contain no system metrics. footplate doctor lists what can be measured on a machine.
        </Empty>
      )}
      {atTop.length > 0 && <Pinned charts={atTop} ask={ask} />}
      {charts.length > 0 && found.length === 0 && <p class="quiet">No matches.</p>}
      {inGroups(found).map((g) => (
        <Card key={g.title} title={g.title} hint={plural(g.charts.length, "metric")}>
          <div class="metrics-grid">
            {g.charts.map((c) => (
              <Chart key={c.key} charts={[c]} ask={ask} height={HEIGHT} />
            ))}
          </div>
        </Card>
      ))}
      <Absent run={run} filter={filter} />
    </div>
  );
}
