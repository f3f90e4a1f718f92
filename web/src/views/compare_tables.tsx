// SPDX-License-Identifier: Apache-2.0
// compare_tables.tsx - the differences of A and B, number by number.
import { Badge, Card } from "../components/basics";
import { type Column, DataTable } from "../components/table";
import { changePoints, changeSeconds, changeShare, changeValue, count, joules, samplesPerSecond, share, value } from "../format";
import { PHASES } from "../palette";
import type { CompareVerdict, ComparedFinding, ComparedLossRow, ComparedNumber, ComparedPart, Comparison, PhaseName } from "../types";
import { partTitle, sentenceCase, SEVERITY } from "../words";
import { type Interval, reachOf, Whisker } from "./compare_charts";

export const VERDICTS: Readonly<Record<CompareVerdict, { kind: "good" | "critical" | "neutral"; icon: string; text: string }>> = {
  faster: { kind: "good", icon: "▼", text: "faster" },
  slower: { kind: "critical", icon: "▲", text: "slower" },
  no_difference: { kind: "neutral", icon: "=", text: "no difference" },
  not_comparable: { kind: "neutral", icon: "–", text: "not comparable" },
};

const NOISE = { kind: "neutral", icon: "≈", text: "may be noise" } as const;

/** `minor`: too little to be coloured. */
export function VerdictBadge(p: { verdict: CompareVerdict; noise?: boolean; minor?: boolean }) {
  const v = p.noise === true ? NOISE : VERDICTS[p.verdict];
  return (
    <Badge kind={p.minor === true ? "neutral" : v.kind} icon={v.icon}>
      {v.text}
    </Badge>
  );
}

const s = (v: number | null): string => value(v, "s");

/** "95 %" */
const sure = (c: Comparison): string => `${Math.round(c.step_time.confidence * 1000) / 10} %`;

type StepRow = { what: string; a: number | null; b: number | null };

function stepRows(c: Comparison): StepRow[] {
  const names: readonly (readonly [keyof Comparison["step_time"]["a"], string])[] = [
    ["mean_s", "mean"],
    ["p50_s", "p50"],
    ["p90_s", "p90"],
    ["p95_s", "p95"],
    ["p99_s", "p99"],
    ["max_s", "max"],
    ["stddev_s", "standard deviation"],
  ];
  return names.map(([key, what]) => ({ what, a: c.step_time.a[key], b: c.step_time.b[key] }));
}

const change = (r: { a: number | null; b: number | null }): number | null =>
  r.a === null || r.b === null || r.a === 0 ? null : r.b / r.a - 1;

const STEP_COLUMNS: readonly Column<StepRow>[] = [
  { id: "what", title: "Iteration", cell: (r) => r.what },
  { id: "a", title: "A", numeric: true, cell: (r) => s(r.a), sort: (r) => r.a },
  { id: "b", title: "B", numeric: true, cell: (r) => s(r.b), sort: (r) => r.b },
  { id: "change", title: "Change", numeric: true, cell: (r) => changeShare(change(r)), sort: change },
];

export function StepTable(p: { data: Comparison }) {
  const t = p.data.step_time;
  return (
    <div>
      <DataTable caption="Iterations of both runs" columns={STEP_COLUMNS} rows={stepRows(p.data)} rowKey={(r) => r.what} />
      {t.diff_share !== null && (
        <p class="compare-note">
          Mean: {changeShare(t.diff_share)}, {sure(p.data)} confidence interval {changeShare(t.ci_low)} to {changeShare(t.ci_high)}. Median:{" "}
          {changeShare(t.median_diff_share)}, interval {changeShare(t.median_ci_low)} to {changeShare(t.median_ci_high)}.
        </p>
      )}
    </div>
  );
}

/** Changes of a part that are less than this share of the iteration are not coloured. */
const MINOR_SHARE = 0.01;

export function isMinor(r: Pick<ComparedPart, "diff">, iteration: number | null): boolean {
  return r.diff !== null && iteration !== null && Math.abs(r.diff) < MINOR_SHARE * iteration;
}

const intervalOf = (r: ComparedPart): Interval => ({ at: r.diff, low: r.ci_low, high: r.ci_high });

