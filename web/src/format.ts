// SPDX-License-Identifier: Apache-2.0
// format.ts - the only place where numbers become text, digit for digit as the command line prints them
// (src/base/human.c and clock.c; tests/data/human.tsv tests both for the same texts): at most three
// significant digits where more mean nothing, always with the unit. Not measured is "-".

/** Whether a text is a zero. */
const isZero = (text: string): boolean => !/[1-9]/.test(text);

/** printf("%.*f"), where what rounds to zero has no sign. */
export function fixed(v: number, places: number): string {
  const text = printed(v, places);
  return text.startsWith("-") && isZero(text) ? text.slice(1) : text;
}

/** As toFixed, but a tie goes to the even digit. */
function printed(v: number, places: number): string {
  const up = v.toFixed(places);
  // Only a number with at most places + 1 binary digits after the point can be a tie.
  if (!Number.isInteger(v * 2 ** (places + 1))) return up;
  const scaled = Math.abs(v) * 10 ** places;
  if (scaled % 1 !== 0.5 || Math.floor(scaled) % 2 === 1) return up;
  return `${v < 0 ? "-" : ""}${(Math.floor(scaled) / 10 ** places).toFixed(places)}`;
}

/** printf("%.*g"): so many significant digits, without zeros at the end. */
export function general(v: number, digits = 6): string {
  if (v === 0) return "0";
  const [mantissa = "", exponentText] = v.toExponential(digits - 1).split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < digits) return trimZeros(fixed(v, digits - 1 - exponent));
  return `${trimZeros(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function trimZeros(number: string): string {
  return number.includes(".") ? number.replace(/\.?0+$/, "") : number;
}

/** Digits after the point that make three significant ones of a value below 1000. */
function decimals(v: number): number {
  const a = Math.abs(v);
  if (a === 0 || a >= 99.95) return 0;
  if (a >= 9.995) return 1;
  return a >= 0.9995 ? 2 : 3;
}

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] as const;
const DECIMAL = ["", "k", "M", "G"] as const;

function scaled(v: number, base: number, prefixes: readonly string[], unit: string): string {
  let i = 0;
  while (i + 1 < prefixes.length && Math.abs(v) >= 999.5) {
    v /= base;
    i++;
  }
  const places = i === 0 && v === Math.floor(v) ? 0 : decimals(v);
  return `${fixed(v, places)} ${prefixes[i] ?? ""}${unit}`;
}

export function bytes(v: number): string {
  return scaled(v, 1024, BINARY, "B");
}

/** Digits in groups of three from five digits on: 9999, 12 345. */
function grouped(digits: string): string {
  return digits.replace(/^-?/, "").length < 5 ? digits : digits.replace(/\B(?=(\d{3})+(?!\d))/g, " ");
}

/** 9999, 1 234 567 */
export function count(n: number): string {
  return grouped(Math.round(n).toFixed(0));
}

/** 6.1 s, 25 min 00 s, 504 h 46 min */
export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined) return "-";
  if (!Number.isFinite(seconds)) return "?";
  const s = Math.abs(seconds);
  const sign = seconds < 0 && s * 1e3 > 0.5 ? "-" : ""; // there is no "-0 ms"
  const two = (v: number): string => String(Math.floor(v)).padStart(2, "0");
  if (s < 0.9995) return `${sign}${fixed(s * 1e3, 0)} ms`;
  if (s < 120) return `${sign}${fixed(s, 1)} s`;
  if (s < 7200) return `${sign}${Math.floor(s / 60)} min ${two(s % 60)} s`;
  return `${sign}${Math.floor(s / 3600)} h ${two((s % 3600) / 60)} min`;
}

function seconds(v: number): string {
  if (v === 0 || Math.abs(v) >= 0.9995) return duration(v); // what would round up to 1000 ms is a second
  const small = Math.abs(v) < 999.5e-6;
  const inUnit = v * (small ? 1e6 : 1e3);
  // The product of a round number need not be round.
  const whole = Math.abs(inUnit - Math.round(inUnit)) < 1e-9;
  return `${fixed(inUnit, whole ? 0 : decimals(inUnit))} ${small ? "µs" : "ms"}`;
}

function plain(v: number): string {
  const whole = (v === Math.floor(v) || Math.abs(v) >= 999.5) && Math.abs(v) < 1e18;
  return whole ? grouped(fixed(v, 0)) : general(v, 3);
}

const BY_UNIT: Readonly<Record<string, (v: number) => string>> = {
  "": plain,
  "%": (v) => `${fixed(v, 1)} %`,
  B: bytes,
  "B/s": (v) => scaled(v, 1024, BINARY, "B/s"),
  "1/s": (v) => scaled(v, 1000, DECIMAL, "/s"),
  s: seconds,
  C: (v) => `${fixed(v, 0)} °C`,
  marks: (v) => `${plain(v)} ${v === 1 ? "mark" : "marks"}`,
  bits: (v) => `0x${v > 0 && v < 2 ** 63 ? BigInt(Math.floor(v)).toString(16) : "0"}`,
};

/** A value of a metric with its unit ("%", "B/s", "s", "C"...). */
export function value(v: number | null | undefined, unit: string): string {
  if (v === null || v === undefined || Number.isNaN(v)) return "-";
  const known = BY_UNIT[unit];
  if (known !== undefined) return known(v);
  if (unit.startsWith("B/")) return scaled(v, 1024, BINARY, unit); // B/h
  return `${plain(v)} ${unit}`;
}

const PERIODS = [
  ["h", 3600],
  ["min", 60],
] as const;

/** A parameter of a rule in the largest whole unit: 24 h, 30 min, 500 ms, 20 %. */
export function setting(v: number, unit: string): string {
  if (unit !== "s") return unit === "%" ? `${general(v)} %` : value(v, unit);
  const [name, size] = PERIODS.find(([, s]) => v >= s && v % s === 0) ?? ["s", 1];
  return v !== 0 && v < 1 ? seconds(v) : `${general(v / size)} ${name}`;
}

/** A share of 0..1 as "12.3 %". */
export function share(v: number | null | undefined): string {
  return value(v === null || v === undefined ? v : v * 100, "%");
}

/** A percentage that is already 0..100. */
export function percent(v: number | null | undefined): string {
  return value(v, "%");
}

/** The currency of prices where the run has none. */
export const DEFAULT_CURRENCY = "USD";

/** 6.16: to the cent, below 1 to a hundredth of it. The number of a price: shown only with its currency. */
export function money(v: number | null | undefined): string {
  return v === null || v === undefined ? "-" : fixed(v, Math.abs(v) < 1 ? 4 : 2);
}

/** 6.16 USD */
export function price(v: number | null | undefined, currency: string | null = DEFAULT_CURRENCY): string {
  return v === null || v === undefined ? "-" : `${money(v)} ${currency ?? DEFAULT_CURRENCY}`;
}

/** 20.2 J, 4.21 kJ (1.17 Wh), 2.3 kWh */
export function joules(v: number | null | undefined): string {
  if (v === null || v === undefined) return "-";
  const three = (x: number, unit: string): string => `${fixed(x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0)} ${unit}`;
  if (v > 0 && v < 0.9995) return three(v * 1e3, "mJ");
  if (v < 999.5) return three(v, "J");
  const wh = v / 3600;
  const hours = wh < 999.5 ? three(wh, "Wh") : three(wh / 1e3, "kWh");
  const text = v < 999.5e3 ? three(v / 1e3, "kJ") : v < 999.5e6 ? three(v / 1e6, "MJ") : three(v / 1e9, "GJ");
  return `${text} (${hours})`;
}

/** A rate under the title "Samples/s": 12.3, 1736, 53 629. */
export function samplesPerSecond(v: number | null | undefined): string {
  return value(v, "");
}

/** The text of |v| with the sign of a difference; none where it is zero. */
const signed = (v: number, text: string): string => `${isZero(text) ? "" : v < 0 ? "-" : "+"}${text}`;

/** +2.40 %: what one side has more than the other, as a share of 0..1. */
export function changeShare(v: number | null | undefined): string {
  if (v === null || v === undefined) return "-";
  const a = Math.abs(v) * 100;
  if (a >= 10000) return `over ${v < 0 ? "-" : "+"}10000 %`;
  return signed(v, `${fixed(a, a < 9.995 ? 2 : a < 99.95 ? 1 : 0)} %`);
}

/** +12.4 ms */
export function changeSeconds(v: number | null | undefined): string {
  return v === null || v === undefined ? "-" : signed(v, value(Math.abs(v), "s"));
}

/** +1.50 MiB/s */
export function changeValue(v: number | null | undefined, unit: string): string {
  return v === null || v === undefined ? "-" : signed(v, value(Math.abs(v), unit));
}

/** +0.9 points, of something that is itself in percent. */
export function changePoints(v: number | null | undefined): string {
  return v === null || v === undefined ? "-" : signed(v, `${fixed(Math.abs(v), 1)} points`);
}

/** 3 s ago, 2 h ago */
export function age(s: number): string {
  s = Math.max(0, s);
  if (s < 120) return `${Math.floor(s)} s ago`;
  if (s < 7200) return `${Math.floor(s / 60)} min ago`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} d ago`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}

