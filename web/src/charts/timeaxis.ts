// SPDX-License-Identifier: Apache-2.0
// timeaxis.ts - where a time axis has its marks and their labels. One for all charts, so that the
// line charts, the heatmap and the lanes read alike. Local time of the reader, 24 hours.

import { count } from "../format";
import { type Span, width } from "./span";

export interface Tick {
  readonly at: number;
  readonly text: string;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const APART_PX = 72; // room for 19:22:05
const APART_FINE_PX = 104; // and digits after it

const STEPS_MS = [
  ...[0.001, 0.01, 0.1, 1, 10, 100].flatMap((u) => [u, 2 * u, 5 * u]),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14, 28, 91, 364].map((n) => n * DAY),
];

/** The smallest round step that leaves at least `apart` pixels between two marks. */
export function tickStep(s: Span, pixels: number, apart: number): number {
  const least = (width(s) * apart) / Math.max(pixels, 1);
  return STEPS_MS.find((step) => step >= least) ?? DAY * 364;
}

const two = (n: number): string => String(n).padStart(2, "0");

const zoneMs = (at: number): number => new Date(at).getTimezoneOffset() * MINUTE;

function clockText(at: number, step: number): string {
  // Rounded to a nanosecond, so that 0.3 does not read 0.299999.
  const ms = Math.round(at * 1e6) / 1e6;
  const d = new Date(Math.floor(ms));
  const hm = `${two(d.getHours())}:${two(d.getMinutes())}`;
  if (step >= DAY) return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  if (step >= MINUTE) return hm;
  const s = `${hm}:${two(d.getSeconds())}`;
  if (step >= SECOND) return s;
  const digits = Math.min(6, Math.ceil(3 - Math.log10(step) - 1e-9));
  const part = (ms - Math.floor(ms / SECOND) * SECOND) / SECOND;
  return `${s}${part.toFixed(digits).slice(1)}`;
}

const CHARACTER_PX = 6.6; // a little more than a digit of the axis' font is wide

/** A word that would be cut off at the right is left out: its mark alone shows where it is. */
function textThatFits(text: string, pixelsToEdge: number): string {
  return (text.length * CHARACTER_PX) / 2 <= pixelsToEdge ? text : "";
}

/** Marks on round local times; `right` is the room for words after the last pixel. */
export function timeTicks(s: Span, pixels: number, right = Infinity): Tick[] {
  const rough = tickStep(s, pixels, APART_PX);
  const step = rough < SECOND ? tickStep(s, pixels, APART_FINE_PX) : rough;
  const zone = step >= MINUTE ? zoneMs(s.from) : 0;
  const ticks: Tick[] = [];
  for (let k = Math.ceil((s.from - zone) / step); ; k++) {
    const at = k * step + zone;
    if (at > s.to || ticks.length > 200) return ticks;
    const left = ((s.to - at) / width(s)) * pixels;
    ticks.push({ at, text: textThatFits(clockText(at, step), left + right) });
  }
}

const STEP_PX = 70;

/** Marks of an axis of training steps: whole numbers, round ones. */
export function stepTicks(s: Span, pixels: number, right = Infinity): Tick[] {
  const least = Math.max((width(s) * STEP_PX) / Math.max(pixels, 1), 1);
  const ten = 10 ** Math.floor(Math.log10(least));
  const step = ten * ([1, 2, 5].find((n) => n * ten >= least) ?? 10);
  const ticks: Tick[] = [];
  for (let at = Math.ceil(s.from / step) * step + 0; at <= s.to && ticks.length <= 200; at += step) {
    const left = ((s.to - at) / width(s)) * pixels;
    ticks.push({ at, text: textThatFits(count(at), left + right) });
  }
  return ticks;
}

export const stepText = (at: number): string => `step ${count(Math.max(Math.round(at), 0))}`;

/** What lies across: its marks, and a place on it in words. */
export interface Across {
  readonly ticks: (s: Span, pixels: number, right?: number) => Tick[];
  readonly text: (at: number, resolution?: number) => string;
}

/** A point in time as a person reads it: day, clock, and as many digits as the zoom resolves. */
export function timeText(at: number, resolutionMs = 1): string {
  const d = new Date(at);
  const day = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  return `${day} ${clockText(at, resolutionMs >= SECOND ? SECOND : Math.max(resolutionMs, 0.001))}`;
}

export const TIME: Across = { ticks: timeTicks, text: timeText };
/** Training steps: where charts have milliseconds, these have steps. */
export const STEPS: Across = { ticks: stepTicks, text: stepText };
