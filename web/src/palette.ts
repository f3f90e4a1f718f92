// SPDX-License-Identifier: Apache-2.0
// palette.ts - which colour a thing has, everywhere on the page. The colours are variables of
// theme.css; they stay apart for colour-blind eyes, and every use has a word beside it.
import type { PhaseName } from "./types";

export const PHASES: Readonly<Record<PhaseName, { title: string; color: string }>> = {
  initialization: { title: "Initialization", color: "var(--phase-initialization)" },
  train: { title: "Training", color: "var(--phase-train)" },
  eval: { title: "Evaluation", color: "var(--phase-eval)" },
  finalization: { title: "Finalization", color: "var(--phase-finalization)" },
  interruption: { title: "Interruption", color: "var(--phase-interruption)" },
};

/** The n-th series of a chart; eight colours, then again from the first. */
export function seriesColor(n: number): string {
  return `var(--c${(n % 8) + 1})`;
}

/** The same as a variable's name, for color() of theme.ts. */
export function seriesColorName(n: number): string {
  return `--c${(n % 8) + 1}`;
}

const EVENTS: Readonly<Record<string, string>> = {
  data: "--c5",
  forward: "--c1",
  backward: "--c2",
  optimizer: "--c3",
  h2d: "--c7",
  compile: "--c4",
  checkpoint: "--c9",
  comm: "--c8",
  graph: "--c-graph",
  sync: "--c6",
  between: "--c-between",
  eval: "--phase-eval",
  kernel: "--c3",
  memcpy: "--c2",
  memset: "--c4",
  communication: "--c8",
  runtime: "--c7",
  dataloader: "--c5",
  cpu: "--c6",
};

/** What a step or a device was busy with: data, forward, kernel, ... "other" is grey. */
export function eventColorName(event: string): string {
  return EVENTS[event] ?? "--c-other";
}

export function eventColor(event: string): string {
  return `var(${eventColorName(event)})`;
}
