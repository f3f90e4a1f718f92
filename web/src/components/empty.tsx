// SPDX-License-Identifier: Apache-2.0
// empty.tsx - what is shown in place of data: none (and how to get it), loading, failed.
import type { ComponentChildren } from "preact";

import type { ApiError } from "../api";
import type { Load } from "../load";
import { sentenceCase } from "../words";
import { Button } from "./basics";

/** Nothing to show: the reason, and in `children` what to do about it. `command` is shown to be copied. */
export function Empty(p: { title: string; command?: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{p.title}</p>
      {p.children !== undefined && <p>{p.children}</p>}
      {p.command !== undefined && <code class="command">{p.command}</code>}
    </div>
  );
}

export function Loading(p: { what?: string }) {
  return (
    <div class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading{p.what === undefined ? "" : ` ${p.what}`} …
    </div>
  );
}

export function ErrorBox(p: { error: ApiError | string; retry?: () => void }) {
  return (
    <div class="error-box" role="alert">
      <span aria-hidden="true">✕ </span>
      <span>{sentenceCase(typeof p.error === "string" ? p.error : p.error.message)}</span>
      {p.retry !== undefined && <Button onClick={p.retry}>Try again</Button>}
    </div>
  );
}

/** The three states of a load; `children` draws the data. */
export function Loaded<T>(p: { load: Load<T>; what: string; children: (data: T) => ComponentChildren }) {
  const { data, error, reload } = p.load;
  if (data !== null) {
    return (
      <>
        {error !== null && <ErrorBox error={error} retry={reload} />}
        {p.children(data)}
      </>
    );
  }
  if (error !== null) return <ErrorBox error={error} retry={reload} />;
  return <Loading what={p.what} />;
}
