// SPDX-License-Identifier: Apache-2.0
// health.tsx - the Health view: is the model learning, and if not, why? The verdict first, then losses and other scalars
// by step or by time, system metrics of the same window, norms, and the statistics of tensors.
import { useMemo, useState } from "preact/hooks";

import { api } from "../api";
import { BAR_ROOM } from "../charts/heat";
import { RIGHT } from "../charts/linechart";
import type { TimeSync } from "../charts/sync";
import { Badge, Button, Card, Choice, Field } from "../components/basics";
import { Empty, ErrorBox, Loaded } from "../components/empty";
import { FilterBox } from "../components/filter_box";
import { useWidth } from "../components/width";
import { findingsVersion, version } from "../live";
import { type Load, useLoad } from "../load";
import { params, setParam } from "../state";
import type { GridSeries, HealthIndex, HealthScalar, RunInfo, RunLine, RunRow, Verdict } from "../types";
import type { ViewProps } from "../views";
import { plural, SEVERITY, sentenceCase } from "../words";
import { type HealthAsk, namesShown, readCurves, useStepSync, useStepTimes, WITH } from "./health_data";
import { type Picture, ScalarChart } from "./health_lines";
import { csvText, findingMarks, type HealthAxis, type HealthMark, pattern, scalarGroups } from "./health_model";
import { TensorPanel, TensorPicture, UpdateRatios } from "./health_tensors";
import { inOrder } from "./insights";
import { CHARTS, planChart } from "./nodes_charts";
import { type Ask, nodeShown, useAsked, useGrid, useSlowTick, useSync } from "./nodes_data";
import { LinePanel } from "./nodes_lines";
import { TopFinding } from "./overview_answer";
import "./health.css";
import "./metrics.css";
import "./nodes.css";
import "./overview.css";

const [LEFT, PHONE_LEFT, PHONE] = [150, 66, 600];
const PIXELS_STEP = 50;
const SMOOTHING = "0.6"; // where the slider begins when smoothing is switched on
const MOST_WITH = 5;
const MOST_OTHERS = 24;

// ---- the verdict ----

