// SPDX-License-Identifier: Apache-2.0
// numbers.test.mjs - a run read in every place it is shown: the report as HTML, text and Markdown,
// report.json, the API, the dashboard, the terminal. A figure reads the same everywhere, to the last
// digit: it is the JSON's number as web/src/format.ts writes it (tests/data/human.tsv holds that to
// what the program writes). figures.mjs lists the figures; one that is shown and not listed fails.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, afterEach, before } from "node:test";

import { runFigures } from "./figures.mjs";
import { pageFacts, pageTables as namedTables, stepTables } from "./figures_page.mjs";
import { reportCharts, reportTables, reportTexts } from "./figures_report.mjs";
import { pageModule, start, until } from "./help.mjs";
import { blocksOf, FLAT, follows, hasDigit, labelled, pageFigures, printedTables } from "./media.mjs";
import { agree, same, sameChart, sameTable } from "./numbers_kit.mjs";

const CLUSTER = `scene 1
node a cores=16 gpus=2 memory=64GiB
node b cores=16 gpus=2 memory=64GiB
* cpu.util total  0s..160s 24 noise 4
* cpu.util cpu*   0s..160s 20 noise 7
* mem.util        0s..160s 30 to 45
* net.rx total    0s..160s 1500000 noise 300000
* net.tx total    0s..160s 900 noise 300
* gpu.util gpu*   0s..20s 0   20s..160s 40 for 300ms, 3 for 200ms
* gpu.mem gpu*    0s..20s 2   20s..160s 35
rank 0..1 on a: loader at 15s num_workers=2 pin_memory=0
rank 0..1 on a: steps 150 x 512.37ms from 20s data=41% forward=20.3% backward=30% optimizer=5% batch 64 jitter 7%
rank 0..1 on a: eval 4 x 101ms every 50; checkpoint 1.3s every 75
rank 2..3 on b: steps 150 x 530.91ms from 20.2s data=11% forward=37% backward=40% comm=5% batch 64 jitter 9%; every 12 takes 2.9s in data
job 0s..160s exit 0
`;

const STEPLESS = `scene 1
node a cores=8 gpus=1 memory=16GiB
* cpu.util total 0s..90s 31 noise 9
* cpu.util cpu*  0s..90s 31 noise 12
* gpu.util gpu*  0s..90s 7 for 3s, 55 for 700ms
* gpu.mem gpu*   0s..90s 11 to 13
`;

/** Two ranks with three steps each; every step launches kernels and copies. */
function kineto() {
  const rows = [];
  for (let s = 0; s < 3; s++) {
    const at = 1_700_000_000_000_000 + 12_345 * s;
    rows.push({ ph: "X", pid: 77, tid: 77, cat: "user_annotation", name: `ProfilerStep#${s}`, ts: at, dur: 11_987 });
    for (let k = 0; k < 12; k++) {
      const [ts, correlation] = [at + 100 + 930 * k, 100 * s + k + 1];
      rows.push({ ph: "X", pid: 77, tid: 77, cat: "cpu_op", name: `aten::op${k}`, ts, dur: 711 - 31 * k });
      rows.push({ ph: "X", pid: 77, tid: 77, cat: "cuda_runtime", name: "cudaLaunchKernel", ts: ts + 50, dur: 43, args: { correlation } });
      rows.push({ ph: "X", pid: 0, tid: 7, cat: "kernel", name: `kernel_${k % 9}`, ts: ts + 117, dur: 613 - 37 * k, args: { device: 0, stream: 7, correlation } });
    }
  }
  return JSON.stringify({ schemaVersion: 1, distributedInfo: { rank: 0 }, traceEvents: rows });
}

