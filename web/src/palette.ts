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

const EVENTS: Readonly<Record<string, number>> = {
  data: 4,
  forward: 0,
  backward: 1,
  optimizer: 2,
  h2d: 6,
  compile: 3,
  checkpoint: 5,
  comm: 7,
  kernel: 2,
  memcpy: 1,
  memset: 3,
  communication: 7,
  runtime: 5,
  dataloader: 4,
  cpu: 0,
};

/** What a step was spent on: data, forward, ... "other" is grey. */
export function eventColorName(event: string): string {
  const n = EVENTS[event];
  return n === undefined ? "--c-other" : seriesColorName(n);
}

export function eventColor(event: string): string {
  return `var(${eventColorName(event)})`;
}
