// SPDX-License-Identifier: Apache-2.0
// figures_page.mjs - every figure that only the dashboard shows, in the terms of figures.mjs: the
// charts as tables, and what the Steps tab adds up itself. All of it follows from answers of the API.

const MODE = "train"; // that the tabs begin with
const CELL_FULL = 200; // half percents; what is above was not measured

const median = (sorted) => sorted[Math.floor((sorted.length - 1) / 2)];
const sum = (v) => v.reduce((a, b) => a + b, 0);

/** Outliers and stragglers of `steps` (/steps?last=500) and `histograms`: tables by caption. */
export function stepTables(f, { steps, histograms }) {
  const seconds = (v) => ({ of: v, text: f.value(v, "s") });
  const p50 = (x) => steps.ranks.find((r) => r.node === x.node && r.rank === x.rank && r.mode === x.mode)?.iteration_s.p50;
  const outliers = histograms.steps.flatMap((s) => s.outliers.map((o) => ({ node: s.node, rank: s.rank, mode: s.mode, ...o }))).sort((a, b) => b.iteration_s - a.iteration_s);
  const where = () => "Timeline";
  const lags = lagsOf(steps.steps.filter((s) => s.mode === (steps.ranks[0]?.mode ?? MODE)));
  const held = lags.filter((x) => x.lag_s >= x.duration_s / 100);
  const ranks = [...new Set(held.map((x) => `${x.node} ${x.rank}`))]
    .map((key) => held.filter((x) => `${x.node} ${x.rank}` === key))
    .map((mine) => ({ node: mine[0].node, rank: mine[0].rank, n: mine.length, lag_s: sum(mine.map((x) => x.lag_s)) }));
  return {
    "Outliers: iterations much longer than others of the same rank": {
      rows: () => outliers,
      columns: {
        step: (o) => String(o.step),
        rank: (o) => f.rankText(o.rank),
        mode: (o) => o.mode,
        iteration: (o) => seconds(o.iteration_s),
        "× median": (o) => `${f.fixed(o.iteration_s / p50(o), 1)} ×`,
        start: (o) => f.dateTime(o.start_ns),
        show: where,
      },
    },
    "How often each rank is the slowest": {
      rows: () => ranks.sort((a, b) => b.lag_s - a.lag_s),
      columns: {
        rank: (r) => f.rankText(r.rank),
        node: (r) => r.node,
        "slowest in": (r) => `${f.count(r.n)} steps`,
        "share of steps": (r) => f.share(r.n / lags.length),
        "lag behind median rank": (r) => seconds(r.lag_s),
      },
    },
    "Steps with the largest lag": {
      rows: () => [...lags].sort((a, b) => b.lag_s - a.lag_s),
      columns: {
        step: (s) => String(s.step),
        "slowest rank": (s) => `${f.rankText(s.rank)} on ${s.node}`,
        "lag behind median rank": (s) => seconds(s.lag_s),
        show: where,
      },
    },
  };
}

/** Of each iteration that several ranks took, warm-up aside: who worked longest, and how much longer than the median
 * rank. Ranks wait for others in backward, or only in collectives if nearly all steps have them: whichever explains
 * more. */
function lagsOf(steps) {
  const numbers = [...new Set(steps.filter((s) => !s.cut).map((s) => s.step))].sort((a, b) => a - b);
  const groups = numbers.map((n) => steps.filter((s) => s.step === n && !s.cut)).filter((all) => all.length > 1);
  const usual = groups.filter((all) => all.every((s) => !s.warmup && !s.disturbed));
  const used = usual.length > 0 ? usual : groups;
  const apartFrom = (parts) =>
    used.map((all) => {
      const ended = all.every((s) => s.iteration_s !== null);
      const own = (s) => (ended ? s.iteration_s : s.duration_s) - parts.reduce((sum, part) => sum + (s.events[part] ?? 0), 0);
      const sorted = [...all].sort((a, b) => own(a) - own(b));
      const last = sorted[sorted.length - 1];
      return { ...last, duration_s: last.iteration_s ?? last.duration_s, lag_s: own(last) - own(median(sorted)) };
    });
  const inBackward = apartFrom(["backward", "comm", "sync"]);
  const stepsOf = (r) => used.flat().filter((s) => s.node === r.node && s.rank === r.rank);
  const seldom = (of) => of.filter((s) => s.events.comm > 0).length < 0.6 * of.length;
  if (used.length === 0 || used[0].some((r) => seldom(stepsOf(r)))) return inBackward;
  const inCollectives = apartFrom(["comm", "sync"]);
  const total = (list) => list.reduce((sum, s) => sum + s.lag_s, 0);
  return total(inCollectives) > total(inBackward) ? inCollectives : inBackward;
}

