// SPDX-License-Identifier: Apache-2.0
// insight_rule.tsx - one rule, opened: its findings with when, cost and advice, then the rule itself
// (description, criteria, counts) and its evidence.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { Button } from "../components/basics";
import { EvidencePlot } from "../components/plots/plot";
import { clock, count, dateTime, duration, fixed, price, rankText, setting, share, value } from "../format";
import { showInNodes } from "../state";
import type { Finding, Rule, RunInfo, TimeRange, Verdict } from "../types";
import { plural, readable, sentenceCase } from "../words";

const FIRST_RANGES = 3;
const FIRST_FINDINGS = 5;

function Fact(p: { term: string; children?: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{p.term}</dt>
      <dd>{p.children}</dd>
    </div>
  );
}

function rangeText(r: TimeRange, run: RunInfo): string {
  const start = run.job_start_ns ?? run.start_ns; // as in the report and in the terminal
  const after = start === null ? "" : `, ${duration((r.start_ns - start) / 1e9)} after the start`;
  return `${dateTime(r.start_ns)} to ${clock(r.end_ns)}${after}`;
}

/** The time ranges of a finding; a click shows one in the Nodes tab. */
function When(p: { f: Finding; run: RunInfo }) {
  const [all, setAll] = useState(false);
  const { start_ns, end_ns } = p.f;
  if (start_ns === null || end_ns === null || end_ns <= start_ns) return <>the whole run</>;
  const ranges = p.f.ranges.length > 0 ? p.f.ranges : [{ start_ns, end_ns }];
  const shown = all ? ranges : ranges.slice(0, FIRST_RANGES);
  const show = (r: TimeRange): void => showInNodes({ from: r.start_ns, to: r.end_ns }, p.f.node);
  return (
    <span class="insight-when">
      {shown.map((r) => (
        <button key={r.start_ns} type="button" class="bare link" onClick={() => show(r)} title="Show in Nodes">
          {rangeText(r, p.run)}
        </button>
      ))}
      {shown.length < ranges.length && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          {plural(ranges.length - shown.length, "more range")}
        </Button>
      )}
    </span>
  );
}

/** Beside a time that was not measured; of all findings of a rule if it is that of one. */
export function estimate(findings: readonly Pick<Finding, "basis">[]): string {
  return findings.some((f) => f.basis === "estimated") ? " (estimate)" : "";
}

function lostText(f: { lost_s: number | null; lost_gpu_s: number | null }, findings: readonly Finding[]): string {
  const gpu = f.lost_gpu_s === null ? "" : `, ${value(f.lost_gpu_s, "s")} of GPU time`;
  return `${value(f.lost_s, "s")}${estimate(findings)}${gpu}`;
}

function where(f: Finding): string {
  return [f.node, f.entity].filter((w) => w !== "").join(" ");
}

/** The numbers of a finding by their labels, never keys. What was not measured or has no label where others have
 * one is left out. */
export function numbersOf(f: Pick<Finding, "numbers" | "units" | "labels">): { label: string; text: string }[] {
  const label = (name: string): string | undefined => (f.labels === undefined ? readable(name) : f.labels[name]);
  return Object.entries(f.numbers).flatMap(([name, v]) => {
    const known = label(name);
    return v === null || known === undefined ? [] : [{ label: known, text: value(v, f.units[name] ?? "") }];
  });
}

