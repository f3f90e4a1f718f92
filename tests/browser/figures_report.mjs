// SPDX-License-Identifier: Apache-2.0
// figures_report.mjs - where the report shows the figures of figures.mjs: its tables by caption, its
// charts by title, its sentences.
import { sentence, TITLES } from "./figures.mjs";

const MOST_FINDINGS = 12;
const MOST_ISSUES = 3;

/** Tables by caption. Those of the rules have the titles of their plots. */
export function reportTables(F, d) {
  const { tables: T } = F;
  const plots = d.report.rules.flatMap((v) => v.plots).filter((p) => p.kind === "table");
  return {
    "Iterations by rank": T.reportIterations,
    "Iteration breakdown, mean": T.partMeans,
    "GPUs in the training loop": T.reportGpus("loop"),
    "GPUs in the whole job": T.reportGpus("job"),
    "Resource utilization by node, training loop": T.loopUse,
    "Resource utilization by node, whole job": T.use,
    "Steps by rank": T.ranks,
    "General metrics by total time": T.general,
    "Most expensive CPU operators": T.ops("cpu"),
    "Most expensive GPU operators": T.ops("gpu"),
    "Rules by time lost": T.rules,
    Nodes: T.machines,
    "Not measured or lost": T.losses,
    ...Object.fromEntries(plots.map((p) => [p.title, T.plotTable(p)])),
  };
}

// ---- charts: what they say in words, what shows under the pointer, and the values of their lines ----

const pieOf = (f, percentages) => (unit, parts) => {
  const pcts = percentages(parts.map(([, v]) => v)) ?? parts.map(() => 0);
  const words = parts.map(([, v], i) => `${unit === "%" ? "" : `${f.value(v, unit)}, `}${f.percent(pcts[i])}`);
  const sum = f.value(parts.reduce((a, [, v]) => a + Math.max(v, 0), 0), unit);
  return {
    told: { titles: ["PART", "VALUE", "SHARE"], rows: parts.map(([label, v], i) => [label, f.value(v, unit), f.percent(pcts[i])]) },
    texts: [...parts.flatMap(([label], i) => [label, words[i]]), ...(unit === "%" ? [] : [sum])],
    hints: parts.flatMap(([label, v], i) => (v > 0 ? [`${label}: ${words[i]}`] : [])),
  };
};

const QUANTILES = ["p5", "p25", "median", "p75", "p95"];

function plotCharts(f, pie) {
  const value = (p) => (v) => f.value(v, p.unit);
  return {
    pie: (p) => pie(p.unit, p.rows.map((r) => [r.label, r.v[0]])),
    bars: (p) => ({
      told: { titles: ["ITEM", "VALUE"], rows: p.rows.map((r) => [r.label, value(p)(r.v[0])]) },
      texts: p.rows.flatMap((r) => [r.label, value(p)(r.v[0])]),
    }),
    box: (p) => ({
      told: { titles: ["ITEM", "P5", "P25", "P50", "P75", "P95"], rows: p.rows.map((r) => [r.label, ...r.v.slice(0, 5).map(value(p))]) },
      texts: p.rows.map((r) => r.label),
      hints: p.rows.map((r) => `${r.label}: ${QUANTILES.map((q, i) => `${q} ${value(p)(r.v[i])}`).join(", ")}`),
    }),
    histogram: (p) => ({
      texts: p.rows.map((r) => r.label),
      hints: p.rows.flatMap((r) => r.v.flatMap((n, i) => (n > 0 ? [`${value(p)(p.edges[i])} to ${value(p)(p.edges[i + 1])}: ${f.count(n)}`] : []))),
    }),
    series: (p) => ({ texts: p.rows.map((r) => r.label), lines: p.rows.map((r) => [r.label, r.v.filter((v) => v !== null).map(value(p))]) }),
  };
}