const LANES = [
  ["Data loading", (e) => e.name === "data"],
  ["Copy to device", (e) => e.name === "h2d"],
  ["Forward", (e) => /^forward(\.|$)/.test(e.name)],
  ["Backward", (e) => e.name === "backward"],
  ["Optimizer", (e) => ["optimizer", "zero_grad"].includes(e.name)],
  ["Evaluation", (e) => e.name === "eval"],
  ["Checkpoint", (e) => e.name === "checkpoint"],
  ["Collectives", (e) => e.category === "comm"],
  ["Compile", (e) => e.name === "compile"],
];

/** Time and number of events of each part, node and rank, from /events and the evaluation's steps. */
function laneRows({ events, steps }) {
  const rankOf = (e) => e.rank ?? steps.ranks.find((r) => r.node === e.node && r.pid === e.pid)?.rank ?? null;
  const evals = steps.steps.filter((s) => s.mode === "eval").map((s) => ({ ...s, name: "eval", count: 1, total_s: s.duration_s }));
  const all = [...events.filter((e) => !/^gpu\d+$/.test(e.thread)), ...evals].map((e) => ({ ...e, rank: rankOf(e) }));
  const places = [...new Set(all.map((e) => `${e.node}\t${e.rank}`))].sort();
  return places.flatMap((place) =>
    LANES.flatMap(([title, fits]) => {
      const mine = all.filter((e) => `${e.node}\t${e.rank}` === place && fits(e));
      return mine.length === 0 ? [] : [{ title, node: mine[0].node, rank: mine[0].rank, count: sum(mine.map((e) => e.count)), s: sum(mine.map((e) => e.total_s)) }];
    }),
  );
}

/** The line charts of Nodes: metrics with their titles, and what a device is called. */
const LINES = {
  "CPU utilization": { metrics: [["cpu.util", "CPU"]], noun: "core" },
  "Network utilization": { metrics: [["net.rx", "received"], ["net.tx", "sent"]], all: ", total" },
  "GPU utilization": { metrics: [["gpu.util", "GPU"], ["gpu.sm_active", "SM active"], ["gpu.tensor_active", "tensor active"], ["gpu.dram_active", "DRAM active"]], noun: "GPU" },
  "GPU memory": { metrics: [["gpu.mem", "used"]], noun: "GPU" },
  "GPU power": { metrics: [["gpu.power", "power"], ["gpu.power_limit", "limit"]], noun: "GPU" },
  "System metrics over time": { metrics: [["cpu.util", "total CPU"], ["gpu.util", "GPU"], ["cpu.iowait", "I/O wait"]], all: "" },
};

/** What each line of such a chart is called, and whose it is. */
function linesOf(run, { metrics, noun, all }) {
  return metrics.flatMap(([metric, title]) =>
    run.metrics
      .filter((x) => x.metric === metric)
      .map(({ node, entities, unit }) => {
        const devices = entities.filter((e) => !["total", "node", "job"].includes(e));
        const entity = entities.includes("total") ? "total" : entities.length === 1 ? entities[0] : "*mean*";
        const label = `${title}${all ?? (devices.length > 1 ? `, mean of ${devices.length} ${noun}s` : "")}`;
        return { node, metric, entity, unit, label: run.nodes.length > 1 ? `${node}: ${label}` : label };
      }),
  );
}

