// SPDX-License-Identifier: Apache-2.0
// nodes_bar.tsx - the bar above charts that share a window: which node, which time, zoom.
import { useEffect, useState } from "preact/hooks";

import { width } from "../charts/span";
import type { TimeSync } from "../charts/sync";
import { timeText } from "../charts/timeaxis";
import { Button, Field } from "../components/basics";
import { value } from "../format";
import { node } from "../state";
import type { RunInfo } from "../types";

/** The window in words, as state of a component. */
function useWindowText(sync: TimeSync): { text: string; zoomed: boolean } {
  const read = (): { text: string; zoomed: boolean } => {
    const w = sync.window;
    const fine = width(w) / 1000;
    return { text: `${timeText(w.from, fine)} to ${timeText(w.to, fine)} (${value(width(w) / 1000, "s")})`, zoomed: sync.zoomed };
  };
  const [now, setNow] = useState(read);
  useEffect(() => {
    setNow(read());
    return sync.join((changed) => changed.has("window") && setNow(read()));
  }, [sync]);
  return now;
}

export function Toolbar(p: { run: RunInfo; at: string; sync: TimeSync; loading: boolean }) {
  const { text, zoomed } = useWindowText(p.sync);
  return (
    <div class="nodes-bar">
      <Field label="Node">
        {(id) => (
          <select id={id} value={p.at} onChange={(e) => (node.value = e.currentTarget.value)}>
            {p.run.nodes.length !== 1 && <option value="">all {p.run.nodes.length} nodes</option>}
            {p.run.nodes.map((n) => (
              <option key={n.id} value={n.id}>
                {n.id}
              </option>
            ))}
          </select>
        )}
      </Field>
      <span class="nodes-window" data-testid="window">
        {zoomed ? "" : "Whole run: "}
        {text}
      </span>
      <Button label="Zoom in" onClick={() => p.sync.zoom(1 / 2)}>
        +
      </Button>
      <Button label="Zoom out" why={zoomed ? null : "The whole run is visible"} onClick={() => p.sync.zoom(2)}>
        −
      </Button>
      <Button why={zoomed ? null : "The whole run is visible"} onClick={() => p.sync.setWindow(null)}>
        {p.run.live ? "Follow the run" : "Whole run"}
      </Button>
      <span class="nodes-busy hint" aria-live="polite">
        {p.loading ? "loading …" : ""}
      </span>
    </div>
  );
}
