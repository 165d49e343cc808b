// The connection through everything that can happen to it: rows of failure-model section 2, each a test. The
// channel's clock is virtual, so a wait of any length is a step; heartbeats are due every 41.25 s of it.
import type { ChannelEvent, Inbound, Unreadable } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Channel } from "@parley/channels";
import { expectFault } from "../contract.ts";
import { alice, discordRig, keptMemory, type Rig } from "./rig.ts";

let rig: Rig;
let events: Inbound[];
const receive = async (batch: readonly ChannelEvent[]): Promise<void> => {
  events.push(...batch.filter((event) => "address" in event));
};
beforeEach(async () => {
  events = [];
  rig = await discordRig();
});
afterEach(async () => {
  await rig.close();
});

const texts = (): string[] => events.map(({ text }) => text);
const steps = (what: "connect" | "identify" | "resume" | "close") => rig.fake.gateway.steps(what);
/** Lets time pass until it is so; slowly, as a real handshake must not seem to take half a minute. */
const comes = (check: () => unknown, stepMs = 250) =>
  expect.poll(
    async () => {
      await rig.clock.advance(stepMs);
      return check();
    },
    { timeout: 8_000, interval: 10 },
  );
const isLive = (): boolean => rig.fake.gateway.sessions().some((session) => session.isConnected);
/** Alice writes while nobody listens. */
const away = (words: string): void => void rig.fake.as(alice).says(words);

test.each([4000, 4001, 4002, undefined])(
  "closed with %s, the session is resumed, and what happened meanwhile comes once",
  async (code) => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before");
    await expect.poll(texts).toEqual(["before"]);
    rig.fake.gateway.drop(code);
    await expect.poll(isLive).toBe(false);
    away("meanwhile");
    await comes(isLive).toBe(true);
    await expect.poll(texts).toEqual(["before", "meanwhile"]);
    expect([steps("identify").length, steps("resume").length]).toEqual([1, 1]);
    await comes(() => rig.channel.health().state).toBe("ok");
  },
);

test.each([1000, 1001])(
  "closed with %i a resume is tried, and where the session is gone the gap is read from the history",
  async (code) => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before");
    await expect.poll(texts).toEqual(["before"]);
    rig.fake.gateway.drop(code);
    await expect.poll(isLive).toBe(false);
    away("meanwhile");
    await comes(isLive).toBe(true);
    await expect.poll(() => new Set(texts())).toEqual(new Set(["before", "meanwhile"]));
    expect(steps("resume")).toHaveLength(1);
  },
);

test.each([4003, 4005, 4007, 4008, 4009])(
  "closed with %i, a new session begins and the gap is read from the history",
  async (code) => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before");
    await expect.poll(texts).toEqual(["before"]);
    rig.fake.gateway.drop(code);
    await expect.poll(isLive).toBe(false);
    away("meanwhile");
    await comes(isLive).toBe(true);
    await expect.poll(() => new Set(texts())).toEqual(new Set(["before", "meanwhile"]));
    expect(steps("resume")).toEqual([]);
  },
);

test.each<[number, RegExp]>([
  [4004, /Reset Token/],
  [4013, /intents/],
  [4014, /Message Content Intent/],
  [4010, /shard/],
  [4011, /2,500/],
  [4012, /update Parley/],
])(
  "closed with %i, the account is down with what to do, and does not come back",
  async (code, instruction) => {
    await rig.channel.start(receive);
    rig.fake.gateway.drop(code);
    await comes(() => rig.channel.health().state).toBe("down");
    expect(rig.channel.health().reason).toMatch(instruction);
    await rig.clock.advance(600_000);
    expect(steps("connect")).toHaveLength(1);
  },
);

test("without the intent in the portal start says what to switch on; without asking for it, it starts", async () => {
  rig.fake.bot().setPrivileged([]);
  const fault = await expectFault("denied", rig.channel.start(receive));
  expect(fault.message).toMatch(/switch on "Message Content Intent".*intents\.messageContent to false/);
  const modest = await rig.open({ messageContent: false });
  await modest.start(receive);
  rig.fake.as(alice).says("in private");
  await expect.poll(texts).toEqual(["in private"]);
});