/** The charts of Overview, Nodes and Steps as tables, by title. `d`: answers of the API, `grid`,
 * `heatmap` and `events` for the window that the page shows. `m`: of the page's modules those that
 * name parts and phases, write times, and decode cells. */
export function chartTables(f, m, d) {
  const seconds = (v) => ({ of: v, text: f.value(v, "s") });
  const { run, grid, heatmap, steps, last, histograms } = d;
  const window_s = (d.window[1] - d.window[0]) / 1e9;

  const line = (chart) => {
    const looks = linesOf(run, chart);
    const lines = looks.map((l) => grid.series.find((s) => s.node === l.node && s.metric === l.metric && s.entity === l.entity));
    const filled = [...Array(grid.n).keys()].filter((i) => lines.some((s) => s.v[i] !== null));
    const values = looks.map((l, k) => [l.label.toLowerCase(), (i) => f.value(lines[k].v[i], l.unit)]);
    const whole = (s) => (l) => {
      const of = (key) => s[key].filter((v) => v !== null);
      return [s.mean, Math.min(...of("min")), Math.max(...of("max"))].map((v) => f.value(v, l.unit));
    };
    const said = looks.map((l, k) => [l.label, ...whole(lines[k])(l)]);
    const summary = `${said.map(([label, mean, min, max]) => `${label}: mean ${mean}, from ${min} to ${max}`).join("; ")}.`;
    return { summary, legend: said.map(([label, mean]) => `${label} ${mean}`), rows: () => filled, columns: { time: (i) => m.timeText((grid.from_ns + (i + 0.5) * grid.step_ns) / 1e6, grid.step_ns / 1e6), ...Object.fromEntries(values) } };
  };

  const heat = () => {
    const { cells } = m.heatData(heatmap, run.interval_ms);
    const of = (k) => [...cells.slice(k * heatmap.n, (k + 1) * heatmap.n)].filter((c) => c <= CELL_FULL).map((c) => c / 2);
    const told = (text) => (r) => (r.v.length === 0 ? "-" : f.percent(text(r.v)));
    return {
      rows: () => heatmap.rows.map((row, k) => ({ ...row, v: of(k) })),
      columns: {
        node: (r) => r.node,
        kind: (r) => ({ "cpu.util": "CPU core", "gpu.util": "GPU" })[r.metric],
        device: (r) => r.entity,
        "lowest cell": told((v) => Math.min(...v)),
        "mean of cells": told((v) => sum(v) / v.length),
        "highest cell": told((v) => Math.max(...v)),
      },
    };
  };

  const lanes = () => {
    const rows = laneRows(d);
    const several = (key) => new Set(rows.map((r) => r[key])).size > 1;
    const who = (r) => [several("node") ? r.node : "", several("rank") && r.rank !== null ? `r${r.rank}` : "", r.title];
    return {
      rows: () => rows,
      columns: {
        lane: (r) => who(r).filter((w) => w !== "").join(" "),
        rank: (r) => f.rankText(r.rank),
        events: (r) => f.count(r.count),
        time: (r) => seconds(r.s),
        "share of window": (r) => f.share(r.s / window_s),
      },
    };
  };

  const bins = (edges, counts, first, what, summary) => {
    const rows = counts.map((n, i) => ({ i, n })).filter((b) => b.n > 0);
    const columns = { share: (b) => f.share(b.n / sum(counts)), [what]: (b) => f.count(b.n) };
    const bin = edges === null ? (b) => `${b.i} %` : (b) => `${f.value(edges[b.i], "s")} to ${f.value(edges[b.i + 1], "s")}`;
    return { summary, rows: () => rows, columns: { [first]: bin, ...columns } };
  };
  const half = (counts) => counts.findIndex((_, i) => 2 * sum(counts.slice(0, i + 1)) >= sum(counts));
  const device = (kind) => {
    const mine = histograms.devices.filter((x) => x.metric === `${kind}.util`);
    const shown = mine.find((x) => x.entity === "total") ?? mine[0];
    if (shown === undefined) return undefined;
    const several = new Set(mine.map((x) => x.node)).size > 1;
    const name = `${several ? `${shown.node} ` : ""}${shown.entity === "total" ? "all cores" : shown.entity}`;
    return bins(null, shown.bins, "utilization", "readings", `${name}: ${f.count(shown.count)} readings, half of them at or below ${half(shown.bins)} %.`);
  };
  const outlierText = ({ outliers: { length: n }, outlier_from_s: from }) => (n === 0 ? "no outliers" : `${n} outlier${n === 1 ? "" : "s"} above ${f.value(from, "s")}`);
  const MODES = { train: "training", eval: "evaluation" };
  const durations = histograms.steps.map((s) => [`Iterations, ${s.node} ${f.rankText(s.rank)}, ${MODES[s.mode]}`, bins(s.edges_s, s.counts, "iteration", "steps", `${f.count(sum(s.counts))} iterations, ${outlierText(s)}.`)]);

  const first = (all) => all.filter((s) => s.mode === MODE && s.node === all[0].node && s.rank === all[0].rank);
  const note = (s) => (s.disturbed ? "slowed by a detail window" : s.warmup ? "warm-up" : "");
  const bars = (rows) => ({
    rows: () => rows,
    columns: {
      step: (s) => String(s.step),
      iteration: (s) => seconds(s.iteration_s),
      ...Object.fromEntries(Object.keys(rows[0]?.events ?? {}).map((part) => [m.partTitle(part).toLowerCase(), (s) => seconds(s.events[part])])),
      "between steps": (s) => seconds(s.between_s),
      note,
    },
  });
  const clock = (s) => {
    const rank = steps.ranks.find((r) => r.node === s?.node && r.rank === s?.rank && r.mode === s?.mode);
    return rank !== undefined && rank.device !== null && rank.gpu_timed_steps === 0 ? "host time (launch)" : "host time";
  };
  const byRank = [...steps.steps].sort((a, b) => a.rank - b.rank || (a.node < b.node ? -1 : 1) || a.start_ns - b.start_ns);
  const [lastNodes, lastSteps] = [first(last.steps), first(byRank).slice(-30)];

  const phase = (kind) => m.PHASES[kind].title;
  const loop = { title: "Training loop", s: run.loop_duration_s, pct: run.loop_pct };
  const parts = [...["initialization", null, "finalization"].map((kind) => (kind === null ? loop : { title: phase(kind), s: run[`${kind}_s`], pct: run[`${kind}_pct`] }))];
  return {
    "Time spent in phases of training": { rows: () => parts, columns: { part: (p) => p.title, value: (p) => seconds(p.s), percent: (p) => f.percent(p.pct) } },
    "Training progress over time": {
      rows: () => run.phases,
      columns: {
        phase: (p) => phase(p.phase),
        start: (p) => f.dateTime(p.start_ns),
        end: (p) => f.dateTime(p.end_ns),
        duration: (p) => seconds((p.end_ns - p.start_ns) / 1e9),
      },
    },
    ...Object.fromEntries(Object.entries(LINES).map(([title, chart]) => [title, grid && line(chart)])),
    "Overall system utilization": heatmap && heat(),
    "Framework metrics over time": lanes(),
    "CPU utilization distribution": device("cpu"),
    "GPU utilization distribution": device("gpu"),
    ...Object.fromEntries(durations),
    [`Last ${lastNodes.length} iteration${lastNodes.length === 1 ? "" : "s"}, ${clock(lastNodes[0])}`]: bars(lastNodes),
    [`Last ${lastSteps.length} iteration${lastSteps.length === 1 ? "" : "s"} by part, ${clock(lastSteps[0])}`]: bars(lastSteps),
    "Iteration by step": {
      rows: () => steps.steps.filter((s) => s.mode === MODE && s.iteration_s !== null),
      columns: {
        rank: (s) => f.rankText(s.rank),
        node: (s) => s.node,
        mode: (s) => s.mode,
        step: (s) => String(s.step),
        start: (s) => f.dateTime(s.start_ns),
        iteration: (s) => seconds(s.iteration_s),
        note,
      },
    },
  };
}

