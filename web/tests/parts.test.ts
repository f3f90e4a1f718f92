// SPDX-License-Identifier: Apache-2.0
// parts.test.ts - the arithmetic behind the parts of the page.
import assert from "node:assert/strict";
import test from "node:test";

import { ApiError, queryText } from "../src/api";
import { percentages, ringPart } from "../src/components/plots/arcs";
import { axisEnd, extent, ticks } from "../src/components/plots/scale";
import { type Column, sortRows } from "../src/components/table";
import { mergeSteps } from "../src/live";
import { isFinal } from "../src/load";
import type { LiveStep, PythonFunction, RunInfo, RunRow, Stat, Step, StepRank, Verdict } from "../src/types";
import { intervalNow, isMonitoring, whyNot } from "../src/views/controls";
import { reachOf } from "../src/views/compare_charts";
import { isMinor } from "../src/views/compare_tables";
import { lastTriggered, lostShare, numbersOf } from "../src/views/insight_rule";
import { countText, inOrder, isJudged } from "../src/views/insights";
import { functionTables } from "../src/views/operators_functions";
import { absence } from "../src/views/nodes_charts";
import { jobDetails, phaseParts, stretches } from "../src/views/overview_job";
import { ownCounters, plannedSteps, secondsLeft } from "../src/views/overview_answer";
import { shownRank, sparkPath } from "../src/views/overview_loop";
import { loopOf, stepRate } from "../src/views/rates";
import { stragglersOf, stragglesOf } from "../src/views/steps_model";
import { lossLines, sentText } from "../src/views/overview_measured";
import { absentText, verdictOf } from "../src/views/overview_use";
import { matches, olderFirst, shortCommand, shortId, statusInList } from "../src/views/runs";
import { clockShares } from "../src/views/steps_clocks";
import { leftOut, placesOf } from "../src/views/steps_tables";
import { endSentence, hasGpu, isAttached, lossTitle, RULE_STATE, SEVERITY, STATUS, statusText } from "../src/words";

test("percentages sum to 100 whatever the parts are", () => {
  for (const parts of [[1, 1, 1], [11.1048, 1.1404, 1.3914], [0, 0, 5], [1e-9, 1, 1e9], [2, 2, 2, 2, 2, 2, 2]]) {
    const pcts = percentages(parts);
    const tenths = (pcts ?? []).reduce((sum, p) => sum + Math.round(p * 10), 0);
    assert.equal(tenths, 1000, parts.join());
  }
  assert.equal(percentages([0, 0]), null);
});

test("a part that is the whole ring is still drawn", () => {
  assert.doesNotMatch(ringPart(50, 50, 20, 40, 0, 1), /NaN/);
  assert.match(ringPart(50, 50, 20, 40, 0, 1), / 0 1 1 /);
});

test("ticks are round and cover the axis", () => {
  assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(3, 3), [3]);
  assert.equal(axisEnd(93, "%"), 100);
  assert.equal(axisEnd(0, "s"), 1);
  assert.ok(axisEnd(0.37, "s") >= 0.37);
  assert.deepEqual(extent([null, 3, 1, null]), [1, 3]);
  assert.equal(extent([null]), null);
});

interface Row {
  name: string;
  n: number | null;
}

const columns: Column<Row>[] = [
  { id: "name", title: "Name", cell: (r) => r.name, sort: (r) => r.name },
  { id: "n", title: "N", cell: (r) => r.n, sort: (r) => r.n, numeric: true },
];

test("rows without a value go last in both directions, equal ones keep their order", () => {
  const rows: Row[] = [{ name: "a", n: 2 }, { name: "b", n: null }, { name: "c", n: 10 }, { name: "d", n: 2 }];
  const names = (down: boolean): string => sortRows(rows, columns, { id: "n", down }).map((r) => r.name).join("");
  assert.equal(names(false), "adcb");
  assert.equal(names(true), "cadb");
});

test("a query leaves out what is absent, repeats lists and writes times without an exponent", () => {
  assert.equal(
    queryText({ node: "", from: 1.7e18, to: null, metric: ["cpu.util:total", "gpu.util"], all: true, x: undefined }),
    "?from=1700000000000000000&metric=cpu.util%3Atotal&metric=gpu.util&all=1",
  );
  assert.equal(queryText({}), "");
});

