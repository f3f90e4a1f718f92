// SPDX-License-Identifier: Apache-2.0
// store.ts - what the Timeline tab shows, as signals: the window (tied to the page's own, which is in
// the address), what is selected, folded and searched for, and the slices that are there.
// Times are ns after the start of the run; only the edge to the page and the server is absolute.

import { batch, computed, effect, signal } from "@preact/signals";

import { ApiError, api } from "../api";
import { node, params, setParam, setWindow, window_ } from "../state";
import type { RunInfo, SearchHit } from "../types";
import { buildLayout, foldedAtFirst, groupKey, type Layout } from "./layout";
import { Loader } from "./loader";
import { asAnswer, type Chunk, indexAt, isTimed, type Lane, type Slice, sliceOf, uniteLanes } from "./model";
import type { Sought } from "./scene";
import { centreOn, clampRange, type Range, rangeAround, zoomAt, panBy } from "./range";

const SETTLE_MS = 150; /* browsers refuse more than a few changes of the address a second */
const RELOAD_MS = 60;
const MOST_PX = 10_000;

export interface Hover {
  slice: Slice;
  x: number;
  y: number;
}

/** Whether a slice has these times; absolute ones, where they come from, are good to 256 ns only. */
export const isThat = (s: Slice, start: number, length: number): boolean =>
  Math.abs(s.start - start) < 1000 && Math.abs(s.end - s.start - length) < 1000;

const sameSpan = (a: Range, b: Range): boolean => a.from === b.from && a.to === b.to;

export class Store {
  readonly start: number;
  readonly bounds = signal<Range>({ from: 0, to: 1 });
  readonly range = signal<Range>({ from: 0, to: 1 });
  readonly selection = signal<Range | null>(null);
  readonly selected = signal<Slice | null>(null);
  readonly hover = signal<Hover | null>(null);
  readonly lanes = signal<readonly Lane[]>([]);
  readonly collapsed = signal<ReadonlySet<string>>(new Set());
  readonly search = signal("");
  /** Whole names of what the search found. */
  readonly foundNames = signal<readonly string[]>([]);
  readonly sought = computed<Sought | null>(() => {
    const text = this.search.value.trim().toLowerCase();
    return text === "" ? null : { text, whole: this.foundNames.value };
  });
  readonly chunks = signal<readonly Chunk[]>([]);
  readonly whole = signal<Chunk | null>(null);
  readonly loading = signal(true);
  readonly error = signal<ApiError | null>(null);
  /** Of the lanes' area, in CSS pixels; 0 until it is on the page. */
  readonly width = signal(0);
  readonly narrow = signal(false);
  readonly layout = computed<Layout>(() =>
    buildLayout(this.lanes.value, {
      collapsed: this.collapsed.value,
      inlineTitles: this.narrow.value,
      severalNodes: new Set(this.lanes.value.map((l) => l.node)).size > 1,
    }),
  );
  /** By process, how many of its steps the hooks timed on the GPU: "34 of 250 steps". */
  readonly timed = signal<ReadonlyMap<string, string>>(new Map());
  readonly zoomed = computed(() => !sameSpan(this.range.value, this.bounds.value));

  #loader: Loader;
  #leave: (() => void)[] = [];
  #settle = 0;
  #reload = 0;
  #adopted: unknown = undefined;
  #folded = false;
  #sought: SearchHit | null = null;

  constructor(readonly run: RunInfo) {
    this.start = run.start_ns ?? 0;
    this.bounds.value = this.#boundsOf(run);
    this.#loader = this.#newLoader();
    this.#adopt();
    this.selection.value = this.#pickOf(params.value["pick"]);
    this.search.value = params.value["find"] ?? "";
  }

  /** Ties the store to the page until the returned function is called. */
  open(): () => void {
    this.#leave.push(
      effect(() => {
        if (window_.value !== this.#adopted) this.#adopt();
      }),
      effect(() => {
        this.#load(this.range.value, this.width.value);
      }),
      effect(() => {
        node.value;
        this.#restart();
      }),
    );
    return () => this.close();
  }