const cut = (rows, most) => rows.slice(0, most);
const MOST_ROWS = { pie: 12, bars: 24, box: 24, histogram: 12, series: 8 };

/** What is expected of a chart. Those of the rules are known by their section too: two rules may
 * draw the same thing. */
export function reportCharts(f, percentages, F, d) {
  const pie = pieOf(f, percentages);
  const byKind = plotCharts(f, pie);
  const { run, steps } = d.report;
  const since = (ns) => (ns - run.job_start_ns) / 1e9;
  const several = run.nodes.length > 1;
  const kinds = F.tables.phases.rows(d);
  const charts = {
    "Time by training phase": pie("s", kinds.map((kind) => [TITLES[kind], run[`${kind}_s`]])),
    "Time in CPU and GPU operators": pie("s", [["CPU operators", d.report.operator_s.cpu], ["GPU operators", d.report.operator_s.gpu]]),
    "Time in general metrics": { texts: d.report.general.kinds.flatMap((k) => [k.what, f.value(k.total_s, "s")]) },
    "Training progress over time": {
      texts: [...new Set(run.phases.map((p) => TITLES[p.phase]))],
      hints: run.phases.map((p) => `${TITLES[p.phase]}, ${f.duration((p.end_ns - p.start_ns) / 1e9)} from ${f.duration(since(p.start_ns))} on`),
    },
    "Training iteration time": {
      texts: d.report.step_durations.map((r) => f.rankText(r.rank)),
      lines: d.report.step_durations.map((r) => [f.rankText(r.rank), r.mean_s.map((v) => f.value(v, "s"))]),
    },
  };
  const last = steps.steps.filter((s) => s.rank === steps.steps[0].rank && s.node === steps.steps[0].node && s.mode === "train" && !s.cut);
  if (last.length > 0)
    charts[`Last ${last.length} training iterations, rank ${last[0].rank}, ${F.clockText(F.best(d), "host")}`] = {
      texts: [],
      labels: true,
      hints: last.flatMap((s) => [...Object.entries(s.events), ["between", s.between_s]].flatMap(([part, v]) => (v > 0 ? [`${s.step}, ${TITLES[part]}: ${f.value(v, "s")}`] : []))),
    };
  for (const c of d.report.charts)
    charts[`${c.title}${several ? ` of ${c.node}` : ""} over time`] = {
      texts: c.lines.map((l) => l.label),
      lines: c.lines.map((l) => [l.label, l.v.filter((v) => v !== null).map((v) => f.value(v, c.unit))]),
    };
  for (const v of d.report.rules)
    for (const p of v.plots.filter((x) => x.kind !== "table" && x.rows.length > 0)) {
      const whole = { ...p, rows: cut(p.rows, MOST_ROWS[p.kind]) };
      const more = p.rows.length > whole.rows.length ? { below: `The first ${whole.rows.length} of ${p.rows.length}; see report.json for all.` } : {};
      charts[`${v.title} (${v.rule}) / ${p.title}`] = { ...byKind[p.kind](whole), ...more };
      if (v.rule === "OverallFrameworkMetrics") charts[p.title] = { ...byKind[p.kind](whole), ...more };
    }
  return (block) => charts[`${block.section} / ${block.title}`] ?? charts[block.title];
}

// ---- sentences ----

const stepsWhy = (d) => d.report.run.losses.find((l) => l.what === "steps" && l.node === null)?.why;

/** How a run that did not finish well ended. */
function ended(run, why = "") {
  if (run.status === "died") return "The recorder ended without closing its files";
  if (run.status === "stopped") return `Recording was stopped${["", "detached"].includes(why) ? "" : ` (${why})`}`;
  if (run.status === "failed") return why.startsWith("SIG") ? `The job was killed by ${why}` : `The job failed with exit status ${run.exit_status}`;
  return why === "SIGKILL" ? "The job was killed by SIGKILL" : `The job was interrupted (${why})`;
}

