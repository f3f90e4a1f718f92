// SPDX-License-Identifier: Apache-2.0
// focus.ts - the focus stays on the page. What has it may be taken away (a panel that is closed,
// the button for the rest of a list, a whole view); the browser then drops it, and keyboard users
// would be at the top again. It moves to the nearest element around that still exists.

const PLACES = "[tabindex], [role=tabpanel], section, figure";

export function keepFocus(): void {
  let trail: Element[] = []; // what had the focus last, and all its ancestors
  document.addEventListener("focusin", (e) => {
    trail = [];
    for (let el = e.target instanceof Element ? e.target : null; el !== null; el = el.parentElement) trail.push(el);
  });
  // A press beside everything drops the focus on purpose; on an element, its focusin follows.
  document.addEventListener("pointerdown", () => (trail = []), { capture: true });
  const look = (): void => {
    if (document.activeElement !== document.body || trail[0] === undefined || trail[0].isConnected) return;
    const place = trail.find((el): el is HTMLElement => el instanceof HTMLElement && el.isConnected && el.matches(PLACES));
    if (place === undefined) return;
    if (!place.hasAttribute("tabindex")) place.tabIndex = -1;
    place.focus({ preventScroll: true });
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}