const priced = (price) => (folder) => {
  for (const node of ["node-a", "node-b"]) {
    const file = join(folder, node, "node.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), price_per_hour: price }));
  }
};

const file = (name, text) => {
  const path = join(t.dir, name);
  writeFileSync(path, text);
  return path;
};

/** The recorder is stopped as it is, so that every place reads the same data of a run that goes on. */
async function living() {
  const job = await t.record("living", "--seconds", "60");
  jobs.push(job);
  await until(async () => (await t.api(`/runs/${job.run}/steps?last=1`)).ranks[0]?.count > 30, "thirty steps");
  job.child.kill("SIGSTOP");
  rmSync(join(t.dir, job.run, "findings.json"), { force: true }); // of a moment before: the server judges what there is
  return job.run;
}

const RUNS = {
  "a rank on a GPU, with operators and a price": () => t.copy("h200-1-worker"),
  "four ranks on two nodes, with a price": () => t.import(file("cluster.scene", CLUSTER), priced(3.825)),
  "a run without steps": () => t.import(file("stepless.scene", STEPLESS)),
  "an imported trace": () => t.import(file("trace.json", kineto())),
  "a run that goes on": living,
};

let t;
let f;
let F;
let words;
let lossLines;
let numbersOf;
let percentages;
const jobs = [];
const read = new Map(); // what was read of a run

before(async () => {
  t = await start();
  f = await pageModule("format.ts");
  words = await pageModule("words.ts");
  ({ lossLines } = await pageModule("views/overview_measured.tsx"));
  ({ numbersOf } = await pageModule("views/insight_rule.tsx"));
  ({ percentages } = await pageModule("components/plots/arcs.ts"));
  F = runFigures(f, percentages);
});
afterEach(() => t.tidy());
after(async () => {
  for (const job of jobs) {
    job.child.kill("SIGCONT");
    job.child.kill("SIGINT");
    await job.done;
  }
  await t?.stop();
});

const json = async (...args) => JSON.parse(await t.footplate(...args));
const LAST = ["--last", "30"];
const ALL = ["--last", "1000000"];

/** Everything that is said of a run, read once. */
async function documents(name) {
  if (read.has(name)) return read.get(name);
  await t.footplate("report", name);
  const folder = join(t.dir, name);
  const d = {
    name,
    report: JSON.parse(readFileSync(join(folder, "report.json"), "utf8")),
    html: readFileSync(join(folder, "report.html"), "utf8"),
    text: await t.footplate("report", name, "--format", "text"),
    markdown: await t.footplate("report", name, "--format", "markdown"),
    show: await json("show", name, "--json"),
    stats: await json("stats", name, "--json"),
    steps: await json("steps", name, "--json", ...LAST),
    ops: await json("ops", name, "--json", "--limit", "1000"),
    check: await json("check", name, "--json"),
    breakdown: await json("breakdown", name, "--json"),
    catalogue: await t.api("/rules"),
    page: { steps: await t.api(`/runs/${name}/steps?last=500`), histograms: await t.api(`/runs/${name}/histograms`) },
  };
  read.set(name, d);
  return d;
}

const byRule = (verdicts) => Object.fromEntries(verdicts.map((v) => [v.rule, v]));
const ofDevice = (ops, device, most) => ops.filter((r) => r.device === device).slice(0, most);
const firstOps = (ops) => [...ofDevice(ops, "cpu", 20), ...ofDevice(ops, "gpu", 20)];

/** The server's verdicts, once they are about the newest data: of a run that lives that takes ten seconds. */
function newestFindings(d) {
  const states = (verdicts) => JSON.stringify(verdicts.map((v) => [v.rule, v.state]).sort());
  let got = [];
  return until(async () => {
    got = await t.findings(d.name);
    return states(got) === states(d.check) ? got : null;
  }, `the findings of ${d.name} as of now`).catch(() => got);
}

/** JSON documents of the same thing, in the terms of report.json. */
async function sameDocuments(d) {
  const api = (path) => t.api(`/runs/${d.name}${path}`);
  const told = { ...d.report, made_ns: 0 };
  const documents = [
    ["run", told.run, d.show, await api("")],
    ["utilization", told.utilization, d.stats, await api("/stats")],
    ...(told.utilization_loop.length > 0 ? [["utilization in the loop", told.utilization_loop, await json("stats", d.name, "--json", "--window", "loop")]] : []),
    ["steps", told.steps, d.steps, await api("/steps?last=30")],
    ["operators", firstOps(told.operators), firstOps(d.ops), firstOps(await api("/ops?limit=1000"))],
    ["rules", byRule(told.rules), byRule(d.check), byRule(await newestFindings(d))],
    ["report", told, { ...(await api("/report.json")), made_ns: 0 }],
    ["breakdown", d.breakdown, await api("/breakdown")],
    ["cost", { cost: told.cost, price_per_hour: told.price_per_hour }, told.run],
  ];
  for (const [what, ...all] of documents) for (const other of all.slice(1)) agree(all[0], other, what);
  assert.deepEqual(KINDS.map((kind) => told.run[`${kind}_pct`]), KINDS.map((kind) => told.phase_percents[kind]));
  assert.equal(told.run.loop_pct, told.phase_percents.loop);
  const { right_size: size } = told;
  if (size !== null && told.cost !== null) {
    assert.equal(f.money(size.instead_of.cost), f.money(told.cost));
    assert.ok(size.why.includes(`${f.price(size.cost, d.report.currency)} instead of ${f.price(told.cost, d.report.currency)} for a run as long as this one`), size.why);
    assert.ok(size.why.includes(`${f.general(size.price_per_hour)} ${d.report.currency} per hour instead of ${f.general(told.price_per_hour)}, `), size.why);
  }
}

const KINDS = ["initialization", "train", "eval", "finalization", "interruption"];

// ---- the report ----

const ADVICE = /--detail-steps 5:2|fp_step_begin/; // not a figure

/** Blocks of the report that are findings' facts, taken out: they follow their note. */
function checkFacts(blocks, d) {
  const findings = d.report.rules.filter((v) => v.state === "issue").flatMap((v) => F.costliest(v).slice(0, 12).map((x) => F.finding(x, v, d)));
  const expected = findings.flat();
  const own = blocks.filter((b) => b.kind === "fact" && !(b.name in F.reportFacts && b.name !== "Cost"));
  const labels = Object.entries(d.report.run.labels).map(([key, value]) => [`Label ${key}`, value]);
  assert.deepEqual(own.map((b) => [b.name, b.text]), [...labels, ...expected.map(([name, text]) => [name, text])], "the facts of findings");
  own.slice(labels.length).forEach((b, i) => same(b, { of: expected[i][2], text: expected[i][1] }, b.name));
  for (const b of blocks.filter((x) => x.kind === "fact" && !own.includes(x))) same(b, F.reportFacts[b.name](d), b.name);
}

async function checkHtml(d, blocks, stray) {
  const tables = reportTables(F, d);
  const charts = reportCharts(f, percentages, F, d);
  const texts = reportTexts(f, F, d);
  assert.deepEqual(blocks.filter((b) => b.kind === "tile").map((b) => b.name), Object.keys(F.tiles).filter((name) => F.tiles[name](d) !== null), "the large numbers");
  assert.deepEqual(stray, [], "figures that stand in no table, fact, chart or sentence");
  for (const b of blocks) {
    if (b.kind === "table") sameTable(b, tables[b.caption], d, "the table of the report");
    if (b.kind === "figure") sameChart(b, charts(b), "the chart of the report");
    if (b.kind === "tile") assert.deepEqual([b.text, b.below], F.tiles[b.name]?.(d), b.name);
    if ((b.kind === "text" || b.kind === "heading") && hasDigit(b.text) && !ADVICE.test(b.text) && b.text !== STATIC)
      assert.ok(texts.has(b.text), `"${b.text}" is no sentence that the JSON tells; it has:\n${[...texts].join("\n")}`);
  }
  checkFacts(blocks, d);
}

const STATIC = "Percentiles are exact to the stored resolution, with linear interpolation. Lines show the mean of each interval, bands the minimum and maximum.";
const MADE = /Generated by Footplate \S+ on \S+ \S+ \S+\.(?=\s*$)/;

/** What text and Markdown have of a block, in order. */
function piecesOf(b, charts) {
  if (b.kind === "table") return [b.caption, ...b.titles, ...b.rows.flatMap((row) => row.map((cell) => cell.text))];
  if (b.kind === "fact") return [b.name, b.text];
  if (b.kind === "tile") return [b.name, b.below === "" ? b.text : `${b.text} (${b.below})`];
  if (b.kind !== "figure") return MADE.test(b.text) ? [] : [b.text];
  const told = charts(b)?.told;
  return told === undefined ? [] : [b.title, ...told.titles, ...told.rows.flat()];
}

function checkOtherForms(d, blocks, charts) {
  const [product, ...rest] = blocks;
  assert.equal(product.kind, "text");
  const pieces = rest.flatMap((b) => piecesOf(b, charts));
  for (const form of ["text", "markdown"]) follows(FLAT[form](d[form].replace(MADE, "")), pieces, form);
}

// ---- the terminal ----

const COMMANDS = {
  stats: ({ loopUse, use }) => [loopUse, use],
  steps: ({ lastSteps }) => [F.clocks.iterations, F.clocks.clockTable, lastSteps],
  ops: ({ ops }) => [ops("cpu"), ops("gpu")],
  breakdown: ({ breakdownSteps, devices, streams, groups, memory, windows }) => [breakdownSteps, devices, streams, groups, memory, windows],
  show: ({ phases, use }) => [phases, use],
};

const OPTIONS = { steps: LAST, breakdown: ALL };

async function checkTerminal(d) {
  for (const [command, specs] of Object.entries(COMMANDS)) {
    const told = await t.footplate(command, d.name, ...(OPTIONS[command] ?? []));
    const shown = printedTables(told);
    const wanted = specs(F.tables).filter((spec) => spec.rows(d).length > 0);
    assert.equal(shown.length, wanted.length, `tables of ${command}`);
    wanted.forEach((spec, i) => sameTable(shown[i], spec, d, `footplate ${command}`));
    if (command === "steps") checkLeftOut(told, d);
  }
  await checkShow(d);
  checkVerdicts(await t.footplate("check", d.name), d);
}

const FIRST_LINES = 15;

/** The lines of `show` by their label. */
function showLines(d) {
  const { run } = d.report;
  const memory = (n) => (n.memory_bytes > 0 ? `, ${f.bytes(n.memory_bytes)} memory` : "");
  const cores = (n) => (n.cores ? `, ${n.cores} cores${n.cpu_model === null ? "" : ` (${n.cpu_model})`}` : "");
  const gpu = (n) => {
    const [g] = n.gpu_devices;
    if (g === undefined) return `no GPU found${n.gpu_absent === null ? "" : `: ${n.gpu_absent}`}`;
    return g.name ? `${n.gpus} x ${g.name}, ${f.bytes(g.memory_bytes)} each` : F.plural(n.gpus, "GPU");
  };
  const every = run.interval_ms === null ? "" : `every ${f.value(run.interval_ms / 1000, "s")}, `;
  const steps = ["train", "eval"].flatMap((mode) => {
    const all = d.report.steps.ranks.filter((r) => r.mode === mode && r.count > 0);
    const best = all.reduce((a, b) => (a === null || b.count > a.count ? b : a), null);
    if (best === null) return [];
    const steady = F.together(all, "steady");
    const rate = mode === "train" || steady === null ? "" : `, ${f.samplesPerSecond(steady)} samples/s`;
    return [`${f.count(best.count)} ${mode}${all.length > 1 ? ` on each of ${all.length} ranks` : ""}, p50 ${f.value(best.p50_s, "s")}, p95 ${f.value(best.p95_s, "s")}${rate}`];
  });
  return {
    run: [run.name],
    folder: [run.path],
    command: [run.command.join(" ")],
    in: [`${run.directory}${run.git_commit === null ? "" : `, git commit ${run.git_commit}`}`],
    started: [f.timestamp(run.start_ns)],
    ended: [f.timestamp(run.end_ns).replace(/ [-+]\d+$/, "")],
    duration: [f.value(run.duration_s, "s")],
    cost: [d.report.cost === null ? null : F.price(d)],
    node: run.nodes.flatMap((n) => [`${n.id}${n.host === null ? "" : `: host ${n.host}`}${cores(n)}${memory(n)}`, gpu(n), ...(n.launcher === null ? [] : [`started by ${n.launcher}, rank 0`])]),
    recorded: [`${every}${f.count(run.self.samples)} readings, ${f.bytes(run.self.file_bytes)} on disk`],
    overhead: run.self.cpu_s === null ? F.notClosed : [`${F.cpu(run)}, disk writes ${f.bytes(run.self.bytes_written)}`],
    "step duration": steps,
    ...loopLines(d),
  };
}

/** What one iteration is spent on, by a clock. */
function clockLine(r, clock) {
  const parts = Object.entries(r[`${clock}_parts_s`] ?? {}).filter(([part, v]) => v > 0 && v >= r.iteration_s.mean / 1000 && !(clock === "gpu" && part === "other"));
  if (parts.length === 0) return [];
  return [`${F.clockText(r, clock)}: ${parts.map(([part, v]) => `${part === "between" ? "between steps" : part} ${f.value(v, "s")}`).join(", ")}`];
}

/** The lines of `show` about the training loop: iteration, throughput. */
function loopLines(d) {
  const best = F.best(d);
  if (best === null) return {};
  const all = F.trainRanks(d);
  const rate = f.samplesPerSecond;
  const [steady, overall] = ["steady", "overall"].map((key) => F.together(all, key));
  const { warmup_steps: warmup, disturbed_steps: detail, iteration_s: took } = best;
  const left = warmup + detail > 0 ? `, excluding ${warmup} warm-up${detail > 0 ? ` and ${detail} in or right after a detail window` : ""}` : "";
  const counted = `${f.count(best.iterations)} iteration${best.iterations === 1 ? "" : "s"}${all.length > 1 ? ` of rank ${best.rank}` : ""}`;
  return {
    iteration: best.iterations === 0 ? [] : [`p50 ${f.value(took.p50, "s")}, p95 ${f.value(took.p95, "s")}, ${counted}${left}`, ...clockLine(best, "gpu"), ...clockLine(best, "host")],
    throughput: steady === null ? [] : [`${rate(steady)} samples/s steady${overall > 0 ? `, ${rate(overall)} overall` : ""}${all.length > 1 ? `, ${all.length} ranks together` : ""}`],
  };
}

/** The lines of `show` about the GPUs, those of the loop or those of the whole job. */
function gpuLines(d, ofJob) {
  const { gpu } = d.report.run;
  if (gpu.gpus_used === 0) return {};
  const use = { GPU: F.gpuFacts.Activity(d), compute: F.gpuFacts.Compute(d), power: F.gpuFacts["Power and energy"](d), clock: F.gpuFacts["SM clock"](d) };
  if (!ofJob) return gpu.window === "loop" ? use : {};
  return {
    ...(gpu.window === "loop" ? { GPU: F.gpuFacts["Activity, whole job"](d) } : use),
    ...(gpu.job.energy_j === null ? {} : { energy: F.gpuFacts["Energy, whole job"](d) }),
    memory: F.gpuFacts.Memory(d),
  };
}

const GPU_LABELS = ["GPU", "compute", "power", "clock", "energy", "memory"];
const LOOP_TITLE = /^training loop \((.*?)( after warm-up)?\)$/m;

/** `show` tells the loop in its first part, the job in its second: each line once. */
function checkLoop(d, head, job) {
  const { gpu, loop_start_ns: loopStart } = d.report.run;
  const told = (text) => Object.fromEntries(labelled(text, FIRST_LINES).filter(([label]) => GPU_LABELS.includes(label)));
  assert.deepEqual(told(head), gpuLines(d, false), "the GPUs in the training loop");
  assert.deepEqual(told(job), gpuLines(d, true), "the GPUs in the whole job");
  const title = head.match(LOOP_TITLE);
  assert.equal(title !== null, F.best(d) !== null, "the title of the training loop");
  if (title === null) return;
  assert.equal(title[1], f.value((gpu.end_ns - gpu.start_ns) / 1e9, "s"), title[0]);
  if (title[2] !== undefined) assert.ok(loopStart < gpu.start_ns, title[0]);
  const labels = labelled(head, FIRST_LINES);
  for (const [label, lines] of Object.entries(loopLines(d))) assert.deepEqual(labels.filter(([l]) => l === label).map(([, text]) => text), lines, label);
}

/** What `steps` says it left out. */
function checkLeftOut(told, d) {
  const sum = (key) => d.steps.ranks.reduce((n, r) => n + r[key], 0);
  const said = (name) => Number(told.match(new RegExp(`^${name}: (\\d+) (?:slowed )?step`, "m"))?.[1] ?? 0);
  assert.equal(said("warm-up"), sum("warmup_steps"), "warm-up");
  assert.equal(said("detail window"), sum("disturbed_steps"), "detail window");
}

async function checkShow(d) {
  const all = await t.footplate("show", d.name);
  const told = all.slice(all.indexOf("\n\n") + 2); // after the summary, whose numbers come again
  const known = showLines(d);
  const head = told.split("\nphases\n");
  const lines = [...labelled(head[0].replace(LOOP_TITLE, ""), FIRST_LINES), ...labelled(head[1], FIRST_LINES).filter(([label]) => label === "step duration")];
  checkLoop(d, ...head);
  for (const [, text] of all.matchAll(/^ {2}throughput {2}(.*)$/gm)) assert.ok(loopLines(d).throughput?.includes(text), `the summary says ${text}`);
  const others = lines.filter(([word, words]) => hasDigit(words) && word !== "updated" && !GPU_LABELS.includes(word));
  for (const [label, text] of others)
    assert.ok(known[label]?.includes(text), `show says ${label} "${text}", expected one of ${JSON.stringify(known[label])}`);
  for (const [, after, what] of told.matchAll(/^\+(.*?) {2,}\S+ {2}(\S+?)[: ]/gm))
    assert.ok(d.report.run.marks.some((m) => m.mark === what && f.duration((m.time_ns - d.report.run.start_ns) / 1e9) === after.trim()), `+${after} ${what}`);
}

const MOST_TOLD = 3;

/** Every line of `check` that has a figure. */
function checkVerdicts(told, d) {
  const several = d.report.run.nodes.length > 1;
  const stop = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);
  const line = (label, text) => (text ? [`${label.padEnd(9)} ${stop(text)}`] : []);
  const place = (x) => [several ? x.node : "", x.entity].filter((w) => w !== "").join(" ");
  const findings = (v) =>
    F.costliest(v).flatMap((x) => {
      const facts = Object.fromEntries(F.finding(x, v, d));
      const [when, cost, explained, during] = [facts.When, facts["Time lost"], facts.Explained, facts["Activity meanwhile"]];
      return [`${several && x.node ? `${x.node}: ` : ""}${stop(x.message)}`, ...line("when", when), ...line("lost", cost), ...line("explained", explained), ...line("during", during), ...line("fix", F.advice(x, v))];
    });
  const also = (v) => {
    const [names, rest] = [F.costliest(v).slice(MOST_TOLD, MOST_TOLD + 12).map(place), v.findings.length - MOST_TOLD - 12];
    return `also ${names.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}; use --json to list all.`;
  };
  const explains = (v) =>
    v.state === "issue" && v.findings.length > 0 ? [`explains  ${v.title} (${v.rule}): ${F.size(v, d)}: ${v.findings[0].message}${v.findings.length > 1 ? ` (and ${v.findings.length - 1} more)` : ""}.`] : [];
  const known = new Set([
    ...d.check.flatMap((v) => [
      `${v.title} (${v.rule}): ${F.size(v, d)}`,
      ...findings(v),
      ...explains(v),
      also(v),
      ...v.remarks.map(stop),
      ...(v.summary && v.why ? [stop(v.why)] : []),
      `${v.title} (${v.rule}) ${v.why}`,
    ]),
    stop(d.report.right_size?.why ?? ""),
  ]);
  const [first, ...rest] = told.split("\n").map((l) => l.trim());
  for (const text of rest.map((l) => l.replace(/\) {2,}/, ") ")).filter(hasDigit)) assert.ok(known.has(text), `check says "${text}", expected one of:\n${[...known].filter(hasDigit).join("\n")}`);
  assert.equal(first, `${d.report.run.name}: ${F.plural(F.states(d, "issue"), "issue")}, ${F.states(d, "clear")} passed, ${F.states(d, "not_evaluated")} skipped`, "the report counts the rules this way");
}

