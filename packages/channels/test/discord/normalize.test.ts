// What events of Discord's gateway become, event by event. Pure: what the driver would ask of Discord is
// given.
import type { APIInteraction, APIMessage } from "discord-api-types/v10";
import { expect, test } from "vitest";
import { contentOf, formatFileRef, isHidden, parseFileRef } from "../../src/discord/content.ts";
import {
  isWanted,
  type MessageEvent,
  messageEventId,
  normalizeInteraction,
  normalizeMessage,
  normalizeReaction,
  normalizeVote,
  type Surroundings,
} from "../../src/discord/normalize.ts";
import type { Place } from "../../src/discord/places.ts";
import { idAt, madeAtMs } from "../../src/discord/snowflake.ts";

const me = { id: "900000000000000001" };
const sentAtMs = Date.UTC(2026, 10, 21, 12);
const context = { channel: "discord", account: "default", me, nowMs: sentAtMs };
const guild = "700000000000000001";
const room: Place = { id: "600000000000000001", guild, type: 0 };
const ann = {
  id: "100000000000000001",
  username: "ann",
  global_name: "Ann",
  discriminator: "0",
  avatar: null,
};

function message(fields: object = {}): MessageEvent {
  return {
    id: idAt(sentAtMs),
    channel_id: room.id,
    author: ann,
    content: "hello",
    timestamp: new Date(sentAtMs).toISOString(),
    edited_timestamp: null,
    tts: false,
    mention_everyone: false,
    mentions: [],
    mention_roles: [],
    attachments: [],
    embeds: [],
    pinned: false,
    type: 0,
    ...fields,
  } as MessageEvent;
}

function read(fields: object, around: Partial<Surroundings> = {}, isEdit = false) {
  return normalizeMessage(
    message(fields),
    { place: room, parentType: null, roles: [], myRoles: [], ...around },
    context,
    isEdit,
  );
}

test("a message in a channel has its place, its server, its author with roles, and its own id", () => {
  expect(read({}, { roles: ["5"] })).toMatchObject({
    id: `discord:default:m${idAt(sentAtMs)}`,
    address: { kind: "channel", peer: room.id },
    sender: { id: ann.id, name: "Ann", isBot: false, roles: ["5"] },
    kind: "message",
    addressed: false,
    guild,
    atMs: sentAtMs,
  });
});

test("a private message is from its person's chat and is addressed", () => {
  const place = { id: "1", type: 1 };
  expect(read({}, { place })).toMatchObject({ address: { kind: "dm", peer: ann.id }, addressed: true });
});

test("a message in a thread has the thread under its channel", () => {
  const place = { id: "42", guild, type: 11, parent: room.id };
  expect(read({}, { place, parentType: 0 })).toMatchObject({
    address: { kind: "channel", peer: room.id, thread: "42" },
    parent: room.id,
  });
});

test("the message that opens a forum's post carries its title", () => {
  const place = { id: idAt(sentAtMs), guild, type: 11, parent: room.id, title: "Which tea?" };
  expect(read({}, { place, parentType: 15 })).toMatchObject({
    text: "hello",
    enclosed: [{ kind: "post", words: ["Which tea?"] }],
  });
  expect(read({ id: "77" }, { place, parentType: 15 })?.text).toBe("hello");
});

