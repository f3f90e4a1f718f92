// SPDX-License-Identifier: Apache-2.0
// views.ts - the one table of views. A view is one file and one line here; the tabs, the address and
// the frame follow from it.
import type { ComponentType } from "preact";

import { lazy } from "./lazy";
import type { RunInfo } from "./types";

/** Every view is given the run; what is chosen in it comes from state.ts, what is new from live.ts. */
export interface ViewProps {
  run: RunInfo;
}

export interface View {
  id: string;
  title: string;
  component: ComponentType<ViewProps>;
  /** Why there is nothing to show of this run, and how to get it; null: there is. */
  missing?: (run: RunInfo) => string | null;
  /** It shows the results of the rules. */
  findings?: true;
}

export const views: readonly View[] = [
  { id: "overview", title: "Overview", component: lazy(async () => (await import("./views/overview")).OverviewView), findings: true },
  { id: "nodes", title: "Nodes", component: lazy(async () => (await import("./views/nodes")).NodesView) },
  { id: "metrics", title: "Metrics", component: lazy(async () => (await import("./views/metrics")).MetricsView) },
  { id: "steps", title: "Steps", component: lazy(async () => (await import("./views/steps")).StepsView) },
  { id: "health", title: "Health", component: lazy(async () => (await import("./views/health")).HealthView), findings: true },
  { id: "operators", title: "Operators", component: lazy(async () => (await import("./views/operators")).OperatorsView) },
  { id: "timeline", title: "Timeline", component: lazy(async () => (await import("./views/timeline")).TimelineView) },
];
