// SPDX-License-Identifier: Apache-2.0
// basics.tsx - the small parts that every view is put together from.
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

type Children = { children?: ComponentChildren };

/** A titled box. `actions` sits at the right of the title. */
export function Card(
  p: Children & { title?: string; hint?: ComponentChildren; actions?: ComponentChildren; class?: string; id?: string },
) {
  const id = useId();
  return (
    <section class={`card ${p.class ?? ""}`} id={p.id} aria-labelledby={p.title === undefined ? undefined : id}>
      {p.title !== undefined && (
        <header class="card-head">
          <h2 id={id}>{p.title}</h2>
          {p.hint !== undefined && <span class="hint">{p.hint}</span>}
          {p.actions !== undefined && <div class="card-actions">{p.actions}</div>}
        </header>
      )}
      {p.children}
    </section>
  );
}

/** A button. `why` is what is missing for it to work; it then stays focusable, so that the reason can be read. */
export function Button(
  p: Children & {
    onClick: () => void;
    kind?: "plain" | "primary" | "danger" | "quiet";
    why?: string | null;
    label?: string;
    pressed?: boolean;
    expanded?: boolean;
    type?: "button" | "submit";
  },
) {
  const off = p.why !== undefined && p.why !== null;
  return (
    <button
      type={p.type ?? "button"}
      class={`button ${p.kind ?? "plain"}`}
      aria-label={p.label}
      aria-pressed={p.pressed}
      aria-expanded={p.expanded}
      aria-disabled={off ? "true" : undefined}
      title={off ? (p.why ?? undefined) : p.label}
      data-why={off ? p.why : undefined}
      onClick={(e) => {
        if (off) e.preventDefault();
        else p.onClick();
      }}
    >
      {p.children}
    </button>
  );
}

/** A coloured word; the icon means the same without the colour. */
export function Badge(p: Children & { kind: "good" | "info" | "warning" | "critical" | "neutral" | "live"; icon?: string }) {
  return (
    <span class={`badge ${p.kind}`}>
      {p.icon !== undefined && <span aria-hidden="true">{p.icon} </span>}
      {p.children}
    </span>
  );
}

/** A share of 0..1 as a bar with its number beside it. */
export function Bar(p: { share: number; text: string; tone?: string }) {
  return (
    <span class="bar">
      <span class="bar-track" aria-hidden="true">
        <span
          class="bar-fill"
          style={{ width: `${Math.min(100, Math.max(0, p.share * 100))}%`, background: p.tone ?? "var(--accent)" }}
        />
      </span>
      <span class="num">{p.text}</span>
    </span>
  );
}

/** The colour, and beside it the word, of a thing in a chart. */
export function Swatch(p: Children & { color: string }) {
  return (
    <span class="swatch">
      <i style={{ background: p.color }} aria-hidden="true" />
      {p.children}
    </span>
  );
}

export interface LegendItem {
  readonly key: string;
  readonly color: string;
  readonly text: ComponentChildren;
}

/** What the colours of a chart mean. Further notes are further <li>. */
export function Legend(p: Children & { items: readonly LegendItem[] }) {
  return (
    <ul class="legend">
      {p.items.map((item) => (
        <li key={item.key}>
          <Swatch color={item.color}>{item.text}</Swatch>
        </li>
      ))}
      {p.children}
    </ul>
  );
}

export function Field(p: { label: string; children: (id: string) => JSX.Element }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{p.label}</label>
      {p.children(id)}
    </div>
  );
}

/** A choice of a few, as a row of buttons of which one is pressed. */
export function Choice<T extends string>(p: {
  label: string;
  value: T;
  options: readonly { value: T; text: string }[];
  onChange: (v: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={p.label}>
      {p.options.map((o) => (
        <button key={o.value} type="button" aria-pressed={o.value === p.value} onClick={() => p.onChange(o.value)}>
          {o.text}
        </button>
      ))}
    </div>
  );
}
