// Written by rows.mjs from src/*/*_rows.def; not in git.
import type { CompareBasis, CompareClock, CompareVerdict, ComparedLossSide, ComparedTimeOf, ComparedTimeUnit, GpuWindow, LaneKind, OpDevice, OperatorsPer, PhaseName, PlotKind, RuleState, RunStatus, Severity, SpreadSource, StatMetric, StepMode } from "./types";

/**  */
export interface ComparedRun {
  run: string;
  id: string;
  name: string;
  path: string;
  status: RunStatus;
  start_ns: number;
  duration_s: number | null;
  cost: number | null;
  machines: number;
  gpus: number;
  ranks: number;
  steps: number;
}

/** Samples per second of the loop, of all ranks. */
export interface ComparedThroughput {
  steady: number | null;
  overall: number | null;
  unit: string;
}

/** The runs of one side; numbers are of one run. */
export interface ComparedSide {
  runs: ComparedRun[];
  name: string;
  machines: number;
  price_per_hour: number | null;
  duration_s: number | null;
  cost: number | null;
  /** Samples in a step of the job. */
  batch: number | null;
  samples_per_s: number | null;
  throughput: ComparedThroughput;
  /** Of gpu_steps. */
  gpu_timed_steps: number;
  gpu_steps: number;
}

/** Iterations of the compared steps. */
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

/** How much runs of the same code differ. */
export interface RunSpread {
  /** runs or default. */
  source: SpreadSource;
  runs: number;
  stddev_share: number;
  reach_share: number;
}

/** Bars of the same width for both sides. */
export interface ComparedHistogram {
  /** One more than counts. */
  edges_s: number[];
  a: number[];
  b: number[];
}

/** The time from the start of a step to the start of the next. */
export interface StepTime {
  a: StepSpread;
  b: StepSpread;
  of: string;
  /** step, or sample if the batches differ. */
  basis: CompareBasis;
  step_by_step: boolean;
  /** Of the mean. */
  diff_share: number | null;
  ci_low: number | null;
  ci_high: number | null;
  /** By the steps of these runs alone. */
  steps_ci_low: number | null;
  steps_ci_high: number | null;
  /** null: several runs a side show it themselves, or nothing was compared. */
  run_spread: RunSpread | null;
  median_diff_share: number | null;
  median_ci_low: number | null;
  median_ci_high: number | null;
  confidence: number;
  least_share: number | null;
  /** The smallest difference that would be found in four of five cases. */
  detectable_share: number | null;
  warmup_a: number;
  warmup_b: number;
  disturbed_a: number;
  disturbed_b: number;
  effective_n_a: number | null;
  effective_n_b: number | null;
  histogram: ComparedHistogram;
}

/** What is known to differ. */
export interface ComparedDifference {
  what: string;
  a: string | null;
  b: string | null;
}

/**  */
export interface ComparedPhase {
  phase: string;
  a_s: number | null;
  b_s: number | null;
  diff_s: number | null;
  diff_share: number | null;
}

/** Throughput, energy, activity. */
export interface ComparedNumber {
  key: string;
  title: string;
  unit: string;
  a: number | null;
  b: number | null;
  diff_share: number | null;
  /** Why there is no number. */
  why_a: string | null;
  why_b: string | null;
}

/** A part of an iteration. */
export interface ComparedPart {
  part: string;
  /** gpu or host. */
  clock: CompareClock;
  a_s: number | null;
  b_s: number | null;
  /** Seconds. */
  diff: number | null;
  ci_low: number | null;
  ci_high: number | null;
  verdict: CompareVerdict;
}

/**  */
export interface ComparedQuantiles {
  min: number | null;
  mean: number | null;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
}

/**  */
export interface ComparedUse {
  metric: string;
  title: string;
  unit: string;
  a: ComparedQuantiles;
  b: ComparedQuantiles;
  /** Of the medians. */
  diff: number | null;
  /** Why it was not measured. */
  why_a: string | null;
  why_b: string | null;
}

