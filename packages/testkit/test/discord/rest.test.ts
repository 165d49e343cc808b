// The fake's REST API keeps the real one's rules: forms, limits, nonces, refusals with their codes; faults
// strike where told.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  defaultDiscordToken,
  discordLimited,
  discordRefusal,
  type FakeDiscord,
  type FakeDiscordBot,
  fakeDiscord,
  virtualClock,
} from "@parley/testkit";
import { rest, type RestAnswer } from "./raw-client.ts";

const clock = virtualClock();
let fake: FakeDiscord;
let bot: FakeDiscordBot;
let guild: string;
let channel: string;
beforeEach(async () => {
  fake = await fakeDiscord({ clock, uploadBytes: 1_000 });
  bot = fake.bot(defaultDiscordToken, { username: "parley" });
  guild = fake.guild();
  channel = fake.channel({ guild });
});
afterEach(() => fake.close());

const call = (method: string, path: string, body?: unknown): Promise<RestAnswer> =>
  rest(fake, bot, method, path, body);
const create = (body: unknown, into = channel): Promise<RestAnswer> =>
  call("POST", `/channels/${into}/messages`, body);
const texts = (of = channel): readonly string[] => fake.visible(of).map((message) => message.text);
const form = (json: unknown, ...files: readonly [name: string, bytes: number][]): FormData => {
  const data = new FormData();
  data.set("payload_json", JSON.stringify(json));
  files.forEach(([name, bytes], index) =>
    data.set(`files[${index}]`, new Blob(["x".repeat(bytes)], { type: "text/plain" }), name),
  );
  return data;
};

describe("a nonce", () => {
  test("makes a repeated create the same message within its window, and no longer", async () => {
    const body = { content: "once", nonce: "abc", enforce_nonce: true };
    const first = await create(body);
    expect(first).toMatchObject({ status: 200, body: { nonce: "abc" } });
    expect((await create(body)).body.id).toBe(first.body.id);
    await clock.advance(179_000);
    expect((await create({ ...body, content: "other words" })).body).toMatchObject({
      id: first.body.id,
      content: "once",
    });
    expect(texts()).toEqual(["once"]);
    await clock.advance(2_000);
    await create(body);
    expect(texts()).toEqual(["once", "once"]);
  });

  test("is not looked at unless enforced, and is not part of history", async () => {
    await create({ content: "a", nonce: "abc" });
    await create({ content: "b", nonce: "abc" });
    expect(texts()).toEqual(["a", "b"]);
    const history = (await call("GET", `/channels/${channel}/messages`)).body;
    expect(history).toMatchObject([{ content: "b" }, { content: "a" }]);
    expect(history[0]).not.toHaveProperty("nonce");
  });
});

test.each([
  [
    { content: "x".repeat(2001) },
    { content: { _errors: [{ code: "BASE_TYPE_MAX_LENGTH", message: "Must be 2000 or fewer in length." }] } },
  ],
  [{ content: 5 }, { content: { _errors: [{ code: "STRING_TYPE_CONVERT" }] } }],
  [{ content: "x", nonce: "n".repeat(26), enforce_nonce: true }, { nonce: {} }],
  [
    { content: "x", message_reference: { message_id: "1" } },
    { message_reference: { _errors: [{ code: "REPLIES_UNKNOWN_MESSAGE" }] } },
  ],
  [
    { content: "x", components: [{ type: 1, components: [] }] },
    { components: { 0: { components: { _errors: [{ code: "BASE_TYPE_MIN_LENGTH" }] } } } },
  ],
  [
    { content: "x", components: [{ type: 1, components: [{ type: 2, style: 1, label: "a" }] }] },
    {
      components: { 0: { components: { 0: { custom_id: { _errors: [{ code: "BASE_TYPE_REQUIRED" }] } } } } },
    },
  ],
  [
    {
      content: "x",
      components: [1, 2].map(() => ({
        type: 1,
        components: [{ type: 2, style: 1, label: "a", custom_id: "same" }],
      })),
    },
    {
      components: {
        1: { components: { 0: { custom_id: { _errors: [{ code: "COMPONENT_CUSTOM_ID_DUPLICATED" }] } } } },
      },
    },
  ],
  [
    { content: "x", components: [{ type: 10, content: "new text" }] },
    { components: { 0: { type: { _errors: [{ code: "UNION_TYPE_CHOICES" }] } } } },
  ],
  [
    { content: "x", embeds: [{ title: "t".repeat(257) }] },
    { embeds: { 0: { title: { _errors: [{ code: "BASE_TYPE_MAX_LENGTH" }] } } } },
  ],
  [
    { content: "x", attachments: [{ id: "0", filename: "a.txt" }] },
    { attachments: { 0: { id: { _errors: [{ code: "ATTACHMENT_NOT_FOUND" }] } } } },
  ],
])(
  "a message that is our mistake is refused in Discord's form and put on record: %j",
  async (body, errors) => {
    expect(await create(body)).toMatchObject({
      status: 400,
      body: { code: 50_035, message: "Invalid Form Body", errors },
    });
    expect(fake.violations()).toHaveLength(1);
    expect(texts()).toEqual([]);
  },
);

