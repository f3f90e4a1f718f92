// SPDX-License-Identifier: Apache-2.0
// api.ts - the only file that talks to the server: a typed function for each route of /api/v1.
// All throw ApiError (the server's sentence) or an AbortError when the given signal was aborted.
import type {
  Breakdown,
  Comparison,
  ControlAnswer,
  ControlState,
  Counters,
  EventRow,
  Grid,
  HealthCurve,
  HealthIndex,
  HealthMatrix,
  Heatmap,
  Histograms,
  LiveSeries,
  LiveStatus,
  LiveStep,
  Notes,
  Operator,
  PythonFunction,
  Removed,
  Rule,
  RunInfo,
  RunLine,
  SearchResult,
  Series,
  ServerStatus,
  StackFrame,
  Stat,
  Steps,
  Timeline,
  Verdict,
} from "./types";

const ROOT = "/api/v1";

/** What the server refused, with its message; status 0: it could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export function isAbort(e: unknown): boolean {
  return e instanceof DOMException && e.name === "AbortError";
}

type Value = string | number | boolean | null | undefined;
type Query = Record<string, Value | readonly string[]>;

/** Absent values are left out, lists repeat their key, times are whole nanoseconds. */
export function queryText(query: Query): string {
  const out = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    if (typeof value === "object") for (const one of value) out.append(key, one);
    else out.append(key, text(value));
  }
  const all = out.toString();
  return all === "" ? "" : `?${all}`;
}

function text(value: string | number | true): string {
  if (value === true) return "1";
  return typeof value === "number" ? BigInt(Math.round(value)).toString() : value;
}

function runPath(run: string, what = "", query: Query = {}): string {
  return `${ROOT}/runs/${encodeURIComponent(run)}${what === "" ? "" : `/${what}`}${queryText(query)}`;
}

async function sentence(answer: Response): Promise<string> {
  try {
    const body: unknown = await answer.json();
    if (typeof body === "object" && body !== null && "error" in body) return String(body.error);
  } catch {
    // Not JSON: a proxy in front of the server answered.
  }
  return `the server answered ${answer.status} ${answer.statusText}`.trim();
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...init });
  } catch (e) {
    if (isAbort(e)) throw e;
    throw new ApiError(0, "the server cannot be reached; is 'footplate serve' still running?");
  }
  if (!answer.ok) throw new ApiError(answer.status, await sentence(answer));
  return answer;
}

const PENDING_MS = 250;

/** An answer; waits while the server still computes it (202). */
async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  for (;;) {
    const answer = await send(path, signal === undefined ? {} : { signal });
    if (answer.status !== 202) return (await answer.json()) as T;
    await new Promise((done) => setTimeout(done, PENDING_MS));
    signal?.throwIfAborted();
  }
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const answer = await send(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as T;
}

export interface Span {
  from?: number | null;
  to?: number | null;
}

type Opt<T> = { [K in keyof T]?: T[K] | undefined };
type S = AbortSignal | undefined;

