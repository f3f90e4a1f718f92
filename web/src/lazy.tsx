// SPDX-License-Identifier: Apache-2.0
// lazy.tsx - a component whose code is fetched when it is first shown, so that the first page is
// small.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

import { ErrorBox, Loading } from "./components/empty";

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let ready: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [state, setState] = useState<{ failed: boolean; n: number }>({ failed: false, n: 0 });
    useEffect(() => {
      if (ready !== null) return;
      load().then(
        (component) => {
          ready = component;
          setState((s) => ({ failed: false, n: s.n + 1 }));
        },
        () => setState((s) => ({ failed: true, n: s.n })),
      );
    }, []);
    const Component = ready;
    if (Component !== null) return <Component {...props} />;
    // The server may have been replaced by another version while the page was open.
    if (state.failed) return <ErrorBox error="This view could not be loaded from the server." retry={() => location.reload()} />;
    return <Loading />;
  };
}
