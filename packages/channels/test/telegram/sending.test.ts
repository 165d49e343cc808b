// Every row of the failure model's table for sending, and what each kind of part looks like to the people who
// get it.
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Address, type Fault, type RenderedPart, silentLog } from "@parley/protocol";
import { oggOpusFile, refusalBody, type Trouble } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { migratedChatId } from "@parley/channels";
import { expectFault, text } from "../contract.ts";
import { alice, dm, type Rig, telegramRig } from "./rig.ts";

let rig: Rig;
let mediaFolder: string;
beforeEach(async () => {
  mediaFolder = await mkdtemp(join(tmpdir(), "parley-media-"));
  rig = await telegramRig({ mediaFolder });
  rig.fake.as(alice).says("hello");
});
afterEach(async () => {
  await rig.close();
  await rm(mediaFolder, { recursive: true });
});

const send = (part: RenderedPart, to: Address = dm, signal: AbortSignal = new AbortController().signal) =>
  rig.channel.send(to, part, { idempotencyKey: "k", signal });
const mine = () => rig.fake.visible(alice.id).filter((message) => message.byBot);
const sends = () => rig.fake.calls("sendMessage");
const bold = (words: string): RenderedPart => ({
  kind: "text",
  text: words,
  entities: [{ type: "bold", offset: 0, length: words.length }],
  plain: `plain ${words}`,
});
const group = (peer: number, thread?: number): Address => ({
  channel: "telegram",
  account: "default",
  kind: "group",
  peer: String(peer),
  ...(thread === undefined ? {} : { thread: String(thread) }),
});
const refuses = (code: number, description: string, parameters?: { readonly [name: string]: number }): void =>
  rig.fake.inject({
    method: "sendMessage",
    trouble: { kind: "answer", status: code, body: refusalBody(code, description, parameters) },
  });
const file = async (name: string, mediaType: string, bytes = 5) => {
  await writeFile(join(mediaFolder, name), "x".repeat(bytes));
  return { path: name, mediaType, bytes, name };
};

describe("refusals of the Bot API become decisions", () => {
  test.each<readonly [number, string, Fault["code"]]>([
    [400, "Bad Request: message text is empty", "invalid"],
    [400, "Bad Request: message thread not found", "missing"],
    [400, "Bad Request: TOPIC_DELETED", "missing"],
    [400, "Bad Request: TOPIC_CLOSED", "denied"],
    [400, "Bad Request: chat not found", "missing"],
    [400, "Bad Request: group chat was deactivated", "denied"],
    [403, "Forbidden: the group chat was deleted", "denied"],
    [400, "Bad Request: message to be replied not found", "missing"],
    [403, "Forbidden: bot was blocked by the user", "denied"],
    [403, "Forbidden: user is deactivated", "denied"],
    [403, "Forbidden: bot was kicked from the supergroup chat", "denied"],
    [403, "Forbidden: bot can't initiate conversation with a user", "denied"],
    [400, "Bad Request: not enough rights to send text messages to the chat", "denied"],
    [400, "Bad Request: CHAT_WRITE_FORBIDDEN", "denied"],
    [401, "Unauthorized", "unavailable"],
    [404, "Not Found", "unavailable"],
    [413, "Request Entity Too Large", "invalid"],
    [500, "Internal Server Error", "ambiguous"],
    [503, "Service Unavailable", "ambiguous"],
  ])("%i %s is Fault %s, after one call", async (code, description, expected) => {
    refuses(code, description);
    const fault = await expectFault(expected, send(text("x")));
    expect(fault.message).toContain(description);
    expect(sends()).toHaveLength(1);
    expect(mine()).toEqual([]);
  });

  test("429 says how long to wait and is tried once", async () => {
    refuses(429, "Too Many Requests: retry after 17", { retry_after: 17 });
    expect((await expectFault("rate_limited", send(text("x")))).retryAfterMs).toBe(17_000);
    expect(sends()).toHaveLength(1);
  });

  test("a group that moved is Fault missing with the new id", async () => {
    const old = rig.fake.group({ type: "group" });
    const moved = rig.fake.upgrade(old);
    const fault = await expectFault("missing", send(text("x"), group(old)));
    expect(migratedChatId(fault)).toBe(String(moved));
    expect(migratedChatId(new Error("other"))).toBeNull();
    await send(text("x"), group(moved));
    expect(rig.fake.visible(moved).at(-1)?.text).toBe("x");
  });

  test("the real state of a chat is answered in its words: blocked, closed topic, no rights", async () => {
    rig.fake.as(alice).blocks();
    await expectFault("denied", send(text("x")));
    rig.fake.as(alice).unblocks();
    await send(text("x"));
    const forum = rig.fake.group({ isForum: true });
    const topic = rig.fake.topic(forum, "News");
    await expectFault("missing", send(text("x"), group(forum, 999)));
    rig.fake.chat(forum).topics.set(topic, { name: "News", closed: true, deleted: false });
    await expectFault("denied", send(text("x"), group(forum, topic)));
    rig.fake.chat(forum).muted = true;
    await expectFault("denied", send(text("x"), group(forum)));
  });
});

