// Goldens of normalization: what each kind of update means to the rest of the house, and what it must never
// be mistaken for.
import type { Update } from "grammy/types";
import { inboundSchema } from "@parley/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { normalize, placeOf } from "../../src/telegram/normalize.ts";

const context = {
  channel: "telegram",
  account: "default",
  me: { id: "1000", username: "parley_bot" },
  nowMs: 5_000,
};
const user = { id: 42, is_bot: false, first_name: "Ada", last_name: "Byron", username: "ada" };
const us = { id: 1000, is_bot: true, first_name: "Parley", username: "parley_bot" };
const priv = { id: 42, type: "private", first_name: "Ada" };
const room = { id: -100123, type: "supergroup", title: "Room" };
const forum = { ...room, is_forum: true };

/** Fixtures are what Telegram sends, which is more than its types say. */
const read = (update: object) => normalize({ update_id: 9, ...update } as Update, context);
const message = (fields: object, chat: object = priv) =>
  read({ message: { message_id: 5, date: 100, chat, from: user, ...fields } });
const command = (length: number, offset = 0) => [{ type: "bot_command", offset, length }];

test("the place of what cannot be read is told for each kind of message, and of nothing else", () => {
  const broken = { message_id: "five", date: 100, chat: priv, from: user };
  const place = { address: { channel: "telegram", account: "default", kind: "dm", peer: "42" } };
  for (const kind of ["message", "edited_message", "channel_post", "edited_channel_post"])
    expect([kind, placeOf({ update_id: 9, [kind]: broken } as never, context)]).toMatchObject([kind, place]);
  for (const update of [{ poll: broken }, { message: { ...broken, chat: {} } }])
    expect(placeOf({ update_id: 9, ...update } as never, context)).toBeNull();
});

describe("messages", () => {
  test("a private message", () => {
    expect(message({ text: "hello" })).toEqual({
      id: "telegram:default:u9",
      channel: "telegram",
      account: "default",
      address: { channel: "telegram", account: "default", kind: "dm", peer: "42" },
      sender: { id: "42", name: "Ada Byron", isBot: false },
      messageId: "5",
      kind: "message",
      text: "hello",
      attachments: [],
      mentions: [],
      addressed: true,
      atMs: 100_000,
    });
  });

  test("an edit carries its own time, so that it is not taken for the original", () => {
    const edited = { message_id: 5, date: 100, edit_date: 160, chat: priv, from: user, text: "better" };
    expect(read({ edited_message: edited })).toMatchObject({
      kind: "edit",
      messageId: "5",
      text: "better",
      atMs: 100_000,
      editedAtMs: 160_000,
    });
  });

  test("the title is the group's, in a topic the topic's as far as Telegram tells it", () => {
    const chat = { id: -7, type: "supergroup", title: "Tea", is_forum: true };
    const opening = { message_id: 3, date: 1, chat, forum_topic_created: { name: "Kettles", icon_color: 1 } };
    const said = (more: object): unknown =>
      (
        read({ message: { message_id: 5, date: 100, chat, from: user, text: "x", ...more } } as never) as {
          title?: string;
        }
      ).title;
    const inTopic = { message_thread_id: 3, is_topic_message: true };
    expect(said({})).toBe("Tea");
    expect(said({ ...inTopic, reply_to_message: opening })).toBe("Kettles");
    expect(said(inTopic)).toBeUndefined();
  });

  test("a vote names the poll and the options; without any it is taken back", () => {
    const vote = (option_ids: readonly number[]): unknown =>
      read({ poll_answer: { poll_id: "77", user, option_ids, option_persistent_ids: [] } } as never);
    expect(vote([0, 2])).toMatchObject({
      kind: "reaction",
      sender: { id: "42" },
      vote: { poll: "77", options: [0, 2], takenBack: false },
    });
    expect(vote([])).toMatchObject({ vote: { takenBack: true } });
  });

  test("a channel post is written by the channel, which is nobody's id", () => {
    const post = {
      message_id: 5,
      date: 100,
      chat: { id: -42, type: "channel", title: "News" },
      sender_chat: { id: -42, type: "channel", title: "News" },
      text: "x",
    };
    expect(read({ channel_post: post })).toMatchObject({
      address: { kind: "channel", peer: "-42" },
      sender: { id: "chat:-42", name: "News" },
      addressed: false,
    });
  });

  test("an anonymous admin is the chat, not the stand-in user that all anonymous admins share", () => {
    const anonymous = message(
      { text: "x", from: { id: 1087968824, is_bot: true, first_name: "Group" }, sender_chat: room },
      room,
    );
    expect(anonymous).toMatchObject({ sender: { id: "chat:-100123", name: "Room", isBot: false } });
  });

  test("our own messages, service messages, and kinds that we did not ask for are nothing", () => {
    expect(message({ text: "mine", from: us }, room)).toBeNull();
    expect(message({ new_chat_members: [user] }, room)).toBeNull();
    expect(message({ pinned_message: {} }, room)).toBeNull();
    expect(message({ forum_topic_created: { name: "News", icon_color: 1 } }, forum)).toBeNull();
    expect(read({ my_chat_member: { chat: priv, from: user, date: 1 } })).toBeNull();
    expect(read({ brand_new_kind: {} })).toBeNull();
  });

  test("another bot's message says that it is one", () => {
    expect(message({ text: "beep", from: { id: 7, is_bot: true, first_name: "Other" } }, room)).toMatchObject(
      { sender: { isBot: true } },
    );
  });

  test("both sides of a migration tell the same move", () => {
    const move = { kind: "migration", fromChat: "-9", toChat: "-100123" };
    expect(message({ migrate_to_chat_id: -100123 }, { id: -9, type: "group", title: "Room" })).toEqual(move);
    expect(message({ migrate_from_chat_id: -9 }, room)).toEqual(move);
  });

  test.each([
    ["no sender", { message: { message_id: 5, date: 100, chat: room, text: "x" } }],
    [
      "a chat type that is new",
      { message: { message_id: 5, date: 100, chat: { id: 1, type: "hologram" }, from: user, text: "x" } },
    ],
    ["no chat", { message: { message_id: 5, date: 100, from: user, text: "x" } }],
    [
      "a thread that is no number",
      { message: { message_id: 5, date: 100, chat: room, from: user, text: "x", message_thread_id: "7" } },
    ],
    [
      "a chat as its sender that is none",
      { message: { message_id: 5, date: 100, chat: room, from: user, text: "x", sender_chat: 7 } },
    ],
    ["a text that is no text", { message: { message_id: 5, date: 100, chat: priv, from: user, text: 7 } }],
    ["an empty message", { message: {} }],
  ])("%s is refused, not guessed", (_what, update) => {
    expect(() => read(update)).toThrow();
  });
});

