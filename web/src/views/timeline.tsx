// SPDX-License-Identifier: Apache-2.0
// timeline.tsx - the Timeline view: steps, phases, events and operators of all ranks as slices in lanes, to
// zoom, search and sum up.

import { useEffect, useId, useMemo, useState } from "preact/hooks";

import { api } from "../api";
import { Button, Card } from "../components/basics";
import { ChartFrame, type ChartTable } from "../components/chart_frame";
import { Dialog } from "../components/dialog";
import { Empty, ErrorBox, Loading } from "../components/empty";
import type { Column } from "../components/table";
import { count, rankText, value } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import { Minimap } from "../timeline/minimap";
import { hasSlices, isTimed, type Slice, slicesIn } from "../timeline/model";
import { Legend, RangePanel, Search, SlicePanel } from "../timeline/panels";
import { KEYS_HELP } from "../timeline/pointer";
import { offsetText } from "../timeline/range";
import { Stage } from "../timeline/stage";
import { Store } from "../timeline/store";
import { Tracks } from "../timeline/tracks";
import type { RunInfo } from "../types";
import type { ViewProps } from "../views";
import { plural, STEPS_OF } from "../words";
import "../timeline/timeline.css";

const MOST_ROWS = 500;
const TITLE = "Steps, phases, events and operators";

const SLICE_COLUMNS: readonly Column<Slice>[] = [
  { id: "name", title: "Name", cell: (s) => s.name, sort: (s) => s.name, class: "tl-wide" },
  { id: "rank", title: "Rank", cell: (s) => rankText(s.lane.rank), sort: (s) => s.lane.rank },
  { id: "lane", title: "Lane", cell: (s) => s.lane.title, sort: (s) => s.lane.title },
  { id: "start", title: "Start", numeric: true, cell: (s) => offsetText(s.start, 1e3), sort: (s) => s.start },
  { id: "duration", title: "Duration", numeric: true, cell: (s) => value((s.end - s.start) / 1e9, "s"), sort: (s) => s.end - s.start },
  { id: "merged", title: "Merged", numeric: true, cell: (s) => (s.merged > 1 ? count(s.merged) : "1"), sort: (s) => s.merged },
];