test("a field that Discord does not know changes nothing, but is on record", async () => {
  expect(
    await create({ content: "x", colour: 3, allowed_mentions: { parse: [], everyone: false } }),
  ).toMatchObject({ status: 200 });
  expect(fake.violations()).toEqual([
    expect.stringContaining("knows no colour"),
    expect.stringContaining("knows no allowed_mentions.everyone"),
  ]);
});

test.each([
  ["empty content", async () => create({ content: " \n " }), 400, 50_006],
  ["an unknown channel", async () => create({ content: "x" }, "1"), 404, 10_003],
  [
    "a channel that the bot may not see",
    async () => (fake.at(channel).deny("view"), create({ content: "x" })),
    403,
    50_001,
  ],
  [
    "a channel that it may not write in",
    async () => (fake.at(channel).deny("send"), create({ content: "x" })),
    403,
    50_013,
  ],
  ["a forum", async () => create({ content: "x" }, fake.channel({ guild, kind: "forum" })), 400, 50_008],
  [
    "a person who takes no direct messages",
    async () => (fake.as("42").closesDms(), create({ content: "x" }, fake.as("42").dm())),
    403,
    50_007,
  ],
  ["a locked thread", lockedThread, 400, 160_005],
  ["an edit in an archived thread", editInArchived, 400, 50_083],
  [
    "an edit of somebody else's words",
    async () =>
      call("PATCH", `/channels/${channel}/messages/${fake.as("42").says("mine", { channel }).id}`, {
        content: "x",
      }),
    403,
    50_005,
  ],
  ["a deletion of nothing", async () => call("DELETE", `/channels/${channel}/messages/1`), 404, 10_008],
  [
    "an emoji that is none",
    async () =>
      call(
        "PUT",
        `/channels/${channel}/messages/${fake.as("42").says("x", { channel }).id}/reactions/smile/@me`,
      ),
    400,
    10_014,
  ],
  ["a file that is too large", async () => create(form({ content: "x" }, ["big.txt", 1_001])), 413, 40_005],
  [
    "a body that is no JSON",
    async () =>
      fetch(`${fake.apiRoot}/v10/channels/${channel}/messages`, {
        method: "POST",
        headers: { authorization: `Bot ${bot.token}`, "content-type": "application/json" },
        body: "{",
      }).then(async (response) => ({ status: response.status, body: await response.json() })),
    400,
    50_109,
  ],
  ["a wrong token", async () => rest(fake, { token: "wrong" }, "GET", "/users/@me"), 401, 0],
  ["no token", async () => rest(fake, null, "GET", "/users/@me"), 401, 0],
] as const)("%s is refused with Discord's code", async (_, act, status, code) => {
  expect(await act()).toMatchObject({ status, body: { code } });
});

async function lockedThread(): Promise<RestAnswer> {
  const thread = fake.as("42").opensThread("Closed", { channel });
  fake.at(thread).lock();
  return await create({ content: "x" }, thread);
}