describe("parts that cannot be read", () => {
  const junk = [7, "x", null, [], {}, [null], [7], { id: "x" }, { file_id: 7 }, true, -1, 1.5];
  const optional = [
    "entities",
    "caption",
    "photo",
    "animation",
    "document",
    "video",
    "video_note",
    "audio",
    "voice",
    "sticker",
    "venue",
    "location",
    "contact",
    "poll",
    "dice",
    "reply_to_message",
    "external_reply",
    "quote",
    "media_group_id",
    "date",
    "edit_date",
  ];
  test.each(optional)("%s: the message is kept without it", (key) => {
    for (const value of junk)
      expect(message({ text: "hello", [key]: value })).toMatchObject({ text: "hello", kind: "message" });
  });

  test("of a list the rest is kept, and what was left out is named", () => {
    const left: string[] = [];
    const entities = [
      { type: "bold", offset: "x", length: 2 },
      { type: "bot_command", offset: 0, length: 5 },
      null,
    ];
    const update = {
      update_id: 9,
      message: { message_id: 5, date: 100, chat: priv, from: user, text: "/stop", entities },
    };
    const event = normalize(update as unknown as Update, {
      ...context,
      onLeftOut: (paths) => left.push(...paths),
    });
    expect(event).toMatchObject({ kind: "command", text: "/stop" });
    expect(left).toEqual(["message.entities[0].offset", "message.entities[2]"]);
  });

  test("each part that is guessed or left out is named; what a server writes as null is simply not there", () => {
    const leftOf = (fields: object): readonly [unknown, readonly string[]] => {
      const left: string[] = [];
      const update = {
        update_id: 9,
        message: { message_id: 5, date: 100, chat: priv, from: user, ...fields },
      };
      const event = normalize(update as unknown as Update, {
        ...context,
        nowMs: 5_999,
        onLeftOut: (paths) => left.push(...paths),
      });
      return [event, left];
    };
    const without = Object.fromEntries(optional.map((key) => [key, null]));
    expect(leftOf({ ...without, date: 100, text: "hello", entities: null })).toEqual([
      message({ text: "hello" }),
      [],
    ]);
    expect(leftOf({ text: "hello", date: "now" })).toMatchObject([
      { atMs: 5_000 },
      expect.arrayContaining(["message.date"]),
    ]);
    expect(leftOf({ text: "hello", date: undefined })).toMatchObject([{ atMs: 5_000 }, ["message.date"]]);
    for (const [origin, path] of [
      [{ type: "story" }, "message.forward_origin"],
      [{ type: "user", sender_user: { id: "x" } }, "message.forward_origin.sender_user.id"],
    ] as const)
      expect(leftOf({ text: "hello", forward_origin: origin })).toMatchObject([
        { enclosed: [{ from: "somebody" }] },
        [path],
      ]);
    const file = { file_id: "v", file_size: 0, duration: 1.5, mime_type: "audio/ogg" };
    expect(leftOf({ voice: file })).toMatchObject([
      { attachments: [{ ref: "v", bytes: 0, seconds: 1.5 }] },
      [],
    ]);
    expect(leftOf({ voice: { ...file, duration: -1, file_size: 1.5 } })).toMatchObject([
      { attachments: [{ ref: "v", mediaType: "audio/ogg" }] },
      ["message.voice.file_size", "message.voice.duration"],
    ]);
  });

  test("a size that is none leaves the file", () => {
    const document = { file_id: "d", file_name: 7, file_size: -1, mime_type: "text/plain" };
    expect(message({ document })).toMatchObject({
      attachments: [{ kind: "file", ref: "d", mediaType: "text/plain" }],
    });
  });

  test("words that were passed on are never their sender's, whatever their origin says", () => {
    for (const origin of [
      7,
      {},
      { type: "user" },
      { type: "channel", chat: { id: 1 } },
      { type: "toString" },
    ])
      expect(message({ text: "/stop", entities: command(5), forward_origin: origin })).toMatchObject({
        text: "",
        kind: "message",
        enclosed: [{ kind: "forward", from: "somebody", words: ["/stop"] }],
      });
  });
});

