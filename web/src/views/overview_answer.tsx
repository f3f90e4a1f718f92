// SPDX-License-Identifier: Apache-2.0
// overview_answer.tsx - the head of the Overview, which answers at a glance: how far the run is and how fast, what
// the program counts itself, what it costs, and the most important finding with what to do about it.
import { api } from "../api";
import { Badge, Card } from "../components/basics";
import { count, duration, general, percent, price, samplesPerSecond, value } from "../format";
import { liveStatus, version } from "../live";
import { type Load, useLoad } from "../load";
import { routePath, showTab } from "../state";
import type { Counters, CounterSeries, HealthCurve, HealthScalar, RunInfo, StepRank, Steps, Verdict } from "../types";
import { endSentence, SEVERITY, sentenceCase } from "../words";
import { isLoss } from "./health_model";
import { inOrder, isJudged, NoRules } from "./insights";
import { estimate, lostShare } from "./insight_rule";
import { priceText } from "./overview_job";
import { type Tile, Tiles } from "./overview_loop";
import { loopOf, stepRate } from "./rates";

const TOTAL = "steps.total"; // reported by hooks or by the program: how many steps it plans
const MOST_COUNTERS = 3;
const POINTS = 60;

/** How many training steps the program plans; null: it did not report that. */
export function plannedSteps(counters: Pick<Counters, "series"> | null): number | null {
  const all = (counters?.series ?? []).filter((s) => s.metric === TOTAL && s.last !== null).map((s) => s.last as number);
  return all.length === 0 ? null : Math.max(...all);
}

/** Seconds until the planned steps are done at the mean speed of the loop so far, pauses included. */
export function secondsLeft(run: Pick<RunInfo, "live" | "loop_start_ns" | "updated_ns">, done: number, planned: number | null): number | null {
  if (!run.live || planned === null || run.loop_start_ns === null || done === 0) return null;
  return (Math.max(planned - done, 0) * (run.updated_ns - run.loop_start_ns)) / 1e9 / done;
}

function statusTile(run: RunInfo): Tile {
  const status = liveStatus.value?.status ?? run.status;
  const ended = endSentence(run);
  return { term: "Status", text: status, below: `${run.live ? "for" : "after"} ${duration(run.job_duration_s ?? run.duration_s)}${ended === null ? "" : `. ${ended}.`}` };
}

function stepTile(run: RunInfo, best: StepRank, planned: number | null): Tile {
  const left = secondsLeft(run, best.count, planned);
  const share = planned === null || planned === 0 ? null : `${percent((100 * best.count) / planned)} done`;
  const rest = left === null ? null : `${duration(left)} left`;
  const below = [share, rest].filter((x) => x !== null).join(", ");
  const unknown = run.live ? "the number of planned steps is not known" : "training steps";
  return { term: run.live ? "Step" : "Steps", text: count(best.count), ...(planned === null ? {} : { unit: `of ${count(planned)}` }), below: below === "" ? unknown : below };
}

function speedTiles(ranks: readonly StepRank[], best: StepRank): Tile[] {
  const loop = loopOf(ranks);
  const rate = stepRate(best);
  const speed: Tile =
    rate === null
      ? { term: "Steps/s", text: null, below: "no iteration has ended yet" }
      : { term: "Steps/s", text: general(rate, 3), below: `${value(best.iteration_s.mean, "s")} each, without warm-up` };
  const samples: Tile =
    loop.steady === null
      ? { term: "Samples/s", text: null, below: "the batch size is not known" }
      : { term: "Samples/s", text: samplesPerSecond(loop.steady), below: loop.ranks > 1 ? `${loop.ranks} ranks together` : "without warm-up" };
  return [speed, samples];
}

/** The program's own counters: of each name the first rank; not the one that `shown` has already. */
export function ownCounters(counters: Pick<Counters, "series"> | null, shown: string | null = null): CounterSeries[] {
  const own = (counters?.series ?? []).filter((s) => s.own && s.unit !== "marks" && s.last !== null && s.metric.toLowerCase() !== shown?.toLowerCase());
  return own.filter((s, i) => own.findIndex((x) => x.metric === s.metric) === i);
}

function counterTile(s: CounterSeries): Tile {
  const known = (all: readonly (number | null)[]): number[] => all.filter((v): v is number => v !== null);
  const [lows, highs] = [known(s.min), known(s.max)];
  const range = lows.length === 0 ? "" : `from ${general(Math.min(...lows), 3)} to ${general(Math.max(...highs), 3)}`;
  return { term: s.metric, text: value(s.last, s.unit), below: range, line: s.v };
}

