// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import type { LayoutAsk } from "../src/timeline/layout";
import {
  buildLayout,
  foldedAtFirst,
  GROUP_HEAD,
  groupKey,
  LANE_GAP,
  ROW,
  rowAt,
  rowsBetween,
  THIN,
} from "../src/timeline/layout";
import type { Lane, LaneKind } from "../src/timeline/model";

const lane = (id: number, rank: number | null, depth = 1, kind: LaneKind = "events"): Lane => ({
  id: String(id),
  node: "a",
  rank,
  pid: 1,
  thread: String(id),
  title: `t${id}`,
  kind,
  depth,
});

const ask = (collapsed: string[] = []): LayoutAsk => ({
  collapsed: new Set(collapsed),
  inlineTitles: false,
  severalNodes: false,
});

const LANES = [lane(1, 1, 2), lane(2, 0, 3), lane(3, 0, 1, "steps"), lane(4, null)];

test("ranks come in order, what has no rank behind them", () => {
  const layout = buildLayout(LANES, ask());
  assert.deepEqual(
    layout.groups.map((g) => g.title),
    ["rank 0", "rank 1", "a"],
  );
});

test("a lane gets one row for each level of nesting, none overlapping", () => {
  const layout = buildLayout(LANES, ask());
  assert.equal(layout.rows.length, 3 + 1 + 2 + 1);
  for (let i = 1; i < layout.rows.length; i++) {
    const above = layout.rows[i - 1]!;
    assert.ok(layout.rows[i]!.y >= above.y + above.height);
  }
  const last = layout.rows[layout.rows.length - 1]!;
  assert.equal(layout.height, last.y + last.height + LANE_GAP);
});

test("a folded lane keeps one thin row", () => {
  const layout = buildLayout(LANES, ask([LANES[1]!.id]));
  const rows = layout.rows.filter((r) => r.lane === LANES[1]);
  assert.deepEqual(
    rows.map((r) => [r.row, r.height, r.thin]),
    [[0, THIN, true]],
  );
});

test("a folded rank shows its steps in its title's line", () => {
  const layout = buildLayout(LANES, ask([groupKey(LANES[1]!)]));
  const group = layout.groups[0]!;
  assert.equal(group.height, GROUP_HEAD);
  assert.equal(group.lanes.length, 0);
  assert.equal(layout.rows[0]!.lane, LANES[2]);
  assert.ok(layout.rows[0]!.y + layout.rows[0]!.height <= GROUP_HEAD);
});

test("a height finds its row, and nothing between rows", () => {
  const layout = buildLayout(LANES, ask());
  for (const row of layout.rows) {
    assert.equal(rowAt(layout, row.y), row);
    assert.equal(rowAt(layout, row.y + row.height - 0.5), row);
  }
  assert.equal(rowAt(layout, 1), null);
  assert.equal(rowAt(layout, layout.height + 50), null);
});

test("the rows between two heights are those that can be seen", () => {
  const layout = buildLayout(LANES, ask());
  const [first, last] = rowsBetween(layout, GROUP_HEAD + ROW, GROUP_HEAD + 2 * ROW + 1);
  assert.deepEqual([first, last], [1, 3]);
});

test("of many ranks only the first is open at first", () => {
  const many = Array.from({ length: 8 }, (_, i) => lane(i, i));
  assert.equal(foldedAtFirst(many).size, 7);
  assert.equal(foldedAtFirst(many.slice(0, 4)).size, 0);
});

test("titles above the lanes take their room", () => {
  const beside = buildLayout(LANES, ask());
  const above = buildLayout(LANES, { ...ask(), inlineTitles: true });
  assert.ok(above.height > beside.height);
  assert.equal(above.rows.length, beside.rows.length);
});