/** Time of steps or devices, from operator detail. */
export interface ComparedTime {
  /** step or device. */
  of: ComparedTimeOf;
  what: string;
  /** s or share. */
  unit: ComparedTimeUnit;
  a: number | null;
  b: number | null;
  diff: number | null;
}

/**  */
export interface ComparedOp {
  device: OpDevice;
  name: string;
  a_self_s: number | null;
  b_self_s: number | null;
  a_calls: number | null;
  b_calls: number | null;
  diff_s: number | null;
}

/**  */
export interface ComparedFinding {
  rule: string;
  title: string;
  severity_a: Severity | null;
  severity_b: Severity | null;
  message_a: string | null;
  message_b: string | null;
  /** In how many runs. */
  runs_a: number;
  runs_b: number;
  lost_s_a: number | null;
  lost_s_b: number | null;
  lost_share_a: number | null;
  lost_share_b: number | null;
  /** Why one side could not be evaluated. */
  why: string | null;
}

/**  */
export interface ComparedFindings {
  appeared: ComparedFinding[];
  went: ComparedFinding[];
  stayed: ComparedFinding[];
  /** Found on one side; the other could not be evaluated. */
  unknown: ComparedFinding[];
  rules_judged_a: number;
  rules_judged_b: number;
}

/**  */
export interface ComparedCost {
  a: number | null;
  b: number | null;
  saving: number | null;
  saving_share: number | null;
  unit: string;
  currency: string | null;
}

/**  */
export interface ComparedHardware {
  same: boolean;
  differences: string[];
}

/**  */
export interface ComparedLoss {
  what: string;
  why: string;
  /** a, b or both. */
  side: ComparedLossSide;
}

/** What changed from A to B. */
export interface Compare {
  a: ComparedSide;
  b: ComparedSide;
  /** faster, slower, no_difference or not_comparable. */
  verdict: CompareVerdict;
  /** The runs differ, but by no more than runs of the same code do. */
  may_be_noise: boolean;
  sentence: string;
  /** What the verdict is based on, or why there is none. */
  why: string;
  same_run: boolean;
  differences: ComparedDifference[];
  step_time: StepTime;
  phases: ComparedPhase[];
  numbers: ComparedNumber[];
  /** A GPU does the work and was not timed: host times are those of launching. */
  launch_only: boolean;
  gpu_parts: ComparedPart[];
  parts: ComparedPart[];
  utilization: ComparedUse[];
  breakdown: ComparedTime[];
  /** step or run. */
  operators_per: OperatorsPer | null;
  /** The most changed first. */
  operators: ComparedOp[];
  findings: ComparedFindings;
  cost: ComparedCost;
  hardware: ComparedHardware;
  losses: ComparedLoss[];
}

/** A time range of a finding. */
export interface TimeRange {
  start_ns: number;
  end_ns: number;
}

/** What the framework did in the time of a finding. */
export interface FindingShare {
  /** phase, event or operator. */
  what: string;
  name: string;
  rank: number;
  seconds: number;
  /** Of the time of the finding. */
  share: number;
}

/** An issue that a rule found. */
export interface Finding {
  /** Empty: the job. */
  node: string;
  /** Empty: the node as a whole. */
  entity: string;
  start_ns: number | null;
  end_ns: number | null;
  message: string;
  advice: string;
  /** The evidence that would refute it. */
  refute: string | null;
  numbers: Record<string, number | null>;
  /** Of the numbers. */
  units: Record<string, string>;
  /** Titles of the numbers that are shown; absent: their names. */
  labels?: Record<string, string>;
  lost_s: number | null;
  lost_gpu_s: number | null;
  /** Rules whose findings cause this one; empty: it is a cause. */
  explained_by: string[];
  ranges: TimeRange[];
  shares: FindingShare[];
}

/**  */
export interface PlotRow {
  label: string;
  v: (number | null)[];
}

/** A chart of a rule. */
export interface Plot {
  /** histogram, box, pie, bars, series or table. */
  kind: PlotKind;
  title: string;
  unit: string;
  /** Of a histogram: one more than counts; of a series: seconds. */
  edges?: number[];
  /** Of a table. */
  columns?: string[];
  rows: PlotRow[];
}