function Help(p: { onClose: () => void }) {
  return (
    <Dialog title="Timeline keys" onClose={p.onClose}>
      <dl class="tl-facts">
        {KEYS_HELP.map(([keys, what]) => (
          <>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <div class="dialog-actions">
        <Button kind="primary" onClick={p.onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

function Toolbar(p: { store: Store; onHelp: () => void }) {
  const { store } = p;
  const folded = store.layout.value.groups.some((g) => g.collapsed);
  return (
    <div class="tl-toolbar">
      <Search store={store} />
      <div class="tl-buttons">
        <Button label="Zoom in" onClick={() => store.zoom(1 / 2)}>
          +
        </Button>
        <Button label="Zoom out" onClick={() => store.zoom(2)} why={store.zoomed.value ? null : "The whole run is visible"}>
          −
        </Button>
        <Button label="Show the whole run" onClick={() => store.reset()} why={store.zoomed.value ? null : "The whole run is visible"}>
          Whole run
        </Button>
        <Button onClick={() => store.foldAll(!folded)}>{folded ? "Unfold all" : "Fold all"}</Button>
        <Button kind="quiet" onClick={p.onHelp}>
          Keys
        </Button>
      </div>
    </div>
  );
}

function summaryOf(store: Store): string {
  const { groups } = store.layout.value;
  const r = store.range.value;
  const lanes = store.lanes.value.length;
  const slices = store.chunks.value[0]?.count ?? 0;
  return (
    `${plural(lanes, "lane")} of ${groups.map((g) => g.title).join(", ")}. ` +
    `Showing ${offsetText(r.from, 1e6)} to ${offsetText(r.to, 1e6)}; ${plural(slices, "slice")} loaded.`
  );
}

function tableOf(store: Store): ChartTable<Slice> {
  return { columns: SLICE_COLUMNS, rows: slicesIn(store.chunks.value, store.range.value, MOST_ROWS) };
}

/** For screen readers, when another slice is selected. */
function spoken(slice: Slice | null): string {
  if (!slice) return "";
  return `${slice.name}, ${value((slice.end - slice.start) / 1e9, "s")}, ${rankText(slice.lane.rank)}, ${slice.lane.title}`;
}

function NothingMarked(p: { phases: boolean }) {
  const title = p.phases ? "Only phases were recorded: no steps, events or operators" : "No steps, events or operators were recorded";
  return (
    <Empty title={title} command="footplate run --detail-steps 5:2 -- python train.py">
      Steps and phases are detected automatically in {STEPS_OF} when the program is started with footplate run. Operators and kernels are
      recorded in detail windows: this command records steps 5 and 6.
    </Empty>
  );
}

/** In a window without slices, what is wrong and the way back. */
function EmptyWindow(p: { store: Store }) {
  return (
    <p class="tl-nothing" role="status">
      <span>
        No steps, events or operators in this time range. <Button onClick={() => p.store.reset()}>Show all</Button>
      </span>
    </p>
  );
}

/** Loads how many steps were timed on the GPU, where lanes of such phases are. */
function useTimed(store: Store, run: RunInfo): void {
  const any = store.lanes.value.some(isTimed);
  const steps = useLoad(any ? run.run : null, (signal) => api.steps(run.run, { last: 1 }, signal), version.value);
  useEffect(() => {
    const ranks = [...(steps.data?.ranks ?? [])].sort((a, b) => (a.mode < b.mode ? -1 : 1)); // training last: it wins
    const timed = ranks.filter((r) => r.gpu_timed_steps > 0);
    store.timed.value = new Map(timed.map((r) => [`${r.node} ${r.pid}`, `${count(r.gpu_timed_steps)} of ${count(r.count)} steps`]));
  }, [store, steps.data]);
}

export function TimelineView(p: ViewProps) {
  const store = useMemo(() => new Store(p.run), [p.run.run]);
  const [help, setHelp] = useState(false);
  const keysId = useId();
  useEffect(() => store.open(), [store]);
  useEffect(() => store.refresh(p.run), [store, p.run.data_version]);
  useTimed(store, p.run);
  const whole = store.whole.value;
  const error = store.error.value;
  const bare = whole !== null && store.lanes.value.every((lane) => lane.kind === "phases");
  const empty = !bare && store.zoomed.value && !store.loading.value && !hasSlices(store.chunks.value, store.range.value);
  const { selected, selection } = store;
  return (
    <div class="stack">
      <Card title="Timeline">
        <ChartFrame title={TITLE} summary={summaryOf(store)} table={() => tableOf(store)} legend={<Legend store={store} />}>
          <Toolbar store={store} onHelp={() => setHelp(true)} />
          {error !== null && <ErrorBox error={error} retry={() => store.reload()} />}
          <div class="tl-box">
            <Minimap store={store} />
            <Stage store={store} describedBy={keysId} />
            {empty && <EmptyWindow store={store} />}
          </div>
          {whole === null && error === null && <Loading what="the timeline" />}
          {bare && <NothingMarked phases={store.lanes.value.length > 0} />}
          <p id={keysId} class="tl-hint">
            <span class="for-mouse">
              Drag: move · wheel, W, S: zoom · Shift-drag or drag on the ruler: sum up a range · click a slice: details · 0: whole run
            </span>
            <span class="for-touch">Drag: move · + and −: zoom · drag on the ruler: sum up a range · tap a slice: details</span>
          </p>
        </ChartFrame>
        <Tracks store={store} run={p.run} />
        <div class="sr-only" role="status">
          {spoken(selected.value)}
        </div>
      </Card>
      {selected.value && <SlicePanel store={store} slice={selected.value} />}
      {selection.value && <RangePanel store={store} range={selection.value} />}
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  );
}
