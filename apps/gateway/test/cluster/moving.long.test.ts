// Accounts that move between nodes that all live: away from one that hears nothing, and from one that has
// more than another.
import { setTimeout as pause } from "node:timers/promises";
import type { MethodResult } from "@parley/protocol";
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { fleet, type Node } from "./fleet.ts";

type Nodes = MethodResult<"nodes.list">["nodes"];

async function leading(node: Node): Promise<{ readonly [name: string]: number }> {
  const client = await controlClient(node);
  const { nodes } = (await client.call("nodes.list")) as { nodes: Nodes };
  client.close();
  return Object.fromEntries(nodes.map(({ node: name, leads }) => [name, leads.length]));
}

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  test(
    "an account whose leader cannot reach its platform goes to a node that can, and stays there",
    { timeout: 180_000 },
    async () => {
      const f = await fleet();
      const { telegram } = f.world.config["channels"] as { readonly telegram: object };
      // Port 9 answers nobody.
      await f.start("edge-1", "edge", {
        channels: { telegram: { ...telegram, apiRoot: "http://127.0.0.1:9" } },
      });
      await Promise.all([f.start("worker-1", "worker"), f.start("edge-2", "edge")]);
      f.world.telegram.as(7).says("is anybody there?");
      expect(await f.world.answered(7, 1, 90_000)).toEqual(["echo: is anybody there?"]);
      await pause(10_000);
      f.world.telegram.as(7).says("still?");
      expect((await f.world.answered(7, 2, 5_000))[1]).toBe("echo: still?");
      await f.close();
    },
  );

  test(
    "three accounts of one node spread over two, and everything said meanwhile is answered once",
    { timeout: 240_000 },
    async () => {
      const f = await fleet();
      const { telegram } = f.world;
      const bots = [
        telegram.bot(),
        telegram.bot("777:second-bot-0123456789", "second_bot"),
        telegram.bot("888:third-bot-0123456789", "third_bot"),
      ];
      const { telegram: first } = f.world.config["channels"] as { readonly telegram: object };
      const open = { dmPolicy: "open", allowFrom: ["*"], pacing: "off", streaming: "off" };
      const accounts = {
        second: { ...open, botToken: bots[1]?.token },
        third: { ...open, botToken: bots[2]?.token },
      };
      const config = { channels: { telegram: { ...first, accounts } } };
      const one = await f.start("one", "all", config);
      await eventually(async () => (await leading(one))["one"] === 3, 30_000, "all three led by one");
      await f.start("two", "all", config);
      let said = 0;
      const sent = (n: number, b: number): number =>
        telegram.calls("sendMessage").filter(({ params }) => params["text"] === `echo: ${n} to ${b}`).length;
      const isEven = async (): Promise<boolean> =>
        Object.values(await leading(one))
          .toSorted((a, b) => a - b)
          .join() === "1,2";
      for (; said < 100 && !(await isEven()); said += 1) {
        for (const [b, bot] of bots.entries()) telegram.as(100 * b + said, bot.token).says(`${said} to ${b}`);
        await pause(1_000);
      }
      expect(await isEven()).toBe(true);
      const all = bots.flatMap((_bot, b) => Array.from({ length: said }, (_, n) => [n, b] as const));
      await eventually(() => all.every(([n, b]) => sent(n, b) > 0), 60_000, "every answer");
      expect(all.filter(([n, b]) => sent(n, b) !== 1)).toEqual([]);
      await f.close();
    },
  );
});
