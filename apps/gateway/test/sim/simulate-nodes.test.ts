// Several nodes over one store, on virtual time: killed, paused past their leases, cut off from the store, with clocks that are wrong, and
// hints and words lost. The laws are those of one process; besides, never two lead an account, and no write of an old term is taken.
import { expect, test } from "vitest";
import { holds, patienceMs } from "./holds.ts";
import { makeNodesPlan } from "./make-nodes-plan.ts";
import { nodes } from "./search.ts";
import type { Simulated } from "./simulate.ts";
import { simulateNodes } from "./simulate-nodes.ts";

test("nodes keep the laws together, with one history for one seed", { timeout: patienceMs }, async () => {
  const runs: Simulated[] = [];
  await holds(nodes, 1, 20, (run) => runs.push(run));
  for (const [n, once] of runs.slice(0, 2).entries())
    expect((await simulateNodes(makeNodesPlan(n + 1))).history).toEqual(once.history);
});

test("a leader that could not begin, because the store was away just then, begins again", async () => {
  const plan = {
    ...makeNodesPlan(1),
    troubles: [{ port: "free leases", nth: 1, harm: "fail before" }],
  } as const;
  expect((await simulateNodes(plan)).violations).toEqual([]);
});
