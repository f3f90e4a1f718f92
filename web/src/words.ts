// SPDX-License-Identifier: Apache-2.0
// words.ts - the words and marks for states, the same everywhere on the page.
import { LOOKS } from "../made/looks";
import { count } from "./format";
import type { RuleState, RunInfo, RunStatus, Severity, StatMetric } from "./types";

type Kind = "good" | "info" | "warning" | "critical" | "neutral" | "live";

export const STATUS: Readonly<Record<RunStatus, { kind: Kind; icon: string }>> = {
  running: { kind: "live", icon: "●" },
  finished: { kind: "good", icon: "✓" },
  failed: { kind: "critical", icon: "✕" },
  interrupted: { kind: "warning", icon: "!" },
  stopped: { kind: "neutral", icon: "■" },
  died: { kind: "critical", icon: "✕" },
};

/** Statuses with an exit status. */
const BAD_ENDS: readonly RunStatus[] = ["failed", "interrupted", "died"];

/** "failed, exit status 3" */
export function statusText(status: RunStatus, exitStatus: number | null | undefined): string {
  return BAD_ENDS.includes(status) && (exitStatus ?? 0) > 0 ? `${status}, exit status ${exitStatus}` : status;
}

/** "The job failed with exit status 3", as in the terminal and in the report; null where the run finished or runs. */
export function endSentence(run: Pick<RunInfo, "status" | "exit_status" | "nodes"> & Partial<Pick<RunInfo, "marks" | "losses">>): string | null {
  const why = run.nodes.find((n) => n.status === run.status)?.why ?? "";
  const killed = `The job was killed by ${why}`;
  switch (run.status) {
    case "failed":
      if (why.startsWith("SIG")) return killed;
      return (run.exit_status ?? 0) > 0 ? `The job failed with exit status ${run.exit_status}` : "The job failed";
    case "interrupted":
      if (isAttached({ marks: run.marks ?? [], losses: run.losses ?? [] })) return `Recording was stopped (${why === "" ? "interrupted" : why})`;
      if (why === "SIGKILL") return killed;
      return why === "" ? "The job was interrupted" : `The job was interrupted (${why})`;
    case "stopped":
      return why === "" || why === "detached" ? "Recording was stopped" : `Recording was stopped (${why})`;
    case "died":
      return "The recorder ended without closing its files";
    default:
      return null;
  }
}

export { STEPS_OF } from "../made/steps_of"; // frameworks whose steps need no marks

/** Why a run has no steps; "": not known. */
export function whyNoSteps(run: Pick<RunInfo, "losses">): string {
  return run.losses.find((l) => l.what === "steps")?.why ?? "";
}

/** Whether the recorder joined a job that ran already: its hooks were not loaded, its exit status cannot be known. */
export function isAttached(run: Pick<RunInfo, "marks" | "losses">): boolean {
  return run.losses.some((l) => l.what === "steps" && l.why.startsWith("attach ")) || run.marks.some((m) => m.mark === "job-exit" && m.number === -1);
}

export const SEVERITY: Readonly<Record<Severity, { kind: Kind; icon: string }>> = {
  critical: { kind: "critical", icon: "▲" },
  warning: { kind: "warning", icon: "◆" },
  info: { kind: "info", icon: "●" },
};

export const RULE_STATE: Readonly<Record<RuleState, { kind: Kind; icon: string; text: string }>> = {
  issue: { kind: "warning", icon: "◆", text: "issue" },
  clear: { kind: "good", icon: "✓", text: "passed" },
  not_evaluated: { kind: "neutral", icon: "–", text: "skipped" },
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

/** Why a GPU's clock is reduced, by the key of clock_held_pct. */
export const CLOCK_HOLDS: Readonly<Record<string, string>> = {
  clock_setting: "clock setting",
  power_cap: "power limit",
  hw_slowdown: "hardware slowdown",
  sync_boost: "sync boost",
  thermal: "temperature (driver)",
  hw_thermal: "temperature (hardware)",
  power_brake: "external power brake",
  display_clock: "display clock",
};

/** Whether a GPU of some node was seen or measured; cards about GPUs are left out otherwise. */
export function hasGpu(run: Pick<RunInfo, "nodes" | "metrics">, node = ""): boolean {
  const here = (id: string): boolean => node === "" || id === node;
  return run.nodes.some((n) => here(n.id) && (n.gpus ?? 0) > 0) || run.metrics.some((m) => here(m.node) && m.metric.startsWith("gpu."));
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** The name of a part of a step. */
export function partTitle(part: string): string {
  return (LOOKS as Readonly<Record<string, { title: string }>>)[part]?.title ?? part;
}

const CATEGORIES: Readonly<Record<string, string>> = {
  op: "operator",
  user: "user span",
  loader: "data loader",
  runtime: "GPU runtime",
  memcpy: "copy",
  comm: "collective",
  python: "Python function",
};

/** The category of an event or operator. */
export function categoryTitle(category: string): string {
  return CATEGORIES[category] ?? category;
}

/** What could not be measured. Keys of the JSON have no title but themselves. */
export function lossTitle(what: string, title: string): string {
  const text = title === what ? readable(what) : title;
  return text === what || /^\w+\d: /.test(text) ? text : sentenceCase(text); // "gpu0: NVLink sent"
}

const SPELLED: Readonly<Record<string, string>> = {
  gpu: "GPU",
  cpu: "CPU",
  gpus: "GPUs",
  mfu: "MFU",
  sm: "SM",
  dram: "DRAM",
  io: "I/O",
  r2: "R²",
  pct: "%",
  nvlink: "NVLink",
  pcie: "PCIe",
  ecc: "ECC",
  mem: "memory",
  rx: "received",
  tx: "sent",
};

/** A key as words, for a number without a label: "wait_share" is "wait share". */
export function readable(key: string): string {
  if (!/^[a-z0-9_]+(\.[a-z0-9_]+)*$/.test(key) || /\.(fp|json)$/.test(key)) return key; // a name, or a file
  return key
    .split(/[_.]/)
    .map((word) => SPELLED[word] ?? word)
    .join(" ");
}

/** The first letter in upper case: a text of the server may begin a sentence here. */
export function sentenceCase(text: string): string {
  return text === "" ? text : text[0]!.toUpperCase() + text.slice(1);
}
