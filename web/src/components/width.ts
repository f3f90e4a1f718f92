// SPDX-License-Identifier: Apache-2.0
// width.ts - for what is drawn to the pixel: how wide its place on the page is.
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** The width that a component has, and the element to measure. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(0);
  useLayoutEffect(() => {
    const el = box.current;
    if (el === null) return undefined;
    setWide(el.clientWidth);
    const size = new ResizeObserver(() => setWide(el.clientWidth));
    size.observe(el);
    return () => size.disconnect();
  }, []);
  return [box, wide];
}
