// SPDX-License-Identifier: Apache-2.0
// types.ts - the JSON of the API, as the server writes it. Times are ns since the epoch (as numbers:
// good to 256 ns), durations seconds, shares 0..1. What was not measured is null, never 0.

import type { RankSteps } from "./rows";

export type * from "./rows"; // written by rows.mjs

export type RunStatus = "running" | "finished" | "failed" | "interrupted" | "stopped" | "died";

export interface GpuDevice {
  entity: string;
  name: string;
  uuid: string;
  driver: string;
  memory_bytes: number | null;
}

export interface NodeInfo {
  id: string;
  cores: number | null;
  gpus: number | null;
  memory_bytes: number | null;
  host: string | null;
  cpu_model: string | null;
  status: RunStatus;
  why: string | null;
  gpu_absent: string | null;
  gpu_devices: GpuDevice[];
}

export interface Severities {
  critical: number;
  warning: number;
  info: number;
  /** Rules that were evaluated; absent: an older server. */
  evaluated?: number;
}

/** A line of the list of runs. */
export interface RunRow {
  run: string;
  name: string;
  folder: string;
  status: RunStatus;
  live: boolean;
  command: string[];
  nodes: NodeInfo[];
  gpus: number;
  start_ns: number | null;
  end_ns: number | null;
  updated_ns: number | null;
  duration_s: number | null;
  exit_status: number | null;
  findings: Severities | null;
}

/** A run that cannot be opened. */
export interface DamagedRun {
  run: string;
  name: string;
  status: null;
  error: string;
}

export type RunLine = RunRow | DamagedRun;

export type PhaseName = "initialization" | "train" | "eval" | "finalization" | "interruption";

export interface Phase {
  phase: PhaseName;
  start_ns: number;
  end_ns: number;
}

export interface Loss {
  what: string;
  title: string; // in words
  why: string;
  count: number;
  kind: string;
  node: string | null; // null: of the run
}

export interface Mark {
  node: string;
  mark: string;
  time_ns: number;
  number: number;
  text: string;
}

export interface MetricInfo {
  node: string;
  metric: string;
  entities: string[];
  unit: string;
}

/** How GPUs were used over a time, on average; energy is a sum. Null: see the losses, "gpu.KEY". */
export interface GpuUse {
  util_pct: number | null;
  sm_active_pct: number | null;
  sm_occupancy_pct: number | null;
  tensor_active_pct: number | null;
  dram_active_pct: number | null;
  tflops: number | null;
  mfu_pct: number | null;
  power_w: number | null;
  energy_j: number | null;
  clock_mhz: number | null;
  /** Share of the time by reason: power_cap, thermal, ... */
  clock_held_pct: Record<string, number> | null;
  used_memory_bytes: number | null;
}

export interface GpuEfficiency {
  node: string;
  entity: string;
  name: string | null;
  used: boolean; // by the job
  peak_tflops: number | null;
  peak_dram_tb_s: number | null;
  memory_bytes: number | null;
  loop: GpuUse;
  job: GpuUse;
}

/** Of the GPUs that the job used: over the training loop after its warm-up, or over the job. */
export interface RunGpu extends GpuUse {
  peak_tflops: number | null;
  peak_format: string | null; // "BF16"
  dram_tb_s: number | null;
  loop_energy_j: number | null; // energy_j is of the whole job
  energy_per_step_j: number | null;
  energy_per_sample_j: number | null;
  peak_memory_bytes: number | null;
  reserved_memory_bytes: number | null;
  window: "loop" | "job";
  start_ns: number;
  end_ns: number;
  steps: number;
  samples: number | null;
  gpus_used: number;
  job: GpuUse;
  gpus: GpuEfficiency[];
}

