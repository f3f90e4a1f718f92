// SPDX-License-Identifier: Apache-2.0
// loader.ts - caches what the window needs: the whole run once, blurred, and around the
// window a detailed chunk with one screen more on both sides. What is there stays drawn while more
// comes. An answer that was cut short is requested again in halves.

import type { Answer, Chunk } from "./model";
import { buildChunk, covers } from "./model";
import type { Range } from "./range";
import { withMargins } from "./range";

/** Requests a range from the server (ns after the start of the run) at so many pixels. */
export type Ask = (range: Range, px: number, signal: AbortSignal) => Promise<Answer>;

export interface LoaderEvents {
  /** New slices have arrived. */
  changed(): void;
  failed(error: unknown): void;
}

const MOST_CHUNKS = 12; /* chunks cached besides the whole run */
const MOST_HALVINGS = 3;

export class Loader {
  #bounds: Range;
  #whole: Chunk | null = null;
  #pieces: Chunk[] = [];
  /** What the last complete answer covered, in however many chunks it came. */
  #plan: Chunk | null = null;
  #asked: Chunk["range"] | null = null;
  #abort: AbortController | null = null;
  #loading = 0;

  constructor(
    readonly ask: Ask,
    bounds: Range,
    readonly events: LoaderEvents,
  ) {
    this.#bounds = bounds;
  }

  get whole(): Chunk | null {
    return this.#whole;
  }

  /** Sharpest first, the whole run last. */
  get chunks(): readonly Chunk[] {
    return this.#whole ? [...this.#pieces, this.#whole] : this.#pieces;
  }

  get loading(): boolean {
    return this.#loading > 0;
  }

  /** Loads what the window needs, unless it is there or on its way. */
  async show(window: Range, px: number): Promise<void> {
    if (!this.#whole) await this.#loadWhole(px);
    if (this.#whole && covers(this.#whole, window, px, this.#bounds) && !this.#whole.cut) return;
    if (this.#plan && covers(this.#plan, window, px, this.#bounds)) return;
    const range = withMargins(window, this.#bounds);
    if (this.#asked && this.#asked.from === range.from && this.#asked.to === range.to) return;
    if (range.to <= range.from) return; // the window lies after what the page knows of a living run
    const wide = Math.round((px * (range.to - range.from)) / (window.to - window.from));
    await this.#loadPiece(range, wide);
  }

  /** The run has grown, or its end has new slices. */
  async grow(bounds: Range, window: Range, px: number): Promise<void> {
    this.#bounds = bounds;
    this.#plan = null;
    await this.#loadWhole(px);
    await this.show(window, px);
  }

  close(): void {
    this.#abort?.abort();
  }

  async #loadWhole(px: number): Promise<void> {
    const abort = new AbortController();
    await this.#guarded(abort, async () => {
      const bounds = this.#bounds;
      const answer = await this.ask(bounds, px, abort.signal);
      this.#whole = buildChunk(answer, bounds, px);
      this.events.changed();
    });
  }

  async #loadPiece(range: Range, px: number): Promise<void> {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    this.#asked = range;
    await this.#guarded(abort, async () => {
      const first = await this.#fetch(range, px, abort.signal, 0);
      this.#plan = first;
    });
    if (this.#asked === range) this.#asked = null;
  }

  async #fetch(range: Range, px: number, signal: AbortSignal, halvings: number): Promise<Chunk> {
    const chunk = buildChunk(await this.ask(range, px, signal), range, px);
    if (signal.aborted) return chunk;
    this.#keep(chunk);
    this.events.changed();
    if (!chunk.cut || halvings >= MOST_HALVINGS) return chunk;
    const middle = Math.round((range.from + range.to) / 2);
    const half = Math.max(1, Math.round(px / 2));
    await this.#fetch({ from: range.from, to: middle }, half, signal, halvings + 1);
    if (!signal.aborted) await this.#fetch({ from: middle, to: range.to }, half, signal, halvings + 1);
    return chunk;
  }

  /** The newest are what the window shows; the oldest go. */
  #keep(chunk: Chunk): void {
    this.#pieces = [chunk, ...this.#pieces].slice(0, MOST_CHUNKS);
  }

  async #guarded(abort: AbortController, work: () => Promise<void>): Promise<void> {
    this.#loading++;
    try {
      await work();
    } catch (error) {
      if (!abort.signal.aborted) this.events.failed(error);
    } finally {
      this.#loading--;
      this.events.changed();
    }
  }
}