test("deleted messages are told by the ids that they came under, one or many", async () => {
  const told: ChannelEvent[] = [];
  await rig.channel.start(async (batch) => void told.push(...batch));
  const person = rig.fake.as(alice);
  const ids = ["one", "two"].map((words) => person.says(words).id);
  person.deletes(ids[0] ?? "");
  rig.fake.gateway.push("MESSAGE_DELETE_BULK", { ids: [ids[1], "no id", 7], channel_id: person.dm() });
  for (const broken of [{}, null, { ids: "1" }, { ids: [] }, { id: 5 }])
    rig.fake.gateway.push("MESSAGE_DELETE", broken);
  await expect.poll(() => told.length).toBe(4);
  expect(told.slice(2)).toEqual(
    ids.map((id) => ({
      kind: "deletion",
      id: `discord:default:d${id}`,
      channel: "discord",
      account: "default",
      messages: [`discord:default:m${id}`],
    })),
  );
});

test("a server's messages that come without content are said in health, and nobody answers emptiness", async () => {
  await rig.channel.start(receive);
  const empty = {
    type: 0,
    id: "1234567890123456789",
    channel_id: rig.room,
    guild_id: rig.guild,
    author: { id: alice.id, username: "alice" },
    content: "",
  };
  rig.fake.gateway.push("MESSAGE_CREATE", empty);
  await expect.poll(() => rig.channel.health().state).toBe("degraded");
  expect(rig.channel.health().reason).toMatch(/Message Content Intent/);
  rig.fake.as(alice).says("now with words", { channel: rig.room });
  await expect.poll(texts).toEqual(["now with words"]);
  await expect.poll(() => rig.channel.health().state).toBe("ok");
});

test("a session that is cut again and again is resumed within seconds each time, after growing waits; a long life makes it good", async () => {
  await rig.channel.start(receive);
  for (const leastMs of [0, 1_000, 2_000, 4_000, 5_000, 5_000]) {
    await expect.poll(isLive).toBe(true);
    await expect.poll(() => rig.channel.health().state).toBe("ok");
    const before = steps("resume").length;
    rig.fake.gateway.drop(4000);
    await expect.poll(isLive).toBe(false);
    const cutAtMs = rig.clock.mono();
    if (leastMs > 0) {
      await expect.poll(() => rig.channel.health().state).toBe("degraded");
      await rig.clock.advance(leastMs - 1);
      await rig.channel.typing?.({ channel: "discord", account: "default", kind: "channel", peer: rig.room });
      expect(steps("connect")).toHaveLength(before + 1);
    }
    await comes(() => steps("resume").length).toBe(before + 1);
    expect(rig.clock.mono() - cutAtMs).toBeLessThan(6_000);
  }
  await expect.poll(isLive).toBe(true);
  await expect.poll(() => rig.channel.health().state).toBe("ok");
  await rig.clock.advance(30_000);
  const resumes = steps("resume").length;
  rig.fake.gateway.drop(4000);
  await expect.poll(isLive).toBe(false);
  await comes(() => steps("resume").length, 100).toBe(resumes + 1);
  expect(rig.channel.health().state).toBe("ok");
});

test("op 7 is followed by a resume", async () => {
  await rig.channel.start(receive);
  rig.fake.gateway.reconnect();
  await comes(() => steps("resume").length).toBe(1);
  await comes(isLive).toBe(true);
  expect(steps("identify")).toHaveLength(1);
  expect(steps("close")[0]?.code).toBe(4200);
});

test.each([
  [true, 1, 1],
  [false, 2, 0],
])("op 9 with d %s: %i identifies, %i resumes", async (isResumable, identifies, resumes) => {
  await rig.channel.start(receive);
  rig.fake.gateway.invalidate(isResumable);
  await comes(() => steps("identify").length + steps("resume").length).toBe(identifies + resumes);
  await comes(isLive).toBe(true);
  expect(steps("identify")).toHaveLength(identifies);
});

test.each([true, false])(
  "resume refused for ever (d %s): one new session after three tries at most",
  async (isResumable) => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before");
    await expect.poll(texts).toEqual(["before"]);
    rig.fake.gateway.refuseResume(null, isResumable);
    rig.fake.gateway.drop();
    await expect.poll(isLive).toBe(false);
    away("meanwhile");
    await comes(() => steps("identify").length).toBe(2);
    await comes(isLive).toBe(true);
    expect(steps("resume").length).toBeLessThanOrEqual(3);
    await expect.poll(() => new Set(texts())).toEqual(new Set(["before", "meanwhile"]));
  },
);

test("a connection whose heartbeats are not acknowledged is left and resumed", async () => {
  await rig.channel.start(receive);
  rig.fake.gateway.acks(false);
  await comes(() => steps("close").length, 10_000).toBeGreaterThan(0);
  expect(steps("close")[0]?.code).not.toBe(1000);
  rig.fake.gateway.acks(true);
  await comes(isLive).toBe(true);
  expect(steps("resume").length).toBeGreaterThan(0);
});

