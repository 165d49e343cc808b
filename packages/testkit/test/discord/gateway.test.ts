// The fake's gateway keeps the real one's rules: who may identify, what resumes, what each break of the rules
// is closed with.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defaultDiscordToken, type FakeDiscord, type FakeDiscordBot, fakeDiscord } from "@parley/testkit";
import { identify, intents, openGateway, ready, rest, usualIntents } from "./raw-client.ts";

let fake: FakeDiscord;
let bot: FakeDiscordBot;
beforeEach(async () => {
  fake = await fakeDiscord();
  bot = fake.bot(defaultDiscordToken, { username: "parley" });
});
afterEach(() => fake.close());

test("a bot that identifies hears what is said to it, and itself", async () => {
  const guild = fake.guild({ name: "Home" });
  const channel = fake.channel({ guild, name: "general" });
  const line = await ready(fake, bot);
  expect((await line.next("GUILD_CREATE")).d).toMatchObject({
    id: guild,
    name: "Home",
    channels: [{ id: channel, type: 0, name: "general" }],
  });
  const alice = fake.as({ id: "42", name: "Alice" });
  alice.says("hello");
  alice.says(`<@${bot.id}> and <@&1>`, { channel });
  await rest(fake, bot, "POST", `/channels/${channel}/messages`, { content: "mine" });
  await line.next("MESSAGE_CREATE");
  await line.next("MESSAGE_CREATE");
  await line.next("MESSAGE_CREATE");
  const [direct, inGuild, own] = line.events("MESSAGE_CREATE");
  expect(direct).toMatchObject({
    content: "hello",
    author: { id: "42", global_name: "Alice" },
    channel_id: alice.dm(),
  });
  expect(direct.guild_id).toBeUndefined();
  expect(inGuild).toMatchObject({
    guild_id: guild,
    mentions: [{ id: bot.id }],
    mention_roles: [],
    member: { roles: [] },
  });
  expect(own).toMatchObject({ content: "mine", author: { id: bot.id, bot: true } });
  expect(line.frames.filter((frame) => frame.op === 0).map((frame) => frame.s)).toEqual([1, 2, 3, 4, 5]);
});

test("events come only to sessions with their intent, and guild text is empty without the content intent", async () => {
  const channel = fake.channel({ guild: fake.guild() });
  const line = await ready(fake, bot, intents.guilds | intents.guildMessages);
  const alice = fake.as("42");
  alice.says("a direct message");
  const said = alice.says("nobody is named", {
    channel,
    files: [{ name: "a.txt", mediaType: "text/plain", bytes: new Uint8Array(1) }],
  });
  alice.says(`to <@${bot.id}>`, { channel });
  alice.reacts(said.id, "👍", { channel });
  await line.next("MESSAGE_CREATE");
  await line.next("MESSAGE_CREATE");
  expect(line.events("MESSAGE_CREATE")).toMatchObject([
    { content: "", attachments: [] },
    { content: `to <@${bot.id}>` },
  ]);
  expect(line.events("MESSAGE_REACTION_ADD")).toEqual([]);
});

