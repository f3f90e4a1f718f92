// SPDX-License-Identifier: Apache-2.0
// palette.ts - which colour a thing has, everywhere on the page. The colours, and the names of
// phases, are those of the report (src/report/colours.def); they are distinguishable for colour-blind eyes, and
// every use has a word beside it.
import { LOOKS } from "../made/looks";
import type { PhaseName } from "./types";

const ofPhase = (phase: PhaseName) => ({ title: LOOKS[phase].title, color: `var(${LOOKS[phase].color})` });

export const PHASES: Readonly<Record<PhaseName, { title: string; color: string }>> = {
  initialization: ofPhase("initialization"),
  train: ofPhase("train"),
  eval: ofPhase("eval"),
  finalization: ofPhase("finalization"),
  interruption: ofPhase("interruption"),
};

/** The n-th series of a chart; eight colours, then again from the first. */
export function seriesColor(n: number): string {
  return `var(--c${(n % 8) + 1})`;
}

/** The same as a variable's name, for color() of theme.ts. */
export function seriesColorName(n: number): string {
  return `--c${(n % 8) + 1}`;
}

const NAMED: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOKS).flatMap(([key, { title, color }]) => [key, title.toLowerCase()].map((name) => [name, `var(${color})`])),
);

/** Of the parts of a pie: colours by key where all are phases or parts of a step. */
export function partColors(labels: readonly string[]): string[] {
  const own = labels.map((label) => NAMED.get(label.toLowerCase()));
  return labels.map((_, i) => (own.includes(undefined) ? undefined : own[i]) ?? seriesColor(i));
}

/** What devices were busy with; parts of a step are in LOOKS. */
const EVENTS: Readonly<Record<string, string>> = {
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
  return EVENTS[event] ?? (LOOKS as Readonly<Record<string, { color: string }>>)[event]?.color ?? "--c-other";
}

export function eventColor(event: string): string {
  return `var(${eventColorName(event)})`;
}
