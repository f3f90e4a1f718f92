// SPDX-License-Identifier: Apache-2.0
// run.tsx - the page of one run: its header with the controls, the tabs, the chosen view.
import { useEffect, useState } from "preact/hooks";

import { api } from "../api";
import { Badge, Button } from "../components/basics";
import { Empty, ErrorBox, Loading } from "../components/empty";
import { Tabs } from "../components/tabs";
import { age, dateTime } from "../format";
import { connected, dataAge, follow, liveStatus, refresh, version, wantFindings } from "../live";
import { useLoad } from "../load";
import { go, showTab, tagAddress } from "../state";
import type { RunInfo } from "../types";
import { views } from "../views";
import { lossTitle, plural, STATUS, statusText } from "../words";
import { Controls } from "./controls";
import "./run.css";

const MOST_HURT = 4;

/** How old the data of a live run is; of a finished one, when it ended. */
function Age(p: { run: RunInfo }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const s = dataAge(Math.max(now, Date.now()));
  if (!connected.value) return <Badge kind="warning" icon="◆">connection lost, reconnecting</Badge>;
  const { live, end_ns } = liveStatus.value ?? p.run;
  const text = live || end_ns === null ? (s === null ? "…" : `updated ${age(s)}`) : `ended ${dateTime(end_ns)}`;
  return <span class="quiet tabular">{text}</span>;
}

/** What users wrote about the run. */
function Notes(p: { run: RunInfo }) {
  const { name, recorded_name, tags, note } = p.run;
  if (name === recorded_name && tags.length === 0 && note === null) return null;
  return (
    <div class="run-notes">
      {name !== recorded_name && <span class="quiet">recorded as {recorded_name}</span>}
      {tags.map((t) => (
        <a key={t} class="tag" href={tagAddress(t)} title={`All runs with the tag ${t}`}>
          {t}
        </a>
      ))}
      {note !== null && <p class="run-note">{note}</p>}
    </div>
  );
}

const MOST_NODES = 3;
const COMMIT = 10; // characters of it that are shown

/** Where the run is from: its user, nodes, commit and labels. */
function Origin(p: { run: RunInfo }) {
  const { nodes, git_commit, directory, user } = p.run;
  const hosts = nodes.length > MOST_NODES ? [plural(nodes.length, "node")] : nodes.map((n) => n.host ?? n.id);
  const labels = Object.entries(p.run.labels).map(([key, v]) => (v === "" ? key : `${key}=${v}`));
  return (
    <p class="quiet run-origin">
      {user !== null && <span>{user}</span>}
      {hosts.length > 0 && <span>{hosts.join(", ")}</span>}
      {directory !== null && <code>{directory}</code>}
      {git_commit !== null && <span title={git_commit}>commit {git_commit.slice(0, COMMIT)}</span>}
      {labels.map((l) => (
        <code key={l} class="tag">
          {l}
        </code>
      ))}
    </p>
  );
}

function Header(p: { run: RunInfo }) {
  const status = liveStatus.value?.status ?? p.run.status;
  const mark = STATUS[status];
  return (
    <div class="run-head">
      <div class="run-title">
        <h1>{p.run.name}</h1>
        <Badge kind={mark.kind} icon={mark.icon}>
          {statusText(status, p.run.exit_status)}
        </Badge>
        <span class="run-age">
          <Age run={p.run} />
          <Button kind="quiet" onClick={refresh} label="Refresh">
            <span aria-hidden="true">↻</span>
          </Button>
        </span>
      </div>
      <Controls run={p.run} />
      <Notes run={p.run} />
      <p class="quiet run-command">
        <code>{p.run.command.join(" ")}</code>
      </p>
      <Origin run={p.run} />
    </div>
  );
}

/** After these, recorded data is incomplete; other losses are things that could not be measured. */
const HURT: ReadonlySet<string> = new Set(["damaged", "torn", "disk-full", "write-failed", "events-lost", "recorder-died", "gpu-lost", "detail-lost"]);

function Hurt(p: { run: RunInfo }) {
  const hurt = p.run.losses.filter((l) => HURT.has(l.kind));
  if (hurt.length === 0) return null;
  return (
    <div class="notice warning" role="note" aria-label="Missing data">
      <strong>Some data is missing.</strong>
      <ul>
        {hurt.slice(0, MOST_HURT).map((l, i) => (
          <li key={i}>
            {l.node !== null && `${l.node}: `}
            {lossTitle(l.what, l.title)}: {l.why}
          </li>
        ))}
        {hurt.length > MOST_HURT && <li>{plural(hurt.length - MOST_HURT, "more entry", "more entries")} at the end of the Overview</li>}
      </ul>
    </div>
  );
}

function Gone(p: { run: string; error: Parameters<typeof ErrorBox>[0]["error"]; retry: () => void }) {
  return (
    <div class="stack">
      <h1>{p.run}</h1>
      <ErrorBox error={p.error} retry={p.retry} />
      <p>
        <a href="#/">Show all runs</a>
      </p>
    </div>
  );
}

export function RunPage(p: { run: string; tab: string }) {
  const view = views.find((v) => v.id === p.tab);
  useEffect(() => {
    wantFindings.value = view?.findings === true;
  }, [view]);
  useEffect(() => follow(p.run), [p.run]);
  const info = useLoad(p.run, (signal) => api.run(p.run, signal), version.value);
  const name = info.data?.name ?? p.run;
  useEffect(() => {
    document.title = `${name} ${view?.title ?? ""} - Footplate`;
  }, [name, view]);
  const select = (id: string): void => (id === "compare" ? go({ page: "compare", a: p.run, b: "" }) : showTab(id));
  if (info.data === null) {
    return info.error === null ? <Loading what="the run" /> : <Gone run={p.run} error={info.error} retry={info.reload} />;
  }
  const missing = view?.missing?.(info.data) ?? null;
  return (
    <>
      <Header run={info.data} />
      <Hurt run={info.data} />
      <Tabs label="Views" tabs={[...views, { id: "compare", title: "Compare" }]} selected={p.tab} onSelect={select}>
        {view === undefined && <Empty title={`Page not found: this run has no view "${p.tab}"`}>Choose one of the tabs above.</Empty>}
        {view !== undefined && missing !== null && <Empty title={missing} />}
        {view !== undefined && missing === null && <view.component run={info.data} />}
      </Tabs>
    </>
  );
}