function NumberList(p: { of: ReturnType<typeof numbersOf> }) {
  return (
    <dl class="numbers">
      {p.of.map((n) => (
        <div key={n.label}>
          <dt>{n.label}</dt>
          <dd>{n.text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** How many of each kind are worth a line: as many as in the terminal. */
const MOST_SHARES: readonly (readonly [string, number])[] = [
  ["phase", 2],
  ["event", 3],
  ["operator", 2],
];

/** "rank 0: train 96 %, data 83 %": what ran at that time, of the first rank. */
export function sharesText(f: Pick<Finding, "shares">): string {
  const rank = f.shares[0]?.rank ?? -1; // the job may have reported none
  const mine = f.shares.filter((s) => s.rank === rank);
  const shown = MOST_SHARES.flatMap(([what, most]) => mine.filter((s) => s.what === what).slice(0, most));
  const who = rank < 0 ? "" : `${rankText(rank)}: `;
  return who + shown.map((s) => `${s.name} ${fixed(s.share * 100, 0)} %`).join(", ");
}

function FindingBlock(p: { f: Finding; v: Verdict; run: RunInfo; titles: ReadonlyMap<string, string> }) {
  const { f } = p;
  const numbers = numbersOf(f);
  return (
    <article class={`finding ${p.v.severity}`}>
      <p class="finding-message">
        {where(f) !== "" && <strong>{where(f)}: </strong>}
        {f.message}.
      </p>
      <dl class="facts">
        <Fact term="What to do">{f.advice ?? p.v.recommendation}</Fact>
        {f.lost_s !== null && <Fact term="Time lost">{lostText(f, [f])}</Fact>}
        <Fact term="When">
          <When f={f} run={p.run} />
        </Fact>
        {f.refute !== null && f.refute !== "" && <Fact term="Not a problem if">{f.refute}</Fact>}
        {f.shares.length > 0 && <Fact term="Activity meanwhile">{sharesText(f)}</Fact>}
        {numbers.length > 0 && (
          <Fact term="Numbers">
            <NumberList of={numbers} />
          </Fact>
        )}
        {f.explained_by.length > 0 && <Fact term="Explained by">{f.explained_by.map((rule) => p.titles.get(rule) ?? rule).join(", ")}</Fact>}
      </dl>
    </article>
  );
}

function Findings(p: { v: Verdict; run: RunInfo; titles: ReadonlyMap<string, string> }) {
  const [all, setAll] = useState(false);
  const shown = all ? p.v.findings : p.v.findings.slice(0, FIRST_FINDINGS);
  return (
    <>
      {shown.map((f, i) => (
        <FindingBlock key={i} f={f} v={p.v} run={p.run} titles={p.titles} />
      ))}
      {shown.length < p.v.findings.length && (
        <Button kind="quiet" onClick={() => setAll(true)}>
          Show all {p.v.findings.length} findings
        </Button>
      )}
    </>
  );
}

function paramText(v: number | string | null, unit: string): string {
  return typeof v === "number" ? setting(v, unit) : (v ?? "-");
}

function Criteria(p: { v: Verdict; rule: Rule | undefined }) {
  const entries = Object.entries(p.v.params);
  if (entries.length === 0) return <>none</>;
  return (
    <ul class="criteria">
      {entries.map(([name, v]) => {
        const known = p.rule?.params.find((q) => q.name === name);
        return (
          <li key={name}>
            <code>{name}</code> = <strong class="tabular">{p.v.params_text?.[name] ?? paramText(v, known?.unit ?? "")}</strong>
            {known !== undefined && <span class="quiet"> ({known.help})</span>}
          </li>
        );
      })}
    </ul>
  );
}

/** "12.3 % of the training loop"; of the job where no steps were recorded, and of what is outside of the loop (findings of
 * earlier versions have only `ending`). */
export function lostShare(v: Pick<Verdict, "lost_share" | "of_job" | "ending">, run: Pick<RunInfo, "loop_start_ns">): string {
  return `${share(v.lost_share)} of the ${run.loop_start_ns === null || v.of_job === true || v.ending === true ? "job" : "training loop"}`;
}

/** Null: of the whole run, which has no time. */
export function lastTriggered(v: Pick<Verdict, "last_triggered_ns" | "triggered">): string | null {
  if (v.last_triggered_ns !== null) return dateTime(v.last_triggered_ns);
  return v.triggered > 0 ? null : "never";
}

function AboutRule(p: { v: Verdict; rule: Rule | undefined; run: RunInfo }) {
  const { v } = p;
  const last = lastTriggered(v);
  return (
    <dl class="facts">
      <Fact term="Rule">
        <code>{v.rule}</code>
      </Fact>
      <Fact term="Description">{v.description}</Fact>
      {v.state !== "issue" && <Fact term="If it is an issue">{v.recommendation}</Fact>}
      <Fact term="Criteria">
        <Criteria v={v} rule={p.rule} />
      </Fact>
      <Fact term="Times triggered">{count(v.triggered)}</Fact>
      <Fact term="Readings">
        {count(v.datapoints)}
        {v.violations > 0 && ` (${count(v.violations)} outside the criteria)`}
      </Fact>
      {last !== null && <Fact term="Last triggered">{last}</Fact>}
      {v.state === "issue" && v.lost_s !== null && (
        <Fact term="Total time lost">
          {lostText(v, v.findings)}
          {v.lost_share !== null && `, ${lostShare(v, p.run)}`}
          {v.lost_cost !== null && `, ${price(v.lost_cost, p.run.currency)}`}
        </Fact>
      )}
    </dl>
  );
}

export function RuleDetails(p: { v: Verdict; rule: Rule | undefined; run: RunInfo; titles: ReadonlyMap<string, string> }) {
  const { v } = p;
  return (
    <div class="insight-body">
      {v.state !== "issue" && v.why !== "" && <p>{sentenceCase(v.why)}.</p>}
      {v.remarks.map((r) => (
        <p key={r}>{sentenceCase(r)}.</p>
      ))}
      <Findings v={v} run={p.run} titles={p.titles} />
      <AboutRule v={v} rule={p.rule} run={p.run} />
      {v.plots.map((plot, i) => (
        <EvidencePlot key={i} plot={plot} />
      ))}
    </div>
  );
}
