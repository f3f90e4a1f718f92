// SPDX-License-Identifier: Apache-2.0
// sync.ts - one window, one cursor and one selection for all charts of a page. A chart joins with
// what it does when one of them changes; changes within a frame are drawn once, in that frame.

import { fit, same, width, zoom as zoomed, move, type Span } from "./span";

export type Change = "window" | "cursor" | "selection";

export interface Listener {
  (changed: ReadonlySet<Change>): void;
}

/** The function that schedules a callback before the next frame; tests pass another one. */
export interface Scheduler {
  (run: () => void): void;
}

const nextFrame: Scheduler = (run) => {
  requestAnimationFrame(run);
};

export class TimeSync {
  #whole: Span;
  #shown: Span | null = null; // null: the whole run, which grows while it lives
  #cursor: number | null = null;
  #selection: Span | null = null;
  readonly #listeners = new Set<Listener>();
  readonly #settled = new Set<() => void>();
  readonly #changed = new Set<Change>();
  readonly #schedule: Scheduler;

  constructor(whole: Span, schedule: Scheduler = nextFrame) {
    this.#whole = whole;
    this.#schedule = schedule;
  }

  get whole(): Span {
    return this.#whole;
  }
  get window(): Span {
    return this.#shown ?? this.#whole;
  }
  get cursor(): number | null {
    return this.#cursor;
  }
  get selection(): Span | null {
    return this.#selection;
  }
  /** Whether the window is the user's choice; otherwise it follows the run. */
  get zoomed(): boolean {
    return this.#shown !== null;
  }

  /** Takes part until the returned function is called. */
  join(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Called after each change of window or selection, for what outlives the frame: the address. */
  onSettle(done: () => void): () => void {
    this.#settled.add(done);
    return () => void this.#settled.delete(done);
  }

  setWhole(whole: Span): void {
    if (whole.from === this.#whole.from && whole.to === this.#whole.to) return;
    this.#whole = whole;
    this.#notify("window");
  }

  /** null shows the whole run again. A window as wide as the run is the whole run. */
  setWindow(span: Span | null): void {
    const next = span && fit(span, this.#whole);
    const chosen = next && same(next, this.#whole) ? null : next;
    if (chosen === this.#shown) return;
    if (chosen && this.#shown && chosen.from === this.#shown.from && chosen.to === this.#shown.to) return;
    this.#shown = chosen;
    this.#notify("window");
  }

  zoom(factor: number, around: number = this.#cursor ?? (this.window.from + this.window.to) / 2): void {
    this.setWindow(zoomed(this.window, around, factor));
  }

  pan(byMs: number): void {
    if (this.#shown) this.setWindow(move(this.#shown, byMs));
  }

  setCursor(at: number | null): void {
    if (at === this.#cursor) return;
    this.#cursor = at;
    this.#notify("cursor");
  }

  /** Moves the cursor by a share of the window; the window moves along when it would leave. */
  stepCursor(share: number): void {
    const w = this.window;
    const at = (this.#cursor ?? (w.from + w.to) / 2) + share * width(w);
    const kept = Math.min(Math.max(at, this.#whole.from), this.#whole.to);
    if (kept < w.from || kept > w.to) this.pan(kept < w.from ? kept - w.from : kept - w.to);
    this.setCursor(kept);
  }

  setSelection(span: Span | null): void {
    const s = this.#selection;
    if (span === s || (span && s && span.from === s.from && span.to === s.to)) return;
    this.#selection = span;
    this.#notify("selection");
  }

  #notify(what: Change): void {
    if (this.#changed.size === 0) this.#schedule(() => this.#flush());
    this.#changed.add(what);
    if (what !== "cursor") for (const done of this.#settled) done();
  }

  #flush(): void {
    const changed = new Set(this.#changed);
    this.#changed.clear();
    for (const listener of this.#listeners) listener(changed);
  }
}