/** The use to expect, 95th percentiles. */
export interface SizingUse {
  gpu_pct: number | null;
  gpu_memory_pct: number | null;
  cpu_pct: number | null;
  memory_pct: number | null;
}

/** Machines that would do. */
export interface Sizing {
  machine: string;
  count: number;
  gpus: number;
  /** Of all of them. */
  price_per_hour: number | null;
  cost: number | null;
  saving_share: number | null;
  expected: SizingUse;
}

/** The machines that were used. */
export interface SizingNow {
  machines: string;
  price_per_hour: number | null;
  cost: number | null;
}

/** Fewer or smaller machines that would do for the run. */
export interface RightSize extends Sizing {
  instead_of: SizingNow;
  /** The best with GPUs of the same kind, if that is another one. */
  same_gpu: Sizing | null;
  why: string;
}

/** The result of a rule. */
export interface Verdict {
  rule: string;
  title: string;
  /** A rule of the user. */
  custom?: boolean;
  /** It never finds an issue: it fills a table. */
  summary?: boolean;
  description: string;
  recommendation: string;
  /** issue, clear or not_evaluated. */
  state: RuleState;
  /** The same in words. */
  state_text: string;
  why: string;
  /** info, warning or critical. */
  severity: Severity;
  triggered: number;
  violations: number;
  datapoints: number;
  last_triggered_ns: number | null;
  /** What the rule was evaluated with. */
  params: Record<string, number | string | null>;
  /** The same in words. */
  params_text: Record<string, string>;
  lost_s: number | null;
  lost_share: number | null;
  lost_gpu_s: number | null;
  lost_cost: number | null;
  /** Of lost_cost. */
  currency: string | null;
  findings: Finding[];
  /** More sentences. */
  remarks: string[];
  /** null: none is proposed. */
  right_size?: RightSize | null;
  plots: Plot[];
}

/** A parameter of a rule. */
export interface RuleParam {
  name: string;
  default: number | string | null;
  /** The same in words. */
  default_text: string;
  min: number | null;
  max: number | null;
  unit: string;
  /** Its values. */
  words?: string[];
  help: string;
}

/** A rule. */
export interface Rule {
  rule: string;
  title: string;
  description: string;
  recommendation: string;
  params: RuleParam[];
  /** Data that it needs. */
  needs: string[];
  /** Rules whose findings may cause its own. */
  explained_by: string[];
  /** It never finds an issue: it fills a table. */
  summary: boolean;
}

/** Why a request was refused. */
export interface Error {
  /** What is wrong, in one sentence. */
  error: string;
}

/** The answer is still being computed. */
export interface Pending {
  pending: boolean;
}

/** Rules by result. */
export interface Issues {
  critical: number;
  warning: number;
  info: number;
  /** Rules that were evaluated, summaries aside; 0: all were skipped. */
  evaluated: number;
}

/** A run of the list. */
export interface RunEntry extends RunBase {
  /** All nodes. */
  gpus: number;
  /** Issues by severity; null: not evaluated yet. */
  findings: Issues | null;
  /** The name used in paths of this API. */
  run: string;
  /** The folder that contains the run. */
  folder: string;
  /** The run is still being recorded. */
  live: boolean;
}

/** A run of the list that cannot be read. */
export interface BrokenRun {
  name: string;
  /** Always null. */
  status: string | null;
  /** Why it is unreadable. */
  error: string;
  /** The name used in paths of this API. */
  run: string;
  folder: string;
  live: boolean;
}

/** Whether the client may change the recording. */
export interface Control {
  allowed: boolean;
  /** Why not. */
  why: string | null;
}

/** A metric that a node has. */
export interface Metric {
  node: string;
  metric: string;
  unit: string;
  entities: string[];
}

/** One run. */
export interface Run extends RunShow {
  /** The name used in paths of this API. */
  run: string;
  live: boolean;
  /** Changes when the data changes. */
  data_version: number;
  control: Control;
  /** Available data. */
  metrics: Metric[];
  /** Operators were recorded or imported. */
  has_detail: boolean;
}

