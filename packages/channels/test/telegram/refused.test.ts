// What becomes of Telegram's refusals and of a message's address, as whole tables: every row of the table of
// descriptions, every status, and every way to be meant.
import type { Message } from "grammy/types";
import { Fault, isFault } from "@parley/protocol";
import { expect, test } from "vitest";
import { addressing } from "../../src/telegram/addressing.ts";
import {
  halves,
  isTooLong,
  needsPieces,
  sendInPieces,
  withoutEntitiesIfRefused,
} from "../../src/telegram/refused-text.ts";
import {
  chatIsClosed,
  faultOf,
  isTelegramTooLarge,
  isTokenRefused,
  migratedChatId,
  refusalWords,
} from "../../src/telegram/refusals.ts";

const refused = (error_code: number, description = "words", parameters = {}, method = "sendMessage"): Fault =>
  faultOf(method, { ok: false, error_code, description, parameters });

test("each of Telegram's descriptions has its code and says whether the chat is closed", () => {
  const rows: readonly (readonly [description: string, code: string, closed: boolean])[] = [
    ["Bad Request: group chat was upgraded to a supergroup chat", "missing", false],
    ["Bad Request: wrong file_id or the file is temporarily unavailable", "missing", false],
    ["Bad Request: wrong remote file id specified", "missing", false],
    ["Bad Request: invalid file id", "missing", false],
    ["Bad Request: FILE_REFERENCE_EXPIRED", "missing", false],
    ["Bad Request: FILE_ID_INVALID", "missing", false],
    ["Bad Request: chat not found", "missing", true],
    ["Bad Request: user not found", "missing", false],
    ["Bad Request: message thread not found", "missing", false],
    ["Bad Request: TOPIC_DELETED", "missing", false],
    ["Bad Request: TOPIC_ID_INVALID", "missing", false],
    ["Bad Request: message to edit not found", "missing", false],
    ["Bad Request: message to be replied not found", "missing", false],
    ["Bad Request: MESSAGE_ID_INVALID", "missing", false],
    ["Bad Request: message can't be edited", "missing", false],
    ["Bad Request: query is too old and response timeout expired", "missing", false],
    ["Bad Request: QUERY_ID_INVALID", "missing", false],
    ["Bad Request: TOPIC_CLOSED", "denied", false],
    ["Bad Request: not enough rights to send text messages to the chat", "denied", false],
    ["Bad Request: have no rights to send a message", "denied", false],
    ["Bad Request: CHAT_WRITE_FORBIDDEN", "denied", false],
    ["Bad Request: CHAT_ADMIN_REQUIRED", "denied", false],
    ["Bad Request: VOICE_MESSAGES_FORBIDDEN", "denied", false],
    ["Bad Request: need administrator rights in the channel chat", "denied", false],
    ["Bad Request: message can't be deleted", "denied", false],
    ["Bad Request: CHAT_RESTRICTED", "denied", false],
    ["Bad Request: USER_IS_BLOCKED", "denied", true],
    ["Bad Request: bot was blocked by the user", "denied", false],
    ["Bad Request: PEER_ID_INVALID", "denied", true],
    ["Bad Request: chat was deleted", "denied", true],
    ["Bad Request: chat was deactivated", "denied", true],
    ["Bad Request: CHANNEL_PRIVATE", "denied", true],
    ["Bad Request: user is deactivated", "denied", true],
    ["Bad Request: INPUT_USER_DEACTIVATED", "denied", true],
    ["Bad Request: REACTION_INVALID", "unsupported", false],
    ["Bad Request: the chat is not a forum", "unsupported", false],
    ["Bad Request: can't parse entities", "invalid", false],
    ["Bad Request: message is not modified", "invalid", false],
  ];
  const found = rows.map(([description]) => {
    const fault = refused(400, description);
    return [description, fault.code, chatIsClosed(fault)];
  });
  expect(found).toEqual(rows);
});