function dayText(d: Date): string {
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

function clockText(d: Date): string {
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

function zoneText(d: Date): string {
  const minutes = -d.getTimezoneOffset();
  const a = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(a / 60))}${two(a % 60)}`;
}

/** The zone of the times on the page, shown once: UTC, UTC+01:00. */
export function zone(ns: number | null | undefined): string {
  const z = zoneText(ns === null || ns === undefined ? new Date() : dateOf(ns));
  return z === "+0000" ? "UTC" : `UTC${z.slice(0, 3)}:${z.slice(3)}`;
}

/** A time as a double is up to 128 ns early: a whole millisecond must not become the one before. */
const EARLY_MS = 0.00025;

function dateOf(ns: number): Date {
  return new Date(Math.floor(ns / 1e6 + EARLY_MS));
}

/** 2026-11-15 14:26:24.303 +0000, in the zone of the browser. */
export function timestamp(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return "-";
  const d = dateOf(ns);
  const ms = String(d.getMilliseconds()).padStart(3, "0");
  return `${dayText(d)} ${clockText(d)}.${ms} ${zoneText(d)}`;
}

/** 2026-11-15 14:26:24 */
export function dateTime(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return "-";
  const d = dateOf(ns);
  return `${dayText(d)} ${clockText(d)}`;
}

/** 14:26:24, with as many digits after the point as a span of this many ns needs. */
export function clock(ns: number, spanNs = 1e12): string {
  const d = dateOf(ns);
  const digits = spanNs >= 60e9 ? 0 : spanNs >= 1e8 ? 3 : 6;
  if (digits === 0) return clockText(d);
  const part = Math.floor((ns % 1e9) / 10 ** (9 - digits));
  return `${clockText(d)}.${String(part).padStart(digits, "0")}`;
}

/** rank 0, or "no rank" where the job reported none. */
export function rankText(rank: number | null): string {
  return rank === null ? "no rank" : `rank ${rank}`;
}