/** Names with values that the page words otherwise than report and terminal; the rest is in figures.mjs. */
export function pageFacts(f, F, words) {
  const wall = (ns) => (ns === null ? "-" : f.dateTime(ns));
  const each = (g) => (g.gpus_used > 1 ? " per GPU" : "");
  const why = (d, key) => `not known: ${d.show.losses.find((l) => l.what === `gpu.${key}`)?.why}`;
  const ofGpu = (key, text) => (d) => (d.show.gpu[key] === null ? ["not known", why(d, key)] : text(d.show.gpu));
  const held = ({ clock_held_pct: all }) => {
    const long = Object.entries(all ?? {}).filter(([, v]) => v >= 1);
    if (all === null) return "";
    return long.length === 0 ? ", not throttled" : `, reduced by ${long.map(([k, v]) => `${words.CLOCK_HOLDS[k] ?? k} ${f.fixed(v, 0)} % of the time`).join(", ")}`;
  };
  const memory = (g) => Math.max(...g.gpus.filter((x) => x.used).map((x) => x.memory_bytes ?? 0));
  const cost = (d) => {
    const { machine, currency = null } = d.report.run;
    const rate = [...(machine === null ? [] : [machine]), `${f.general(d.report.price_per_hour)} ${currency ?? "USD"}/h`];
    return `${f.price(d.report.cost, currency)} (${rate.join(", ")})`;
  };
  /** The head: the training rank with the most steps, and what each issue would save. */
  const best = (d) => d.page.steps.ranks.filter((r) => r.mode === "train").reduce((a, b) => (a === null || b.count > a.count ? b : a), null);
  const steady = (d) => d.page.steps.ranks.filter((r) => r.mode === "train").reduce((n, r) => (n === null || r.throughput.steady === null ? null : n + r.throughput.steady), 0);
  const issues = (d) => d.check.filter((v) => v.state === "issue");
  const saving = (v, d) =>
    [
      f.value(v.lost_s, "s"),
      ...(v.lost_share === null ? [] : [`${f.share(v.lost_share)} of the ${d.report.run.loop_start_ns === null || v.of_job ? "job" : "training loop"}`]),
      ...(v.lost_cost === null ? [] : [f.price(v.lost_cost, d.report.run.currency ?? null)]),
    ].join(", ");
  const steps = (d) => f.count(best(d).count);
  const savings = (d) => issues(d).map((v) => saving(v, d));
  const unended = (fact) => (d) => (d.report.live ? "-" : fact(d));
  return {
    ...F.facts,
    "Start time": (d) => wall(d.report.run.job_start_ns),
    "End time": (d) => (d.report.live ? "still running" : wall(d.report.run.job_end_ns)),
    "Training loop start": (d) => wall(d.report.run.loop_start_ns),
    "Training loop end": (d) => (d.report.live && d.report.run.loop_start_ns !== null ? "still running" : wall(d.report.run.loop_end_ns)),
    Finalization: unended(F.facts.Finalization),
    "Finalization (%)": unended(F.facts["Finalization (%)"]),
    Cost: (d) => [cost(d), f.price(d.report.cost, d.report.run.currency ?? null)],
    "Cost so far": (d) => [cost(d), f.price(d.report.cost, d.report.run.currency ?? null)],
    Status: (d) => d.report.run.status,
    Step: steps,
    Steps: steps,
    "Steps/s": (d) => (best(d).iteration_s.mean === null ? "not known" : f.general(1 / best(d).iteration_s.mean, 3)),
    "Samples/s": (d) => (steady(d) === null ? "not known" : f.samplesPerSecond(steady(d))),
    "What to do": (d) => issues(d).flatMap((v) => [v.recommendation, ...v.findings.map((x) => x.advice)]),
    "Would save up to": savings,
    "Lost so far": savings,
    "Sampling interval": ({ report: { run: { interval_ms: ms } } }) => (ms === null ? "-" : f.value(ms / 1000, "s")),
    Readings: (d) => f.count(d.report.run.self.samples),
    "Footplate overhead": ({ report: { run: { self, duration_s } } }) =>
      self.cpu_s === null
        ? "available when the run ends"
        : `${f.fixed(self.cpu_s, 2)} s CPU time${duration_s > 0 ? ` (${f.fixed((100 * self.cpu_s) / duration_s, 2)} % of one core)` : ""}, ${f.bytes(self.bytes_written)} written`,
    "Compute per GPU": F.facts["Compute a GPU"],
    "GPU energy": (d) => {
      const { energy_per_sample_j: sample, energy_per_step_j: step } = d.show.gpu;
      return sample !== null ? `${f.joules(sample)} per sample` : step !== null ? `${f.joules(step)} per step` : "not known";
    },
    Power: ofGpu("power_w", (g) => `${f.value(g.power_w, "W")}${each(g)}`),
    "SM clock": ofGpu("clock_mhz", (g) => `${f.value(g.clock_mhz, "MHz")}${held(g)}`),
    "Memory in use": ofGpu("used_memory_bytes", (g) => `${f.bytes(g.used_memory_bytes)}${memory(g) > 0 ? ` of ${f.bytes(memory(g))}` : ""} (all processes)`),
    "GPU utilization, whole job": (d) => f.percent(d.show.gpu.job.util_pct),
  };
}

