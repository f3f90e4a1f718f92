// SPDX-License-Identifier: Apache-2.0
// format.test.ts - numbers on the page are those of the command line, digit for digit.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import {
  age,
  bytes,
  changePoints,
  changeSeconds,
  changeShare,
  clock,
  count,
  duration,
  fixed,
  general,
  money,
  price,
  samplesPerSecond,
  setting,
  timestamp,
  value,
} from "../src/format";

function table(rows: readonly (readonly [string, string])[]): void {
  for (const [got, want] of rows) assert.equal(got, want);
}

test("bytes have three significant digits and a binary prefix", () => {
  table([
    [bytes(0), "0 B"],
    [bytes(512), "512 B"],
    [bytes(1000), "0.977 KiB"],
    [bytes(1024), "1.00 KiB"],
    [bytes(15.36 * 1024), "15.4 KiB"],
    [bytes(9.996 * 1024), "10.0 KiB"],
    [bytes(99.96 * 1024), "100 KiB"],
    [bytes(80 * 2 ** 30), "80.0 GiB"],
  ]);
});

test("every unit is written after its number", () => {
  table([
    [value(12.34, "%"), "12.3 %"],
    [value(1572864, "B/s"), "1.50 MiB/s"],
    [value(12500, "1/s"), "12.5 k/s"],
    [value(1980, "MHz"), "1980 MHz"],
    [value(41, "C"), "41 °C"],
    [value(5, "bits"), "0x5"],
    [value(2.5, "furlongs"), "2.5 furlongs"],
    [value(0.000123456, ""), "0.000123"],
    [value(0.00001234, ""), "1.23e-05"],
    [value(12345.6, ""), "12 346"],
    [value(301023374445, "B/h"), "280 GiB/h"],
  ]);
});

test("short times are in the unit that fits", () => {
  table([
    [value(0.000085, "s"), "85 µs"],
    [value(0.0000854, "s"), "85.4 µs"],
    [value(0.01, "s"), "10 ms"],
    [value(0.0125, "s"), "12.5 ms"],
    [value(1.5, "s"), "1.5 s"],
    [duration(0.9996), "1.0 s"],
    [duration(1500), "25 min 00 s"],
    [duration(1817160), "504 h 46 min"],
  ]);
});

test("a tie is rounded to the even digit, as printf does", () => {
  table([
    [fixed(0.5, 0), "0"],
    [fixed(1.5, 0), "2"],
    [fixed(2.5, 0), "2"],
    [fixed(6.25, 1), "6.2"],
    [fixed(8.75, 1), "8.8"],
    [fixed(-6.25, 1), "-6.2"],
    [fixed(1.45, 1), "1.4"],
    [fixed(0.125, 2), "0.12"],
  ]);
});

test("what was not measured is no zero", () => {
  table([
    [value(null, "%"), "-"],
    [value(Number.NaN, "B"), "-"],
    [duration(null), "-"],
    [timestamp(null), "-"],
  ]);
});

test("counts are grouped and ages grow their unit", () => {
  table([
    [count(999), "999"],
    [count(9999), "9999"],
    [count(-12345), "-12 345"],
    [count(1234567), "1 234 567"],
    [age(1.9), "1 s ago"],
    [age(119), "119 s ago"],
    [age(7199), "119 min ago"],
    [age(200000), "2 d ago"],
  ]);
});

test("parameters of rules read as people say them", () => {
  table([
    [setting(86400, "s"), "24 h"],
    [setting(1800, "s"), "30 min"],
    [setting(90, "s"), "90 s"],
    [setting(0.5, "s"), "500 ms"],
    [setting(0, "s"), "0 s"],
    [setting(20, "%"), "20 %"],
    [setting(20, ""), "20"],
    [setting(1073741824, "B"), "1.00 GiB"],
  ]);
});

test("a rate has three digits, and from 1000 on no more than the whole number", () => {
  table([
    [samplesPerSecond(0.12345), "0.123"],
    [samplesPerSecond(12.345), "12.3"],
    [samplesPerSecond(1736.4), "1736"],
    [samplesPerSecond(53629.1), "53 629"],
    [samplesPerSecond(null), "-"],
  ]);
});

