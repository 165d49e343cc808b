// Limits for one person and one shared place: messages, turns and spending, with polite words, and none of them for owners.
import { afterEach, expect, test } from "vitest";
import { messageLimits } from "@parley/access";
import type { Inbound } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { stage, type Stage } from "./stage.ts";

let s: Stage | undefined;
afterEach(async () => {
  await s?.close();
  s = undefined;
});

const group = {
  address: { channel: "telegram", account: "default", kind: "group", peer: "g1" },
} satisfies Partial<Inbound>;

async function begin(limits: object): Promise<Stage> {
  s = await stage({
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, limits },
    telegram: { groupPolicy: "open", groups: { "*": { requireMention: false } } },
  });
  return s;
}

test("a message too many is refused, told once, and counted; the next minute is another", async () => {
  const here = await begin({ person: { messagesPerMinute: 2 } });
  const bob = here.person("bob");
  await bob.says("one").gets("re: one");
  await bob.says("two").gets("re: two");
  await bob
    .says("three")
    .gets(/^⏳ I read at most 2 messages from one person in one minute.* in 60 seconds\.$/);
  bob.says("four");
  await here.pass(5_000);
  expect(bob.sees()).toHaveLength(3);
  expect(here.refused.map(({ reason }) => reason)).toEqual(["person_limit", "person_limit"]);
  const rows = await here.rows({ outcome: "refused" });
  expect(rows.map(({ reason }) => reason)).toEqual([
    "more than limits.person lets in: 2 a minute",
    "more than limits.person lets in: 2 a minute",
  ]);
  // Commands that act at once still do, and others are not held up.
  await bob.says("/status").gets(/./);
  await here.person("carol").says("hi").gets("re: hi");
  const olga = here.person("olga");
  for (const word of ["a", "b", "c", "d"]) await olga.says(word).gets(`re: ${word}`);
  await here.pass(60_000);
  await bob.says("five").gets("re: five");
});

test("a group has its own, whoever writes there", async () => {
  const here = await begin({ place: { messagesPerHour: 1 } });
  await here.person("bob", { chat: "g1" }).says("one", group).gets(/one/);
  await here
    .person("carol", { chat: "g1" })
    .says("two", group)
    .gets(/one/, /^⏳ I read at most 1 message in this chat in one hour.* in 60 minutes\.$/);
  await here.person("bob").says("in private").gets("re: in private");
});

test("turns and tokens of a day are limited by person and by place, over a restart", async () => {
  const here = await begin({ person: { turnsPerDay: 2 }, place: { dayTokens: 1 } });
  const bob = here.person("bob");
  await bob.says("one").gets("re: one");
  await bob.says("two").gets("re: two");
  await here.kill();
  await here.start();
  await bob.says("three").gets(/Today's limit for one person is reached, so I cannot answer now\. It resets/);
  await here.person("carol").says("hi").gets("re: hi");
  const there = here.person("dave", { chat: "g1" });
  await there.says("first", group).gets(/first/);
  await there.says("second", group).gets(/Today's limit for this chat is reached/);
  const olga = here.person("olga");
  for (const word of ["a", "b", "c"]) await olga.says(word).gets(`re: ${word}`);
});

test("an album counts once, and a flood of people is bounded", () => {
  const clock = virtualClock();
  const limits = messageLimits(clock);
  const from = (id: string, groupId?: string) => ({
    channel: "telegram",
    address: { channel: "telegram", account: "default", kind: "dm" as const, peer: id },
    sender: { id, name: id, isBot: false },
    ...(groupId === undefined ? {} : { groupId }),
  });
  const one = { person: { messagesPerHour: 2 }, place: {} };
  for (let picture = 0; picture < 10; picture += 1) expect(limits.over(from("a", "g"), one)).toBeNull();
  expect(limits.over(from("a"), one)).toBeNull();
  expect(limits.over(from("a"), one)).toMatchObject({ of: "person", per: "hour", isFirst: true });
  expect(limits.over(from("a"), one)).toMatchObject({ isFirst: false });
  for (let nth = 0; nth < 6_000; nth += 1) limits.over(from(`p${nth}`), one);
  // Whoever was silent longest is forgotten.
  expect(limits.over(from("a"), one)).toBeNull();
});
