// What each event of Discord's becomes, with what is asked beside it: whose roles, which place, and what is
// learnt for later.
import { Fault } from "@parley/protocol";
import { expect, test } from "vitest";
import { places } from "../../src/discord/places.ts";
import { readDispatch, typedCommand, type Reading } from "../../src/discord/reader.ts";
import { fakeRest, refused } from "./fake-rest.ts";

const me = { id: "900" };
const ann = { id: "5", username: "ann", discriminator: "0", global_name: "Ann", avatar: null };
const room = { id: "1", type: 0, guild_id: "7", name: "tea" };
const message = {
  id: "50",
  channel_id: "1",
  guild_id: "7",
  author: ann,
  content: "hi",
  type: 0,
  timestamp: "2026-11-21T12:00:00.000Z",
  member: { roles: ["31"] },
};

function reader(answers: { readonly [call: string]: unknown } = {}) {
  const rest = fakeRest(answers);
  const known = places(rest, () => 0);
  known.learn(room);
  const left: string[] = [];
  const context: Reading = {
    channel: "discord",
    account: "a",
    me,
    nowMs: 1_000,
    places: known,
    opensForm: (customId) => customId === "form",
    onLeftOut: (paths) => left.push(...paths),
  };
  const session = { id: "s", resumeUrl: "" };
  const read = (event: string, body: unknown, sequence: number | null = 3) =>
    readDispatch({ event, body, sequence, session }, context);
  return { rest, known, left, context, read };
}

test("what was deleted is named message by message, the event by the first; what names none is nothing", async () => {
  const { read } = reader();
  const deletion = { kind: "deletion", channel: "discord", account: "a" };
  expect(await read("MESSAGE_DELETE", { id: "50" })).toEqual({
    event: { ...deletion, id: "discord:a:d50", messages: ["discord:a:m50"] },
  });
  expect(await read("MESSAGE_DELETE_BULK", { ids: ["x", "52", 7, "51"] })).toEqual({
    event: { ...deletion, id: "discord:a:d52", messages: ["discord:a:m52", "discord:a:m51"] },
  });
  for (const body of [null, {}, { id: 5 }, { ids: "50" }, { ids: [] }])
    expect(await read("MESSAGE_DELETE", body)).toEqual({ event: null });
});

const reaction = {
  user_id: "5",
  message_id: "50",
  channel_id: "1",
  guild_id: "7",
  emoji: { name: "🍵", id: null },
  message_author_id: "900",
};

test("a reaction has the roles that it tells, or those that are asked for, and none in a private chat", async () => {
  const { read, rest } = reader({ "GET /guilds/7/members/5": { roles: ["32"] } });
  const told = await read("MESSAGE_REACTION_ADD", { ...reaction, member: { user: ann, roles: ["31"] } });
  expect(told).toMatchObject({
    event: {
      id: "discord:a:rs-3",
      text: "reacted 🍵",
      sender: { id: "5", name: "Ann", roles: ["31"] },
      address: { kind: "channel", peer: "1" },
      replyTo: { messageId: "50", toBot: true },
    },
  });
  expect(rest.asked).toEqual([]);
  expect(await read("MESSAGE_REACTION_REMOVE", reaction, null)).toMatchObject({
    event: { id: "discord:a:rs-50", text: "took back 🍵", sender: { id: "5", roles: ["32"] } },
  });
  expect(rest.asked).toEqual(["GET /guilds/7/members/5"]);
  for (const guild_id of [undefined, null]) {
    const direct = await read("MESSAGE_REACTION_ADD", { ...reaction, channel_id: "2", guild_id });
    expect(direct).toMatchObject({ event: { address: { kind: "dm", peer: "5" } } });
    expect(direct.event).not.toHaveProperty("sender.roles");
  }
  expect(rest.asked).toHaveLength(1);
  expect(await read("MESSAGE_REACTION_ADD", { ...reaction, user_id: "900", member: { roles: [] } })).toEqual({
    event: null,
  });
  expect(await read("MESSAGE_REACTION_ADD", { ...reaction, channel_id: "c" })).toMatchObject({
    event: { kind: "unreadable", reason: "its channel id is none", id: "discord:a:ss-3" },
  });
  expect(await read("MESSAGE_REACTION_ADD", { ...reaction, user_id: 5 }, null)).toMatchObject({
    event: { kind: "unreadable", reason: "its user id is none", id: "discord:a:ss-none" },
  });
});

