// SPDX-License-Identifier: Apache-2.0
// state.ts - what the user sees, as signals, synchronized with the address after the '#', so
// that a link restores tab, node, window and selection:
//   #/   #/run/RUN/TAB?node=N&from=NS&to=NS&sel=a,b   #/compare/A/B
// Everything else after the '?' is in `params`, free for the views.
import { batch, computed, effect, signal } from "@preact/signals";

export type Route =
  | { page: "runs" }
  | { page: "unknown"; path: string }
  | { page: "run"; run: string; tab: string }
  | { page: "compare"; a: string; b: string };

/** A time range in ns since the epoch. */
export interface Window {
  from: number;
  to: number;
}

/** All parts of an address. */
export interface Place {
  route: Route;
  node: string;
  window: Window | null;
  selection: string[];
  params: Record<string, string>;
}

export const FIRST_TAB = "overview";

export const route = signal<Route>({ page: "runs" });
/** The chosen node; "" is all of them. */
export const node = signal("");
/** What the charts show; null: the whole run. Shared by all tabs. */
export const window_ = signal<Window | null>(null);
/** What was picked by label: "cpu3", "gpu0"... Shared by the charts of a tab. */
export const selection = signal<string[]>([]);
/** More that a view wants in the address: {"last": "50"}. Use setParam. */
export const params = signal<Record<string, string>>({});

export const runName = computed(() => (route.value.page === "run" ? route.value.run : ""));

export function setParam(key: string, value: string | null): void {
  const next = { ...params.value };
  if (value === null || value === "") delete next[key];
  else next[key] = value;
  params.value = next;
}

export function setWindow(w: Window | null): void {
  window_.value = w === null || w.to - w.from < 1000 ? null : { from: Math.floor(w.from), to: Math.ceil(w.to) };
}

export function toggleSelected(label: string): void {
  const now = selection.value;
  selection.value = now.includes(label) ? now.filter((l) => l !== label) : [...now, label];
}

/** Another tab of the same run: node and window stay. */
export function showTab(tab: string): void {
  if (route.value.page === "run") route.value = { ...route.value, tab };
}

/** A time range in the Nodes tab, as the insights request it. */
export function showInNodes(w: Window, nodeId: string): void {
  batch(() => {
    showTab("nodes");
    node.value = nodeId;
    setWindow(w);
  });
}

const OWN = new Set(["node", "from", "to", "sel"]);

function readRoute(path: string): Route {
  const [first, second, third] = path.split("/").filter((p) => p !== "").map(decodeURIComponent);
  if (first === undefined) return { page: "runs" };
  if (first === "run" && second !== undefined) return { page: "run", run: second, tab: third ?? FIRST_TAB };
  if (first === "compare" && second !== undefined) return { page: "compare", a: second, b: third ?? "" };
  return { page: "unknown", path };
}

function readWindow(query: URLSearchParams): Window | null {
  const from = query.get("from") ?? "";
  const to = query.get("to") ?? "";
  if (!/^\d+$/.test(from) || !/^\d+$/.test(to) || Number(to) <= Number(from)) return null;
  return { from: Number(from), to: Number(to) };
}

/** The place of an address (with or without its '#'). A query that makes no sense is left out. */
export function readPlace(hash: string): Place {
  const [path = "", queryPart = ""] = hash.replace(/^#/, "").split("?");
  const query = new URLSearchParams(queryPart);
  const rest: Record<string, string> = {};
  for (const [key, v] of query) if (!OWN.has(key)) rest[key] = v;
  let where: Route;
  try {
    where = readRoute(path);
  } catch {
    where = { page: "unknown", path }; // a '%' that encodes nothing
  }
  const sel = query.get("sel") ?? "";
  return {
    route: where,
    node: query.get("node") ?? "",
    window: readWindow(query),
    selection: sel === "" ? [] : sel.split(","),
    params: rest,
  };
}

export function routePath(r: Route): string {
  const e = encodeURIComponent;
  if (r.page === "run") return `#/run/${e(r.run)}/${e(r.tab)}`;
  if (r.page === "unknown") return `#${r.path}`;
  return r.page === "compare" ? `#/compare/${e(r.a)}/${e(r.b)}` : "#/";
}

/** The list of the runs with a tag. */
export const tagAddress = (tag: string): string => `#/?${new URLSearchParams({ tag })}`;

/** The address of a place. readPlace gives the place back. */
export function writePlace(p: Place): string {
  const query = new URLSearchParams();
  if (p.node !== "") query.set("node", p.node);
  if (p.window !== null) {
    query.set("from", BigInt(Math.round(p.window.from)).toString());
    query.set("to", BigInt(Math.round(p.window.to)).toString());
  }
  if (p.selection.length > 0) query.set("sel", p.selection.join(","));
  for (const [key, v] of Object.entries(p.params)) query.set(key, v);
  const all = query.toString();
  return routePath(p.route) + (all === "" ? "" : `?${all}`);
}

function adopt(p: Place): void {
  batch(() => {
    route.value = p.route;
    node.value = p.node;
    window_.value = p.window;
    selection.value = p.selection;
    params.value = p.params;
  });
}

function currentPlace(): Place {
  return {
    route: route.value,
    node: node.value,
    window: window_.value,
    selection: selection.value,
    params: params.value,
  };
}

/** Another run, the list or a comparison: what was chosen within the last one is dropped. */
export function go(to: Route): void {
  adopt({ route: to, node: "", window: null, selection: [], params: {} });
}

/** Ties the signals to the address bar. The browser's history has another page or tab; zooming replaces. */
export function startRouting(): void {
  adopt(readPlace(location.hash));
  let lastPath = routePath(route.value);
  window.addEventListener("hashchange", () => {
    lastPath = routePath(readPlace(location.hash).route);
    adopt(readPlace(location.hash));
  });
  effect(() => {
    const address = writePlace(currentPlace());
    if (address === location.hash || (address === "#/" && location.hash === "")) return;
    const path = routePath(route.value);
    if (path === lastPath) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    lastPath = path;
  });
}