describe("who is meant", () => {
  const mention = (offset: number, length: number) => [{ type: "mention", offset, length }];
  test.each<readonly [string, object, boolean, string]>([
    ["a bystander", { text: "hi all" }, false, "message"],
    ["our name without an entity", { text: "parley_bot is down, @parley_bot" }, false, "message"],
    ["an exact mention, in any case", { text: "hey @Parley_Bot", entities: mention(4, 11) }, true, "message"],
    [
      "a longer name that begins like ours",
      { text: "@parley_bot2 hi", entities: mention(0, 12) },
      false,
      "message",
    ],
    [
      "a mention in a caption",
      {
        photo: [{ file_id: "p", width: 1, height: 1 }],
        caption: "@parley_bot look",
        caption_entities: mention(0, 11),
      },
      true,
      "message",
    ],
    [
      "a text mention of our id",
      { text: "hey you", entities: [{ type: "text_mention", offset: 4, length: 3, user: us }] },
      true,
      "message",
    ],
    [
      "a text mention of another",
      { text: "hey you", entities: [{ type: "text_mention", offset: 4, length: 3, user }] },
      false,
      "message",
    ],
    [
      "a reply to us",
      { text: "yes", reply_to_message: { message_id: 4, date: 1, chat: room, from: us, text: "sure?" } },
      true,
      "message",
    ],
    [
      "a reply to another",
      { text: "yes", reply_to_message: { message_id: 4, date: 1, chat: room, from: user, text: "sure?" } },
      false,
      "message",
    ],
    ["a bare command", { text: "/status", entities: command(7) }, false, "command"],
    ["a command to us", { text: "/status@parley_bot", entities: command(18) }, true, "command"],
    ["a command to another bot", { text: "/status@other_bot", entities: command(17) }, false, "message"],
    ["a command in the middle", { text: "try /status", entities: command(7, 4) }, false, "message"],
    [
      "a forwarded mention",
      {
        text: "@parley_bot",
        entities: mention(0, 11),
        forward_origin: { type: "user", sender_user: user, date: 1 },
      },
      false,
      "message",
    ],
    [
      "a forwarded command",
      { text: "/stop", entities: command(5), forward_origin: { type: "user", sender_user: user, date: 1 } },
      false,
      "message",
    ],
  ])("%s in a group", (_what, fields, addressed, kind) => {
    expect(message(fields, room)).toMatchObject({ addressed, kind });
  });

  test("a command to us loses our name and keeps its words", () => {
    expect(message({ text: "/model@parley_bot fast one", entities: command(17) }, room)).toMatchObject({
      kind: "command",
      text: "/model fast one",
    });
  });

  test("mentions are ids, from exact entities only", () => {
    const entities = [
      { type: "text_mention", offset: 0, length: 3, user },
      { type: "mention", offset: 4, length: 6 },
    ];
    expect(message({ text: "Ada @grace", entities }, room)).toMatchObject({ mentions: ["42"] });
  });
});

