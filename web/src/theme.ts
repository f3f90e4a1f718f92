// SPDX-License-Identifier: Apache-2.0
// theme.ts - light or dark: as in the system settings, unless the switch overrides them. Canvas code reads
// the colours of the style sheet through `color` and draws again when `theme` changes.
import { computed, effect, signal } from "@preact/signals";

export type Theme = "light" | "dark";

const KEY = "footplate-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

const systemDark = signal(system.matches);
const chosen = signal<Theme | null>(stored());

function stored(): Theme | null {
  try {
    const t = localStorage.getItem(KEY);
    return t === "light" || t === "dark" ? t : null;
  } catch {
    return null; // storage is switched off
  }
}

export const theme = computed<Theme>(() => chosen.value ?? (systemDark.value ? "dark" : "light"));

export function toggleTheme(): void {
  chosen.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEY, chosen.value);
  } catch {
    // It then applies until the page is left.
  }
}

export function startTheme(): void {
  system.addEventListener("change", (e) => (systemDark.value = e.matches));
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
  });
}

/** The value of a CSS variable now, for canvas: color("--c1"). */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
