// SPDX-License-Identifier: Apache-2.0
// words.ts - the words and marks for states, the same everywhere on the page.
import type { RuleState, RunStatus, Severity, StatMetric } from "./types";

type Kind = "good" | "info" | "warning" | "critical" | "neutral" | "live";

export const STATUS: Readonly<Record<RunStatus, { kind: Kind; icon: string }>> = {
  running: { kind: "live", icon: "●" },
  finished: { kind: "good", icon: "✓" },
  failed: { kind: "critical", icon: "✕" },
  interrupted: { kind: "warning", icon: "⏸" },
  stopped: { kind: "neutral", icon: "■" },
  died: { kind: "critical", icon: "✕" },
};

export const SEVERITY: Readonly<Record<Severity, { kind: Kind; icon: string }>> = {
  critical: { kind: "critical", icon: "▲" },
  warning: { kind: "warning", icon: "◆" },
  info: { kind: "info", icon: "●" },
};

export const RULE_STATE: Readonly<Record<RuleState, { kind: Kind; icon: string; text: string }>> = {
  issue: { kind: "warning", icon: "◆", text: "Issue found" },
  clear: { kind: "good", icon: "✓", text: "No issue found" },
  not_evaluated: { kind: "neutral", icon: "–", text: "Not evaluated" },
};

/** The resources of the summary, in the order they are shown. */
export const RESOURCES: readonly { id: StatMetric; title: string }[] = [
  { id: "cpu", title: "Total CPU utilization" },
  { id: "gpu", title: "Total GPU utilization" },
  { id: "cpu_memory", title: "CPU memory utilization" },
  { id: "gpu_memory", title: "GPU memory utilization" },
  { id: "io_wait", title: "I/O wait" },
  { id: "net_in", title: "Network in" },
  { id: "net_out", title: "Network out" },
  { id: "gpu_sm", title: "GPU SMs active" },
  { id: "gpu_tensor", title: "GPU tensor cores" },
  { id: "gpu_dram", title: "GPU memory bandwidth" },
  { id: "gpu_power", title: "GPU power" },
];

/** Why a GPU's clock is held down, by the key of clock_held_pct. */
export const CLOCK_HOLDS: Readonly<Record<string, string>> = {
  clock_setting: "the clocks that are set",
  power_cap: "the power limit",
  hw_slowdown: "a hardware slowdown",
  sync_boost: "sync boost",
  thermal: "heat (driver)",
  hw_thermal: "heat (hardware)",
  power_brake: "an external power brake",
  display_clock: "the display's clock",
};

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

const PARTS: Readonly<Record<string, string>> = {
  data: "Data loading",
  h2d: "Copy to device",
  forward: "Forward",
  backward: "Backward",
  optimizer: "Optimizer",
  graph: "CUDA graph",
  sync: "Wait for the GPU",
  comm: "Collectives",
  compile: "Compile",
  checkpoint: "Checkpoint",
  between: "Between steps",
  other: "Other",
};

/** What a step was spent on, as people call it. */
export function partTitle(part: string): string {
  return PARTS[part] ?? part;
}
