// What an update means, whole: for each kind one that says everything, and one that says as little as it may.
// A diff in test/tables/telegram-events.txt is a diff in behaviour.
import type { Update } from "grammy/types";
import { type ChannelEvent, type Log, silentLog } from "@parley/protocol";
import { answerTable, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { acceptUpdates } from "../../src/telegram/accept.ts";
import { normalize } from "../../src/telegram/normalize.ts";

const me = { id: "1000", username: "parley_bot" };
const us = { id: 1000, is_bot: true, first_name: "Parley", username: "parley_bot" };
const ada = { id: 42, is_bot: false, first_name: "Ada", last_name: "Byron", username: "ada" };
const bo = { id: 43, is_bot: true, first_name: "Bo" };
const dm = { id: 42, type: "private", first_name: "Ada", last_name: "Byron" };
const forum = { id: -100_123, type: "supergroup", title: "Tea House", is_forum: true };
const news = { id: -42, type: "channel", title: "News" };
const opening = { message_id: 7, chat: forum, from: us, forum_topic_created: { name: "Kettles" } };
const inTopic = { message_thread_id: 7, is_topic_message: true };
const told = { message_id: 5, date: 100, chat: forum, from: ada };
const quoted = { message_id: 4, chat: forum, from: us, text: "Which tea?", caption: "no" };
const film = { file_id: "v", file_name: "f.mp4", mime_type: "video/mp4", file_size: 9, duration: 3 };
const emoji = (...all: readonly string[]): object[] => all.map((one) => ({ type: "emoji", emoji: one }));

const updates: readonly object[] = [
  {
    message: {
      ...told,
      ...inTopic,
      text: "/ask@parley_bot Ada, @ada: which?",
      entities: [
        { type: "bot_command", offset: 0, length: 15 },
        { type: "text_mention", offset: 16, length: 3, user: ada },
        { type: "mention", offset: 21, length: 4 },
      ],
      reply_to_message: quoted,
      quote: { text: "Which" },
    },
  },
  { message: { ...told, ...inTopic, reply_to_message: opening, text: "first in the topic" } },
  { message: { ...told, text: "in General", reply_to_message: { ...quoted, from: bo, text: undefined } } },
  { message: { ...told, chat: dm, from: { id: 42, first_name: "Ada" }, text: "hi" } },
  { message: { ...told, chat: dm, text: "hi", ...inTopic, message_thread_id: 1 } },
  {
    message: {
      ...told,
      chat: { ...news, type: "group", title: "" },
      text: "hi",
      from: { id: 9, last_name: "Lee" },
    },
  },
  {
    edited_message: {
      ...told,
      edit_date: 160,
      caption: "better",
      caption_entities: [{ type: "mention", offset: 0, length: 6 }],
      photo: [
        { file_id: "s", width: 90, height: 60, file_size: 3 },
        { file_id: "l", width: 60, height: 91, file_size: 7 },
      ],
      media_group_id: "77",
    },
  },
  { edited_message: { ...told, text: "/stop", entities: [{ type: "bot_command", offset: 0, length: 5 }] } },
  { channel_post: { message_id: 6, date: 100, chat: news, sender_chat: news, text: "news" } },
  { channel_post: { message_id: 6, date: 100, chat: { ...news, title: undefined }, text: "news" } },
  {
    edited_channel_post: {
      message_id: 6,
      date: 100,
      edit_date: 101,
      chat: news,
      sender_chat: forum,
      text: "x",
    },
  },
  ...[
    { type: "user", sender_user: ada },
    { type: "hidden_user", sender_user_name: "Somebody" },
    { type: "chat", sender_chat: forum },
    { type: "chat", sender_chat: { ...forum, title: undefined } },
    { type: "channel", chat: news },
    { type: "channel", chat: { ...news, title: undefined } },
  ].flatMap((forward_origin) => [
    {
      message: {
        ...told,
        forward_origin,
        text: "@parley_bot",
        entities: [{ type: "mention", offset: 0, length: 11 }],
      },
    },
    {
      message: {
        ...told,
        text: "hm",
        external_reply: { origin: forward_origin, message_id: 3 },
        quote: { text: "q" },
      },
    },
  ]),
  { message: { ...told, text: "hm", external_reply: { origin: { type: "channel", chat: news } } } },
  {
    message: { ...told, forward_origin: { type: "user", sender_user: bo }, dice: { emoji: "🎲", value: 4 } },
  },
  {
    message: { ...told, forward_origin: { type: "user", sender_user: bo }, video: film, media_group_id: "8" },
  },
  ...["venue", "location", "contact", "poll", "dice", "story", "checklist"].map((kind) => ({
    message: {
      ...told,
      text: "about it",
      reply_to_message: {
        ...quoted,
        text: undefined,
        caption: undefined,
        [kind]: {
          title: "Café",
          address: "1 Way",
          location: { latitude: 1.23456789, longitude: -2 },
          latitude: 52.52,
          longitude: 13.4,
          phone_number: "+49",
          first_name: "Bo",
          last_name: "Lee",
          question: "Tea?",
          options: [{ text: "yes" }, { text: "no" }],
          emoji: "🎲",
          value: 6,
        },
      },
    },
  })),
  { message: { ...told, animation: { ...film, thumbnail: { file_id: "t" } }, document: film } },
  { message: { ...told, video: { ...film, thumbnail: { file_id: "t" } }, caption: "look" } },
  { message: { ...told, video_note: { ...film, thumbnail: { file_id: "t" } } } },
  { message: { ...told, audio: { ...film, title: "Song" }, quote: { text: "of nothing" } } },
  { message: { ...told, voice: { ...film, mime_type: undefined } } },
  { message: { ...told, voice: film } },
  { message: { ...told, document: { file_id: "d" } } },
  { message: { ...told, sticker: { ...film, is_video: true, is_animated: true, emoji: "🐙" } } },
  { message: { ...told, sticker: { file_id: "k" } } },
  { message: { ...told, text: "x", from: us } },
  { message: { ...told, new_chat_title: "Tea" } },
  { message: { ...told, migrate_to_chat_id: -9 } },
  { message: { ...told, migrate_from_chat_id: -8 } },
  {
    callback_query: {
      id: "q1",
      from: ada,
      data: "v:1",
      message: { ...told, ...inTopic, from: us, text: "Sure?" },
    },
  },
  {
    callback_query: { id: "q2", from: bo, data: "", message: { message_id: 8, chat: dm, caption: "This?" } },
  },
  { callback_query: { id: "q3", from: ada, data: "v:1", message: { message_id: 8, chat: dm } } },
  {
    message_reaction: {
      chat: forum,
      message_id: 5,
      date: 100,
      user: ada,
      actor_chat: news,
      old_reaction: [...emoji("👍", "🔥"), { type: "paid" }],
      new_reaction: [...emoji("🔥", "❤"), { type: "custom_emoji", custom_emoji_id: "78" }],
    },
  },
  {
    message_reaction: {
      chat: dm,
      message_id: 5,
      actor_chat: { ...news, title: undefined },
      old_reaction: [],
      new_reaction: emoji("👍"),
    },
  },
  { poll_answer: { poll_id: "77", user: bo, option_ids: [2, 0] } },
  { poll_answer: { poll_id: "77", voter_chat: news, option_ids: [] } },
  { poll_answer: { poll_id: "77", user: us, option_ids: [1] } },
  { poll_answer: { poll_id: "77", option_ids: [1] } },
  { poll_answer: { poll_id: 77, user: ada, option_ids: [1] } },
  { message_reaction: { chat: dm, old_reaction: [], new_reaction: emoji("👍"), user: ada } },
  {
    callback_query: { id: "q4", from: { first_name: "x" }, data: "x", message: { message_id: 8, chat: dm } },
  },
  { message: { ...told, chat: { id: "x" }, text: "x" } },
  { message: { ...told, message_thread_id: "7", text: "x" } },
  { my_chat_member: { chat: dm, from: ada, date: 1 } },
];

test("each kind of update means this", async () => {
  const context = { channel: "telegram", account: "tea", me, nowMs: 7_000 };
  const table = answerTable(updates, (update) => {
    const left: string[] = [];
    const onLeftOut = (paths: readonly string[]): number => left.push(...paths);
    const event = normalize({ update_id: 9, ...update } as Update, { ...context, onLeftOut });
    return left.length === 0 ? event : { left, event };
  });
  const names = { forum, news, dm, ada, us, bo };
  const shown = Object.entries(names).reduce(
    (text, [name, whole]) => text.replaceAll(JSON.stringify(whole), name.toUpperCase()),
    table.replaceAll('"id":"telegram:tea:u9","channel":"telegram","account":"tea",', "EVENT "),
  );
  await expect(shown).toMatchFileSnapshot("../tables/telegram-events.txt");
});

test("a batch is handed over whole and in order, after its moves; then the presses of others are told", async () => {
  const story: unknown[] = [];
  const log = {
    ...silentLog,
    warn: (fields: object, words: string) => void story.push(["warn", fields, words]),
    debug: (fields: object, words: string) => void story.push(["debug", fields, words]),
  } as Log;
  const clock = virtualClock({ startMs: 7_000 });
  const how = (receive: (events: readonly ChannelEvent[]) => Promise<void>) => ({
    channel: "telegram",
    account: "tea",
    bot: "1000",
    clock,
    log,
    receive,
    onMigration: async (move: object) => void story.push(["move", move]),
    onForeignPress: (query: string) => void story.push(["press", query]),
  });
  const broken = { ...told, message_id: "five", text: "x".repeat(20_000) };
  const entities = Array.from({ length: 25 }, () => null);
  const batch = [
    { update_id: 1, message: { ...told, chat: dm, text: "one", entities } },
    { update_id: 2, callback_query: { id: "q2", from: ada, data: "v" } },
    { update_id: 3, message: broken },
    { update_id: 4, message: { ...told, migrate_to_chat_id: -9 } },
    { update_id: 5, callback_query: { id: "q5", from: 7, data: "v", message: { message_id: 8, chat: dm } } },
    { update_id: 6, my_chat_member: {} },
    { update_id: 7, callback_query: { from: ada } },
    {
      update_id: 8,
      callback_query: { id: "q8", from: ada, data: "v", message: { message_id: 8, chat: dm } },
    },
    { update_id: 9, message: { ...told, chat: { ...forum, type: "x".repeat(600) }, text: "x" } },
  ] as unknown as readonly Update[];
  const events: ChannelEvent[] = [];
  await acceptUpdates(
    batch,
    me,
    how(async (given) => {
      story.push(["events", given.length]);
      events.push(...given);
    }),
  );
  const left = Array.from({ length: 20 }, (_, n) => `message.entities[${n}]`);
  expect(story).toEqual([
    ["warn", { updateId: 1, count: 25, left }, "parts of a message could not be read"],
    ["debug", { updateId: 2, kinds: ["update_id", "callback_query"] }, "update carries nothing for us"],
    ["move", { kind: "migration", fromChat: "-100123", toChat: "-9" }],
    ["debug", { updateId: 6, kinds: ["update_id", "my_chat_member"] }, "update carries nothing for us"],
    ["events", 6],
    ["press", "q2"],
    ["press", "q5"],
  ]);
  const place = {
    address: { channel: "telegram", account: "tea", kind: "group", peer: "-100123", thread: "1" },
    sender: { id: "42", name: "Ada Byron", isBot: false },
  };
  const lost = { kind: "unreadable", channel: "telegram", account: "tea" };
  const raw = (n: number): string => JSON.stringify(batch[n]).slice(0, 16_384);
  expect(
    events.map((event) => ("address" in event ? [event.id, event.bot, event.atMs, event.text] : event)),
  ).toEqual([
    ["telegram:tea:b1000.u1", "1000", 100_000, "one"],
    {
      ...lost,
      id: "telegram:tea:b1000.u3",
      raw: raw(2),
      reason: "it has no readable message.message_id",
      from: place,
    },
    { ...lost, id: "telegram:tea:b1000.u5", raw: raw(4), reason: "it has no readable callback_query.from" },
    { ...lost, id: "telegram:tea:b1000.u7", raw: raw(6), reason: "it has no readable callback_query.id" },
    ["telegram:tea:b1000.u8", "1000", 7_000, "v"],
    { ...lost, id: "telegram:tea:b1000.u9", raw: raw(8), reason: `chat type "${"x".repeat(489)}` },
  ]);
  story.length = 0;
  const press = batch.slice(1, 2);
  await acceptUpdates(
    press,
    me,
    how(() => Promise.reject(new Error("nothing is to be handed over"))),
  );
  expect(story.slice(1)).toEqual([["press", "q2"]]);
  const both = acceptUpdates(
    batch.slice(0, 2),
    me,
    how(() => Promise.reject(new Error("the disk is full"))),
  );
  await expect(both).rejects.toThrow("the disk is full");
  expect(story.filter((line) => (line as readonly unknown[])[0] === "press")).toHaveLength(1);
});
