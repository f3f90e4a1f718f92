// SPDX-License-Identifier: Apache-2.0
// media.mjs - what each medium shows, read into plain data: documents as HTML, text and Markdown, the
// dashboard, the terminal. Nothing is judged here.
import assert from "node:assert/strict";

/** Whether a text has a figure in it. */
export const hasDigit = (text) => /\d/.test(text);

/** Runs in the browser. The blocks of a document in their order: headings, texts, names with values,
 * tables, charts; and `stray`, texts with digits that are in none of these. */
export function blocksOf(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const words = (el) => (el?.textContent ?? "").replace(/\s+/g, " ").trim();
  for (const el of page.querySelectorAll("script, style, nav, td svg, th svg, .sign, head")) el.remove();
  const cell = (el) => ({ text: words(el), v: el.dataset.v, badge: el.querySelector(".badge") !== null, rest: el.colSpan > 1 });
  const kinds = {
    table: (el) => ({
      caption: words(el.caption),
      titles: [...el.tHead.rows[0].cells].map(words),
      rows: [...el.tBodies[0].rows].map((row) => [...row.cells].map(cell)),
    }),
    "dl.facts > div": (el) => ({ name: words(el.querySelector("dt")), text: words(el.querySelector("dd")), v: el.querySelector("dd").dataset.v }),
    "dl.tiles > div": (el) => ({ name: words(el.querySelector("dt")), text: words(el.querySelector("dd")), below: words(el.querySelector("dd.below")) }),
    figure: (el) => {
      const lines = [...el.querySelectorAll("path[data-v]")].map((p) => ({ label: p.dataset.label, texts: p.dataset.v === "" ? [] : p.dataset.v.split("\t") }));
      const hints = [...el.querySelectorAll("svg *:not(text) > title")].filter((t) => t.parentNode.tagName !== "svg").map(words);
      for (const hint of el.querySelectorAll("title")) hint.remove();
      return {
        title: words(el.querySelector(".figure-title")),
        texts: [...el.querySelectorAll("text:not(.q)")].map(words),
        hints,
        lines,
        below: words(el.querySelector("figcaption")),
      };
    },
    "h1, h2, h3": (el) => ({ text: words(el) }),
    "p, li, footer": (el) => ({ text: words(el) }),
  };
  const names = ["table", "fact", "tile", "figure", "heading", "text"];
  const all = Object.keys(kinds);
  const blocks = [];
  let section = "";
  for (const el of page.body.querySelectorAll(all.join(","))) {
    if (el.parentElement?.closest(all.join(",")) !== null) continue; // it is a part of one that was taken
    const i = all.findIndex((selector) => el.matches(selector));
    if (el.matches("h2")) section = words(el);
    blocks.push({ kind: names[i], section, ...kinds[all[i]](el) });
    el.replaceChildren();
  }
  const stray = words(page.body).match(/\S*\d\S*/g) ?? [];
  return { blocks, stray };
}

/** Runs in the browser. Every table of the dashboard that is open, and its names with values. */
export function pageFigures() {
  const words = (el) => (el.innerText ?? el.textContent).replace(/\s+/g, " ").trim();
  const title = (th) => words(th).replace(/ ?[↑↓↕]$/, "");
  const plain = (td) => {
    const copy = td.cloneNode(true); // the page's own is not ours to change
    for (const sign of copy.querySelectorAll("[aria-hidden=true]")) sign.remove();
    return { text: copy.textContent.replace(/\s+/g, " ").trim() };
  };
  const tables = [...document.querySelectorAll("main table")].map((el) => ({
    caption: el.caption.textContent,
    titles: [...el.tHead.rows[0].cells].map(title),
    rows: [...el.tBodies[0].rows].map((row) => [...row.cells].map(plain)),
    of: el.closest(".insight")?.dataset.rule ?? "",
  }));
  const facts = [...document.querySelectorAll("main dl > div:not(dl dl > div)")].map((el) => ({
    name: words(el.children[0]),
    text: words(el.children[1]),
    of: el.closest(".insight")?.dataset.rule ?? "",
  }));
  return { tables, facts };
}

/** The tables in what the terminal shows: titles in capitals, cells parted by two spaces. */
export function printedTables(text) {
  const cells = (line) => line.trim().split(/ {2,}/);
  const isTitles = (line) => /^ *[A-Z][A-Z0-9/ ]*$/.test(line) && cells(line).length > 1;
  const tables = [];
  let open = null;
  for (const line of text.split("\n")) {
    if (isTitles(line)) {
      open = { titles: cells(line), rows: [] };
      tables.push(open);
      continue;
    }
    const row = cells(line);
    if (open?.titles.at(-1) === "NOTE" && row.length === open.titles.length - 1) row.push(""); // most have none
    const whole = open !== null && (row.length === open.titles.length || /(not measured: |no GPU$|no launches)/.test(row[row.length - 1]));
    if (whole && line !== "") open.rows.push(row.map((cell) => ({ text: cell })));
    else open = null;
  }
  return tables;
}

/** "label   value" lines, as `show` has them: [label, value]; a label goes on until the next. */
export function labelled(text, width) {
  let label = "";
  return text
    .split("\n")
    .filter((line) => line.length > width)
    .map((line) => {
      label = line.slice(0, width).trim() || label;
      return [label, line.slice(width).trim()];
    });
}

const unescaped = (text) => text.replace(/\\([\\`*_[\]|#~>@])/g, "$1").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
const flat = (text) => text.replace(/\s+/g, " ");

/** Text and Markdown as one line without what is only form. */
export const FLAT = {
  text: (text) => flat(text),
  markdown: (text) =>
    flat(
      text
        .split("\n")
        .filter((line) => !/^\|( -+:? \|)+$/.test(line))
        .map((line) => unescaped(line.startsWith("| ") ? line.slice(2, -2).replaceAll(/(?<!\\) \|( |$)/g, " ") : line.replace(/^(#+|>|-) /, "")).replaceAll(/^\*\*(.*?):?\*\*/g, "$1"))
        .join("\n"),
    ),
};

/** The pieces stand in the text in this order, and nothing with a digit stands between them. A piece
 * may be cut, with "..." behind it. */
export function follows(text, pieces, what) {
  let at = 0;
  for (const piece of pieces.filter((p) => p !== "" && p !== "-")) {
    const found = find(text, piece, at);
    const next = text.slice(at, at + 200);
    assert.ok(found !== null, `${what}: "${piece}" is not behind "…${text.slice(Math.max(0, at - 80), at)}", where it goes on with "${next}"`);
    const between = text.slice(at, found.from);
    assert.ok(!hasDigit(between), `${what}: "${between}" stands before "${piece}" and in no other medium`);
    at = found.to;
  }
  assert.ok(!hasDigit(text.slice(at)), `${what}: "${text.slice(at)}" stands at the end`);
}

function find(text, piece, at) {
  const whole = flat(piece);
  const from = text.indexOf(whole, at);
  const cut = cutAt(text, whole, at);
  if (from < 0 || (cut !== null && cut.from < from)) return cut;
  return { from, to: from + whole.length };
}

const LEAST_CUT = 20;

function cutAt(text, whole, at) {
  if (whole.length <= LEAST_CUT) return null;
  const from = text.indexOf(whole.slice(0, LEAST_CUT), at);
  const dots = from < 0 ? -1 : text.indexOf("...", from + LEAST_CUT);
  if (dots < 0 || !whole.startsWith(text.slice(from, dots))) return null;
  return { from, to: dots + 3 };
}
