// Limits for one person and one shared place: messages, turns and spending, with polite words, and none of
// them for owners.
import { afterEach, expect, test } from "vitest";
import type { Inbound } from "@parley/protocol";
import { stage, type Stage } from "./stage.ts";

let s: Stage | undefined;
afterEach(async () => {
  await s?.close();
  s = undefined;
});

const group = {
  address: { channel: "telegram", account: "default", kind: "group", peer: "g1" },
} satisfies Partial<Inbound>;

async function begin(limits: object, more: object = {}): Promise<Stage> {
  s = await stage({
    config: { commands: { ownerAllowFrom: ["telegram:olga"] }, limits, ...more },
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
  await expect(await s?.trace()).toMatchFileSnapshot("traces/too-many-messages.txt");
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

test("how many messages there were is known after kill -9", async () => {
  const here = await begin({ person: { messagesPerHour: 2 } });
  const bob = here.person("bob");
  await bob.says("one").gets("re: one");
  await here.kill();
  await here.start();
  await bob.says("two").gets("re: two");
  await here.kill();
  await here.start();
  await bob.says("three").gets(/^⏳ I read at most 2 messages/);
  await here.kill();
  await here.start();
  bob.says("four");
  await here.pass(5_000);
  expect(bob.sees()).toHaveLength(3);
});

const dayOver = /^⚠️ Today's limit for one person is reached/;

test("that a day's turns are spent is said once, over kill -9, and again the next day", async () => {
  // The clock begins at 0:00 UTC, an hour before the next day there.
  const zone = { agents: { defaults: { userTimezone: "Etc/GMT+1" } } };
  const here = await begin({ person: { turnsPerDay: 1 }, place: { turnsPerDay: 2 } }, zone);
  const bob = here.person("bob");
  await bob.says("one").gets("re: one");
  await bob.says("two").gets(dayOver);
  bob.says("three");
  await here.pass(5_000);
  await here.kill();
  await here.start();
  bob.says("four");
  await here.pass(5_000);
  expect(bob.sees()).toHaveLength(2);
  const rows = await here.rows({ outcome: "refused" });
  expect(rows.map(({ reason }) => dayOver.test(`⚠️ ${reason}`))).toEqual([true, true, true]);
  // Each person hears it, and a place on its own.
  const carol = here.person("carol");
  await carol.says("one").gets("re: one");
  await carol.says("two").gets(dayOver);
  for (const name of ["dave", "erin"]) await here.person(name, { chat: "g1" }).says(name, group).gets(/./);
  const frank = here.person("frank", { chat: "g1" });
  await frank.says("hi", group).gets(/dave/, /erin/, /Today's limit for this chat is reached/);
  const before = frank.sees().length;
  here.person("grace", { chat: "g1" }).says("hi", group);
  await here.pass(5_000);
  expect(frank.sees()).toHaveLength(before);
  await here.pass(3_600_000);
  await bob.says("five").gets(/five$/);
  await bob.says("six").gets(dayOver);
});

test("who writes again an hour later hears again why nobody answers", async () => {
  const here = await begin({ person: { turnsPerDay: 1 } }, { agents: { defaults: { userTimezone: "UTC" } } });
  const bob = here.person("bob");
  await bob.says("one").gets("re: one");
  await bob.says("two").gets(dayOver);
  await here.pass(3_590_000);
  bob.says("three");
  await here.pass(5_000);
  expect(bob.sees()).toHaveLength(2);
  await here.pass(5_000);
  await bob.says("four").gets(dayOver);
});

test("whichever write the process dies of, the words come, and once", async () => {
  let died = true;
  for (let nth = 1; died; nth += 1) {
    const here = await begin({ person: { turnsPerDay: 1 } });
    const bob = here.person("bob");
    await bob.says("one").gets("re: one");
    const isDead = here.dieAtWrite(nth);
    bob.says("two");
    await here.pass(5_000);
    died = isDead();
    await here.kill();
    await here.start();
    await here.pass(60_000);
    bob.says("three");
    await here.pass(5_000);
    expect([nth, bob.sees().filter((text) => dayOver.test(text)).length]).toEqual([nth, 1]);
    await here.close();
  }
});
