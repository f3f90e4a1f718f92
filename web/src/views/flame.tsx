// SPDX-License-Identifier: Apache-2.0
// flame.tsx - a flame graph of sampled Python stacks: callers above callees, as wide as their time. A click or Enter
// zooms into a function; arrow keys go to callers, callees and neighbours; the same as a table.
import { useMemo, useState } from "preact/hooks";

import { api } from "../api";
import { Bar, Button, Card } from "../components/basics";
import { ChartFrame } from "../components/chart_frame";
import { hasWords } from "../components/filter_box";
import { type Column, secondsColumn } from "../components/table";
import { useWidth } from "../components/width";
import { share, value } from "../format";
import { version } from "../live";
import { useLoad } from "../load";
import { plural } from "../words";
import { type Box, boxesOf, colourOf, neighbour, shownBoxes, totalOf } from "./flame_model";

const ROW = 20;
const LEAST_PX = 2; // narrower boxes are left out
const LABEL_PX = 36; // narrower boxes have no name on them
const COLOURS = 6;
const TITLE = "Flame graph of sampled stacks";
const KEYS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]);

function columnsOf(total: number): readonly Column<Box>[] {
  return [
    { id: "name", title: "Function", cell: (b) => <span class="flame-name" style={{ paddingLeft: `${Math.min(b.depth, 20) * 10}px` }}>{b.name}</span>, class: "ops-cell" },
    { id: "share", title: "Share", numeric: true, cell: (b) => <Bar share={b.total_s / total} text={share(b.total_s / total)} />, sort: (b) => b.total_s },
    secondsColumn("total", "Total", (b) => b.total_s),
    secondsColumn("self", "Self", (b) => b.self_s),
  ];
}

function Boxes(p: { boxes: readonly Box[]; wide: number; root: number | null; at: number; filter: string; onAt: (i: number) => void; onRoot: (i: number | null) => void }) {
  const shown = shownBoxes(p.boxes, p.root).filter((s) => s.width * p.wide >= LEAST_PX);
  const total = totalOf(p.boxes);
  const deep = shown.reduce((m, s) => Math.max(m, s.box.depth), 0) + 1;
  const now = p.boxes[p.at];
  const key = (e: KeyboardEvent): void => {
    if (KEYS.has(e.key)) p.onAt(neighbour(p.boxes, p.at, e.key));
    else if (e.key === "Enter") p.onRoot(p.at);
    else if (e.key === "Escape") p.onRoot(null);
    else return;
    e.preventDefault();
  };
  const text = (b: Box): string => `${b.name}: ${value(b.total_s, "s")}, ${share(b.total_s / total)}; ${value(b.self_s, "s")} self`;
  return (
    <>
      <div
        class="flame"
        style={{ height: `${deep * ROW}px` }}
        tabIndex={0}
        role="application"
        aria-roledescription="flame graph"
        aria-label={`${TITLE}. ${now === undefined ? "" : text(now)}`}
        onKeyDown={key}
      >
        {shown.map(({ box, left, width }) => (
          <div
            key={box.index}
            class={`flame-box ${box.index === p.at ? "flame-at" : ""} ${p.filter !== "" && !hasWords(box.name, p.filter) ? "flame-dim" : ""}`}
            data-depth={box.depth}
            style={{ left: `${left * 100}%`, width: `${width * 100}%`, top: `${box.depth * ROW}px`, "--flame": `var(--flame-${colourOf(box.name, COLOURS)})` }}
            title={text(box)}
            onClick={() => {
              p.onAt(box.index);
              p.onRoot(box.index === p.root ? null : box.index);
            }}
          >
            {width * p.wide >= LABEL_PX && box.name}
          </div>
        ))}
      </div>
      <p class="flame-now tabular" role="status">
        {now === undefined ? "" : text(now)}
      </p>
    </>
  );
}

function Graph(p: { boxes: readonly Box[]; filter: string }) {
  const [box, wide] = useWidth();
  const [root, setRoot] = useState<number | null>(null);
  const [at, setAt] = useState(0);
  const total = totalOf(p.boxes);
  const deepest = p.boxes.reduce((m, b) => Math.max(m, b.depth), 0) + 1;
  const worst = p.boxes.reduce<Box | null>((m, b) => (m === null || b.self_s > m.self_s ? b : m), null);
  const summary =
    `${plural(p.boxes.length, "frame")}, up to ${deepest} deep, ${value(total, "s")} of samples.` +
    (worst === null ? "" : ` The longest self time is in ${worst.name}: ${value(worst.self_s, "s")}.`);
  return (
    <ChartFrame
      title={TITLE}
      summary={summary}
      table={() => ({ columns: columnsOf(total), rows: p.boxes })}
      actions={root !== null && <Button onClick={() => setRoot(null)}>Show all</Button>}
    >
      <div ref={box}>{wide > 0 && <Boxes boxes={p.boxes} wide={wide} root={root} at={at} filter={p.filter} onAt={setAt} onRoot={setRoot} />}</div>
      <p class="quiet">
        Callers are above the functions that they called. <span class="for-mouse">Click or Enter: zoom in · arrow keys: move · Escape: show all</span>
        <span class="for-touch">Tap a function to zoom in</span>
      </p>
    </ChartFrame>
  );
}

/** Nothing where no stacks were sampled; `counted`: there are profiles that count calls instead. */
export function FlameCard(p: { run: string; rank: number | null; filter: string; counted: boolean }) {
  const load = useLoad(`${p.run} ${p.rank ?? ""}`, (signal) => api.stacks(p.run, { rank: p.rank ?? undefined }, signal), version.value);
  const boxes = useMemo(() => boxesOf(load.data ?? []), [load.data]);
  if (load.data === null) return null;
  if (boxes.length === 0) {
    return p.counted ? (
      <p class="quiet">
        A flame graph needs sampled stacks: <code>footplate run --python-profile-steps 5:20:sampling -- python train.py</code>
      </p>
    ) : null;
  }
  return (
    <Card title="Call stacks">
      <Graph boxes={boxes} filter={p.filter} />
    </Card>
  );
}