async function editInArchived(): Promise<RestAnswer> {
  const thread = fake.as("42").opensThread("Asleep", { channel });
  const { body } = await create({ content: "x" }, thread);
  fake.at(thread).archive();
  return await call("PATCH", `/channels/${thread}/messages/${body.id}`, { content: "y" });
}

describe("rate limits", () => {
  test("count by route and channel, say so in headers, and answer 429 until the window is over", async () => {
    const other = fake.channel({ guild });
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push(await create({ content: `${i}` }));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(answers[0]?.headers.get("x-ratelimit-remaining")).toBe("4");
    expect(answers[0]?.headers.get("x-ratelimit-reset-after")).toBe("5.000");
    expect(answers[5]?.body).toEqual({
      message: "You are being rate limited.",
      retry_after: 5,
      global: false,
    });
    expect(answers[5]?.headers.get("x-ratelimit-scope")).toBe("user");
    expect((await create({ content: "elsewhere" }, other)).status).toBe(200);
    await clock.advance(5_000);
    expect((await create({ content: "later" })).status).toBe(200);
  });

  test("hold for all calls together: fifty in a second", async () => {
    for (let i = 0; i < 50; i++) expect((await call("GET", "/users/@me")).status).toBe(200);
    const answer = await call("GET", "/users/@me");
    expect(answer).toMatchObject({ status: 429, body: { global: true, retry_after: 1 } });
    expect(answer.headers.get("x-ratelimit-global")).toBe("true");
  });

  test("come out of the blue when a test wants it", async () => {
    fake.inject({ method: "POST /channels/:channel/messages", trouble: discordLimited("shared", 1_500) });
    const answer = await create({ content: "x" });
    expect(answer).toMatchObject({ status: 429, body: { retry_after: 1.5, global: false } });
    expect(answer.headers.get("x-ratelimit-scope")).toBe("shared");
    expect(texts()).toEqual([]);
  });
});

test("a fault may strike before or after the server acted", async () => {
  const method = "POST /channels/:channel/messages";
  fake.inject({ method, trouble: { kind: "answer", status: 502, body: "<html>" } });
  fake.inject({ method, when: "after", trouble: { kind: "reset" } });
  fake.inject({ method, trouble: discordRefusal("missingAccess") });
  await expect(create({ content: "a" })).rejects.toThrow("JSON");
  await expect(create({ content: "b" })).rejects.toThrow("fetch failed");
  expect(await create({ content: "c" })).toMatchObject({
    status: 403,
    body: { code: 50_001, message: "Missing Access" },
  });
  expect(texts()).toEqual(["b"]);
  expect(fake.calls(method).map(({ acted }) => acted)).toEqual([false, true, false]);
});

test("history pages upwards by after, downwards by before", async () => {
  const alice = fake.as("42");
  const ids = Array.from({ length: 7 }, (_, i) => alice.says(`${i}`, { channel }).id);
  const page = async (query: string): Promise<readonly string[]> =>
    (await call("GET", `/channels/${channel}/messages?${query}`)).body.map(
      (message: { readonly content: string }) => message.content,
    );
  expect(await page("limit=2")).toEqual(["6", "5"]);
  expect(await page(`after=${ids[1]}&limit=2`)).toEqual(["3", "2"]);
  expect(await page(`after=${ids[4]}`)).toEqual(["6", "5"]);
  expect(await page(`before=${ids[2]}`)).toEqual(["1", "0"]);
  expect(await page(`around=${ids[3]}&limit=3`)).toContain("3");
  await clock.advance(1_000);
  expect(await call("GET", `/channels/${channel}/messages?limit=101`)).toMatchObject({
    status: 400,
    body: { code: 50_035 },
  });
});

test("files go up with their message and come down from the CDN", async () => {
  const { body } = await create(
    form({ content: "look", attachments: [{ id: 0, description: "words" }] }, ["a b.txt", 5]),
  );
  expect(body.attachments).toMatchObject([{ filename: "a_b.txt", size: 5, description: "words" }]);
  expect(await (await fetch(body.attachments[0].url)).text()).toBe("xxxxx");
  expect(fake.visible(channel)).toMatchObject([{ text: "look", files: ["a_b.txt"] }]);
  expect(fake.violations()).toEqual([]);
});