export interface RunInfo extends Omit<RunRow, "findings" | "gpus" | "folder"> {
  id: string;
  path: string;
  directory: string | null;
  git_commit: string | null;
  interval_ms: number | null;
  cost: number | null;
  price_per_hour: number | null;
  machine: string | null;
  job_start_ns: number | null;
  job_end_ns: number | null;
  job_duration_s: number | null;
  loop_start_ns: number | null;
  loop_end_ns: number | null;
  loop_duration_s: number | null;
  train_s: number | null;
  eval_s: number | null;
  initialization_s: number | null;
  finalization_s: number | null;
  interruption_s: number | null;
  initialization_pct: number | null;
  loop_pct: number | null;
  train_pct: number | null;
  eval_pct: number | null;
  finalization_pct: number | null;
  interruption_pct: number | null;
  phases: Phase[];
  gpu: RunGpu | null;
  self: { cpu_s: number | null; bytes_written: number | null; events_dropped: number; samples: number } | null;
  marks: Mark[];
  losses: Loss[];
  control: { allowed: boolean; why: string | null };
  metrics: MetricInfo[];
  version: string | null; // of the recorder
  data_version: number; // another one, other data
  has_detail: boolean;
  /** Of the prices; absent: USD. */
  currency?: string | null;
}

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

export interface Stat {
  node: string;
  metric: StatMetric;
  unit: string;
  min: number | null;
  max: number | null;
  mean: number | null;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  count: number;
  losses: { what: string; why: string }[];
}

export interface Series {
  node: string;
  metric: string;
  entity: string;
  unit: string;
  t_ns: number[];
  v: (number | null)[];
  min?: (number | null)[];
  max?: (number | null)[];
}

export interface GridSeries {
  node: string;
  metric: string;
  entity: string;
  unit: string;
  /** Of all samples, and how many they are: columns have more and less. */
  mean: number | null;
  count: number;
  v: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}

/** Column i covers [from_ns + i * step_ns, from_ns + (i + 1) * step_ns). */
export interface Grid {
  from_ns: number;
  to_ns: number;
  step_ns: number;
  n: number;
  series: GridSeries[];
}

export interface Heatmap {
  from_ns: number;
  to_ns: number;
  step_ns: number;
  n: number;
  rows: { node: string; metric: string; entity: string }[];
  /** base64, one byte per cell, row by row: 0..200 half percents, 255 no sample. */
  cells: string;
}

export interface Histograms {
  devices: { node: string; metric: string; entity: string; bins: number[]; count: number }[];
  /** Of iterations. */
  steps: {
    node: string;
    rank: number | null;
    mode: StepMode;
    edges_s: number[];
    counts: number[];
    /** Iterations that are counted: warm-up, and steps that a detail window slowed, are not. */
    count: number;
    outliers: { step: number; duration_s: number; iteration_s: number; start_ns: number }[];
    outlier_from_s: number | null;
  }[];
}

export type StepMode = "train" | "eval" | "predict";
/** Seconds by part: data, forward, backward, optimizer, graph, h2d, sync, compile, checkpoint, comm, other. */
export type StepEvents = Record<string, number | null>;
export type StepRank = RankSteps;

export interface Operator {
  device: "cpu" | "gpu";
  category: string;
  /** What kind of work a kernel does: "matmul", "attention"...; null: it is no kernel. */
  group: string | null;
  name: string;
  full_name: string;
  calls: number;
  self_s: number;
  total_s: number;
  mean_s: number;
  share: number;
  device_self_s: number | null;
  device_total_s: number | null;
}

/** A function of Python in the profiled windows, or in one phase of their steps. */
export interface PythonFunction {
  /** A part of the step; null: the whole windows. */
  phase: string | null;
  /** Which clock its seconds are of; seconds of two are never added up. */
  timer: string | null;
  name: string;
  full_name: string;
  /** Null: not counted; the stack was sampled. */
  calls: number | null;
  self_s: number;
  total_s: number;
  mean_s: number | null;
  /** Of all self time of its phase and timer. */
  share: number;
}

export interface BreakdownStep {
  node: string;
  rank: number | null;
  step: number;
  start_ns: number;
  total_us: number;
  kernel_us: number;
  memcpy_us: number;
  memset_us: number;
  communication_us: number;
  runtime_us: number;
  dataloader_us: number;
  cpu_us: number;
  other_us: number;
  /** The part that takes most of the step: "kernel", "dataloader"... */
  critical: string;
  critical_share: number;
}

export interface BreakdownDevice {
  node: string;
  rank: number | null;
  device: number | string;
  span_us: number;
  idle_us: number;
  compute_us: number;
  non_compute_us: number;
  comm_us: number;
  comm_overlap_us: number;
  computation_us: number;
  exposed_comm_us: number;
  exposed_memcpy_us: number;
  occupied_share: number | null;
  useful_share: number | null;
}