function partColumns(reach: number, iteration: number | null): Column<ComparedPart>[] {
  return [
    { id: "part", title: "Part of an iteration", cell: (r) => partTitle(r.part), sort: (r) => r.part },
    { id: "a", title: "A", numeric: true, cell: (r) => s(r.a_s), sort: (r) => r.a_s },
    { id: "b", title: "B", numeric: true, cell: (r) => s(r.b_s), sort: (r) => r.b_s },
    { id: "diff", title: "Difference", numeric: true, cell: (r) => changeSeconds(r.diff), sort: (r) => r.diff },
    {
      id: "interval",
      title: "Interval",
      cell: (r) => (
        <span class="compare-interval">
          <Whisker interval={intervalOf(r)} reach={reach} />
          {r.ci_low === null ? "-" : `${changeSeconds(r.ci_low)} to ${changeSeconds(r.ci_high)}`}
        </span>
      ),
      sort: (r) => r.ci_low,
    },
    { id: "verdict", title: "Verdict", cell: (r) => <VerdictBadge verdict={r.verdict} minor={isMinor(r, iteration)} />, sort: (r) => r.verdict },
  ];
}

function PartTable(p: { parts: readonly ComparedPart[]; caption: string; data: Comparison }) {
  const { a, b } = p.data.step_time;
  const longer = a.mean_s === null || b.mean_s === null ? null : Math.max(a.mean_s, b.mean_s);
  const reach = reachOf(p.parts.map(intervalOf), longer);
  return <DataTable caption={p.caption} columns={partColumns(reach, a.mean_s)} rows={p.parts} rowKey={(r) => r.part} />;
}

/** "34 of 250 steps timed in A, 16 of 97 in B" */
export function timedText(c: Pick<Comparison, "a" | "b">): string {
  const of = (s: Comparison["a"]): string => `${count(s.gpu_timed_steps)} of ${count(s.gpu_steps)}`;
  return `${of(c.a)} steps timed in A, ${of(c.b)} in B`;
}

/** By two clocks, GPU time first; differences of the host's clock alone may be a matter of when work was launched. */
export function Parts(p: { data: Comparison }) {
  const { parts, gpu_parts } = p.data;
  if (parts.length === 0 && gpu_parts.length === 0) return null;
  return (
    <Card title="Iteration breakdown" hint={`mean time, with the ${sure(p.data)} confidence interval of the difference`}>
      {gpu_parts.length > 0 && (
        <>
          <h3>GPU time, {timedText(p.data)}</h3>
          <PartTable parts={gpu_parts} caption="Parts of an iteration, GPU time" data={p.data} />
        </>
      )}
      {parts.length > 0 && (
        <>
          <h3 class={gpu_parts.length > 0 ? "steps-h" : undefined}>Host time{p.data.launch_only && " (launch)"}</h3>
          <PartTable parts={parts} caption="Parts of an iteration, host time" data={p.data} />
        </>
      )}
      <p class="compare-note">Changes below {MINOR_SHARE * 100} % of the iteration are not coloured.</p>
    </Card>
  );
}

const numberText = (v: number | null, unit: string): string => {
  if (v === null) return "-";
  if (unit === "samples/s") return samplesPerSecond(v);
  return unit === "J" ? joules(v) : value(v, unit);
};

const numberCell = (side: "a" | "b") => (r: ComparedNumber) => {
  const why = side === "a" ? r.why_a : r.why_b;
  if (r[side] !== null) return numberText(r[side], r.unit);
  return <span class="quiet compare-why">not known{why === null ? "" : `: ${why}`}</span>;
};

const NUMBER_COLUMNS: readonly Column<ComparedNumber>[] = [
  { id: "title", title: "Training loop", cell: (r) => (r.unit === "samples/s" ? `${r.title} (samples/s)` : r.title), sort: (r) => r.title },
  { id: "a", title: "A", numeric: true, cell: numberCell("a"), sort: (r) => r.a },
  { id: "b", title: "B", numeric: true, cell: numberCell("b"), sort: (r) => r.b },
  { id: "change", title: "Change", numeric: true, cell: (r) => changeShare(r.diff_share), sort: (r) => r.diff_share },
];