describe("a session that was left", () => {
  test("is resumed at its own address: what was missed comes again in order, then RESUMED", async () => {
    const line = await ready(fake, bot);
    const alice = fake.as("42");
    alice.says("one");
    const { s } = await line.next("MESSAGE_CREATE");
    line.kill();
    await expect.poll(() => fake.gateway.connections()).toBe(0);
    alice.says("two");
    alice.says("three");
    const again = openGateway(fake, { url: line.resumeUrl });
    await again.next(10);
    again.send({ op: 6, d: { token: bot.token, session_id: line.session, seq: s } });
    await again.next("RESUMED");
    expect(again.frames.slice(1).map((frame) => frame.d.content ?? frame.t)).toEqual([
      "two",
      "three",
      "RESUMED",
    ]);
    expect(fake.gateway.steps("connect").map((step) => step.isAtResumeUrl)).toEqual([false, true]);
    expect(fake.gateway.steps("close")).toMatchObject([{ code: 1006 }]);
  });

  test("is gone after the codes 1000 and 1001, and kept after any other", async () => {
    for (const [code, isKept] of [
      [1000, false],
      [1001, false],
      [4200, true],
    ] as const) {
      const line = await ready(fake, bot);
      line.close(code);
      await line.closed();
      await expect.poll(() => fake.gateway.connections()).toBe(0);
      const again = openGateway(fake, { url: line.resumeUrl });
      await again.next(10);
      again.send({ op: 6, d: { token: bot.token, session_id: line.session, seq: 1 } });
      if (isKept) await again.next("RESUMED");
      else expect((await again.next(9)).d).toBe(false);
      again.kill();
    }
  });

  test("can be refused as often as a test wants, and repeat what the client already had", async () => {
    const line = await ready(fake, bot);
    fake.as("42").says("one");
    const { s } = await line.next("MESSAGE_CREATE");
    fake.gateway.refuseResume(1, true);
    fake.gateway.repeatAfterResume(1);
    line.kill();
    const again = openGateway(fake);
    await again.next(10);
    again.send({ op: 6, d: { token: bot.token, session_id: line.session, seq: s } });
    expect((await again.next(9)).d).toBe(true);
    again.send({ op: 6, d: { token: bot.token, session_id: line.session, seq: s } });
    expect((await again.next("MESSAGE_CREATE")).s).toBe(s);
    await again.next("RESUMED");
  });
});

describe("a connection is closed with", () => {
  test.each([
    ["4004, a wrong token", () => identify("wrong"), 4004],
    ["4013, bits that are no intents", () => identify(defaultDiscordToken, 1 << 30), 4013],
    [
      "4014, an intent that the portal does not allow",
      () => identify(defaultDiscordToken, usualIntents),
      4014,
    ],
    ["4010, a shard that cannot be", () => identify(defaultDiscordToken, 1, { shard: [2, 1] }), 4010],
    ["4001, an opcode that is none", () => ({ op: 99 }), 4001],
    ["4003, talk before identify", () => ({ op: 3, d: {} }), 4003],
  ] as const)("%s", async (_, payload, code) => {
    bot.setPrivileged([]);
    const line = openGateway(fake);
    await line.next(10);
    line.send(payload());
    expect(await line.closed()).toBe(code);
  });

  test("4002, 4005, 4007, 4008 and 4012 for the other breaks of the rules", async () => {
    const old = openGateway(fake, { query: "v=9&encoding=json" });
    expect(await old.closed()).toBe(4012);
    const torn = openGateway(fake);
    await torn.next(10);
    torn.sendText("{");
    expect(await torn.closed()).toBe(4002);
    const twice = await ready(fake, bot);
    twice.send(identify(bot.token));
    expect(await twice.closed()).toBe(4005);
    const ahead = openGateway(fake);
    await ahead.next(10);
    ahead.send({ op: 6, d: { token: bot.token, session_id: twice.session, seq: 99 } });
    expect(await ahead.closed()).toBe(4007);
    const flood = openGateway(fake);
    await flood.next(10);
    for (let i = 0; i < 121; i++) flood.send({ op: 1, d: null });
    expect(await flood.closed()).toBe(4008);
  });

  test("4009 when the client stops to beat", async () => {
    const quick = await fakeDiscord({ heartbeatMs: 30 });
    const line = openGateway(quick);
    expect((await line.next(10)).d).toEqual({ heartbeat_interval: 30 });
    expect(await line.closed()).toBe(4009);
    await quick.close();
  });
});

test("heartbeats are acknowledged until a test turns the connection into a zombie", async () => {
  const line = await ready(fake, bot);
  line.send({ op: 1, d: 1 });
  await line.next(11);
  fake.gateway.acks(false);
  line.send({ op: 1, d: 1 });
  await expect.poll(() => fake.gateway.steps("heartbeat").length).toBe(2);
  expect(line.frames.filter((frame) => frame.op === 11)).toHaveLength(1);
});