/** Readings over time. */
export interface OneSeries {
  node: string;
  metric: string;
  entity: string;
  unit: string;
  t_ns: number[];
  /** The reading, or the mean of a bucket. */
  v: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}

/** A series of a grid. */
export interface GridSeries {
  node: string;
  metric: string;
  entity: string;
  unit: string;
  /** Of all readings; null: there are none. */
  mean: number | null;
  /** Samples. */
  count: number;
  /** Mean of each column, four digits; null: no reading. */
  v: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}

/** Readings in aligned columns. */
export interface Grid {
  from_ns: number;
  to_ns: number;
  /** Column i starts at from_ns + i * step_ns and lasts step_ns. */
  step_ns: number;
  /** Columns. */
  n: number;
  series: GridSeries[];
}

/** A row of the heatmap. */
export interface HeatRow {
  node: string;
  metric: string;
  entity: string;
}

/** Utilization of every core and GPU. */
export interface Heatmap {
  from_ns: number;
  to_ns: number;
  step_ns: number;
  /** Columns. */
  n: number;
  rows: HeatRow[];
  /** Base64: one byte per cell, row by row: 0 to 200 in half percents, 255 for no reading. */
  cells: string;
}

/** How busy a device was. */
export interface DeviceHistogram {
  node: string;
  metric: string;
  entity: string;
  /** 101 counts, for 0 to 100 percent. */
  bins: number[];
  count: number;
}

/** A long step. */
export interface OutlierStep {
  step: number;
  duration_s: number;
  iteration_s: number | null;
  start_ns: number;
}

/** Iterations of a rank; warm-up and steps that a detail window slowed are excluded. */
export interface StepHistogram {
  node: string;
  rank: number;
  mode: StepMode;
  count: number;
  /** One more than counts. */
  edges_s: number[];
  counts: number[];
  /** Mean plus three standard deviations. */
  outlier_from_s: number | null;
  outliers_all: number;
  /** The longest of them. */
  outliers: OutlierStep[];
}

/**  */
export interface Histograms {
  devices: DeviceHistogram[];
  steps: StepHistogram[];
}

/** A thread or a GPU stream. */
export interface Thread {
  node: string;
  rank: number | null;
  pid: number;
  thread: string;
}

/** Activities of one name in a time range. */
export interface Event extends Thread {
  category: string;
  name: string;
  count: number;
  /** Clipped to the time range. */
  total_s: number | null;
  p50_s: number | null;
  p95_s: number | null;
  max_s: number | null;
  /** Share of the time range. */
  share: number | null;
  /** Too many events; count and total are estimated from a subset. */
  estimated: boolean;
}

/** A lane of the timeline. */
export interface Lane {
  id: number;
  /** null: of the whole job. */
  node: string | null;
  rank: number | null;
  pid: number | null;
  thread: string | null;
  title: string;
  /** phases, steps, events, operators or gpu. */
  kind: LaneKind;
  /** Rows needed. */
  depth: number;
}

/** The slices of all lanes, as columns. */
export interface Slices {
  lane: number[];
  row: number[];
  /** ns after from_ns; can be negative. */
  start: number[];
  /** ns */
  dur: number[];
  /** Index into names. */
  name: number[];
  /** Index into categories. */
  category: number[];
  /** Number of merged slices; 0: a single one. */
  merged: number[];
}

/** A window of the timeline. */
export interface Timeline {
  from_ns: number;
  to_ns: number;
  lanes: Lane[];
  names: string[];
  categories: string[];
  slices: Slices;
  /** There are more slices than shown; zoom in. */
  cut: boolean;
}

/** A slice that was found. */
export interface Match extends Thread {
  name: string;
  start_ns: number;
  duration_s: number;
}

/** Slices by name. */
export interface Search {
  /** Of all examined slices. */
  count: number;
  /** Not all slices were examined. */
  cut: boolean;
  /** The first of each thread, in order of time there. */
  matches: Match[];
}

