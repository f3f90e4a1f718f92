// SPDX-License-Identifier: Apache-2.0
// runs.tsx - the start page: all runs, newest first; sort, filter, select two to compare. On a hub also the storage
// that they use.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { api } from "../api";
import { Badge, Button, Card } from "../components/basics";
import { Empty, Loaded } from "../components/empty";
import { FilterBox, hasWords } from "../components/filter_box";
import { type Column, DataTable } from "../components/table";
import { bytes, dateTime, duration, general, samplesPerSecond } from "../format";
import { useLoad } from "../load";
import { go, params, routePath, setParam, tagAddress } from "../state";
import type { HubStorage, RunLine, RunRow, RunStatus, Severities, Severity } from "../types";
import { plural, SEVERITY, STATUS } from "../words";
import { loopOf, stepRate } from "./rates";
import "./runs.css";

/** How soon to request again: sooner while a run is live, unless the list is very long. */
const AGAIN_MS = 3000;
const SOON_MS = 1000;
const LONG = 200;

function pause(lines: readonly RunLine[] | null): number {
  return lines !== null && lines.length <= LONG && lines.some((l) => isGood(l) && l.live) ? SOON_MS : AGAIN_MS;
}

/** A number that grows every few seconds while the page is visible. */
function useTicks(ms: number): number {
  const [n, setN] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setN((old) => old + 1);
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
  return n;
}

function isGood(line: RunLine): line is RunRow {
  return line.status !== null;
}

function gpusOf(line: RunLine): number | null {
  return isGood(line) ? line.gpus : null;
}

/** More severe is more, whatever the counts below it. */
function weight(s: Severities): number {
  return s.critical * 1e6 + s.warning * 1e3 + s.info;
}

/** Whether a run has all words of the filter in its names, tags, note, command, nodes, status, user, folder or labels. */
export function matches(line: RunLine, filter: string): boolean {
  const more = isGood(line)
    ? [line.status, ...line.command, ...line.nodes.map((n) => n.id), line.user ?? "", line.folder, line.recorded_name, ...line.tags, line.note ?? "", ...Object.entries(line.labels).flatMap(([k, v]) => [k, v, `${k}=${v}`])]
    : ["damaged", line.error];
  return hasWords([line.name, line.run, ...more].join(" "), filter);
}

function Found(p: { line: RunLine }) {
  if (!isGood(p.line)) return null;
  const found = p.line.findings;
  if (found === null || found.evaluated === 0) {
    const why = found === null ? "The rules have not been evaluated yet" : "All rules were skipped: open the run for the reasons";
    return (
      <span class="quiet" title={why}>
        {found === null ? "not evaluated yet" : "no rule applied"}
      </span>
    );
  }
  const kinds = (["critical", "warning", "info"] as const).filter((k: Severity) => found[k] > 0);
  if (kinds.length === 0) return <span class="quiet">none</span>;
  return (
    <span class="runs-found">
      {kinds.map((k) => (
        <Badge key={k} kind={SEVERITY[k].kind} icon={SEVERITY[k].icon}>
          {k === "warning" ? plural(found[k], k) : `${found[k]} ${k}`}
        </Badge>
      ))}
    </span>
  );
}

/** The short id, which differs between runs of one name: "e0cc" of "train-20261116-232613-e0cc". */
export function shortId(line: { run: string; name: string }): string {
  if (line.run === line.name) return "";
  return /-\d{8}-\d{6}-([0-9a-z]+)$/.exec(line.run)?.[1] ?? line.run;
}

/** "python train.py": without the folder of the program, which is the same in most runs and as long as the place. */
export function shortCommand(command: readonly string[]): string {
  const [program = "", ...rest] = command;
  return [program.replace(/^.*\/(?=[^/])/, ""), ...rest].join(" ");
}

function Name(p: { line: RunLine }) {
  const under = isGood(p.line) ? shortCommand(p.line.command) : p.line.error;
  const whole = isGood(p.line) ? p.line.command.join(" ") : p.line.error;
  const id = shortId(p.line);
  return (
    <div class="runs-name">
      <span>
        <a href={routePath({ page: "run", run: p.line.run, tab: "overview" })}>{p.line.name}</a>
        {id !== "" && (
          <code class="runs-id" title={p.line.run}>
            {id}
          </code>
        )}
      </span>
      {isGood(p.line) && (
        <span class="runs-start-here quiet tabular">
          {dateTime(p.line.start_ns)}
        </span>
      )}
      <span class="quiet" title={whole}>
        {under}
      </span>
      {isGood(p.line) && <Labels of={p.line.labels} tags={p.line.tags} />}
    </div>
  );
}