test("a reaction or a vote does not wait for roles that cannot be told now, because all messages would; a message does", async () => {
  const { read } = reader({ "GET /guilds/7/members/5": refused(500) });
  const withoutRoles = { event: { kind: "reaction", sender: { id: "5", isBot: false } } };
  for (const [event, body] of [
    ["MESSAGE_REACTION_REMOVE", reaction],
    ["MESSAGE_POLL_VOTE_ADD", { ...reaction, answer_id: 1 }],
  ] as const) {
    const told = await read(event, body);
    expect(told).toMatchObject(withoutRoles);
    expect(told.event).not.toHaveProperty("sender.roles");
  }
  const said = { id: "60", channel_id: "1", guild_id: "7", author: ann, content: "hi" };
  await expect(read("MESSAGE_CREATE", said)).rejects.toMatchObject({ code: "ambiguous" });
});

test("a vote has the roles of its server, and none in a private chat, however that is told", async () => {
  const { read, rest } = reader({ "GET /guilds/7/members/5": { roles: ["32"] } });
  const vote = { user_id: "5", message_id: "50", channel_id: "1", guild_id: "7", answer_id: 2 };
  expect(await read("MESSAGE_POLL_VOTE_ADD", vote)).toMatchObject({
    event: {
      id: "discord:a:vs-3",
      sender: { roles: ["32"] },
      vote: { options: [1], takenBack: false },
    },
  });
  expect(await read("MESSAGE_POLL_VOTE_REMOVE", vote, null)).toMatchObject({
    event: { id: "discord:a:vs-50", vote: { options: [1], takenBack: true } },
  });
  rest.asked.length = 0;
  for (const guild_id of [undefined, null])
    expect(await read("MESSAGE_POLL_VOTE_ADD", { ...vote, channel_id: "2", guild_id })).toMatchObject({
      event: { address: { kind: "dm", peer: "5" } },
    });
  expect(rest.asked).toEqual([]);
  for (const [fields, what] of [
    [{ channel_id: "c" }, "channel"],
    [{ user_id: "u" }, "user"],
  ] as const)
    expect(await read("MESSAGE_POLL_VOTE_ADD", { ...vote, ...fields })).toMatchObject({
      event: { kind: "unreadable", reason: `its ${what} id is none` },
    });
});

test("a press is an event unless it opens a form; a command of the form's name is one", async () => {
  const { read, known } = reader();
  const direct = { id: "60", user: ann, channel: { id: "2", type: 1 }, channel_id: "2" };
  const press = { ...direct, type: 3, data: { custom_id: "ok" } };
  expect(await read("INTERACTION_CREATE", press)).toMatchObject({
    event: { kind: "callback", text: "ok", address: { kind: "dm", peer: "5" } },
  });
  expect(await read("INTERACTION_CREATE", { ...press, data: { custom_id: "form" } })).toEqual({
    event: null,
  });
  const command = { ...direct, type: 2, data: { name: "new", custom_id: "form" } };
  expect(await read("INTERACTION_CREATE", command)).toMatchObject({
    event: { kind: "command", text: "/new" },
  });
  // Its private chat is known from then on.
  expect(await known.target({ channel: "discord", account: "a", kind: "dm", peer: "5" })).toBe("2");
});

test("an interaction in a thread stands in the thread that it describes", async () => {
  const { read, known } = reader();
  const thread = { id: "3", type: 11, parent_id: "1", name: "Green" };
  const given = {
    id: "60",
    type: 2,
    data: { name: "new" },
    guild_id: "7",
    member: { user: ann, roles: ["31"] },
    channel: thread,
    channel_id: "4",
  };
  expect(await read("INTERACTION_CREATE", given)).toMatchObject({
    event: {
      address: { kind: "channel", peer: "1", thread: "3" },
      sender: { roles: ["31"] },
    },
  });
  expect((await known.look("3")).guild).toBe("7");
  const bare = { ...given, channel: undefined, channel_id: "1" };
  expect(await read("INTERACTION_CREATE", bare)).toMatchObject({ event: { address: { peer: "1" } } });
  expect(await read("INTERACTION_CREATE", { ...bare, channel_id: null })).toMatchObject({
    event: { kind: "unreadable", reason: "its channel id is none" },
  });
});

test("a command that is still typed reads as if it were given", async () => {
  const { known, context } = reader();
  const typing = { id: "60", type: 4, user: ann, channel_id: "2", data: { name: "model", options: [] } };
  expect(await typedCommand(typing as never, known, context)).toMatchObject({
    kind: "command",
    text: "/model",
    address: { kind: "dm", peer: "5" },
  });
});

