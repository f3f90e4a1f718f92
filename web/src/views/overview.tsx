// SPDX-License-Identifier: Apache-2.0
// overview.tsx - the Overview: the answers first, then the training loop, then the whole job: its phases, how busy its nodes
// were, what it computed; and what the rules found.
import { api } from "../api";
import { findingsVersion, liveStatus, version } from "../live";
import { useLoad } from "../load";
import type { ViewProps } from "../views";
import { Insights } from "./insights";
import { Answer } from "./overview_answer";
import { JobSummary } from "./overview_job";
import { TrainingLoop } from "./overview_loop";
import { HowMeasured } from "./overview_measured";
import { IntensiveOperations } from "./overview_ops";
import { ResourceUse } from "./overview_use";
import "./overview.css";

export function OverviewView(p: ViewProps) {
  const run = p.run.run;
  // While a run is live the stream reports when the rules' answers changed; at its end they are
  // final.
  const ended = liveStatus.value?.live === false;
  const tick = p.run.live ? `${findingsVersion.value}` : `${ended} ${version.value}`;
  const verdicts = useLoad(run, (signal) => api.findings(run, signal), tick);
  const steps = useLoad(run, (signal) => api.steps(run, { last: 1 }, signal), version.value);
  return (
    <div class="overview">
      <Answer run={p.run} steps={steps} verdicts={verdicts} />
      <div class="stack">
        <TrainingLoop run={p.run} steps={steps} verdicts={verdicts.data} />
        <JobSummary run={p.run} />
        <ResourceUse run={p.run} verdicts={verdicts.data} />
        <IntensiveOperations run={p.run} />
      </div>
      <Insights run={p.run} verdicts={verdicts} />
      <HowMeasured run={p.run} />
    </div>
  );
}
