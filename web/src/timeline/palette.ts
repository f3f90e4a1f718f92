// SPDX-License-Identifier: Apache-2.0
// palette.ts - how slices look. The colours are those of the whole page (src/report/colours.def, distinguishable for
// colour-blind eyes); what shares one carries a pattern, so that colour is never alone.

import { luminance, type Rgb } from "../charts/colour";
import { eventColorName } from "../palette";
import type { LaneKind } from "./model";

export type Pattern = "solid" | "diagonal" | "dots" | "lines" | "uprights";

interface Look {
  readonly key: string;
  /** Name of a variable of colours.css. */
  readonly colour: string;
  readonly pattern: Pattern;
  readonly what: string;
}

/** One row per look: those of lanes of phases, then categories. */
export const LOOKS: readonly Look[] = [
  { key: "other", colour: "--c-other", pattern: "solid", what: "other" },
  { key: "step", colour: "--phase-train", pattern: "solid", what: "training step" },
  { key: "eval", colour: eventColorName("eval"), pattern: "lines", what: "evaluation" },
  { key: "data", colour: eventColorName("data"), pattern: "solid", what: "data wait" },
  { key: "forward", colour: eventColorName("forward"), pattern: "solid", what: "forward pass" },
  { key: "backward", colour: eventColorName("backward"), pattern: "solid", what: "backward pass" },
  { key: "optimizer", colour: eventColorName("optimizer"), pattern: "solid", what: "optimizer" },
  { key: "h2d", colour: eventColorName("h2d"), pattern: "solid", what: "copy to device" },
  { key: "compile", colour: eventColorName("compile"), pattern: "solid", what: "compilation" },
  { key: "checkpoint", colour: eventColorName("checkpoint"), pattern: "uprights", what: "checkpoint" },
  { key: "comm", colour: eventColorName("comm"), pattern: "diagonal", what: "collective" },
  { key: "phase", colour: "--c4", pattern: "lines", what: "part of a step" },
  { key: "loader", colour: eventColorName("dataloader"), pattern: "uprights", what: "data loader" },
  { key: "op", colour: eventColorName("cpu"), pattern: "solid", what: "CPU operator" },
  { key: "python", colour: "--c7", pattern: "lines", what: "Python function" },
  { key: "runtime", colour: eventColorName("runtime"), pattern: "dots", what: "CUDA runtime call" },
  { key: "kernel", colour: eventColorName("kernel"), pattern: "dots", what: "kernel" },
  { key: "memcpy", colour: eventColorName("memcpy"), pattern: "diagonal", what: "copy" },
  { key: "memset", colour: eventColorName("memset"), pattern: "dots", what: "memset" },
  { key: "sync", colour: "--c-other", pattern: "diagonal", what: "GPU wait" },
  { key: "memory", colour: "--c7", pattern: "uprights", what: "allocation" },
  { key: "user", colour: "--c4", pattern: "diagonal", what: "user span" },
  { key: "initialization", colour: "--phase-initialization", pattern: "lines", what: "initialization" },
  { key: "train", colour: "--phase-train", pattern: "uprights", what: "training loop" },
  { key: "finalization", colour: "--phase-finalization", pattern: "lines", what: "finalization" },
  { key: "interruption", colour: "--phase-interruption", pattern: "diagonal", what: "interruption" },
];

/** Two shades per look, so that neighbours of one category are distinguishable. */
export const SHADES = 2;
export const STYLES = LOOKS.length * SHADES;

const INDEX: ReadonlyMap<string, number> = new Map(LOOKS.map((look, i) => [look.key, i]));

function shadeOf(name: string): number {
  let h = 0;
  for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) | 0;
  return (h >>> 3) % SHADES;
}

function lookKey(kind: LaneKind, category: string, name: string): string {
  if (kind === "steps") return name.startsWith("eval") ? "eval" : "step";
  if ((kind === "phases" || category === "phase") && INDEX.has(name)) return name;
  return category;
}

/** The number in the name of a step ("train 12"); null: another name. */
export function stepNumber(name: string): number | null {
  const found = /(?:^|\s)(\d+)$/.exec(name);
  return found === null ? null : Number(found[1]);
}

/** The style of a slice: an index below STYLES. Steps alternate by their number: a hash of the name would
 * give some neighbours the same shade and others not. */
export function styleOf(kind: LaneKind, category: string, name: string): number {
  const look = INDEX.get(lookKey(kind, category, name)) ?? 0;
  const step = kind === "steps" ? stepNumber(name) : null;
  return look * SHADES + (step === null ? shadeOf(name) : step % SHADES);
}

/** What is written on a slice: of a step its number, which fits where the name would be cut. */
export function labelOf(kind: LaneKind, name: string): string {
  const step = kind === "steps" ? stepNumber(name) : null;
  return step === null ? name : String(step);
}

export function lookOf(style: number): Look {
  return LOOKS[Math.floor(style / SHADES)]!;
}

function parseHex(hex: string): Rgb {
  const n = Number.parseInt(hex.slice(1), 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const one = (i: 0 | 1 | 2): number => Math.round(a[i] + (b[i] - a[i]) * share);
  return [one(0), one(1), one(2)];
}

export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** One pixel as ImageData stores it on a little-endian machine. */
export function pixel(c: Rgb): number {
  return ((255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]) >>> 0;
}

export interface Paint {
  readonly background: number;
  readonly grid: number;
  /** By style: body, the pattern's ink, and both when a search looks for something else. */
  readonly body: Uint32Array;
  readonly ink: Uint32Array;
  readonly dim: Uint32Array;
  readonly dimInk: Uint32Array;
  readonly pattern: readonly Pattern[];
  /** By style: what its name is written in. */
  readonly text: readonly string[];
}

const DARK_TEXT = "#0b0e13";
const LIGHT_TEXT = "#ffffff";
const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];

function bodyOf(style: number, resolve: (name: string) => string): Rgb {
  const base = parseHex(resolve(lookOf(style).colour));
  return style % SHADES === 0 ? base : mix(base, WHITE, 0.2);
}

/** Dark or light, whichever is read better on this colour. */
export function textOn(body: Rgb): string {
  const better = contrast(body, parseHex(DARK_TEXT)) >= contrast(body, WHITE);
  return better ? DARK_TEXT : LIGHT_TEXT;
}

/** Bodies of all styles; `resolve` gives a variable's "#rrggbb". */
export function bodies(resolve: (name: string) => string): Rgb[] {
  return Array.from({ length: STYLES }, (_, style) => bodyOf(style, resolve));
}

/** All colours as pixels. */
export function makePaint(resolve: (name: string) => string): Paint {
  const back = parseHex(resolve("--surface"));
  const all = bodies(resolve);
  const inked = all.map((c) => mix(c, textOn(c) === DARK_TEXT ? WHITE : BLACK, 0.3));
  const faded = (colours: Rgb[]): Uint32Array =>
    Uint32Array.from(colours, (c) => pixel(mix(c, back, 0.72)));
  return {
    background: pixel(back),
    grid: pixel(parseHex(resolve("--grid"))),
    body: Uint32Array.from(all, pixel),
    ink: Uint32Array.from(inked, pixel),
    dim: faded(all),
    dimInk: faded(inked),
    pattern: all.map((_, style) => lookOf(style).pattern),
    text: all.map(textOn),
  };
}
