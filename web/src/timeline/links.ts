// SPDX-License-Identifier: Apache-2.0
// links.ts - ways into the Timeline tab from other views.
import { batch } from "@preact/signals";

import { setWindow, showTab } from "../state";

/** Shows a time range with a margin. */
export function showInTimeline(start_ns: number, duration_s: number): void {
  const length = duration_s * 1e9;
  batch(() => {
    setWindow({ from: start_ns - length * 0.25, to: start_ns + length * 1.25 });
    showTab("timeline");
  });
}
