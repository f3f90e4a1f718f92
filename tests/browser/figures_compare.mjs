// SPDX-License-Identifier: Apache-2.0
// figures_compare.mjs - every figure that is shown of a comparison, as figures.mjs has those of a run:
// `c` is what `footplate compare --json` says.

const SIDES = ["a", "b"];
const NAMES = { a: "A", b: "B" };
const PARTS = { data: "Data loading", h2d: "Copy to device", graph: "CUDA graph", sync: "GPU wait", comm: "Collectives", between: "Between steps" };
const PHASES = { train: "Training", eval: "Evaluation" };
const capital = (text) => text[0].toUpperCase() + text.slice(1);

export function compareFigures(f) {
  const number = (of, text) => ({ of, text });
  const seconds = (v) => number(v, f.value(v, "s"));
  const count = (v) => number(v, f.count(v));
  const more = (v) => number(v, f.changeSeconds(v));
  const change = (v) => number(v, f.changeShare(v));
  const share = ({ a, b }) => change(a > 0 && b !== null ? b / a - 1 : null);
  const points = (v) => number(v, v === null ? "-" : f.changePoints(v * 100));

  // ---- tables ----

  const runs = {
    rows: (c) => SIDES.flatMap((side) => c[side].runs.map((r) => ({ side, ...r }))),
    columns: {
      group: (r) => NAMES[r.side],
      run: (r) => r.run,
      status: (r) => r.status,
      nodes: (r) => count(r.machines),
      gpus: (r) => count(r.gpus),
      steps: (r) => count(r.steps),
      duration: (r) => seconds(r.duration_s),
      cost: (r) => number(r.cost, f.price(r.cost, r.currency ?? null)),
    },
  };
  const sides = {
    rows: (c) => SIDES.map((side) => ({ side, ...c[side] })),
    columns: {
      side: (s) => NAMES[s.side],
      run: (s) => (s.runs.length === 1 ? s.name : s.runs.map((r) => r.run).join("")),
      duration: (s) => seconds(s.duration_s),
      steps: (s) => count(s.runs.reduce((n, r) => n + r.steps, 0)),
      "samples/s, steady": (s) => f.samplesPerSecond(s.samples_per_s),
      cost: (s, c) => f.price(s.cost, c.cost.currency ?? c.currency ?? null),
    },
  };

  const pair = (key) => (c) => ({ a: c.step_time.a[key], b: c.step_time.b[key] });
  const SPREAD = [
    [["mean"], "mean_s"],
    [["median", "p50"], "p50_s"],
    [["p90"], "p90_s"],
    [["p95"], "p95_s"],
    [["p99"], "p99_s"],
    [["shortest"], "min_s"],
    [["longest", "max"], "max_s"],
    [["standard deviation", "standard deviation"], "stddev_s"],
  ];
  const spreadOf = (rows) => ({
    rows: () => rows,
    columns: {
      iteration: ([names]) => names,
      a: ([, key], c) => seconds(pair(key)(c).a),
      b: ([, key], c) => seconds(pair(key)(c).b),
      change: ([, key], c) => share(pair(key)(c)),
    },
  });

  const low = (p) => more(p.ci_low);
  const high = (p) => more(p.ci_high);
  const partsOf = (key) => ({
    rows: (c) => c[key],
    columns: {
      part: (p) => p.part, "part of an iteration": (p) => [p.part, PARTS[p.part] ?? capital(p.part)],
      a: (p) => seconds(p.a_s),
      b: (p) => seconds(p.b_s),
      change: (p) => more(p.diff), difference: (p) => more(p.diff),
      low, high,
      interval: (p) => (p.ci_low === null ? "-" : `${low(p).text} to ${high(p).text}`),
      verdict: (p) => ({ faster: "faster", slower: "slower", no_difference: "no difference", not_comparable: ["not known", "not comparable"] })[p.verdict],
    },
  });
  const parts = partsOf("parts");
  const numberText = (v, unit, why) => (v === null ? [`not known${why === null ? "" : `: ${why}`}`, "-"] : unit === "samples/s" ? [f.samplesPerSecond(v), f.value(v, unit)] : unit === "J" ? f.joules(v) : f.value(v, unit));
  const numbers = {
    rows: (c) => c.numbers,
    columns: {
      "of the loop": (n) => n.title,
      metric: (n) => n.title,
      "training loop": (n) => (n.unit === "samples/s" ? `${n.title} (samples/s)` : n.title),
      "in the training loop": (n) => (n.unit === "samples/s" ? `${n.title} (samples/s)` : n.title),
      a: (n) => number(n.a, numberText(n.a, n.unit, n.why_a)),
      b: (n) => number(n.b, numberText(n.b, n.unit, n.why_b)),
      change: (n) => change(n.diff_share),
    },
  };
  const phases = {
    rows: (c) => c.phases,
    columns: {
      phase: (p) => [p.phase, PHASES[p.phase] ?? capital(p.phase)],
      a: (p) => seconds(p.a_s),
      b: (p) => seconds(p.b_s),
      difference: (p) => more(p.diff_s),
      change: (p) => change(p.diff_share),
    },
  };

  const quantile = (side, q) => (u) => number(u[side][q], u[side][q] === null ? ["-", "not measured"] : f.value(u[side][q], u.unit));
  const changed = (u) => number(u.diff, u.unit === "%" ? f.changePoints(u.diff) : [f.value(u.diff, u.unit), f.changeValue(u.diff, u.unit)]);
  const use = {
    rows: (c) => c.utilization,
    columns: {
      resource: (u) => [u.title, capital(u.title)],
      ...Object.fromEntries(SIDES.flatMap((s) => [[`median ${s}`, quantile(s, "p50")], [`${s}, p50`, quantile(s, "p50")], [`p95 ${s}`, quantile(s, "p95")], [`${s}, p95`, quantile(s, "p95")]])),
      change: changed, difference: changed,
    },
  };

  const timed = (key) => (t) => (t.unit === "s" ? seconds(t[key]) : number(t[key], f.share(t[key])));
  const timeMore = (t) => (t.unit === "s" ? more(t.diff) : points(t.diff));
  const times = {
    rows: (c) => c.breakdown,
    columns: {
      of: (t) => t.of, item: (t) => t.of, "of a": (t) => t.of,
      what: (t) => t.what, part: (t) => t.what, "spent on": (t) => t.what,
      a: timed("a"), b: timed("b"),
      change: timeMore, difference: timeMore,
    },
  };
  const calls = (v) => number(v, f.value(v, ""));
  const ops = {
    rows: (c) => c.operators,
    columns: {
      operator: (o) => o.name,
      device: (o) => [o.device, o.device.toUpperCase()],
      "self a": (o) => seconds(o.a_self_s), "self, a": (o) => seconds(o.a_self_s),
      "self b": (o) => seconds(o.b_self_s), "self, b": (o) => seconds(o.b_self_s),
      change: (o) => more(o.diff_s), difference: (o) => more(o.diff_s),
      "calls a": (o) => calls(o.a_calls), "calls, a": (o) => calls(o.a_calls),
      "calls b": (o) => calls(o.b_calls), "calls, b": (o) => calls(o.b_calls),
    },
  };

  // ---- findings ----

  const CHANGES = { appeared: "new in B", went: "resolved in B", stayed: "in both", unknown: "skipped in one" };
  const lost = (v) => number(v, f.share(v));
  const findings = {
    rows: (c) => Object.keys(CHANGES).flatMap((kind) => c.findings[kind].map((x) => ({ kind, ...x }))),
    columns: {
      rule: (x) => x.title,
      change: (x) => CHANGES[x.kind],
      "lost a": (x) => lost(x.lost_share_a),
      "lost b": (x) => lost(x.lost_share_b),
      finding: (x) => (x.kind === "unknown" && x.why !== null ? x.why : (x.message_b ?? x.message_a ?? "")),
    },
  };
  const lostText = (side, s, part) => (s === null ? [] : [`${f.value(s, "s")}${part === null ? "" : ` (${f.share(part)})`} in ${side}`]);
  /** What the page says of a finding. */
  const findingTexts = (x) => [
    ...(x.message_a === null ? [] : [`A: ${x.message_a}`]),
    ...(x.message_b === null ? [] : [`B: ${x.message_b}`]),
    ...(x.why === null ? [] : [x.why]),
    ...[[...lostText("A", x.lost_s_a, x.lost_share_a), ...lostText("B", x.lost_s_b, x.lost_share_b)]].flatMap((all) => (all.length === 0 ? [] : [`Time lost: ${all.join(", ")}`])),
  ];

  // ---- sentences ----

  const unsigned = (v) => f.changeShare(Math.abs(v)).replace("+", "");
  const sure = (c) => `${f.general(c.step_time.confidence * 100, 3)} %`;
  const interval = (c, [at, from, to]) => `${f.changeShare(c.step_time[at])}, ${sure(c)} confidence interval ${f.changeShare(c.step_time[from])} to ${f.changeShare(c.step_time[to])}`;
  const MEAN = ["diff_share", "ci_low", "ci_high"];
  const MEDIAN = ["median_diff_share", "median_ci_low", "median_ci_high"];
  const ALONE = ["diff_share", "steps_ci_low", "steps_ci_high"];
  const facts = { "These two runs only": (c) => number(c.step_time.diff_share, interval(c, ALONE)), "Change of mean": (c) => number(c.step_time.diff_share, interval(c, MEAN)), "Change of median": (c) => number(c.step_time.median_diff_share, interval(c, MEDIAN)) };
  const cost = (c) => {
    const { a, b, saving, saving_share: part } = c.cost;
    if (saving === null) return { document: "", page: "" };
    const [word, size] = [saving < 0 ? "costs more by" : "saves", `${f.price(Math.abs(saving), c.cost.currency ?? c.currency ?? null)} (${unsigned(part)})`];
    const price = (v) => f.price(v, c.cost.currency ?? c.currency ?? null);
    const document = `A costs ${price(a)}, B costs ${price(b)}: B ${word} ${size}.`;
    const same = `Both runs cost the same: ${price(a)}.`;
    const page = `B costs ${price(Math.abs(saving))} ${saving < 0 ? "more" : "less"} than A (${unsigned(part)}): ${price(b)} instead of ${price(a)}.`;
    return { document, page: saving === 0 ? same : page };
  };
  const rate = (c) =>
    `Samples per second: ${f.samplesPerSecond(c.a.samples_per_s)} in A, ${f.samplesPerSecond(c.b.samples_per_s)} in B ` +
    `(${f.changeShare(c.b.samples_per_s / c.a.samples_per_s - 1)}); ${f.value(c.a.batch, "")} and ${f.value(c.b.batch, "")} samples a step.`;
  const unmeasured = (u) => [`${u.title} was not measured: ${u.why_a}.`, `${u.title} of A was not measured: ${u.why_a}.`, `${u.title} of B was not measured: ${u.why_b}.`];
  /** Every sentence with a figure that a document may have. */
  const texts = (c, shownOps) =>
    new Set([
      `A: ${c.a.name}. B: ${c.b.name}.`,
      c.sentence,
      c.why,
      rate(c),
      cost(c).document,
      `Differences: ${c.differences.map((x) => (x.what === "command" ? x.what : `${x.what} ${x.a} -> ${x.b}`)).join("; ")}`,
      ...c.hardware.differences.map((x) => `The hardware differs: ${x}.`),
      ...c.utilization.flatMap(unmeasured),
      ...c.numbers.flatMap((n) => SIDES.map((s) => `${n.title} of ${NAMES[s]} is not known: ${n[`why_${s}`]}.`)),
      ...c.losses.map((l) => `${NAMES[l.side]} has no ${l.what}: ${l.why}.`),
      `The ${shownOps} largest changes; --json lists up to ${c.operators.length}.`,
      `No issues found in A (${c.findings.rules_judged_a} rules evaluated) or B (${c.findings.rules_judged_b} rules evaluated).`,
    ]);
  /** The line below the page's table of step times. */
  const note = (c) => {
    const t = c.step_time;
    const range = ([at, from, to]) => [f.changeShare(t[at]), `${f.changeShare(t[from])} to ${f.changeShare(t[to])}`];
    const [[mean, meanRange], [median, medianRange]] = [range(MEAN), range(MEDIAN)];
    return `Mean: ${mean}, ${sure(c)} confidence interval ${meanRange}. Median: ${median}, interval ${medianRange}.`;
  };
  /** Both sides' step times as bars. */
  const chart = (c) => {
    const h = c.step_time.histogram;
    const hints = SIDES.flatMap((side) => h[side].flatMap((n, i) => (n > 0 ? [`${f.value(h.edges_s[i], "s")} to ${f.value(h.edges_s[i + 1], "s")}: ${f.count(n)}`] : [])));
    return { texts: ["A", "B"], hints };
  };
  const bins = {
    rows: (c) => c.step_time.histogram.a.map((a, i) => ({ a, b: c.step_time.histogram.b[i], from: c.step_time.histogram.edges_s[i], to: c.step_time.histogram.edges_s[i + 1] })),
    columns: { from: (r) => seconds(r.from), to: (r) => seconds(r.to), "steps of a": (r) => count(r.a), "steps of b": (r) => count(r.b) },
  };

  return {
    documentTables: {
      Runs: runs,
      "Iteration time (start of a step to the start of the next)": spreadOf(SPREAD),
      "Throughput: samples over wall time of the loop": numbers,
      "Iteration breakdown: host time": parts,
      "Iteration breakdown: host time (launch)": parts,
      "Time spent in phases": phases,
      "Utilization, all nodes": use,
      "Operators per step, largest change first": ops,
      "Operators of the run, largest change first": ops,
      "Breakdown: step time and shares of device time": times,
      "Findings; lost: share of the training loop": findings,
    },
    pageTables: {
      Runs: sides,
      "Iterations of both runs": spreadOf(SPREAD.filter(([, key]) => key !== "min_s")),
      "Throughput and efficiency of both runs": numbers,
      "Parts of an iteration, GPU time": partsOf("gpu_parts"),
      "Parts of an iteration, host time": parts,
      "Phases of both runs": phases,
      "Utilization in both runs": use,
      "Operators of both runs": ops,
      "Breakdown of both runs": times,
    },
    /** Its caption says how many steps were timed. */
    gpuTable: (c) => [`Iteration breakdown: GPU time (A: ${c.a.gpu_timed_steps} of ${c.a.gpu_steps} steps timed, B: ${c.b.gpu_timed_steps} of ${c.b.gpu_steps})`, partsOf("gpu_parts")],
    bins, facts, texts, note, cost, chart, findings, findingTexts,
  };
}
