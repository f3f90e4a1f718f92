// SPDX-License-Identifier: Apache-2.0
// figures.mjs - every figure that is shown of a run: which number of its JSON it is, and how that reads.
//
// A table has rows from the JSON and columns by title (in small letters); each medium shows the
// columns it likes, in its own order, and none that is not here. `of` is the JSON's number, where
// the HTML carries it beside the text. What stands here is expected of HTML, text, Markdown, the
// dashboard and the terminal alike; figures_compare.mjs has the same of a comparison.

import { readFileSync } from "node:fs";
import { calls } from "../../web/rows.mjs";

const COLOURS = readFileSync(new URL("../../src/report/colours.def", import.meta.url), "utf8");
/** What the report and the page call a phase of the job or a part of a step. */
export const TITLES = Object.fromEntries(calls(COLOURS).filter(([macro]) => macro === "LOOK").map(([, [key, title]]) => [key, JSON.parse(title)]));

/** A first word that is no name. */
const isCapital = /^[a-z]+(?=[ ,])/;

/** As the report writes sentences: a capital, unless the first word is a name, and a stop. */
export function sentence(text) {
  const stopped = text === "" || /[.!?]$/.test(text) ? text : `${text}.`;
  return isCapital.test(stopped) ? stopped[0].toUpperCase() + stopped.slice(1) : stopped;
}

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

