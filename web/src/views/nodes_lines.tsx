// SPDX-License-Identifier: Apache-2.0
// nodes_lines.tsx - a line chart of the Nodes view with its legend, its devices to choose from, and
// its data as a table.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import { columnTimes, isFlatZero, keyOf, summary } from "../charts/columns";
import type { LineLook } from "../charts/linechart";
import { LineLegend, Lines } from "../charts/lines";
import { contains } from "../charts/span";
import type { TimeSync } from "../charts/sync";
import { timeText } from "../charts/timeaxis";
import { ChartFrame, type ChartTable } from "../components/chart_frame";
import { value } from "../format";
import { selection, toggleSelected } from "../state";
import type { Grid, GridSeries } from "../types";
import { plural } from "../words";
import type { ChartKind, ChartPlan } from "./nodes_charts";

const FEW = 16; // devices that have a label each; more are in a list to search
const HEIGHT = 190;
const WHOLE = Array.from({ length: 6 }, (_, i) => 10 ** i).flatMap((n) => [n, 2 * n, 5 * n]); // there is no half mark

interface TimeRow {
  at: number;
  cells: (number | null)[];
}

/** What the chart shows as rows, only columns inside the window that have a reading. */
export function lineTable(grid: Grid, plan: ChartPlan, sync: TimeSync): ChartTable<TimeRow> {
  const byKey = new Map(grid.series.map((s) => [keyOf(s), s]));
  const series = plan.looks.map((l) => byKey.get(l.key));
  const rows = columnTimes(grid)
    .map((at, i) => ({ at, cells: series.map((s) => s?.v[i] ?? null) }))
    .filter((r) => contains(sync.window, r.at) && r.cells.some((c) => c !== null));
  const columns = [
    { id: "time", title: "Time", cell: (r: TimeRow) => timeText(r.at, grid.step_ns / 1e6), sort: (r: TimeRow) => r.at },
    ...plan.looks.map((l, k) => ({
      id: l.key,
      title: l.label,
      numeric: true,
      cell: (r: TimeRow) => value(r.cells[k], l.unit ?? plan.unit),
      sort: (r: TimeRow) => r.cells[k] ?? null,
    })),
  ];
  return { columns, rows };
}

export function lineSummary(grid: Grid, plan: ChartPlan): string {
  const byKey = new Map(grid.series.map((s) => [keyOf(s), s]));
  const parts = plan.looks.map((l) => {
    const text = (v: number): string => value(v, l.unit ?? plan.unit);
    const s = byKey.get(l.key);
    const n = s && summary(s);
    return n ? `${l.label}: mean ${text(n.mean)}, from ${text(n.min)} to ${text(n.max)}` : `${l.label}: not measured`;
  });
  return `${parts.join("; ")}.`;
}

interface PanelProps {
  kind: ChartKind;
  plan: ChartPlan;
  grid: Grid;
  sync: TimeSync;
  intervalMs: number | null;
  left: number;
  height?: number;
  /** Where the scale ends and begins; otherwise 100 for percentages and the largest reading for the rest, and 0. */
  top?: number | null;
  low?: "zero" | "data";
  /** Beside the title: the name on the command line, buttons. */
  name?: string;
  actions?: ComponentChildren;
  /** The columns as drawn, where they differ from those in the legend and the table. */
  drawn?: Grid;
  /** Room at the right, where charts above have a second scale. */
  right?: number;
}

/** A chart; one that is flat zero is a line of text that opens to the chart. Where there was something
 * to see once it stays a chart, so that zooming does not move what is below. */
export function LinePanel(p: PanelProps) {
  const [open, setOpen] = useState(false);
  const lively = useRef(p.kind.drag === "select");
  const keys = new Set(p.plan.looks.map((l) => l.key));
  lively.current ||= !isFlatZero(p.grid.series.filter((s) => keys.has(keyOf(s))));
  if (lively.current) return <Panel {...p} />;
  const span = p.sync.zoomed ? "in this window" : "throughout";
  return (
    <div class={`nodes-flat nodes-flat-${p.kind.id}`}>
      <button type="button" class="bare" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span aria-hidden="true">{open ? "▾" : "▸"} </span>
        {p.kind.title}: {value(0, p.plan.unit)} {span}
      </button>
      {open && <Panel {...p} />}
    </div>
  );
}