test("news of a rank replace what was known of it and leave the others", () => {
  const step = (rank: number, n: number): LiveStep => ({ node: "a", rank, mode: "train", step: n, duration_s: 1 });
  const merged = mergeSteps([step(0, 5), step(1, 5)], [step(1, 6), step(2, 1)]);
  assert.deepEqual(merged.map((s) => [s.rank, s.step]), [[0, 5], [1, 6], [2, 1]]);
});

function run(more: Partial<RunInfo>): RunInfo {
  const base = { live: true, status: "running", marks: [], interval_ms: 500, control: { allowed: true, why: null, within_s: null }, phases: [] };
  return { ...base, ...more } as unknown as RunInfo;
}

test("the last switch says whether a run is monitored, the last change its interval", () => {
  const mark = (what: string, time_ns: number, number: number) => ({ node: "a", mark: what, time_ns, number, text: "" });
  assert.equal(isMonitoring(run({})), true);
  assert.equal(isMonitoring(run({ marks: [mark("monitoring", 1, 0)] })), false);
  assert.equal(isMonitoring(run({ marks: [mark("monitoring", 1, 0), mark("monitoring", 2, 1)] })), true);
  assert.equal(intervalNow(run({})), 500);
  assert.equal(intervalNow(run({ marks: [mark("interval", 1, 1e8), mark("interval", 2, 1e9)] })), 1000);
});

test("only an answer about the thing itself takes away what was shown of it", () => {
  const final = (status: number): boolean => isFinal(new ApiError(status, ""));
  assert.deepEqual([404, 410, 401, 400].map(final), [true, true, true, true]);
  assert.deepEqual([0, 408, 429, 500, 503].map(final), [false, false, false, false, false]);
});

test("controls that cannot be used give the reason", () => {
  assert.equal(whyNot(run({})), null);
  assert.equal(whyNot(run({ control: { allowed: false, edit: false, why: "this token may only read", within_s: null } })), "this token may only read");
});

test("the details of a job have every line, and an interruption only where there was one", () => {
  const info = run({ initialization_s: 1, train_s: 6, eval_s: 1, finalization_s: 2, interruption_s: 0, live: false, cost: null });
  assert.deepEqual(jobDetails(info).map((d) => d.term), [
    "Start time",
    "End time",
    "Job duration",
    "Training loop start",
    "Training loop end",
    "Training loop duration",
    "Initialization",
    "Finalization",
    "Initialization (%)",
    "Training loop (%)",
    "Finalization (%)",
  ]);
  assert.equal(jobDetails(info).find((d) => d.term === "Training loop (%)")?.text, "70.0 %");
  const priced = jobDetails({ ...info, cost: 6.156, price_per_hour: 14.688, machine: null }).at(-1);
  assert.deepEqual(priced, { term: "Cost", text: "6.16 USD (14.688 USD/h)" });
  assert.match(jobDetails({ ...info, cost: 1, price_per_hour: null, machine: "m", currency: "EUR" }).at(-1)?.text ?? "", /1\.00 EUR \(m\)/);
  assert.equal(phaseParts(info).length, 3);
  assert.equal(phaseParts(run({ ...info, interruption_s: 3 })).length, 4);
});

test("the finalization of a live run is not zero but unknown", () => {
  const live = run({ initialization_s: 1, train_s: 6, eval_s: 1, finalization_s: null, interruption_s: 0, live: true, cost: null });
  const text = (term: string) => jobDetails(live).find((d) => d.term === term)?.text;
  assert.deepEqual([text("Finalization"), text("Finalization (%)")], ["-", "-"]);
  assert.deepEqual(phaseParts(live).map((p) => p.label), ["Initialization", "Training loop"]);
});

test("phases too narrow to be seen join the one before them", () => {
  const at = (start_ns: number, end_ns: number) => ({ phase: "train" as const, start_ns, end_ns });
  const seen = stretches([at(0, 500), at(500, 500.1), at(500.1, 1000)], 0, 1000, 100);
  assert.equal(seen.length, 2);
  assert.equal(seen[0]?.end_ns, 500.1);
});

