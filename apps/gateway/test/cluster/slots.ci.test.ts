// Two nodes on one Redis look at the same jobs, and one dies in the middle: each slot has one row and ends
// once.
import { lacks, program } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { fleet, type Fleet } from "./fleet.ts";

interface Runs {
  readonly runs: readonly { readonly slot: string; readonly outcome: string; readonly count: number }[];
}

describe.skipIf(lacks(program("redis-server")))("two nodes on a real Redis", () => {
  let f: Fleet;
  beforeEach(async () => {
    f = await fleet();
  });
  afterEach(async () => {
    await cleanUp();
    await f.close();
  });

  test(
    "fire each slot once, also when one of them is killed between slots",
    { timeout: 300_000 },
    async () => {
      f.world.models.reply("done");
      const [first, second] = await Promise.all([f.start("node-1", "all"), f.start("node-2", "worker")]);
      const client = await controlClient(first);
      const add = async (name: string): Promise<string> => {
        const job = {
          name,
          message: "look",
          delivery: { kind: "none" },
          schedule: { kind: "cron", expression: "* * * * * *" },
          misfire: "all",
          catchUpMs: 600_000,
          overlap: "queue",
        };
        const made = (await client.call("cron.add", { job })) as { readonly job: { readonly id: string } };
        return made.job.id;
      };
      const ids = [await add("a"), await add("b")];
      const runsOf = async (id: string) =>
        ((await client.call("cron.runs", { id, limit: 500 })) as Runs).runs;
      const ran = async (id: string): Promise<number> =>
        (await runsOf(id)).filter(({ outcome }) => outcome === "ok").length;
      await eventually(async () => (await ran(ids[1] ?? "")) > 3, 30_000, "some runs");
      second.kill("SIGKILL");
      await second.exited;
      const before = await ran(ids[0] ?? "");
      await eventually(async () => (await ran(ids[0] ?? "")) > before + 3, 60_000, "runs after the death");
      for (const id of ids) await client.call("cron.update", { id, patch: { enabled: false } });
      for (const id of ids) {
        const runs = (await runsOf(id)).filter(({ outcome }) => outcome === "ok");
        const instants = runs
          .map(({ slot }) => Date.parse(slot.slice(`cron:${id}:`.length)))
          .toSorted((a, b) => a - b);
        expect(new Set(instants).size).toBe(instants.length);
        // Every second in between has its run: none was lost with the node.
        expect((instants.at(-1) ?? 0) - (instants[0] ?? 0)).toBe((instants.length - 1) * 1_000);
      }
      // A turn that died with its node is asked for again; no other is.
      const asked = f.world.models.requests().map(({ lastUserText }) => lastUserText);
      expect(asked.length - new Set(asked).size).toBeLessThanOrEqual(8);
      client.close();
      expect(await first.stop()).toBe(0);
    },
  );
});