/** The tags that users gave, which filter the list, and the labels of the start. */
function Labels(p: { of: Readonly<Record<string, string>>; tags: readonly string[] }) {
  const all = Object.entries(p.of);
  if (all.length + p.tags.length === 0) return null;
  return (
    <span class="runs-labels">
      {p.tags.map((t) => (
        <a key={`tag ${t}`} class="tag" href={tagAddress(t)} title={`Only runs with the tag ${t}`}>
          {t}
        </a>
      ))}
      {all.map(([key, v]) => (
        <code key={key}>{v === "" ? key : `${key}=${v}`}</code>
      ))}
    </span>
  );
}

const RATED = 20; // runs at the top whose speed is shown
const RATED_AGAIN_NS = 5e9; // of data, of a run that goes on

interface Rates {
  steps: number | null;
  samples: number | null;
}

/** Training steps per second of the rank with the most, samples per second of all, by run; one run
 * is requested at a time. */
function useRates(shown: readonly RunLine[]): ReadonlyMap<string, Rates> {
  const [rates, setRates] = useState<ReadonlyMap<string, Rates>>(new Map());
  const known = useRef(new Map<string, number>());
  const wanted = shown.filter(isGood).slice(0, RATED).filter((l) => {
    const at = known.current.get(l.run);
    return at === undefined || (l.live && l.updated_ns - at > RATED_AGAIN_NS);
  });
  useEffect(() => {
    const abort = new AbortController();
    const ask = async (): Promise<void> => {
      for (const l of wanted) {
        if (abort.signal.aborted) return;
        const steps = await api.steps(l.run, { last: 1 }, abort.signal).catch(() => null); // its own page shows why
        if (abort.signal.aborted) return;
        known.current.set(l.run, l.updated_ns);
        const loop = loopOf(steps?.ranks ?? []);
        setRates((old) => new Map([...old, [l.run, { steps: stepRate(loop.best), samples: loop.best === null ? null : loop.steady }]]));
      }
    };
    void ask();
    return () => abort.abort();
  }, [wanted.map((l) => l.run).join(" ")]);
  return rates;
}

/** On a phone the columns at the right are out of sight, so the findings are repeated at the left; the start is moved. */
function StatusAndFound(p: { line: RunLine }) {
  const some = isGood(p.line) && p.line.findings !== null && weight(p.line.findings) > 0;
  return (
    <>
      <Status line={p.line} />
      {some && (
        <span class="runs-found-here" aria-hidden="true">
          <Found line={p.line} />
        </span>
      )}
    </>
  );
}

/** "failed (3)" */
export function statusInList(line: { status: RunStatus; exit_status: number | null }): string {
  return line.status === "failed" && (line.exit_status ?? 0) > 0 ? `failed (${line.exit_status})` : line.status;
}

function Status(p: { line: RunLine }) {
  if (!isGood(p.line)) {
    return (
      <Badge kind="critical" icon="✕">
        damaged
      </Badge>
    );
  }
  const s = STATUS[p.line.status];
  return (
    <Badge kind={s.kind} icon={s.icon}>
      {statusInList(p.line)}
    </Badge>
  );
}

/** The runs in the order of their start: A is before, B after. */
export function olderFirst(names: readonly string[], runs: readonly RunLine[]): string[] {
  const start = (name: string): number => {
    const line = runs.find((r) => r.run === name);
    return line !== undefined && isGood(line) ? (line.start_ns ?? Infinity) : Infinity;
  };
  return [...names].sort((x, y) => start(x) - start(y));
}

type Pick = { picked: readonly string[]; toggle: (run: string) => void };

function PickBox(p: { line: RunLine } & Pick) {
  const on = p.picked.includes(p.line.run);
  return (
    <input
      type="checkbox"
      aria-label={`Compare ${p.line.run}`}
      checked={on}
      disabled={!isGood(p.line) || (!on && p.picked.length >= 2)}
      onChange={() => p.toggle(p.line.run)}
    />
  );
}

function Speed(p: { of: Rates | undefined }) {
  const { steps = null, samples = null } = p.of ?? {};
  if (steps === null) return null;
  return (
    <>
      {general(steps, 3)}
      {samples !== null && <span class="runs-samples quiet">{samplesPerSecond(samples)} samples/s</span>}
    </>
  );
}