// ---- the dashboard ----

const only = (spec, keep) => ({ ...spec, rows: (d) => spec.rows(d).filter(keep) });

function pageTables(d) {
  const { tables: T } = F;
  const [cpu, gpu] = [T.ops("cpu"), T.ops("gpu")];
  const use = { ...T.use, rest: undefined, columns: { ...T.use.columns, readings: T.use.columns.samples ?? T.use.columns.readings } };
  const nodes = d.report.run.nodes.map((n) => [`Resource utilization of ${n.id}`, only(use, (r) => r.node === n.id && r.count > 0)]);
  const plots = d.report.rules.flatMap((v) => v.plots.filter(F.isTold).map((p) => [`${v.rule} / ${p.title}`, T.plotTable(p)]));
  return {
    ...Object.fromEntries(nodes),
    ...Object.fromEntries(plots),
    ...stepTables(f, d.page),
    ...namedTables(f, F, lossLines),
    "CPU operators, ranked by self time": cpu,
    "GPU kernels and copies, ranked by self time": gpu,
    "Iterations by rank and mode": F.clocks.iterations,
  };
}

/** Every table that the page shows at an address, charts as tables too where they have figures. */
async function checkPage(page, d, { charts = [], least }) {
  for (const title of charts) {
    const button = page.getByRole("button", { name: `Show as table: ${title}`, exact: true });
    for (const one of await button.all()) await one.click();
  }
  const { tables, facts } = await page.evaluate(pageFigures);
  const known = pageTables(d);
  for (const shown of tables) sameTable(shown, known[shown.caption] ?? known[`${shown.of} / ${shown.caption}`], d, `the page's table "${shown.caption}"`);
  assert.ok(tables.length >= least, `${tables.length} tables`);
  return facts;
}