test("a connection that fell silent is cut, though it never closes", async () => {
  await rig.channel.start(receive);
  rig.fake.gateway.freeze();
  for (let n = 0; n < 9; n++) await rig.clock.advance(10_000);
  await comes(() => steps("resume").length).toBeGreaterThan(0);
  await comes(isLive).toBe(true);
});

test("HELLO or READY that does not come is waited for within bounds", async () => {
  rig.fake.gateway.withholdHello(1);
  rig.fake.gateway.withholdReady(1);
  const starting = rig.channel.start(receive);
  await expect.poll(() => steps("connect").length).toBe(1);
  await rig.clock.advance(20_000);
  await comes(() => steps("identify").length).toBe(1);
  await rig.clock.advance(30_000);
  await comes(() => steps("connect").length).toBe(3);
  await comes(isLive).toBe(true);
  await starting;
  await expect.poll(() => rig.channel.health().state).toBe("ok");
});

test("events that RESUME repeats are known by their ids", async () => {
  await rig.channel.start(receive);
  for (const words of ["one", "two", "three"]) rig.fake.as(alice).says(words);
  await expect.poll(() => events.length).toBe(3);
  rig.fake.gateway.repeatAfterResume(2);
  rig.fake.gateway.drop();
  await comes(() => events.length).toBe(5);
  expect(new Set(events.map(({ id }) => id)).size).toBe(3);
});

test("no session start left: it waits, and says so", async () => {
  rig.fake.gateway.setStartLimit(0);
  await rig.channel.start(receive);
  expect(rig.channel.health()).toMatchObject({
    state: "degraded",
    reason: expect.stringMatching(/no new session/),
  });
  await rig.clock.advance(600_000);
  expect(steps("connect")).toEqual([]);
  rig.fake.gateway.setStartLimit(1_000);
  await rig.clock.advance(86_400_000 - 601_000);
  await comes(isLive, 100).toBe(true);
});

test.each([
  [1, 1],
  [99, 1],
  [100, 2],
])("with %i session starts left, %i were made half a minute after a new one is due", async (left, made) => {
  await rig.channel.start(receive);
  rig.fake.gateway.setStartLimit(left);
  rig.fake.gateway.forgetSessions();
  rig.fake.gateway.drop(4009);
  await expect.poll(isLive).toBe(false);
  if (made === 2) await comes(() => steps("identify").length).toBe(2);
  else {
    await rig.clock.advance(30_000);
    await rig.channel.typing?.({ channel: "discord", account: "default", kind: "channel", peer: rig.room });
    expect(steps("identify")).toHaveLength(1);
    await rig.clock.advance(300_000);
  }
  await comes(isLive).toBe(true);
});

test("frames that are no frames, events without fields and unknown kinds do no harm", async () => {
  const unreadable: Unreadable[] = [];
  await rig.channel.start(async (batch) => {
    unreadable.push(...batch.filter((event) => event.kind === "unreadable"));
    await receive(batch);
  });
  const { gateway } = rig.fake;
  for (const text of [
    "",
    "no json",
    "[]",
    "null",
    '{"op":10}',
    '{"op":9e9}',
    '{"op":0}',
    '{"op":0,"t":5}',
    '{"op":11,"d":{}}',
    '{"op":1}',
  ])
    gateway.pushText(text);
  gateway.push("MESSAGE_CREATE", {});
  gateway.push("MESSAGE_CREATE", null);
  gateway.push("MESSAGE_CREATE", { id: "7", author: { id: "" }, content: 5 });
  gateway.push("INTERACTION_CREATE", { id: "8" });
  gateway.push("MESSAGE_REACTION_ADD", {});
  gateway.push("GUILD_CREATE", null);
  gateway.push("SOMETHING_NEW", { any: "thing" });
  rig.fake.as(alice).says("still here");
  await expect.poll(texts).toEqual(["still here"]);
  expect(unreadable.length).toBeGreaterThan(3);
  expect(unreadable.every(({ reason }) => reason !== "")).toBe(true);
});

