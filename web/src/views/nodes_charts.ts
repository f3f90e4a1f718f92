// SPDX-License-Identifier: Apache-2.0
// nodes_charts.ts - which line charts the Nodes view has, and from what was recorded and chosen:
// what to request from the server and how each line looks. Nothing here draws or fetches.
import { keyOf } from "../charts/columns";
import type { LineLook } from "../charts/linechart";
import { seriesColorName } from "../palette";
import type { MetricInfo, RunInfo } from "../types";

export interface ChartMetric {
  readonly metric: string;
  readonly title: string;
}

export interface ChartKind {
  readonly id: string;
  readonly title: string;
  /** Metrics that are drawn where they were recorded; of an inner list the first that was. */
  readonly metrics: readonly (ChartMetric | readonly ChartMetric[])[];
  readonly noun: string; // what one device is called
  readonly picks: boolean; // single devices can be added
  readonly drag: "zoom" | "select";
}

export const CHARTS = {
  cpu: {
    id: "cpu",
    title: "CPU utilization",
    metrics: [{ metric: "cpu.util", title: "CPU" }],
    noun: "core",
    picks: true,
    drag: "zoom",
  },
  net: {
    id: "net",
    title: "Network utilization",
    metrics: [
      { metric: "net.rx", title: "received" },
      { metric: "net.tx", title: "sent" },
    ],
    noun: "interface",
    picks: true,
    drag: "zoom",
  },
  gpu: {
    id: "gpu",
    title: "GPU utilization",
    metrics: [
      { metric: "gpu.util", title: "GPU" },
      { metric: "gpu.sm_active", title: "SM active" },
      { metric: "gpu.tensor_active", title: "tensor active" },
      { metric: "gpu.dram_active", title: "DRAM active" },
    ],
    noun: "GPU",
    picks: true,
    drag: "zoom",
  },
  gpumem: {
    id: "gpumem",
    title: "GPU memory",
    metrics: [
      [
        { metric: "gpu.mem", title: "used" },
        { metric: "gpu.mem_used", title: "used" },
        { metric: "gpu.mem_util", title: "memory controller busy" },
      ],
    ],
    noun: "GPU",
    picks: true,
    drag: "zoom",
  },
  power: {
    id: "power",
    title: "GPU power",
    metrics: [
      { metric: "gpu.power", title: "power" },
      { metric: "gpu.power_limit", title: "limit" },
    ],
    noun: "GPU",
    picks: true,
    drag: "zoom",
  },
  clock: {
    id: "clock",
    title: "GPU SM clock",
    metrics: [{ metric: "gpu.clock_sm", title: "SM clock" }],
    noun: "GPU",
    picks: true,
    drag: "zoom",
  },
  pcie: {
    id: "pcie",
    title: "PCIe throughput",
    metrics: [
      { metric: "gpu.pcie_rx", title: "to GPU" },
      { metric: "gpu.pcie_tx", title: "from GPU" },
    ],
    noun: "GPU",
    picks: true,
    drag: "zoom",
  },
  system: {
    id: "system",
    title: "System metrics over time",
    metrics: [
      { metric: "cpu.util", title: "total CPU" },
      { metric: "gpu.util", title: "GPU" },
      { metric: "cpu.iowait", title: "I/O wait" },
    ],
    noun: "device",
    picks: false,
    drag: "select",
  },
} as const satisfies Record<string, ChartKind>;

const DASHES: readonly (readonly number[] | undefined)[] = [undefined, [7, 4], [2, 3], [9, 3, 2, 3]];
const TOTAL = "total";
export const MEAN = "*mean*";

/** The lines of one chart, and what must be requested for them. */
export interface ChartPlan {
  readonly looks: readonly LineLook[];
  readonly asks: readonly string[]; // "cpu.util:total"
  readonly devices: readonly string[]; // that can be chosen
  readonly unit: string;
}

const recorded = (run: RunInfo, node: string, metric: string): MetricInfo[] =>
  run.metrics.filter((m) => m.metric === metric && (node === "" || m.node === node));

/** Of alternatives the first that was recorded. */
function metricsOf(run: RunInfo, node: string, kind: ChartKind): ChartMetric[] {
  return kind.metrics.flatMap((m) => {
    const choices: readonly ChartMetric[] = "metric" in m ? [m] : m;
    const found = choices.find((c) => recorded(run, node, c.metric).length > 0);
    return found ? [found] : [];
  });
}

const isDevice = (entity: string): boolean => entity !== TOTAL && entity !== "node" && entity !== "job";

/** The entity that represents all devices of a metric. */
export function meanEntity(info: MetricInfo): string {
  if (info.entities.includes(TOTAL)) return TOTAL;
  return info.entities.length === 1 ? (info.entities[0] as string) : MEAN;
}

/** cpu2 before cpu10. */
export const byNumber = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

function meanLabel(info: MetricInfo, title: string, kind: ChartKind): string {
  const n = info.entities.filter(isDevice).length;
  if (kind.id === "net") return `${title}, ${info.entities.includes(TOTAL) ? "total" : "mean"}`;
  return n > 1 ? `${title}, mean of ${n} ${kind.noun}s` : title;
}

export function planChart(run: RunInfo, node: string, kind: ChartKind, chosen: readonly string[]): ChartPlan {
  const looks: LineLook[] = [];
  const asks = new Set<string>();
  const devices = new Set<string>();
  const metrics = metricsOf(run, node, kind);
  const severalNodes = node === "" && run.nodes.length > 1;
  const add = (info: MetricInfo, entity: string, label: string, dash: number): void => {
    const line = DASHES[dash % DASHES.length];
    const shown = severalNodes ? `${info.node}: ${label}` : label;
    const key = keyOf({ ...info, entity });
    if (looks.some((l) => l.key === key)) return;
    looks.push({ key, label: shown, colour: seriesColorName(looks.length), ...(line ? { dash: line } : {}) });
    asks.add(`${info.metric}:${entity}`);
  };
  metrics.forEach((m, k) => {
    for (const info of recorded(run, node, m.metric)) {
      const title = kind.id === "system" ? m.title : meanLabel(info, m.title, kind);
      add(info, meanEntity(info), title, k);
      for (const e of info.entities) if (isDevice(e)) devices.add(e);
    }
  });
  metrics.forEach((m, k) => {
    for (const info of recorded(run, node, m.metric))
      for (const e of info.entities)
        if (kind.picks && isDevice(e) && chosen.includes(e)) add(info, e, metrics.length > 1 ? `${e} ${m.title}` : e, k);
  });
  const unit = metrics[0] ? (recorded(run, node, metrics[0].metric)[0]?.unit ?? "") : "";
  return { looks, asks: [...asks], devices: [...devices].sort(byNumber), unit };
}

/** Why a chart of these metrics or parts has no line, from what the recorder noted; null when it noted nothing. */
export function absence(run: RunInfo, node: string, subjects: readonly string[]): string | null {
  const here = run.losses.filter((l) => node === "" || l.node === null || l.node === node);
  return here.find((l) => subjects.includes(l.metric ?? l.part ?? ""))?.why ?? null;
}

/** Why there is no GPU on the node, or on any. */
export function gpuAbsence(run: RunInfo, node: string): string | null {
  const nodes = run.nodes.filter((n) => node === "" || n.id === node);
  return nodes.find((n) => n.gpu_absent !== null)?.gpu_absent ?? absence(run, node, ["nvml", "gpu.util"]);
}
