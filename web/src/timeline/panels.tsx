// SPDX-License-Identifier: Apache-2.0
// panels.tsx - beside the lanes: the selected slice, the events of the selected range, the search, and the
// legend.

import { useEffect, useMemo, useState } from "preact/hooks";

import { api } from "../api";
import { Bar, Button, Card } from "../components/basics";
import { Loaded } from "../components/empty";
import { type Column, DataTable } from "../components/table";
import { count, rankText, share, timestamp, value } from "../format";
import { useLoad } from "../load";
import { node } from "../state";
import type { EventRow, SearchHit, SearchResult } from "../types";
import { categoryTitle } from "../words";
import type { Slice } from "./model";
import { lookOf, LOOKS, SHADES, STYLES } from "./palette";
import { offsetText, type Range } from "./range";
import { isThat, type Store } from "./store";

const seconds = (ns: number): number => ns / 1e9;

function Row(p: { name: string; children: string }) {
  return (
    <>
      <dt>{p.name}</dt>
      <dd>{p.children}</dd>
    </>
  );
}

/** A kernel's name without its arguments and template, for a title; the full one is below. */
export function shortName(name: string): string {
  const bare = name.replace(/^void /, "").replace(/\(anonymous namespace\)::/g, "");
  const cut = bare.search(/[<(]/);
  const short = cut > 3 ? bare.slice(0, cut) : bare;
  return short.length > 60 ? `${short.slice(0, 59)}…` : short;
}

/** The letters that a shortened name surely has in common with the whole one. */
const coreOf = (name: string): string => name.split(/[<(]/)[0] ?? name;

/** The whole name: slices carry short ones, as kernels have names of thousands of letters. */
function useWholeName(store: Store, slice: Slice): string {
  const q = coreOf(slice.name);
  const from = store.absolute(slice.start) - 1000;
  const to = store.absolute(slice.end) + 1000;
  const asks = slice.merged <= 1 && q !== "" && slice.lane.thread !== null;
  const load = useLoad(asks ? `${store.run.run} ${q} ${from} ${to}` : null, (signal) =>
    api.search(store.run.run, { q, from, to, limit: 200 }, signal),
  );
  const mine = load.data?.matches.find(
    (h) => h.pid === slice.lane.pid && h.thread === slice.lane.thread && isThat(slice, h.start_ns - store.start, h.duration_s * 1e9),
  );
  return mine?.name ?? slice.name;
}

export function SlicePanel(p: { store: Store; slice: Slice }) {
  const { slice, store } = p;
  const { lane } = slice;
  const whole = useWholeName(store, slice);
  const short = shortName(slice.name);
  return (
    <Card
      title={`Slice: ${short}`}
      class="tl-panel"
      actions={
        <>
          <Button kind="quiet" onClick={() => store.show({ from: slice.start - (slice.end - slice.start) / 2, to: slice.end + (slice.end - slice.start) / 2 })}>
            Zoom to slice
          </Button>
          <Button kind="quiet" onClick={() => store.select({ from: slice.start, to: slice.end })}>
            Events in its time
          </Button>
          <Button kind="quiet" label="Close slice details" onClick={() => (store.selected.value = null)}>
            ✕
          </Button>
        </>
      }
    >
      <dl class="tl-facts">
        <Row name="Full name">{whole}</Row>
        <Row name="Duration">{value(seconds(slice.end - slice.start), "s")}</Row>
        <Row name="Start">{`${offsetText(slice.start, 1000)} after the start of the run`}</Row>
        <Row name="Start (clock)">{timestamp(store.absolute(slice.start))}</Row>
        <Row name="Category">{slice.category === "" ? "-" : categoryTitle(slice.category)}</Row>
        <Row name="Rank">{rankText(lane.rank)}</Row>
        <Row name="Node">{lane.node ?? "all"}</Row>
        <Row name="Process and thread">{`${lane.pid ?? "-"} · ${lane.thread ?? lane.title}`}</Row>
        {slice.merged > 1 && <Row name="Merged">{`${count(slice.merged)} slices too narrow to draw; zoom in to see them`}</Row>}
      </dl>
    </Card>
  );
}

const EVENT_COLUMNS: readonly Column<EventRow>[] = [
  { id: "name", title: "Name", cell: (e) => <span title={e.name}>{e.name}</span>, sort: (e) => e.name, class: "tl-wide" },
  { id: "category", title: "Category", cell: (e) => categoryTitle(e.category), sort: (e) => categoryTitle(e.category) },
  { id: "rank", title: "Rank", cell: (e) => rankText(e.rank), sort: (e) => e.rank },
  { id: "thread", title: "Thread", cell: (e) => e.thread, sort: (e) => e.thread },
  { id: "count", title: "Count", numeric: true, cell: (e) => count(e.count), sort: (e) => e.count },
  { id: "total", title: "Total", numeric: true, cell: (e) => value(e.total_s, "s"), sort: (e) => e.total_s },
  { id: "share", title: "Share", numeric: true, cell: (e) => <Bar share={e.share} text={share(e.share)} />, sort: (e) => e.share, hint: "share of the selected range" },
  { id: "p50", title: "p50", numeric: true, cell: (e) => value(e.p50_s, "s"), sort: (e) => e.p50_s },
  { id: "max", title: "Max", numeric: true, cell: (e) => value(e.max_s, "s"), sort: (e) => e.max_s },
];

export function RangePanel(p: { store: Store; range: Range }) {
  const { store, range } = p;
  const from = store.absolute(range.from);
  const to = store.absolute(range.to);
  const load = useLoad(
    `${store.run.run} ${node.value} ${from} ${to}`,
    (signal) => api.events(store.run.run, { from, to, detail: 1, limit: 500, node: node.value || undefined }, signal),
    0,
    true,
  );
  return (
    <Card
      title="Events in the selected range"
      hint={`${value(seconds(range.to - range.from), "s")} from ${offsetText(range.from, 1e3)}`}
      class="tl-panel"
      actions={
        <>
          <Button kind="quiet" onClick={() => store.show(range)}>
            Zoom to range
          </Button>
          <Button kind="quiet" label="Clear selection" onClick={() => store.select(null)}>
            ✕
          </Button>
        </>
      }
    >
      <Loaded load={load} what="the events">
        {(rows) => (
          <DataTable
            caption="Events of the selected range"
            columns={EVENT_COLUMNS}
            rows={rows}
            rowKey={(e, i) => `${e.node} ${e.pid} ${e.thread} ${e.name} ${i}`}
            start={{ id: "total", down: true }}
            limit={25}
            empty="No events in this range."
          />
        )}
      </Loaded>
    </Card>
  );
}

function hitText(at: number, found: SearchResult): string {
  if (found.count === 0) return "No matches";
  const shown = found.matches.length;
  const more = found.cut ? "at least " : "";
  const all = found.count > shown ? `the first ${count(shown)} of ${more}${count(found.count)}` : `${more}${count(found.count)}`;
  return at < 0 ? `${all} found` : `${at + 1} of ${all}`;
}

/** The hit that follows (or precedes) the middle of the window, when none was shown yet. */
function nearest(hits: readonly SearchHit[], t: number, by: 1 | -1): number {
  const following = hits.findIndex((h) => h.start_ns >= t);
  if (by === 1) return following < 0 ? 0 : following;
  return following <= 0 ? hits.length - 1 : following - 1;
}

export function Search(p: { store: Store }) {
  const { store } = p;
  const [text, setText] = useState(store.search.value);
  const [at, setAt] = useState(-1);
  const wanted = store.search.value.trim();
  const load = useLoad(wanted === "" ? null : `${store.run.run} ${wanted}`, (signal) =>
    api.search(store.run.run, { q: wanted, limit: 200 }, signal),
  );
  const hits = useMemo(() => [...(load.data?.matches ?? [])].sort((a, b) => a.start_ns - b.start_ns), [load.data]);
  useEffect(() => {
    store.foundNames.value = [...new Set(hits.map((h) => h.name))];
  }, [store, hits]);
  const jump = (by: 1 | -1): void => {
    if (text.trim() !== wanted) {
      setAt(-1);
      store.searchFor(text.trim());
      return;
    }
    if (hits.length === 0) return;
    const r = store.range.value;
    const next = at < 0 ? nearest(hits, store.absolute(r.from), by) : (at + by + hits.length) % hits.length;
    setAt(next);
    store.goToHit(hits[next]!);
  };
  return (
    <form
      class="tl-search"
      role="search"
      onSubmit={(e) => {
        e.preventDefault();
        jump(1);
      }}
    >
      <input
        type="search"
        aria-label="Search slices by name"
        placeholder="Search slices"
        value={text}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setAt(-1);
        }}
        onChange={(e) => store.searchFor(e.currentTarget.value.trim())}
        onKeyDown={(e) => {
          if (e.key === "Enter" && e.shiftKey) {
            e.preventDefault();
            jump(-1);
          }
        }}
      />
      <Button label="Previous match" onClick={() => jump(-1)} why={hits.length === 0 ? "Enter a search term" : null}>
        ‹
      </Button>
      <Button label="Next match" onClick={() => jump(1)} why={text.trim() === "" ? "Enter a search term" : null}>
        ›
      </Button>
      <span class="tl-found" role="status">
        {load.error !== null ? load.error.message : wanted !== "" && load.data !== null ? hitText(at, load.data) : ""}
      </span>
    </form>
  );
}

/** The looks that slices on the screen have, in the table's order. */
export function Legend(p: { store: Store }) {
  const seen = new Uint8Array(STYLES / SHADES);
  for (const chunk of p.store.chunks.value)
    for (const rows of chunk.tracks.values())
      for (const track of rows) for (const style of track.style) seen[Math.floor(style / SHADES)] = 1;
  return (
    <ul class="legend" aria-label="Colours and patterns">
      {LOOKS.map((look, i) => ({ look: lookOf(i * SHADES), on: seen[i] === 1, key: look.key })).map(
        ({ look, on, key }) =>
          on && (
            <li key={key} class="swatch">
              <i class={`tl-swatch tl-${look.pattern}`} style={{ "--swatch": `var(${look.colour})` }} aria-hidden="true" />
              {look.what}
            </li>
          ),
      )}
    </ul>
  );
}