export const api = {
  runs: (signal?: S) => get<RunLine[]>(`${ROOT}/runs`, signal),
  run: (run: string, signal?: S) => get<RunInfo>(runPath(run), signal),
  stats: (run: string, q: Opt<Span & { node: string; all: boolean }> = {}, signal?: S) =>
    get<Stat[]>(runPath(run, "stats", q), signal),
  /** metric: names, or "cpu." for all below. */
  series: (
    run: string,
    q: Opt<Span & { metric: readonly string[]; entity: string; node: string; points: number }>,
    signal?: S,
  ) => get<Series[]>(runPath(run, "series", q), signal),
  /** metric: "cpu.util:total", "gpu.util:*mean*", "gpu.util:gpu0". */
  grid: (
    run: string,
    q: Opt<Span & { metric: readonly string[]; node: string; points: number }>,
    signal?: S,
  ) => get<Grid>(runPath(run, "grid", q), signal),
  /** Counters and marks of the program, in the columns that grid answers with for the same window and points.
   * exact: with every value of those that have at most as many. */
  counters: (run: string, q: Opt<Span & { name: string; node: string; points: number; exact: boolean }>, signal?: S) =>
    get<Counters>(runPath(run, "counters", q), signal),
  heatmap: (run: string, q: Opt<Span & { node: string; columns: number }>, signal?: S) =>
    get<Heatmap>(runPath(run, "heatmap", q), signal),
  histograms: (run: string, q: Opt<Span & { node: string }>, signal?: S) =>
    get<Histograms>(runPath(run, "histograms", q), signal),
  steps: (run: string, q: Opt<Span & { last: number; rank: number; mode: string }> = {}, signal?: S) =>
    get<Steps>(runPath(run, "steps", q), signal),
  ops: (
    run: string,
    q: Opt<{ device: "cpu" | "gpu"; rank: number; by: "name" | "module" | "group"; limit: number }> = {},
    signal?: S,
  ) => get<Operator[]>(runPath(run, "ops", q), signal),
  functions: (run: string, q: Opt<{ rank: number; limit: number }> = {}, signal?: S) =>
    get<PythonFunction[]>(runPath(run, "ops", { ...q, by: "function" }), signal),
  /** Sampled stacks of Python, callers before callees. */
  stacks: (run: string, q: Opt<{ rank: number }> = {}, signal?: S) => get<StackFrame[]>(runPath(run, "stacks", q), signal),
  breakdown: (run: string, q: Opt<{ rank: number }> = {}, signal?: S) =>
    get<Breakdown>(runPath(run, "breakdown", q), signal),
  events: (run: string, q: Opt<Span & { node: string; rank: number; detail: 0 | 1; limit: number }>, signal?: S) =>
    get<EventRow[]>(runPath(run, "events", q), signal),
  timeline: (
    run: string,
    q: Opt<Span & { px: number; rank: number; node: string; detail: 0 | 1; limit: number }>,
    signal?: S,
  ) => get<Timeline>(runPath(run, "timeline", q), signal),
  search: (run: string, q: Opt<Span & { q: string; limit: number }>, signal?: S) =>
    get<SearchResult>(runPath(run, "search", q), signal),
  findings: (run: string, signal?: S) => get<Verdict[]>(runPath(run, "findings"), signal),
  /** Scalars and tensors whose training health was recorded. */
  health: (run: string, signal?: S) => get<HealthIndex>(runPath(run, "health"), signal),
  healthScalars: (
    run: string,
    q: Opt<Span & { name: readonly string[]; rank: number; mode: string; from_step: number; to_step: number; points: number }>,
    signal?: S,
  ) => get<HealthCurve[]>(runPath(run, "health/scalars", q), signal),
  healthTensors: (
    run: string,
    q: Opt<{ statistic: string; match: string; rank: number; from_step: number; to_step: number; columns: number; rows: number }>,
    signal?: S,
  ) => get<HealthMatrix>(runPath(run, "health/tensors", q), signal),
  rules: (signal?: S) => get<Rule[]>(`${ROOT}/rules`, signal),
  compare: (a: string, b: string, signal?: S) =>
    get<Comparison>(`${ROOT}/compare${queryText({ a, b })}`, signal),
  status: (signal?: S) => get<ServerStatus>(`${ROOT}/status`, signal),
  /** Replaces what users wrote about a run. */
  notes: (run: string, notes: Notes) => post<Notes>(runPath(run, "notes"), notes),
  remove: (run: string) => post<Removed>(runPath(run, "delete"), { run }),
  /** What became of requests to recorders on other machines. */
  requests: (run: string, signal?: S) => get<ControlState>(runPath(run, "control"), signal),
  control: (run: string, set: string) => post<ControlAnswer>(runPath(run, "control"), { set }),
  login: (token: string) => send("/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  }),
  reportAddress: (run: string, kind: "html" | "json" = "html") =>
    runPath(run, `report.${kind}`, { download: true }),
  traceAddress: (run: string) => runPath(run, "trace.json", { download: true }),
  live,
};

export interface LiveHandlers {
  status?: (s: LiveStatus) => void;
  samples?: (s: LiveSeries[]) => void;
  steps?: (s: LiveStep[]) => void;
  findings?: (changed: number) => void;
  /** The connection broke (false) or is back (true); the browser reconnects automatically. */
  connected?: (up: boolean) => void;
}

/** Follows a run. Returns what ends it. */
function live(run: string, q: Opt<{ metric: readonly string[]; node: string; findings: boolean }>, on: LiveHandlers): () => void {
  const source = new EventSource(runPath(run, "live", q));
  const hear = <T,>(name: string, then: ((value: T) => void) | undefined): void => {
    if (then === undefined) return;
    source.addEventListener(name, (e) => then(JSON.parse((e as MessageEvent<string>).data) as T));
  };
  hear<LiveStatus>("status", on.status);
  hear<{ series: LiveSeries[] }>("samples", on.samples && ((s) => on.samples?.(s.series)));
  hear<{ ranks: LiveStep[] }>("steps", on.steps && ((s) => on.steps?.(s.ranks)));
  hear<{ changed: number }>("findings", on.findings && ((s) => on.findings?.(s.changed)));
  source.onopen = () => on.connected?.(true);
  source.onerror = () => on.connected?.(false);
  return () => source.close();
}
