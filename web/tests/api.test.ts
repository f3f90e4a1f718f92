// SPDX-License-Identifier: Apache-2.0
// api.test.ts - an answer that is still being worked out is asked for again, whatever it is.
import assert from "node:assert/strict";
import test from "node:test";

import { api } from "../src/api";

/** A server that needs some time for each address: 202 the first times, then the address itself. */
function slowServer(pending: number): Map<string, number> {
  const asked = new Map<string, number>();
  globalThis.fetch = (address) => {
    const path = String(address);
    const n = (asked.get(path) ?? 0) + 1;
    asked.set(path, n);
    const status = n > pending ? 200 : 202;
    return Promise.resolve(new Response(JSON.stringify(status === 200 ? path : { pending: true }), { status }));
  };
  return asked;
}

test("every question is asked again until its answer is there", async () => {
  const asked = slowServer(2);
  const answers: unknown[] = await Promise.all([
    api.runs(),
    api.run("r"),
    api.stats("r", {}),
    api.series("r", { metric: ["cpu.util"] }),
    api.grid("r", { metric: ["cpu.util:total"] }),
    api.heatmap("r", {}),
    api.histograms("r", {}),
    api.steps("r"),
    api.ops("r"),
    api.functions("r"),
    api.breakdown("r"),
    api.events("r", {}),
    api.timeline("r", {}),
    api.search("r", { q: "x" }),
    api.findings("r"),
    api.compare("a", "b"),
    api.rules(),
    api.status(),
  ]);
  assert.equal(asked.size, answers.length);
  assert.deepEqual([...asked.values()], answers.map(() => 3));
  for (const answer of answers) assert.match(String(answer), /^\/api\/v1\//);
});

test("who goes away does not ask again", async () => {
  const asked = slowServer(1000);
  const gone = new AbortController();
  const answer = api.events("r", {}, gone.signal);
  gone.abort();
  await assert.rejects(answer, { name: "AbortError" });
  assert.deepEqual([...asked.values()], [1]);
});