test("mentions notify only whom allowed_mentions lets through", async () => {
  fake.as("42");
  const role = fake.role(guild, "team");
  const content = `<@42> <@&${role}> @everyone \`<@43>\``;
  await create({ content });
  await create({ content, allowed_mentions: { parse: [] } });
  await create({ content, allowed_mentions: { parse: ["roles"], users: ["42"] } });
  expect(fake.visible(channel).map((message) => message.pings)).toEqual([
    ["42", `&${role}`, "everyone"],
    [],
    ["42", `&${role}`],
  ]);
});

test("threads hang on messages or stand alone, and a forum takes posts", async () => {
  const alice = fake.as({ id: "42", name: "Alice" });
  const said = alice.says("a topic", { channel });
  const hung = await call("POST", `/channels/${channel}/messages/${said.id}/threads`, { name: "Talk" });
  expect(hung).toMatchObject({
    status: 201,
    body: { id: said.id, type: 11, name: "Talk", parent_id: channel },
  });
  expect(
    await call("POST", `/channels/${channel}/messages/${said.id}/threads`, { name: "Again" }),
  ).toMatchObject({
    body: { code: 160_004 },
  });
  await create({ content: "inside" }, hung.body.id);
  const forum = fake.channel({ guild, kind: "forum", tags: ["help"] });
  const post = await call("POST", `/channels/${forum}/threads`, {
    name: "A question",
    message: { content: "How?" },
  });
  expect(post).toMatchObject({
    status: 201,
    body: { name: "A question", parent_id: forum, message: { id: post.body.id, content: "How?" } },
  });
  alice.posts("Another", "Why?", { channel: forum });
  expect(fake.visible(forum)).toMatchObject([
    { kind: "post", text: "How?", byBot: true, thread: { title: "A question" } },
    { kind: "post", text: "Why?", from: "Alice", thread: { title: "Another" } },
  ]);
  expect(fake.visible(channel)[0]).toMatchObject({ text: "a topic", thread: { title: "Talk" } });
  expect((await call("GET", `/guilds/${guild}/threads/active`)).body.threads).toHaveLength(3);
  fake.at(hung.body.id).archive();
  expect((await call("GET", `/guilds/${guild}/threads/active`)).body.threads).toHaveLength(2);
  await create({ content: "awake" }, hung.body.id);
  expect((await call("GET", `/channels/${hung.body.id}`)).body.thread_metadata.archived).toBe(false);
  expect(fake.violations()).toEqual([]);
});

test("what people see follows edits, reactions, pins and deletions", async () => {
  const alice = fake.as({ id: "42", name: "Alice" });
  const question = alice.says("https://example.org", { channel });
  const { body } = await create({
    content: "first",
    flags: 4,
    message_reference: { message_id: question.id },
  });
  await call("PATCH", `/channels/${channel}/messages/${body.id}`, {
    content: "second https://example.org",
    components: [{ type: 1, components: [{ type: 2, style: 1, label: "Yes", custom_id: "y" }] }],
  });
  await call("PUT", `/channels/${channel}/messages/${body.id}/reactions/${encodeURIComponent("👍")}/@me`);
  alice.reacts(body.id, "🔥", { channel });
  await call("PUT", `/channels/${channel}/pins/${body.id}`);
  await call("POST", `/channels/${channel}/typing`);
  expect(fake.at(channel).typing()).toEqual([bot.id]);
  expect(fake.visible(channel)).toMatchObject([
    { text: "https://example.org", hasPreview: true },
    {
      text: "second https://example.org",
      edited: true,
      pinned: true,
      hasPreview: false,
      replyTo: question.id,
      buttons: [["Yes"]],
      reactions: ["👍", "🔥"],
      pings: ["42"],
    },
    { kind: "service" },
  ]);
  await call("DELETE", `/channels/${channel}/messages/${body.id}`);
  expect(fake.visible(channel)).toHaveLength(2);
  expect(fake.violations()).toEqual([]);
});
