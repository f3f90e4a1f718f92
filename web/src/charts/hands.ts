// SPDX-License-Identifier: Apache-2.0
// hands.ts - what every surface that is worked with pointer and keys has in common: its listeners, and
// two fingers that pinch. The surface defines what a gesture means there.

import { type Span, zoom } from "./span";

export interface Hands {
  down(e: PointerEvent): void;
  move(e: PointerEvent): void;
  /** Let go, or taken away by the browser ("pointercancel"). */
  up(e: PointerEvent): void;
  leave(): void;
  wheel(e: WheelEvent): void;
  double(): void;
  /** What the key does here; a key that does nothing is left to the page. */
  key(e: KeyboardEvent): (() => void) | null;
}

/** Listens on the element until the signal is aborted. */
export function listen(el: HTMLElement, hands: Hands, signal: AbortSignal): void {
  const on = { signal };
  el.addEventListener("pointerdown", (e) => hands.down(e), on);
  el.addEventListener("pointermove", (e) => hands.move(e), on);
  el.addEventListener("pointerup", (e) => hands.up(e), on);
  el.addEventListener("pointercancel", (e) => hands.up(e), on);
  el.addEventListener("pointerleave", () => hands.leave(), on);
  el.addEventListener("wheel", (e) => hands.wheel(e), { signal, passive: false });
  el.addEventListener("dblclick", () => hands.double(), on);
  el.addEventListener("keydown", (e) => {
    const act = hands.key(e);
    if (act === null) return;
    e.preventDefault();
    act();
  }, on);
}

const NEAREST_PX = 10; // fingers closer than this count as this far apart

/** Two fingers: the times under them stay under them. Gives the window for where they are now. */
export function pinch(begun: Span, fingers: () => readonly [number, number], timeAt: (x: number) => number): () => Span {
  const apart = (): number => {
    const [p, q] = fingers();
    return Math.max(Math.abs(p - q), NEAREST_PX);
  };
  const [p, q] = fingers();
  const first = apart();
  const around = timeAt((p + q) / 2);
  return () => zoom(begun, around, first / apart());
}
