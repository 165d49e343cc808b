// A Telegram account from its start to its end, as Telegram's servers and the log see it: what it asks for,
// what it shows of a refused token, and how long it waits for each kind of call.
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Address, Fault, type Log, type RenderedPart, silentLog } from "@parley/protocol";
import { seededIds, virtualClock, type VirtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { telegram, type TelegramChannel, type TelegramOptions } from "@parley/channels";
import { type AskedServer, askedServer } from "../asked-server.ts";

const dm: Address = { channel: "telegram", account: "tea", kind: "dm", peer: "42" };
const hi: RenderedPart = { kind: "text", text: "hi", entities: [], plain: "hi" };
const token = "7:secret";
const me = { ok: true, result: { id: 7, username: "parley_bot" } };

let server: AskedServer;
let folder: string;
let clock: VirtualClock;
let lines: unknown[];
let channels: TelegramChannel[];
/** What stands for the answers of one method. */
let usual: { [method: string]: unknown };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-telegram-"));
  clock = virtualClock({ startMs: 9_000 });
  lines = [];
  channels = [];
  usual = { getMe: me, getUpdates: { ok: true, result: [] }, setWebhook: { ok: true, result: true } };
  server = await askedServer(
    (path) =>
      usual[path.split("/").at(-1) ?? ""] ?? { ok: true, result: { message_id: 1, chat: { id: 42 } } },
  );
});
afterEach(async () => {
  await Promise.all(channels.map((channel) => channel.stop()));
  await server.close();
  await rm(folder, { recursive: true });
});

async function opened(more: Partial<TelegramOptions> = {}): Promise<TelegramChannel> {
  const keep =
    (level: string) =>
    (fields: object, words: string): void =>
      void lines.push([level, fields, words]);
  const log = { ...silentLog, info: keep("info"), warn: keep("warn"), error: keep("error") } as Log;
  const channel = await telegram({
    account: "tea",
    token,
    apiRoot: server.url,
    mediaFolder: folder,
    clock,
    ids: seededIds(1),
    log,
    ...more,
  });
  channels.push(channel);
  return channel;
}
const asked = (): string[] => server.asked.map((request) => request.replaceAll(`/bot${token}/`, ""));
const how = (signal = new AbortController().signal) => ({ idempotencyKey: "k", signal });
const wanted =
  '["message","edited_message","channel_post","edited_channel_post","callback_query","message_reaction","poll_answer"]';
const faultWords = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "it succeeded",
    (error: unknown) => (error instanceof Fault ? `${error.code}: ${error.message}` : String(error)),
  );
const refused = (error_code: number, description: string) => ({
  status: error_code,
  body: { ok: false, error_code, description },
});

test("polling asks who it is, then for what is there, and from then on holds its polls", async () => {
  const channel = await opened();
  expect([channel.name, channel.account, channel.webhook, channel.health()]).toEqual([
    "telegram",
    "tea",
    undefined,
    { state: "starting" },
  ]);
  const update = {
    update_id: 8,
    message: { message_id: 1, date: 1, chat: { id: 42, type: "private" }, text: "x" },
  };
  server.next.push(
    { status: 200, body: me },
    { status: 200, body: { ok: true, result: [{ ...update, update_id: 12 }, update] } },
  );
  const heard: string[] = [];
  await channel.start(async (events) => void heard.push(...events.map(({ id }) => id)));
  await expect.poll(() => server.asked.length).toBe(3);
  await expect.poll(() => clock.armed()).toBe(1);
  await clock.advance(1_000);
  await expect.poll(() => server.asked.length).toBe(4);
  expect(asked()).toEqual([
    "POST getMe application/json {}",
    `POST getUpdates application/json {"limit":100,"timeout":0,"allowed_updates":${wanted}}`,
    `POST getUpdates application/json {"offset":9,"limit":100,"timeout":30,"allowed_updates":${wanted}}`,
    `POST getUpdates application/json {"limit":100,"timeout":30,"allowed_updates":${wanted}}`,
  ]);
  expect(heard).toEqual(["telegram:tea:u12", "telegram:tea:u8"]);
  await expect.poll(() => channel.health()).toEqual({ state: "ok", lastInboundAtMs: 10_000 });
  await channel.stop();
  expect(lines).toEqual([
    ["info", { state: "ok" }, "channel changed state"],
    ["info", { state: "stopped" }, "channel changed state"],
  ]);
  await channel.stop();
  expect(lines).toHaveLength(2);
});

