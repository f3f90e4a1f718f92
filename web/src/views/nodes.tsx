// SPDX-License-Identifier: Apache-2.0
// nodes.tsx - the Nodes view: metrics of the nodes over time, and the events of the training loop. All
// charts share one window, one cursor and one selected interval.
import { useMemo } from "preact/hooks";

import { RIGHT } from "../charts/linechart";
import { Card, Choice } from "../components/basics";
import { Empty, Loaded } from "../components/empty";
import { useWidth } from "../components/width";
import type { Load } from "../load";
import { params, selection, setParam } from "../state";
import type { Grid, RunInfo } from "../types";
import type { ViewProps } from "../views";
import { hasGpu } from "../words";
import { Toolbar } from "./nodes_bar";
import { absence, type ChartKind, CHARTS, type ChartPlan, planChart } from "./nodes_charts";
import { type Ask, nodeShown, useAsked, useGrid, useSync } from "./nodes_data";
import { FrameworkPanel } from "./nodes_framework";
import { HeatmapPanel } from "./nodes_heatmap";
import { HistogramsPanel, NoGpu } from "./nodes_hist";
import { LinePanel } from "./nodes_lines";
import { StepsPanel } from "./nodes_steps";
import "./nodes.css";

const LEFT = 112; // room for the names of lanes, in all charts, so that times lie below each other
const [PHONE_LEFT, PHONE_LANES_LEFT] = [66, 84];
const PHONE = 600;
const PIXELS_STEP = 50; // a window made a little wider needs no new request

type Plans = Record<keyof typeof CHARTS, ChartPlan>;

/** One of these is shown: power, clock or PCIe throughput. */
const MORE = [
  { value: "power", text: "Power" },
  { value: "clock", text: "SM clock" },
  { value: "pcie", text: "PCIe" },
] as const;
type More = (typeof MORE)[number]["value"];

const moreShown = (): More => MORE.find((m) => m.value === params.value["gpumore"])?.value ?? "power";

function plansFor(run: RunInfo, at: string, chosen: readonly string[]): Plans {
  const plan = (kind: ChartKind): ChartPlan => planChart(run, at, kind, chosen);
  return {
    cpu: plan(CHARTS.cpu),
    net: plan(CHARTS.net),
    gpu: plan(CHARTS.gpu),
    gpumem: plan(CHARTS.gpumem),
    power: plan(CHARTS.power),
    clock: plan(CHARTS.clock),
    pcie: plan(CHARTS.pcie),
    system: plan(CHARTS.system),
  };
}

export function NodesView(p: ViewProps) {
  const { run } = p;
  const [box, wide] = useWidth();
  const at = nodeShown(run);
  const sync = useSync(run);
  const asked = useAsked(sync);
  const known = JSON.stringify(run.metrics);
  const plans = useMemo(() => plansFor(run, at, selection.value), [run.run, known, at, selection.value]);
  const more = moreShown();
  const asks = useMemo(() => {
    const shown = Object.entries(plans).filter(([id]) => id === more || !MORE.some((m) => m.value === id));
    return [...new Set(shown.flatMap(([, plan]) => plan.asks))];
  }, [plans, more]);
  const left = wide < PHONE ? PHONE_LEFT : LEFT;
  const pixels = Math.ceil(Math.max(wide - left - RIGHT, 0) / PIXELS_STEP) * PIXELS_STEP;
  const ask: Ask = { run, node: at, sync, asked, pixels };
  const grid = useGrid(ask, asks);
  return (
    <div class="nodes" ref={box}>
      <Toolbar run={run} at={at} sync={sync} loading={grid.loading} />
      <p class="nodes-how for-mouse">Drag or wheel: zoom · Shift-drag: pan · double click: whole run · drag in System and framework: select an interval</p>
      <p class="nodes-how for-touch">Drag across a chart: zoom · + and −: zoom · drag in System and framework: select an interval</p>
      <Card title="CPU and network">
        <Line kind={CHARTS.cpu} plans={plans} grid={grid} ask={ask} left={left} />
        <Line kind={CHARTS.net} plans={plans} grid={grid} ask={ask} left={left} />
      </Card>
      {hasGpu(run, at) && (
        <Card title="GPU">
          {plans.gpu.looks.length === 0 && plans.gpumem.looks.length === 0 ? (
            <NoGpu run={run} node={at} />
          ) : (
            <>
              <Line kind={CHARTS.gpu} plans={plans} grid={grid} ask={ask} left={left} />
              <Line kind={CHARTS.gpumem} plans={plans} grid={grid} ask={ask} left={left} />
              <div class="nodes-more">
                <Choice label="Other GPU metric" value={more} options={MORE} onChange={(m) => setParam("gpumore", m === "power" ? null : m)} />
              </div>
              <Line key={more} kind={CHARTS[more]} plans={plans} grid={grid} ask={ask} left={left} />
            </>
          )}
        </Card>
      )}
      <Card title={hasGpu(run, at) ? "All cores and GPUs" : "All cores"}>
        <HeatmapPanel ask={ask} left={left} />
      </Card>
      <Card title="System and framework">
        <FrameworkPanel ask={ask} grid={plans.system.looks.length > 0 ? grid.data : null} plan={plans.system} left={wide < PHONE ? PHONE_LANES_LEFT : LEFT} />
      </Card>
      <Card title="Time spent in training">
        <StepsPanel run={run} node={at} />
      </Card>
      <Card title="Distributions" hint="in the visible window">
        <HistogramsPanel ask={ask} />
      </Card>
    </div>
  );
}

function Line(p: { kind: ChartKind; plans: Plans; grid: Load<Grid>; ask: Ask; left: number }) {
  const plan = p.plans[p.kind.id as keyof Plans];
  if (plan.looks.length === 0) return <NothingRecorded kind={p.kind} run={p.ask.run} node={p.ask.node} />;
  return (
    <Loaded load={p.grid} what={p.kind.title}>
      {(grid) => (
        <LinePanel key={p.ask.node} kind={p.kind} plan={plan} grid={grid} sync={p.ask.sync} intervalMs={p.ask.run.interval_ms} left={p.left} />
      )}
    </Loaded>
  );
}

function NothingRecorded(p: { kind: ChartKind; run: RunInfo; node: string }) {
  const names = p.kind.metrics.flatMap((m) => ("metric" in m ? [m.metric] : m.map((x) => x.metric)));
  const why = absence(p.run, p.node, names);
  const title = `${p.kind.title} was not recorded${why === null ? "" : `: ${why}`}`;
  return (
    <Empty title={title} command="footplate doctor">
      Imported traces contain no system metrics. footplate doctor lists what can be measured on a machine.
    </Empty>
  );
}