describe("whether a send may have been done", () => {
  const lost: readonly (readonly [string, Trouble, number])[] = [
    ["the connection is reset after the server acted", { kind: "reset" }, 1],
    ["a proxy answers 502 with HTML", { kind: "answer", status: 502, body: "<html>Bad Gateway</html>" }, 1],
    ["the answer is cut", { kind: "truncate" }, 1],
    ["the answer is empty", { kind: "answer", status: 200, body: "" }, 1],
    ["the answer is longer than any", { kind: "flood", bytes: 5 * 1024 * 1024 }, 1],
  ];
  test.each(lost)("%s: ambiguous, and not repeated", async (_name, trouble, shown) => {
    rig.fake.inject({ method: "sendMessage", when: "after", trouble });
    await expectFault("ambiguous", send(text("x")));
    expect(sends()).toHaveLength(1);
    expect(mine()).toHaveLength(shown);
  });

  test("a reset before the server acted looks the same from here: ambiguous", async () => {
    rig.fake.inject({ method: "sendMessage", trouble: { kind: "reset" } });
    await expectFault("ambiguous", send(text("x")));
    expect(mine()).toEqual([]);
  });

  test("a connection that was kept alive and is reset is ambiguous too", async () => {
    await send(text("one"));
    rig.fake.inject({ method: "sendMessage", when: "after", trouble: { kind: "reset" } });
    await expectFault("ambiguous", send(text("two")));
    expect(sends().map((call) => call.connection)).toEqual([sends()[0]?.connection, sends()[0]?.connection]);
  });

  test.each<readonly [string, Trouble]>([
    ["no answer", { kind: "hang" }],
    ["a body of one byte a second", { kind: "slow", everyMs: 1_000_000 }],
  ])("%s until the deadline: ambiguous", async (_name, trouble) => {
    rig.fake.inject({ method: "sendMessage", when: "after", trouble });
    const sending = expectFault("ambiguous", send(text("x")));
    await expect.poll(() => sends().length).toBe(1);
    await rig.clock.advance(30_000);
    await sending;
  });

  test("an abort after the request went out is ambiguous", async () => {
    rig.fake.inject({ method: "sendMessage", when: "after", trouble: { kind: "hang" } });
    const stop = new AbortController();
    const sending = expectFault("ambiguous", send(text("x"), dm, stop.signal));
    await expect.poll(() => sends().length).toBe(1);
    stop.abort();
    await sending;
  });

  test("a refused connection certainly sent nothing", async () => {
    const closed = await rig.open({ apiRoot: await unusedRoot() });
    await expectFault(
      "unavailable",
      closed.send(dm, text("x"), { idempotencyKey: "k", signal: new AbortController().signal }),
    );
  });

  test("a name that does not resolve certainly sent nothing", async () => {
    const nowhere = await rig.open({ apiRoot: "http://telegram.invalid" });
    await expectFault(
      "unavailable",
      nowhere.send(dm, text("x"), { idempotencyKey: "k", signal: new AbortController().signal }),
    );
  });

  test("a failed TLS handshake certainly sent nothing", async () => {
    const plain = createServer((socket) => socket.end("this is not TLS"));
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const channel = await rig.open({ apiRoot: `https://127.0.0.1:${(plain.address() as AddressInfo).port}` });
    await expectFault(
      "unavailable",
      channel.send(dm, text("x"), { idempotencyKey: "k", signal: new AbortController().signal }),
    );
    plain.close();
  });

  test("a handshake that never ends certainly sent nothing, and is given up", async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => void sockets.push(socket));
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const channel = await rig.open({ apiRoot: `https://127.0.0.1:${(mute.address() as AddressInfo).port}` });
    const sending = expectFault(
      "unavailable",
      channel.send(dm, text("x"), { idempotencyKey: "k", signal: new AbortController().signal }),
    );
    await expect.poll(() => sockets.length).toBe(1);
    await rig.clock.advance(10_000);
    await sending;
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  test("no failure tells the token", async () => {
    const { inspect } = await import("node:util");
    const nowhere = await rig.open({ apiRoot: await unusedRoot() });
    rig.fake.inject({ method: "sendMessage", trouble: { kind: "reset" } });
    refuses(400, "Bad Request: whatever");
    const signal = new AbortController().signal;
    const attempts = [
      send(text("a")),
      send(text("b")),
      nowhere.send(dm, text("c"), { idempotencyKey: "k", signal }),
      nowhere.start(async () => {}).then(() => Promise.reject(nowhere.health())),
    ];
    const told = (await Promise.allSettled(attempts))
      .map((result) => inspect(result, { depth: 20 }))
      .join("\n");
    expect(told).toContain("ECONNREFUSED");
    expect(told).not.toContain("fake-telegram-token");
  });

  async function unusedRoot(): Promise<string> {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    return `http://127.0.0.1:${port}`;
  }
});

