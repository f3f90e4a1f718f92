// SPDX-License-Identifier: Apache-2.0
// insights.tsx - the pane with every rule: causes first, each with the symptoms that it explains, then
// those of severity info, then the rest (on a phone behind a button). Issues are open, so that what to do is seen without a click.
import { Fragment } from "preact";
import { useState } from "preact/hooks";

import { api } from "../api";
import { Badge, Button, Card } from "../components/basics";
import { Loaded } from "../components/empty";
import { value } from "../format";
import type { Load } from "../load";
import { useLoad } from "../load";
import { params, setParam } from "../state";
import type { Rule, RunInfo, Severity, Verdict } from "../types";
import { endSentence, isAttached, plural, RULE_STATE, SEVERITY, STATUS, STEPS_OF, whyNoSteps } from "../words";
import { estimate, lostShare, RuleDetails } from "./insight_rule";

const SEVERITY_ORDER: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 };

/** One of its findings is not explained by another rule. */
const isCause = (v: Verdict): boolean => v.findings.length === 0 || v.findings.some((f) => f.explained_by.length === 0);

/** An issue with the symptoms that it explains. */
export interface Issue {
  v: Verdict;
  explains: Verdict[];
}

export interface Ordered {
  /** Causes, the severest and costliest first. */
  issues: Issue[];
  /** Of severity info: nothing to be done about. */
  notes: Issue[];
  clear: Verdict[];
  /** Tables that never find an issue. */
  summaries: Verdict[];
  skipped: Verdict[];
}

/** The issue that a symptom belongs to: the first of its causes that was found, or what explains that. */
function causeOf(v: Verdict, all: readonly Verdict[], seen: ReadonlySet<string> = new Set()): Verdict | null {
  if (isCause(v)) return v;
  const named = v.findings.flatMap((f) => f.explained_by);
  for (const rule of named) {
    const next = all.find((x) => x.rule === rule && !seen.has(rule));
    const cause = next === undefined ? null : causeOf(next, all, new Set([...seen, v.rule]));
    if (cause !== null) return cause;
  }
  return null;
}

/** In the order in which they should be read: causes first, each with what it explains. */
export function inOrder(verdicts: readonly Verdict[]): Ordered {
  const found = verdicts.filter((v) => v.state === "issue");
  const worse = (a: Verdict, b: Verdict): number =>
    SEVERITY_ORDER[a.severity] - SEVERITY_ORDER[b.severity] || (b.lost_s ?? -1) - (a.lost_s ?? -1);
  const of = new Map(found.map((v) => [v, causeOf(v, found)]));
  const tops = found.filter((v) => (of.get(v) ?? v) === v).sort(worse);
  const all = tops.map((v) => ({ v, explains: found.filter((x) => x !== v && of.get(x) === v).sort(worse) }));
  return {
    issues: all.filter((i) => i.v.severity !== "info"),
    notes: all.filter((i) => i.v.severity === "info"),
    clear: verdicts.filter((v) => v.state === "clear" && v.summary !== true),
    summaries: verdicts.filter((v) => v.state === "clear" && v.summary === true),
    skipped: verdicts.filter((v) => v.state === "not_evaluated" && !(v.health && v.datapoints === 0)),
  };
}

/** Whether a rule about the run was evaluated: how the job ended is known without any. */
export function isJudged(o: Ordered): boolean {
  return o.issues.length + o.notes.length > 0 || o.clear.some((v) => v.ending !== true);
}

/** "2 issues · 1 explained · 1 info · 12 passed · 2 skipped" */
export function countText(o: Ordered): string {
  const explained = [...o.issues, ...o.notes].reduce((n, i) => n + i.explains.length, 0);
  return [
    plural(o.issues.length, "issue"),
    ...(explained > 0 ? [`${explained} explained`] : []),
    ...(o.notes.length > 0 ? [`${o.notes.length} info`] : []),
    `${o.clear.length} passed`,
    ...(o.skipped.length > 0 ? [`${o.skipped.length} skipped`] : []),
  ].join(" · ");
}

/** Of the loop: what reads "0.0 %". Other issues have lost the same time. */
const NOTHING = 0.0005;

/** Beside the name of a rule; `cause`: the title of the rule that explains it. */
function inShort(v: Verdict, run: RunInfo, cause: string | null): string {
  if (v.state !== "issue") return v.why;
  const message = v.findings[0]?.message ?? "";
  if (cause !== null) return `explained by ${cause}: ${message}`;
  if (v.severity === "info" || v.lost_s === null) return message;
  if (v.lost_share !== null && v.lost_share < NOTHING) return "in time that other issues account for";
  return `${value(v.lost_s, "s")} lost${estimate(v.findings)}${v.lost_share === null ? "" : `, ${lostShare(v, run)}`}`;
}

function StateBadge(p: { v: Verdict; explained: boolean }) {
  const { v } = p;
  const { text } = RULE_STATE[v.state];
  if (v.state === "clear" && v.summary === true) return <Badge kind="neutral">summary</Badge>;
  if (v.state !== "issue") return <Badge {...RULE_STATE[v.state]}>{text}</Badge>;
  if (p.explained) return <Badge kind="neutral">symptom</Badge>;
  return <Badge {...SEVERITY[v.severity]}>{`${text}: ${v.severity}`}</Badge>;
}

