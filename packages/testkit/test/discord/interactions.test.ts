// Commands, buttons, selects and modals: registered, used by people, answered within Discord's deadlines.
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  defaultDiscordToken,
  type FakeDiscord,
  type FakeDiscordBot,
  fakeDiscord,
  virtualClock,
} from "@parley/testkit";
import { ready, type RawGateway, rest, type RestAnswer } from "./raw-client.ts";

const clock = virtualClock();
let fake: FakeDiscord;
let bot: FakeDiscordBot;
let line: RawGateway;
beforeEach(async () => {
  fake = await fakeDiscord({ clock });
  bot = fake.bot(defaultDiscordToken);
  line = await ready(fake, bot);
});
afterEach(() => fake.close());

const commands = (body: unknown): Promise<RestAnswer> =>
  rest(fake, bot, "PUT", `/applications/${bot.id}/commands`, body);
const answer = (id: string, body: unknown): Promise<RestAnswer> =>
  rest(fake, null, "POST", `/interactions/${id}/${fake.interaction(id).token}/callback`, body);
const byToken = (method: string, id: string, path: string, body?: unknown): Promise<RestAnswer> =>
  rest(fake, null, method, `/webhooks/${bot.id}/${fake.interaction(id).token}${path}`, body);
const status = { name: "status", description: "How it is" };

test("a command runs, is deferred, and its answer takes the place of the loading message", async () => {
  await commands([
    {
      name: "model",
      description: "Which model",
      options: [{ type: 3, name: "name", description: "Its name", required: true }],
    },
  ]);
  const alice = fake.as({ id: "42", name: "Alice" });
  expect(() => alice.runs("modle")).toThrow("no command /modle");
  expect(() => alice.runs("model")).toThrow("needs name");
  const id = alice.runs("model", { values: { name: "fast" } });
  expect((await line.next("INTERACTION_CREATE")).d).toMatchObject({
    id,
    type: 2,
    user: { id: "42" },
    data: { name: "model", options: [{ name: "name", type: 3, value: "fast" }] },
  });
  expect((await answer(id, { type: 5 })).status).toBe(204);
  expect(fake.visible(alice.dm())).toMatchObject([{ byBot: true, isLoading: true, text: "" }]);
  expect((await byToken("PATCH", id, "/messages/@original", { content: "fast it is" })).status).toBe(200);
  await byToken("POST", id, "", { content: "and more", flags: 64 });
  expect(fake.visible(alice.dm())).toMatchObject([
    { text: "fast it is", isLoading: false, edited: false },
    { text: "and more", onlyFor: "42" },
  ]);
  expect(fake.visible(alice.dm(), "43")).toHaveLength(1);
  expect(fake.interaction(id)).toMatchObject({ state: "answered" });
  expect(fake.violations()).toEqual([]);
});

test("an interaction waits three seconds, its token lives for fifteen minutes, and it is answered once", async () => {
  await commands([status]);
  const alice = fake.as("42");
  const late = alice.runs("status");
  await clock.advance(3_001);
  expect(fake.interaction(late).state).toBe("failed");
  expect(await answer(late, { type: 5 })).toMatchObject({ status: 404, body: { code: 10_062 } });
  const id = alice.runs("status");
  expect(await byToken("POST", id, "", { content: "too early" })).toMatchObject({
    status: 404,
    body: { code: 10_015 },
  });
  await answer(id, { type: 4, data: { content: "fine" } });
  expect(await answer(id, { type: 5 })).toMatchObject({ status: 400, body: { code: 40_060 } });
  await clock.advance(15 * 60_000 - 1);
  expect((await byToken("PATCH", id, "/messages/@original", { content: "still fine" })).status).toBe(200);
  await clock.advance(2);
  expect(await byToken("POST", id, "", { content: "late" })).toMatchObject({
    status: 401,
    body: { code: 50_027 },
  });
});

test("the first follow-up to a deferral edits the loading message", async () => {
  await commands([status]);
  const id = fake.as("42").runs("status");
  await answer(id, { type: 5, data: { flags: 64 } });
  await byToken("POST", id, "", { content: "fine" });
  expect(fake.visible(fake.as("42").dm())).toMatchObject([{ text: "fine", isLoading: false, onlyFor: "42" }]);
});