/** What the page says of a finding, in the terms of the report. */
function insightFacts(v, d) {
  const { start_ns: from } = { start_ns: d.report.run.job_start_ns };
  const range = (r) => `${f.dateTime(r.start_ns)} to ${f.clock(r.end_ns)}, ${f.duration((r.start_ns - from) / 1e9)} after the start`;
  const when = (x) => {
    if (x.start_ns === null || x.end_ns <= x.start_ns) return "the whole run";
    const all = x.ranges.length > 0 ? x.ranges : [x];
    return [...all.slice(0, 3).map(range), ...(all.length > 3 ? [F.plural(all.length - 3, "more range")] : [])].join(" ");
  };
  const [severity, ...inAll] = F.size(v, d).split(", ");
  assert.equal(severity, v.severity);
  const whole = inAll.join(", ").replace(/ lost( \(estimate\))?/, (_, estimate = "") => `${estimate}${v.lost_gpu_s === null ? "" : `, ${f.value(v.lost_gpu_s, "s")} of GPU time`}`).replace(/at a cost of .*$/, f.price(v.lost_cost, d.report.run.currency ?? null));
  return {
    When: v.findings.map(when),
    "Time lost": v.findings.map((x) => F.lost(x)),
    "Activity meanwhile": v.findings.map(F.during),
    Numbers: v.findings.map((x) => numbersOf(x).map((n) => `${n.label} ${n.text}`).join(" ")),
    "Times triggered": [f.count(v.triggered)],
    Readings: [`${f.count(v.datapoints)}${v.violations > 0 ? ` (${f.count(v.violations)} outside the criteria)` : ""}`],
    "Last triggered": [v.last_triggered_ns === null ? "never" : f.dateTime(v.last_triggered_ns)],
    "Total time lost": [whole],
    "Explained by": v.findings.map((x) => x.explained_by.map((rule) => d.check.find((o) => o.rule === rule)?.title ?? rule).join(", ")),
    "What to do": v.findings.map((x) => F.advice(x, v)),
    "Not a problem if": v.findings.map((x) => x.refute),
    Description: [v.description],
    Rule: [v.rule],
  };
}