test("a test can end, shake and silence connections", async () => {
  const line = await ready(fake, bot);
  fake.gateway.reconnect();
  await line.next(7);
  fake.gateway.invalidate(true);
  expect((await line.next(9)).d).toBe(true);
  fake.gateway.push("SOMETHING_NEW", { odd: [null] });
  expect((await line.next("SOMETHING_NEW")).d).toEqual({ odd: [null] });
  fake.gateway.drop(4000);
  expect(await line.closed()).toBe(4000);
  const second = await ready(fake, bot);
  fake.gateway.drop();
  expect(await second.closed()).toBe(1006);
  fake.gateway.withholdHello(1);
  const third = openGateway(fake);
  await expect.poll(() => fake.gateway.connections()).toBe(1);
  expect(third.frames).toEqual([]);
});

test("session starts are counted, and none is left beyond the limit", async () => {
  fake.gateway.setStartLimit(1);
  await ready(fake, bot);
  const limit = (await rest(fake, bot, "GET", "/gateway/bot")).body;
  expect(limit).toMatchObject({
    url: expect.stringMatching(/^ws:/),
    shards: 1,
    session_start_limit: { total: 1000, remaining: 0, max_concurrency: 1 },
  });
  const line = openGateway(fake);
  await line.next(10);
  line.send(identify(bot.token));
  expect(await line.closed()).toBe(4004);
  expect(fake.violations()).toEqual([expect.stringContaining("session_start_limit")]);
});

test.each(["v=10&encoding=json&compress=zlib-stream", "v=10&encoding=json&compress=zstd-stream"])(
  "frames come compressed as asked: %s",
  async (query) => {
    const line = openGateway(fake, { query });
    await line.next(10);
    line.send(identify(bot.token));
    await line.next("READY");
    for (let i = 0; i < 20; i++) fake.as("42").says(`${i} ${"long ".repeat(300)}`);
    await expect.poll(() => line.events("MESSAGE_CREATE").length).toBe(20);
    expect(line.events("MESSAGE_CREATE").map((message) => Number.parseInt(message.content, 10))).toEqual(
      Array.from({ length: 20 }, (_, i) => i),
    );
  },
);

test("payloads come compressed one by one to a client that asked for it at identify", async () => {
  const line = openGateway(fake);
  await line.next(10);
  line.send(identify(bot.token, usualIntents, { compress: true }));
  expect((await line.next("READY")).d.user.username).toBe("parley");
});

test("links that unfold are updates without an edit; deletions, webhooks and closed doors are told as they are", async () => {
  const channel = fake.channel({ guild: fake.guild() });
  const line = await ready(fake, bot);
  const alice = fake.as("42");
  const link = alice.says("https://example.org", { channel });
  alice.unfurls(link.id, [{ title: "Example" }], { channel });
  alice.edits(link.id, "never mind", { channel });
  alice.deletes(link.id, { channel });
  fake.as({ id: "77", name: "Feed", isWebhook: true }).says("news", { channel });
  const secret = alice.opensThread("Secret", { channel, isPrivate: true });
  alice.says("psst", { channel: secret });
  alice.says(`<@${bot.id}> come in`, { channel: secret });
  fake.at(channel).remove();
  await line.next("CHANNEL_DELETE");
  expect(line.events("MESSAGE_UPDATE")).toMatchObject([
    { content: "https://example.org", edited_timestamp: null, embeds: [{ title: "Example" }] },
    { content: "never mind", edited_timestamp: expect.any(String) },
  ]);
  expect(line.events("MESSAGE_DELETE")).toMatchObject([{ id: link.id, channel_id: channel }]);
  expect(line.events("MESSAGE_CREATE").map((message) => [message.content, message.webhook_id])).toEqual([
    ["https://example.org", undefined],
    ["news", "77"],
    [`<@${bot.id}> come in`, undefined],
  ]);
  expect(line.events("THREAD_DELETE")).toMatchObject([{ id: secret, parent_id: channel }]);
});
