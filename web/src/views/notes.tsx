// SPDX-License-Identifier: Apache-2.0
// notes.tsx - what users write about a run: the dialog for its name, tags and text, and the question before it is
// deleted. What is saved replaces all of it; run.json keeps the recorded name.
import { useState } from "preact/hooks";

import { api } from "../api";
import { Button, Field } from "../components/basics";
import { Dialog } from "../components/dialog";
import { ErrorBox } from "../components/empty";
import { refresh } from "../live";
import { go } from "../state";
import type { RunInfo } from "../types";

/** "a, b,, a" as tags: trimmed, without empty ones, each once. */
export function tagsOf(text: string): string[] {
  return [...new Set(text.split(",").map((t) => t.trim()).filter((t) => t !== ""))];
}

/** One request at a time; what it failed with stays until the next. */
function useRequest(): { busy: boolean; error: string | null; send: (work: () => Promise<unknown>) => Promise<void> } {
  const [state, setState] = useState<{ busy: boolean; error: string | null }>({ busy: false, error: null });
  const send = async (work: () => Promise<unknown>): Promise<void> => {
    setState({ busy: true, error: null });
    try {
      await work();
    } catch (e) {
      setState({ busy: false, error: e instanceof Error ? e.message : String(e) });
    }
  };
  return { ...state, send };
}

export function NotesDialog(p: { run: RunInfo; onClose: () => void }) {
  const { run } = p;
  const [name, setName] = useState(run.name === run.recorded_name ? "" : run.name);
  const [tags, setTags] = useState(run.tags.join(", "));
  const [text, setText] = useState(run.note ?? "");
  const request = useRequest();
  const save = (): void =>
    void request.send(async () => {
      await api.notes(run.run, { name: name.trim(), tags: tagsOf(tags), text });
      refresh();
      p.onClose();
    });
  return (
    <Dialog title="Name, tags and note" onClose={p.onClose}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          save();
        }}
      >
        <Field label="Name">
          {(id) => <input id={id} type="text" maxLength={200} placeholder={run.recorded_name} value={name} onInput={(e) => setName(e.currentTarget.value)} />}
        </Field>
        <Field label="Tags, separated by commas">
          {(id) => <input id={id} type="text" value={tags} onInput={(e) => setTags(e.currentTarget.value)} />}
        </Field>
        <Field label="Note">
          {(id) => <textarea id={id} rows={5} maxLength={8000} value={text} onInput={(e) => setText(e.currentTarget.value)} />}
        </Field>
        {request.error !== null && <ErrorBox error={request.error} />}
        <div class="dialog-actions">
          <Button onClick={p.onClose}>Cancel</Button>
          <Button kind="primary" type="submit" onClick={() => undefined} why={request.busy ? "Saving …" : null}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function DeleteDialog(p: { run: RunInfo; onClose: () => void }) {
  const request = useRequest();
  const remove = (): void =>
    void request.send(async () => {
      await api.remove(p.run.run);
      p.onClose();
      go({ page: "runs" });
    });
  return (
    <Dialog title="Delete this run?" onClose={p.onClose}>
      <p>
        This deletes <strong>{p.run.name}</strong> with all recorded data, findings and reports. It cannot be undone.
      </p>
      <p class="quiet notes-path">{p.run.path}</p>
      {request.error !== null && <ErrorBox error={request.error} />}
      <div class="dialog-actions">
        <Button onClick={p.onClose}>Keep the run</Button>
        <Button kind="danger" onClick={remove} why={request.busy ? "Deleting …" : null}>
          Delete run
        </Button>
      </div>
    </Dialog>
  );
}