function columnsFor(pick: Pick, rates: ReadonlyMap<string, Rates>, all: readonly RunLine[]): Column<RunLine>[] {
  const of = <T,>(get: (r: RunRow) => T) => (l: RunLine): T | null => (isGood(l) ? get(l) : null);
  const show = (get: (r: RunRow) => ComponentChildren) => of(get);
  const users = new Set(all.filter(isGood).map((r) => r.user));
  const rate = (l: RunLine): number | null => rates.get(l.run)?.steps ?? null;
  const own: Column<RunLine>[] = [
    ...([...users].some((u) => u !== null) ? [{ id: "user", title: "User", cell: show((r) => r.user), sort: of((r) => r.user) }] : []),
    ...(new Set(all.map((l) => l.folder)).size > 1 ? [{ id: "folder", title: "Folder", cell: (l: RunLine) => <span class="runs-folder" title={l.folder}>{l.folder}</span>, sort: (l: RunLine) => l.folder }] : []),
  ];
  return [
    { id: "pick", title: "Compare", cell: (l) => <PickBox line={l} {...pick} /> },
    { id: "name", title: "Name", cell: (l) => <Name line={l} />, sort: (l) => l.name },
    { id: "status", title: "Status", cell: (l) => <StatusAndFound line={l} />, sort: (l) => l.status ?? "damaged" },
    { id: "start", title: "Start", cell: show((r) => dateTime(r.start_ns)), sort: of((r) => r.start_ns), numeric: true },
    { id: "duration", title: "Duration", cell: show((r) => duration(r.duration_s)), sort: of((r) => r.duration_s), numeric: true },
    { id: "rate", title: "Steps/s", cell: (l) => <Speed of={rates.get(l.run)} />, sort: rate, numeric: true, hint: "Training steps per second, without warm-up; below: samples per second of all ranks" },
    { id: "nodes", title: "Nodes", cell: show((r) => r.nodes.length), sort: of((r) => r.nodes.length), numeric: true },
    { id: "gpus", title: "GPUs", cell: (l) => gpusOf(l), sort: gpusOf, numeric: true },
    { id: "size", title: "Size", cell: show((r) => bytes(r.bytes)), sort: of((r) => r.bytes), numeric: true, hint: "Storage used by the run" },
    ...own,
    {
      id: "findings",
      title: "Findings",
      cell: (l) => <Found line={l} />,
      sort: (l) => (isGood(l) && l.findings !== null ? weight(l.findings) : null),
    },
  ];
}

const STATES = [...Object.keys(STATUS), "damaged"];

/** A filter by a value that runs have; `least`: with fewer values there is nothing to choose. */
interface ValueFilter {
  param: string;
  label: string;
  all: string;
  least: number;
  values: (r: RunRow) => readonly string[];
}

const VALUE_FILTERS: readonly ValueFilter[] = [
  { param: "tag", label: "Tag", all: "All tags", least: 1, values: (r) => r.tags },
  { param: "label", label: "Label", all: "All labels", least: 1, values: (r) => Object.entries(r.labels).map(([k, v]) => (v === "" ? k : `${k}=${v}`)) },
  { param: "user", label: "User", all: "All users", least: 2, values: (r) => (r.user === null ? [] : [r.user]) },
  { param: "host", label: "Host", all: "All hosts", least: 2, values: (r) => r.nodes.map((n) => n.host ?? n.id) },
  { param: "owner", label: "Sender", all: "All senders", least: 2, values: (r) => (r.owner === null ? [] : [r.owner]) },
];

/** All values of the runs, and the one that is filtered by even if no run has it any more. */
export function allValues(runs: readonly RunLine[], values: (r: RunRow) => readonly string[], chosen: string): string[] {
  const found = runs.flatMap((l) => (isGood(l) ? values(l) : []));
  return [...new Set(chosen === "" ? found : [...found, chosen])].sort();
}

/** Whether a run has the values that are chosen in the address. */
export function fits(line: RunLine, chosen: Readonly<Record<string, string>>): boolean {
  const status = chosen["status"] ?? "";
  if (status !== "" && (line.status ?? "damaged") !== status) return false;
  return VALUE_FILTERS.every((f) => {
    const want = chosen[f.param] ?? "";
    return want === "" || (isGood(line) && f.values(line).includes(want));
  });
}