describe("where it was said", () => {
  test.each<readonly [string, object, object, string | undefined]>([
    ["a topic", { message_thread_id: 7, is_topic_message: true }, forum, "7"],
    ["General", {}, forum, "1"],
    ["a chain of replies in General", { message_thread_id: 33 }, forum, "1"],
    ["a chain of replies in a plain group", { message_thread_id: 33 }, room, undefined],
    ["a topic of a private chat", { message_thread_id: 8, is_topic_message: true }, priv, "8"],
  ])("%s", (_what, fields, chat, thread) => {
    const event = message({ text: "x", ...fields }, chat);
    expect(event !== null && "address" in event ? event.address.thread : "none").toBe(thread);
  });

  test("the first message of a topic is no reply to the topic's making", () => {
    const made = {
      message_id: 7,
      date: 1,
      chat: forum,
      from: us,
      forum_topic_created: { name: "News", icon_color: 1 },
    };
    const event = message(
      { text: "x", message_thread_id: 7, is_topic_message: true, reply_to_message: made },
      forum,
    );
    expect(event).toMatchObject({ addressed: false });
    expect(event).not.toHaveProperty("replyTo");
  });
});

describe("what was quoted", () => {
  const quoted = { message_id: 4, date: 1, chat: room, from: us, text: "one two three" };
  test("a reply has the quoted text and its sender", () => {
    expect(message({ text: "yes", reply_to_message: quoted }, room)).toMatchObject({
      replyTo: { messageId: "4", text: "one two three", sender: "Parley", toBot: true },
    });
  });
  test("a selected quote stands for the whole", () => {
    expect(
      message({ text: "yes", reply_to_message: quoted, quote: { text: "two", position: 4 } }, room),
    ).toMatchObject({
      replyTo: { text: "two" },
    });
  });
  test("a reply to a channel's post names the channel, and one to nobody nobody", () => {
    const news = { id: -42, type: "channel", title: "News" };
    const { from: _, ...unsigned } = quoted;
    const told = (reply_to_message: object): unknown =>
      (message({ text: "hm", reply_to_message }, room) as { readonly replyTo?: unknown }).replyTo;
    expect(told({ ...unsigned, sender_chat: news })).toEqual({
      messageId: "4",
      text: "one two three",
      sender: "News",
      toBot: false,
    });
    expect(told({ ...quoted, from: user, sender_chat: news })).toMatchObject({
      sender: "Ada Byron",
      toBot: false,
    });
    expect(told(unsigned)).toEqual({ messageId: "4", text: "one two three", toBot: false });
  });

  test("a reply to another chat's message has a marked id", () => {
    const external = {
      origin: { type: "channel", chat: { id: -1, type: "channel", title: "News" }, message_id: 3, date: 1 },
      message_id: 3,
    };
    expect(
      message({ text: "hm", external_reply: external, quote: { text: "headline", position: 0 } }),
    ).toMatchObject({
      replyTo: { messageId: "external-3", text: "headline", sender: "News", toBot: false },
    });
  });
});