const verdict = (rule: string, state: string, severity: string, lost_s: number | null, explained_by: string[] = []) =>
  ({ rule, state, severity, lost_s, findings: state === "issue" ? [{ explained_by }] : [] }) as unknown as Verdict;

test("causes come first, the severest and dearest of them before the others, each with what it explains", () => {
  const o = inOrder([
    verdict("not", "not_evaluated", "info", null),
    verdict("clear", "clear", "critical", null),
    verdict("symptom", "issue", "info", 20, ["large"]),
    verdict("note", "issue", "info", 3),
    verdict("small", "issue", "warning", 1),
    verdict("large", "issue", "warning", 9),
    verdict("of symptom", "issue", "info", 2, ["symptom"]),
    verdict("worst", "issue", "critical", 2),
  ]);
  assert.deepEqual(o.issues.map((i) => [i.v.rule, i.explains.map((x) => x.rule)]), [
    ["worst", []],
    ["large", ["symptom", "of symptom"]],
    ["small", []],
  ]);
  assert.deepEqual(o.notes.map((i) => i.v.rule), ["note"]);
  assert.equal(countText(o), "3 issues · 2 explained · 1 info · 1 passed · 1 skipped");
});

test("a summary is neither passed nor an issue", () => {
  const o = inOrder([{ ...verdict("sums up", "clear", "info", null), summary: true }, verdict("not", "not_evaluated", "info", null)]);
  assert.equal(countText(o), "0 issues · 0 passed · 1 skipped");
  assert.deepEqual(o.summaries.map((v) => v.rule), ["sums up"]);
});

test("that the job ended well is no rule about the run, and its share is of the job", () => {
  const ending = { ...verdict("ended", "clear", "info", null), ending: true };
  assert.equal(isJudged(inOrder([ending, verdict("not", "not_evaluated", "info", null)])), false);
  assert.equal(isJudged(inOrder([ending, verdict("clear", "clear", "info", null)])), true);
  assert.equal(isJudged(inOrder([verdict("note", "issue", "info", 3)])), true);
  const run = { loop_start_ns: 5 };
  assert.match(lostShare({ lost_share: 1, of_job: true }, run), / of the job$/);
  assert.match(lostShare({ lost_share: 1, ending: true }, run), / of the job$/);
  assert.match(lostShare({ lost_share: 0.5 }, run), / of the training loop$/);
});

test("the iterations of the rank that the first finding is about are shown", () => {
  const ranks = [0, 1].map((rank) => ({ node: "a", rank, mode: "train" })) as unknown as StepRank[];
  const about = (node: string, entity: string) => ({ findings: [{ node, entity }] }) as unknown as Verdict;
  assert.equal(shownRank(ranks, ranks[0]!, about("a", "rank 1"))?.rank, 1);
  for (const other of [about("a", ""), about("b", "rank 1"), null]) assert.equal(shownRank(ranks, ranks[0]!, other)?.rank, 0);
});

test("a command in the list is without the folder of its program", () => {
  assert.equal(shortCommand(["/home/me/.venv/bin/python", "-m", "src/train.py"]), "python -m src/train.py");
  assert.equal(shortCommand(["./train"]), "train");
  assert.equal(shortCommand(["/odd/"]), "odd/");
  assert.equal(shortCommand([]), "");
});

test("what is missing for the same reason is one line", () => {
  const loss = (what: string, node: string | null, why: string) => ({ what, title: what, node, why, count: 1, kind: "absent", metric: null, entity: null, part: what });
  const lines = lossLines([loss("nvml", "a", "no driver"), loss("swap.used", "a", "no swap"), loss("nvml_slow", "a", "no driver"), loss("gpu", null, "no driver")]);
  assert.deepEqual(lines.map((l) => [l.what.length, l.why]), [[2, "no driver"], [1, "no swap"]]);
});