function Findings(p: { verdicts: readonly Verdict[]; run: RunInfo }) {
  const health = p.verdicts.filter((v) => v.health === true);
  const o = inOrder(health);
  const [first] = o.issues;
  const rest = [...o.issues.slice(1).map((i) => i.v), ...o.issues.flatMap((i) => i.explains), ...o.notes.flatMap((i) => [i.v, ...i.explains])];
  const skipped = health.filter((v) => v.state === "not_evaluated");
  return (
    <>
      {first !== undefined ? (
        <TopFinding v={first.v} run={p.run} more={0} />
      ) : o.clear.length + o.notes.length > 0 ? (
        <p class="insight-calm">
          <span aria-hidden="true">✓ </span>
          {p.run.live ? "No health issues so far" : "No health issues found"}: {plural(o.clear.length, "rule")} passed, {skipped.length} skipped
        </p>
      ) : (
        <p class="quiet">No rule about training health could be evaluated.</p>
      )}
      {rest.length > 0 && (
        <ul class="health-findings">
          {rest.map((v) => (
            <li key={v.rule}>
              <Badge {...SEVERITY[v.severity]}>{v.severity}</Badge> <strong>{v.title === "" ? v.rule : v.title}</strong> {sentenceCase(v.findings[0]?.message ?? "")}
            </li>
          ))}
        </ul>
      )}
      {skipped.length > 0 && (
        <details>
          <summary>{plural(skipped.length, "rule")} not evaluated</summary>
          <ul>
            {skipped.map((v) => (
              <li key={v.rule}>
                {v.title === "" ? v.rule : v.title}: {v.why}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function VerdictCard(p: { run: RunInfo; verdicts: Load<Verdict[]> }) {
  return (
    <Card class="health-verdict">
      <h2 class="sr-only">Verdict</h2>
      <Loaded load={p.verdicts} what="the rules">
        {(v) => <Findings verdicts={v} run={p.run} />}
      </Loaded>
    </Card>
  );
}

// ---- what is shown ----

function axisShown(hasSteps: boolean): HealthAxis {
  return params.value["axis"] === "time" || !hasSteps ? "time" : "step";
}

const smoothingShown = (): number => Math.min(Math.max(Number(params.value["smooth"] ?? 0) || 0, 0), 0.99);

function Smoothing() {
  const now = smoothingShown();
  return (
    <div class="health-smooth">
      <label>
        <input type="checkbox" checked={now > 0} onChange={(e) => setParam("smooth", e.currentTarget.checked ? SMOOTHING : null)} /> Smoothing
      </label>
      {now > 0 && (
        <>
          <input type="range" min="0.05" max="0.99" step="0.01" value={now} aria-label="Weight of earlier values" onInput={(e) => setParam("smooth", e.currentTarget.value)} />
          <span class="num">{now.toFixed(2)}</span>
        </>
      )}
    </div>
  );
}

const isRow = (r: RunLine): r is RunRow => r.status !== null;

/** Other runs in the same charts. */
function WithRuns(p: { run: RunInfo; runs: readonly RunRow[]; shown: readonly RunRow[] }) {
  const names = namesShown();
  const write = (next: readonly string[]): void => setParam(WITH, next.map(encodeURIComponent).join(","));
  const free = p.runs.filter((r) => r.run !== p.run.run && !names.includes(r.run));
  return (
    <>
      {free.length > 0 && names.length < MOST_WITH && (
        <Field label="Compare with">
          {(id) => (
            <select id={id} value="" onChange={(e) => e.currentTarget.value !== "" && write([...names, e.currentTarget.value])}>
              <option value="">choose a run …</option>
              {free.slice(0, 100).map((r) => (
                <option key={r.run} value={r.run}>
                  {r.name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {p.shown.map((r) => (
        <Button key={r.run} kind="quiet" label={`Remove: ${r.name}`} onClick={() => write(names.filter((n) => n !== r.run))}>
          {r.name} <span aria-hidden="true">✕</span>
        </Button>
      ))}
    </>
  );
}

function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** The scalars that are shown, of the window, as a file. */
function Download(p: { ask: HealthAsk; scalars: readonly HealthScalar[] }) {
  const [failed, setFailed] = useState<string | null>(null);
  const x = p.ask.axis === "step" ? "step" : "time_ms";
  const make = async (): Promise<void> => {
    try {
      const curves = await readCurves(p.ask, p.scalars, new AbortController().signal);
      const rows = curves.flatMap((c) => c.x.map((at, i) => [c.node, c.metric, c.entity, at, c.v[i] ?? null, c.min[i] ?? null, c.max[i] ?? null]));
      save(`${p.ask.run.run}-health.csv`, csvText(["run", "scalar", "mode", x, "mean", "min", "max"], rows));
      setFailed(null);
    } catch (e) {
      setFailed(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <>
      <Button onClick={() => void make()}>Download CSV</Button>
      {failed !== null && <ErrorBox error={failed} />}
    </>
  );
}

function Bar(p: { ask: HealthAsk; time: TimeSync; hasSteps: boolean; runs: readonly RunRow[]; scalars: readonly HealthScalar[] }) {
  const { ask } = p;
  const ranks = p.ask.index.ranks;
  const zoomed = [useAsked(ask.sync), useAsked(p.time)].some((a) => a.key !== "whole");
  const whole = (): void => {
    ask.sync.setWindow(null);
    p.time.setWindow(null); // a window before or after training has no steps
  };
  return (
    <div class="nodes-bar health-bar">
      {p.hasSteps && (
        <Choice
          label="Across"
          value={ask.axis}
          options={[
            { value: "step", text: "Step" },
            { value: "time", text: "Time" },
          ]}
          onChange={(v) => setParam("axis", v === "time" ? v : null)}
        />
      )}
      {ranks.length > 1 && (
        <Field label="Rank">
          {(id) => (
            <select id={id} value={String(ask.rank)} onChange={(e) => setParam("rank", e.currentTarget.value)}>
              {ranks.map((r) => (
                <option key={r.rank} value={String(r.rank)}>
                  {r.rank} ({r.node})
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <FilterBox label="Filter scalars and tensors by a regular expression" hint="regular expression" param="q" />
      <Smoothing />
      <WithRuns run={ask.run} runs={p.runs} shown={ask.others} />
      <Button why={zoomed ? null : "The whole run is visible"} onClick={whole}>
        {ask.run.live ? "Follow the run" : "Whole run"}
      </Button>
      <Download ask={ask} scalars={p.scalars} />
    </div>
  );
}

// ---- the charts ----

const modeText = (c: Pick<GridSeries, "metric" | "entity">): string => (c.entity.startsWith("train") ? c.metric : `${c.metric}, ${c.entity.replace(" smoothed", "")}`);

function labels(ask: HealthAsk): Picture["label"] {
  const runs: readonly Pick<RunRow, "run" | "name">[] = [ask.run, ...ask.others];
  const names = new Map(runs.map((r) => [r.run, runs.some((x) => x !== r && x.name === r.name) ? r.run : r.name]));
  return (c) => (ask.others.length === 0 ? modeText(c) : `${modeText(c)} (${names.get(c.node) ?? c.node})`);
}

function Marks(p: { ask: HealthAsk }) {
  if (p.ask.marks.length === 0) return null;
  const zoom = (m: HealthMark): void => {
    const w = p.ask.sync.whole;
    const half = (w.to - w.from) / 20;
    p.ask.sync.setWindow({ from: m.at - half, to: m.at + half });
  };
  return (
    <ul class="legend health-marks" aria-label="Findings on the curves">
      {p.ask.marks.map((m, i) => (
        <li key={i}>
          <button type="button" class="bare" onClick={() => zoom(m)} title="Show this place">
            <span style={{ color: `var(${m.colour})` }} aria-hidden="true">
              ▼{" "}
            </span>
            {m.rule}
            {m.step === null ? "" : `, step ${m.step}`}
            {m.finding.module ? ` in ${m.finding.module}` : ""}
          </button>
        </li>
      ))}
    </ul>
  );
}

function System(p: { run: RunInfo; sync: TimeSync; left: number; right: number; pixels: number }) {
  const at = nodeShown(p.run);
  const asked = useAsked(p.sync);
  const known = JSON.stringify(p.run.metrics);
  const plan = useMemo(() => planChart(p.run, at, CHARTS.system, []), [p.run.run, known, at]);
  const ask: Ask = { run: p.run, node: at, sync: p.sync, asked, pixels: p.pixels };
  const grid = useGrid(ask, plan.asks);
  if (plan.looks.length === 0) return null;
  return (
    <Loaded load={grid} what="system metrics">
      {(g) => <LinePanel kind={{ ...CHARTS.system, drag: "zoom", title: "System metrics of the same window" }} plan={plan} grid={g} sync={p.sync} intervalMs={p.run.interval_ms} left={p.left} right={p.right} height={150} />}
    </Loaded>
  );
}

function Charts(p: { ask: HealthAsk; time: TimeSync }) {
  const { ask } = p;
  const q = params.value["q"] ?? "";
  const filter = pattern(q);
  const groups = scalarGroups(ask.index, ask.rank);
  const label = labels(ask);
  const others = groups.others.filter((s) => filter === null || filter.test(s.name));
  const half = { ...ask, left: PHONE_LEFT, right: RIGHT };
  return (
    <>
      {filter === null && <p class="quiet">The filter is not a regular expression.</p>}
      <Card title="Loss and system">
        {groups.losses.length > 0 ? (
          <ScalarChart ask={ask} scalars={groups.losses} picture={{ title: "Loss", smooth: true, marked: true, label }} />
        ) : (
          <Empty title="No loss was recorded">footplate.log("loss", value) records one where no hook does.</Empty>
        )}
        <Marks ask={ask} />
        <System run={ask.run} sync={p.time} left={ask.left} right={ask.right} pixels={ask.pixels} />
      </Card>
      {groups.norms.length + groups.rates.length + groups.scale.length > 0 && (
        <Card title="Gradient norm, learning rate">
          {groups.norms.length + groups.rates.length > 0 && (
            <ScalarChart
              ask={ask}
              scalars={[...groups.norms, ...groups.rates]}
              picture={{
                title: groups.norms.length > 0 ? "Gradient norm" : "Learning rate",
                ...(groups.norms.length > 0 && groups.rates.length > 0 ? { unit: "logarithmic; learning rate at the right" } : {}),
                log: groups.norms.length > 0,
                smooth: groups.norms.length > 0,
                low: "zero",
                ...(groups.norms.length > 0 ? { right: (c: Pick<GridSeries, "metric">) => c.metric.startsWith("lr") } : {}),
                marked: true,
                label,
              }}
            />
          )}
          {groups.scale.length > 0 && <ScalarChart ask={ask} scalars={groups.scale} picture={{ title: "AMP loss scale", unit: "logarithmic", log: true, height: 130, label }} />}
        </Card>
      )}
      <TensorPicture ask={ask} match={filter === null ? "" : q} />
      <TensorPanel ask={ask} />
      <UpdateRatios ask={ask} match={filter === null ? "" : q} />
      {others.length > 0 && (
        <Card title="Other metrics" hint={plural(others.length, "scalar")}>
          <div class="metrics-grid">
            {others.slice(0, MOST_OTHERS).map((s) => (
              <ScalarChart key={`${s.name} ${s.mode}`} ask={half} scalars={[s]} picture={{ title: s.mode === "train" ? s.name : `${s.name}, ${s.mode}`, smooth: true, height: 130, label }} />
            ))}
          </div>
          {others.length > MOST_OTHERS && <p class="quiet">{others.length - MOST_OTHERS} more: use the filter.</p>}
        </Card>
      )}
    </>
  );
}

function Present(p: { run: RunInfo; index: HealthIndex; verdicts: Load<Verdict[]> }) {
  const { run, index } = p;
  const [box, wide] = useWidth();
  const wanted = Number(params.value["rank"] ?? NaN);
  const rank = index.ranks.find((r) => r.rank === wanted)?.rank ?? index.ranks[0]?.rank ?? 0;
  const times = useStepTimes(run, index, rank);
  const hasSteps = index.scalars.some((s) => s.rank === rank && s.first_step !== null);
  const axis = axisShown(hasSteps);
  const time = useSync(run);
  const steps = useStepSync(run, index, rank, time, times);
  const sync = axis === "step" ? steps : time;
  const asked = useAsked(sync);
  const list = useLoad("runs", (signal) => api.runs(signal), 0, true);
  const runs = (list.data ?? []).filter(isRow);
  const others = runs.filter((r) => namesShown().includes(r.run)).slice(0, MOST_WITH);
  const left = wide < PHONE ? PHONE_LEFT : LEFT;
  const right = BAR_ROOM;
  const pixels = Math.ceil(Math.max(wide - left - right, 0) / PIXELS_STEP) * PIXELS_STEP;
  const marks = useMemo(() => findingMarks(p.verdicts.data ?? [], axis, times), [p.verdicts.data, axis, times]);
  const ask: HealthAsk = { run, index, rank, axis, sync, asked, times, pixels, left, right, others, smoothing: smoothingShown(), marks };
  const groups = scalarGroups(index, rank);
  const filter = pattern(params.value["q"] ?? "");
  const shown = [...groups.losses, ...groups.norms, ...groups.rates, ...groups.scale, ...groups.others.filter((s) => filter === null || filter.test(s.name))];
  return (
    <div class="nodes health" ref={box}>
      <VerdictCard run={run} verdicts={p.verdicts} />
      <Bar ask={ask} time={time} hasSteps={hasSteps} runs={runs} scalars={shown} />
      <Charts key={axis} ask={ask} time={time} />
    </div>
  );
}

export function HealthView(p: ViewProps) {
  const { run } = p;
  const index = useLoad(run.run, (signal) => api.health(run.run, signal), useSlowTick(run.live));
  const verdicts = useLoad(run.run, (signal) => api.findings(run.run, signal), run.live ? findingsVersion.value : version.value);
  return (
    <Loaded load={index} what="training health">
      {(x) =>
        x.values === 0 ? (
          <Empty title="No training health was recorded" command="footplate run -- python train.py">
            The job did not train with a framework that the hooks know, or health was off. footplate.log(name, value) records a value of the program.
          </Empty>
        ) : (
          <Present run={run} index={x} verdicts={verdicts} />
        )
      }
    </Loaded>
  );
}
