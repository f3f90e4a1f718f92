// SPDX-License-Identifier: Apache-2.0
// controls.tsx - the controls in the header of a run: pause the recording, change it, end the job,
// download the report. A control that cannot be used now is disabled and gives the reason; an ended run
// has only its report.
import { useState } from "preact/hooks";

import { api } from "../api";
import { Button, Choice, Field } from "../components/basics";
import { Dialog } from "../components/dialog";
import { ErrorBox } from "../components/empty";
import { value } from "../format";
import { lazy } from "../lazy";
import { refresh } from "../live";
import type { ControlAnswer, ControlRequest, RunInfo } from "../types";

export const INTERVALS: readonly { value: string; text: string; ms: number }[] = [
  { value: "100ms", text: "100 ms", ms: 100 },
  { value: "200ms", text: "200 ms", ms: 200 },
  { value: "500ms", text: "500 ms", ms: 500 },
  { value: "1s", text: "1 s", ms: 1000 },
  { value: "5s", text: "5 s", ms: 5000 },
  { value: "60s", text: "1 min", ms: 60000 },
];

function answerText(a: ControlAnswer): string {
  return a.answer.map((one) => (a.answer.length === 1 ? one.text : `${one.node}: ${one.text}`)).join("; ");
}

/** Why a running job cannot be changed from here; null: it can. */
export function whyNot(run: RunInfo): string | null {
  return run.control.allowed ? null : (run.control.why ?? "Your access is read-only");
}

type DialogName = "stop" | "configure" | "notes" | "delete";

type EditProps = { run: RunInfo; onClose: () => void };
const NotesDialog = lazy<EditProps>(async () => (await import("./notes")).NotesDialog);
const DeleteDialog = lazy<EditProps>(async () => (await import("./notes")).DeleteDialog);

const AGAIN_MS = 500; // between questions whether a request to another machine was applied

/** Waits until recorders on other machines have taken their requests, and returns their answers. */
async function settled(run: string, requests: readonly ControlRequest[]): Promise<string> {
  for (;;) {
    await new Promise((done) => setTimeout(done, AGAIN_MS));
    const known = (await api.requests(run)).requests;
    const ours = requests.map((q) => known.find((k) => k.id === q.id) ?? { ...q, state: "expired", text: "the hub was restarted" });
    if (ours.some((q) => q.state === "waiting")) continue;
    const text = ours.map((q) => (ours.length === 1 ? (q.text ?? q.state) : `${q.node}: ${q.text ?? q.state}`)).join("; ");
    if (ours.some((q) => q.state !== "applied")) throw new Error(text);
    return text;
  }
}

/** "Takes effect within 2 s", for a recorder on another machine. */
export function withinText(run: { control: { within_s: number | null } }): string | null {
  return run.control.within_s === null ? null : `The recorder is on another machine: changes take effect within ${run.control.within_s} s.`;
}

interface Control {
  busy: boolean;
  error: string | null;
  answer: string | null;
  ask: (set: string) => Promise<boolean>;
}

/** Sends settings to the recorder, one at a time, and stores its answer. */
function useControl(run: string): Control {
  const [state, setState] = useState<Omit<Control, "ask">>({ busy: false, error: null, answer: null });
  const ask = async (set: string): Promise<boolean> => {
    setState({ busy: true, error: null, answer: null });
    try {
      const first = await api.control(run, set);
      setState({ busy: true, error: null, answer: answerText(first) });
      const answer = first.requests.length === 0 ? answerText(first) : await settled(run, first.requests);
      setState({ busy: false, error: null, answer });
      refresh();
      return true;
    } catch (e) {
      setState({ busy: false, error: e instanceof Error ? e.message : String(e), answer: null });
      return false;
    }
  };
  return { ...state, ask };
}

function Within(p: { run: RunInfo }) {
  const text = withinText(p.run);
  return text === null ? null : <p class="quiet">{text}</p>;
}

function StopDialog(p: { run: RunInfo; control: Control; onClose: () => void }) {
  const stop = async (): Promise<void> => {
    if (await p.control.ask("stop")) p.onClose();
  };
  return (
    <Dialog title="Stop training?" onClose={p.onClose}>
      <p>
        This ends the job of <strong>{p.run.name}</strong> with SIGTERM and, after ten seconds, SIGKILL. Unsaved work is
        lost. The recorded data is kept.
      </p>
      <Within run={p.run} />
      {p.control.error !== null && <ErrorBox error={p.control.error} />}
      <div class="dialog-actions">
        <Button onClick={p.onClose}>Keep running</Button>
        <Button kind="danger" onClick={() => void stop()} why={p.control.busy ? "Stopping …" : null}>
          Stop training
        </Button>
      </div>
    </Dialog>
  );
}

type DetailUnit = "steps" | "seconds";

/** The interval in ms now: the last change, else the one at the start. */
export function intervalNow(run: RunInfo): number | null {
  const changes = run.marks.filter((m) => m.mark === "interval");
  const last = changes.reduce<{ time_ns: number; number: number } | null>(
    (best, m) => (best === null || m.time_ns >= best.time_ns ? m : best),
    null,
  );
  return last === null ? run.interval_ms : last.number / 1e6;
}