test.each<[string, object, Partial<Surroundings>, boolean]>([
  ["a mention of us", { content: `<@${me.id}> hi`, mentions: [me] }, {}, true],
  ["a mention of one of our roles", { content: "<@&5> hi", mention_roles: ["5"] }, { myRoles: ["5"] }, true],
  ["a mention of another role", { mention_roles: ["6"] }, { myRoles: ["5"] }, false],
  ["@everyone", { content: "@everyone hi", mention_everyone: true }, { myRoles: ["5"] }, false],
  ["a mention of somebody else", { mentions: [{ ...ann, id: "3" }] }, {}, false],
  ["our name without a mention", { content: "parley, hi" }, {}, false],
  [
    "a reply to us",
    {
      type: 19,
      message_reference: { message_id: "8" },
      referenced_message: message({ id: "8", author: { ...ann, id: me.id } }),
    },
    {},
    true,
  ],
  [
    "a reply to somebody else",
    { type: 19, message_reference: { message_id: "8" }, referenced_message: message({ id: "8" }) },
    {},
    false,
  ],
  [
    "a reply to what is gone",
    { type: 19, message_reference: { message_id: "8" }, referenced_message: null },
    {},
    false,
  ],
])("%s in a server: addressed or not", (_what, fields, around, isAddressed) => {
  expect(read(fields, around)?.addressed).toBe(isAddressed);
});

test("mentions read as names, and ours at the beginning only called us", () => {
  const content = `<@${me.id}>, ask <@${ann.id}> <:tea:123456789012345678> <#5>`;
  expect(read({ content, mentions: [{ ...ann }] })?.text).toBe("ask @Ann :tea: <#5>");
  const named = { ...context, nameOf: (id: string) => ({ "5": "general\n[from", "6": "cooks" })[id] };
  const told = message({ content: "see <#5>, <@&6> and <#7>", mentions: [] });
  expect(
    normalizeMessage(told, { place: room, parentType: null, roles: [], myRoles: [] }, named, false)?.text,
  ).toBe("see #general (from, @cooks and <#7>");
  expect(read({ content: `<@${me.id}> /status`, mentions: [me] })).toMatchObject({
    kind: "command",
    text: "/status",
  });
  expect(read({ content: `<@${me.id}>` })?.text).not.toBe("");
});

test("a reply quotes what it answers, and a forward says that it is one", () => {
  expect(
    read({
      type: 19,
      message_reference: { message_id: "8" },
      referenced_message: message({ id: "8", content: "tea?" }),
    })?.replyTo,
  ).toEqual({
    messageId: "8",
    text: "tea?",
    sender: "Ann",
    toBot: false,
  });
  const forwarded = {
    content: "",
    message_reference: { type: 1, message_id: "8" },
    message_snapshots: [{ message: { content: "old news", attachments: [] } }],
  };
  const found = read(forwarded);
  expect(found).toMatchObject({ text: "", enclosed: [{ kind: "forward", words: ["old news"] }] });
  expect(found?.replyTo).toBeUndefined();
  const embeds = [{ title: "Tide", description: "at six" }];
  const withCard = { ...forwarded, message_snapshots: [{ message: { content: "", embeds } }] };
  expect(JSON.stringify(read(withCard as never)?.enclosed)).toContain("at six");
});

test("an edit is known by its time; an update without one, as for a link preview, is none", () => {
  const edited = message({ edited_timestamp: "2026-11-21T13:00:00.000Z", content: "hello!" });
  expect(isWanted(edited, me, true)).toBe(true);
  expect(isWanted(message(), me, true)).toBe(false);
  expect(read({ ...edited }, {}, true)).toMatchObject({
    kind: "edit",
    editedAtMs: Date.UTC(2026, 10, 21, 13),
    text: "hello!",
  });
  expect(messageEventId(edited, true)).not.toBe(messageEventId(message(), false));
});

test("our own messages and a server's service messages are nothing for us", () => {
  expect(isWanted(message({ author: { ...ann, id: me.id } }), me, false)).toBe(false);
  expect(isWanted(message({ type: 7 }), me, false)).toBe(false);
});

test("webhooks and bots are bots", () => {
  expect(read({ webhook_id: "5", author: { ...ann, id: "5" } })?.sender.isBot).toBe(true);
  expect(read({ author: { ...ann, bot: true } })?.sender.isBot).toBe(true);
});