  close(): void {
    for (const leave of this.#leave.splice(0)) leave();
    if (this.#settle !== 0) this.#notify();
    clearTimeout(this.#reload);
    this.#loader.close();
  }

  /** The run has new data. */
  refresh(run: RunInfo): void {
    this.#reach(this.#boundsOf(run));
  }

  #reach(next: Range): void {
    const was = this.bounds.value;
    const followed = sameSpan(this.range.value, was);
    if (sameSpan(was, next)) return;
    batch(() => {
      this.bounds.value = next;
      if (followed) this.range.value = next;
    });
    void this.#loader.grow(next, this.range.value, this.width.value || 1);
  }

  /** Requests again after a failure. */
  reload(): void {
    this.#load(this.range.value, this.width.value);
  }

  /** The title of a lane. */
  titleOf(lane: Lane): string {
    if (!isTimed(lane)) return lane.title;
    const steps = this.timed.value.get(`${lane.node} ${lane.pid}`);
    return steps === undefined ? `${lane.thread}: timed phases` : `${lane.thread}: ${steps} timed`;
  }

  absolute(t: number): number {
    return this.start + t;
  }

  show(range: Range): void {
    const next = clampRange(range, this.bounds.value);
    if (sameSpan(next, this.range.value)) return;
    this.range.value = next;
    this.hover.value = null;
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => this.#notify(), SETTLE_MS) as unknown as number;
  }

  reset(): void {
    this.show(this.bounds.value);
  }

  zoom(factor: number, at = (this.range.value.from + this.range.value.to) / 2): void {
    this.show(zoomAt(this.range.value, factor, at, this.bounds.value));
  }

  pan(share: number): void {
    this.show(panBy(this.range.value, share, this.bounds.value));
  }

  select(range: Range | null): void {
    this.selection.value = range;
    const text = (t: number): string => BigInt(Math.round(this.absolute(t))).toString();
    setParam("pick", range && `${text(range.from)}-${text(range.to)}`);
  }

  searchFor(text: string): void {
    batch(() => {
      this.search.value = text;
      this.foundNames.value = [];
    });
    setParam("find", text);
  }

  toggle(key: string): void {
    const next = new Set(this.collapsed.value);
    if (!next.delete(key)) next.add(key);
    this.collapsed.value = next;
  }

  foldAll(fold: boolean): void {
    this.collapsed.value = new Set(fold ? this.lanes.value.map(groupKey) : []);
  }

  /** Opens what hides a lane. */
  reveal(lane: Lane): void {
    const next = new Set(this.collapsed.value);
    next.delete(groupKey(lane));
    next.delete(lane.id);
    this.collapsed.value = next;
  }

  /** The slice of a row at a time, or the nearest within reach, from the most detailed chunk there
   * is. */
  sliceAt(lane: Lane, row: number, t: number, reach: number): Slice | null {
    for (const chunk of this.chunks.value) {
      if (t < chunk.range.from || t > chunk.range.to) continue;
      const track = chunk.tracks.get(lane.id)?.[row];
      return track ? sliceOf(chunk, lane, row, indexAt(track, t, reach)) : null;
    }
    return null;
  }

  /** The next (1) or previous (-1) slice of the same row. */
  neighbour(slice: Slice, by: 1 | -1): Slice | null {
    const at = by === 1 ? slice.end : slice.start;
    for (const chunk of this.chunks.value) {
      if (at < chunk.range.from || at > chunk.range.to) continue;
      const track = chunk.tracks.get(slice.lane.id)?.[slice.row];
      if (!track) continue;
      let i = indexAt(track, slice.start + 0.5, Infinity);
      if (i < 0) continue;
      i += by;
      return sliceOf(chunk, slice.lane, slice.row, i);
    }
    return null;
  }

  /** Shows a slice, moving the window only as far as it must. */
  goTo(slice: Slice): void {
    const r = this.range.value;
    this.selected.value = slice;
    if (slice.start < r.from || slice.end > r.to) {
      const fits = slice.end - slice.start < r.to - r.from;
      const middle = (slice.start + slice.end) / 2;
      this.show(fits ? centreOn(r, middle, this.bounds.value) : rangeAround(slice.start, slice.end, this.bounds.value));
    }
  }

  /** Shows what the search found: so near that it can be seen. */
  goToHit(hit: SearchHit): void {
    const start = hit.start_ns - this.start;
    const end = start + hit.duration_s * 1e9;
    const lane = this.#lanesOf(hit)[0];
    const { from, to } = this.bounds.value;
    if (end > to) this.#reach({ from, to: end }); // newer than the last status of the run
    const r = this.range.value;
    const px = ((end - start) / (r.to - r.from)) * Math.max(1, this.width.value);
    const seen = px >= 12 && end - start <= r.to - r.from;
    if (lane) {
      this.reveal(lane);
      this.selected.value = { lane, row: 0, start, end, name: hit.name, category: "", merged: 0 };
    }
    this.#sought = hit;
    this.show(seen ? centreOn(r, (start + end) / 2, this.bounds.value) : rangeAround(start, end, this.bounds.value));
    this.#resolve();
  }

  #lanesOf(hit: SearchHit): Lane[] {
    return this.lanes.value.filter((l) => l.node === hit.node && l.pid === hit.pid && l.thread === hit.thread);
  }

  /** Hits name no row: the one that has a slice with these times, once it is there unmerged. */
  #resolve(): void {
    const hit = this.#sought;
    if (!hit) return;
    const t = hit.start_ns - this.start + (hit.duration_s * 1e9) / 2;
    for (const lane of this.#lanesOf(hit))
      for (let row = 0; row < lane.depth; row++) {
        const slice = this.sliceAt(lane, row, t, 0);
        if (!slice || slice.merged > 1 || !isThat(slice, hit.start_ns - this.start, hit.duration_s * 1e9)) continue;
        this.#sought = null;
        this.selected.value = slice;
        return;
      }
  }

  #boundsOf(run: RunInfo): Range {
    const end = run.end_ns ?? run.updated_ns ?? this.start + 1e9;
    return { from: 0, to: Math.max(end - this.start, 1e3) };
  }