function Panel(p: PanelProps) {
  const { plan, grid } = p;
  const unit = (v: number, look: LineLook): string => value(v, look.unit ?? plan.unit);
  const top = p.top === undefined ? (plan.unit === "%" ? 100 : null) : p.top;
  const options = useMemo(
    () => ({
      height: p.height ?? HEIGHT,
      left: p.left,
      top,
      low: p.low ?? "zero",
      unit: axisUnit(plan.unit),
      binary: plan.unit.startsWith("B"),
      ...(plan.unit === "marks" ? { marksAt: WHOLE } : {}),
      drag: p.kind.drag,
      intervalMs: p.intervalMs,
      ...(p.right === undefined ? {} : { right: p.right }),
    }),
    [p.height, p.left, p.right, top, p.low, plan.unit, p.kind.drag, p.intervalMs],
  );
  const resting = (s: GridSeries, look: LineLook): string => {
    const n = summary(s);
    return n ? unit(n.mean, look) : "not measured";
  };
  return (
    <ChartFrame
      title={p.kind.title}
      {...(p.name === undefined ? {} : { unit: p.name })}
      actions={p.actions}
      class={`nodes-chart nodes-${p.kind.id}`}
      summary={lineSummary(grid, plan)}
      table={() => lineTable(grid, plan, p.sync)}
      legend={
        <>
          <LineLegend sync={p.sync} grid={grid} looks={plan.looks} intervalMs={p.intervalMs} unit={unit} resting={resting} />
          {p.kind.picks && plan.devices.length > 1 && <DevicePicker noun={p.kind.noun} devices={plan.devices} />}
        </>
      }
    >
      <Lines sync={p.sync} grid={p.drawn ?? grid} looks={plan.looks} options={options} label={p.kind.title} />
    </ChartFrame>
  );
}

/** Units on an axis have no digits after the point. */
const AXIS_UNITS = new Map<string, (v: number) => string>();
function axisUnit(unit: string): (v: number) => string {
  let f = AXIS_UNITS.get(unit);
  if (!f) {
    f = unit === "%" ? (v) => `${v} %` : (v) => value(v, unit).replace(/\.0+ /, " ");
    AXIS_UNITS.set(unit, f);
  }
  return f;
}

/** Labels to click; many devices are in a list that can be searched. */
export function DevicePicker(p: { noun: string; devices: readonly string[] }) {
  return p.devices.length <= FEW ? <Labels devices={p.devices} noun={p.noun} /> : <SearchList {...p} />;
}

function Labels(p: { devices: readonly string[]; noun: string }) {
  const chosen = selection.value;
  return (
    <div class="nodes-labels" role="group" aria-label={`Add a single ${p.noun}`}>
      {p.devices.map((d) => (
        <button key={d} type="button" class="button nodes-label" aria-pressed={chosen.includes(d)} onClick={() => toggleSelected(d)}>
          {d}
        </button>
      ))}
    </div>
  );
}

function SearchList(p: { noun: string; devices: readonly string[] }) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const toggle = useRef<HTMLButtonElement>(null);
  const chosen = selection.value;
  const mine = p.devices.filter((d) => chosen.includes(d));
  const found = p.devices.filter((d) => d.toLowerCase().includes(text.trim().toLowerCase()));
  const close = (): void => {
    toggle.current?.focus();
    setOpen(false);
  };
  return (
    <div class="nodes-search">
      <div class="nodes-labels">
        <button ref={toggle} type="button" class="button nodes-label nodes-add" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Close list" : `Add one of ${plural(p.devices.length, p.noun)} …`}
        </button>
        <Labels devices={mine} noun={p.noun} />
        {mine.length > 0 && (
          <button type="button" class="button nodes-label" onClick={() => (selection.value = chosen.filter((c) => !mine.includes(c)))}>
            Remove all
          </button>
        )}
      </div>
      {open && (
        <div class="nodes-list" onKeyDown={(e) => e.key === "Escape" && close()}>
          <input
            type="search"
            placeholder={`Search ${p.noun}s`}
            aria-label={`Search ${p.noun}s`}
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
          />
          <Labels devices={found} noun={p.noun} />
          {found.length === 0 && <p class="quiet">No matches.</p>}
        </div>
      )}
    </div>
  );
}