function IntervalChoice(p: { run: RunInfo; control: Control }) {
  const ms = intervalNow(p.run);
  const now = INTERVALS.find((i) => i.ms === ms)?.value ?? "";
  const [chosen, setChosen] = useState(now);
  return (
    <div class="field">
      <span class="field-label">Sampling interval{now === "" && ` (now ${value(ms === null ? null : ms / 1000, "s")})`}</span>
      <Choice
        label="Sampling interval"
        value={chosen}
        options={INTERVALS}
        onChange={(v) => {
          setChosen(v);
          void p.control.ask(`interval=${v}`);
        }}
      />
    </div>
  );
}

function DetailChoice(p: { control: Control }) {
  const [length, setLength] = useState(3);
  const [unit, setUnit] = useState<DetailUnit>("steps");
  const good = Number.isInteger(length) && length > 0;
  return (
    <Field label="Detail window: record all operators for the next">
      {(id) => (
        <div class="row">
          <input
            id={id}
            type="number"
            min={1}
            max={100000}
            value={length}
            onInput={(e) => setLength(e.currentTarget.valueAsNumber)}
          />
          <Choice<DetailUnit>
            label="Unit of the detail window"
            value={unit}
            options={[
              { value: "steps", text: "steps" },
              { value: "seconds", text: "seconds" },
            ]}
            onChange={setUnit}
          />
          <Button
            onClick={() => void p.control.ask(unit === "steps" ? `detail=now:${length}` : `detail=+0s:${length}s`)}
            why={good ? null : "Enter a whole number above 0"}
          >
            Record
          </Button>
        </div>
      )}
    </Field>
  );
}

function ConfigureDialog(p: { run: RunInfo; control: Control; onClose: () => void }) {
  return (
    <Dialog title="Configure the recording" onClose={p.onClose}>
      <p class="quiet">Changes apply from now on. The job keeps running.</p>
      <Within run={p.run} />
      <IntervalChoice run={p.run} control={p.control} />
      <DetailChoice control={p.control} />
      {p.control.error !== null && <ErrorBox error={p.control.error} />}
      {p.control.answer !== null && (
        <p class="notice" role="status">
          {p.control.answer}
        </p>
      )}
      <div class="dialog-actions">
        <Button onClick={p.onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

/** Whether the recorder takes readings: the last switch decides; at first it does. */
export function isMonitoring(run: RunInfo): boolean {
  const switches = run.marks.filter((m) => m.mark === "monitoring");
  return switches.reduce((last, m) => (m.time_ns >= last.time_ns ? m : last), { time_ns: 0, number: 1 }).number !== 0;
}

function MonitoringSwitch(p: { run: RunInfo; why: string | null; control: Control }) {
  const on = isMonitoring(p.run);
  const off = p.why !== null;
  return (
    <button
      type="button"
      role="switch"
      class="button switch"
      aria-checked={on}
      aria-disabled={off ? "true" : undefined}
      title={p.why ?? (on ? "Pause recording; the job keeps running" : "Resume recording")}
      data-why={p.why ?? undefined}
      onClick={() => {
        if (!off) void p.control.ask(`monitoring=${on ? "off" : "on"}`);
      }}
    >
      <span class="switch-track" aria-hidden="true" />
      Monitoring <span class="switch-word">{on ? "on" : "off"}</span>
    </button>
  );
}

/** What changes a running job. */
function Steering(p: { run: RunInfo; control: Control; why: string | null; open: (dialog: DialogName) => void }) {
  return (
    <>
      <MonitoringSwitch run={p.run} why={p.why} control={p.control} />
      <Button onClick={() => p.open("configure")} why={p.why}>
        Configure
      </Button>
      <Button kind="danger" onClick={() => p.open("stop")} why={p.why}>
        Stop training
      </Button>
    </>
  );
}

function Dialogs(p: { run: RunInfo; control: Control; open: DialogName | null; onClose: () => void }) {
  if (p.open === "notes") return <NotesDialog run={p.run} onClose={p.onClose} />;
  if (p.open === "delete") return <DeleteDialog run={p.run} onClose={p.onClose} />;
  if (p.open === "stop") return <StopDialog {...p} />;
  if (p.open === "configure") return <ConfigureDialog {...p} />;
  if (p.control.error !== null) return <ErrorBox error={p.control.error} />;
  return p.run.control.within_s === null || p.control.answer === null ? null : (
    <p class="quiet" role="status">
      {p.control.answer}
    </p>
  );
}

/** What users write about a run; a run that is being recorded cannot be deleted. */
function Editing(p: { live: boolean; open: (dialog: DialogName) => void }) {
  return (
    <>
      <Button onClick={() => p.open("notes")}>Edit notes</Button>
      {!p.live && <Button onClick={() => p.open("delete")}>Delete</Button>}
    </>
  );
}

/** An ended run has its documents and notes. */
export function Controls(p: { run: RunInfo }) {
  const [open, setOpen] = useState<DialogName | null>(null);
  const control = useControl(p.run.run);
  const { live } = p.run;
  const why = live ? whyNot(p.run) : null;
  return (
    <div class="controls">
      <div class="controls-row">
        {live && <Steering run={p.run} control={control} why={why} open={setOpen} />}
        <a class="button" href={api.reportAddress(p.run.run)} download>
          Download report
        </a>
        <a class="button" href={api.traceAddress(p.run.run)} download title="Saves the run as a trace; open the file at ui.perfetto.dev or in chrome://tracing">
          Trace for Perfetto
        </a>
        {p.run.control.edit && <Editing live={live} open={setOpen} />}
      </div>
      {why !== null && <p class="quiet controls-why">{why}.</p>}
      {(live || open !== null) && <Dialogs run={p.run} control={control} open={open} onClose={() => setOpen(null)} />}
    </div>
  );
}
