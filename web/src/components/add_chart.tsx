// SPDX-License-Identifier: Apache-2.0
// add_chart.tsx - a list of metrics in groups, of which one is added to what is shown.
import type { MetricChart } from "../views/metrics_plan";

/** `label`: "Add a track"; nothing where there is nothing to add. */
export function AddChart(p: { label: string; charts: readonly MetricChart[]; onAdd: (key: string) => void }) {
  const groups = [...new Set(p.charts.map((c) => c.group))];
  if (p.charts.length === 0) return null;
  return (
    <select aria-label={p.label} value="" onChange={(e) => e.currentTarget.value !== "" && p.onAdd(e.currentTarget.value)}>
      <option value="">{p.label} …</option>
      {groups.map((g) => (
        <optgroup key={g} label={g}>
          {p.charts
            .filter((c) => c.group === g)
            .map((c) => (
              <option key={c.key} value={c.key}>
                {c.title}
              </option>
            ))}
        </optgroup>
      ))}
    </select>
  );
}