test("each status has its code, by what the method carries; only 401 is about the token", () => {
  const rows: readonly (readonly [method: string, status: number, code: string])[] = [
    ["sendMessage", 401, "unavailable"],
    ["sendMessage", 404, "unavailable"],
    ["editMessageText", 401, "unavailable"],
    ["sendChatAction", 401, "denied"],
    ["setMessageReaction", 404, "denied"],
    ["getUpdates", 401, "denied"],
    ["sendMessage", 403, "denied"],
    ["getUpdates", 409, "conflict"],
    ["sendPhoto", 413, "invalid"],
    ["sendMessage", 400, "invalid"],
    ["sendMessage", 429, "rate_limited"],
    ["sendMessage", 420, "ambiguous"],
    ["sendMessage", 500, "ambiguous"],
    ["sendMessage", 502, "ambiguous"],
  ];
  const found = rows.map(([method, status]) => {
    const fault = refused(status, "words", {}, method);
    expect(fault.message).toBe(`Telegram refused ${method}: ${status} words`);
    expect([status, isTokenRefused(fault)]).toEqual([status, status === 401]);
    expect([status, chatIsClosed(fault)]).toEqual([status, status === 403]);
    expect([status, isTelegramTooLarge(fault)]).toEqual([status, status === 413]);
    return [method, status, fault.code];
  });
  expect(found).toEqual(rows);
  // A wait that is no number would leave the chat's lane without a time, one of ages the whole account.
  const waits = [undefined, 17, 0.5, "3", 0, -5, "abc", null, [], {}, 1e15];
  expect(waits.map((retry_after) => refused(429, "w", { retry_after }).retryAfterMs)).toEqual([
    1_000, 17_000, 500, 3_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 86_400_000,
  ]);
  expect(faultOf("sendMessage", { ok: false, error_code: 429, description: "w", parameters: null })).toEqual(
    expect.objectContaining({ retryAfterMs: 1_000 }),
  );
  const nowhere = [null, "-1001", {}, 1.5, 1e300].map((migrate_to_chat_id) =>
    refused(400, "w", { migrate_to_chat_id }),
  );
  expect(nowhere.map((fault) => [fault.code, migratedChatId(fault)])).toEqual(
    nowhere.map(() => ["invalid", null]),
  );
  const moved = refused(400, "anything", { migrate_to_chat_id: -1_001 });
  expect([
    moved.code,
    migratedChatId(moved),
    migratedChatId(refused(400)),
    migratedChatId(new Error("x")),
  ]).toEqual(["missing", "-1001", null, null]);
  expect([
    isTelegramTooLarge(refused(400, "Bad Request: file is too big")),
    isTelegramTooLarge(refused(400, "Request Entity Too Large")),
    refusalWords(refused(400, "own words")),
    refusalWords(new Fault("invalid", "ours")),
  ]).toEqual([true, true, "own words", ""]);
  for (const judge of [chatIsClosed, isTokenRefused, isTelegramTooLarge])
    expect(judge(new Fault("denied", "x"))).toBe(false);
});

const bold = { text: "bold words", entities: [{ type: "bold", offset: 0, length: 4 }], plain: "bold words" };
const link = {
  text: "a",
  entities: [{ type: "text_link", offset: 0, length: 1, url: "https://a.test/" }],
  plain: "a",
};