test("a chart without a line says why by the metric or the part that is missing, not by their texts", () => {
  const loss = (more: Partial<RunInfo["losses"][number]>) => ({ what: "gpu.util", title: "", node: "a", why: "no driver", count: 1, kind: "absent", metric: null, entity: null, part: null, ...more });
  const why = (metric: string, ...losses: RunInfo["losses"]) => absence({ losses } as unknown as RunInfo, "a", [metric]);
  assert.equal(why("gpu.util", loss({ what: "gpu0 gpu.util", metric: "gpu.util", entity: "gpu0" })), "no driver");
  assert.equal(why("nvml", loss({ what: "nvml", part: "nvml" })), "no driver");
  assert.equal(why("gpu.util", loss({ metric: "gpu.energy" })), null);
  assert.equal(why("gpu.util", loss({ metric: "gpu.util", node: "b" })), null);
  assert.equal(why("gpu.util", loss({ metric: "gpu.util", node: null })), "no driver");
});

test("a symptom whose cause was not found, or that explains itself in a circle, is a cause", () => {
  const o = inOrder([verdict("a", "issue", "warning", 1, ["b"]), verdict("b", "issue", "warning", 1, ["a"]), verdict("c", "issue", "warning", 1, ["gone"])]);
  assert.deepEqual(o.issues.map((i) => [i.v.rule, i.explains.length]), [["a", 0], ["b", 0], ["c", 0]]);
  assert.equal(countText(o), "3 issues · 0 passed");
});

const rank = (more: Partial<StepRank>) =>
  ({ node: "n", rank: 0, mode: "train", count: 250, pid: 1, session: 1, device: 0, gpu_timed_steps: 0, gpu_parts_s: null, host_parts_s: {}, warmup_steps: 0, disturbed_steps: 0, sync: [], throughput: { steady: 10, overall: 8, unit: "samples/s" }, ...more }) as StepRank;

test("GPU time comes first and says how much was timed; host time of a CUDA job without it is that of launching", () => {
  const host = { data: 0.1, forward: 0.2, between: 0.1 };
  const both = clockShares(rank({ gpu_timed_steps: 35, gpu_parts_s: { data: null, forward: 0.3, other: 0.1 }, host_parts_s: host }));
  assert.deepEqual(both.map((c) => c.label), ["GPU time, 35 of 250 steps timed", "host time"]);
  assert.deepEqual(both[0]!.parts.map((p) => [p.title, p.pct]), [["Forward", 75], ["Outside timed phases", 25]]);
  assert.deepEqual(both[0]!.missing, [], "loading is no work of a GPU");
  assert.deepEqual(both[1]!.parts.map((p) => [p.title, p.pct]), [["Data loading", 25], ["Forward", 50], ["Between steps", 25]]);
  assert.deepEqual(clockShares(rank({ host_parts_s: host })).map((c) => c.label), ["host time (launch)"]);
  assert.deepEqual(clockShares(rank({ device: null, host_parts_s: host })).map((c) => c.label), ["host time"]);
});

test("excluded steps are counted by reason", () => {
  assert.equal(leftOut([rank({})]), "");
  assert.equal(leftOut([rank({ warmup_steps: 1 }), rank({ disturbed_steps: 4 })]), "1 warm-up step and 4 steps slowed by a detail window");
  assert.equal(leftOut([rank({ warmup_steps: 4, disturbed_steps: 246 })]), "", "where nothing else is left, none is excluded");
});

test("places that wait are listed once for each process, not once for each mode", () => {
  const sync = [{ where: "train.py:31", call: "item", count: 3, seconds: 0.5 }];
  const places = placesOf([rank({ sync }), rank({ sync, mode: "eval" }), rank({ sync, rank: 1, pid: 2 })]);
  assert.deepEqual(places.map((p) => p.rank), [0, 1]);
});

test("throughput of the loop is that of all ranks, and not known where one of them is not", () => {
  const slow = rank({ rank: 1, count: 10, throughput: { steady: 2, overall: 1, unit: "samples/s" } });
  assert.deepEqual([loopOf([rank({}), slow]).steady, loopOf([rank({}), slow]).overall], [12, 9]);
  assert.equal(loopOf([slow, rank({})]).best?.rank, 0);
  assert.deepEqual([null, 0, 0.25].map((mean) => stepRate(rank({ iteration_s: { mean } as StepRank["iteration_s"] }))), [null, null, 4]);
  assert.equal(stepRate(null), null);
  const unknown = rank({ throughput: { steady: null, overall: null, unit: "samples/s" } });
  assert.equal(loopOf([rank({}), unknown]).steady, null);
});