/** A change of a recording. */
export interface ControlAsk {
  /** interval=100ms, monitoring=on or off, detail=now:3 or off, stop, status. */
  set: string;
}

/** What a recorder answered. */
export interface ControlSaid {
  node: string;
  text: string;
}

/**  */
export interface ControlAnswer {
  answer: ControlSaid[];
}

/** What the client may do. */
export interface Rights {
  read: boolean;
  control: boolean;
}

/** The server. */
export interface Status {
  version: string;
  uptime_s: number;
  runs: number;
  open_runs: number;
  /** Memory used by them. */
  open_runs_bytes: number;
  /** Connections of the live stream. */
  clients: number;
  connections: number;
  requests: number;
  /** Number of rule evaluations. */
  evaluations: number;
  memory_bytes: number | null;
  cpu_s: number;
  /** Yours. */
  rights: Rights;
  folders: string[];
}

/** This description. */
export interface OpenApi {
  openapi: string;
  info: Record<string, unknown>;
  servers: (Record<string, unknown>)[];
  paths: Record<string, unknown>;
  components: Record<string, unknown>;
  security: (Record<string, unknown>)[];
}

/** A line of a chart. */
export interface ReportLine {
  label: string;
  metric: string;
  /** Seconds after the start of the job. */
  t_s: number[];
  v: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}

/**  */
export interface ReportChart {
  node: string;
  title: string;
  unit: string;
  lines: ReportLine[];
}

/** Durations of the steps of a rank. */
export interface ReportPace {
  node: string;
  rank: number;
  step: number[];
  mean_s: (number | null)[];
  min_s: (number | null)[];
  max_s: (number | null)[];
}

/** All numbers of the report. */
export interface Report {
  made_by: string;
  made_ns: number;
  live: boolean;
  data_to_ns: number;
  run: RunShow;
  /** As shown: they add up to 100. */
  phase_percents: Record<string, unknown>;
  cost: number | null;
  price_per_hour: number | null;
  currency: string | null;
  utilization: Stat[];
  utilization_loop: Stat[];
  steps: Steps;
  operators: Op[];
  /** Seconds by device. */
  operator_s: Record<string, unknown>;
  /** What each cost, in words. */
  detail_windows: string[];
  /** Other activities of the job. */
  general: Record<string, unknown>;
  rules: Verdict[];
  right_size: RightSize | null;
  charts: ReportChart[];
  step_durations: ReportPace[];
}

/** A step: the time of each role adds up to its total. */
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
  /** The role that takes most of the step. */
  critical: string;
  critical_share: number;
}

/** A device over the recorded time. */
export interface BreakdownDevice {
  node: string;
  rank: number | null;
  device: number;
  span_us: number;
  idle_us: number;
  busy_us: number;
  compute_us: number;
  non_compute_us: number;
  comm_us: number;
  /** Communication while computing. */
  comm_overlap_us: number;
  computation_us: number;
  exposed_comm_us: number;
  exposed_memcpy_us: number;
  occupied_share: number;
  useful_share: number;
}

/** Why a stream was idle between two operations. */
export interface BreakdownStream {
  node: string;
  rank: number | null;
  device: number;
  stream: number;
  ops: number;
  /** The next launch came after the end of the operation before. */
  host_wait_us: number;
  /** Gaps below 30 ns. */
  kernel_wait_us: number;
  other_wait_us: number;
  /** Operations with a known launch. */
  launches: number;
  /** Shorter than the call that launched them. */
  short_ops: number | null;
  /** End of the call to start on the device. */
  delay_p50_us: number | null;
  delay_mean_us: number | null;
  delay_max_us: number | null;
  /** Launched and not started. */
  queue_mean: number | null;
  queue_max: number | null;
}

/** Kernels and copies of one kind. */
export interface BreakdownGroup {
  node: string;
  rank: number | null;
  group: string;
  ops: number;
  time_us: number;
  /** Of all groups of the process. */
  share: number;
}