function checkInsights(facts, d) {
  for (const { name, text, of } of facts) {
    const v = d.check.find((x) => x.rule === of);
    if (name === "Criteria") {
      const unit = (name) => d.catalogue.find((r) => r.rule === of).params.find((p) => p.name === name).unit;
      for (const [name, n] of Object.entries(v.params)) {
        const one = v.params_text?.[name] ?? (typeof n === "number" ? f.setting(n, unit(name)) : n);
        assert.ok(text.includes(`${name} = ${one}`), `${of}: ${name} = ${one} in "${text}"`);
      }
    } else assert.ok(insightFacts(v, d)[name]?.includes(text), `${of}: ${name} "${text}", expected one of ${JSON.stringify(insightFacts(v, d)[name])}`);
  }
}

/** The pie of phases, and what the bar of phases says to who does not see it. */
async function checkPie(page, d) {
  const [pie, progress] = await page.locator(".job-summary figure").allInnerTexts();
  for (const term of ["Initialization", ...(d.report.live ? [] : ["Finalization"])])
    assert.ok(pie.replace(/\s+/g, " ").includes(`${term} ${F.facts[term](d).text} ${F.facts[`${term} (%)`](d).text}`), `${term} in ${pie}`);
  const shares = F.tables.phases.rows(d).map((kind) => f.percent(d.report.run[`${kind}_pct`]));
  assert.deepEqual(progress.match(/[\d.]+ %/g), shares);
}