/** Throughput, energy, activity. */
export function Numbers(p: { data: Comparison }) {
  if (p.data.numbers.length === 0) return null;
  return (
    <Card title="Throughput and efficiency" hint="the verdict does not include these differences">
      <DataTable caption="Throughput and efficiency of both runs" columns={NUMBER_COLUMNS} rows={p.data.numbers} rowKey={(r) => r.key} />
    </Card>
  );
}

type Phase = Comparison["phases"][number];

const phaseTitle = (phase: string): string => (phase in PHASES ? PHASES[phase as PhaseName].title : sentenceCase(phase));

const PHASE_COLUMNS: readonly Column<Phase>[] = [
  { id: "phase", title: "Phase", cell: (r) => phaseTitle(r.phase) },
  { id: "a", title: "A", numeric: true, cell: (r) => s(r.a_s), sort: (r) => r.a_s },
  { id: "b", title: "B", numeric: true, cell: (r) => s(r.b_s), sort: (r) => r.b_s },
  { id: "diff", title: "Difference", numeric: true, cell: (r) => changeSeconds(r.diff_s), sort: (r) => r.diff_s },
  { id: "share", title: "Change", numeric: true, cell: (r) => changeShare(r.diff_share), sort: (r) => r.diff_share },
];

type Use = Comparison["utilization"][number];

const median = (side: "a" | "b") => (r: Use) => {
  const why = side === "a" ? r.why_a : r.why_b;
  return r[side].p50 === null ? <span title={why ?? undefined}>not measured</span> : value(r[side].p50, r.unit);
};

const USE_COLUMNS: readonly Column<Use>[] = [
  { id: "title", title: "Resource", cell: (r) => sentenceCase(r.title), sort: (r) => r.title },
  { id: "a", title: "A, p50", numeric: true, cell: median("a"), sort: (r) => r.a.p50 },
  { id: "b", title: "B, p50", numeric: true, cell: median("b"), sort: (r) => r.b.p50 },
  { id: "diff", title: "Difference", numeric: true, cell: (r) => (r.unit === "%" ? changePoints(r.diff) : changeValue(r.diff, r.unit)), sort: (r) => r.diff },
  { id: "a95", title: "A, p95", numeric: true, cell: (r) => value(r.a.p95, r.unit), sort: (r) => r.a.p95 },
  { id: "b95", title: "B, p95", numeric: true, cell: (r) => value(r.b.p95, r.unit), sort: (r) => r.b.p95 },
];

export function PhasesAndUse(p: { data: Comparison }) {
  return (
    <div class="compare-two compare-uneven">
      <Card title="Phases of the run">
        <DataTable caption="Phases of both runs" columns={PHASE_COLUMNS} rows={p.data.phases} rowKey={(r) => r.phase} />
      </Card>
      <Card title="Utilization">
        <DataTable caption="Utilization in both runs" columns={USE_COLUMNS} rows={p.data.utilization} rowKey={(r) => r.metric} />
      </Card>
    </div>
  );
}

type Op = Comparison["operators"][number];

const OP_COLUMNS: readonly Column<Op>[] = [
  { id: "device", title: "Device", cell: (r) => r.device.toUpperCase(), sort: (r) => r.device },
  { id: "name", title: "Operator", cell: (r) => r.name, sort: (r) => r.name, class: "compare-name" },
  { id: "a", title: "Self, A", numeric: true, cell: (r) => s(r.a_self_s), sort: (r) => r.a_self_s },
  { id: "b", title: "Self, B", numeric: true, cell: (r) => s(r.b_self_s), sort: (r) => r.b_self_s },
  { id: "diff", title: "Difference", numeric: true, cell: (r) => changeSeconds(r.diff_s), sort: (r) => r.diff_s },
  { id: "size", title: "Calls, A", numeric: true, cell: (r) => calls(r.a_calls), sort: (r) => r.a_calls },
  { id: "callsb", title: "Calls, B", numeric: true, cell: (r) => calls(r.b_calls), sort: (r) => r.b_calls },
];

const calls = (n: number | null): string => value(n, "");

type Time = Comparison["breakdown"][number];
const timeText = (r: Time, v: number | null): string => (r.unit === "share" ? share(v) : s(v));