/** Memory of a device as its allocator reported it. */
export interface BreakdownMemory {
  node: string;
  rank: number | null;
  /** cpu, gpu0, ... */
  device: string;
  peak_bytes: number;
  peak_ns: number;
  peak_is: string;
  peak_of: string;
  peak_step: number | null;
  /** Of the curve. */
  highest_bytes: number;
  reserved_peak_bytes: number | null;
  changes: number;
}

/** What recording a detail window cost the program. */
export interface BreakdownWindow {
  node: string;
  rank: number | null;
  start_ns: number;
  end_ns: number;
  first_step: number | null;
  steps: number;
  /** Mean step in the window. */
  step_s: number | null;
  usual_step_s: number | null;
  slowdown: number | null;
  stall_s: number | null;
  /** Time of a step with any operation on a device. */
  busy_s: number | null;
  idle_share: number | null;
  /** Of steps outside windows. */
  usual_idle_share: number | null;
  /** All of it in a sentence. */
  note: string | null;
}

/** The time breakdown of a run. */
export interface Breakdown {
  /** Time breakdown of each step, in us. */
  steps?: BreakdownStep[];
  devices?: BreakdownDevice[];
  streams?: BreakdownStream[];
  groups?: BreakdownGroup[];
  memory?: BreakdownMemory[];
  windows?: BreakdownWindow[];
  /** At the end: not all of their device operations were recorded. */
  dropped_steps: number;
  /** Omitted because of the limit. */
  earlier_steps: number;
}

/** An operator, a kernel, or with by=function a Python function. */
export interface Op {
  /** cpu or gpu. */
  device: OpDevice;
  category: string;
  /** The kind of work of a kernel or copy. */
  group: string | null;
  /** Of a function: the part of the step; null: the whole windows. */
  phase?: string | null;
  /** Of a function: the clock of its seconds. */
  timer?: string | null;
  name: string;
  full_name: string;
  /** null: not counted, as in sampling profiles. */
  calls: number | null;
  self_s: number;
  total_s: number;
  /** Of a call. */
  mean_s: number | null;
  /** Share of all self time of the same device, or of the same phase and timer. */
  share: number;
  /** Of an operator: kernels and copies that it launched itself. */
  device_self_s?: number;
  /** Including operators that it called. */
  device_total_s?: number;
}

/** A GPU of a node. */
export interface GpuDevice {
  /** gpu0, ...: as in the metrics. */
  entity: string;
  name: string;
  uuid: string;
  driver: string;
  memory_bytes: number;
}

/** A machine of a run, as its last session recorded it. */
export interface Node {
  id: string;
  /** null, here and below: not known, as in traces of other profilers. */
  cores: number | null;
  gpus: number | null;
  memory_bytes: number | null;
  host: string | null;
  kernel: string | null;
  cpu_model: string | null;
  /** As of a run. */
  status: RunStatus;
  /** Why it ended: a signal, detached. */
  why: string | null;
  /** How often a recorder was started. */
  sessions: number;
  /** torchrun, mpirun, ... */
  launcher: string | null;
  /** The type that prices are known for. */
  machine: string | null;
  price_per_hour: number | null;
  /** Why there are no GPUs. */
  gpu_absent: string | null;
  gpu_devices: GpuDevice[];
}

/** What the list of runs and a run have in common. */
export interface RunBase {
  name: string;
  id: string;
  path: string;
  /** running, finished, failed, interrupted, stopped or died. */
  status: RunStatus;
  command: string[];
  labels: Record<string, string>;
  nodes: Node[];
  /** The shortest sampling interval. */
  interval_ms: number | null;
  start_ns: number;
  end_ns: number | null;
  /** The end of the data. */
  updated_ns: number;
  duration_s: number;
  cost: number | null;
  price_per_hour: number | null;
  /** Of the prices. */
  currency: string | null;
  machine: string | null;
  directory: string | null;
  git_commit: string | null;
  /** Of the recorder. */
  version: string | null;
  exit_status: number | null;
}

