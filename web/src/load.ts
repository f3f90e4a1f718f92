// SPDX-License-Identifier: Apache-2.0
// load.ts - useLoad: data of the server in a component, with its loading and error states.
import { useEffect, useRef, useState } from "preact/hooks";

import { ApiError, isAbort } from "./api";
import { needLogin } from "./live";

export interface Load<T> {
  /** Stays while newer data of the same key is on its way; null before the first and after a new key. */
  data: T | null;
  error: ApiError | null;
  loading: boolean;
  reload: () => void;
}

interface Flight {
  key: string;
  abort: AbortController;
  again: boolean;
}

function asApiError(e: unknown): ApiError {
  return e instanceof ApiError ? e : new ApiError(0, e instanceof Error ? e.message : String(e));
}

/** Whether what was shown no longer exists, rather than the server being out of reach for a while. */
export function isFinal(e: ApiError): boolean {
  return e.status >= 400 && e.status < 500 && e.status !== 408 && e.status !== 429;
}

/**
 * Loads again whenever `key` or `tick` changes. A new key aborts what is under way and, unless
 * `keep`, forgets the old data; a new tick (live.version) waits for it, so that fast ticks cannot
 * starve a slow answer. A null key loads nothing.
 */
export function useLoad<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  tick: unknown = 0,
  keep = false,
): Load<T> {
  const [state, setState] = useState<{ key: string | null; data: T | null; error: ApiError | null; loading: boolean }>({
    key,
    data: null,
    error: null,
    loading: key !== null,
  });
  const flight = useRef<Flight | null>(null);
  const loader = useRef(load);
  loader.current = load;

  const start = (k: string): void => {
    const mine: Flight = { key: k, abort: new AbortController(), again: false };
    flight.current = mine;
    setState((s) => ({ key: k, data: s.key === k || keep ? s.data : null, error: s.key === k ? s.error : null, loading: true }));
    const done = (data: T | null, error: ApiError | null): void => {
      if (flight.current !== mine) return;
      flight.current = null;
      setState((s) => ({ key: k, data: data ?? (error !== null && isFinal(error) ? null : s.data), error, loading: false }));
      if (mine.again) start(k);
    };
    loader.current(mine.abort.signal).then(
      (data) => done(data, null),
      (e: unknown) => {
        if (isAbort(e)) return;
        const error = asApiError(e);
        if (error.status === 401) needLogin.value = true;
        done(null, error);
      },
    );
  };
  const ask = (): void => {
    const now = flight.current;
    if (key === null) return;
    if (now !== null && now.key === key) now.again = true;
    else {
      now?.abort.abort();
      start(key);
    }
  };
  useEffect(ask, [key, tick]);
  useEffect(
    () => () => {
      flight.current?.abort.abort();
      flight.current = null;
    },
    [],
  );
  const fresh = state.key === key || keep;
  return {
    data: fresh ? state.data : null,
    error: state.key === key ? state.error : null,
    loading: state.loading || state.key !== key,
    reload: ask,
  };
}
