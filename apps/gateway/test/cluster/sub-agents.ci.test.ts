// A worker dies between a spawn and its announcement: another one brings the sub-agent to its end, which is
// told once.
import { lacks, program, type ModelAnswer, type ModelCall } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { parley } from "../e2e/operator.ts";
import { fleet, type Fleet } from "./fleet.ts";

const me = 7;
const labels = ["n0", "n1", "n2"];
let deaths = 0;

function answer(call: ModelCall): ModelAnswer {
  const text = JSON.stringify(call.body["messages"]);
  // The first life of each sub-agent never answers.
  if (text.includes("Task from session")) return { text: "dug 42", delayMs: deaths === 0 ? 600_000 : 0 };
  if (call.lastUserText.includes("[System Message]")) return `told: ${call.lastUserText.includes("dug 42")}`;
  const begun = [...text.matchAll(/has the task/g)].length;
  return begun < 3
    ? { toolCalls: [{ name: "sessions_spawn", args: { task: "dig", label: `n${begun}` } }] }
    : "spawned three";
}

describe.skipIf(lacks(program("redis-server")))("three nodes on a real Redis", () => {
  let f: Fleet;
  beforeEach(async () => {
    deaths = 0;
    f = await fleet();
  });
  afterEach(async () => {
    await cleanUp();
    await f.close();
  });

  test(
    "what a killed worker's sub-agents were to find is found by others and told once",
    { timeout: 300_000 },
    async () => {
      const w = f.world;
      const config = { commands: { ownerAllowFrom: [`telegram:${me}`] } };
      w.models.reply(answer);
      const edge = await f.start("edge-1", "edge", config);
      const worker = await f.start("worker-1", "worker", config);
      w.telegram.as(me).says("fan out");
      const shown = (): readonly string[] =>
        w.telegram
          .visible(me)
          .filter(({ byBot }) => byBot)
          .map(({ text }) => text);
      await eventually(() => shown().includes("spawned three"), 20_000, "the spawn");
      const tree = async (): Promise<
        readonly { readonly label: string | null; readonly state: string }[]
      > => {
        const told = JSON.parse((await parley(edge.home, "--json", "sessions", "tree")).out) as {
          readonly sessions: readonly { readonly label: string | null; readonly state: string }[];
        };
        return told.sessions.filter(({ label }) => label !== null);
      };
      expect((await tree()).map(({ state }) => state)).toEqual(["running", "running", "running"]);
      deaths = 1;
      worker.kill("SIGKILL");
      await worker.exited;
      // One that never heard of them, and the one that died: its start frees what it held.
      await f.start("worker-2", "worker", config);
      await f.start("worker-1", "worker", config);
      await eventually(
        async () => (await tree()).every(({ state }) => state === "answered"),
        60_000,
        "the end of all three",
      );
      await eventually(() => shown().some((text) => text.startsWith("told: true")), 20_000, "the telling");
      // Its newest request holds the whole conversation: each end stands in it once.
      const read = (): string => {
        const asked = w.models.requests().map(({ body }) => JSON.stringify(body["messages"]));
        return asked.findLast((text) => text.includes("fan out")) ?? "";
      };
      const times = (label: string): number => read().split(`Sub-agent \\"${label}\\"`).length - 1;
      await eventually(() => labels.every((label) => times(label) > 0), 20_000, "all three ends");
      expect(labels.map(times)).toEqual([1, 1, 1]);
      expect(await edge.stop()).toBe(0);
    },
  );
});