async function checkDashboard(d) {
  const issues = d.check.filter((v) => v.state === "issue");
  const plots = issues.flatMap((v) => v.plots).filter((p) => F.isTold(p) && p.kind !== "table").map((p) => p.title);
  const page = await t.open(`#/run/${d.name}/overview`, { ready: ".insight" });
  await page.locator(".use-node table").first().waitFor();
  for (const v of issues) {
    const button = page.locator(`.insight[data-rule="${v.rule}"] > h3 > button`);
    if ((await button.getAttribute("aria-expanded")) === "false") await button.click();
  }
  const heads = await page.locator(".insight.issue").evaluateAll((all) => all.map((el) => [el.dataset.rule, el.querySelector(".insight-short").textContent]));
  for (const [rule, text] of heads) {
    const v = d.check.find((x) => x.rule === rule);
    const size = F.size(v, d).split(", ").slice(1, 3).filter((w) => /lost|of the/.test(w)).join(", ");
    const [{ message, explained_by: causes }] = v.findings;
    const cause = text.match(/^explained by ([^:]+): /)?.[1];
    if (cause !== undefined) assert.ok(causes.length > 0, rule);
    assert.equal(text, cause !== undefined ? `explained by ${cause}: ${message}` : v.severity === "info" || size === "" ? message : size, rule);
  }
  const facts = await checkPage(page, d, { charts: [...new Set(plots)], least: d.report.run.nodes.length });
  checkInsights(facts.filter((x) => x.of !== ""), d);
  for (const x of facts.filter((one) => one.of === "")) same(x, pageFacts(f, F, words)[x.name]?.(d) ?? `nothing: ${x.name} is in no list of figures`, x.name);
  if (d.report.run.loop_pct !== null) await checkPie(page, d);
  t.calm(page);
  await checkTabs(d);
}

