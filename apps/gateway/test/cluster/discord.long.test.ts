// Discord under a leader that dies again and again: the next one resumes the session, reads back what was
// sent, and answers slash commands that the dead one had taken. No message is lost, and none is answered
// twice.
import { setTimeout as pause } from "node:timers/promises";
import { lacks, program } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { discordWorld } from "../e2e/discord-world.ts";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { fleetIn, type Node } from "./fleet.ts";

const deaths = 4;

describe.skipIf(lacks(program("redis-server")))("on a real Redis", () => {
  afterEach(cleanUp);

  test(
    "two edges and a worker, the leading edge killed four times while five people talk",
    { timeout: 600_000 },
    async () => {
      const w = await discordWorld();
      const f = await fleetIn(w);
      w.models.reply(async ({ lastUserText }) => {
        await pause(Math.random() * 600);
        return { text: `echo: ${lastUserText}` };
      });
      const nodes = new Map<string, Node>();
      for (const name of ["edge-1", "edge-2"]) nodes.set(name, await f.start(name, "edge"));
      await f.start("worker-1", "worker");
      await w.live();
      const people = Array.from({ length: 5 }, (_, n) =>
        w.discord.as({ id: `10000000000000004${n}`, name: `Person ${n}` }),
      );
      let said = 0;
      const commands: string[] = [];
      let isOver = false;
      const talk = (async () => {
        for (; !isOver; said += 1) {
          for (const person of people) person.says(`message ${said}.`);
          await pause(1_500);
        }
      })();
      for (let n = 0; n < deaths; n += 1) {
        await pause(1_000 + Math.random() * 1_500);
        commands.push(...people.slice(0, 2).map((person) => person.runs("whoami")));
        await pause(Math.random() * 300);
        const cell = await f.redis.command("HGET", "{parley}:cell:leader:discord:default", "v");
        const leader = nodes.get(/"node":"([^"]+)"/.exec(cell)?.[1] ?? "") as Node;
        leader.kill("SIGKILL");
        await leader.exited;
        await pause(6_500);
        nodes.set(leader.name, await f.start(leader.name, "edge"));
      }
      isOver = true;
      await talk;
      const texts = (n: number): string[] => w.answers(people[n]?.dm() ?? "").map(({ text }) => text);
      const numbers = (n: number): number[] =>
        texts(n).flatMap((text) =>
          [...text.matchAll(/message (\d+)\./g)].map(([, number]) => Number(number)),
        );
      const all = Array.from({ length: said }, (_, n) => n);
      await eventually(() => people.every((_person, n) => numbers(n).length >= said), 90_000, "every answer");
      for (const n of people.keys()) expect(numbers(n)).toEqual(all);
      // One that nobody had heard when the leader died is past its three seconds: Discord tells whoever used
      // it.
      const isSettled = (id: string): boolean =>
        ["answered", "failed"].includes(w.discord.interaction(id).state);
      await eventually(() => commands.every(isSettled), 20_000, "every slash command's end");
      expect(w.discord.violations()).toEqual([]);
      await cleanUp();
      await f.close();
    },
  );
});
