// SPDX-License-Identifier: Apache-2.0
// rates.ts - how fast the training loop of a run is.
import type { StepRank } from "../types";

/** The training ranks: throughput is that of all, the iteration that of the rank with most steps. */
export function loopOf(ranks: readonly StepRank[]): { best: StepRank | null; ranks: number; steady: number | null; overall: number | null } {
  const mine = ranks.filter((r) => r.mode === "train");
  const sum = (of: (r: StepRank) => number | null): number | null =>
    mine.reduce<number | null>((t, r) => (t === null || of(r) === null ? null : t + (of(r) as number)), 0);
  return {
    best: mine.reduce<StepRank | null>((a, r) => (a === null || r.count > a.count ? r : a), null),
    ranks: mine.length,
    steady: sum((r) => r.throughput.steady),
    overall: sum((r) => r.throughput.overall),
  };
}

/** Steps per second; null: no iteration of a training step has ended. */
export function stepRate(best: StepRank | null): number | null {
  const mean = best?.iteration_s.mean ?? null;
  return mean === null || mean <= 0 ? null : 1 / mean;
}