test("a text whose entities are refused goes once more without them, where it then fits", async () => {
  const entities = refused(400, "Bad Request: can't parse entities");
  const attempts = async (of: typeof bold, limit: number, ...errors: readonly (Error | null)[]) => {
    const tried: string[] = [];
    const done = await withoutEntitiesIfRefused(of, limit, async (text, sent) => {
      tried.push(`${text}|${sent.length}`);
      const error = errors[tried.length - 1];
      if (error !== undefined && error !== null) throw error;
      return "sent";
    }).catch((error: Fault) => error.code);
    return [done, ...tried];
  };
  expect([
    await attempts(bold, 100),
    await attempts(bold, 100, entities),
    await attempts(bold, 100, entities, refused(403)),
    await attempts(bold, 100, refused(400, "Bad Request: message is too long")),
    await attempts(bold, 100, refused(500, "entities")),
    await attempts({ ...bold, entities: [] }, 100, entities),
    await attempts(bold, 10, entities),
    await attempts(bold, 9, entities),
  ]).toEqual([
    ["sent", "bold words|1"],
    ["sent", "bold words|1", "bold words|0"],
    ["denied", "bold words|1", "bold words|0"],
    ["invalid", "bold words|1"],
    ["ambiguous", "bold words|1"],
    ["invalid", "bold words|0"],
    ["sent", "bold words|1", "bold words|0"],
    ["invalid", "bold words|1"],
  ]);
  // A label in code: the mark that was opened last is closed first, and the address stands behind both.
  const nested = [
    { type: "text_link", offset: 0, length: 2, url: "https://a.test/" },
    { type: "code", offset: 0, length: 2 },
  ];
  expect(await attempts({ text: "ab", entities: nested, plain: "ab" }, 100, entities)).toEqual([
    "sent",
    "ab|2",
    "`ab` (https://a.test/)|0",
  ]);
  const [, , spelled = ""] = await attempts(link, 100, entities);
  expect(spelled).toContain("https://a.test/");
  const chars = spelled.length - "|0".length;
  expect([needsPieces(entities, link, chars), needsPieces(entities, link, chars - 1)]).toEqual([false, true]);
  expect([
    needsPieces(refused(400, "MESSAGE_TOO_LONG"), link, 100),
    needsPieces(refused(403), link, 1),
  ]).toEqual([true, false]);
  expect(
    [
      "message is too long",
      "caption is too long",
      "MESSAGE_TOO_LONG",
      "CAPTION_TOO_LONG",
      "name is too long",
    ].map((words) => isTooLong(refused(400, `Bad Request: ${words}`))),
  ).toEqual([true, true, true, true, false]);
});

test("a text is halved at its last line or word, else in the middle between characters", () => {
  expect([
    halves("one two three four"),
    halves("one\ntwo three"),
    halves("abcdef"),
    halves("abcde"),
    halves(" abcdef"),
    halves("ab🍵cd"),
    halves("a🍵b"),
    halves("one   "),
  ]).toEqual([
    ["one two", "three four"],
    ["one", "two three"],
    ["abc", "def"],
    ["abc", "de"],
    ["abc", "def"],
    ["ab", "🍵cd"],
    ["a", "🍵b"],
    ["one"],
  ]);
});

test("pieces: what is too long is halved down to 16 signs; a failure after the first is ambiguous", async () => {
  const tooLong = refused(400, "message is too long");
  const run = async (pieces: readonly string[], most: number, before = 0, failAt = Infinity) => {
    const sent: string[] = [];
    const done = await sendInPieces(
      pieces,
      async (text, isLast) => {
        if (text.length > most) throw tooLong;
        if (sent.length === failAt) throw refused(403);
        sent.push(`${text}${isLast ? "." : ""}`);
        return sent.length;
      },
      before,
    ).catch((error: Fault) => `${error.code}: ${error.message}`);
    return [done, sent];
  };
  expect([
    await run(["one", "two"], 100),
    await run(["one two three four five", "last"], 17),
    await run(["a".repeat(17)], 9),
    await run(["a".repeat(17)], 8),
    await run(["a".repeat(16)], 15),
    await run(["one", "two"], 100, 0, 0),
    await run(["one", "two"], 100, 0, 1),
    await run(["one", "two"], 100, 1, 0),
  ]).toEqual([
    [
      [1, 2],
      ["one", "two."],
    ],
    [
      [1, 2, 3],
      ["one two", "three four five", "last."],
    ],
    [
      [1, 2],
      ["aaaaaaaaa", "aaaaaaaa."],
    ],
    ["invalid: Telegram refused sendMessage: 400 message is too long", []],
    ["invalid: Telegram refused sendMessage: 400 message is too long", []],
    ["denied: Telegram refused sendMessage: 403 words", []],
    ["ambiguous: only the beginning was sent: Telegram refused sendMessage: 403 words", ["one"]],
    ["ambiguous: only the beginning was sent: Telegram refused sendMessage: 403 words", []],
  ]);
  const [, long] = await run(["x ".repeat(2_049)], 10_000);
  expect((long as readonly string[]).map(({ length }) => length <= 4_097)).toEqual([true, true]);
  const whole: unknown = await run(["x".repeat(4_096)], 10_000);
  expect(whole).toEqual([[1], [`${"x".repeat(4_096)}.`]]);
  await expect(
    sendInPieces(["a", "b"], async (text) => {
      if (text === "b") throw new TypeError("ours");
    }),
  ).rejects.toSatisfy((error: unknown) => !isFault(error));
});