test("buttons, selects and modals reach the bot with what was chosen", async () => {
  const alice = fake.as("42");
  const row = (component: object): object => ({ type: 1, components: [component] });
  const { body } = await rest(fake, bot, "POST", `/channels/${alice.dm()}/messages`, {
    content: "Choose",
    components: [
      row({ type: 2, style: 1, label: "Yes", custom_id: "yes" }),
      row({
        type: 3,
        custom_id: "pick",
        max_values: 2,
        options: ["a", "b", "c"].map((value) => ({ label: value, value })),
      }),
    ],
  });
  expect(() => alice.presses(body.id, "no")).toThrow(`no component "no"`);
  const pressed = alice.presses(body.id, "yes");
  expect((await line.next("INTERACTION_CREATE")).d).toMatchObject({
    type: 3,
    data: { custom_id: "yes", component_type: 2 },
    message: { id: body.id },
  });
  const modal = {
    custom_id: "form",
    title: "Why",
    components: [row({ type: 4, custom_id: "why", style: 1, label: "Why" })],
  };
  expect((await answer(pressed, { type: 9, data: modal })).status).toBe(204);
  const submitted = alice.submits(pressed, { why: "because" });
  expect((await line.next("INTERACTION_CREATE")).d).toMatchObject({
    type: 5,
    data: { custom_id: "form", components: [{ components: [{ custom_id: "why", value: "because" }] }] },
  });
  await answer(submitted, { type: 7, data: { content: "Thanks", components: [] } });
  expect(fake.visible(alice.dm())).toMatchObject([{ text: "Thanks", buttons: [] }]);
  expect(() => alice.selects(body.id, "pick", ["a"])).toThrow("no component");
  expect(fake.violations()).toEqual([]);
});

test("a select's values must be offered; an update may be deferred without a loading message", async () => {
  const channel = fake.channel({ guild: fake.guild() });
  const alice = fake.as("42");
  const select = { type: 3, custom_id: "pick", options: [{ label: "A", value: "a" }] };
  const { body } = await rest(fake, bot, "POST", `/channels/${channel}/messages`, {
    content: "Choose",
    components: [{ type: 1, components: [select] }],
  });
  expect(() => alice.selects(body.id, "pick", ["z"], { channel })).toThrow(`no option "z"`);
  const id = alice.selects(body.id, "pick", ["a"], { channel });
  expect((await line.next("INTERACTION_CREATE")).d).toMatchObject({
    data: { values: ["a"] },
    member: { user: { id: "42" } },
    guild_id: expect.any(String),
  });
  await answer(id, { type: 6 });
  await byToken("PATCH", id, "/messages/@original", { content: "Chosen: A" });
  await byToken("POST", id, "", { content: "and a new one" });
  expect(fake.visible(channel)).toMatchObject([{ text: "Chosen: A" }, { text: "and a new one" }]);
});

test.each([
  [
    [{ name: "Status", description: "x" }],
    { 0: { name: { _errors: [{ code: "APPLICATION_COMMAND_INVALID_NAME" }] } } },
  ],
  [[{ name: "a" }], { 0: { description: { _errors: [{ code: "BASE_TYPE_REQUIRED" }] } } }],
  [
    [{ name: "a", description: "x".repeat(101) }],
    { 0: { description: { _errors: [{ code: "BASE_TYPE_MAX_LENGTH" }] } } },
  ],
  [[status, status], { 1: { name: { _errors: [{ code: "APPLICATION_COMMANDS_DUPLICATE_NAME" }] } } }],
  [
    [
      {
        ...status,
        options: [
          { type: 3, name: "a", description: "x" },
          { type: 3, name: "b", description: "x", required: true },
        ],
      },
    ],
    { 0: { options: { 1: { _errors: [{ code: "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID" }] } } } },
  ],
])("commands that are our mistake are refused: %j", async (body, errors) => {
  expect(await commands(body)).toMatchObject({ status: 400, body: { code: 50_035, errors } });
  expect(bot.commands()).toEqual([]);
});

test("commands have their limits: a hundred at once, two hundred new ones a day", async () => {
  const named = (count: number, prefix: string): object[] =>
    Array.from({ length: count }, (_, i) => ({ name: `${prefix}${i}`, description: "x" }));
  expect(await commands(named(101, "a"))).toMatchObject({ status: 400, body: { code: 30_032 } });
  expect((await commands(named(100, "a"))).status).toBe(200);
  await clock.advance(5_000);
  expect((await commands(named(100, "a"))).status).toBe(200);
  expect((await commands(named(100, "b"))).status).toBe(200);
  await clock.advance(5_000);
  expect(await commands(named(1, "c"))).toMatchObject({ status: 400, body: { code: 30_034 } });
  await clock.advance(86_400_000);
  expect((await commands(named(1, "c"))).status).toBe(200);
  expect(bot.commands()).toMatchObject([{ name: "c0", application_id: bot.id }]);
});
