// SPDX-License-Identifier: Apache-2.0
// rows.mjs - writes made/rows.ts: a type for each kind of row, from the tables that the program writes its
// JSON from (src/*/*_rows.def; src/base/row_table.h explains them); and of src/report/colours.def, which
// the report has too, made/colours.css and made/looks.ts; and the frameworks of src/tables/stepsview.h. The page is built before the program, so this
// reads the files itself. `node rows.mjs` writes it; build.mjs and the tests do.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, "..", "src");
const made = join(here, "made");

const types = { int: "number", ns: "number", number: "number", text: "string", bool: "boolean" };
types.any = "number | string | null";
types.object = "Record<string, unknown>";

/** The tables of all folders, in a stable order. */
function files() {
  return readdirSync(source, { withFileTypes: true })
    .filter((folder) => folder.isDirectory())
    .flatMap((folder) => readdirSync(join(source, folder.name)).map((name) => join(source, folder.name, name)))
    .filter((path) => path.endsWith("_rows.def"))
    .sort();
}

// The index after the string or bracket that begins at `i`.
function skip(text, i) {
  if (text[i] === '"') {
    for (i++; text[i] !== '"'; i++) if (text[i] === "\\") i++;
    return i + 1;
  }
  for (i++; text[i] !== ")"; ) i = text[i] === "(" || text[i] === '"' ? skip(text, i) : i + 1;
  return i + 1;
}

function split(text) {
  const parts = [];
  let from = 0;
  for (let i = 0; i < text.length; ) {
    if (text[i] === ",") {
      parts.push(text.slice(from, i));
      from = i + 1;
    }
    i = text[i] === "(" || text[i] === '"' ? skip(text, i) : i + 1;
  }
  return [...parts, text.slice(from)].map((part) => part.trim());
}

/** NAME(argument, ...) one after the other: [name, arguments]. */
export function calls(text) {
  const plain = text.replace(/\/\*.*?\*\//gs, "");
  const found = [];
  const name = /[A-Z_]+(?=\()/g;
  for (let at = name.exec(plain); at; at = name.exec(plain)) {
    const open = name.lastIndex;
    const end = skip(plain, open);
    found.push([at[0], split(plain.slice(open + 1, end - 1))]);
    name.lastIndex = end;
  }
  return found;
}

function literal(text) {
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => JSON.parse(`"${m[1]}"`)).join("");
}

/** "int_or_null" as TypeScript; notes words that types.ts defines. */
function typeOf(text, words) {
  const [, plain, orNull, word] = text.match(/^([a-z]+?)(_or_null)?(?:\((\w+)\))?$/);
  if (plain === "word") words.add(word);
  const type = plain === "word" ? word : types[plain];
  if (!type) throw new Error(`rows: type '${text}' is not known`);
  return orNull ? `${type} | null` : type;
}

const list = (type) => (type.includes(" ") ? `(${type})[]` : `${type}[]`);

// For each macro: the TypeScript of the key, of its arguments.
const fields = {
  KEY: ([name, type], words) => `${name}: ${typeOf(type, words)}`,
  FIELD: ([name, type], words) => `${name}: ${typeOf(type, words)}`,
  OBJECT: ([name, row]) => `${name}: ${row}`,
  OBJECT_OR_NULL: ([name, row]) => `${name}: ${row} | null`,
  LIST: ([name, row]) => `${name}: ${list(row)}`,
  LIST_OF: ([name, row]) => `${name}: ${list(row)}`,
  ARRAY: ([name, type], words) => `${name}: ${list(typeOf(type, words))}`,
  MAP: ([name, type], words) => `${name}: Record<string, ${typeOf(type, words)}>`,
  // The key of the field inside, which may be absent.
  WHEN: ([, field], words) => line(...calls(field)[0], words).replace(":", "?:"),
  MAP_OR_NULL: ([name, type], words) => `${name}: Record<string, ${typeOf(type, words)}> | null`,
};

const line = (macro, args, words) => fields[macro](args, words);
const helpOf = (macro, args) => (macro === "WHEN" ? helpOf(...calls(args[1])[0]) : literal(args.at(-1)));

/** The rows of the given .def texts as TypeScript. */
export function rowsOf(texts) {
  const words = new Set();
  const rows = [];
  for (const [macro, args] of texts.flatMap(calls)) {
    const row = rows.at(-1);
    if (macro === "ROW") rows.push({ id: args[0], help: literal(args[2]), bases: [], lines: [] });
    else if (macro === "EMBED") row.bases.push(args[0]);
    else if (macro !== "ROW_END") {
      const help = helpOf(macro, args);
      if (help) row.lines.push(`  /** ${help} */`);
      row.lines.push(`  ${line(macro, args, words)};`);
    }
  }
  const out = ["// Written by rows.mjs from src/*/*_rows.def; not in git."];
  if (words.size) out.push(`import type { ${[...words].sort().join(", ")} } from "../src/types";`);
  for (const { id, help, bases, lines } of rows) {
    const extended = bases.length ? ` extends ${bases.join(", ")}` : "";
    out.push("", `/** ${help} */`, `export interface ${id}${extended} {`, ...lines, "}");
  }
  return `${out.join("\n")}\n`;
}

const variable = (name) => `--${name.replaceAll("_", "-")}`;

/** The colours of colours.def as a style sheet with both themes. */
export function coloursOf(text) {
  const rows = calls(text).filter(([macro]) => macro === "COLOUR");
  const theme = (root, column) =>
    [`${root} {`, ...rows.map(([, args]) => `  ${variable(args[0])}: ${literal(args[column])};`), "}"].join("\n");
  return `${theme(":root", 1)}\n${theme(':root[data-theme="dark"]', 2)}\n`;
}

/** Whose steps need no marks, from stepsview.h. */
export function stepsOf(text) {
  const [, list] = /#define STEPS_OF[\s\\]+"(.+)"/.exec(text);
  return `export const STEPS_OF = ${JSON.stringify(list)};\n`;
}

/** Its phases and parts of a step, as TypeScript. */
export function looksOf(text) {
  const rows = calls(text).filter(([macro]) => macro === "LOOK");
  const line = ([, [key, title, colour]]) => `  ${key}: { title: ${JSON.stringify(literal(title))}, color: "${variable(colour)}" },`;
  return `// Written by rows.mjs from src/report/colours.def; not in git.\nexport const LOOKS = {\n${rows.map(line).join("\n")}\n} as const;\n`;
}

// Where it differs, so that a build sees no change where there is none.
function write(name, text) {
  const target = join(made, name);
  let before = "";
  try {
    before = readFileSync(target, "utf8");
  } catch {}
  if (text === before) return;
  mkdirSync(made, { recursive: true });
  writeFileSync(target, text);
}

/** Writes all of made/. */
export function writeRows() {
  const colours = readFileSync(join(source, "report", "colours.def"), "utf8");
  write("rows.ts", rowsOf(files().map((path) => readFileSync(path, "utf8"))));
  write("colours.css", coloursOf(colours));
  write("looks.ts", looksOf(colours));
  write("steps_of.ts", stepsOf(readFileSync(join(source, "tables", "stepsview.h"), "utf8")));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) writeRows();
