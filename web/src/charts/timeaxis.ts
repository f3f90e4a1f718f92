// SPDX-License-Identifier: Apache-2.0
// timeaxis.ts - where a time axis has its marks and what they say. One for all charts, so that the
// line charts, the heatmap and the lanes read alike. Local time of the reader, 24 hours.

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
const APART_FINE_PX = 104; // and digits behind it

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

/** A word that would be cut off at the right is left out: its mark alone says where it is. */
function textThatFits(text: string, pixelsToEdge: number): string {
  return (text.length * CHARACTER_PX) / 2 <= pixelsToEdge ? text : "";
}

/** Marks on round local times; `right` is the room that words have behind the last pixel. */
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

/** A point in time as a person reads it: day, clock, and as many digits as the zoom resolves. */
export function timeText(at: number, resolutionMs = 1): string {
  const d = new Date(at);
  const day = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  return `${day} ${clockText(at, resolutionMs >= SECOND ? SECOND : Math.max(resolutionMs, 0.001))}`;
}