describe("text", () => {
  test("goes out with its entities, without link previews", async () => {
    await send(bold("see https://example.org"));
    expect(mine()[0]).toMatchObject({ text: "see https://example.org", entities: [{ type: "bold" }] });
    expect(sends()[0]?.params).toMatchObject({ link_preview_options: { is_disabled: true } });
    expect(sends()[0]?.params).not.toHaveProperty("parse_mode");
    expect(rig.fake.violations()).toEqual([]);
  });

  test.each([
    "Bad Request: can't parse entities: unsupported start tag",
    "Bad Request: entity beginning at UTF-16 offset 0 ends after the end of the text",
    "Bad Request: ENTITY_TEXTURL_INVALID",
  ])("%s: the same chunk goes out once as plain text", async (description) => {
    refuses(400, description);
    await send(bold("words"));
    expect(mine().map((message) => message.text)).toEqual(["words"]);
    expect(sends()).toHaveLength(2);
  });

  test("entities that are refused twice are not tried a third time", async () => {
    refuses(400, "Bad Request: can't parse entities: x");
    refuses(400, "Bad Request: can't parse entities: x");
    await expectFault("invalid", send(bold("words")));
    expect(sends()).toHaveLength(2);
  });

  test("what Telegram calls too long goes in plain pieces, the keyboard under the last", async () => {
    const words = "one two three four";
    const part: RenderedPart = {
      kind: "text",
      text: words,
      entities: [],
      plain: words,
      buttons: [[{ label: "go", value: "go" }]],
    };
    refuses(400, "Bad Request: message is too long");
    const receipt = await send(part);
    expect(
      mine()
        .map((message) => message.text)
        .join(" "),
    ).toBe(words);
    expect(mine().map((message) => message.buttons.length)).toEqual([0, 1]);
    expect(receipt.extra?.["messageIds"]).toEqual(mine().map((message) => String(message.id)));
    for (let n = 0; n < 9; n += 1) refuses(400, "Bad Request: MESSAGE_TOO_LONG");
    await expectFault("invalid", send(part));
    expect(mine()).toHaveLength(2);
  });

  test("a plain form beyond the limit goes out in pieces, so that no address of a link is lost", async () => {
    refuses(400, "Bad Request: can't parse entities: x");
    const entities = Array.from({ length: 90 }, (_, n) => ({
      type: "text_link",
      offset: n * 5,
      length: 4,
      url: `https://example.org/${"x".repeat(40)}/${n}`,
    }));
    const words = "link ".repeat(90).trim();
    await send({ kind: "text", text: words, entities, plain: words });
    const said = mine()
      .map((message) => message.text)
      .join(" ");
    expect(mine().length).toBeGreaterThan(1);
    for (const { url } of entities) expect(said).toContain(url);
  });

  test("refused entities leave addresses and the edges of code written out", async () => {
    refuses(400, "Bad Request: can't parse entities: x");
    const words = "see here: let a; or b";
    const entities = [
      { type: "bold", offset: 0, length: 21 },
      { type: "text_link", offset: 4, length: 4, url: "https://example.org" },
      { type: "pre", offset: 10, length: 6, language: "js" },
      { type: "code", offset: 20, length: 1 },
    ];
    await send({ kind: "text", text: words, entities, plain: words });
    expect(mine()[0]?.text).toBe("see here (https://example.org): ```js\nlet a;\n``` or `b`");
  });

  test("is halved as often as it takes", async () => {
    const words = Array.from({ length: 64 }, (_, n) => `word${n}`).join(" ");
    for (let n = 0; n < 3; n += 1) refuses(400, "Bad Request: message is too long");
    await send({ kind: "text", text: words, entities: [], plain: words });
    expect(mine().length).toBeGreaterThan(2);
    expect(
      mine()
        .map((message) => message.text)
        .join(" "),
    ).toBe(words);
  });

  test.each([
    "message to be replied not found",
    "REPLY_MESSAGE_ID_INVALID",
    "QUOTE_TEXT_INVALID",
    "replied message not found",
  ])("a quote that is refused (%s) costs the quote and not the answer", async (description) => {
    refuses(400, `Bad Request: ${description}`);
    await send({ ...text("answer"), replyTo: "7" } as RenderedPart);
    expect(mine().map((message) => message.text)).toEqual(["answer"]);
    expect(sends()[1]?.params).not.toHaveProperty("reply_parameters");
  });

  test("an edit that changes nothing is not sent, also the first after the message", async () => {
    const words = { text: "grows", entities: [], plain: "grows" };
    const { messageId } = await send({ kind: "text", ...words });
    const edit = (to: string) =>
      rig.channel.act?.(
        dm,
        { kind: "edit", messageId, text: { text: to, entities: [], plain: to } },
        { idempotencyKey: "e", signal: new AbortController().signal },
      );
    for (const to of ["grows", "grows on", "grows on", "grows on"]) await edit(to);
    expect(rig.fake.calls("editMessageText")).toHaveLength(1);
    expect(mine()[0]?.text).toBe("grows on");
  });

  test("a reply quotes its message, and goes out alone when that is gone", async () => {
    const { message_id: question } = rig.fake.as(alice).says("question");
    await send({ ...text("answer"), replyTo: String(question) } as RenderedPart);
    await send({ ...text("too late"), replyTo: "9999" } as RenderedPart);
    await send({ ...text("to a button"), replyTo: "callback-77" } as RenderedPart);
    expect(mine().map((message) => message.replyTo)).toEqual([question, undefined, undefined]);
  });

  test("a result that names another chat is told in the log", async () => {
    const warned: unknown[] = [];
    const channel = await rig.open({
      log: { ...silentLog, warn: (fields: object, words: string) => void warned.push([fields, words]) },
    });
    const body = {
      ok: true,
      result: { message_id: 9, date: 1, chat: { id: 777, type: "private" }, text: "x" },
    };
    rig.fake.inject({ method: "sendMessage", trouble: { kind: "answer", status: 200, body } });
    await channel.send(dm, text("x"), { idempotencyKey: "k", signal: new AbortController().signal });
    expect(warned).toEqual([
      [{ chat: dm.peer, answered: "777" }, "Telegram names another chat than the one sent to"],
    ]);
  });

  test("a topic gets its thread id, General gets none", async () => {
    const forum = rig.fake.group({ isForum: true });
    const topic = rig.fake.topic(forum, "News");
    await send(text("in the topic"), group(forum, topic));
    await send(text("in General"), group(forum, 1));
    expect(sends().map((call) => call.params["message_thread_id"])).toEqual([topic, undefined]);
    expect(rig.fake.visible(forum, topic).map((message) => message.text)).toEqual(["in the topic"]);
  });

  test("an address that is no Telegram chat is Fault invalid", async () => {
    await expectFault("invalid", send(text("x"), { ...dm, peer: "@alice" }));
    await expectFault("invalid", send(text("x"), { ...dm, peer: "1e3" }));
    await expectFault("invalid", send(text("x"), { ...dm, thread: "seven" }));
    expect(sends()).toEqual([]);
  });

  test("buttons carry their value, and one that is too long is Fault invalid", async () => {
    const rows = [
      [
        { label: "Yes", value: "approve:7", style: "success" as const },
        { label: "Docs", url: "https://example.org" },
      ],
    ];
    await send({ ...text("Sure?"), buttons: rows } as RenderedPart);
    expect(mine()[0]?.buttons).toEqual([["Yes", "Docs"]]);
    expect(sends()[0]?.params["reply_markup"]).toMatchObject({
      inline_keyboard: [[{ callback_data: "approve:7", style: "success" }, {}]],
    });
    await send({ ...text("64"), buttons: [[{ label: "x", value: "v".repeat(64) }]] } as RenderedPart);
    await expectFault(
      "invalid",
      send({ ...text("65"), buttons: [[{ label: "x", value: `${"é".repeat(32)}x` }]] } as RenderedPart),
    );
    expect(rig.fake.violations()).toEqual([]);
  });
});