describe("content without text", () => {
  test.each<readonly [string, object, readonly string[]]>([
    ["location", { location: { latitude: 52.52, longitude: 13.405 } }, ["52.520000, 13.405000"]],
    [
      "venue",
      {
        venue: { title: "Café", address: "1 Way", location: { latitude: 1, longitude: 2 } },
        location: { latitude: 1, longitude: 2 },
      },
      ["Café", "1 Way", "1.000000, 2.000000"],
    ],
    ["contact", { contact: { phone_number: "+49", first_name: "Bo" } }, ["Bo", "+49"]],
    [
      "poll",
      { poll: { question: "Lunch?", options: [{ text: "Soup" }, { text: "Salad" }] } },
      ["Lunch?", "Soup", "Salad"],
    ],
    ["dice", { dice: { emoji: "🎲", value: 4 } }, ["🎲", "4"]],
    ["unsupported", { story: { chat: { id: 1, type: "private" }, id: 2 } }, ["story"]],
    ["unsupported", { paid_media: { star_count: 1, paid_media: [] } }, ["paid media"]],
  ])("a %s is no words of its sender", (kind, fields, words) => {
    expect(message(fields)).toMatchObject({ text: "", enclosed: [{ kind, words }], attachments: [] });
  });

  test("a forward names its origin", () => {
    const fields = {
      text: "news",
      forward_origin: { type: "hidden_user", sender_user_name: "Someone", date: 1 },
    };
    expect(message(fields)).toMatchObject({
      text: "",
      enclosed: [{ kind: "forward", from: "Someone", words: ["news"] }],
    });
  });

  test.each<readonly [string, object, object]>([
    [
      "the largest photo",
      {
        photo: [
          { file_id: "s", width: 9, height: 9 },
          { file_id: "l", width: 90, height: 60, file_size: 7 },
          { file_id: "m", width: 30, height: 30 },
        ],
      },
      { kind: "image", ref: "l", bytes: 7, mediaType: "image/jpeg" },
    ],
    [
      "a document",
      { document: { file_id: "d", file_name: "a.pdf", mime_type: "application/pdf", file_size: 3 } },
      { kind: "file", ref: "d", name: "a.pdf", mediaType: "application/pdf", bytes: 3 },
    ],
    [
      "an audio",
      { audio: { file_id: "a", duration: 9, title: "Song", mime_type: "audio/mpeg" } },
      { kind: "audio", ref: "a", seconds: 9, description: "Song", mediaType: "audio/mpeg" },
    ],
    [
      "a voice note",
      { voice: { file_id: "v", duration: 3 } },
      { kind: "voice", ref: "v", seconds: 3, mediaType: "audio/ogg" },
    ],
    [
      "a video",
      { video: { file_id: "v", duration: 3, width: 1, height: 1 } },
      { kind: "video", ref: "v", seconds: 3 },
    ],
    [
      "a round video",
      { video_note: { file_id: "n", duration: 3, length: 1 } },
      { kind: "video", ref: "n", seconds: 3, mediaType: "video/mp4", description: "round video message" },
    ],
    [
      "an animation, once",
      { animation: { file_id: "g", duration: 1, width: 1, height: 1 }, document: { file_id: "g" } },
      { kind: "video", ref: "g", seconds: 1, description: "animation" },
    ],
    [
      "a sticker",
      { sticker: { file_id: "k", is_animated: false, is_video: false, emoji: "🐙" } },
      { kind: "sticker", ref: "k", mediaType: "image/webp", description: "🐙" },
    ],
    [
      "an animated sticker",
      { sticker: { file_id: "k", is_animated: true, is_video: false } },
      { kind: "sticker", ref: "k", mediaType: "application/x-tgsticker" },
    ],
  ])("%s becomes an attachment", (_what, fields, attachment) => {
    expect(message(fields)).toMatchObject({ text: "", attachments: [attachment] });
    const event = message({ ...fields, caption: "look" });
    expect(event).toMatchObject({ text: "look" });
  });

  test.each(["video", "video_note", "animation"])("of a %s Telegram's still comes along, once", (kind) => {
    const thumbnail = { file_id: "t", width: 320, height: 180, file_size: -1 };
    const event = message({ [kind]: { file_id: "v", duration: 3, thumbnail } });
    expect(event).toMatchObject({
      attachments: [
        { kind: "video", ref: "v" },
        { kind: "image", ref: "t", mediaType: "image/jpeg", description: "a still of the video" },
      ],
    });
    for (const broken of ["x", null, {}, { file_id: 7 }])
      expect(message({ [kind]: { file_id: "v", thumbnail: broken } })).toMatchObject({
        attachments: [{ kind: "video", ref: "v" }],
      });
  });

  test("the parts of an album share a group", () => {
    expect(message({ photo: [{ file_id: "p", width: 1, height: 1 }], media_group_id: "77" })).toMatchObject({
      groupId: "77",
    });
  });
});