test("a webhook is set whole, and asked for again until it is", async () => {
  const webhook = { url: "https://tea.test/telegram/tea", secret: "s-1" };
  const channel = await opened({ webhook });
  server.next.push({ status: 200, body: me }, refused(500, "later"));
  await channel.start(async () => {});
  await expect.poll(() => channel.health().state).toBe("degraded");
  await clock.advance(1_000);
  await expect.poll(() => channel.health()).toEqual({ state: "ok" });
  const set =
    'POST setWebhook application/json {"url":"https://tea.test/telegram/tea","secret_token":"s-1",' +
    `"allowed_updates":${wanted},"max_connections":1,"drop_pending_updates":false}`;
  expect(asked()).toEqual(["POST getMe application/json {}", set, set]);
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"update_id":3,"my_chat');
    yield Buffer.from('_member":{}}');
  };
  const headers = { "x-telegram-bot-api-secret-token": "s-1" };
  expect(await channel.webhook?.(headers, body())).toEqual({ status: 200 });
  expect(channel.health()).toEqual({ state: "ok", lastInboundAtMs: 10_000 });
});

test("a token that is refused from the start denies it, and is tried again in ten minutes; an account is started once", async () => {
  const again = 'invalid: Telegram account "tea" was started before: make a new channel';
  for (const webhook of [undefined, { url: "https://tea.test/telegram/tea", secret: "s-1" }]) {
    server.asked.length = 0;
    const channel = await opened(webhook === undefined ? {} : { webhook });
    server.next.push(refused(404, "Not Found"));
    const reason = "Telegram refused getMe: 404 Not Found";
    expect(await faultWords(channel.start(async () => {}))).toBe(`denied: ${reason}`);
    expect(channel.health()).toEqual({ state: "down", reason });
    expect(await faultWords(channel.start(async () => {}))).toBe(again);
    await clock.advance(599_999);
    expect(server.asked).toHaveLength(1);
    await clock.advance(1);
    await expect.poll(() => channel.health().state).toBe("ok");
    await channel.stop();
  }
  const fine = await opened();
  await fine.start(async () => {});
  expect(await faultWords(fine.start(async () => {}))).toBe(again);
  await fine.stop();
  expect(await faultWords(fine.start(async () => {}))).toBe(again);
  const stopped = await opened();
  await stopped.stop();
  expect(await faultWords(stopped.start(async () => {}))).toBe(again);
});

test("a network that is down at the start is no end: the account waits for it", async () => {
  const channel = await opened();
  server.next.push(refused(502, "Bad Gateway"));
  await channel.start(async () => {});
  expect(channel.health()).toEqual({
    state: "degraded",
    reason: "Telegram refused getMe: 502 Bad Gateway",
  });
  await expect.poll(() => channel.health().state).toBe("ok");
});

test("an answer that says nothing of the bot, its file or its topic is none, and no name of one", async () => {
  const channel = await opened();
  const act = (): Promise<unknown> =>
    channel.act?.(dm, { kind: "createThread", title: "Tea" }, how()) ?? Promise.resolve();
  const unnamed = "ambiguous: Telegram opened the topic without naming it";
  for (const result of [null, {}, { message_thread_id: "7" }]) {
    server.next.push({ status: 200, body: { ok: true, result } });
    expect(await faultWords(act())).toBe(unnamed);
  }
  for (const result of [null, {}, { file_path: 7 }]) {
    server.next.push(
      { status: 200, body: { ok: true, result } },
      { status: 200, body: { ok: true, result } },
    );
    expect(await faultWords(channel.download?.("ref", 1, how().signal) ?? Promise.resolve())).toBe(
      "missing: Telegram no longer has the file",
    );
  }
  server.next.push({ status: 200, body: { ok: true, result: null } });
  await channel.start(async () => {});
  expect(channel.health()).toEqual({
    state: "degraded",
    reason: "Telegram answered getMe without an id",
  });
  await expect.poll(() => channel.health().state).toBe("ok");
});