function ValueChoice(p: { filter: ValueFilter; runs: readonly RunLine[] }) {
  const { param, label, all, least } = p.filter;
  const chosen = params.value[param] ?? "";
  const values = useMemo(() => allValues(p.runs, p.filter.values, chosen), [p.runs, p.filter, chosen]);
  if (values.length < least && chosen === "") return null;
  return (
    <select aria-label={label} value={chosen} onChange={(e) => setParam(param, e.currentTarget.value)}>
      <option value="">{all}</option>
      {values.map((t) => (
        <option key={t}>{t}</option>
      ))}
    </select>
  );
}

function Filters(p: { runs: readonly RunLine[] }) {
  return (
    <>
      <FilterBox label="Filter runs" hint="Name, tag, command …" param="q" />
      <select
        aria-label="Status"
        value={params.value["status"] ?? ""}
        onChange={(e) => setParam("status", e.currentTarget.value)}
      >
        <option value="">All statuses</option>
        {STATES.map((s) => (
          <option key={s}>{s}</option>
        ))}
      </select>
      {VALUE_FILTERS.map((f) => (
        <ValueChoice key={f.param} filter={f} runs={p.runs} />
      ))}
    </>
  );
}

function RunsTable(p: { runs: RunLine[] }) {
  const [picked, setPicked] = useState<readonly string[]>([]);
  const filter = params.value["q"] ?? "";
  const chosen = params.value;
  const shown = useMemo(() => p.runs.filter((l) => matches(l, filter) && fits(l, chosen)), [p.runs, filter, chosen]);
  const rates = useRates(shown);
  const columns = useMemo(() => {
    const toggle = (run: string): void =>
      setPicked((now) => (now.includes(run) ? now.filter((r) => r !== run) : [...now, run]));
    return columnsFor({ picked, toggle }, rates, p.runs);
  }, [picked, rates, p.runs]);
  const [a, b] = olderFirst(picked, p.runs);
  const compare = (): void => {
    if (a !== undefined && b !== undefined) go({ page: "compare", a, b });
  };
  return (
    <Card class="runs">
      <div class="row runs-tools">
        <Filters runs={p.runs} />
        <span class="quiet" role="status">
          {shown.length === p.runs.length ? plural(shown.length, "run") : `${shown.length} of ${plural(p.runs.length, "run")}`}
        </span>
        <span class="spread" />
        <Button
          kind={b === undefined ? "plain" : "primary"}
          onClick={compare}
          why={b === undefined ? `Select two runs to compare (${picked.length} selected)` : null}
        >
          Compare {picked.length > 0 && `(${picked.length} of 2)`}
        </Button>
      </div>
      <DataTable
        caption="Runs"
        columns={columns}
        rows={shown}
        rowKey={(l) => l.run}
        limit={100}
        empty="No matches."
      />
    </Card>
  );
}

const STORAGE_AGAIN_MS = 10_000;

/** Storage of a hub: all of it, and by sender with its quota. */
function Storage(p: { of: HubStorage }) {
  const { used_bytes, free_bytes, names } = p.of;
  const free = free_bytes === null ? "" : `, ${bytes(free_bytes)} free`;
  return (
    <details class="runs-storage">
      <summary>
        Storage: {bytes(used_bytes)} used{free}
      </summary>
      <ul>
        {names.map((n) => (
          <li key={n.name ?? ""}>
            {n.name ?? "tokens without a name"}: {bytes(n.used_bytes)}
            {n.quota_bytes === null ? ", no quota" : ` of ${bytes(n.quota_bytes)}`}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Only a hub has it. */
function HubStorageLine() {
  const status = useLoad("status", (signal) => api.status(signal), useTicks(STORAGE_AGAIN_MS));
  const hub = status.data?.hub ?? null;
  return hub === null ? null : <Storage of={hub} />;
}

export function RunsView() {
  const [ms, setMs] = useState(AGAIN_MS);
  const load = useLoad("runs", (signal) => api.runs(signal), useTicks(ms));
  useEffect(() => setMs(pause(load.data)), [load.data]);
  useEffect(() => {
    document.title = "Runs - Footplate";
  }, []);
  return (
    <div class="stack">
      <h1>Runs</h1>
      <HubStorageLine />
      <Loaded load={load} what="the runs">
        {(runs) =>
          runs.length === 0 ? (
            <Empty title="No runs yet" command="footplate run -- python train.py">
              Runs appear here when recording starts in a folder that this server watches. Start one with:
            </Empty>
          ) : (
            <RunsTable runs={runs} />
          )
        }
      </Loaded>
    </div>
  );
}