test("a node's verdict is the remark that begins with its name", () => {
  const verdicts = [{ rule: "OverallSystemUsage", remarks: ["a1: well used", "a: under-used"] }] as Verdict[];
  assert.equal(verdictOf("a", verdicts), "under-used");
  assert.equal(verdictOf("b", verdicts), null);
  assert.equal(verdictOf("a", null), null);
});

test("resources that were not measured are named with the reason, once for each reason", () => {
  const stat = (metric: string, n: number, why?: string) =>
    ({ node: "a", metric, count: n, losses: why === undefined ? [] : [{ what: metric, why }] }) as unknown as Stat;
  assert.equal(
    absentText([stat("cpu", 5), stat("gpu", 0, "no driver"), stat("gpu_memory", 0, "no driver"), stat("io_wait", 0)]),
    "Not measured: Total GPU utilization, GPU memory utilization (no driver). Not measured: I/O wait (no readings).",
  );
});

test("functions have a table for each phase and timer, in the order of the server and with titles of their own", () => {
  const f = (phase: string | null, timer: string | null, name: string, calls: number | null = 1) => ({ phase, timer, name, calls }) as PythonFunction;
  const tables = functionTables([
    f(null, null, "a"),
    f(null, "default", "a", null),
    f(null, "default", "b", null),
    f(null, "total_time", "a"),
    f("data", "default", "a", null),
    f("data", "default", "b"),
    f("data", "total_time", "a"),
    f("data", "cpu_time", "a"),
    f("mine", "off_cpu_time", "a"),
    f("mine", "another", "a"),
  ]);
  assert.deepEqual(tables.map((t) => [t.title.replace("Python functions: ", ""), t.rows.map((r) => r.name).join("")]), [
    ["whole window, unknown timer", "a"],
    ["whole window, sampled", "ab"],
    ["whole window", "a"],
    ["Data loading, default timer", "ab"],
    ["Data loading", "a"],
    ["Data loading, CPU time", "a"],
    ["mine, off-CPU time", "a"],
    ["mine, another", "a"],
  ]);
  assert.deepEqual(functionTables([]), []);
});

test("numbers of a finding have labels; a key without one reads as words", () => {
  const f = { numbers: { wait_share: 79.4, climb_r2: 0.993, climb_per_hour: 301023374445 }, units: { wait_share: "%", climb_per_hour: "B/h" } };
  assert.deepEqual(numbersOf(f).map((n) => [n.label, n.text]), [["wait share", "79.4 %"], ["climb R²", "0.993"], ["climb per hour", "280 GiB/h"]]);
  assert.deepEqual(numbersOf({ ...f, labels: { wait_share: "loader wait" } }), [{ label: "loader wait", text: "79.4 %" }], "what has no label is not for people");
  assert.deepEqual(numbersOf({ numbers: { a: null }, units: {} }), [], "what was not measured is left out");
});

test("what was not measured has the title of the server; a key without one reads as words", () => {
  const pairs = [["nvml", "NVIDIA GPU metrics"], ["swap.used", "swap used"], ["gpu0 gpu.nvlink_tx", "gpu0: NVLink sent"], ["mfu_pct", "mfu_pct"], ["/some/file", "/some/file"]] as const;
  assert.deepEqual(pairs.map(([what, title]) => lossTitle(what, title)), ["NVIDIA GPU metrics", "Swap used", "gpu0: NVLink sent", "MFU %", "/some/file"]);
});

test("the older of two runs comes first, whichever was selected first", () => {
  const line = (name: string, start_ns: number | null) => ({ run: name, name, status: "finished", start_ns }) as RunRow;
  const runs = [line("new", 20), line("old", 10), line("unknown", null)];
  assert.deepEqual(olderFirst(["new", "old"], runs), ["old", "new"]);
  assert.deepEqual(olderFirst(["old", "new"], runs), ["old", "new"]);
  assert.deepEqual(olderFirst(["unknown", "new"], runs), ["new", "unknown"]);
});

test("a run without a GPU on any node has none, also where counts are not known", () => {
  const of = (gpus: number | null, metric: string) => ({ nodes: [{ id: "a", gpus }], metrics: [{ node: "a", metric, entities: [], unit: "" }] }) as unknown as RunInfo;
  assert.deepEqual([of(0, "cpu.util"), of(null, "cpu.util"), of(null, "gpu.util"), of(2, "cpu.util")].map((r) => hasGpu(r)), [false, false, true, true]);
  assert.equal(hasGpu(of(2, "gpu.util"), "b"), false);
});