test("a send with a refused token takes the account down; ten minutes later Telegram is asked about it", async () => {
  const channel = await opened({ webhook: { url: "https://tea.test/telegram/tea", secret: "s-1" } });
  await channel.start(async () => {});
  await expect.poll(() => channel.health().state).toBe("ok");
  lines.length = 0;
  server.next.push(refused(401, "Unauthorized"));
  const reason = "Telegram refused sendMessage: 401 Unauthorized";
  expect(await faultWords(channel.send(dm, hi, how()))).toBe(`unavailable: ${reason}`);
  expect(channel.health()).toEqual({ state: "down", reason });
  expect(clock.armed()).toBe(1);
  server.asked.length = 0;
  await clock.advance(599_999);
  expect(asked()).toEqual([]);
  await clock.advance(1);
  await expect.poll(() => channel.health()).toEqual({ state: "ok" });
  expect(asked()).toEqual(["POST getMe application/json {}"]);
  expect(lines).toEqual([
    ["error", { reason }, "the token is refused: answers wait until it is right again"],
    ["info", {}, "the token is taken again"],
  ]);
});

test("each kind of call is given up at its own time, and no earlier", async () => {
  await writeFile(join(folder, "a.pdf"), "x");
  const channel = await opened();
  const file = { path: "a.pdf", mediaType: "application/pdf", bytes: 1, name: "a.pdf" };
  const never = { status: 0, body: "" };
  const givenUp = async (atMs: number, work: () => Promise<unknown>): Promise<string> => {
    const before = server.asked.length;
    server.next.push(never);
    let isOver = false;
    const words = faultWords(work()).finally(() => (isOver = true));
    await expect.poll(() => server.asked.length).toBe(before + 1);
    await clock.advance(atMs - 1);
    expect(isOver).toBe(false);
    await clock.advance(1);
    return words;
  };
  const over = (ms: number): string => `no whole answer from Telegram within ${ms} ms`;
  expect(await givenUp(30_000, () => channel.send(dm, hi, how()))).toBe(`ambiguous: ${over(30_000)}`);
  expect(
    await givenUp(120_000, () => channel.send(dm, { kind: "media", media: "file", files: [file] }, how())),
  ).toBe(`ambiguous: ${over(120_000)}`);
  const typing = givenUp(5_000, () => channel.typing?.(dm) ?? Promise.resolve());
  expect(await typing).toBe("ambiguous: the call was aborted");
  server.next.push({ status: 200, body: me });
  await channel.start(async () => {});
  await expect.poll(() => channel.health().state).toBe("ok");
  await expect.poll(() => clock.armed()).toBe(1);
  server.next.push(never);
  await clock.advance(1_000);
  await expect.poll(() => asked().at(-1)).toContain('"timeout":30');
  const polls = server.asked.length;
  await clock.advance(39_999);
  expect([channel.health().state, server.asked.length]).toEqual(["ok", polls]);
  await clock.advance(1);
  await expect.poll(() => channel.health()).toMatchObject({ state: "degraded", reason: over(40_000) });
});

test("a token, a secret and an address that cannot work are refused before anything is asked", async () => {
  const tried = (more: Partial<TelegramOptions>): Promise<string> => faultWords(opened(more));
  const webhook = (secret: string, url = "https://tea.test/x") => ({ webhook: { url, secret } });
  const form = 'invalid: the token of Telegram account "tea" is not of the form <number>:<secret>';
  const signs = 'invalid: the token of Telegram account "tea" has characters that no token has';
  const secret = "invalid: the webhook secret must be 1 to 256 of A-Z a-z 0-9 _ -: set webhook.secret";
  const root = "https://api.telegram.org";
  expect([
    await tried({ token: "7:secret", apiRoot: root }),
    await tried({ token: "seven:secret", apiRoot: root }),
    await tried({ token: " 7:secret", apiRoot: root }),
    await tried({ token: "7:", apiRoot: root }),
    await tried({ token: "7:a?b", apiRoot: root }),
    await tried({ token: "seven" }),
    await tried({ token: "" }),
    await tried({ token: "a b" }),
    await tried({ token: "a#b" }),
    await tried({ token: "a/b" }),
    await tried(webhook("aZ0_-")),
    await tried(webhook("s".repeat(256))),
    await tried(webhook("s".repeat(257))),
    await tried(webhook("")),
    await tried(webhook("ü")),
    await tried(webhook("s s")),
    await tried(webhook("s", "tea.test/x")),
  ]).toEqual([
    "it succeeded",
    form,
    form,
    form,
    signs,
    "it succeeded",
    signs,
    signs,
    signs,
    signs,
    "it succeeded",
    "it succeeded",
    secret,
    secret,
    secret,
    secret,
    'invalid: webhook.url "tea.test/x" is not an address: write https://<host>/<path>',
  ]);
  expect(server.asked).toEqual([]);
});

