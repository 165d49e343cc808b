// Several nodes as one gateway: work is shared, one leads each account, another takes over, web clients are
// served by any.
import { lacks, program } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually, startDaemon } from "../e2e/daemon.ts";
import { parley } from "../e2e/operator.ts";
import { world } from "../e2e/world.ts";
import { fleet, type Fleet } from "./fleet.ts";

test("a role other than all is refused on a store that no other process shares", async () => {
  const w = await world();
  await expect(startDaemon({ config: w.config, args: ["--role", "worker"] })).rejects.toThrow(
    /exited with 78.*store\.driver/s,
  );
  await expect(startDaemon({ config: w.config, args: ["--role", "leader"] })).rejects.toThrow(
    /exited with 78.*all, edge, worker/s,
  );
  await expect(startDaemon({ config: w.config, args: ["--rolle", "all"] })).rejects.toThrow(
    /exited with 78.*--rolle/s,
  );
  await cleanUp();
  await w.close();
});

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  let f: Fleet;
  beforeEach(async () => {
    f = await fleet();
  });
  afterEach(async () => {
    await cleanUp();
    await f.close();
  });

  test(
    "an edge receives and delivers, a worker answers; the other edge takes over from a death, and from a stop",
    { timeout: 300_000 },
    async () => {
      const w = f.world;
      const first = await f.start("edge-1", "edge");
      const worker = await f.start("worker-1", "worker");
      w.telegram.as(7).says("one");
      expect(await w.answered(7, 1)).toEqual(["echo: one"]);
      const second = await f.start("edge-2", "edge");
      const shown = await eventually(
        async () => {
          const { out } = await parley(first.home, "nodes");
          return out.includes("edge-2") && !out.includes("starting") && out.includes("worker-1")
            ? out
            : undefined;
        },
        10_000,
        "the roll",
      );
      expect(shown).toMatch(/edge-1 {2}\(edge\) {2}running.*leads telegram:default/);
      expect(shown).toMatch(/worker-1 {2}\(worker\) {2}running/);
      for (const { home } of [worker, second]) {
        const told = JSON.parse((await parley(home, "--json", "status")).out) as {
          readonly state: string;
          readonly channels: object[];
        };
        const led = {
          channel: "telegram",
          account: "default",
          state: "elsewhere",
          reason: "node edge-1 leads it",
        };
        expect(told).toMatchObject({ state: "ok", channels: expect.arrayContaining([led]) as object[] });
      }
      first.kill("SIGKILL");
      await first.exited;
      w.telegram.as(7).says("two");
      expect(await w.answered(7, 2, 15_000)).toEqual(["echo: one", "echo: two"]);
      const third = await f.start("edge-1", "edge");
      expect(await second.stop()).toBe(0);
      w.telegram.as(7).says("three");
      expect((await w.answered(7, 3, 5_000))[2]).toBe("echo: three");
      expect(await worker.stop()).toBe(0);
      expect(await third.stop()).toBe(0);
    },
  );

  test("a web client on any node sees what another node answers, live and by seq", async () => {
    const [edge, worker] = [await f.start("edge-1", "edge"), await f.start("worker-1", "worker")];
    const client = await controlClient(edge);
    await client.call("chat.send", { text: "hello", idempotencyKey: "k1" });
    const seen = await eventually(
      () =>
        client
          .events()
          .find(
            ({ event, payload }) =>
              event === "chat.message" && (payload as { role?: string }).role === "assistant",
          ),
      15_000,
      "the answer",
    );
    const elsewhere = await controlClient(worker, { lastSeq: 0 });
    await eventually(
      () => elsewhere.events().some(({ seq }) => seq === seen.seq),
      5_000,
      "the answer on the other node",
    );
    client.close();
    elsewhere.close();
  });

  test("killed and started again in its place, a node goes on at once with what it held", async () => {
    const w = f.world;
    const node = await f.start("one", "all");
    w.models.reply(async () => {
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      return { text: "late" };
    });
    w.telegram.as(9).says("hello");
    await eventually(() => w.models.requests().length > 0, 10_000, "the call");
    node.kill("SIGKILL");
    await node.exited;
    w.models.reply(async () => ({ text: "answered after all" }));
    await f.start("one", "all");
    expect(await w.answered(9, 1, 8_000)).toEqual(["answered after all"]);
  });

  test("/stop, heard by an edge, ends a turn that a worker runs before that one renews its lease", async () => {
    const w = f.world;
    await Promise.all([f.start("edge-1", "edge"), f.start("worker-1", "worker")]);
    let slow = true;
    w.models.reply(async () => {
      if (slow) await new Promise((resolve) => setTimeout(resolve, 60_000));
      return { text: "quick" };
    });
    w.telegram.as(8).says("a long task");
    await eventually(() => w.models.requests().length > 0, 15_000, "the call");
    slow = false;
    w.telegram.as(8).says("/stop");
    w.telegram.as(8).says("a short one");
    await eventually(() => w.answers(8).some(({ text }) => text === "quick"), 6_000, "the next answer");
  });
});
