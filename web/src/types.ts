// SPDX-License-Identifier: Apache-2.0
// types.ts - the JSON of the API. Rows come from the tables that the server writes them from (made/rows.ts, by
// rows.mjs); here are the words that their fields have, the names that the page uses, and the live stream.
// Times are ns since the epoch (as numbers: good to 256 ns), durations seconds, shares 0..1. What was not
// measured is null, never 0.
import type { BrokenRun, Compare, Event, Issues, Lane, Match, Metric, Node, OneSeries, Op, RankSteps, Run, RunEntry, Search, Status } from "../made/rows";

export type * from "../made/rows";

// ---- words ----

export type RunStatus = "running" | "finished" | "failed" | "interrupted" | "stopped" | "died";
export type PhaseName = "initialization" | "train" | "eval" | "finalization" | "interruption";
export type GpuWindow = "loop" | "job";
export type StepMode = "train" | "eval" | "predict";
export type OpDevice = "cpu" | "gpu";
export type LaneKind = "steps" | "phases" | "events" | "operators" | "gpu";
export type RuleState = "issue" | "clear" | "not_evaluated";
export type Severity = "info" | "warning" | "critical";
export type PlotKind = "histogram" | "box" | "pie" | "bars" | "series" | "table";
export type StatMetric =
  | "cpu"
  | "gpu"
  | "cpu_memory"
  | "gpu_memory"
  | "gpu_sm"
  | "gpu_tensor"
  | "gpu_dram"
  | "gpu_power"
  | "io_wait"
  | "net_in"
  | "net_out";
export type CompareVerdict = "faster" | "slower" | "no_difference" | "not_comparable";
export type CompareBasis = "step" | "sample";
export type CompareClock = "gpu" | "host";
export type SpreadSource = "runs" | "default";
export type ComparedTimeOf = "step" | "device";
export type ComparedTimeUnit = "s" | "share";
export type ComparedLossSide = "a" | "b" | "both";
export type OperatorsPer = "step" | "run";

// ---- names ----

export type NodeInfo = Node;
export type Severities = Issues;
/** A line of the list of runs; a run that cannot be opened has only an error. */
export type RunRow = RunEntry;
export type DamagedRun = BrokenRun & { status: null };
export type RunLine = RunRow | DamagedRun;
export type RunInfo = Run;
export type MetricInfo = Metric;
export type Series = OneSeries;
/** Seconds by part: data, forward, backward, optimizer, graph, h2d, sync, compile, checkpoint, comm, other. */
export type StepEvents = Record<string, number | null>;
export type StepRank = RankSteps;
export type Operator = Op & { calls: number };
/** A function of Python in the profiled windows, or in one phase of their steps. */
export type PythonFunction = Op & { phase: string | null; timer: string | null };
export type EventRow = Event;
export type TimelineLane = Lane;
export type SearchHit = Match;
export type SearchResult = Search;
export type ServerStatus = Status;
export type Comparison = Compare;

// ---- the live stream ----

export interface LiveStatus {
  version: number | null;
  /** Null: the run can no longer be read, and `error` has the reason. */
  status: RunStatus | null;
  live: boolean;
  start_ns: number | null;
  end_ns: number | null;
  age_s: number | null;
  error?: string;
}

export interface LiveSeries {
  node: string;
  metric: string;
  entity: string;
  t_ns: number[];
  v: (number | null)[];
}

export interface LiveStep {
  node: string;
  rank: number | null;
  mode: StepMode;
  step: number;
  duration_s: number;
}