/** Tables of the page that have other names than those of report and terminal, by caption. */
export function pageTables(f, F, losses) {
  const { tables: T } = F;
  const parts = (spec) => ({
    ...spec,
    columns: { ...spec.columns, part: ({ clock, part, ...row }) => (clock === "gpu" && part === "other" ? "Outside timed phases" : part === "sync" ? "GPU wait" : spec.columns.part({ clock, part, ...row })), "time per iteration": spec.columns["time of an iteration"] },
  });
  const { memset, runtime, dataloader, cpu } = T.breakdownSteps.columns;
  const { computes, communicates } = T.devices.columns;
  return {
    "CPU operators with the most self time": T.ops("cpu"),
    "GPU operators with the most self time": T.ops("gpu"),
    "Not measured or lost": {
      rows: (d) => losses(d.report.run.losses),
      columns: { missing: (l) => l.what.join(", "), node: (l) => l.node ?? "all", reason: (l) => l.why, count: (l) => f.count(l.count) },
    },
    "Share of the iteration": parts(T.partRows),
    iterationBreakdown: (ranks) => parts(F.clocks.clockRows(ranks)),
    "Each GPU in the training loop": { ...F.clocks.eachGpu, columns: { ...F.clocks.eachGpu.columns, utilization: F.clocks.eachGpu.columns["in use"] } },
    "Breakdown by step": { ...T.breakdownSteps, columns: { ...T.breakdownSteps.columns, memset, "cuda runtime": runtime, "data loading": dataloader, "cpu operators": cpu } },
    "Time of each device in the detail window": {
      ...T.devices,
      columns: { ...T.devices.columns, computation: computes, communication: communicates, "exposed communication": T.devices.columns["exposed comm"], "exposed copies": T.devices.columns["exposed copy"] },
    },
    "Kernels by kind": T.groups,
  };
}

/** The slices of the timeline, as its table has them: one text each. */
export function sliceTexts(f, m, timeline, start_ns) {
  const { lane, name, start, dur, merged } = timeline.slices;
  const rankOf = (l) => l.rank ?? timeline.lanes.find((x) => x.kind === "steps" && x.node === l.node && x.pid === l.pid)?.rank ?? null;
  return lane.map((k, i) => {
    const at = timeline.from_ns - start_ns + start[i];
    const of = timeline.lanes[k];
    return [timeline.names[name[i]] ?? "", f.rankText(rankOf(of)), of.title, m.offsetText(at, 1e3), f.value(dur[i] / 1e9, "s"), merged[i] > 1 ? f.count(merged[i]) : "1"].join("\t");
  });
}