describe("files", () => {
  const caption = { text: "look", entities: [{ type: "italic", offset: 0, length: 4 }], plain: "look" };

  test.each([
    ["image", "a.png", "image/png", "sendPhoto", "photo"],
    ["image", "a.svg", "image/svg+xml", "sendDocument", "document"],
    ["video", "a.mp4", "video/mp4", "sendVideo", "video"],
    ["audio", "a.mp3", "audio/mpeg", "sendAudio", "audio"],
    ["file", "a.pdf", "application/pdf", "sendDocument", "document"],
  ] as const)(
    "%s %s goes out by %s's method with its caption and name",
    async (media, name, mediaType, method, kind) => {
      const receipt = await send({ kind: "media", media, files: [await file(name, mediaType)], caption });
      expect(mine()[0]).toMatchObject({
        id: Number(receipt.messageId),
        kind,
        text: "look",
        entities: [{ type: "italic" }],
      });
      expect(Object.values(rig.fake.calls(method)[0]?.files ?? {})).toEqual([name]);
      expect(rig.fake.violations()).toEqual([]);
    },
  );

  test("an image over ten megabytes goes as a document", async () => {
    await send({ kind: "media", media: "image", files: [await file("big.png", "image/png", 10_000_001)] });
    expect(mine()[0]?.kind).toBe("document");
  });

  test("several files are one album with the caption on the first, and the receipt names all", async () => {
    const files = await Promise.all(["a.png", "b.png", "c.png"].map((name) => file(name, "image/png")));
    const receipt = await send({ kind: "media", media: "image", files, caption });
    expect(mine().map((message) => [message.kind, message.text])).toEqual([
      ["photo", "look"],
      ["photo", ""],
      ["photo", ""],
    ]);
    expect(receipt.extra?.["messageIds"]).toEqual(mine().map((message) => String(message.id)));
  });

  test("an album whose caption's entities are refused goes out once more with fresh uploads", async () => {
    const files = await Promise.all(["a.png", "b.png"].map((name) => file(name, "image/png")));
    const body = refusalBody(400, "Bad Request: can't parse entities: x");
    rig.fake.inject({ method: "sendMediaGroup", trouble: { kind: "answer", status: 400, body } });
    await send({ kind: "media", media: "image", files, caption });
    expect(mine()).toHaveLength(2);
    expect(mine()[0]?.entities).toBeUndefined();
  });

  test("a recording is a voice note with its length where Telegram takes it as one, else audio", async () => {
    const spoken = await file("v.ogg", "audio/ogg");
    await writeFile(join(mediaFolder, spoken.path), oggOpusFile(Array.from({ length: 100 }, () => 40)));
    await send({ kind: "voice", file: spoken });
    const mp3 = await file("v.mp3", "audio/mpeg");
    await writeFile(join(mediaFolder, mp3.path), "ID3 and so on");
    await send({ kind: "voice", file: mp3 });
    await send({ kind: "voice", file: await file("v.wav", "audio/wav") });
    const short = await file("s.ogg", "audio/ogg");
    await writeFile(join(mediaFolder, short.path), oggOpusFile([40, 40]));
    await send({ kind: "voice", file: short });
    expect(mine().map((message) => message.kind)).toEqual(["voice", "voice", "audio", "voice"]);
    expect(rig.fake.calls("sendVoice").map(({ params }) => params["duration"])).toEqual([2, undefined, 1]);
    expect(rig.fake.violations()).toEqual([]);
  });

  test("a video note and a sticker go as such; what Telegram refuses for it goes as the file that it is", async () => {
    const film = await file("a.mp4", "video/mp4");
    await writeFile(join(mediaFolder, film.path), Buffer.from("0000ftypisom"));
    const drawn = await file("a.webp", "image/webp");
    await writeFile(join(mediaFolder, drawn.path), Buffer.from("RIFF0000WEBPVP8 "));
    const shaped = { kind: "media", files: [film], media: "video", shape: "video_note" } as const;
    await send(shaped);
    await send({ ...shaped, files: [drawn], media: "image", shape: "sticker" });
    await send({ ...shaped, files: [await file("b.png", "image/png")], media: "image", shape: "sticker" });
    expect(mine().map((message) => message.kind)).toEqual(["video_note", "sticker", "photo"]);
    const again = { kind: "answer", status: 429, body: refusalBody(429, "Too Many Requests: retry after 1") };
    rig.fake.inject({ method: "sendVideoNote", trouble: again as never });
    await expect(send(shaped)).rejects.toMatchObject({ code: "rate_limited" });
    expect(mine()).toHaveLength(3);
    expect(rig.fake.violations()).toEqual([]);
  });

  test("a picture that Telegram does not take as one goes as a file, and a voice note that may not be one as audio", async () => {
    const refuse = (method: string, description: string): void =>
      rig.fake.inject({
        method,
        trouble: { kind: "answer", status: 400, body: refusalBody(400, `Bad Request: ${description}`) },
      });
    const wide = await file("wide.png", "image/png");
    refuse("sendPhoto", "PHOTO_INVALID_DIMENSIONS");
    await send({ kind: "media", media: "image", files: [wide], caption });
    refuse("sendMediaGroup", 'failed to send message #1 with the error message "IMAGE_PROCESS_FAILED"');
    await send({ kind: "media", media: "image", files: [wide, await file("b.png", "image/png")] });
    const note = await file("n.mp3", "audio/mpeg");
    refuse("sendVoice", "VOICE_MESSAGES_FORBIDDEN");
    await send({ kind: "voice", file: note });
    expect(mine().map((message) => [message.kind, message.text])).toEqual([
      ["document", "look"],
      ["document", ""],
      ["document", ""],
      ["audio", ""],
    ]);
    // No right to send pictures is none to send files.
    refuse("sendPhoto", "not enough rights to send photos to the chat");
    await expectFault("denied", send({ kind: "media", media: "image", files: [wide] }));
    expect(rig.fake.violations()).toEqual([]);
  });

  const poll = { kind: "poll", question: "Lunch?", multiple: true, anonymous: false } as const;
  const options = (count: number, chars = 5): string[] =>
    Array.from({ length: count }, (_, n) => String(n).padEnd(chars, "x"));

  test("what is silent rings nobody, and a poll closes when it is told to", async () => {
    const sent = await send({ ...poll, options: ["a"], hours: 730, silent: true });
    expect(sent).toMatchObject({ extra: { poll: "poll" } });
    const album = [await file("a.png", "image/png"), await file("b.png", "image/png")];
    await send({ kind: "media", media: "image", files: album, silent: true });
    expect(rig.fake.calls("sendPoll")[0]?.params).toMatchObject({
      open_period: 2_628_000,
      disable_notification: true,
    });
    expect(rig.fake.calls("sendMediaGroup")[0]?.params).toMatchObject({ disable_notification: true });
    expect(rig.fake.violations()).toEqual([]);
  });

  test("polls at every limit are sent, beyond one they are refused without a call", async () => {
    await send({ ...poll, options: ["Soup", "Salad"] });
    await send({ ...poll, options: options(12, 100), question: "?".repeat(300), anonymous: true });
    await send({ ...poll, options: ["Yes"] });
    expect(mine().map((message) => message.kind)).toEqual(["poll", "poll", "poll"]);
    expect(rig.fake.calls("sendPoll")[0]?.params).toMatchObject({
      is_anonymous: false,
      allows_multiple_answers: true,
    });
    for (const wrong of [
      { options: ["a"], hours: 731 },
      { options: [] },
      { options: options(13) },
      { options: options(2, 101) },
      { options: ["a", ""] },
      { options: options(2), question: "?".repeat(301) },
    ])
      await expectFault("invalid", send({ ...poll, ...wrong }));
    expect(rig.fake.calls("sendPoll")).toHaveLength(3);
    expect(rig.fake.violations()).toEqual([]);
  });

  test("pictures that are taken as photos go as such, and with one that is none the whole album as files", async () => {
    for (const [name, mediaType, bytes] of [
      ["a.jpg", "image/jpeg", 5],
      ["a.webp", "image/webp", 5],
      ["ten.png", "image/png", 10_000_000],
    ] as const)
      await send({ kind: "media", media: "image", files: [await file(name, mediaType, bytes)] });
    expect(mine().map((message) => message.kind)).toEqual(["photo", "photo", "photo"]);
    const mixed = [await file("a.png", "image/png"), await file("a.svg", "image/svg+xml")];
    await send({ kind: "media", media: "image", files: mixed });
    expect(
      mine()
        .slice(3)
        .map((message) => message.kind),
    ).toEqual(["document", "document"]);
    const spoken = await file("v.m4a", "audio/m4a");
    await writeFile(join(mediaFolder, spoken.path), Buffer.from("0000ftypM4A "));
    await send({ kind: "voice", file: spoken });
    expect(rig.fake.calls("sendVoice")).toHaveLength(1);
  });

  test("a caption that Telegram counts longer follows in pieces below its file, as quietly; a failure there is ambiguous", async () => {
    const files = [await file("a.png", "image/png")];
    const words = { text: "one two three", entities: [], plain: "one two three" };
    const body = refusalBody(400, "Bad Request: caption is too long");
    const tooLong = (): void =>
      rig.fake.inject({ method: "sendPhoto", trouble: { kind: "answer", status: 400, body } });
    tooLong();
    const receipt = await send({ kind: "media", media: "image", files, caption: words, silent: true });
    expect(mine().map((message) => message.text)).toEqual(["", "one two three"]);
    expect(receipt.extra?.["messageIds"]).toEqual(mine().map((message) => String(message.id)));
    expect(sends().map(({ params }) => params["disable_notification"])).toEqual([true]);
    tooLong();
    refuses(400, "Bad Request: message text is empty");
    const fault = await expectFault(
      "ambiguous",
      send({ kind: "media", media: "image", files, caption: words }),
    );
    expect(fault.message).toContain("only the beginning was sent");
  });

  test("a quote that was refused with an unknown outcome is not said again without it", async () => {
    refuses(500, "Internal Server Error: reply");
    await expectFault("ambiguous", send({ ...text("answer"), replyTo: "7" } as RenderedPart));
    expect(sends()).toHaveLength(1);
  });

  test("an edit of its buttons alone is sent, and one that changes neither words nor buttons is not", async () => {
    const words = { text: "which?", entities: [], plain: "which?" };
    const buttons = (label: string) => [[{ label, value: "v" }]];
    const { messageId } = await send({ kind: "text", ...words, buttons: buttons("a") });
    const edit = (label: string) =>
      rig.channel.act?.(
        dm,
        { kind: "edit", messageId, text: words, buttons: buttons(label) },
        { idempotencyKey: "e", signal: new AbortController().signal },
      );
    await edit("a");
    expect(rig.fake.calls("editMessageText")).toHaveLength(0);
    await edit("b");
    expect(mine()[0]?.buttons).toEqual([["b"]]);
  });

  test("what cannot go is refused before a byte is written", async () => {
    const [first] = [await file("a.png", "image/png")];
    await expectFault(
      "missing",
      send({ kind: "media", media: "file", files: [first, { ...first, path: "gone.bin" }] }),
    );
    await expectFault(
      "missing",
      send({ kind: "media", media: "file", files: [{ ...first, path: "gone.bin" }] }),
    );
    await expectFault(
      "invalid",
      send({ kind: "media", media: "image", files: Array.from({ length: 11 }, () => first) }),
    );
    await expectFault(
      "invalid",
      send({
        kind: "media",
        media: "image",
        files: [first],
        caption: { text: "x".repeat(1025), entities: [], plain: "" },
      }),
    );
    const huge = await file("huge.bin", "application/octet-stream");
    await truncate(join(mediaFolder, "huge.bin"), 50_000_001);
    await expectFault("invalid", send({ kind: "media", media: "file", files: [huge] }));
    expect(rig.fake.calls()).toEqual([]);
  });

  test("an upload whose answer is lost is ambiguous", async () => {
    rig.fake.inject({ method: "sendPhoto", when: "after", trouble: { kind: "reset" } });
    await expectFault(
      "ambiguous",
      send({ kind: "media", media: "image", files: [await file("a.png", "image/png")] }),
    );
    expect(rig.fake.calls("sendPhoto")).toHaveLength(1);
  });
});