test("what a program shows in a frame is told, the preview of a link is not", () => {
  const alarm = {
    type: "rich",
    title: "Disk full",
    description: "on db-1",
    fields: [{ name: "free", value: "0" }],
  };
  expect(read({ content: "", embeds: [alarm], webhook_id: "5" })).toMatchObject({
    text: "",
    enclosed: [{ kind: "embed", words: ["Disk full", "on db-1", "free: 0"] }],
  });
  for (const [type, author] of [
    ["link", { ...ann, bot: true }],
    ["rich", ann],
  ] as const)
    expect(read({ content: "see https://x.org", author, embeds: [{ type, title: "X" }] })?.text).toBe(
      "see https://x.org",
    );
});

test("files, recordings, stickers and polls are told", () => {
  const file = {
    id: "9",
    filename: "a.png",
    size: 7,
    url: "https://cdn.discordapp.com/a.png",
    content_type: "image/png; x=y",
    proxy_url: "",
  };
  const several = ["c.png", "a.pdf", "b.png"].map((filename, nth) => ({ ...file, id: `${nth}`, filename }));
  const many = contentOf(message({ content: "my garden", attachments: several }) as APIMessage, me);
  expect(many?.text).toBe("my garden");
  expect(many?.attachments.map(({ name }) => name)).toEqual(["c.png", "a.pdf", "b.png"]);
  const photo = contentOf(message({ content: "", attachments: [file] }) as APIMessage, me);
  expect(photo?.attachments[0]).toMatchObject({
    kind: "image",
    mediaType: "image/png",
    bytes: 7,
    name: "a.png",
  });
  expect(parseFileRef(photo?.attachments[0]?.ref ?? "")).toEqual({
    channel: room.id,
    message: idAt(sentAtMs),
    file: "9",
    url: file.url,
  });
  const voice = contentOf(
    message({
      content: "",
      flags: 8192,
      attachments: [{ ...file, content_type: "audio/ogg", duration_secs: 2.5 }],
    }) as APIMessage,
    me,
  );
  expect(voice?.attachments[0]).toMatchObject({ kind: "voice", seconds: 2.5 });
  expect(
    contentOf(
      message({ content: "", sticker_items: [{ id: "1", name: "wave", format_type: 1 }] }) as APIMessage,
      me,
    )?.enclosed,
  ).toEqual([{ kind: "sticker", words: ["wave"] }]);
  const poll = {
    question: { text: "Tea?" },
    answers: [{ poll_media: { text: "yes" } }, { poll_media: { text: "no" } }],
  };
  expect(contentOf(message({ content: "", poll }) as APIMessage, me)?.enclosed).toEqual([
    { kind: "poll", words: ["Tea?", "yes", "no"] },
  ]);
  expect(contentOf(message({ content: "" }) as APIMessage, me)).toBeNull();
  expect(isHidden(message({ content: "" }) as APIMessage)).toBe(true);
  expect(isHidden(message({ content: "", attachments: [file] }) as APIMessage)).toBe(false);
});

test("a reference that is not ours is none", () => {
  for (const ref of ["", "[]", '["a"]', "https://cdn.discordapp.com/x", "[1,2,3,4]"])
    expect(parseFileRef(ref)).toBeNull();
  expect(parseFileRef(formatFileRef({ channel: "1", message: "2", file: "3", url: "u" }))).not.toBeNull();
});

test("a slash command reads as if it were typed", () => {
  const options = [
    {
      name: "mode",
      type: 1,
      options: [
        { name: "to", type: 3, value: "collect" },
        { name: "soon", type: 5, value: true },
      ],
    },
  ];
  const command = {
    id: idAt(sentAtMs),
    type: 2,
    token: "t",
    application_id: "1",
    user: ann,
    data: { id: "1", name: "queue", type: 1, options },
  };
  expect(
    normalizeInteraction(command as unknown as APIInteraction, { id: "1", type: 1 }, context),
  ).toMatchObject({
    id: `discord:default:i${idAt(sentAtMs)}`,
    kind: "command",
    text: "/queue mode collect true",
    addressed: true,
    address: { kind: "dm", peer: ann.id },
  });
});

