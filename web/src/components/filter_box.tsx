// SPDX-License-Identifier: Apache-2.0
// filter_box.tsx - words that filter what is below; they are a parameter of the address.
import { params, setParam } from "../state";

/** Whether a text has all the words of a filter, in any order. */
export function hasWords(text: string, filter: string): boolean {
  const all = text.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}

export function FilterBox(p: { label: string; hint: string; param: string }) {
  return (
    <input
      type="search"
      aria-label={p.label}
      placeholder={p.hint}
      value={params.value[p.param] ?? ""}
      onInput={(e) => setParam(p.param, e.currentTarget.value)}
    />
  );
}