const TIME_COLUMNS: readonly Column<Time>[] = [
  { id: "of", title: "Of", cell: (r) => r.of, sort: (r) => r.of },
  { id: "what", title: "Part", cell: (r) => r.what, sort: (r) => r.what },
  { id: "a", title: "A", numeric: true, cell: (r) => timeText(r, r.a) },
  { id: "b", title: "B", numeric: true, cell: (r) => timeText(r, r.b) },
  { id: "diff", title: "Difference", numeric: true, cell: (r) => (r.unit === "share" ? changePoints(r.diff === null ? null : r.diff * 100) : changeSeconds(r.diff)) },
];

export function Detail(p: { data: Comparison }) {
  const { operators, breakdown, operators_per: per } = p.data;
  if (operators.length === 0 && breakdown.length === 0) return null;
  return (
    <>
      {breakdown.length > 0 && (
        <Card title="Breakdown of steps and devices">
          <DataTable caption="Breakdown of both runs" columns={TIME_COLUMNS} rows={breakdown} rowKey={(r) => `${r.of} ${r.what}`} />
        </Card>
      )}
      {operators.length > 0 && (
        <Card title="Operators" hint={`self time per ${per ?? "run"}, largest change first`}>
          <DataTable caption="Operators of both runs" columns={OP_COLUMNS} rows={operators} rowKey={(r) => `${r.device} ${r.name}`} limit={20} />
        </Card>
      )}
    </>
  );
}

const CHANGES = [
  { id: "appeared", title: "New in B", sign: "+" },
  { id: "went", title: "Resolved in B", sign: "−" },
  { id: "stayed", title: "In both", sign: "=" },
  { id: "unknown", title: "Skipped in one run", sign: "?" },
] as const;

function FindingItem(p: { finding: ComparedFinding }) {
  const f = p.finding;
  const severity = f.severity_b ?? f.severity_a;
  const lost = (side: string, v: number | null, of: number | null): string[] => (v === null ? [] : [`${s(v)}${of === null ? "" : ` (${share(of)})`} in ${side}`]);
  const all = [...lost("A", f.lost_s_a, f.lost_share_a), ...lost("B", f.lost_s_b, f.lost_share_b)];
  return (
    <li>
      <span class="compare-finding-head">
        {severity !== null && (
          <Badge kind={SEVERITY[severity].kind} icon={SEVERITY[severity].icon}>
            {severity}
          </Badge>
        )}
        <strong>{f.title}</strong>
      </span>
      {f.message_a !== null && <p>A: {f.message_a}</p>}
      {f.message_b !== null && <p>B: {f.message_b}</p>}
      {f.why !== null && <p class="quiet">{f.why}</p>}
      {all.length > 0 && <p class="quiet">Time lost: {all.join(", ")}</p>}
    </li>
  );
}

export function Findings(p: { data: Comparison }) {
  const all = CHANGES.filter((c) => p.data.findings[c.id].length > 0);
  return (
    <Card title="Findings">
      {all.length === 0 && <p class="quiet">No issues in either run.</p>}
      <div class="compare-two">
        {all.map((c) => (
          <section key={c.id} data-change={c.id}>
            <h3>
              <span aria-hidden="true">{c.sign} </span>
              {c.title}
            </h3>
            <ul class="compare-findings">
              {p.data.findings[c.id].map((f) => (
                <FindingItem key={f.rule} finding={f} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </Card>
  );
}

const LOSS_COLUMNS: readonly Column<ComparedLossRow>[] = [
  { id: "steps", title: "Steps", cell: (r) => `${count(r.from_step)} to ${count(r.to_step)}`, sort: (r) => r.from_step },
  { id: "a", title: "Loss A", numeric: true, cell: (r) => value(r.a, ""), sort: (r) => r.a },
  { id: "b", title: "Loss B", numeric: true, cell: (r) => value(r.b, ""), sort: (r) => r.b },
  { id: "diff", title: "Change", numeric: true, cell: (r) => changeValue(r.diff, ""), sort: (r) => r.diff },
];

/** Where the training of both parts. */
export function TrainingHealth(p: { data: Comparison; overlay: string }) {
  const h = p.data.health;
  if (h === undefined) return null;
  return (
    <Card title="Training health" actions={<a href={p.overlay}>Both in one chart</a>}>
      <p>{h.sentence}</p>
      <DataTable caption="Mean loss of equal steps" columns={LOSS_COLUMNS} rows={h.loss} rowKey={(r) => String(r.from_step)} />
    </Card>
  );
}