/** The loss of training: its newest value, and how it went; none where no loss was recorded. */
function lossTile(loss: LossCurve | null): Tile[] {
  if (loss === null) return [];
  const { scalar, curve } = loss;
  const best = scalar.min === null ? "no finite value" : `${general(scalar.min, 3)} at best${scalar.min_step === null ? "" : ` (step ${count(scalar.min_step)})`}`;
  const bad = scalar.nonfinite === 0 ? "" : `; ${count(scalar.nonfinite)} not finite`;
  return [{ term: scalar.name === "loss" ? "Loss" : scalar.name, text: scalar.last === null ? "not finite" : value(scalar.last, ""), below: `${best}${bad}`, line: curve.mean }];
}

interface LossCurve {
  scalar: HealthScalar;
  curve: HealthCurve;
}

/** The first loss of training of the first rank; null: there is none. */
async function readLoss(run: string, signal: AbortSignal): Promise<LossCurve | null> {
  const scalar = (await api.health(run, signal)).scalars.find((s) => s.mode === "train" && isLoss(s.name));
  if (scalar === undefined) return null;
  const [curve] = await api.healthScalars(run, { name: [scalar.name], mode: scalar.mode, rank: scalar.rank, points: POINTS }, signal);
  return curve === undefined ? null : { scalar, curve };
}

function costTile(run: RunInfo): Tile[] {
  if (run.cost === null) return [];
  return [{ term: run.live ? "Cost so far" : "Cost", text: price(run.cost, run.currency), below: /\((.*)\)$/.exec(priceText(run))?.[1] ?? "" }];
}

/** "1.2 s, 6.3 % of the training loop, 0.02 USD" */
function savingText(v: Verdict, run: RunInfo): string {
  return [
    `${value(v.lost_s, "s")}${estimate(v.findings)}`,
    ...(v.lost_share === null ? [] : [lostShare(v, run)]),
    ...(v.lost_cost === null ? [] : [price(v.lost_cost, run.currency)]),
  ].join(", ");
}

export function TopFinding(p: { v: Verdict; run: RunInfo; more: number }) {
  const { v } = p;
  const f = v.findings[0];
  return (
    <div class={`answer-finding finding ${v.severity}`}>
      <p class="answer-title">
        <Badge {...SEVERITY[v.severity]}>{v.severity}</Badge> <strong>{v.title === "" ? v.rule : v.title}</strong>
      </p>
      {f !== undefined && <p>{sentenceCase(f.message)}.</p>}
      <dl class="facts">
        <div class="fact">
          <dt>What to do</dt>
          <dd>{f?.advice ?? v.recommendation}</dd>
        </div>
        {v.lost_s !== null && (
          <div class="fact">
            <dt>{p.run.live ? "Lost so far" : v.ending === true ? "Time lost" : "Would save up to"}</dt>
            <dd>{savingText(v, p.run)}</dd>
          </div>
        )}
      </dl>
      {p.more > 0 && <p class="quiet">{p.more === 1 ? "One more issue is" : `${p.more} more issues are`} in Insights.</p>}
    </div>
  );
}

function Finding(p: { run: RunInfo; verdicts: Load<Verdict[]> }) {
  const { data, error } = p.verdicts;
  if (data === null) return error === null ? <p class="quiet">The rules are being evaluated …</p> : null;
  const o = inOrder(data);
  const first = o.issues[0] ?? null;
  if (first !== null) return <TopFinding v={first.v} run={p.run} more={o.issues.length - 1} />;
  if (!isJudged(o)) return <NoRules run={p.run} />;
  const good = endSentence(p.run) === null;
  return (
    <p class={good ? "insight-calm" : "quiet"}>
      {good && <span aria-hidden="true">✓ </span>}
      {p.run.live ? "No issues found so far" : "No issues found"}
    </p>
  );
}

export function Answer(p: { run: RunInfo; steps: Load<Steps>; verdicts: Load<Verdict[]> }) {
  const { run } = p;
  const counters = useLoad(run.run, (signal) => api.counters(run.run, { points: POINTS }, signal), version.value);
  const loss = useLoad(run.run, (signal) => readLoss(run.run, signal), version.value);
  const ranks = p.steps.data?.ranks ?? [];
  const { best } = loopOf(ranks);
  const own = ownCounters(counters.data, loss.data?.scalar.name);
  const tiles = [
    statusTile(run),
    ...(best === null ? [] : [stepTile(run, best, plannedSteps(counters.data)), ...speedTiles(ranks, best)]),
    ...lossTile(loss.data),
    ...own.slice(0, MOST_COUNTERS).map(counterTile),
    ...costTile(run),
  ];
  const metrics = routePath({ page: "run", run: run.run, tab: "metrics" });
  const open = (e: Event): void => {
    e.preventDefault();
    showTab("metrics");
  };
  return (
    <Card class="answer">
      <h2 class="sr-only">At a glance</h2>
      <Tiles tiles={tiles} />
      {own.length > MOST_COUNTERS && (
        <p class="quiet">
          {own.length - MOST_COUNTERS} more of the program's counters are in{" "}
          <a href={metrics} onClick={open}>
            Metrics
          </a>
          .
        </p>
      )}
      <Finding run={run} verdicts={p.verdicts} />
    </Card>
  );
}