test("a server tells its channels, threads and roles, at once and as they change", async () => {
  const { read, known, rest } = reader();
  const told = {
    id: "8",
    channels: [{ id: "81", type: 0, name: "one" }],
    threads: [{ id: "82", type: 11, parent_id: "81", name: "two" }],
    roles: [{ id: "83", name: "three" }],
  };
  expect(await read("GUILD_CREATE", told)).toEqual({ event: null });
  expect(await known.look("81")).toMatchObject({ guild: "8" });
  expect(await known.look("82")).toMatchObject({ guild: "8", parent: "81" });
  expect(["81", "82", "83"].map((id) => known.nameOf(id))).toEqual(["one", "two", "three"]);
  expect(await read("GUILD_CREATE", { id: "9" })).toEqual({ event: null });
  for (const [event, body, id] of [
    ["GUILD_ROLE_CREATE", { role: { id: "91", name: "new" } }, "91"],
    ["GUILD_ROLE_UPDATE", { role: { id: "83", name: "new" } }, "83"],
    ["CHANNEL_CREATE", { id: "92", type: 0, name: "new" }, "92"],
    ["CHANNEL_UPDATE", { id: "81", type: 0, name: "new" }, "81"],
    ["THREAD_CREATE", { id: "93", type: 11, parent_id: "81", name: "new" }, "93"],
    ["THREAD_UPDATE", { id: "82", type: 11, parent_id: "81", name: "new" }, "82"],
  ] as const) {
    expect(await read(event, body)).toEqual({ event: null });
    expect([event, known.nameOf(id)]).toEqual([event, "new"]);
  }
  expect(await read("GUILD_ROLE_UPDATE", null)).toEqual({ event: null });
  expect(await read("TYPING_START", { id: "94", type: 0, name: "new" })).toEqual({ event: null });
  expect(known.nameOf("94")).toBeUndefined();
  expect(rest.asked).toEqual([]);
});

test("a message of a server is seen there; whether its content was withheld is told where that shows", async () => {
  const { read, rest } = reader();
  const seen = { channel: "1", guild: "7", message: "50" };
  expect(await read("MESSAGE_CREATE", message)).toMatchObject({
    event: { text: "hi", sender: { roles: ["31"] }, addressed: false },
    seen,
    hidden: false,
  });
  expect(await read("MESSAGE_CREATE", { ...message, content: "" })).toEqual({
    event: null,
    seen,
    hidden: true,
  });
  // One that mentions us has its content in any case, which proves nothing of others.
  const called = await read("MESSAGE_CREATE", { ...message, mentions: [{ ...ann, id: "900" }] });
  expect(called).toMatchObject({ event: { addressed: true }, seen });
  expect(called).not.toHaveProperty("hidden");
  expect(await read("MESSAGE_CREATE", { ...message, mentions: [ann] })).toMatchObject({ hidden: false });
  expect(rest.asked).toEqual([]);
});

test("a private message is seen by its person, whose chat is then known", async () => {
  const { read, known, rest } = reader();
  const direct = { ...message, channel_id: "2", guild_id: undefined, member: undefined };
  const told = await read("MESSAGE_CREATE", direct);
  expect(told).toMatchObject({
    event: { address: { kind: "dm", peer: "5" }, addressed: true },
    seen: { channel: "2", user: "5", message: "50" },
  });
  expect(told).not.toHaveProperty("hidden");
  expect(told.seen).not.toHaveProperty("guild");
  expect(await known.target({ channel: "discord", account: "a", kind: "dm", peer: "5" })).toBe("2");
  expect(rest.asked).toEqual([]);
  // An empty one was not withheld: it says nothing.
  expect(await read("MESSAGE_CREATE", { ...direct, content: "" })).not.toHaveProperty("hidden");
});

test("roles are asked for where they are not told: the author's of a person, ours where roles are named", async () => {
  const { read, rest } = reader({
    "GET /guilds/7/members/5": { roles: ["32"] },
    "GET /guilds/7/members/900": { roles: ["40"] },
  });
  const bare = { ...message, member: undefined };
  expect(await read("MESSAGE_CREATE", bare)).toMatchObject({ event: { sender: { roles: ["32"] } } });
  expect(rest.asked).toEqual(["GET /guilds/7/members/5"]);
  const hook = await read("MESSAGE_CREATE", { ...bare, webhook_id: "6", author: { ...ann, id: "6" } });
  expect(hook).toMatchObject({ event: { sender: { isBot: true } } });
  expect(rest.asked).toHaveLength(1);
  expect(await read("MESSAGE_CREATE", { ...message, mention_roles: ["41"] })).toMatchObject({
    event: { addressed: false },
  });
  expect(await read("MESSAGE_CREATE", { ...message, mention_roles: ["41", "40"] })).toMatchObject({
    event: { addressed: true },
  });
  expect(rest.asked.slice(1)).toEqual(["GET /guilds/7/members/900"]);
});