test("ids that are none, and nesting without end, hold up nobody and are not noted", async () => {
  await rig.channel.start(receive);
  const { gateway } = rig.fake;
  const author = { id: alice.id, username: "alice" };
  const good = {
    type: 0,
    id: "1234567890123456789",
    channel_id: rig.room,
    guild_id: rig.guild,
    author,
    content: "hi",
    mentions: [],
  };
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  gateway.push("MESSAGE_CREATE", { ...good, id: "latest" });
  gateway.push("MESSAGE_CREATE", { ...good, channel_id: "../../users/@me" });
  gateway.push("MESSAGE_CREATE", { ...good, author: { ...author, id: "__proto__" } });
  gateway.push("MESSAGE_REACTION_ADD", {
    user_id: alice.id,
    channel_id: "x",
    message_id: "1",
    emoji: { id: null, name: "🎉" },
  });
  gateway.pushText(`{"op":0,"t":"MESSAGE_CREATE","s":999,"d":{"id":"77","content":${deep}}}`);
  rig.fake.as(alice).says("still here");
  await expect.poll(texts).toEqual(["still here"]);
  await expect.poll(() => rig.memory.sequence()).toBeGreaterThan(0);
  gateway.forgetSessions();
  gateway.drop(4009);
  await expect.poll(isLive).toBe(false);
  away("meanwhile");
  await comes(isLive).toBe(true);
  await comes(() => texts().at(-1)).toBe("meanwhile");
});

test("null in place of what is not there is nothing", async () => {
  await rig.channel.start(receive);
  const file = {
    id: "5",
    filename: "a.txt",
    url: "https://cdn.discordapp.com/a.txt",
    size: null,
    content_type: null,
    description: null,
    duration_secs: null,
  };
  const said = {
    type: 0,
    id: "1234567890123456789",
    channel_id: "1234567890123456700",
    guild_id: null,
    member: null,
    webhook_id: null,
    author: { id: alice.id, username: "alice", global_name: null, bot: null },
    content: "hi",
    mentions: null,
    mention_roles: null,
    attachments: [file],
    poll: null,
    sticker_items: null,
    message_reference: null,
    referenced_message: null,
    edited_timestamp: null,
    timestamp: null,
  };
  rig.fake.gateway.push("MESSAGE_CREATE", said);
  await expect.poll(texts).toEqual(["hi"]);
  expect(events[0]).toMatchObject({
    address: { kind: "dm", peer: alice.id },
    sender: { isBot: false },
    attachments: [{ name: "a.txt" }],
  });
});

describe("a server's channel never passes for a private chat", () => {
  const author = { id: alice.id, username: "alice" };
  const said = (fields: object) =>
    rig.fake.gateway.push("MESSAGE_CREATE", {
      type: 0,
      id: "1234567890123456789",
      author,
      content: "hi",
      mentions: [],
      ...fields,
    });

  test("where the message does not name the server and the channel is known", async () => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before", { channel: rig.room });
    await expect.poll(texts).toEqual(["before"]);
    said({ channel_id: rig.room });
    await expect.poll(texts).toEqual(["before", "hi"]);
    expect(events[1]).toMatchObject({
      address: { kind: "channel", peer: rig.room },
      guild: rig.guild,
      addressed: false,
    });
  });

  test("where the channel was asked for first and its answer did not name the server", async () => {
    await rig.channel.start(receive);
    const [room, thread] = ["1234567890123456700", "1234567890123456701"];
    rig.fake.inject({
      method: "GET /channels/:channel",
      trouble: { kind: "answer", status: 200, body: { id: room, type: 0 } },
    });
    const to = { channel: "discord", account: "default", kind: "channel", peer: room } as const;
    const part = { kind: "text", text: "hi", plain: "hi", entities: [] } as const;
    await expectFault(
      "missing",
      rig.channel.send(to, part, { idempotencyKey: "1", signal: new AbortController().signal }),
    );
    said({ channel_id: room, guild_id: rig.guild });
    await expect.poll(texts).toEqual(["hi"]);
    expect(events[0]).toMatchObject({
      address: { kind: "channel", peer: room },
      guild: rig.guild,
      addressed: false,
    });
    // A description of a thread that does not say where it hangs teaches nothing.
    rig.fake.inject({
      method: "GET /channels/:channel",
      trouble: { kind: "answer", status: 200, body: { id: thread, type: 11, parent_id: room } },
    });
    rig.fake.gateway.push("THREAD_CREATE", { id: thread, type: 11, guild_id: rig.guild });
    said({ id: "1234567890123456790", channel_id: thread, guild_id: rig.guild });
    await expect.poll(() => events[1]?.address).toMatchObject({ kind: "channel", peer: room, thread });
  });
});

