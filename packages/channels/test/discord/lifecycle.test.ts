// A Discord account from its start to its end: what it asks to hear, how long it waits for each thing, and
// what stands in its log.
import type { ChannelEvent, Fault, Log } from "@parley/protocol";
import { silentLog } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AskedServer, askedServer } from "../asked-server.ts";
import { alice, discordRig, dm, keptMemory, type Rig } from "./rig.ts";

let rig: Rig;
let lines: unknown[];
const keep =
  (level: string) =>
  (fields: object, words: string): void =>
    void lines.push([level, fields, words]);
beforeEach(async () => {
  lines = [];
  const log = { ...silentLog, warn: keep("warn"), error: keep("error"), info: keep("info") } as Log;
  rig = await discordRig({ log });
});
afterEach(() => rig.close());

const how = { idempotencyKey: "k", signal: new AbortController().signal };
const words = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "it succeeded",
    (error: unknown) => `${(error as Fault).code}: ${(error as Fault).message}`,
  );
const intents = (): readonly number[] => rig.fake.gateway.sessions().map((session) => session.intents);

test("an account asks to hear servers, messages, reactions and polls, and what is said only where it may", async () => {
  await rig.channel.start(async () => {});
  // Guilds 1, messages 512 and 4096, reactions 1024 and 8192, polls 16777216 and 33554432; content 32768.
  expect(intents()).toEqual([50_378_241]);
  await rig.channel.stop();
  const modest = await rig.open({ messageContent: false, memory: keptMemory() });
  const heard: string[] = [];
  await modest.start(async (batch) => void heard.push(...batch.map((event) => event.kind)));
  expect(intents().at(-1)).toBe(50_345_473);
  // It did not ask for content, so nothing is withheld.
  const message = { type: 0, id: "1234567890123456789", channel_id: rig.room, guild_id: rig.guild };
  rig.fake.gateway.push("MESSAGE_CREATE", {
    ...message,
    author: { id: alice.id, username: "alice" },
    content: "",
  });
  rig.fake.as(alice).says("in private");
  await expect.poll(() => heard).toEqual(["message"]);
  expect(modest.health().state).toBe("ok");
  expect([modest.name, modest.account]).toEqual(["discord", "default"]);
});

test("an account is started once, and a token has no spaces in it", async () => {
  const again = 'invalid: Discord account "default" was started before: make a new channel';
  await rig.channel.start(async () => {});
  expect(await words(rig.channel.start(async () => {}))).toBe(again);
  await rig.channel.stop();
  expect(await words(rig.channel.start(async () => {}))).toBe(again);
  expect(rig.channel.health().state).toBe("stopped");
  const stopped = await rig.open();
  await stopped.stop();
  expect(await words(stopped.start(async () => {}))).toBe(again);
  const none = 'invalid: the token of Discord account "tea" is empty or has spaces in it';
  for (const token of ["", " ", "a b", "a\n"])
    expect([token, await words(rig.open({ account: "tea", token }))]).toEqual([token, none]);
});

test("of a message that is read in part, and of one that comes without content, the log and the health say so", async () => {
  const events: ChannelEvent[] = [];
  await rig.channel.start(async (batch) => void events.push(...batch));
  lines.length = 0;
  const message = {
    type: 0,
    id: "1234567890123456789",
    channel_id: rig.room,
    guild_id: rig.guild,
    author: { id: alice.id, username: "alice" },
    member: { roles: [] },
  };
  const mentions = Array.from({ length: 25 }, () => 7);
  rig.fake.gateway.push("MESSAGE_CREATE", { ...message, content: "hi", mentions });
  await expect.poll(() => events.length).toBe(1);
  const left = Array.from({ length: 20 }, (_, n) => `message.mentions[${n}]`);
  expect(lines).toEqual([
    ["warn", { event: "MESSAGE_CREATE", count: 25, left }, "parts of a message could not be read"],
  ]);
  lines.length = 0;
  for (const id of ["1234567890123456790", "1234567890123456791"])
    rig.fake.gateway.push("MESSAGE_CREATE", { ...message, id, content: "" });
  const reason =
    "messages come without content: open https://discord.com/developers/applications, your application, " +
    '"Bot", and switch on "Message Content Intent"';
  await expect.poll(() => rig.channel.health()).toMatchObject({ state: "degraded", reason });
  rig.fake.as(alice).says("now with words", { channel: rig.room });
  await expect.poll(() => rig.channel.health().state).toBe("ok");
  expect(rig.channel.health()).not.toHaveProperty("reason");
  expect(lines).toEqual([
    ["warn", { state: "degraded", reason }, "channel is in trouble"],
    ["info", { state: "ok" }, "channel changed state"],
  ]);
});

test("a private chat that was spoken in before needs no look-up after a restart", async () => {
  await rig.channel.start(async () => {});
  rig.fake.as(alice).says("hello");
  await expect.poll(() => rig.memory.load("watched")).toContain(alice.id);
  await rig.channel.stop();
  const next = await rig.open();
  await next.start(async () => {});
  await next.send(dm, { kind: "text", text: "hi", entities: [], plain: "hi" }, how);
  expect(rig.fake.calls("POST /users/@me/channels")).toEqual([]);
});

test("typing is given up after five seconds, and a refused token is tried again after a minute", async () => {
  const room = { channel: "discord", account: "default", kind: "channel", peer: rig.room } as const;
  const typing = "POST /channels/:channel/typing";
  await rig.channel.typing?.(room);
  expect(rig.clock.armed()).toBe(0);
  rig.fake.inject({ method: typing, trouble: { kind: "hang" } });
  let isOver = false;
  const given = words(rig.channel.typing?.(room) ?? Promise.resolve()).finally(() => (isOver = true));
  await expect.poll(() => rig.fake.calls(typing).length).toBe(2);
  await rig.clock.advance(4_999);
  expect(isOver).toBe(false);
  await rig.clock.advance(1);
  expect(await given).toBe("ambiguous: the call was aborted");
  expect(rig.clock.armed()).toBe(0);
  const body = { code: 0, message: "401: Unauthorized" };
  rig.fake.inject({ method: typing, trouble: { kind: "answer", status: 401, body } });
  await rig.channel.typing?.(room).catch(() => {});
  const { state, reason } = rig.channel.health();
  expect([state, reason]).toEqual(["down", expect.stringMatching(/Reset Token.*\(.*401: Unauthorized\)$/)]);
  expect(rig.clock.armed()).toBe(1);
  await rig.clock.advance(59_999);
  expect(rig.fake.calls("GET /users/@me")).toEqual([]);
  await rig.clock.advance(1);
  await expect.poll(() => rig.channel.health().state).toBe("starting");
  expect(rig.fake.calls("GET /users/@me")).toHaveLength(1);
});

test("a start waits five seconds for the first connection, and no longer; a stop does not wait for it", async () => {
  const server: AskedServer = await askedServer(() => ({}));
  const silent = Array.from({ length: 9 }, () => ({ status: 0, body: "" }));
  server.next.push(...silent);
  const slow = await rig.open({ apiRoot: server.url, memory: keptMemory() });
  let isStarted = false;
  const starting = slow.start(async () => {}).finally(() => (isStarted = true));
  await expect.poll(() => server.asked.length).toBe(1);
  expect(server.asked[0]).toContain("GET /v10/gateway/bot");
  await rig.clock.advance(4_999);
  expect(isStarted).toBe(false);
  await rig.clock.advance(1);
  await starting;
  expect(slow.health().state).toBe("starting");
  await slow.stop();
  expect(slow.health().state).toBe("stopped");
  await server.close();
});
