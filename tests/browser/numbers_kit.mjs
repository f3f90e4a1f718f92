// SPDX-License-Identifier: Apache-2.0
// numbers_kit.mjs - comparing what media.mjs read with what figures.mjs expects.
import assert from "node:assert/strict";

import { hasDigit } from "./media.mjs";

/** What is wanted of a cell: its texts (any of them) and the JSON's number. */
function wanted(want) {
  const { of, text } = typeof want === "object" && !Array.isArray(want) ? want : { text: want };
  return { of, texts: [text].flat() };
}

/** A text as shown is the one wanted; the number beside it is the JSON's own. */
export function same(shown, want, what) {
  const { of, texts } = wanted(want);
  if (!texts.includes(shown.text)) assert.equal(shown.text, texts.join(" | "), what);
  if (shown.v === undefined || shown.badge || of === undefined) return;
  assert.equal(Number(shown.v), of, `${what}: the number beside "${shown.text}"`);
}

const LEAST_ROWS = 8;

/** Every cell of a table as it is shown; a column that nobody expects is an error. */
export function sameTable(shown, spec, d, what) {
  assert.ok(spec !== undefined, `${what} "${shown.caption ?? shown.titles.join(" ")}" is in no list of figures`);
  const rows = spec.rows(d);
  const columns = shown.titles.map((title) => {
    const column = spec.columns[title.toLowerCase()];
    assert.ok(column !== undefined, `${what}: the column "${title}" is in no list of figures`);
    return column;
  });
  assert.ok(shown.rows.length <= rows.length && shown.rows.length >= Math.min(rows.length, LEAST_ROWS), `${what}: ${shown.rows.length} rows of ${rows.length}`);
  shown.rows.forEach((row, i) => {
    row.forEach((cell, k) => {
      const where = `${what}: ${shown.titles[k]} of row ${i} (${row[0].text} ${row[1]?.text ?? ""})`;
      const isRest = k === row.length - 1 && row.length < columns.length;
      same(cell, isRest ? spec.rest(rows[i], d) : columns[k](rows[i], d), where);
    });
  });
}

const isCutOf = (text, labels) => text.endsWith("…") && labels.some((label) => label.startsWith(text.slice(0, -1)));

/** A chart says its figures in words, under the pointer and along its lines. */
export function sameChart(shown, want, what) {
  assert.ok(want !== undefined, `${what} "${shown.title}" is in no list of figures`);
  const { texts = [], hints = [], lines = [], below = "" } = want;
  const all = new Set([...texts, ...hints]);
  for (const text of [...shown.texts, ...shown.hints].filter(hasDigit))
    assert.ok(all.has(text) || isCutOf(text, texts) || want.labels, `${what} "${shown.title}" shows "${text}", expected one of:\n${[...all].join("\n")}`);
  for (const hint of hints) assert.ok(shown.hints.includes(hint), `${what} "${shown.title}" lacks "${hint}" under the pointer, it has:\n${shown.hints.join("\n")}`);
  for (const text of texts.filter(hasDigit))
    assert.ok(shown.texts.some((t) => t === text || isCutOf(t, [text])), `${what} "${shown.title}" lacks "${text}", it has:\n${shown.texts.join("\n")}`);
  assert.deepEqual(shown.lines.map((l) => l.label), lines.map(([label]) => label.slice(0, 60)), `${what} "${shown.title}"`);
  lines.forEach(([label, values], i) => assert.deepEqual(shown.lines[i].texts, values, `${what} "${shown.title}", ${label}`));
  if (hasDigit(shown.below)) assert.equal(shown.below, below, `${what} "${shown.title}"`);
}

/** Two documents of the same thing: what both have is equal, number for number. */
export function agree(a, b, where) {
  if (Array.isArray(a) && Array.isArray(b)) {
    assert.equal(a.length, b.length, `${where}: how many`);
    a.forEach((x, i) => agree(x, b[i], `${where}[${i}]`));
  } else if (a !== null && b !== null && typeof a === "object" && typeof b === "object") {
    const both = Object.keys(a).filter((key) => key in b);
    assert.ok(both.length > 0 || Object.keys(a).length === 0, `${where}: nothing in common`);
    for (const key of both) agree(a[key], b[key], `${where}.${key}`);
  } else assert.equal(a, b, where);
}