test("a down network is no refusal: start goes on without it, and it heals", async () => {
  rig.fake.inject({
    method: "GET /gateway/bot",
    times: 2,
    trouble: { kind: "answer", status: 503, body: "<html>" },
  });
  await rig.channel.start(receive);
  expect(rig.channel.health().state).toBe("degraded");
  await comes(isLive).toBe(true);
  expect(rig.channel.health().state).toBe("ok");
});

describe("the next process", () => {
  let second: Channel;
  const restart = async (): Promise<void> => {
    await rig.channel.stop();
    second = await rig.open();
  };

  test("resumes after a stop, because ours was no 1000, and each message comes once", async () => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before");
    await expect.poll(texts).toEqual(["before"]);
    await restart();
    expect(steps("close").map(({ code }) => code)).toEqual([4200]);
    for (const words of ["one", "two", "three"]) away(words);
    await second.start(receive);
    await expect.poll(texts).toEqual(["before", "one", "two", "three"]);
    expect([steps("identify").length, steps("resume").length]).toEqual([1, 1]);
  });

  test("is told again what was received and not accepted", async () => {
    let fails = true;
    const refusing = async (batch: readonly ChannelEvent[]): Promise<void> => {
      if (fails) throw new Error("the disk is full");
      await receive(batch);
    };
    await rig.channel.start(refusing);
    rig.fake.as(alice).says("do not lose me");
    await expect.poll(() => rig.channel.health().state).toBe("degraded");
    await restart();
    fails = false;
    await second.start(refusing);
    await expect.poll(texts).toEqual(["do not lose me"]);
  });

  test("whose session is gone reads the history of every conversation that was heard: private, channel, thread", async () => {
    const thread = rig.fake.as(alice).opensThread("Tea", { channel: rig.room });
    const bob = { id: "100000000000000077", name: "Bob" };
    const places = [{}, { channel: rig.room }, { channel: thread }];
    await rig.channel.start(receive);
    for (const place of places) rig.fake.as(alice).says("before", place);
    await expect.poll(() => events.length).toBe(3);
    await restart();
    rig.fake.gateway.forgetSessions();
    for (const [nth, place] of places.entries()) {
      rig.fake.as(alice).says(`missed ${nth}`, place);
      rig.fake.as(bob).says(`from bob ${nth}`, nth === 0 ? { channel: rig.room } : place);
    }
    events = [];
    await second.start(receive);
    const fresh = () => events.filter(({ text }) => text !== "before");
    await comes(() => fresh().length).toBe(6);
    expect(fresh().map(({ text }) => text)).toEqual([
      "missed 0",
      "from bob 0",
      "missed 1",
      "from bob 1",
      "missed 2",
      "from bob 2",
    ]);
    const inThread = fresh().find(({ text }) => text === "missed 2");
    expect(inThread).toMatchObject({
      address: { kind: "channel", peer: rig.room, thread },
      guild: rig.guild,
    });
    expect(fresh()[0]).toMatchObject({ address: { kind: "dm", peer: alice.id }, addressed: true });
    expect(rig.fake.violations()).toEqual([]);
  });

  test("whose session is gone looks again at a history that nobody could read for minutes; what is said meanwhile is heard", async () => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before");
    await expect.poll(texts).toEqual(["before"]);
    await restart();
    rig.fake.gateway.forgetSessions();
    rig.fake.as(alice).says("missed");
    const garden = rig.fake.channel({ guild: rig.guild, name: "garden" });
    rig.fake.as(alice).says("missed where nobody had spoken", { channel: garden });
    rig.fake.inject({
      method: "GET /channels/:channel/messages",
      times: null,
      trouble: { kind: "answer", status: 500, body: { message: "500: Internal Server Error", code: 0 } },
    });
    events = [];
    await second.start(receive);
    await comes(() => rig.fake.calls("GET /channels/:channel/messages").length, 5_000).toBeGreaterThan(5);
    rig.fake.as(alice).says("said meanwhile");
    await comes(texts, 5_000).toEqual(["said meanwhile"]);
    rig.fake.heal();
    await comes(texts, 5_000).toContain("missed");
    await comes(texts, 5_000).toContain("missed where nobody had spoken");
  });

  test("whose session is gone finds what was written where it had never heard anybody: channel, thread, post", async () => {
    const [garden, forum] = [
      rig.fake.channel({ guild: rig.guild, name: "garden" }),
      rig.fake.channel({ guild: rig.guild, name: "ask", kind: "forum" }),
    ];
    const person = rig.fake.as(alice);
    person.says("long ago", { channel: garden });
    await rig.channel.start(receive);
    person.says("before");
    await expect.poll(texts).toEqual(["before"]);
    await restart();
    rig.fake.gateway.forgetSessions();
    events = [];
    person.says("in a channel", { channel: garden });
    person.says("in a thread", { channel: person.opensThread("Tea", { channel: rig.room }) });
    person.posts("Which tea?", "in a post", { channel: forum });
    await second.start(receive);
    const found = () => texts().filter((text) => text !== "before");
    await comes(() => found().length).toBe(3);
    expect(found()).toEqual(["in a channel", "in a thread", "in a post"]);
    expect(events.filter(({ guild }) => guild === rig.guild)).toHaveLength(3);
    // A server that comes back later in the session has been looked at.
    const gap = async (): Promise<unknown> =>
      (JSON.parse((await rig.memory.load("session")) ?? "{}") as { readonly gap?: unknown }).gap;
    await expect.poll(gap).toMatchObject({ guilds: [] });
    expect(rig.fake.violations()).toEqual([]);
  });

  test("whose session is gone looks into the fifty channels that were written in last, whatever order the server names them in", async () => {
    const person = rig.fake.as(alice);
    await rig.channel.start(receive);
    person.says("before");
    await expect.poll(texts).toEqual(["before"]);
    await restart();
    rig.fake.gateway.forgetSessions();
    const rooms = Array.from({ length: 53 }, (_, nth) =>
      rig.fake.channel({ guild: rig.guild, name: `room-${nth}` }),
    );
    // 20 and 53 have no common factor: each room once, in an order of its own.
    rooms.forEach((_, nth) => person.says(`${nth}`, { channel: rooms[(nth * 20) % 53] ?? "" }));
    events = [];
    await second.start(receive);
    const found = () => texts().filter((text) => text !== "before");
    await comes(() => found().length).toBe(50);
    expect(found()).toEqual(Array.from({ length: 50 }, (_, nth) => `${nth + 3}`));
  });

  test("at its very first session, looks at nothing that was written before", async () => {
    rig.fake.as(alice).says("long ago", { channel: rig.room });
    await rig.channel.start(receive);
    rig.fake.as(alice).says("now", { channel: rig.room });
    await expect.poll(texts).toEqual(["now"]);
    expect(rig.fake.calls("GET /channels/:channel/messages")).toEqual([]);
  });

  test("reads a message from the history under the id that the gateway would have told", async () => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("heard");
    await expect.poll(() => events.length).toBe(1);
    await restart();
    rig.fake.gateway.forgetSessions();
    const [heard] = events;
    await second.start(receive);
    await comes(() => events.length).toBe(2);
    expect(events[1]?.id).toBe(heard?.id);
  });

  test("leaves out what is older than a day", async () => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before");
    await expect.poll(texts).toEqual(["before"]);
    await restart();
    rig.fake.gateway.forgetSessions();
    away("too old");
    rig.clock.jumpWall(25 * 3_600_000);
    await second.start(receive);
    await comes(isLive).toBe(true);
    rig.fake.as(alice).says("now");
    await comes(texts).toEqual(["before", "now"]);
  });

  test("goes on when the history of one conversation cannot be read", async () => {
    await rig.channel.start(receive);
    rig.fake.as(alice).says("before");
    rig.fake.as(alice).says("before", { channel: rig.room });
    await expect.poll(() => events.length).toBe(2);
    await restart();
    rig.fake.gateway.forgetSessions();
    rig.fake.at(rig.room).deny("view");
    away("missed");
    await second.start(receive);
    await comes(texts).toContain("missed");
  });

  test("begins anew when the notes cannot be read", async () => {
    const memory = keptMemory();
    await memory.save("session", "{broken");
    await memory.save("watched", "[1]");
    second = await rig.open({ memory });
    await second.start(receive);
    expect(steps("identify")).toHaveLength(1);
  });
});

test("another account goes on while one is refused", async () => {
  rig.fake.bot("MTAwMDAwMDAwMDAwMDAwMDAwOQ.second.bot");
  const second = await rig.open({
    account: "second",
    token: "MTAwMDAwMDAwMDAwMDAwMDAwOQ.second.bot",
    memory: keptMemory(),
  });
  await Promise.all([rig.channel.start(receive), second.start(receive)]);
  rig.fake.bot().revoke();
  rig.fake.gateway.invalidate(false);
  await comes(() => rig.channel.health().state).toBe("down");
  await comes(() => second.health().state).toBe("ok");
  expect(rig.channel.health().reason).toMatch(/Reset Token/);
});