/** How GPUs were used over a time, on average; energy is a sum. If null, see losses. */
export interface GpuUse {
  /** Share of time in which a kernel ran. */
  util_pct: number | null;
  sm_active_pct: number | null;
  sm_occupancy_pct: number | null;
  tensor_active_pct: number | null;
  dram_active_pct: number | null;
  /** Of the tensor cores. */
  tflops: number | null;
  /** tflops divided by the peak. */
  mfu_pct: number | null;
  power_w: number | null;
  energy_j: number | null;
  /** Of the SMs. */
  clock_mhz: number | null;
  /** Share of the time by reason. */
  clock_held_pct: Record<string, number> | null;
  /** Reported by the driver, all processes. */
  used_memory_bytes: number | null;
}

/** One GPU. */
export interface GpuEfficiency {
  node: string;
  entity: string;
  name: string | null;
  /** By the job. */
  used: boolean;
  /** From the data sheet. */
  peak_tflops: number | null;
  peak_dram_tb_s: number | null;
  memory_bytes: number | null;
  /** In the training loop after its warm-up. */
  loop: GpuUse;
  job: GpuUse;
}

/** The GPUs that the job used, in the training loop after its warm-up or, without steps, in the job; mean per GPU. If null, see losses. */
export interface RunGpu {
  /** Of the tensor cores. */
  tflops: number | null;
  /** From the data sheet: dense, in peak_format. */
  peak_tflops: number | null;
  /** tflops divided by peak_tflops. */
  mfu_pct: number | null;
  /** Share of time in which a kernel ran. */
  util_pct: number | null;
  sm_active_pct: number | null;
  sm_occupancy_pct: number | null;
  tensor_active_pct: number | null;
  dram_active_pct: number | null;
  dram_tb_s: number | null;
  power_w: number | null;
  /** Of the SMs. */
  clock_mhz: number | null;
  /** Whole job, all GPUs. */
  energy_j: number | null;
  loop_energy_j: number | null;
  energy_per_step_j: number | null;
  energy_per_sample_j: number | null;
  /** PyTorch allocator, rank with the highest peak. */
  peak_memory_bytes: number | null;
  /** The same for reserved memory. */
  reserved_memory_bytes: number | null;
  /** Reported by the driver, all processes. */
  used_memory_bytes: number | null;
  /** Share of the time by reason. */
  clock_held_pct: Record<string, number> | null;
  /** BF16, ... */
  peak_format: string | null;
  /** loop, or job if there are no training steps. */
  window: GpuWindow;
  /** Of the window. */
  start_ns: number;
  end_ns: number;
  /** In the window. */
  steps: number;
  samples: number | null;
  gpus_used: number;
  /** The same for the whole job. */
  job: GpuUse;
  /** The same for each GPU, loop and job. */
  gpus: GpuEfficiency[];
}

/** A part of the job. */
export interface Phase {
  /** initialization, train, eval, finalization or interruption. */
  phase: PhaseName;
  start_ns: number;
  end_ns: number;
}

/** What the recorders used. */
export interface RecorderCost {
  cpu_s: number | null;
  bytes_written: number | null;
  events_dropped: number;
  samples: number;
  file_bytes: number;
}

/** What happened to the recording. */
export interface Mark {
  node: string;
  mark: string;
  time_ns: number;
  number: number;
  text: string;
}

/** What is missing, and why. */
export interface Loss {
  /** A metric, an entity or a part. */
  what: string;
  /** The same in words. */
  title: string;
  /** Why it is missing. */
  why: string;
  count: number;
  kind: string;
  /** null: of the run. */
  node: string | null;
}

/** A run: its phases, GPUs, marks and losses. */
export interface RunShow extends RunBase {
  job_start_ns: number;
  job_end_ns: number;
  job_duration_s: number;
  /** null, here and below: no steps were detected. */
  loop_start_ns: number | null;
  /** null: also while the job is running. */
  loop_end_ns: number | null;
  loop_duration_s: number | null;
  train_s: number | null;
  eval_s: number | null;
  initialization_s: number | null;
  finalization_s: number | null;
  interruption_s: number | null;
  /** Of the job's time. */
  initialization_pct: number | null;
  loop_pct: number | null;
  train_pct: number | null;
  eval_pct: number | null;
  finalization_pct: number | null;
  interruption_pct: number | null;
  /** In order of time. */
  phases: Phase[];
  /** GPU performance in the training loop after its warm-up. */
  gpu: RunGpu;
  self: RecorderCost;
  marks: Mark[];
  /** What could not be measured, and why. */
  losses: Loss[];
}