test("ids that are none are refused before anything is asked, whatever they name", async () => {
  const channel = await opened();
  const sent = (more: object): Promise<string> => faultWords(channel.send({ ...dm, ...more }, hi, how()));
  const none = (id: string, what: string): string =>
    `invalid: "${id}" is not a Telegram ${what} id: it must be a whole number`;
  const edit = {
    kind: "edit",
    messageId: "callback-1",
    text: { text: "x", entities: [], plain: "x" },
  } as const;
  expect([
    await sent({ peer: "9007199254740991" }),
    await sent({ peer: "-9007199254740991" }),
    await sent({ peer: "9007199254740992" }),
    await sent({ peer: "" }),
    await sent({ peer: "+42" }),
    await sent({ peer: " 42" }),
    await sent({ peer: "4.2" }),
    await sent({ thread: "t" }),
    await faultWords(channel.act?.(dm, edit, how()) ?? Promise.resolve()),
    await faultWords(channel.typing?.({ ...dm, thread: "t" }) ?? Promise.resolve()),
    await faultWords(
      channel.act?.({ ...dm, peer: "p" }, { kind: "remove", messageId: "1" }, how()) ?? Promise.resolve(),
    ),
  ]).toEqual([
    "it succeeded",
    "it succeeded",
    none("9007199254740992", "chat"),
    none("", "chat"),
    none("+42", "chat"),
    none(" 42", "chat"),
    none("4.2", "chat"),
    none("t", "thread"),
    none("callback-1", "message"),
    none("t", "thread"),
    none("p", "chat"),
  ]);
  expect(server.asked).toHaveLength(2);
});

test("what is over a limit of Telegram's is refused before anything is asked, what is at it is sent", async () => {
  const channel = await opened();
  await writeFile(join(folder, "a.png"), "x");
  const sent = (part: object): Promise<string> => faultWords(channel.send(dm, part as RenderedPart, how()));
  const said = (chars: number) => ({ text: "x".repeat(chars), entities: [], plain: "x" });
  const file = { path: "a.png", mediaType: "image/png", bytes: 1, name: "My a.png" };
  const media = (count: number, more: object = {}) => ({
    kind: "media",
    media: "image",
    files: Array.from({ length: count }, () => file),
    ...more,
  });
  const pressed = (value: string) => ({ ...hi, buttons: [[{ label: "Yes", value }]] });
  usual["sendMediaGroup"] = { ok: true, result: [{ message_id: 1 }] };
  expect([
    await sent({ kind: "text", ...said(4_096) }),
    await sent({ kind: "text", ...said(4_097) }),
    await sent(media(1, { caption: said(1_024) })),
    await sent(media(1, { caption: said(1_025) })),
    await sent(media(10)),
    await sent(media(11)),
    await sent(media(0)),
    await sent(pressed("v".repeat(64))),
    await sent(pressed("v".repeat(65))),
    await sent(pressed("ü".repeat(33))),
    await sent(pressed("")),
    await sent({ ...media(1), files: [{ ...file, path: "gone.png" }] }),
  ]).toEqual([
    "it succeeded",
    "invalid: 4097 UTF-16 units of text are over Telegram's 4096",
    "it succeeded",
    "invalid: 1025 UTF-16 units of text are over Telegram's 1024",
    "it succeeded",
    "invalid: an album on Telegram has 1 to 10 files, not 11",
    "invalid: an album on Telegram has 1 to 10 files, not 0",
    "it succeeded",
    'invalid: the value of button "Yes" has 65 bytes; Telegram takes 1 to 64',
    'invalid: the value of button "Yes" has 66 bytes; Telegram takes 1 to 64',
    'invalid: the value of button "Yes" has 0 bytes; Telegram takes 1 to 64',
    'missing: the file "My a.png" (media/gone.png) cannot be read',
  ]);
  expect(server.asked).toHaveLength(4);
  await truncate(join(folder, "a.png"), 50_000_001);
  expect(await sent(media(1))).toBe(
    'invalid: "My a.png" has 50000001 bytes; Telegram takes at most 50000000 from bots',
  );
});

