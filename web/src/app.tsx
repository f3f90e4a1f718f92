// SPDX-License-Identifier: Apache-2.0
// app.tsx - the frame of the page: the bar at the top, and which page is below it.
import { useEffect } from "preact/hooks";

import { LoginView } from "./views/login";
import { RunPage } from "./views/run";
import { RunsView } from "./views/runs";
import { lazy } from "./lazy";
import { needLogin } from "./live";
import { route } from "./state";
import { theme, toggleTheme } from "./theme";

const CompareView = lazy(async () => (await import("./views/compare")).CompareView);

function NotFound(p: { path: string }) {
  useEffect(() => {
    document.title = "Page not found - Footplate";
  }, []);
  return (
    <div class="stack">
      <h1>Page not found</h1>
      <p>
        There is no page at <code>#{p.path}</code>.
      </p>
      <p>
        <a href="#/">Show all runs</a>
      </p>
    </div>
  );
}

function Page() {
  const r = route.value;
  if (needLogin.value) return <LoginView />;
  if (r.page === "run") return <RunPage key={r.run} run={r.run} tab={r.tab} />;
  if (r.page === "unknown") return <NotFound path={r.path} />;
  if (r.page === "compare") return <CompareView key={`${r.a} ${r.b}`} a={r.a} b={r.b} />;
  return <RunsView />;
}

export function App() {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href="#/">
          <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
            <path d="M3 17h18M5 13h14M7 9h10" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" fill="none" />
          </svg>
          Footplate
        </a>
        <nav aria-label="Main">
          <a href="#/" aria-current={route.value.page === "runs" ? "page" : undefined}>
            Runs
          </a>
        </nav>
        <button type="button" class="button quiet" onClick={toggleTheme} aria-label={`Switch to the ${other} theme`}>
          <span aria-hidden="true">{other === "light" ? "☀" : "☾"}</span> {other === "light" ? "Light" : "Dark"}
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <Page />
      </main>
    </>
  );
}

/** The address after '#' belongs to the page: the skip link only moves the focus. */
function skip(e: Event): void {
  e.preventDefault();
  document.getElementById("main")?.focus();
}
