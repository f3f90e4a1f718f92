// SPDX-License-Identifier: Apache-2.0
// Types of rows, from the text of a table.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { STEPS_OF } from "../src/words";

const { rowsOf } = (await import(join(process.env["FOOTPLATE_ROOT"] ?? "", "web", "rows.mjs"))) as { rowsOf: (texts: string[]) => string };

const linesOf = (text: string): string[] => rowsOf([text]).split("\n").filter((line) => line.startsWith("  ") || line.startsWith("export") || line.startsWith("import"));

test("a field of each type becomes a key", () => {
  const text = `/* a table, (with "signs") */
    ROW(Cart, struct cart, "A cart.")
    FIELD(owner, text_or_null, x->owner ? f(x, "a, (b") : NULL, "Who " "owns it.")
    FIELD(mode, word(Mode), names[x->mode], "")
    KEY(load_kg, number, "")
    ARRAY(sizes, int_or_null, row_ints(x->v, x->n), "")
    MAP(parts, number_or_null, "s", 2, part_at, "")
    MAP_OR_NULL(held, number, x->held, 2, held_at, "")
    ROW_END(Cart)`;
  assert.deepEqual(linesOf(text), [
    'import type { Mode } from "../src/types";',
    "export interface Cart {",
    "  /** Who owns it. */",
    "  owner: string | null;",
    "  mode: Mode;",
    "  load_kg: number;",
    "  sizes: (number | null)[];",
    "  parts: Record<string, number | null>;",
    "  held: Record<string, number> | null;",
  ]);
});

test("rows inside a row, and keys that may be absent", () => {
  const text = `ROW(Cart, struct cart, "") EMBED(Thing, x->thing) LIST(wheels, Wheel, x->v, x->n, "")
    OBJECT_OR_NULL(spare, Wheel, x->spare, "") WHEN(x->a && f(x, 1), FIELD(name, text, x->name, "Its name.")) ROW_END(Cart)`;
  assert.deepEqual(linesOf(text), [
    "export interface Cart extends Thing {",
    "  wheels: Wheel[];",
    "  spare: Wheel | null;",
    "  /** Its name. */",
    "  name?: string;",
  ]);
});

test("a type that is not known is refused", () => {
  assert.throws(() => rowsOf(['ROW(Cart, struct cart, "") FIELD(x, float, x->x, "") ROW_END(Cart)']), /type 'float' is not known/);
});

test("a colour of the report is a variable of both themes, a phase has its name and colour from there", async () => {
  const { coloursOf, looksOf } = (await import(join(process.env["FOOTPLATE_ROOT"] ?? "", "web", "rows.mjs"))) as Record<"coloursOf" | "looksOf", (text: string) => string>;
  const text = 'COLOUR(phase_train, "#0072b2", "#3d9be0")\nLOOK(train, "Training", phase_train)\n';
  assert.equal(coloursOf(text), ':root {\n  --phase-train: #0072b2;\n}\n:root[data-theme="dark"] {\n  --phase-train: #3d9be0;\n}\n');
  assert.match(looksOf(text), /^ {2}train: \{ title: "Training", color: "--phase-train" \},$/m);
});

test("the page names the frameworks that the program names", async () => {
  const root = process.env["FOOTPLATE_ROOT"] ?? "";
  const { stepsOf } = (await import(join(root, "web", "rows.mjs"))) as Record<"stepsOf", (text: string) => string>;
  assert.equal(stepsOf('#define STEPS_OF            \\\n    "A (B) and C"\n'), 'export const STEPS_OF = "A (B) and C";\n');
  for (const name of ["PyTorch", "Keras", "JAX", "XGBoost", "LightGBM"]) assert.match(STEPS_OF, new RegExp(name));
});