async function checkTabs(d) {
  const hasSteps = d.report.steps.ranks.length > 0;
  const steps = await t.open(`#/run/${d.name}/steps`, { ready: hasSteps ? ".steps-shares" : ".steps-breakdown" });
  if (d.breakdown.steps.some((s) => s.kernel_us + s.cpu_us > 0)) await steps.waitForSelector(".steps-sentence");
  await checkPage(steps, d, { charts: ["Share of the iteration", "Breakdown by step"], least: hasSteps ? 2 : 0 });
  t.calm(steps);
  if (d.ops.length === 0) return;
  const ops = await t.open(`#/run/${d.name}/operators`, { ready: ".ops-filters" });
  await checkPage(ops, d, { least: 1 });
  t.calm(ops);
}

// ---- the tests ----

for (const [what, make] of Object.entries(RUNS)) {
  let d;
  let blocks;
  let stray;

  test(`${what}: every JSON document says the same numbers`, async () => {
    d = await documents(await make());
    const page = await t.open("#/");
    ({ blocks, stray } = await page.evaluate(blocksOf, d.html));
    await sameDocuments(d);
  });

  test(`${what}: every figure of the HTML report is a number of report.json`, () => checkHtml(d, blocks, stray));

  test(`${what}: text and Markdown have the figures of the HTML report, and no others`, () => checkOtherForms(d, blocks, reportCharts(f, percentages, F, d)));

  test(`${what}: the terminal shows the same figures`, () => checkTerminal(d));

  test(`${what}: the dashboard shows the same figures`, () => checkDashboard(d));
}
