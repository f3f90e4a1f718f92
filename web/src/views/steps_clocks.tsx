// SPDX-License-Identifier: Apache-2.0
// steps_clocks.tsx - the parts of an iteration by two clocks that are never mixed: GPU time first, with how
// many steps were timed, then the time of the host, which launches the work.
import { Legend } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { percentages } from "../components/plots/arcs";
import { type Column, secondsColumn } from "../components/table";
import { count, percent, rankText, value } from "../format";
import { eventColor } from "../palette";
import type { Loss, StepRank } from "../types";
import { partTitle } from "../words";
import { rankKey } from "./steps_model";

/** "host time", or "host time (launch)" where the work of a GPU was not timed. */
export function hostText(r: Pick<StepRank, "device" | "gpu_timed_steps">): string {
  return r.device !== null && r.gpu_timed_steps === 0 ? "host time (launch)" : "host time";
}

/** "GPU time, 35 of 250 steps timed" */
export function gpuText(r: Pick<StepRank, "count" | "gpu_timed_steps">): string {
  return `GPU time, ${count(r.gpu_timed_steps)} of ${count(r.count)} steps timed`;
}

export interface ClockShare {
  rank: StepRank;
  clock: "gpu" | "host";
  label: string;
  parts: { part: string; title: string; seconds: number; share: number; pct: number }[];
  /** Parts that were not reported. */
  missing: string[];
}

/** On the GPU, the rest of the iteration is not a part of a step. */
const titleOf = (clock: ClockShare["clock"], part: string): string =>
  clock === "gpu" && part === "other" ? "Outside timed phases" : partTitle(part);

function shareOf(rank: StepRank, clock: ClockShare["clock"], label: string, seconds: Readonly<Record<string, number | null>>): ClockShare {
  const known = Object.entries(seconds).filter((e): e is [string, number] => e[1] !== null);
  const total = known.reduce((sum, [, s]) => sum + s, 0);
  const pcts = percentages(known.map(([, s]) => s)) ?? [];
  const parts = known
    .map(([part, s], i) => ({ part, title: titleOf(clock, part), seconds: s, share: total > 0 ? s / total : 0, pct: pcts[i] ?? 0 }))
    .filter((p) => p.seconds > 0);
  return { rank, clock, label, parts, missing: clock === "gpu" ? [] : Object.keys(seconds).filter((k) => seconds[k] === null) };
}

/** The clocks that a rank and mode has, GPU time first. */
export function clockShares(r: StepRank): ClockShare[] {
  const host = shareOf(r, "host", hostText(r), r.host_parts_s);
  return r.gpu_parts_s === null ? [host] : [shareOf(r, "gpu", gpuText(r), r.gpu_parts_s), host];
}

interface ShareRow {
  of: ClockShare;
  title: string;
  seconds: number;
  pct: number;
}

const SHARE_COLUMNS: readonly Column<ShareRow>[] = [
  { id: "rank", title: "Rank", cell: (s) => `${rankText(s.of.rank.rank)}, ${s.of.rank.mode}`, sort: (s) => s.of.rank.rank },
  { id: "clock", title: "Clock", cell: (s) => s.of.label, sort: (s) => s.of.label },
  { id: "part", title: "Part", cell: (s) => s.title, sort: (s) => s.title },
  secondsColumn("seconds", "Time per iteration", (s) => s.seconds),
  { id: "share", title: "Share", numeric: true, cell: (s) => percent(s.pct), sort: (s) => s.pct },
];

function summaryOf(all: readonly ClockShare[]): string {
  return all
    .map((s) => `${rankText(s.rank.rank)}, ${s.rank.mode}, ${s.label}: ${s.parts.map((p) => `${p.title} ${percent(p.pct)}`).join(", ")}.`)
    .join(" ");
}

function ClockBar(p: { of: ClockShare }) {
  const { parts, clock, label } = p.of;
  const most = [...parts].sort((a, b) => b.share - a.share).slice(0, 3);
  return (
    <div class={`steps-clock ${clock}`} data-clock={clock}>
      <span class="steps-clock-label">{label}</span>
      <span class="steps-share-bar">
        {parts.map((x) => (
          <span
            key={x.part}
            data-part={x.part}
            data-share={x.share}
            title={`${x.title}: ${value(x.seconds, "s")}, ${percent(x.pct)}`}
            style={{ width: `${x.share * 100}%`, background: eventColor(x.part) }}
          />
        ))}
      </span>
      <span class="steps-share-text">{most.map((x) => `${x.title} ${percent(x.pct)}`.replaceAll(" ", "\u00a0")).join(" · ")}</span>
    </div>
  );
}

/** The rest of an iteration is not the same thing for both clocks. */
function legendText(part: string, each: readonly ClockShare[]): string {
  const idle = part === "other" && each.some((s) => s.clock === "gpu" && s.parts.some((x) => x.part === "other"));
  return idle ? "Other (GPU: outside timed phases)" : partTitle(part);
}

/** For each rank and mode a bar for each clock, as wide as the card, a segment for each part.
 * `short`: without the explanation of host time. */
export function ClockBars(p: { ranks: readonly StepRank[]; losses: readonly Pick<Loss, "what" | "why">[]; title: string; short?: boolean }) {
  const all = p.ranks.map(clockShares);
  const each = all.flat();
  const order = Object.keys(p.ranks[0]?.host_parts_s ?? {});
  const parts = [...new Set(each.flatMap((s) => s.parts.map((x) => x.part)))].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const missing = [...new Set(each.flatMap((s) => s.missing))];
  const rows = each.flatMap((s) => s.parts.map((x) => ({ of: s, ...x })));
  const why = p.losses.find((l) => missing.includes(l.what))?.why;
  const launch = p.short !== true && p.ranks.some((r) => r.device !== null);
  return (
    <ChartFrame title={p.title} summary={summaryOf(each)} table={() => ({ columns: SHARE_COLUMNS, rows })} legend={<Legend items={parts.map((part) => ({ key: part, color: eventColor(part), text: legendText(part, each) }))} />}>
      <ul class="steps-shares">
        {all.map((clocks) => (
          <li key={rankKey(clocks[0]!.rank)}>
            {p.ranks.length > 1 && (
              <span class="steps-share-name">
                {rankText(clocks[0]!.rank.rank)}, {clocks[0]!.rank.mode}
              </span>
            )}
            {clocks.map((s) => (
              <ClockBar key={s.clock} of={s} />
            ))}
          </li>
        ))}
      </ul>
      {launch && <p class="quiet steps-note">Host time is the time of launching work, not of the GPU doing it. When the queue is full, the host waits in the next launch.</p>}
      {missing.length > 0 && (
        <p class="quiet">
          Not measured: {missing.map(partTitle).join(", ")}
          {why !== undefined ? ` (${why})` : ""}.
        </p>
      )}
    </ChartFrame>
  );
}
