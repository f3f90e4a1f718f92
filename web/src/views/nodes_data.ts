// SPDX-License-Identifier: Apache-2.0
// nodes_data.ts - the Nodes view's shared window, tied to the address, and what is requested from the server for it: at
// once for a single zoom, at the end of a gesture for many, and never two at a time. While a run lives, new samples
// grow the columns that are there.
import { batch, effect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { api } from "../api";
import { GrowingGrid, type Sample } from "../charts/columns";
import { fit, msOf, nsOf, type Span, widened, width } from "../charts/span";
import { TimeSync } from "../charts/sync";
import { liveStatus, version } from "../live";
import { type Load, useLoad } from "../load";
import { node, params, setParam, setWindow, type Window, window_ } from "../state";
import type { Grid, GridSeries, LiveSeries, RunInfo } from "../types";
import { MEAN } from "./nodes_charts";

const QUIET_MS = 120; // without a further change, before a request is sent
const MARGIN = 0.1; // requested beyond the window on each side
const MOST_ASKS = 60; // metrics in one request
const MOST_SERIES = 30; // at full width; more get fewer points, so that answers stay small
const SLOW_TICK_MS = 2000; // how often a living run's costlier pictures are renewed
const GROWN = 1.5; // columns beyond those requested, before they are requested anew

/** The run from its first to its newest moment. */
export function wholeOf(run: RunInfo, newest_ns: number | null): Span {
  const from = run.start_ns ?? 0;
  const to = Math.max(run.end_ns ?? 0, run.updated_ns ?? 0, newest_ns ?? 0, from + 1e6);
  return { from: msOf(from), to: msOf(to) };
}

const BRUSH = "brush";

function readBrush(): Span | null {
  const [from, to] = (params.value[BRUSH] ?? "").split("-").map(Number);
  return from !== undefined && to !== undefined && to > from ? { from: msOf(from), to: msOf(to) } : null;
}

const nsText = (ms: number): string => BigInt(nsOf(ms)).toString();

/** The node that is shown: the only one, or the chosen one; "" is all of them. */
export function nodeShown(run: RunInfo): string {
  const only = run.nodes.length === 1 ? run.nodes[0] : undefined;
  return only?.id ?? (run.nodes.some((n) => n.id === node.value) ? node.value : "");
}

/** One window, cursor and selection for the whole view; the address follows, and leads. */
export function useSync(run: RunInfo): TimeSync {
  const newest = run.live ? (liveStatus.value?.end_ns ?? null) : null;
  const whole = wholeOf(run, newest);
  const sync = useMemo(() => new TimeSync(whole), [run.run]);
  useEffect(() => sync.setWhole(whole), [sync, whole.from, whole.to]);
  useEffect(
    () =>
      effect(() => {
        const w = window_.value;
        sync.setWindow(w && { from: msOf(w.from), to: msOf(w.to) });
        const brush = readBrush();
        const s = sync.selection;
        if (!brush || !s || nsText(brush.from) !== nsText(s.from) || nsText(brush.to) !== nsText(s.to)) sync.setSelection(brush);
      }),
    [sync],
  );
  useEffect(() => writeAddress(sync), [sync]);
  return sync;
}

const ROUNDING_NS = 2000; // of a time that was an address, then milliseconds, then an address

const sameWindow = (a: Window | null, b: Window | null): boolean =>
  a === null || b === null ? a === b : Math.abs(a.from - b.from) + Math.abs(a.to - b.to) < ROUNDING_NS;

/** Browsers refuse an address that changes at every turn of the wheel: it is written afterwards. */
function writeAddress(sync: TimeSync): () => void {
  let timer = 0;
  const write = (): void => {
    const w = sync.zoomed ? { from: nsOf(sync.window.from), to: nsOf(sync.window.to) } : null;
    const s = sync.selection;
    // Both at once: an address with a new window and no selection yet would take the selection away.
    batch(() => {
      if (!sameWindow(w, window_.peek())) setWindow(w);
      setParam(BRUSH, s && `${nsText(s.from)}-${nsText(s.to)}`);
    });
  };
  const leave = sync.onSettle(() => {
    clearTimeout(timer);
    timer = window.setTimeout(write, QUIET_MS);
  });
  return () => {
    clearTimeout(timer);
    leave();
  };
}

/** The window to request. Its key changes when the user moved, not when a living run grew. */
export interface Asked {
  readonly key: string;
  readonly span: Span;
}

const askedNow = (sync: TimeSync): Asked => {
  const w = sync.window;
  return { key: sync.zoomed ? `${w.from} ${w.to}` : "whole", span: w };
};

/** The first change after a rest counts at once, further ones when they have ended. */
export function useAsked(sync: TimeSync): Asked {
  const [asked, setAsked] = useState(() => askedNow(sync));
  useEffect(() => {
    let timer = 0;
    const settle = (): void => {
      timer = 0;
      setAsked((old) => (old.key === askedNow(sync).key ? old : askedNow(sync)));
    };
    setAsked(askedNow(sync));
    const leave = sync.join((changed) => {
      if (!changed.has("window")) return;
      const rested = timer === 0;
      clearTimeout(timer);
      timer = window.setTimeout(settle, QUIET_MS);
      if (rested) setAsked((old) => (old.key === askedNow(sync).key ? old : askedNow(sync)));
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [sync]);
  return asked;
}

/** The requested window of a zoomed view; a view of everything requests all there is now. */
const spanOf = (sync: TimeSync, asked: Asked): Span => (asked.key === "whole" ? sync.whole : asked.span);

/** The number of the newest data, but new only every other second: for pictures that cost more. */
export function useSlowTick(live: boolean): unknown {
  const [tick, setTick] = useState(version.value);
  useEffect(() => {
    if (!live) {
      setTick(version.peek());
      return undefined;
    }
    const timer = window.setInterval(() => setTick(version.peek()), SLOW_TICK_MS);
    return () => clearInterval(timer);
  }, [live]);
  return tick;
}

export function pointsFor(span: Span, pixels: number, series: number, intervalMs: number | null): number {
  const widest = Math.round(pixels * Math.min(1, MOST_SERIES / Math.max(series, 1)));
  const readings = intervalMs === null || intervalMs <= 0 ? Infinity : Math.ceil(width(span) / intervalMs);
  return Math.max(2, Math.min(widest, readings, 4000));
}

/** Whether a reading of a device counts for a series: its own, or the mean of all. */
const feeds = (s: LiveSeries) => (g: GridSeries): boolean =>
  g.node === s.node && g.metric === s.metric && (g.entity === s.entity || (g.entity === MEAN && s.entity !== "total"));

const samplesOf = (s: LiveSeries): Sample[] =>
  s.t_ns.flatMap((t, i) => {
    const v = s.v[i];
    return v === null || v === undefined ? [] : [{ at: msOf(t), value: v }];
  });

export interface Ask {
  readonly run: RunInfo;
  readonly node: string;
  readonly sync: TimeSync;
  readonly asked: Asked;
  readonly pixels: number;
}

const chunks = (all: readonly string[], n: number): string[][] =>
  Array.from({ length: Math.ceil(all.length / n) }, (_, i) => all.slice(i * n, (i + 1) * n));

/** Answers to the same window and points have the same columns. */
export function joined(grids: readonly Grid[]): Grid {
  return { ...(grids[0] as Grid), series: grids.flatMap((g) => g.series) };
}

/** The columns of all line charts in one answer; they grow while the run lives. */
export function useGrid(a: Ask, asks: readonly string[]): Load<Grid> {
  const [again, setAgain] = useState(0);
  const [grown, setGrown] = useState<Grid | null>(null);
  const growing = useRef<GrowingGrid | null>(null);
  const nodeAsk = a.node === "" ? undefined : a.node;
  const key = asks.length === 0 || a.pixels === 0 ? null : [a.run.run, a.node, a.asked.key, a.pixels, again, ...asks].join("|");
  const load = useLoad(
    key,
    async (signal) => {
      const span = fit(widened(spanOf(a.sync, a.asked), MARGIN), a.sync.whole);
      const wide = (a.pixels * width(span)) / Math.max(width(spanOf(a.sync, a.asked)), 1e-9);
      const points = pointsFor(span, wide, asks.length, a.run.interval_ms);
      const q = { node: nodeAsk, from: nsOf(span.from), to: nsOf(span.to), points };
      const parts = chunks(asks, MOST_ASKS).map((metric) => api.grid(a.run.run, { ...q, metric }, signal));
      return joined(await Promise.all(parts));
    },
    a.run.live ? 0 : version.value,
    true,
  );
  useEffect(() => {
    growing.current = load.data && new GrowingGrid(load.data);
    setGrown(null);
  }, [load.data]);
  const metrics = [...new Set(asks.map((m) => m.slice(0, m.lastIndexOf(":"))))].join(" ");
  useEffect(() => {
    if (!a.run.live || metrics === "") return undefined;
    return api.live(a.run.run, { metric: metrics.split(" "), node: nodeAsk }, { samples: take });
    function take(news: LiveSeries[]): void {
      const grid = growing.current;
      if (!grid) return;
      const before = grid.columns;
      let any = false;
      for (const s of news) any = grid.append(samplesOf(s), feeds(s)) || any;
      if (!any) return;
      stretch(a.sync, news);
      setGrown(grid.snapshot());
      if (grid.columns > before && grid.columns > GROWN * Math.max(a.pixels, 1)) setAgain((n) => n + 1);
    }
  }, [a.run.run, a.run.live, nodeAsk, metrics, a.sync]);
  return { ...load, data: grown ?? load.data };
}

/** The run lasts at least until its newest sample. */
function stretch(sync: TimeSync, news: readonly LiveSeries[]): void {
  const newest = msOf(news.reduce((t, s) => Math.max(t, s.t_ns[s.t_ns.length - 1] ?? 0), 0));
  if (newest > sync.whole.to) sync.setWhole({ from: sync.whole.from, to: newest });
}

/** Something else about the requested window, renewed slowly while the run lives. */
export function useWindowed<T>(a: Ask, what: string, ask: (from: number, to: number, signal: AbortSignal) => Promise<T>): Load<T> {
  const tick = useSlowTick(a.run.live);
  const key = a.pixels === 0 ? null : [what, a.run.run, a.node, a.asked.key, a.pixels].join("|");
  return useLoad(
    key,
    (signal) => {
      const span = spanOf(a.sync, a.asked);
      return ask(nsOf(span.from), nsOf(span.to), signal);
    },
    tick,
    true,
  );
}
