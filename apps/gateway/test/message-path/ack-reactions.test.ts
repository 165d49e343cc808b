// Reactions that tell people at once that a message was noticed, and the menu's commands from the config.
import { afterEach, expect, test } from "vitest";
import { Fault, type Inbound } from "@parley/protocol";
import { stage, type Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const acts: { readonly kind: string; readonly messageId?: string; readonly emoji?: string | null }[] = [];

async function begin(messages: object, telegram: object = {}): Promise<void> {
  acts.length = 0;
  s = await stage({
    config: { messages },
    telegram: { groupPolicy: "open", groupAllowFrom: ["*"], ...telegram },
  });
  s.telegram.harmActions(({ action }) => {
    acts.push(action as (typeof acts)[number]);
    return null;
  });
}

const reactions = () =>
  acts.filter(({ kind }) => kind === "react").map(({ messageId, emoji }) => [messageId, emoji]);
const group = (addressed: boolean): Partial<Inbound> => ({
  address: { channel: "telegram", account: "default", kind: "group", peer: "-1" },
  addressed,
});

test("a message in a group that calls the agent gets the emoji while it is worked on, and loses it after", async () => {
  await begin({ ackReaction: "👀", removeAckAfterReply: true });
  s.model.answers(() => ({ afterMs: 20_000, says: ["done"] }));
  s.person("olga").says("hi", group(true));
  await s.pass(10_000);
  expect(reactions()).toEqual([["olga-olga-1", "👀"]]);
  await s.until(() => reactions().length === 2, "the removal");
  expect(reactions()[1]).toEqual(["olga-olga-1", null]);
  await expect(await s.trace()).toMatchFileSnapshot("traces/group-ack.txt");
});

test("it is taken away when the turn is stopped, too", async () => {
  await begin({ ackReaction: "👀", ackReactionScope: "direct", removeAckAfterReply: true });
  s.model.answers(() => ({ afterMs: 60_000, says: ["done"] }));
  const olga = s.person("olga");
  olga.says("hi");
  await s.pass(5_000);
  olga.says("/stop");
  await s.until(() => reactions().some(([, emoji]) => emoji === null), "the removal");
});

test("its scope decides, an account's own before the one for all, and without an emoji there is none", async () => {
  await begin({ ackReaction: "👀" }, { ackReactionScope: "direct", ackReaction: "✅" });
  await s.person("olga").says("hi").gets("re: hi");
  s.person("mia").says("hi", group(true));
  await s.pass(60_000);
  expect(reactions()).toEqual([["olga-olga-1", "✅"]]);
  await s.close();
  await begin({});
  await s.person("olga").says("hi").gets("re: hi");
  expect(reactions()).toEqual([]);
});

test("a reaction that the platform refuses costs nothing else", async () => {
  await begin({ ackReaction: "🦖", ackReactionScope: "all" });
  s.telegram.harmActions(() => ({ refuse: new Fault("invalid", "REACTION_INVALID") }));
  await s.person("olga").says("hi").gets("re: hi");
});

test("the config's own commands stand in the menu, replace none of Parley's, and their text goes to the agent", async () => {
  await begin(
    {},
    {
      customCommands: [
        { command: "weather", description: "the weather" },
        { command: "stop", description: "something else" },
      ],
    },
  );
  const menu = await s.core().commands.menu({ channel: "telegram", account: "default" });
  expect(menu.filter(({ name }) => name === "weather" || name === "stop")).toEqual([
    { name: "stop", description: "stop what I am doing and forget what waits" },
    { name: "weather", description: "the weather" },
  ]);
  expect(
    (await s.core().commands.menu({ channel: "loopback", account: "default" })).map(({ name }) => name),
  ).not.toContain("weather");
  await s.person("olga").says("/weather Rome").gets("re: /weather Rome");
});
