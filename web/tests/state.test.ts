// SPDX-License-Identifier: Apache-2.0
// state.test.ts - an address restores what was looked at, and nonsense in it does no harm.
import assert from "node:assert/strict";
import test from "node:test";

import { type Place, readPlace, selection, setParam, setWindow, params, toggleSelected, window_, writePlace } from "../src/state";

const empty = { node: "", window: null, selection: [], params: {} };

const places: Place[] = [
  { route: { page: "runs" }, ...empty },
  { route: { page: "runs" }, ...empty, params: { q: "resnet 50%", status: "running" } },
  { route: { page: "run", run: "demo-1~2", tab: "nodes" }, ...empty },
  {
    route: { page: "run", run: "a run/with ?odd #signs", tab: "timeline" },
    node: "node 1&2",
    window: { from: 1794752784303768600, to: 1794752797967677700 },
    selection: ["cpu3", "gpu0"],
    params: { last: "50", q: "aten::mm" },
  },
  { route: { page: "compare", a: "x", b: "y/z" }, ...empty },
];

test("what an address says is what it was written from", () => {
  for (const place of places) assert.deepEqual(readPlace(writePlace(place)), place);
});

test("an empty address is the list of runs, and a run without a tab its overview", () => {
  assert.deepEqual(readPlace("").route, { page: "runs" });
  assert.deepEqual(readPlace("#/run/demo").route, { page: "run", run: "demo", tab: "overview" });
});

test("nonsense in an address is left out", () => {
  assert.equal(readPlace("#/run/a/nodes?from=5&to=x").window, null);
  assert.equal(readPlace("#/run/a/nodes?from=9&to=5").window, null);
  assert.equal(readPlace("#/run/a/nodes?from=5").window, null);
});

test("an address that leads nowhere is not taken for the list of runs", () => {
  for (const path of ["/nowhere", "/runs/x", "/run", "/run/%zz/nodes"]) {
    assert.deepEqual(readPlace(`#${path}`).route, { page: "unknown", path });
    assert.equal(writePlace(readPlace(`#${path}`)), `#${path}`, "the address stays as it was typed");
  }
});

test("times in an address are whole nanoseconds, without an exponent", () => {
  const address = writePlace({ ...empty, route: { page: "run", run: "a", tab: "nodes" }, window: { from: 1.7e18, to: 1.8e18 } });
  assert.match(address, /from=1700000000000000000&to=1800000000000000000/);
});

test("a window of nothing is the whole run", () => {
  setWindow({ from: 5e9, to: 9e9 });
  assert.deepEqual(window_.value, { from: 5e9, to: 9e9 });
  setWindow({ from: 5e9, to: 5e9 });
  assert.equal(window_.value, null);
});

test("a label is picked by the first click and let go by the second", () => {
  toggleSelected("cpu1");
  toggleSelected("gpu0");
  assert.deepEqual(selection.value, ["cpu1", "gpu0"]);
  toggleSelected("cpu1");
  assert.deepEqual(selection.value, ["gpu0"]);
});

test("a parameter without a value leaves the address", () => {
  setParam("last", "50");
  assert.deepEqual(params.value, { last: "50" });
  setParam("last", "");
  assert.deepEqual(params.value, {});
});