function headTexts(f, F, d) {
  const todo = (v) => {
    const advice = F.costliest(v).length > 0 ? F.advice(F.costliest(v)[0], v) : "";
    return advice === "" ? "" : ` What to do: ${sentence(advice)}`;
  };
  const { run } = d.report;
  const gpus = run.nodes.reduce((n, node) => n + node.gpus, 0);
  const clear = F.states(d, "clear");
  const left = F.states(d, "not_evaluated");
  const why = run.nodes.find((n) => n.status === run.status && n.why !== null)?.why;
  const issues = d.report.rules.filter((v) => v.state === "issue");
  return [
    run.name,
    `${run.status}: ${f.value(run.duration_s, "s")} on ${F.plural(run.nodes.length, "node")} with ${gpus === 0 ? "no GPU" : F.plural(gpus, "GPU")}, started ${f.timestamp(run.start_ns)}`,
    `This run is still running. Data up to ${f.timestamp(d.report.data_to_ns)}.`,
    `${ended(run, why)} after ${f.value(run.duration_s, "s")}.`,
    ...issues.map((v) => `${v.title} (${F.size(v, d)}): ${sentence(F.costliest(v)[0]?.message ?? "")}${todo(v)}`),
    `${issues.length - MOST_ISSUES} more: see the rules summary.`,
    `${["finished", "running"].includes(run.status) ? "No issues found" : "No performance issues found in the recorded part"} (${F.plural(clear, "rule")} passed, ${left} skipped).`,
    sentence(d.report.right_size?.why ?? ""),
    `${F.plural(issues.length, "issue")} · ${clear} passed · ${left} skipped. Rules with the largest time lost come first.`,
  ];
}

function ruleTexts(F, d, v) {
  const several = d.report.run.nodes.length > 1;
  const place = (x) => [several ? x.node : "", x.entity].filter((w) => w !== "").join(" ");
  const list = F.costliest(v);
  const more = list.slice(MOST_FINDINGS);
  return [
    `${v.title} (${v.rule})`,
    `Skipped: ${v.why}.`,
    v.description,
    ...(v.state === "issue" ? [sentence(F.size(v, d))] : []),
    ...list.map((x) => `${several && x.node !== "" ? `${x.node}: ` : ""}${sentence(x.message)}`),
    `${F.plural(more.length, "more finding")}: ${more.map(place).join(", ")}; see report.json for all.`,
    ...v.remarks.map(sentence),
  ];
}

function loopTexts(F, d) {
  const best = F.best(d);
  if (best === null) return [];
  const { warmup_steps: warmup, disturbed_steps: detail } = best;
  const left = detail > 0 ? ` and ${detail} in or right after a detail window` : "";
  return [`An iteration lasts from the start of a step to the start of the next. Excluded: ${F.plural(warmup, "warm-up step")}${left}.`];
}

/** Charts of nothing but zeros are sentences. */
function flatTexts(f, d) {
  const several = d.report.run.nodes.length > 1;
  const flat = d.report.charts.filter((c) => c.lines.every((l) => [...l.min, ...l.max].every((v) => v === null || v === 0)));
  return flat.map((c) => `${c.title}${several ? ` of ${c.node}` : ""} over time (${c.lines.map((l) => l.label).join(", ")}): constant at ${f.value(0, c.unit)}.`);
}

/** Every sentence with a figure that the report of a run may have. */
export function reportTexts(f, F, d) {
  return new Set([
    ...headTexts(f, F, d),
    ...loopTexts(F, d),
    ...flatTexts(f, d),
    ...d.report.detail_windows.map(sentence),
    ...d.report.rules.flatMap((v) => ruleTexts(F, d, v)),
    `Generated by ${d.report.made_by.replace("footplate", "Footplate")} on ${f.timestamp(d.report.made_ns)}.`,
    `No steps were detected: ${stepsWhy(d)}.`,
    `${d.report.general.left_out} more span names took less time each.`,
  ]);
}