test("the message that opens a forum's post bears its title", async () => {
  const { read, known, rest } = reader({
    "GET /channels/10": { id: "10", type: 15, guild_id: "7", name: "Ideas" },
  });
  known.learn({ id: "50", type: 11, parent_id: "10", guild_id: "7", name: "Tea first" });
  const opened = await read("MESSAGE_CREATE", { ...message, channel_id: "50" });
  expect(opened.event).toMatchObject({ enclosed: [{ kind: "post", words: ["Tea first"] }] });
  const next = await read("MESSAGE_CREATE", { ...message, id: "51", channel_id: "50" });
  expect(next.event).not.toHaveProperty("enclosed");
  expect(rest.asked).toEqual(["GET /channels/10"]);
});

test("an update without an author or without a change of its text is nothing, and so is what is ours", async () => {
  const { read } = reader();
  expect(await read("MESSAGE_UPDATE", { id: "50", channel_id: "1" })).toEqual({ event: null });
  expect(await read("MESSAGE_UPDATE", message)).toEqual({ event: null });
  expect(await read("MESSAGE_CREATE", { ...message, author: { ...ann, id: "900" } })).toEqual({
    event: null,
  });
  const edited_timestamp = "2026-11-21T13:00:00.000Z";
  expect(await read("MESSAGE_UPDATE", { ...message, edited_timestamp })).toMatchObject({
    event: { kind: "edit", id: `discord:a:m50:e${Date.parse(edited_timestamp)}` },
  });
});

test("what of a message cannot be read is told, once, and the rest is heard", async () => {
  const { read, left } = reader();
  await read("MESSAGE_CREATE", message);
  expect(left).toEqual([]);
  expect(await read("MESSAGE_CREATE", { ...message, embeds: 7 })).toMatchObject({ event: { text: "hi" } });
  expect(left).toEqual(["message.embeds"]);
});

test("a failure that may pass is thrown, so that the event is read again", async () => {
  const away = new Fault("unavailable", "away");
  const { read } = reader({ "GET /guilds/7/members/5": away });
  await expect(read("MESSAGE_CREATE", { ...message, member: undefined })).rejects.toBe(away);
});

test("an event that can never be read is named by its message, or by its place in the session", async () => {
  const { read } = reader();
  const named = async (event: string, body: unknown, sequence: number | null = 3): Promise<unknown> =>
    (await read(event, body, sequence)).event?.id;
  const broken = { ...message, author: { id: 5 } };
  expect(await named("MESSAGE_CREATE", broken)).toBe("discord:a:m50");
  const edited_timestamp = "2026-11-21T13:00:00.000Z";
  expect(await named("MESSAGE_UPDATE", { ...broken, edited_timestamp })).toBe(
    `discord:a:m50:e${Date.parse(edited_timestamp)}`,
  );
  expect(await named("MESSAGE_CREATE", { ...broken, id: 5 })).toBe("discord:a:ss-3");
  expect(await named("MESSAGE_CREATE", null, null)).toBe("discord:a:ss-none");
  expect(await named("MESSAGE_REACTION_ADD", { id: "50" }, 4)).toBe("discord:a:ss-4");
  expect(await named("INTERACTION_CREATE", { id: "60", type: 2, channel_id: "1" })).toBe("discord:a:ss-3");
  expect((await read("CHANNEL_CREATE", null)).event).toBeNull();
});

test("the author of an unreadable message is told where it is certainly private", async () => {
  const { read, known } = reader();
  const broken = { ...message, channel_id: "2", guild_id: undefined, webhook_id: "none" };
  const from = async (fields: object): Promise<unknown> => {
    const { event } = await read("MESSAGE_CREATE", { ...broken, ...fields });
    expect(event).toMatchObject({ kind: "unreadable" });
    return event !== null && "from" in event ? event.from : null;
  };
  expect(await from({})).toEqual({
    address: { channel: "discord", account: "a", kind: "dm", peer: "5" },
    sender: { id: "5", name: "", isBot: false },
  });
  expect(await from({ author: { ...ann, bot: false } })).not.toBeNull();
  for (const fields of [
    { author: { ...ann, bot: true } },
    { author: { ...ann, id: "x" } },
    { channel_id: "x" },
    { guild_id: "7" },
    { channel_id: "1" },
  ])
    expect([fields, await from(fields)]).toEqual([fields, null]);
  known.learn({ id: "2", type: 0, guild_id: "7" });
  expect(await from({})).toBeNull();
});