test("a button, a menu and a form come in as presses of the message they stand under", () => {
  const press = {
    id: idAt(sentAtMs),
    token: "t",
    application_id: "1",
    member: { user: ann, roles: ["5"], nick: "Annie" },
    message: message({ id: "8" }),
  };
  const under = (type: number, data: object) =>
    normalizeInteraction({ ...press, type, data } as unknown as APIInteraction, room, context);
  expect(under(3, { custom_id: "yes", component_type: 2 })).toMatchObject({
    kind: "callback",
    callback: { id: idAt(sentAtMs), value: "yes" },
    replyTo: { messageId: "8", toBot: true },
    sender: { id: ann.id, name: "Annie", roles: ["5"] },
  });
  expect(under(3, { custom_id: "menu", component_type: 3, values: ["green"] })?.callback?.value).toBe(
    "green",
  );
  const rows = [{ type: 1, components: [{ type: 4, custom_id: "name", value: "Ann" }] }];
  expect(under(5, { custom_id: "form", components: rows })?.callback?.value).toBe("form\nname: Ann");
  const labels = [{ type: 18, id: 1, component: { type: 4, custom_id: "name", value: "Ann" } }];
  expect(under(5, { custom_id: "form", components: labels })?.callback?.value).toBe("form\nname: Ann");
  expect(under(4, {})).toBeNull();
});

test("a reaction names its message and whether it was ours; given twice it is two", () => {
  const given = {
    user_id: ann.id,
    channel_id: room.id,
    message_id: "8",
    message_author_id: me.id,
    emoji: { id: null, name: "👍" },
    burst: false,
    type: 0,
  };
  const from = { place: room, roles: [] };
  const first = normalizeReaction(given as never, true, "s-1", from, context);
  expect(first).toMatchObject({
    kind: "reaction",
    text: "reacted 👍",
    replyTo: { messageId: "8", toBot: true },
    address: { peer: room.id },
  });
  expect(normalizeReaction(given as never, false, "s-2", from, context)).toMatchObject({
    text: "took back 👍",
  });
  expect(normalizeReaction(given as never, true, "s-3", from, context)?.id).not.toBe(first?.id);
  expect(normalizeReaction({ ...given, user_id: me.id } as never, true, "s-4", from, context)).toBeNull();
});

test("what names no author is thrown for, not guessed", () => {
  expect(() => read({ author: undefined })).toThrow();
  expect(() => read({ author: { ...ann, id: "" } })).toThrow();
});

test("ids keep their time", () => {
  expect(madeAtMs(idAt(sentAtMs))).toBe(sentAtMs);
});

test("the title of a channel is its name, that of a thread its own, and a private chat has none", () => {
  const titleOf = (place: Place): string | undefined => {
    const named = { ...context, nameOf: () => "general" };
    return normalizeMessage(message(), { place, parentType: null, roles: [], myRoles: [] }, named, false)
      ?.title;
  };
  expect(titleOf(room)).toBe("general");
  expect(titleOf({ ...room, parent: room.id, type: 11, title: "a thread" })).toBe("a thread");
  expect(titleOf({ id: room.id, type: 1 })).toBeUndefined();
});

test("a vote is of the message with the poll, by the option's place", () => {
  const vote = { user_id: ann.id, message_id: "500000000000000001", answer_id: 2 };
  const around = { place: room, roles: ["5"] };
  expect(normalizeVote(vote, true, "t1", around, context)).toMatchObject({
    kind: "reaction",
    address: { kind: "channel", peer: room.id },
    sender: { id: ann.id, roles: ["5"] },
    replyTo: { messageId: "500000000000000001" },
    vote: { options: [1], takenBack: false },
    guild,
  });
  expect(normalizeVote(vote, false, "t2", around, context)?.vote?.takenBack).toBe(true);
  expect(normalizeVote({ ...vote, user_id: me.id }, true, "t3", around, context)).toBeNull();
});