/** Kernels and copies of one kind. */
export interface BreakdownGroup {
  node: string;
  rank: number | null;
  group: string;
  ops: number;
  time_us: number;
  share: number;
}

/** What recording a window cost the program. */
export interface BreakdownWindow {
  node: string;
  rank: number | null;
  first_step: number | null;
  steps: number;
  step_s: number | null;
  usual_step_s: number | null;
  slowdown: number | null;
  stall_s: number | null;
  busy_s: number | null;
  idle_share: number | null;
  usual_idle_share: number | null;
  /** All of it in a sentence. */
  note: string | null;
}

export interface Breakdown {
  steps: BreakdownStep[];
  devices: BreakdownDevice[];
  groups: BreakdownGroup[];
  windows: BreakdownWindow[];
  earlier_steps: number; // left out: only the last ones come
}

export interface EventRow {
  node: string;
  rank: number | null;
  pid: number;
  thread: string;
  category: string;
  name: string;
  count: number;
  total_s: number;
  p50_s: number | null;
  p95_s: number | null;
  max_s: number | null;
  share: number;
}

/** node null: of the whole job. */
export interface TimelineLane {
  id: number;
  node: string | null;
  rank: number | null;
  pid: number | null;
  thread: string | null;
  title: string;
  kind: "steps" | "phases" | "events" | "operators" | "gpu";
  depth: number;
}

export interface Timeline {
  from_ns: number;
  to_ns: number;
  lanes: TimelineLane[];
  names: string[];
  categories: string[];
  /** Columns; start in ns after from_ns, dur in ns, merged: 0 or how many were drawn as one. */
  slices: {
    lane: number[];
    row: number[];
    start: number[];
    dur: number[];
    name: number[];
    category: number[];
    merged: number[];
  };
  cut: boolean;
}

export interface SearchHit {
  node: string;
  rank: number | null;
  pid: number;
  thread: string;
  name: string;
  start_ns: number;
  duration_s: number;
}

export interface SearchResult {
  /** Of all that were looked at; cut: not all were. */
  count: number;
  cut: boolean;
  /** The first of each thread, in order of time there. */
  matches: SearchHit[];
}

export type RuleState = "issue" | "clear" | "not_evaluated";
export type Severity = "info" | "warning" | "critical";
export type PlotKind = "histogram" | "box" | "pie" | "bars" | "series" | "table";

export interface Plot {
  kind: PlotKind;
  title: string;
  unit: string;
  edges?: number[];
  columns?: string[];
  rows: { label: string; v: (number | null)[] }[];
}

export interface TimeRange {
  start_ns: number;
  end_ns: number;
}

export interface Finding {
  node: string;
  entity: string;
  start_ns: number | null;
  end_ns: number | null;
  message: string;
  advice: string | null;
  refute: string | null;
  numbers: Record<string, number | null>;
  units: Record<string, string>;
  /** What the numbers are called, of those that are shown; absent: an older server. */
  labels?: Record<string, string>;
  lost_s: number | null;
  lost_gpu_s: number | null;
  explained_by: string[];
  ranges: TimeRange[];
  shares: { what: string; name: string; rank: number; seconds: number; share: number }[];
}

export interface Verdict {
  rule: string;
  title: string;
  description: string;
  recommendation: string;
  state: RuleState;
  why: string;
  severity: Severity;
  triggered: number;
  violations: number;
  datapoints: number;
  last_triggered_ns: number | null;
  params: Record<string, number | string | null>;
  /** The same as text: "24 h". */
  params_text?: Record<string, string>;
  /** It never finds an issue: it fills a table. */
  summary?: boolean;
  lost_s: number | null;
  lost_share: number | null;
  lost_gpu_s: number | null;
  lost_cost: number | null;
  findings: Finding[];
  remarks: string[];
  plots: Plot[];
}

export interface RuleParam {
  name: string;
  default: number | string | null;
  min: number | null;
  max: number | null;
  unit: string;
  help: string;
}

export interface Rule {
  rule: string;
  title: string;
  description: string;
  recommendation: string;
  params: RuleParam[];
  needs: string[];
}

export interface ServerStatus {
  version: string;
  uptime_s: number;
  runs: number;
  rights: { read: boolean; control: boolean };
  folders: string[];
}

export interface ControlAnswer {
  answer: { node: string; text: string }[];
}