test("an answer that is none is judged by what it can be: a write may have been done, a read is asked again", async () => {
  await writeFile(join(folder, "a.png"), "x");
  const channel = await opened();
  const table: string[] = [];
  const answers: readonly (readonly [status: number, body: unknown])[] = [
    [200, { ok: true }],
    [200, "null"],
    [200, "[]"],
    [200, "<html>"],
    [403, { ok: false, description: 7 }],
    [200, { ok: false, error_code: "400", description: "words" }],
    [400, { ok: false, error_code: 403, description: "words" }],
    [413, "<html>"],
    [413, { ok: false, error_code: 400, description: "own words" }],
    [414, "<html>"],
    [200, { ok: true, result: "x".repeat(4 * 1_048_576) }],
  ];
  for (const [status, body] of answers) {
    server.next.push({ status, body }, { status, body });
    table.push(await faultWords(channel.send(dm, hi, how())));
    table.push(await faultWords(channel.download?.("ref", 1, how().signal) ?? Promise.resolve()));
  }
  const none = (status: number, bytes: number): string =>
    `Telegram's side answered ${status} with ${bytes} bytes that are not an answer of the Bot API`;
  const both = (words: string): readonly string[] => [`ambiguous: ${words}`, `unavailable: ${words}`];
  expect(table).toEqual([
    ...both(none(200, 11)),
    ...both(none(200, 4)),
    ...both(none(200, 2)),
    ...both(none(200, 6)),
    "denied: Telegram refused sendMessage: 403 no description",
    "denied: Telegram refused getFile: 403 no description",
    "ambiguous: Telegram refused sendMessage: 200 words",
    "unavailable: Telegram refused getFile: 200 words",
    "denied: Telegram refused sendMessage: 403 words",
    "denied: Telegram refused getFile: 403 words",
    "invalid: Telegram refused sendMessage: 413 Request Entity Too Large",
    "invalid: Telegram refused getFile: 413 Request Entity Too Large",
    "invalid: Telegram refused sendMessage: 400 own words",
    "invalid: Telegram refused getFile: 400 own words",
    ...both(none(414, 6)),
    "ambiguous: Telegram's answer is longer than 4194304 bytes",
    "invalid: Telegram's answer is longer than 4194304 bytes",
  ]);
  const exact = { ok: true, result: { message_id: 5, x: "" } };
  const fill = 4 * 1_048_576 - JSON.stringify(exact).length;
  server.next.push({ status: 200, body: { ok: true, result: { message_id: 5, x: "x".repeat(fill) } } });
  expect(await channel.send(dm, hi, how())).toEqual({ messageId: "5" });
  // What is not named can be neither edited nor quoted, so it is not called sent.
  const unnamed = "ambiguous: Telegram accepted the message without naming it";
  const poll: RenderedPart = {
    kind: "poll",
    question: "?",
    options: ["a"],
    multiple: false,
    anonymous: true,
  };
  const file = { path: "a.png", mediaType: "image/png", bytes: 1, name: "a.png" };
  const album: RenderedPart = { kind: "media", media: "image", files: [file, file] };
  for (const result of [null, {}, { message_id: "5" }, [], true, [null, { message_id: 6 }]])
    for (const part of [hi, poll, album]) {
      server.next.push({ status: 200, body: { ok: true, result } });
      expect(await faultWords(channel.send(dm, part, how()))).toBe(unnamed);
    }
});

