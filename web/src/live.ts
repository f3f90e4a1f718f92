// SPDX-License-Identifier: Apache-2.0
// live.ts - what is new in the run that is shown: one server-sent event stream, as signals.
import { effect, signal } from "@preact/signals";

import { api } from "./api";
import type { LiveStatus, LiveStep } from "./types";

/** Grows when there is new data, or when the user requested it: pass it to useLoad as the tick. */
export const version = signal(0);
export const liveStatus = signal<LiveStatus | null>(null);
/** Grows when the results of the rules change. */
export const findingsVersion = signal(0);
/** A view shows the results of the rules: the server evaluates them only for clients that show them. */
export const wantFindings = signal(false);
/** The newest step of each rank. */
export const newestSteps = signal<LiveStep[]>([]);
/** Whether the stream is connected. */
export const connected = signal(true);
/** When the newest data was written, in ms of this machine's clock; null: not known. */
export const dataTime = signal<number | null>(null);
/** The server requires a token for any answer. */
export const needLogin = signal(false);

/** Loads everything on the page again. */
export function refresh(): void {
  version.value++;
  findingsVersion.value++;
}

/** Age in seconds of the data on the page, now. */
export function dataAge(now: number): number | null {
  return dataTime.value === null ? null : Math.max(0, (now - dataTime.value) / 1000);
}

/** The newest step of each rank and mode, with news merged in. */
export function mergeSteps(old: readonly LiveStep[], news: readonly LiveStep[]): LiveStep[] {
  const key = (s: LiveStep): string => `${s.node} ${s.rank ?? ""} ${s.mode}`;
  const all = new Map(old.map((s) => [key(s), s]));
  for (const s of news) all.set(key(s), s);
  return [...all.values()];
}

/**
 * Follows a run until the returned function is called. A hidden page closes its stream and loads what it missed when it
 * is visible again: browsers grant a server six connections in all, so a handful of forgotten tabs would keep the next
 * one waiting forever.
 */
export function follow(run: string): () => void {
  liveStatus.value = null;
  newestSteps.value = [];
  dataTime.value = null;
  connected.value = true;
  let leave: (() => void) | null = null;
  const attend = (): void => {
    leave?.();
    leave = document.hidden ? null : stream(run, wantFindings.value);
  };
  const forget = effect(attend); // now, and whenever something else is wanted
  document.addEventListener("visibilitychange", attend);
  return () => {
    document.removeEventListener("visibilitychange", attend);
    forget();
    leave?.();
  };
}

function stream(run: string, findings: boolean): () => void {
  return api.live(run, { findings }, {
    status: (s) => {
      // The first one has what the page is loading anyway.
      if (liveStatus.value !== null && liveStatus.value.version !== s.version) version.value++;
      if (s.status === null) return; // it was removed: loading reports that, where it belongs
      liveStatus.value = s;
      dataTime.value = s.age_s === null ? null : Date.now() - s.age_s * 1000;
    },
    steps: (s) => (newestSteps.value = mergeSteps(newestSteps.value, s)),
    findings: () => findingsVersion.value++,
    connected: (up) => {
      if (up && !connected.value) version.value++; // what was missed meanwhile
      connected.value = up;
    },
  });
}