/** Why there are no readings. */
export interface StatLoss {
  what: string;
  why: string;
}

/** The readings of one resource or series in a window. */
export interface Stat {
  node: string;
  metric: StatMetric;
  /** job, loop or given. */
  window: string;
  /** Only with all=1. */
  entity?: string;
  unit: string;
  min: number | null;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
  mean: number | null;
  /** Readings. */
  count: number;
  losses: StatLoss[];
}

/** Seconds from the start of a step to the start of the next, of steady steps. */
export interface IterationTimes {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
  stddev: number | null;
}

/** Samples per second of the loop. */
export interface Throughput {
  /** Without warm-up, evaluation, checkpoints and detail windows. */
  steady: number | null;
  /** From the start of training to the end of the last step. */
  overall: number | null;
  unit: string;
}

/** A line of the program that waited for the GPU. */
export interface SyncPlace {
  /** File and line. */
  where: string;
  /** The call that waited; empty: not known. */
  call: string;
  count: number;
  seconds: number;
}

/** The steps of one rank and mode. */
export interface RankSteps {
  node: string;
  rank: number;
  session: number;
  pid: number;
  /** The CUDA device of the process; null: it has none. */
  device: number | null;
  /** train, eval or predict. */
  mode: StepMode;
  count: number;
  mean_s: number | null;
  min_s: number | null;
  p50_s: number | null;
  p95_s: number | null;
  p99_s: number | null;
  max_s: number | null;
  stddev_s: number | null;
  samples_per_s: number | null;
  /** Step numbers. */
  outliers: number[];
  /** Seconds per part; null: not reported. */
  events: Record<string, number | null>;
  iteration_s: IterationTimes;
  /** Iterations that the statistics count. */
  iterations: number;
  /** First steps, which are excluded. */
  warmup_steps: number;
  /** Steps that a detail window slowed, which are excluded. */
  disturbed_steps: number;
  throughput: Throughput;
  /** Of a mean iteration, by the clock of the launching thread; 'between' is the time between steps. */
  host_parts_s: Record<string, number | null>;
  /** Of a mean iteration, by CUDA events; 'other': no timed phase ran. null: not timed. */
  gpu_parts_s: Record<string, number | null> | null;
  /** Steps with GPU times. */
  gpu_timed_steps: number;
  /** Where the process waited for its GPU, most time first, in all modes. */
  sync: SyncPlace[];
}

/** One step of one rank. */
export interface Step {
  node: string;
  rank: number;
  /** train, eval or predict. */
  mode: StepMode;
  step: number;
  start_ns: number;
  /** From the first fetch to the optimizer's end. */
  duration_s: number;
  /** To the start of the next step; null: there is none. */
  between_s: number | null;
  /** From the start of the step to the start of the next. */
  iteration_s: number | null;
  /** Items of training data. */
  samples: number | null;
  /** The step was incomplete at the end of the data. */
  cut: boolean;
  /** One of the first steps. */
  warmup: boolean;
  /** Slowed by a detail window. */
  disturbed: boolean;
  /** Seconds per part; null: not reported. */
  events: Record<string, number | null>;
  /** Of between_s, time in which the program waited for the GPU. */
  between_sync_s: number | null;
  session: number;
  pid: number;
}

/** Why steps or parts of them are missing. */
export interface StepsLoss {
  what: string;
  why: string;
  /** Of a part: in which steps. */
  mode?: string;
  count: number;
}

/** The steps of a run. */
export interface Steps {
  ranks: RankSteps[];
  /** The last steps of each rank, in order of time. */
  steps: Step[];
  losses: StepsLoss[];
}