test("money has its currency, USD where none is known", () => {
  table([
    [price(5.1), "5.10 USD"],
    [price(5.1, "EUR"), "5.10 EUR"],
    [price(0.0051, null), "0.0051 USD"],
    [price(null, "EUR"), "-"],
  ]);
});

test("a timestamp has milliseconds and the zone, and the month is not one early", () => {
  table([
    [timestamp(1794752784303768630), "2026-11-15 14:26:24.303 +0000"],
    [timestamp(1767225600000000000), "2026-01-01 00:00:00.000 +0000"],
    [timestamp(Number("1767225619999999900")), "2026-01-01 00:00:20.000 +0000"],
    [timestamp(Number("1767225619999999400")), "2026-01-01 00:00:19.999 +0000"],
    [clock(1794752784303768630, 1e9), "14:26:24.303"],
    [clock(1794752784303768630, 3600e9), "14:26:24"],
  ]);
});

test("a whole millisecond is not shown as the one before it", () => {
  for (let ms = 0; ms < 1000; ms++) {
    const ns = Number(1794752784000000000n + BigInt(ms) * 1000000n);
    assert.equal(timestamp(ns).slice(20, 23), String(ms).padStart(3, "0"));
  }
});

interface StatRow {
  unit: string;
  min: number | null;
  p50: number | null;
  p90: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
}

const root = process.env["FOOTPLATE_ROOT"] ?? ".";

const KINDS: Readonly<Record<string, (v: number) => string>> = {
  "(count)": count,
  "(age)": age,
  "(money)": money,
  "(duration)": duration,
  "(points)": changePoints,
  "(change)": changeSeconds,
};

test("numbers read as the table says that the program is held to too", () => {
  const lines = readFileSync(join(root, "tests", "data", "human.tsv"), "utf8").split("\n").filter((l) => l !== "" && !l.startsWith("#"));
  assert.ok(lines.length > 100);
  for (const line of lines) {
    const [number = "", unit = "", want] = line.split("\t");
    const kind = KINDS[unit];
    assert.equal(kind === undefined ? value(Number(number), unit) : kind(Number(number)), want, line);
  }
});

test("differences have a sign", () => {
  table([
    [changeShare(0.38), "+38.0 %"],
    [changeShare(-0.0844), "-8.44 %"],
    [changeShare(4.22), "+422 %"],
    [changeShare(99.99), "+9999 %"],
    [changeShare(100), "over +10000 %"],
    [changeShare(0.00004), "0.00 %"],
    [changeShare(-0.00004), "0.00 %"],
    [changeShare(null), "-"],
    [changeSeconds(0.000403), "+403 µs"],
    [changeSeconds(-2.5), "-2.5 s"],
    [changeSeconds(0), "0 ms"],
    [changePoints(-0.9), "-0.9 points"],
    [changePoints(0), "0.0 points"],
    [general(86400), "86400"],
    [general(0.1), "0.1"],
    [general(1234567), "1.23457e+06"],
  ]);
});

const footplate = process.env["FOOTPLATE_BIN"] ?? join(root, "build", "footplate");

test("the statistics of a run read as 'footplate stats' prints them", { skip: existsSync(footplate) ? false : "the program is not built" }, () => {
  const dir = mkdtempSync(join(tmpdir(), "footplate-web-"));
  try {
    const call = (...args: string[]): string => execFileSync(footplate, [...args, "--dir", dir], { encoding: "utf8" });
    call("import", join(root, "tests", "rules", "cpu_bottleneck", "fires.scene"));
    const rows = JSON.parse(call("stats", "last", "--json")) as StatRow[];
    const printed = call("stats", "last").split("\n").slice(1);
    const measured = rows.filter((r) => r.p50 !== null);
    assert.ok(measured.length > 0);
    for (const r of measured) {
      const cells = [r.min, r.p50, r.p90, r.p95, r.p99, r.max].map((v) => value(v, r.unit));
      const want = cells.join(" ");
      assert.ok(printed.some((line) => line.replace(/ +/g, " ").includes(want)), want);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
