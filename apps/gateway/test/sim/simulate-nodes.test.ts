// Several nodes over one store, on virtual time: killed, paused past their leases, cut off from the store,
// with clocks that are wrong, and hints and words lost. The laws are those of one process; besides, never two
// lead an account, and no write of an old term is taken.
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

const shortAnswer = { tools: [], answer: "plain", pieces: 1, pauseMs: 50 } as const;
const longAnswer = { tools: [], answer: "long", pieces: 1, pauseMs: 735 } as const;

test("the last request of a paused leader arrives behind what its successor sent: a flagged copy, and no order broken", async () => {
  const plan = {
    ...makeNodesPlan(700_146),
    scope: "per-channel-peer",
    streaming: "off",
    queue: "steer",
    calm: false,
    acts: [
      { atMs: 2_121, chat: "room", from: "olga", kind: "say", n: 3, script: shortAnswer, aside: true },
      { atMs: 2_346, chat: "petra", from: "petra", kind: "command", text: "/new" },
      { atMs: 6_204, chat: "room", from: "olga", kind: "say", n: 2, script: longAnswer },
    ],
    troubles: [
      { port: "telegram.send", nth: 3, harm: "slow" },
      { atMs: 7_021, process: "freeze", forMs: 22_036, node: 1 },
    ],
    nodes: [
      { role: "edge", skewMs: 0 },
      { role: "edge", skewMs: -12_749 },
      { role: "worker", skewMs: 0 },
    ],
  } as const;
  expect((await simulateNodes(plan)).violations).toEqual([]);
});