test("a filter asks for all its words, wherever they are", () => {
  const line = { run: "r-1", name: "ResNet", recorded_name: "train", tags: ["paper"], note: "lr 0.01", status: "running", command: ["python", "train.py"], nodes: [{ id: "gpu-07" }], user: "maria", folder: "/runs", labels: { team: "vision" } } as unknown as RunRow;
  assert.ok(matches(line, "team=vision maria"));
  assert.ok(matches(line, "paper lr train"));
  assert.ok(matches(line, ""));
  assert.ok(matches(line, "resnet gpu-07"));
  assert.ok(matches(line, "TRAIN running"));
  assert.ok(!matches(line, "resnet failed"));
  assert.ok(matches({ run: "x", name: "x", status: null, error: "no such file", folder: "/x", live: false }, "damaged"));
});

test("a run that ended badly says so with its exit status, one that ended well says nothing", () => {
  const ended = (status: RunInfo["status"], exit_status: number | null = null, why: string | null = null): string | null =>
    endSentence({ status, exit_status, nodes: [{ status, why } as RunInfo["nodes"][number]] });
  assert.equal(ended("failed", 3), "The job failed with exit status 3");
  assert.equal(ended("failed"), "The job failed");
  assert.equal(ended("failed", 139, "SIGSEGV"), "The job was killed by SIGSEGV");
  assert.equal(ended("interrupted"), "The job was interrupted");
  assert.equal(ended("interrupted", 143, "SIGTERM"), "The job was interrupted (SIGTERM)");
  assert.equal(ended("interrupted", 137, "SIGKILL"), "The job was killed by SIGKILL");
  const attached = { what: "steps", why: "attach records no steps" } as RunInfo["losses"][number];
  const nodes = [{ status: "interrupted", why: "SIGTERM" } as RunInfo["nodes"][number]];
  assert.equal(endSentence({ status: "interrupted", exit_status: null, nodes, losses: [attached] }), "Recording was stopped (SIGTERM)");
  assert.equal(ended("stopped", null, "detached"), "Recording was stopped");
  assert.equal(ended("died"), "The recorder ended without closing its files");
  assert.equal(ended("finished", 0), null);
  assert.equal(ended("running"), null);
  assert.equal(statusText("failed", 3), "failed, exit status 3");
  assert.equal(statusText("finished", 0), "finished");
  assert.equal(statusText("running", null), "running");
  assert.equal(statusInList({ status: "failed", exit_status: 3 }), "failed (3)");
  assert.equal(statusInList({ status: "failed", exit_status: null }), "failed");
  assert.equal(statusInList({ status: "stopped", exit_status: 143 }), "stopped");
});

test("an attached run is known by its exit status that cannot be known, or by what it says of steps", () => {
  const exit = (number: number): RunInfo["marks"] => [{ node: "a", mark: "job-exit", time_ns: 1, number, text: "" }];
  const steps = (why: string): RunInfo["losses"] => [{ what: "steps", title: "steps", why, count: 1, kind: "absent", node: null, metric: null, entity: null, part: "steps" }];
  assert.equal(isAttached({ marks: exit(-1), losses: [] }), true);
  assert.equal(isAttached({ marks: exit(0), losses: steps("no process reported events") }), false);
  assert.equal(isAttached({ marks: [], losses: steps("attach records no steps; start the job with 'footplate run' to record them") }), true);
});

test("the short id of a run is the end of its folder", () => {
  assert.equal(shortId({ run: "train-20261116-232613-e0cc", name: "train" }), "e0cc");
  assert.equal(shortId({ run: "job-42", name: "train" }), "job-42");
  assert.equal(shortId({ run: "job-42", name: "job-42" }), "");
});

test("marks of states are characters that common fonts have", () => {
  const marks = [STATUS, SEVERITY, RULE_STATE].flatMap((of) => Object.values(of).map((m) => m.icon));
  for (const icon of marks) assert.match(icon, /^[!-~–●■▲◆✓✕]$/);
});