describe("buttons and reactions", () => {
  const pressed = { id: "q1", from: user, chat_instance: "c", data: "approve:7" };
  test("a pressed button is its own event, addressed, and points at the message with the button", () => {
    const query = {
      ...pressed,
      message: {
        message_id: 5,
        date: 100,
        chat: forum,
        from: us,
        text: "Sure?",
        message_thread_id: 7,
        is_topic_message: true,
      },
    };
    expect(read({ callback_query: query })).toMatchObject({
      kind: "callback",
      messageId: "callback-q1",
      address: { kind: "group", peer: "-100123", thread: "7" },
      sender: { id: "42" },
      text: "approve:7",
      callback: { id: "q1", value: "approve:7" },
      replyTo: { messageId: "5", toBot: true, text: "Sure?" },
      addressed: true,
      atMs: 5_000,
    });
  });
  test("a button under a picture quotes its caption, under a message without words nothing", () => {
    const under = (more: object): unknown =>
      read({
        callback_query: { ...pressed, message: { message_id: 5, date: 100, chat: priv, from: us, ...more } },
      });
    expect(under({ photo: [], caption: "This cat?" })).toMatchObject({ replyTo: { text: "This cat?" } });
    expect(under({ text: "Sure?", caption: "no" })).toMatchObject({ replyTo: { text: "Sure?" } });
    expect(JSON.stringify(under({ sticker: {} }))).not.toContain("Sure");
  });
  test("a button under a message too old to see still counts; one without a chat or a value does not", () => {
    expect(
      read({ callback_query: { ...pressed, message: { message_id: 5, date: 0, chat: priv } } }),
    ).toMatchObject({ kind: "callback" });
    expect(read({ callback_query: pressed })).toBeNull();
    expect(
      read({
        callback_query: {
          ...pressed,
          data: undefined,
          game_short_name: "g",
          message: { message_id: 5, date: 0, chat: priv },
        },
      }),
    ).toBeNull();
  });
  const reaction = (before: readonly string[], after: readonly string[], who: object = { user }) => {
    const types = (emoji: readonly string[]) => emoji.map((one) => ({ type: "emoji", emoji: one }));
    return read({
      message_reaction: {
        chat: room,
        message_id: 5,
        date: 100,
        ...who,
        old_reaction: types(before),
        new_reaction: types(after),
      },
    });
  };
  test("an emoji of one's own is told by its id, a paid one by its star", () => {
    const update = {
      message_reaction: {
        chat: priv,
        message_id: 5,
        date: 100,
        user,
        old_reaction: [{ type: "custom_emoji", custom_emoji_id: "77" }],
        new_reaction: [{ type: "custom_emoji", custom_emoji_id: "78" }, { type: "paid" }, { type: "emoji" }],
      },
    };
    expect(read(update)).toMatchObject({
      text: "reacted custom emoji 78, reacted ⭐, reacted an emoji, took back custom emoji 77",
      atMs: 100_000,
    });
    expect(read({ message_reaction: { ...update.message_reaction, date: "x" } })).toMatchObject({
      atMs: 5_000,
    });
  });

  test("a reaction tells what was added and what was taken back", () => {
    expect(reaction(["👍"], ["🔥"])).toMatchObject({
      kind: "reaction",
      messageId: "reaction-9",
      text: "reacted 🔥, took back 👍",
      sender: { id: "42" },
      replyTo: { messageId: "5", toBot: false },
      addressed: false,
      atMs: 100_000,
    });
    expect(reaction([], ["👍"], { user, date: "never" })).toMatchObject({ atMs: 5_000 });
    expect(reaction([], ["👍"], { actor_chat: room })).toMatchObject({ sender: { id: "chat:-100123" } });
    expect(reaction(["👍"], ["👍"])).toBeNull();
    expect(reaction([], ["👍"], { user: us })).toBeNull();
  });
});

test("with any field of a message missing, it is never more addressed, and never from someone else", () => {
  const whole: Readonly<Record<string, unknown>> = {
    message_id: 5,
    date: 100,
    chat: room,
    from: user,
    text: "/status@parley_bot",
    entities: command(18),
    reply_to_message: { message_id: 4, date: 1, chat: room, from: user, text: "x" },
    message_thread_id: 7,
  };
  fc.assert(
    fc.property(fc.subarray(Object.keys(whole)), (kept) => {
      let event;
      try {
        event = read({ message: Object.fromEntries(kept.map((key) => [key, whole[key]])) });
      } catch {
        return; // Refused: that is the safe side.
      }
      if (event === null || event.kind === "migration") return;
      inboundSchema.parse(event);
      expect(event.sender.id).toBe("42");
      expect(event.addressed && !(kept.includes("entities") && kept.includes("text"))).toBe(false);
    }),
  );
});
