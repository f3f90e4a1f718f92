// SPDX-License-Identifier: Apache-2.0
// compare.tsx - two runs side by side: whether B is faster than A, what changed, and the cost.
import { api } from "../api";
import { Button, Card, Field } from "../components/basics";
import { Empty, Loaded } from "../components/empty";
import { changeShare, count, dateTime, price, samplesPerSecond, value } from "../format";
import { useLoad } from "../load";
import { go, routePath } from "../state";
import type { ComparedSide, Comparison, RunLine } from "../types";
import { StepTimes } from "./compare_charts";
import { Detail, Findings, Numbers, Parts, PhasesAndUse, StepTable, TrainingHealth, VerdictBadge } from "./compare_tables";
import { lossTitle } from "../words";
import { Overlays } from "./compare_overlay";
import { olderFirst } from "./runs";
import "./compare.css";

// A side is a run or a group of runs; in the address their names are separated by commas.
const namesOf = (side: string): string[] => side.split(",").filter((name) => name !== "");

function RunSelect(p: { label: string; none: string; value: string; runs: readonly RunLine[]; onChange: (run: string) => void }) {
  return (
    <Field label={p.label}>
      {(id) => (
        <select id={id} value={p.value} onChange={(e) => p.onChange(e.currentTarget.value)}>
          <option value="">{p.none}</option>
          {p.value !== "" && !p.runs.some((r) => r.run === p.value) && <option value={p.value}>{p.value}</option>}
          {p.runs.map((r) => (
            <option key={r.run} value={r.run}>
              {r.status === null ? r.run : `${r.name} · ${"start_ns" in r ? dateTime(r.start_ns) : ""} · ${r.run}`}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Picker(p: { side: "A" | "B"; value: string; runs: readonly RunLine[]; onChange: (side: string) => void }) {
  const [first = "", ...more] = namesOf(p.value);
  const good = p.runs.filter((r) => r.status !== null);
  const set = (names: string[]): void => p.onChange(names.filter((name) => name !== "").join(","));
  return (
    <div class="compare-side">
      <RunSelect label={`Run ${p.side}`} none="choose a run" value={first} runs={good} onChange={(run) => set([run, ...more])} />
      {more.length > 0 && (
        <ul aria-label={`More runs of ${p.side}`}>
          {more.map((name) => (
            <li key={name}>
              <span>{name}</span>
              <Button label={`Remove ${name} from ${p.side}`} onClick={() => set([first, ...more.filter((n) => n !== name)])}>
                ×
              </Button>
            </li>
          ))}
        </ul>
      )}
      {first !== "" && (
        <RunSelect
          label={`More runs for ${p.side}`}
          none="add a run to compare groups"
          value=""
          runs={good.filter((r) => r.run !== first && !more.includes(r.run))}
          onChange={(run) => set([first, ...more, run])}
        />
      )}
    </div>
  );
}

function Pickers(p: { a: string; b: string }) {
  const runs = useLoad("runs", (signal) => api.runs(signal));
  const show = (a: string, b: string): void => go({ page: "compare", a, b });
  // The second run that is chosen goes to the side where its age belongs: A is before.
  const complete = (a: string, b: string): void => {
    const [first = a, second = b] = olderFirst([a, b], runs.data ?? []);
    show(first, second);
  };
  return (
    <div class="compare-pickers">
      <Picker side="A" value={p.a} runs={runs.data ?? []} onChange={(a) => (p.a === "" && p.b !== "" && a !== "" ? complete(a, p.b) : show(a, p.b))} />
      <Button label="Swap A and B" onClick={() => show(p.b, p.a)} why={p.b === "" ? "Choose a second run first" : null}>
        ⇄
      </Button>
      <Picker side="B" value={p.b} runs={runs.data ?? []} onChange={(b) => (p.b === "" && p.a !== "" && b !== "" ? complete(p.a, b) : show(p.a, b))} />
    </div>
  );
}

function SideFacts(p: { name: string; side: ComparedSide; currency: string | null }) {
  const { side } = p;
  return (
    <tr>
      <th scope="row">{p.name}</th>
      <td>
        {side.runs.map((r) => (
          <a key={r.run} href={routePath({ page: "run", run: r.run, tab: "overview" })}>
            {side.runs.length === 1 ? side.name : r.run}
          </a>
        ))}
      </td>
      <td class="num">{value(side.duration_s, "s")}</td>
      <td class="num">{count(side.runs.reduce((n, r) => n + r.steps, 0))}</td>
      <td class="num">{samplesPerSecond(side.samples_per_s)}</td>
      <td class="num">{price(side.cost, p.currency)}</td>
    </tr>
  );
}

const currencyOf = (c: Comparison): string | null => c.cost.currency;

function costSentence(c: Comparison): string {
  const { a, b, saving, saving_share: part } = c.cost;
  const text = (v: number): string => price(v, currencyOf(c));
  if (a === null || b === null || saving === null) return "Cost is not known: the price of a machine is missing. Set price or machine when recording.";
  if (saving === 0) return `Both runs cost the same: ${text(a)}.`;
  const word = saving >= 0 ? "less" : "more";
  const how = part === null ? "" : ` (${changeShare(Math.abs(part)).replace("+", "")})`;
  return `B costs ${text(Math.abs(saving))} ${word} than A${how}: ${text(b)} instead of ${text(a)}.`;
}

function Verdict(p: { data: Comparison }) {
  const c = p.data;
  return (
    <Card title="Verdict" class="compare-verdict">
      <p class="compare-sentence">
        <VerdictBadge verdict={c.verdict} noise={c.may_be_noise} /> <span>{c.sentence}</span>
      </p>
      <p class="quiet">{c.why}</p>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="Runs">
        <table>
          <caption class="sr-only">Runs</caption>
          <thead>
            <tr>
              <th scope="col">Side</th>
              <th scope="col">Run</th>
              <th scope="col" class="num">Duration</th>
              <th scope="col" class="num">Steps</th>
              <th scope="col" class="num">Samples/s, steady</th>
              <th scope="col" class="num">Cost</th>
            </tr>
          </thead>
          <tbody>
            <SideFacts name="A" side={c.a} currency={currencyOf(c)} />
            <SideFacts name="B" side={c.b} currency={currencyOf(c)} />
          </tbody>
        </table>
      </div>
      <p data-part="cost">{costSentence(c)}</p>
      {!c.hardware.same && (
        <ul class="compare-hardware">
          {c.hardware.differences.map((d) => (
            <li key={d}>Hardware: {d}</li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Losses(p: { data: Comparison }) {
  const losses = p.data.losses.filter((l) => l.what !== "cost"); // the verdict has it
  if (losses.length === 0) return null;
  const sides = new Map<string, string[]>(); // what is missing on both sides is listed once
  for (const l of losses) {
    const what = `${lossTitle(l.what, l.what)}: ${l.why}`;
    sides.set(what, [...(sides.get(what) ?? []), ...(l.side === "both" ? ["A", "B"] : [l.side.toUpperCase()])]);
  }
  return (
    <Card title="Not compared">
      <ul class="compare-losses">
        {[...sides].map(([what, of]) => (
          <li key={what}>
            {what} <span class="quiet">({of.join(" and ")})</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Compared(p: { a: string; b: string }) {
  const load = useLoad(`${p.a} ${p.b}`, (signal) => api.compare(p.a, p.b, signal));
  return (
    <Loaded load={load} what="the comparison">
      {(data) => (
        <>
          <Verdict data={data} />
          <Card title="Iterations">
            <div class="compare-two">
              <StepTimes data={data} />
              <StepTable data={data} />
            </div>
          </Card>
          <Overlays a={namesOf(p.a)[0] ?? ""} b={namesOf(p.b)[0] ?? ""} names={[data.a.runs[0]?.name ?? "A", data.b.runs[0]?.name ?? "B"]} />
          <TrainingHealth data={data} overlay={`${routePath({ page: "run", run: namesOf(p.a)[0] ?? "", tab: "health" })}?with=${encodeURIComponent(namesOf(p.b)[0] ?? "")}`} />
          <Numbers data={data} />
          <Parts data={data} />
          <PhasesAndUse data={data} />
          <Detail data={data} />
          <Findings data={data} />
          <Losses data={data} />
        </>
      )}
    </Loaded>
  );
}

export function CompareView(p: { a: string; b: string }) {
  return (
    <div class="stack">
      <h1>Compare two runs</h1>
      <Pickers a={p.a} b={p.b} />
      {p.a === "" || p.b === "" ? (
        <Empty title="Choose two runs" command="footplate compare A B">
          A is the run before a change, B the run after it. On the command line:
        </Empty>
      ) : (
        <Compared a={p.a} b={p.b} />
      )}
    </div>
  );
}