test("one absurd interval does not squash the others", () => {
  const usual = { at: 0.002, low: 0.001, high: 0.003 };
  assert.equal(reachOf([usual, { at: 0, low: -40, high: 40 }], 0.08), 0.003);
  assert.equal(reachOf([usual, { at: 5, low: 4, high: 6 }], 0.08), 0.08, "a difference is shown up to a whole iteration");
  assert.equal(reachOf([usual], null), 0.003);
  assert.equal(reachOf([], 0.08), 0);
});

test("a part that changed by less than 1 % of the iteration is minor", () => {
  assert.equal(isMinor({ diff: -0.0007 }, 0.08), true);
  assert.equal(isMinor({ diff: 0.0009 }, 0.08), false);
  assert.equal(isMinor({ diff: null }, 0.08), false);
  assert.equal(isMinor({ diff: 0.1 }, null), false);
});

test("a rule that was never triggered says so, one that was triggered by the whole run has no time", () => {
  assert.equal(lastTriggered({ last_triggered_ns: null, triggered: 0 }), "never");
  assert.equal(lastTriggered({ last_triggered_ns: null, triggered: 1 }), null);
  assert.equal(lastTriggered({ last_triggered_ns: 1e18, triggered: 2 }), "2001-09-09 01:46:40");
});

test("how far a run is, and how long it still takes, where the plan is known", () => {
  const total = (last: number | null) => ({ series: [{ node: "a", metric: "steps.total", entity: "rank 0", unit: "", mean: last, count: 1, v: [], min: [], max: [], last, own: false }] });
  assert.equal(plannedSteps(null), null);
  assert.equal(plannedSteps(total(null)), null);
  assert.equal(plannedSteps(total(200)), 200);
  const run = { live: true, loop_start_ns: 1e9, updated_ns: 11e9 };
  assert.equal(secondsLeft(run, 50, 200), 30, "150 steps at 0.2 s each");
  assert.equal(secondsLeft(run, 50, null), null);
  assert.equal(secondsLeft({ ...run, live: false }, 50, 200), null);
  assert.equal(secondsLeft({ ...run, loop_start_ns: null }, 50, 200), null);
});

test("the program's own counters are shown once, marks and those of hooks are not", () => {
  const one = (metric: string, entity: string, unit: string, own: boolean) => ({ node: "a", metric, entity, unit, mean: 1, count: 1, v: [], min: [], max: [], last: 1, own });
  const series = [one("loss", "rank 0", "", true), one("loss", "rank 1", "", true), one("saved", "rank 0", "marks", true), one("batch.size", "rank 0", "", false)];
  assert.deepEqual(ownCounters({ series }).map((s) => `${s.metric} ${s.entity}`), ["loss rank 0"]);
  assert.deepEqual(ownCounters({ series }, "Loss"), [], "the loss of training health says the same");
  assert.equal(sparkPath([1, null, 3]), "M0.0 23.0L100.0 1.0", "a pause between reports is no gap");
  assert.equal(sparkPath([null, null]), "");
  assert.equal(sparkPath([2, 2]), "M0.0 12.0L100.0 12.0");
});

test("a rank behind by less than one percent of the step is not a slow one", () => {
  const straggle = (lag_s: number) => ({ mode: "train", step: 1, start_ns: 0, duration_s: 1, slowest: { node: "a", rank: 1 }, lag_s, wait: "comm" as const });
  assert.deepEqual(stragglersOf([straggle(0.009)]), []);
  assert.equal(stragglersOf([straggle(0.011), straggle(0.009)])[0]?.share, 0.5);
});