test("every trouble of a poll is told with its reason, and the next poll comes at its time", async () => {
  const conflict = (words: string) => refused(409, `Conflict: ${words}`);
  const webhook = conflict("can't use getUpdates method while webhook is active");
  const update = {
    update_id: 3,
    message: { message_id: 1, date: 1, chat: { id: 42, type: "private" }, from: { id: 42 }, text: "x" },
  };
  const batch = { status: 200, body: { ok: true, result: [{}, update, null] } };
  let disk: Error | null = new Error("the disk is full");
  const channel = await opened({ ids: { ...seededIds(1), chance: () => 0 } });
  const polls = (): string[] => asked().filter((each) => !each.includes("getMe"));
  const seen: unknown[] = [];
  /** What the account shows after the answer to its poll, and after how long it asks again. */
  const after = async (
    answer: { readonly status: number; readonly body: unknown },
    waitMs: number,
  ): Promise<void> => {
    const { length } = polls();
    server.next.push(answer);
    await clock.advance(1);
    await expect.poll(() => polls().length).toBe(length + 1);
    await expect.poll(() => clock.armed()).toBe(1);
    const { state, reason = "" } = channel.health();
    seen.push([state, reason]);
    await clock.advance(waitMs - 1);
    expect(polls()).toHaveLength(length + 1);
  };
  server.next.push({ status: 200, body: me }, { status: 200, body: { ok: true, result: { update_id: 1 } } });
  await channel.start(async () => {
    if (disk !== null) throw disk;
  });
  await expect.poll(() => channel.health().state).toBe("degraded");
  seen.push([channel.health().state, channel.health().reason]);
  await clock.advance(499);
  await after({ status: 200, body: { ok: true, result: [{}, 7] } }, 1_000);
  lines.length = 0;
  // The webhook is removed at once and the poll made anew: its answer is the next one.
  server.next.push(webhook, { status: 200, body: { ok: true, result: true } }, webhook);
  await clock.advance(1);
  await expect.poll(() => channel.health().reason).toContain("webhook is active");
  expect(
    polls()
      .slice(-3)
      .map((each) => each.split(" application")[0]),
  ).toEqual(["POST getUpdates", "POST deleteWebhook", "POST getUpdates"]);
  expect(polls().at(-2)).toBe('POST deleteWebhook application/json {"drop_pending_updates":false}');
  expect(lines).toEqual([
    ["info", {}, "polling is configured but a webhook is set: removing it, pending updates are kept"],
  ]);
  seen.push([channel.health().state, channel.health().reason]);
  await clock.advance(29_999);
  await after(conflict("terminated by other getUpdates request"), 30_000);
  await after(batch, 16_000);
  disk = null;
  const { length } = polls();
  server.next.push(batch, refused(401, "Unauthorized"));
  await clock.advance(1);
  await expect.poll(() => channel.health().state).toBe("down");
  expect(
    polls()
      .slice(length)
      .map((each) => each.replace(/,"allowed.*/, "")),
  ).toEqual([
    'POST getUpdates application/json {"limit":100,"timeout":0',
    'POST getUpdates application/json {"offset":4,"limit":100,"timeout":30',
  ]);
  seen.push([channel.health().state, channel.health().reason]);
  await clock.advance(599_999);
  expect(polls()).toHaveLength(length + 2);
  await clock.advance(1);
  await expect.poll(() => channel.health()).toMatchObject({ state: "ok" });
  expect(channel.health()).not.toHaveProperty("reason");
  expect(seen).toEqual([
    ["degraded", "Telegram answered getUpdates with something that is not a list"],
    ["degraded", "Telegram sent updates without ids"],
    [
      "degraded",
      "Telegram refused getUpdates: 409 Conflict: can't use getUpdates method while webhook is active",
    ],
    ["degraded", "Telegram refused getUpdates: 409 Conflict: terminated by other getUpdates request"],
    ["degraded", "updates could not be accepted: the disk is full"],
    ["down", "Telegram refused getUpdates: 401 Unauthorized"],
  ]);
});

test("a file that Telegram names no more is missing, and a press that cannot be answered is written down", async () => {
  const debugged: unknown[] = [];
  const log = { ...silentLog, debug: (_fields: object, said: string) => void debugged.push(said) } as Log;
  const channel = await opened({ log, webhook: { url: "https://tea.test/x", secret: "s" } });
  usual["getFile"] = { ok: true, result: { file_size: 1 } };
  expect(await faultWords(channel.download?.("ref", 1, how().signal) ?? Promise.resolve())).toBe(
    "missing: Telegram no longer has the file",
  );
  await channel.start(async () => {});
  await expect.poll(() => channel.health().state).toBe("ok");
  server.next.push(refused(400, "Bad Request: QUERY_ID_INVALID"));
  const press = { update_id: 1, callback_query: { id: "q1", from: { id: 42 }, data: "x" } };
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(JSON.stringify(press));
  };
  expect(await channel.webhook?.({ "x-telegram-bot-api-secret-token": "s" }, body())).toEqual({
    status: 200,
  });
  await expect.poll(() => debugged).toContain("a press could not be answered");
  expect(asked().at(-1)).toBe(
    'POST answerCallbackQuery application/json {"callback_query_id":"q1","text":"This button is no longer in use."}',
  );
});