const me = { id: "7", username: "ParleyBot" };
const command = (length: number, offset = 0) => ({ type: "bot_command", offset, length });
const mention = (offset: number, length: number) => ({ type: "mention", offset, length });

test("who is meant: by exact mentions, replies and commands, and never by words of another", () => {
  const rows: readonly (readonly [
    message: object,
    answer: readonly [mentions: readonly string[], isCommand: boolean, text: string, toUs: boolean],
  ])[] = [
    [{ text: "ParleyBot, hi" }, [[], false, "ParleyBot, hi", false]],
    [{ text: "@parleybot hi", entities: [mention(0, 10)] }, [["7"], false, "@parleybot hi", true]],
    [{ text: "@parleybot2 hi", entities: [mention(0, 11)] }, [[], false, "@parleybot2 hi", false]],
    [{ text: "@parleybot hi" }, [[], false, "@parleybot hi", false]],
    [
      {
        text: "Ann, Bob",
        entities: [
          { type: "text_mention", offset: 0, length: 3, user: { id: 9 } },
          { type: "text_mention", offset: 5, length: 3 },
        ],
      },
      [["9"], false, "Ann, Bob", false],
    ],
    [
      { text: "Bot", entities: [{ type: "text_mention", offset: 0, length: 3, user: { id: 7 } }] },
      [["7"], false, "Bot", true],
    ],
    [{ text: "yes", reply_to_message: { from: { id: 7 } } }, [[], false, "yes", true]],
    [{ text: "yes", reply_to_message: { from: { id: 8 } } }, [[], false, "yes", false]],
    [
      { text: "yes", reply_to_message: { from: { id: 7 }, forum_topic_created: {} } },
      [[], false, "yes", false],
    ],
    [{ text: "/new", entities: [command(4)] }, [[], true, "/new", false]],
    [
      { text: "/new", entities: [command(4)], reply_to_message: { from: { id: 7 } } },
      [[], true, "/new", true],
    ],
    [{ text: "/new@PARLEYBOT now", entities: [command(14)] }, [[], true, "/new now", true]],
    [{ text: "/new@OtherBot now", entities: [command(13)] }, [[], false, "/new@OtherBot now", false]],
    [
      { text: "/new@OtherBot now", entities: [command(13)], reply_to_message: { from: { id: 7 } } },
      [[], false, "/new@OtherBot now", false],
    ],
    [
      { text: "/new@OtherBot @ParleyBot", entities: [command(13), mention(14, 10)] },
      [["7"], false, "/new@OtherBot @ParleyBot", true],
    ],
    [{ text: "hi /new", entities: [command(4, 3)] }, [[], false, "hi /new", false]],
    [{ caption: "/new@parleybot", caption_entities: [command(14)] }, [[], true, "/new", true]],
    [
      { text: "/new @ParleyBot", entities: [command(4), mention(5, 10)], forward_origin: {} },
      [["7"], false, "/new @ParleyBot", false],
    ],
    [{ photo: [] }, [[], false, "", false]],
  ];
  const found = rows.map(([message]) => {
    const { text = "", caption = text } = message as { readonly text?: string; readonly caption?: string };
    const { mentions, isCommand, text: read, toUs } = addressing(message as Message, caption, me);
    return [message, [mentions, isCommand, read, toUs]];
  });
  expect(found).toEqual(rows);
});
