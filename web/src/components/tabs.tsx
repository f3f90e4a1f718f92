// SPDX-License-Identifier: Apache-2.0
// tabs.tsx - a row of tabs: arrow keys, Home and End move, as the ARIA practices require.
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

export interface Tab {
  id: string;
  title: string;
}

function target(key: string, at: number, n: number): number | null {
  if (key === "ArrowRight") return (at + 1) % n;
  if (key === "ArrowLeft") return (at + n - 1) % n;
  if (key === "Home") return 0;
  return key === "End" ? n - 1 : null;
}

export function Tabs(p: {
  label: string;
  tabs: readonly Tab[];
  selected: string;
  onSelect: (id: string) => void;
  children?: ComponentChildren;
}) {
  const row = useRef<HTMLDivElement>(null);
  const onKey = (e: KeyboardEvent): void => {
    const at = p.tabs.findIndex((t) => t.id === p.selected);
    const to = target(e.key, at, p.tabs.length);
    const tab = to === null ? undefined : p.tabs[to];
    if (tab === undefined) return;
    e.preventDefault();
    p.onSelect(tab.id);
    row.current?.querySelector<HTMLElement>(`#tab-${tab.id}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={p.label} ref={row} onKeyDown={onKey}>
        {p.tabs.map((t) => (
          <button
            key={t.id}
            id={`tab-${t.id}`}
            type="button"
            class="bare"
            role="tab"
            aria-selected={t.id === p.selected}
            aria-controls="tab-panel"
            tabIndex={t.id === p.selected ? 0 : -1}
            onClick={() => p.onSelect(t.id)}
          >
            {t.title}
          </button>
        ))}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${p.selected}`}>
        {p.children}
      </div>
    </>
  );
}
