// SPDX-License-Identifier: Apache-2.0
// insights.tsx - the pane with every rule, findings first; a rule opens to what it found, why, what
// that cost and what to do.
import { useState } from "preact/hooks";

import { api } from "../api";
import { Badge, Card } from "../components/basics";
import { Loaded } from "../components/empty";
import { value } from "../format";
import type { Load } from "../load";
import { useLoad } from "../load";
import { params, setParam } from "../state";
import type { Rule, RuleState, RunInfo, Severity, Verdict } from "../types";
import { plural, RULE_STATE, SEVERITY } from "../words";
import { lostShare, RuleDetails } from "./insight_rule";

const STATE_ORDER: Readonly<Record<RuleState, number>> = { issue: 0, clear: 1, not_evaluated: 2 };
const SEVERITY_ORDER: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, info: 2 };

/** What another rule explains comes after it: that is where to begin. */
function follows(v: Verdict): number {
  return v.findings[0] !== undefined && v.findings[0].explained_by.length > 0 ? 1 : 0;
}

/** Findings first, of those the severest, of those what cost most. */
export function worstFirst(verdicts: readonly Verdict[]): Verdict[] {
  const rank = (v: Verdict): number => STATE_ORDER[v.state] * 10 + (v.state === "issue" ? SEVERITY_ORDER[v.severity] : 0);
  return verdicts
    .map((v, i) => ({ v, i }))
    .sort((a, b) => rank(a.v) - rank(b.v) || follows(a.v) - follows(b.v) || (b.v.lost_s ?? 0) - (a.v.lost_s ?? 0) || a.i - b.i)
    .map((e) => e.v);
}

/** What stands beside the name of a closed rule. */
function inShort(v: Verdict, run: RunInfo): string {
  if (v.state !== "issue") return v.why;
  const lost = v.lost_s === null ? null : `${value(v.lost_s, "s")} lost${v.lost_share === null ? "" : `, ${lostShare(v, run)}`}`;
  const cause = v.findings[0]?.explained_by[0];
  const text = lost ?? v.findings[0]?.message ?? "";
  return cause === undefined ? text : `${text}; explained by ${cause}`;
}

function StateBadge(p: { v: Verdict }) {
  const mark = p.v.state === "issue" ? SEVERITY[p.v.severity] : RULE_STATE[p.v.state];
  const { text } = RULE_STATE[p.v.state];
  return (
    <Badge kind={mark.kind} icon={mark.icon}>
      {p.v.state === "issue" ? `${text}: ${p.v.severity}` : text}
    </Badge>
  );
}

function RuleItem(p: { v: Verdict; rule: Rule | undefined; run: RunInfo; open: boolean; toggle: () => void }) {
  const { v } = p;
  return (
    <li class={`insight ${v.state}`} data-rule={v.rule}>
      <h3>
        <button type="button" class="bare" aria-expanded={p.open} onClick={p.toggle}>
          <span class="insight-arrow" aria-hidden="true">
            {p.open ? "▾" : "▸"}
          </span>
          <span class="insight-name">{v.title === "" ? v.rule : v.title}</span>
          <StateBadge v={v} />
          <span class="insight-short quiet">{inShort(v, p.run)}</span>
        </button>
      </h3>
      {p.open && <RuleDetails v={v} rule={p.rule} run={p.run} />}
    </li>
  );
}

function RuleList(p: { run: RunInfo; verdicts: readonly Verdict[] }) {
  const rules = useLoad("rules", (signal) => api.rules(signal));
  const sorted = worstFirst(p.verdicts);
  const named = params.value["rule"];
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(named === undefined ? [] : [named]));
  const toggle = (rule: string): void => {
    const next = new Set(open);
    if (!next.delete(rule)) next.add(rule);
    setOpen(next);
    setParam("rule", next.has(rule) ? rule : null);
  };
  const found = p.verdicts.filter((v) => v.state === "issue").length;
  return (
    <>
      <p class="quiet insight-count" role="status">
        Showing {plural(found, "suggestion")} of {plural(p.verdicts.length, "rule")}
      </p>
      <ul class="insight-list">
        {sorted.map((v) => (
          <RuleItem
            key={v.rule}
            v={v}
            rule={rules.data?.find((r) => r.rule === v.rule)}
            run={p.run}
            open={open.has(v.rule)}
            toggle={() => toggle(v.rule)}
          />
        ))}
      </ul>
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