  #pickOf(text: string | undefined): Range | null {
    const parts = /^(\d+)-(\d+)$/.exec(text ?? "");
    if (!parts) return null;
    return { from: Number(parts[1]) - this.start, to: Number(parts[2]) - this.start };
  }

  /** Takes over the page's window. */
  #adopt(): void {
    const w = window_.value;
    this.#adopted = w;
    const wanted = w ? { from: w.from - this.start, to: w.to - this.start } : this.bounds.value;
    this.range.value = clampRange(wanted, this.bounds.value);
  }

  /** Hands the window to the page. */
  #notify(): void {
    clearTimeout(this.#settle);
    this.#settle = 0;
    const r = this.range.value;
    setWindow(this.zoomed.value ? { from: this.absolute(r.from), to: this.absolute(r.to) } : null);
    this.#adopted = window_.value;
  }

  #newLoader(): Loader {
    const ask = async (r: Range, px: number, signal: AbortSignal) => {
      const from = this.absolute(r.from);
      const q = { from, to: this.absolute(r.to), px: Math.min(px, MOST_PX), detail: 1 as const };
      return asAnswer(await api.timeline(this.run.run, { ...q, node: node.value || undefined }, signal), this.start);
    };
    const failed = (e: unknown): void => {
      this.error.value = e instanceof ApiError ? e : new ApiError(0, String(e));
    };
    const loader: Loader = new Loader(ask, this.bounds.value, {
      failed,
      changed: () => {
        if (loader === this.#loader) this.#take(loader);
      },
    });
    return loader;
  }

  #take(loader: Loader): void {
    batch(() => {
      this.loading.value = loader.loading;
      this.whole.value = loader.whole;
      this.chunks.value = loader.chunks;
      const every = loader.chunks.reduceRight<readonly Lane[]>((lanes, c) => uniteLanes(lanes, c.lanes), []);
      const all = every.filter((l) => l.depth > 0); // the others are empty all through the run
      if (all.length !== this.lanes.value.length || all.some((l, i) => l !== this.lanes.value[i])) this.lanes.value = all;
      if (!this.#folded && all.length > 0) {
        this.#folded = true;
        this.collapsed.value = foldedAtFirst(all);
      }
      this.#resolve();
    });
  }

  #load(range: Range, width: number): void {
    if (width === 0) return;
    clearTimeout(this.#reload);
    const ask = (): void => {
      this.error.value = null;
      void this.#loader.show(range, Math.round(width));
    };
    if (this.#loader.whole) this.#reload = setTimeout(ask, RELOAD_MS) as unknown as number;
    else ask();
  }

  /** Another node: other lanes. */
  #restart(): void {
    this.#loader.close();
    this.#loader = this.#newLoader();
    this.#load(this.range.peek(), this.width.peek());
  }
}