test("the slowest rank is the one that the others wait for, in collectives or in backward", () => {
  const step = (rank: number, duration_s: number, events: Record<string, number>) => ({ node: "a", rank, mode: "train", step: 1, start_ns: 0, duration_s, events }) as unknown as Step;
  // Rank 1 sleeps 30 ms before its forward pass; rank 0 waits for it in the all-reduce of its backward pass.
  const [ddp] = stragglesOf([step(0, 0.039, { forward: 0.004, backward: 0.034 }), step(1, 0.038, { forward: 0.004, backward: 0.004 })]);
  assert.equal(ddp?.slowest.rank, 1);
  assert.ok(Math.abs((ddp?.lag_s ?? 0) - 0.029) < 1e-9);
  // As above, but it sleeps between its steps: the step itself is short.
  const between = (rank: number, iteration_s: number, backward: number) => ({ ...step(rank, backward + 0.001, { backward }), iteration_s }) as Step;
  const [outside] = stragglesOf([between(0, 0.032, 0.031), between(1, 0.032, 0.001)]);
  assert.equal(outside?.slowest.rank, 1);
  assert.ok(Math.abs((outside?.lag_s ?? 0) - 0.03) < 1e-9);
  // The example of four ranks, one of which has a slow loader: three wait 30 ms in backward.
  const four = [0, 1, 2, 3].map((r) => ({ ...step(r, 0.11, { data: r === 2 ? 0.04 : 0.01, backward: r === 2 ? 0.032 : 0.062 }), iteration_s: 0.11 }) as Step);
  assert.equal(stragglesOf(four)[0]?.slowest.rank, 2);
  assert.ok(Math.abs((stragglesOf(four)[0]?.lag_s ?? 0) - 0.03) < 1e-9);
  // A first step that compiles on rank 0 does not make it the slowest one.
  const first = { ...between(0, 5, 4.9), warmup: true } as Step;
  assert.deepEqual(stragglesOf([first, { ...between(1, 0.1, 0.001), warmup: true }, ...[0, 1].map((r) => ({ ...between(r, 0.032, r ? 0.001 : 0.031), step: 2 }))]).map((s) => s.slowest.rank), [1]);
  const [apart] = stragglesOf([step(0, 0.05, { backward: 0.01, comm: 0.03 }), step(1, 0.05, { backward: 0.035, comm: 0.002 })]);
  assert.deepEqual([apart?.slowest.rank, apart?.wait], [1, "comm"], "with collectives apart a long backward pass is work");
});

test("a short collective after backward does not make waiting in backward work", () => {
  // tests/rules/straggler/ddp_and_comm.scene: rank 3 loads 30 ms longer, the others wait for it in backward.
  const step = (rank: number, backward: number, comm: number) =>
    ({ node: "a", rank, mode: "train", step: 1, start_ns: 0, duration_s: 0.112, iteration_s: 0.112, events: { backward, comm } }) as unknown as Step;
  const [ddp] = stragglesOf([0, 1, 2, 3].map((r) => step(r, r === 3 ? 0.032 : 0.062, 0.002)));
  assert.deepEqual([ddp?.slowest.rank, ddp?.wait], [3, "backward"]);
  assert.ok(Math.abs((ddp?.lag_s ?? 0) - 0.03) < 1e-9);
  // Collectives that one rank did not record are not where the ranks wait, however they differ.
  const [partly] = stragglesOf([0, 1, 2, 3].map((r) => (r === 3 ? step(r, 0.062, 0) : step(r, 0.012, 0.05))));
  assert.equal(partly?.wait, "backward");
});

test("a wait for the GPU is not a rank's own work", () => {
  const step = (rank: number, sync: number) => ({ node: "a", rank, mode: "train", step: 1, start_ns: 0, duration_s: 0.1, iteration_s: 0.1, events: { backward: 0.02, sync } }) as unknown as Step;
  const [waits] = stragglesOf([step(0, 0.05), step(1, 0.01)]);
  assert.equal(waits?.slowest.rank, 1);
  assert.ok(Math.abs((waits?.lag_s ?? 0) - 0.04) < 1e-9);
});

test("how far a run was sent reads as in the terminal", () => {
  const sent = { to: "https://hub:7171", state: "ok", lag_s: 42.5, bytes: 1258291, error: null };
  assert.equal(sentText(sent), "1.20 MiB to https://hub:7171, last 42 s ago");
  assert.equal(sentText({ ...sent, state: "waiting", error: "no answer in time" }), "1.20 MiB to https://hub:7171, last 42 s ago: no answer in time");
  assert.equal(sentText({ ...sent, state: "stopped", lag_s: null, bytes: 0, error: "refused" }), "0 B to https://hub:7171, last never: refused");
  assert.equal(sentText({ ...sent, state: "done", lag_s: 0 }), "all, to https://hub:7171 (1.20 MiB)");
});