/** `f` is web/src/format.ts, the twin of src/base/human.c; `percentages` that of base/percents.c. */
export function runFigures(f, percentages) {
  const number = (of, text) => ({ of, text });
  const seconds = (v) => number(v, f.value(v, "s"));
  const count = (v) => number(v, f.count(v));
  const percent = (v) => number(v, v === null ? "not known" : f.percent(v));
  const share = (v) => number(v, f.share(v));
  const bytes = (v) => number(v, f.bytes(v));
  const pct = (part, whole) => f.share(whole > 0 ? part / whole : 0);
  const us = (v) => f.value(v / 1e6, "s");
  const span = (from, to) => f.duration((to - from) / 1e9);

  // ---- tables ----

  const RESOURCES = {
    cpu: ["CPU", "Total CPU utilization"],
    gpu: ["GPU", "Total GPU utilization"],
    cpu_memory: ["CPU memory", "CPU memory utilization"],
    gpu_memory: ["GPU memory", "GPU memory utilization"],
    gpu_sm: ["GPU SMs active"],
    gpu_tensor: ["GPU tensor cores"],
    gpu_dram: ["GPU memory bandwidth"],
    gpu_power: ["GPU power"],
    io_wait: ["I/O wait"],
    net_in: ["network in", "Network in"],
    net_out: ["network out", "Network out"],
  };
  const quantile = (q) => (r) => number(r[q], f.value(r[q], r.unit));
  const use = {
    rows: (d) => d.report.utilization,
    columns: {
      node: (r) => r.node,
      resource: (r) => RESOURCES[r.metric],
      unit: (r) => r.unit,
      ...Object.fromEntries(["min", "max", "p99", "p95", "p90", "p50"].map((q) => [q, quantile(q)])),
      samples: (r) => count(r.count),
    },
    rest: (r) => [`not measured: ${r.losses[0]?.why}`, "no GPU"],
  };
  const loopUse = { ...use, rows: (d) => d.report.utilization_loop };

  const rankText = (rank) => (rank === null ? ["-", "no rank"] : [String(rank), f.rankText(rank)]);
  const PARTS = ["data", "forward", "backward", "optimizer", "graph", "h2d", "sync", "compile", "checkpoint", "comm", "other"];
  const shares = (events) => percentages(PARTS.map((part) => events[part] ?? 0)) ?? PARTS.map(() => 0);
  const partShare = (part) => (r) => (r.events[part] === null || PARTS.every((p) => !r.events[p]) ? "-" : f.percent(shares(r.events)[PARTS.indexOf(part)]));
  const rankColumns = {
    node: (r) => r.node,
    rank: (r) => rankText(r.rank),
    mode: (r) => r.mode,
    steps: (r) => count(r.count),
    mean: (r) => seconds(r.mean_s),
    p50: (r) => seconds(r.p50_s),
    p95: (r) => seconds(r.p95_s),
    p99: (r) => seconds(r.p99_s),
    max: (r) => seconds(r.max_s),
    "std. dev.": (r) => seconds(r.stddev_s),
    "samples/s": (r) => number(r.samples_per_s, f.samplesPerSecond(r.samples_per_s)),
    outliers: (r) => count(r.outliers.length),
    ...Object.fromEntries(PARTS.map((part) => [part, partShare(part)])),
  };
  const ranks = { rows: (d) => d.report.steps.ranks, columns: rankColumns };
  /** What the page shows of each rank: iterations, and its parts by each clock, GPU time first. */
  const iterations = {
    rows: (d) => d.steps.ranks,
    columns: {
      ...rankColumns,
      iteration: (r) => seconds(r.iteration_s.mean),
      ...Object.fromEntries(["p50", "p95", "p99", "max"].map((q) => [q, (r) => seconds(r.iteration_s[q])])),
      "std. dev.": (r) => seconds(r.iteration_s.stddev),
      "samples/s": (r) => number(r.throughput.steady, f.samplesPerSecond(r.throughput.steady)),
      "samples/s, steady": (r) => number(r.throughput.steady, f.samplesPerSecond(r.throughput.steady)),
      overall: (r) => number(r.throughput.overall, f.samplesPerSecond(r.throughput.overall)),
    },
  };
  /** As the report has them. */
  const reportIterations = {
    rows: (d) => d.report.steps.ranks.filter((r) => r.iterations > 0),
    columns: {
      ...iterations.columns,
      steps: undefined,
      iterations: (r) => count(r.iterations),
      mean: (r) => seconds(r.iteration_s.mean),
      "samples/s, overall": iterations.columns.overall,
    },
  };
  /** As the terminal has them: a row for each clock, a column for each part. */
  const clockTable = {
    rows: (d) => d.steps.ranks.flatMap((r) => [...(r.gpu_parts_s === null ? [] : [{ ...r, clock: "gpu" }]), { ...r, clock: "host" }]),
    columns: {
      node: rankColumns.node,
      rank: rankColumns.rank,
      mode: rankColumns.mode,
      "share of the iteration": (r) => clockText(r, r.clock),
      ...Object.fromEntries(
        [...PARTS, "between"].map((part) => [
          part,
          (r) => {
            const all = r[`${r.clock}_parts_s`];
            const pcts = percentages([...PARTS, "between"].map((p) => all[p] ?? 0));
            return pcts === null || (all[part] ?? null) === null ? "-" : f.percent(pcts[[...PARTS, "between"].indexOf(part)]);
          },
        ]),
      ),
    },
  };
  /** As the report has them: the mean time of each part, "other" by the host's clock only. */
  const partMeans = {
    rows: (d) => clockTable.rows({ steps: d.report.steps }),
    columns: {
      rank: rankColumns.rank,
      mode: rankColumns.mode,
      clock: (r) => clockText(r, r.clock),
      ...Object.fromEntries(
        [...PARTS, "between"].map((part) => [
          TITLES[part].toLowerCase(),
          (r) => {
            const v = r.clock === "gpu" && part === "other" ? null : (r[`${r.clock}_parts_s`][part] ?? null);
            return v === null ? number(null, "-") : seconds(v);
          },
        ]),
      ),
    },
  };
  const clockText = (r, clock) =>
    clock === "gpu" ? `GPU time, ${f.count(r.gpu_timed_steps)} of ${f.count(r.count)} steps timed` : r.device !== null && r.gpu_timed_steps === 0 ? "host time (launch)" : "host time";
  const clockRows = (ranks) => ({
    rows: (d) =>
      ranks(d).flatMap((r) =>
        ["gpu", "host"].flatMap((clock) => {
          const known = Object.entries(r[`${clock}_parts_s`] ?? {}).filter(([, v]) => v !== null);
          const pcts = percentages(known.map(([, v]) => v)) ?? [];
          return known.map(([part, v], i) => ({ r, clock, part, v, pct: pcts[i] })).filter((x) => x.v > 0);
        }),
      ),
    columns: {
      rank: ({ r }) => `${f.rankText(r.rank)}, ${r.mode}`,
      clock: ({ r, clock }) => clockText(r, clock),
      part: ({ clock, part }) => (clock === "gpu" && part === "other" ? "No timed phase" : PART_TITLES[part]),
      "time of an iteration": ({ v }) => seconds(v),
      share: ({ pct }) => f.percent(pct),
    },
  });
  const eachGpu = {
    rows: (d) => d.show.gpu.gpus.filter((g) => g.used),
    columns: {
      node: (g) => g.node,
      gpu: (g) => g.entity,
      "in use": (g) => f.percent(g.loop.util_pct),
      sms: (g) => f.percent(g.loop.sm_active_pct),
      tensor: (g) => f.percent(g.loop.tensor_active_pct),
      bandwidth: (g) => f.percent(g.loop.dram_active_pct),
      power: (g) => f.value(g.loop.power_w, "W"),
      "sm clock": (g) => f.value(g.loop.clock_mhz, "MHz"),
      memory: (g) => f.value(g.loop.used_memory_bytes, "B"),
    },
  };
  /** As the report has them, all that there are. */
  const known = (v, unit) => number(v, v === null ? "-" : f.value(v, unit));
  const reportGpus = (key) => ({
    rows: (d) => d.report.run.gpu.gpus.map((g) => ({ ...g, use: g[key] })),
    columns: {
      node: (g) => g.node,
      gpu: (g) => (g.name === null ? g.entity : `${g.entity}, ${g.name}${g.used ? "" : " (not used)"}`),
      busy: ({ use: u }) => known(u.util_pct, "%"),
      sms: ({ use: u }) => known(u.sm_active_pct, "%"),
      "tensor cores": ({ use: u }) => known(u.tensor_active_pct, "%"),
      "memory bandwidth": ({ use: u }) => known(u.dram_active_pct, "%"),
      "tflop/s": ({ use: u }) => number(u.tflops, u.tflops === null ? "-" : f.fixed(u.tflops, 0)),
      "share of peak": ({ use: u }) => known(u.mfu_pct, "%"),
      power: ({ use: u }) => known(u.power_w, "W"),
      clock: ({ use: u }) => known(u.clock_mhz, "MHz"),
    },
  });
  const partRows = clockRows((d) => d.steps.ranks);
  const PART_TITLES = {
    data: "Data loading", forward: "Forward", backward: "Backward", optimizer: "Optimizer", graph: "CUDA graph", h2d: "Copy to device",
    sync: "Wait for the GPU", compile: "Compile", checkpoint: "Checkpoint", comm: "Collectives", other: "Other", between: "Between steps",
  };
  const lastSteps = {
    rows: (d) => d.steps.steps,
    columns: {
      node: (s) => s.node,
      rank: (s) => rankText(s.rank),
      mode: (s) => s.mode,
      step: (s) => `${s.cut ? "!" : ""}${s.step}`,
      after: (s, d) => span(d.report.run.start_ns, s.start_ns),
      iteration: (s) => seconds(s.iteration_s),
      "host time": (s) => seconds(s.duration_s),
      between: (s) => seconds(s.between_s),
      note: (s) => (s.cut ? "cut" : s.disturbed ? "detail window" : s.warmup ? "warm-up" : ["", "checkpoint"]),
      ...Object.fromEntries(PARTS.map((part) => [part, (s) => seconds(s.events[part])])),
    },
  };

  const general = {
    rows: (d) => d.report.general.kinds,
    columns: {
      what: (k) => k.what,
      share: (k) => share(k.share),
      time: (k) => seconds(k.total_s),
      spans: (k) => count(k.count),
      longest: (k) => seconds(k.longest_s),
      threads: (k) => count(k.threads),
    },
  };
  const CATEGORIES = { op: "operator", user: "user span", loader: "data loader", runtime: "GPU runtime", memcpy: "copy", comm: "collective", python: "Python function" }; // on the page
  const ops = (device) => {
    const name = (r) => r.name;
    const [shareOf, self, total] = [(r) => share(r.share), (r) => seconds(r.self_s), (r) => seconds(r.total_s)];
    return {
      rows: (d) => d.ops.filter((r) => r.device === device),
      columns: {
        operator: name, name, [device]: name,
        kind: (r) => r.group ?? [r.category, CATEGORIES[r.category] ?? r.category],
        share: shareOf, "share of time": shareOf,
        self, "self time": self,
        total, "total time": total,
        calls: (r) => count(r.calls),
        mean: (r) => seconds(r.mean_s),
        group: (r) => r.group ?? "-",
        "gpu self": (r) => seconds(r.device_self_s),
        "gpu total": (r) => seconds(r.device_total_s),
      },
    };
  };

  const ROLES = { kernel: ["kernels"], memcpy: ["copies"], memset: ["memory filled"], communication: ["comm"], runtime: [], dataloader: ["loader"], cpu: [], other: [] };
  const breakdownSteps = {
    rows: (d) => d.breakdown.steps,
    columns: {
      rank: (s) => rankText(s.rank),
      step: (s) => String(s.step),
      time: (s) => us(s.total_us),
      ...Object.fromEntries(Object.entries(ROLES).flatMap(([role, titles]) => [role, ...titles].map((t) => [t, (s) => pct(s[`${role}_us`], s.total_us)]))),
    },
  };
  const ofSpan = (key) => (r) => pct(r[`${key}_us`], r.span_us);
  const devices = {
    rows: (d) => d.breakdown.devices,
    columns: {
      rank: (r) => rankText(r.rank),
      gpu: (r) => String(r.device),
      span: (r) => us(r.span_us),
      occupied: ofSpan("busy"),
      compute: ofSpan("compute"),
      computes: ofSpan("computation"),
      comm: ofSpan("comm"), communicates: ofSpan("comm"),
      "comm overlap": (r) => (r.comm_us > 0 ? pct(r.comm_overlap_us, r.comm_us) : "-"),
      "exposed comm": ofSpan("exposed_comm"), "communication not hidden": ofSpan("exposed_comm"),
      idle: ofSpan("idle"),
      "exposed copy": ofSpan("exposed_memcpy"), "copies not hidden": ofSpan("exposed_memcpy"),
    },
  };
  const streams = {
    rows: (d) => d.breakdown.streams,
    columns: {
      rank: (r) => rankText(r.rank),
      gpu: (r) => String(r.device),
      stream: (r) => String(r.stream),
      ops: (r) => count(r.ops),
      "host wait": (r) => us(r.host_wait_us),
      "own pace": (r) => us(r.kernel_wait_us),
      "other wait": (r) => us(r.other_wait_us),
      "launch delay": (r) => us(r.delay_p50_us),
      "short ops": (r) => count(r.short_ops),
      "queue max": (r) => count(r.queue_max),
    },
    rest: () => ["no launches are known"],
  };
  const memory = {
    rows: (d) => d.breakdown.memory,
    columns: {
      rank: (r) => rankText(r.rank),
      memory: (r) => r.device,
      peak: (r) => `${r.peak_is === "exact" ? "" : "at least "}${f.bytes(r.peak_bytes)}`,
      "by step": (r) => (r.peak_step === null ? "-" : String(r.peak_step)),
      reserved: (r) => (r.reserved_peak_bytes === null ? "-" : f.bytes(r.reserved_peak_bytes)),
    },
  };

  const groups = {
    rows: (d) => d.breakdown.groups,
    columns: {
      rank: (r) => rankText(r.rank),
      kernels: (r) => r.group,
      count: (r) => count(r.ops),
      time: (r) => us(r.time_us),
      share: (r) => share(r.share),
    },
  };

  const windowText = (w) => {
    if (w.first_step === null) return "no complete step";
    return w.steps === 1 ? `step ${w.first_step}` : `steps ${w.first_step} to ${w.first_step + w.steps - 1}`;
  };
  const windows = {
    rows: (d) => d.breakdown.windows,
    columns: {
      rank: (r) => rankText(r.rank),
      window: windowText,
      "step time": (r) => seconds(r.step_s),
      "usual step": (r) => seconds(r.usual_step_s),
      stall: (r) => seconds(r.stall_s),
      busy: (r) => seconds(r.busy_s),
      idle: (r) => share(r.idle_share),
      "usual idle": (r) => share(r.usual_idle_share),
    },
  };

  const stateOf = (v) => (v.state === "issue" ? v.severity : v.state === "not_evaluated" ? "skipped" : v.summary ? "summary" : "passed");
  const params = (v) => Object.entries(v.params_text).map(([name, text]) => `${name}=${text}`);
  const rules = {
    rows: (d) => d.report.rules,
    columns: {
      rule: (v) => v.title,
      state: stateOf,
      "time lost": (v) => (v.state === "issue" && v.lost_s !== null ? seconds(v.lost_s) : number(null, "-")),
      triggered: (v) => count(v.triggered),
      checked: (v) => count(v.datapoints),
      "reason or what to do": (v) => (v.state === "issue" ? (v.recommendation ?? "") : v.why),
      "about the rule": (v) => `${v.description ? `${v.description} ` : ""}(${v.rule}${params(v).length > 0 ? ": " : ""}${params(v).join(", ")})`,
    },
  };
  const gpus = (n) => {
    const [g] = n.gpu_devices;
    if (n.gpus === null) return "-"; // nobody has looked
    if (g === undefined) return n.gpu_absent ?? "none found";
    return g.name === "" ? String(n.gpus) : `${n.gpus} x ${g.name}, ${f.bytes(g.memory_bytes)} each, driver ${g.driver || "-"}`;
  };
  const machines = {
    rows: (d) => d.report.run.nodes,
    columns: {
      node: (n) => n.id,
      host: (n) => n.host ?? "-",
      cores: (n) => number(n.cores || null, n.cores ? String(n.cores) : "-"),
      memory: (n) => number(n.memory_bytes || null, n.memory_bytes ? f.bytes(n.memory_bytes) : "-"),
      gpus,
      kernel: (n) => n.kernel ?? "-",
    },
  };
  const losses = {
    rows: (d) => d.report.run.losses.filter((l) => l.node !== null && !(l.kind === "absent" && ["swap.used", "cgroup.cpu_limit", "cgroup.mem_limit", "cgroup.throttled"].includes(l.what))),
    columns: { node: (l) => l.node, what: (l) => l.title, why: (l) => l.why, times: (l) => count(l.count) },
  };
  const phases = {
    rows: (d) => KINDS.filter((kind) => d.report.run[`${kind}_s`] > 0),
    columns: {
      phase: (kind) => kind,
      time: (kind, d) => seconds(d.report.run[`${kind}_s`]),
      share: (kind, d) => percent(d.report.run[`${kind}_pct`]),
    },
  };
  const KINDS = ["initialization", "train", "eval", "finalization", "interruption"];

  /** What the rules plot, as tables: pies with percentages, bars, boxes; `table` is one itself. */
  const plotColumns = {
    pie: (p) => ({ value: (r) => seconds0(r.v[0], p.unit), share: (r) => f.percent(r.pct), percent: (r) => f.percent(r.pct) }),
    bars: (p) => ({ value: (r) => seconds0(r.v[0], p.unit) }),
    box: (p) => Object.fromEntries(["p5", "p25", "p50", "p75", "p95"].map((q, i) => [q, (r) => seconds0(r.v[i], p.unit)])),
    table: (p) => Object.fromEntries((p.columns ?? []).map((c, i) => [c.toLowerCase(), (r) => seconds0(r.v[i] ?? null, p.unit)])),
  };
  const seconds0 = (v, unit) => number(v, f.value(v, unit));
  const plotTable = (p) => {
    const pcts = p.kind === "pie" ? (percentages(p.rows.map((r) => r.v[0] ?? 0)) ?? []) : [];
    const label = (r) => r.label;
    return {
      rows: () => p.rows.map((r, i) => ({ ...r, pct: pcts[i] ?? 0 })),
      columns: { of: label, part: label, "": label, ...plotColumns[p.kind](p) },
    };
  };
  const isTold = (p) => p.kind in plotColumns && p.rows.length > 0;

  // ---- names with values ----

  const overhead = (d) => {
    const { self } = d.report.run;
    return self.cpu_s === null ? notClosed : number(self.cpu_s, [cpu(d.report.run), `${cpu(d.report.run)}, ${f.bytes(self.bytes_written)} written`]);
  };
  // Only the start time shows the zone.
  const wall = (ns) => (ns === null ? ["not known: no steps were detected", "-"] : f.timestamp(ns).replace(/ [-+]\d+$/, ""));
  const phase = (v) => (v === null ? { of: null, text: ["not known: no steps were detected", "not known: the job is still running", "-"] } : seconds(v));
  const portion = (v) => (v === null ? { of: null, text: ["not known", "-"] } : percent(v));
  const cpu = ({ self, duration_s }) => `${f.fixed(self.cpu_s, 2)} s of CPU${duration_s >= 5 ? ` (${f.fixed((100 * self.cpu_s) / duration_s, 2)} % of one core)` : ""}`;
  const notClosed = ["available when the run ends (meanwhile see self.cpu)", "not available: this run was not recorded by Footplate"];
  const price = (d) => `${f.price(d.report.cost, d.report.currency)}, at ${f.general(d.report.price_per_hour)} ${d.report.currency} per hour${d.report.run.machine === null ? "" : ` for ${d.report.run.machine}`}`;
  const facts = {
    "Start time": (d) => f.timestamp(d.report.run.job_start_ns),
    "End time": (d) => (d.report.live ? "still running" : wall(d.report.run.job_end_ns)),
    "Data up to": (d) => wall(d.report.run.job_end_ns),
    "Job duration": (d) => seconds(d.report.run.job_duration_s),
    "Training loop start": (d) => wall(d.report.run.loop_start_ns),
    "Training loop end": (d) => (d.report.live && d.report.run.loop_start_ns !== null ? "still running" : wall(d.report.run.loop_end_ns)),
    "Training loop duration": (d) => phase(d.report.run.loop_duration_s),
    Initialization: (d) => phase(d.report.run.initialization_s),
    Finalization: (d) => phase(d.report.run.finalization_s),
    Interruption: (d) => phase(d.report.run.interruption_s),
    "Initialization (%)": (d) => portion(d.report.run.initialization_pct),
    "Training loop (%)": (d) => portion(d.report.run.loop_pct),
    "Finalization (%)": (d) => portion(d.report.run.finalization_pct),
    "Interruption (%)": (d) => portion(d.report.run.interruption_pct),
    Cost: price,
    "Cost so far": price,
    Command: (d) => d.report.run.command.join(" ") || "not known",
    Directory: (d) => d.report.run.directory,
    "Git commit": (d) => d.report.run.git_commit,
    Folder: (d) => d.name,
    "Sampling interval": (d) => {
      const { interval_ms: ms } = d.report.run;
      return ms === null ? ["not known: the metrics were not recorded by Footplate", "not known: nothing was sampled by Footplate"] : number(ms, f.value(ms / 1000, "s"));
    },
    Readings: (d) => count(d.report.run.self.samples),
    Samples: (d) => count(d.report.run.self.samples),
    Files: (d) => bytes(d.report.run.self.file_bytes),
    "Events lost": (d) => count(d.report.run.self.events_dropped),
    "Footplate overhead": overhead,
    "Footplate's own cost": overhead,
    "Disk writes": (d) => (d.report.run.self.bytes_written === null ? "not known" : bytes(d.report.run.self.bytes_written)),
    "Recorded by": (d) => (d.report.run.version === null ? "not known" : `Footplate ${d.report.run.version}`),
    "Report generated by": (d) => d.report.made_by.replace("footplate", "Footplate"),
  };

  /** What the page says of the training loop: names with values. Those of GPUs are numbers of show's "gpu". */
  const loopRank = (d) => d.page.steps.ranks.filter((r) => r.mode === "train").reduce((a, b) => (a === null || b.count > a.count ? b : a), null);
  const whyNot = (d, key) => `not known: ${d.show.losses.find((l) => l.what === `gpu.${key}`)?.why}`;
  const ofGpu = (key, text) => (d) => (d.show.gpu[key] === null ? ["not known", whyNot(d, key)] : text(d.show.gpu, d));
  const each = (g) => (g.gpus_used > 1 ? " per GPU" : "");
  const HOLDS = { power_cap: "power limit", clock_setting: "clock setting" };
  const held = ({ clock_held_pct: all }) => {
    const long = Object.entries(all ?? {}).filter(([, v]) => v >= 1);
    if (all === null) return "";
    return long.length === 0 ? ", not held down" : `, reduced by ${long.map(([k, v]) => `${HOLDS[k] ?? k} ${f.fixed(v, 0)} % of the time`).join(", ")}`;
  };
  const memoryOf = (g) => Math.max(...g.gpus.filter((x) => x.used).map((x) => x.memory_bytes ?? 0));
  const sumOf = (d, key) => d.page.steps.ranks.filter((r) => r.mode === "train").reduce((n, r) => (n === null || r.throughput[key] === null ? null : n + r.throughput[key]), 0);
  const loopFacts = {
    "Iteration, median": (d) => (loopRank(d).iteration_s.p50 === null ? "not known" : f.value(loopRank(d).iteration_s.p50, "s")),
    "Throughput, steady": (d) => (sumOf(d, "steady") === null ? "not known" : `${f.samplesPerSecond(sumOf(d, "steady"))} samples/s`),
    Compute: ofGpu("tflops", (g) => `${f.fixed(g.tflops, 0)} TFLOP/s`),
    "Compute a GPU": ofGpu("tflops", (g) => `${f.fixed(g.tflops, 0)} TFLOP/s`),
    "GPU energy": (d) => {
      const { energy_per_sample_j: sample, energy_per_step_j: step } = d.show.gpu;
      return sample !== null ? `${f.joules(sample)} a sample` : step !== null ? `${f.joules(step)} a step` : "not known";
    },
    Power: ofGpu("power_w", (g) => `${f.value(g.power_w, "W")}${each(g)}`),
    "SM clock": ofGpu("clock_mhz", (g) => `${f.count(g.clock_mhz)} MHz${held(g)}`),
    "Peak memory": ofGpu("peak_memory_bytes", (g) => `${f.bytes(g.peak_memory_bytes)} allocated${g.reserved_memory_bytes === null ? "" : `, ${f.bytes(g.reserved_memory_bytes)} reserved`}`),
    "Memory in use": ofGpu("used_memory_bytes", (g) => `${f.bytes(g.used_memory_bytes)}${memoryOf(g) > 0 ? ` of ${f.bytes(memoryOf(g))}` : ""}, by all processes`),
    "GPU in use, whole job": (d) => f.percent(d.show.gpu.job.util_pct),
    "GPU energy, whole job": (d) => f.joules(d.show.gpu.job.energy_j),
  };
  Object.assign(facts, loopFacts);

  /** The words of the report and of `show` about the GPUs: src/tables/show.c. */
  const { joules } = f;
  const lacking = (d, key) => d.report.run.losses.find((l) => l.what === `gpu.${key}`)?.why;
  const ACTIVITY = { busy: "util_pct", SMs: "sm_active_pct", "tensor cores": "tensor_active_pct", "memory bandwidth": "dram_active_pct" };
  const activity = (d, u) => {
    const told = Object.entries(ACTIVITY).filter(([, key]) => u[key] !== null).map(([words, key]) => `${words} ${f.percent(u[key])}`);
    if (told.length === 0) return `not measured: ${lacking(d, "util_pct")}`;
    return `${told.join(", ")}${u.tensor_active_pct === null ? ` (no SM and tensor activity: ${lacking(d, "tensor_active_pct")})` : ""}`;
  };
  const compute = (d) => {
    const { gpu: g } = d.report.run;
    if (g.tflops === null) return `not known: ${lacking(d, "tflops")}`;
    const clock = Math.abs(g.tensor_active_pct - g.mfu_pct) < 3 ? "" : `; ${f.percent(g.tensor_active_pct)} of the peak at the actual clock`;
    return `${f.fixed(g.tflops, 0)} TFLOP/s${each(g)}, ${f.percent(g.mfu_pct)} of the peak (${f.fixed(g.peak_tflops, 0)} in ${g.peak_format})${clock}`;
  };
  const power = (d) => {
    const { gpu: g } = d.report.run;
    if (g.power_w === null) return `not measured: ${lacking(d, "power_w")}`;
    const per = [["step", g.energy_per_step_j], ["sample", g.energy_per_sample_j]].filter(([, v]) => v !== null);
    return [`${f.value(g.power_w, "W")}${each(g)}`, ...per.map(([of, v]) => `${joules(v)} per ${of}`)].join(", ");
  };
  const clockOf = (d) => {
    const { gpu: g } = d.report.run;
    if (g.clock_mhz === null) return `not measured: ${lacking(d, "clock_mhz")}`;
    return `${f.value(g.clock_mhz, "MHz")}${held(g).replace(", not held down", "")}`;
  };
  const memoryText = (d) => {
    const { gpu: g } = d.report.run;
    const of = [
      ...(g.peak_memory_bytes === null ? [] : [`${f.bytes(g.peak_memory_bytes)} allocated at peak`]),
      ...(g.reserved_memory_bytes === null ? [] : [`${f.bytes(g.reserved_memory_bytes)} reserved`]),
    ].join(", ");
    const used = g.job.used_memory_bytes === null ? [] : [`${f.bytes(g.job.used_memory_bytes)} of ${f.bytes(memoryOf(g))} used by all processes`];
    return [of, ...used].filter((x) => x !== "").join("; ") || `not measured: ${lacking(d, "used_memory_bytes")}`;
  };
  const gpuFacts = {
    Activity: (d) => activity(d, d.report.run.gpu),
    Compute: compute,
    "Power and energy": power,
    "SM clock": clockOf,
    Memory: memoryText,
    "Activity, whole job": (d) => activity(d, d.report.run.gpu.job),
    "Energy, whole job": (d) => joules(d.report.run.gpu.job.energy_j),
  };
  const reportFacts = { ...facts, ...gpuFacts };

  /** The large numbers at the head of the report: what, and what stands below. */
  const best = (d) => d.report.steps.ranks.filter((r) => r.mode === "train").reduce((a, b) => (a === null || b.count > a.count ? b : a), null);
  const useTile = (metric) => (d) => {
    const loop = d.report.utilization_loop.length > 0;
    const line = (loop ? d.report.utilization_loop : d.report.utilization).find((r) => r.metric === metric && r.count > 0);
    if (line === undefined) return null;
    const where = d.report.run.nodes.length > 1 ? ` on ${line.node}` : "";
    return [f.value(line.p50, line.unit), `median ${loop ? "in the training loop" : "of the job"}${where}`];
  };
  const medianTile = (n, p50, p95) => [f.value(p50, "s"), `median of ${f.count(n)}; p95 ${f.value(p95, "s")}`];
  const trainRanks = (d) => d.report.steps.ranks.filter((r) => r.mode === "train" && r.count > 0);
  const together = (ranks, key) => ranks.reduce((n, r) => (n === null || r.throughput[key] === null ? null : n + r.throughput[key]), 0);
  const rateTile = (d) => {
    const all = trainRanks(d);
    const [steady, overall] = ["steady", "overall"].map((key) => together(all, key));
    if (all.length === 0 || steady === null) return null;
    return [f.samplesPerSecond(steady), `steady${overall > 0 ? `; ${f.samplesPerSecond(overall)} overall` : ""}${all.length > 1 ? `, ${all.length} ranks together` : ""}`];
  };
  const energyBelow = ({ report: { run: { gpu: g } } }) => (g.job.energy_j === null ? "" : `${f.value(g.power_w, "W")}${each(g)} in the loop; ${joules(g.job.energy_j)} for the job`);
  const states = (d, state) => d.report.rules.filter((v) => v.state === state && !(v.rule === "FailedEarly" && state === "clear") && (!v.summary || state === "not_evaluated")).length;
  const jobTile = (d) => [f.value(d.report.run.job_duration_s, "s"), d.report.run.loop_pct === null ? "" : `${f.percent(d.report.run.loop_pct)} in the training loop`];
  /** In their order; null: the report of this run has none. */
  const tiles = {
    "GPU utilization": useTile("gpu"),
    "Training iteration": (d) => (best(d)?.iterations > 0 ? medianTile(best(d).iterations, best(d).iteration_s.p50, best(d).iteration_s.p95) : null),
    "Training step": (d) => (best(d)?.iterations === 0 ? medianTile(best(d).count, best(d).p50_s, best(d).p95_s) : null),
    "Samples per second": rateTile,
    "Share of peak": ({ report: { run: { gpu: g } } }) =>
      g.mfu_pct === null ? null : [f.percent(g.mfu_pct), `${f.fixed(g.tflops, 0)} of ${f.fixed(g.peak_tflops, 0)} TFLOP/s; tensor cores active ${f.percent(g.tensor_active_pct)}`],
    "Tensor cores active": ({ report: { run: { gpu: g } } }) =>
      g.mfu_pct !== null || g.tensor_active_pct === null ? null : [f.percent(g.tensor_active_pct), g.window === "loop" ? "mean in the training loop" : "mean of the job"],
    "Energy per sample": (d) => (d.report.run.gpu.energy_per_sample_j === null ? null : [joules(d.report.run.gpu.energy_per_sample_j), energyBelow(d)]),
    "Energy per step": (d) => {
      const { energy_per_sample_j: sample, energy_per_step_j: step } = d.report.run.gpu;
      return sample !== null || step === null ? null : [joules(step), energyBelow(d)];
    },
    Energy: ({ report: { run: { gpu: g } } }) =>
      g.energy_per_sample_j !== null || g.energy_per_step_j !== null || g.job.energy_j === null ? null : [joules(g.job.energy_j), "GPUs, whole job"],
    "CPU utilization": useTile("cpu"),
    "Job duration": (d) => (d.report.live ? null : jobTile(d)),
    "Job duration so far": (d) => (d.report.live ? jobTile(d) : null),
    Issues: (d) => [String(states(d, "issue")), `${states(d, "clear")} passed · ${states(d, "not_evaluated")} skipped`],
    Cost: (d) => (d.report.cost === null ? null : [f.price(d.report.cost, d.report.currency), `at ${f.general(d.report.price_per_hour)} ${d.report.currency} per hour${d.report.live ? ", so far" : ""}`]),
  };

  // ---- findings ----

  const hasSteps = (d) => d.report.run.loop_start_ns !== null;
  const estimate = (findings) => (findings.some((x) => x.basis === "estimated") ? " (estimate)" : "");
  const size = (v, d) =>
    [
      v.severity,
      ...(v.lost_s === null ? [] : [`${f.value(v.lost_s, "s")} lost${estimate(v.findings)}`]),
      ...(v.lost_share === null ? [] : [`${f.share(v.lost_share)} of the ${hasSteps(d) && !v.of_job ? "training loop" : "job"}`]),
      ...(v.lost_cost === null ? [] : [`at a cost of ${f.price(v.lost_cost, d.report.currency)}`]),
    ].join(", ");
  const costliest = (v) => v.findings.map((x, i) => ({ x, i })).sort((a, b) => (b.x.lost_s ?? -1) - (a.x.lost_s ?? -1) || a.i - b.i).map(({ x }) => x);
  const when = (x, d) => {
    if (x.ranges.length === 0) return null;
    const from = d.report.run.job_start_ns;
    const held = x.ranges.reduce((sum, r) => sum + (r.end_ns - r.start_ns) / 1e9, 0);
    const more = x.ranges.length > 1 ? `; ${x.ranges.length} times, ${f.duration(held)} in total` : "";
    return `from ${span(from, x.start_ns)} to ${span(from, x.end_ns)} after the start${more}`;
  };
  const lost = (x) => [...(x.lost_s === null ? [] : [f.value(x.lost_s, "s") + estimate([x])]), ...(x.lost_gpu_s === null ? [] : [`${f.value(x.lost_gpu_s, "s")} of GPU time`])].join(", ");
  const MOST = [["phase", 2], ["event", 3], ["operator", 2]];
  const during = (x) => {
    const [first] = x.shares;
    if (first === undefined) return null;
    const mine = x.shares.filter((s) => s.rank === first.rank);
    const shown = MOST.flatMap(([what, most]) => mine.filter((s) => s.what === what).slice(0, most));
    return `${first.rank < 0 ? "" : `rank ${first.rank}: `}${shown.map((s) => `${s.name} ${f.fixed(s.share * 100, 0)} %`).join(", ")}`;
  };
  const advice = (x, v) => x.advice ?? v.recommendation ?? "";
  /** [name, text, number of the JSON] of a finding, in the report's order. */
  const finding = (x, v, d) =>
    [
      ["When", when(x, d)],
      ["Time lost", lost(x)],
      ["Explained", x.explained_by.length > 0 ? `by ${x.explained_by.map((name) => d.report.rules.find((r) => r.rule === name)?.title ?? name).join(", ")}` : null],
      ["Activity meanwhile", during(x)],
      ...Object.entries(x.labels ?? Object.fromEntries(Object.keys(x.numbers).map((k) => [k, k.replaceAll("_", " ")]))).map(([name, label]) => [label, f.value(x.numbers[name], x.units[name]), x.numbers[name]]),
      ["What to do", sentence(advice(x, v))],
      ["Not a problem if", x.refute === null ? null : sentence(x.refute)],
    ].filter(([, text]) => text !== null && text !== "");

  return {
    tables: { use, loopUse, reportIterations, partMeans, reportGpus, ranks, partRows, lastSteps, general, ops, breakdownSteps, devices, streams, groups, memory, windows, rules, machines, losses, phases, plotTable },
    isTold, facts, reportFacts, gpuFacts, tiles, trainRanks, together, clockText, PARTS, states, size, costliest, finding, when, lost, during, advice, params, price, cpu, notClosed, best, plural, seconds,
    clocks: { iterations, clockTable, clockRows, eachGpu },
  };
}
