// The fake Telegram keeps the real one's rules: offsets confirm, one poll at a time, texts and fields are
// checked, faults strike where told.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defaultToken, type FakeTelegram, fakeTelegram, refusalBody } from "@parley/testkit";

interface Answer {
  readonly ok: boolean;
  readonly result: any;
  readonly error_code?: number;
  readonly description?: string;
  readonly parameters?: object;
}

let fake: FakeTelegram;
beforeEach(async () => {
  fake = await fakeTelegram();
  fake.bot(defaultToken, "parley_bot");
});
afterEach(() => fake.close());

async function call(method: string, params: object = {}, token = defaultToken): Promise<Answer> {
  const response = await fetch(`${fake.url}/bot${token}/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(params),
  });
  return (await response.json()) as Answer;
}

const ids = (answer: Answer): number[] =>
  (answer.result as { update_id: number }[]).map((update) => update.update_id);

test("an update stays until a later offset confirms it", async () => {
  const alice = fake.as({ id: 42, name: "Alice" });
  alice.says("one");
  alice.says("two");
  expect(ids(await call("getUpdates"))).toEqual([1, 2]);
  expect(ids(await call("getUpdates", { limit: 1 }))).toEqual([1]);
  expect(ids(await call("getUpdates", { offset: 2 }))).toEqual([2]);
  expect(fake.bot().queue.confirmed()).toEqual([1]);
  alice.says("three");
  expect(ids(await call("getUpdates", { offset: -1 }))).toEqual([3]);
  expect(fake.bot().queue.confirmed()).toEqual([1, 2]);
});

test("a long poll waits for the next update", async () => {
  const poll = call("getUpdates", { timeout: 30 });
  await expect.poll(() => fake.bot().queue.held()).toBe(1);
  fake.as(42).says("hello");
  expect(ids(await poll)).toEqual([1]);
});

test("a second getUpdates ends the first with 409", async () => {
  const first = call("getUpdates", { timeout: 30 });
  await expect.poll(() => fake.bot().queue.held()).toBe(1);
  const second = call("getUpdates", { timeout: 30 });
  expect(await first).toMatchObject({
    error_code: 409,
    description: expect.stringContaining("terminated by other getUpdates request"),
  });
  fake.as(42).says("hello");
  expect(ids(await second)).toEqual([1]);
});

test("reactions come only to a bot that asked for them", async () => {
  const alice = fake.as(42);
  const { message_id: messageId } = alice.says("one");
  alice.reacts(messageId, "👍");
  expect(ids(await call("getUpdates", { allowed_updates: ["message", "message_reaction"] }))).toHaveLength(1);
  alice.reacts(messageId, "🔥");
  expect((await call("getUpdates")).result[1].message_reaction.new_reaction).toEqual([
    { type: "emoji", emoji: "🔥" },
  ]);
});

test("getUpdates is refused while a webhook is set", async () => {
  expect(await call("setWebhook", { url: "http://example.org/x" })).toMatchObject({ error_code: 400 });
  expect(await call("setWebhook", { url: "https://example.org/x", secret_token: "s" })).toMatchObject({
    ok: true,
  });
  expect(await call("getUpdates")).toMatchObject({
    error_code: 409,
    description: expect.stringContaining("while webhook is active"),
  });
  expect((await call("getWebhookInfo")).result.url).toBe("https://example.org/x");
  await call("deleteWebhook");
  expect(await call("getUpdates")).toMatchObject({ ok: true });
});

test("tokens are checked", async () => {
  expect(await call("getMe", {}, "1:wrong")).toMatchObject({ error_code: 401, description: "Unauthorized" });
  expect(await call("getMe", {}, "nonsense")).toMatchObject({ error_code: 404 });
  expect((await call("getMe")).result.username).toBe("parley_bot");
});

test.each([
  [{ text: " \n " }, "Bad Request: message text is empty"],
  [{ text: "x".repeat(4097) }, "Bad Request: message is too long"],
  [{ text: "abc", entities: [{ type: "bold", offset: 1, length: 3 }] }, "ends after the end of the text"],
  [{ text: "a👍", entities: [{ type: "bold", offset: 0, length: 2 }] }, "middle of a UTF-16 symbol"],
  [
    {
      text: "abcd",
      entities: [
        { type: "bold", offset: 0, length: 2 },
        { type: "italic", offset: 1, length: 2 },
      ],
    },
    "can't parse entities",
  ],
  [
    {
      text: "abcd",
      entities: [
        { type: "pre", offset: 0, length: 4 },
        { type: "bold", offset: 1, length: 2 },
      ],
    },
    "can't parse entities",
  ],
  [
    { text: "x", entities: Array.from({ length: 101 }, () => ({ type: "bold", offset: 0, length: 1 })) },
    "can't parse entities",
  ],
  [{ text: "x", colour: "red" }, "additional properties"],
  [
    { text: "x", reply_markup: { inline_keyboard: [[{ text: "a", callback_data: "é".repeat(33) }]] } },
    "BUTTON_DATA_INVALID",
  ],
])("a message that is our mistake is refused and put on record: %j", async (params, words) => {
  fake.as(42).says("hi");
  const answer = await call("sendMessage", { chat_id: 42, ...params });
  expect(answer.description).toContain(words);
  expect(fake.violations()).toHaveLength(1);
  expect(fake.visible(42)).toHaveLength(1);
});

test.each([
  [{ chat_id: 7 }, 400, "chat not found"],
  [{ chat_id: 42, reply_parameters: { message_id: 99 } }, 400, "message to be replied not found"],
  [{ chat_id: 42, message_thread_id: 9 }, 400, "message thread not found"],
])("a message that cannot be placed gets the server's words: %j", async (params, code, words) => {
  fake.as(42).says("hi");
  expect(await call("sendMessage", { text: "x", ...params })).toMatchObject({
    error_code: code,
    description: `Bad Request: ${words}`,
  });
  expect(fake.violations()).toEqual([]);
});

test("topics, blocked bots and upgraded groups refuse as the real ones do", async () => {
  const alice = fake.as(42);
  alice.says("hi");
  alice.blocks();
  expect(await call("sendMessage", { chat_id: 42, text: "x" })).toMatchObject({
    error_code: 403,
    description: "Forbidden: bot was blocked by the user",
  });
  const forum = fake.group({ isForum: true });
  const thread = fake.topic(forum, "News");
  expect(
    (await call("sendMessage", { chat_id: forum, text: "x", message_thread_id: thread })).result
      .is_topic_message,
  ).toBe(true);
  await call("closeForumTopic", { chat_id: forum, message_thread_id: thread });
  expect(
    (await call("sendMessage", { chat_id: forum, text: "x", message_thread_id: thread })).description,
  ).toBe("Bad Request: TOPIC_CLOSED");
  const moved = fake.upgrade(forum);
  expect(await call("sendMessage", { chat_id: forum, text: "x" })).toMatchObject({
    parameters: { migrate_to_chat_id: moved },
  });
});

test("what people see follows edits and deletions", async () => {
  fake.as({ id: 42, name: "Alice" }).says("hi");
  const sent = (await call("sendMessage", { chat_id: 42, text: " one " })).result.message_id;
  const edit = { chat_id: 42, message_id: sent, text: "two" };
  expect(await call("editMessageText", edit)).toMatchObject({ ok: true });
  expect((await call("editMessageText", edit)).description).toContain("message is not modified");
  const gone = (await call("sendMessage", { chat_id: 42, text: "three" })).result.message_id;
  await call("deleteMessage", { chat_id: 42, message_id: gone });
  expect(fake.visible(42).map(({ from, text, edited }) => [from, text, edited])).toEqual([
    ["Alice", "hi", false],
    ["Bot 1", "two", true],
  ]);
});

test("an injected fault strikes before or after the server acts, as often as told", async () => {
  fake.as(42).says("hi");
  const send = { chat_id: 42, text: "x" };
  fake.inject({ method: "sendMessage", trouble: { kind: "reset" } });
  await expect(call("sendMessage", send)).rejects.toThrow();
  expect(fake.visible(42)).toHaveLength(1);
  fake.inject({ method: "sendMessage", when: "after", trouble: { kind: "reset" } });
  await expect(call("sendMessage", send)).rejects.toThrow();
  expect(fake.visible(42)).toHaveLength(2);
  fake.inject({ method: "sendMessage", trouble: { kind: "truncate" } });
  await expect(call("sendMessage", send)).rejects.toThrow();
  fake.inject({
    skip: 1,
    times: 2,
    trouble: {
      kind: "answer",
      status: 429,
      body: refusalBody(429, "Too Many Requests: retry after 3", { retry_after: 3 }),
    },
  });
  const answers = [await call("getMe"), await call("getMe"), await call("getMe"), await call("getMe")];
  expect(answers.map((answer) => answer.ok)).toEqual([true, false, false, true]);
  expect(answers[1]?.parameters).toEqual({ retry_after: 3 });
});

test("forms with files are read as well as JSON", async () => {
  fake.as(42).says("hi");
  const form = new FormData();
  form.set("chat_id", "42");
  form.set(
    "media",
    JSON.stringify([
      { type: "photo", media: "attach://a", caption: "two" },
      { type: "photo", media: "attach://b" },
    ]),
  );
  form.set("a", new Blob(["a"]), "a.png");
  form.set("b", new Blob(["b"]), "b.png");
  const response = await fetch(`${fake.url}/bot${defaultToken}/sendMediaGroup`, {
    method: "POST",
    body: form,
  });
  expect(await response.json()).toMatchObject({ ok: true, result: [{ caption: "two" }, {}] });
  expect(fake.violations()).toEqual([]);
  expect(fake.visible(42).map((message) => message.kind)).toEqual(["text", "photo", "photo"]);
});

test("a file that a person sent can be fetched", async () => {
  const sent = fake.as(42).sendsDocument();
  const { file_id: fileId } = sent["document"] as { file_id: string };
  const file = await call("getFile", { file_id: fileId });
  expect(await (await fetch(`${fake.url}/file/bot${defaultToken}/${file.result.file_path}`)).text()).toBe(
    "hello file",
  );
  const huge = fake.as(42).sendsDocument({ statedBytes: 21 * 1024 * 1024 });
  expect(
    (await call("getFile", { file_id: (huge["document"] as { file_id: string }).file_id })).description,
  ).toBe("Bad Request: file is too big");
});

test("another process can play people and read chats over HTTP", async () => {
  const control = async (page: string, body?: object): Promise<any> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await fetch(`${fake.url}/_control/${page}`, init)).json();
  };
  await control("say", { user: 42, name: "Alice", text: "over the wire" });
  await control("fault", { method: "getMe", trouble: { kind: "answer", status: 502, body: "<html>" } });
  expect((await fetch(`${fake.url}/bot${defaultToken}/getMe`)).status).toBe(502);
  expect(await control("messages?chat=42")).toMatchObject([{ from: "Alice", text: "over the wire" }]);
  expect(await control("calls?method=getMe")).toHaveLength(1);
});

test("as a program it says where it listens and takes any well-formed token", async () => {
  const program = spawn(process.execPath, [
    fileURLToPath(new URL("../src/telegram/main.ts", import.meta.url)),
    "--port",
    "0",
  ]);
  try {
    const [line] = (await once(program.stdout, "data")) as [Buffer];
    const url = line.toString().trim().split(" ").at(-1);
    const answer = (await (await fetch(`${url}/bot77:new/getMe`)).json()) as Answer;
    expect(answer.result).toMatchObject({ id: 77, is_bot: true });
  } finally {
    program.kill();
    await once(program, "exit");
  }
});