export interface LiveStatus {
  version: number | null;
  /** Null: the run can no longer be read, and only `error` says more. */
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

export type CompareVerdict = "faster" | "slower" | "no_difference" | "not_comparable";

export interface ComparedSide {
  runs: { run: string; name: string; status: RunStatus; start_ns: number; steps: number; ranks: number; gpus: number }[];
  name: string;
  machines: number;
  price_per_hour: number | null;
  duration_s: number | null;
  cost: number | null;
  batch: number | null;
  samples_per_s: number | null;
  throughput: { steady: number | null; overall: number | null; unit: string };
  gpu_timed_steps: number;
  gpu_steps: number;
}

export interface StepSpread {
  count: number;
  mean_s: number | null;
  min_s: number | null;
  p50_s: number | null;
  p90_s: number | null;
  p95_s: number | null;
  p99_s: number | null;
  max_s: number | null;
  stddev_s: number | null;
}

export interface ComparedFinding {
  rule: string;
  title: string;
  severity_a: Severity | null;
  severity_b: Severity | null;
  message_a: string | null;
  message_b: string | null;
  runs_a: number;
  runs_b: number;
  lost_s_a: number | null;
  lost_s_b: number | null;
  lost_share_a: number | null;
  lost_share_b: number | null;
  why: string | null;
}

export interface ComparedPart {
  part: string;
  clock: "gpu" | "host";
  a_s: number | null;
  b_s: number | null;
  diff: number | null;
  ci_low: number | null;
  ci_high: number | null;
  verdict: CompareVerdict;
}

/** Throughput, energy, activity: one number of each side, or why there is none. */
export interface ComparedNumber {
  key: string;
  title: string;
  unit: string;
  a: number | null;
  b: number | null;
  diff_share: number | null;
  why_a: string | null;
  why_b: string | null;
}

type Quantiles = Record<"min" | "mean" | "p50" | "p90" | "p95" | "p99" | "max", number | null>;

/** What changed from run A to run B; differences are B - A, shares of A. */
export interface Comparison {
  a: ComparedSide;
  b: ComparedSide;
  verdict: CompareVerdict;
  /** The runs differ, but by no more than runs of the same code do. */
  may_be_noise: boolean;
  sentence: string;
  why: string;
  same_run: boolean;
  step_time: {
    a: StepSpread;
    b: StepSpread;
    of: "iteration";
    basis: "step" | "sample";
    step_by_step: boolean;
    diff_share: number | null;
    ci_low: number | null;
    ci_high: number | null;
    median_diff_share: number | null;
    median_ci_low: number | null;
    median_ci_high: number | null;
    confidence: number;
    warmup_a: number;
    warmup_b: number;
    disturbed_a: number;
    disturbed_b: number;
    /** What runs of the same code differ by; null: several runs a side show it themselves. */
    run_spread: { source: "runs" | "default"; runs: number; stddev_share: number; reach_share: number } | null;
    histogram: { edges_s: number[]; a: number[]; b: number[] };
  };
  phases: { phase: string; a_s: number | null; b_s: number | null; diff_s: number | null; diff_share: number | null }[];
  numbers: ComparedNumber[];
  gpu_parts: ComparedPart[];
  /** A GPU does the work and was not timed: host times are those of launching. */
  launch_only: boolean;
  parts: ComparedPart[];
  utilization: {
    metric: string;
    title: string;
    unit: string;
    a: Quantiles;
    b: Quantiles;
    diff: number | null;
    why_a: string | null;
    why_b: string | null;
  }[];
  breakdown: { of: "step" | "device"; what: string; unit: "s" | "share"; a: number | null; b: number | null; diff: number | null }[];
  operators_per: "step" | "run" | null;
  operators: {
    device: "cpu" | "gpu";
    name: string;
    a_self_s: number | null;
    b_self_s: number | null;
    a_calls: number | null;
    b_calls: number | null;
    diff_s: number | null;
  }[];
  findings: Record<"appeared" | "went" | "stayed" | "unknown", ComparedFinding[]>;
  cost: { a: number | null; b: number | null; saving: number | null; saving_share: number | null; unit: string; currency?: string | null };
  /** Of the prices; absent: USD. */
  currency?: string | null;
  hardware: { same: boolean; differences: string[] };
  losses: { what: string; why: string; side: "a" | "b" | "both" }[];
}