interface Pane {
  run: RunInfo;
  rules: readonly Rule[] | null;
  /** The title of a rule by its name. */
  titles: ReadonlyMap<string, string>;
  /** Rules that were opened (true) or closed by a click; others are open when they are an issue. */
  chosen: ReadonlyMap<string, boolean>;
  toggle: (rule: string, open: boolean) => void;
}

const titleOf = (v: Verdict): string => (v.title === "" ? v.rule : v.title);

function RuleItem(p: { v: Verdict; pane: Pane; cause?: string }) {
  const { v, pane } = p;
  const open = pane.chosen.get(v.rule) ?? (v.state === "issue" && v.severity !== "info" && p.cause === undefined);
  return (
    <li class={`insight ${v.state}${v.state === "issue" ? ` ${v.severity}` : ""}`} data-rule={v.rule}>
      <h3>
        <button type="button" class="bare" aria-expanded={open} onClick={() => pane.toggle(v.rule, !open)}>
          <span class="insight-arrow" aria-hidden="true">
            {open ? "▾" : "▸"}
          </span>
          <span class="insight-name">{titleOf(v)}</span>
          <StateBadge v={v} explained={p.cause !== undefined} />
          <span class="insight-short quiet">{inShort(v, pane.run, p.cause ?? null)}</span>
        </button>
      </h3>
      {open && <RuleDetails v={v} rule={pane.rules?.find((r) => r.rule === v.rule)} run={pane.run} titles={pane.titles} />}
    </li>
  );
}

/** What an issue explains, below it. */
function Explained(p: { of: Issue; pane: Pane }) {
  if (p.of.explains.length === 0) return null;
  return (
    <li>
      <ul class="insight-explained" aria-label={`Explained by ${titleOf(p.of.v)}`}>
        {p.of.explains.map((x) => (
          <RuleItem key={x.rule} v={x} pane={p.pane} cause={titleOf(p.of.v)} />
        ))}
      </ul>
    </li>
  );
}

/** Why there are no steps, and what to do about it. */
function NoSteps(p: { run: RunInfo }) {
  if (isAttached(p.run)) {
    return (
      <>
        No rules ran: attach records no steps. Start the job with <code>footplate run</code> to record them.
      </>
    );
  }
  const why = whyNoSteps(p.run);
  return (
    <>
      No rules ran: no training steps were detected{why === "" ? "" : ` (${why})`}. Steps are detected automatically in {STEPS_OF}. In other
      programs, mark them with <code>footplate.step()</code>.
    </>
  );
}

/** What to do where every rule was skipped. */
export function NoRules(p: { run: RunInfo }) {
  const steps = p.run.loop_start_ns !== null;
  return <p class="insight-none">{steps ? "No rules ran: the data that they need was not recorded." : <NoSteps run={p.run} />}</p>;
}

/** The rules found nothing: good news, unless the job ended badly. */
function Calm(p: { run: RunInfo; ended: string | null }) {
  if (p.ended !== null) return <p class="insight-none">No performance issues found in the recorded part</p>;
  return (
    <p class="insight-calm">
      <span aria-hidden="true">✓ </span>
      {p.run.live ? "No issues found so far" : "No issues found"}
    </p>
  );
}

function RuleList(p: { run: RunInfo; verdicts: readonly Verdict[] }) {
  const rules = useLoad("rules", (signal) => api.rules(signal));
  const o = inOrder(p.verdicts);
  const named = params.value["rule"];
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map(named === undefined ? [] : [[named, true]]));
  const toggle = (rule: string, open: boolean): void => {
    setChosen(new Map([...chosen, [rule, open]]));
    setParam("rule", open ? rule : null);
  };
  const [all, setAll] = useState(named !== undefined);
  const quiet = o.clear.length + o.summaries.length + o.skipped.length;
  const titles = new Map(p.verdicts.map((v) => [v.rule, titleOf(v)]));
  const pane = { run: p.run, rules: rules.data, titles, chosen, toggle };
  const ended = endSentence(p.run);
  const calm = o.issues.length === 0 && isJudged(o);
  const idle = !isJudged(o) && o.skipped.length > 0;
  return (
    <>
      {ended !== null && (
        <p class={`insight-ended ${STATUS[p.run.status].kind}`}>
          <span aria-hidden="true">{STATUS[p.run.status].icon} </span>
          {ended}
        </p>
      )}
      {calm && <Calm run={p.run} ended={ended} />}
      {idle && <NoRules run={p.run} />}
      <p class="quiet insight-count" role="status">
        {countText(o)}
      </p>
      <ul class={`insight-list${all ? "" : " short"}`}>
        {[...o.issues, ...o.notes].map((i) => (
          <Fragment key={i.v.rule}>
            <RuleItem v={i.v} pane={pane} />
            <Explained of={i} pane={pane} />
          </Fragment>
        ))}
        {[...o.clear, ...o.summaries, ...o.skipped].map((v) => (
          <RuleItem key={v.rule} v={v} pane={pane} />
        ))}
      </ul>
      {quiet > 0 && (
        <div class="insight-more">
          <Button kind="quiet" onClick={() => setAll(!all)} expanded={all}>
            {all ? "Show issues only" : `Show ${plural(quiet, "more rule")}`}
          </Button>
        </div>
      )}
    </>
  );
}

export function Insights(p: { run: RunInfo; verdicts: Load<Verdict[]> }) {
  return (
    <Card title="Insights" class="insights">
      <Loaded load={p.verdicts} what="the insights">
        {(verdicts) => <RuleList run={p.run} verdicts={verdicts} />}
      </Loaded>
    </Card>
  );
}
