// The whole of discord.js, a client that we did not write, takes the fake for Discord; and the fake runs as a
// program.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { ChannelType, Client, Events, GatewayIntentBits as Intent, type Message, Partials } from "discord.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FakeDiscord, fakeDiscord } from "@parley/testkit";

let fake: FakeDiscord;
let client: Client<true>;
beforeEach(async () => {
  fake = await fakeDiscord();
  const started = new Client({
    rest: { api: fake.apiRoot, retries: 0 },
    intents: [
      Intent.Guilds,
      Intent.GuildMessages,
      Intent.GuildMessageReactions,
      Intent.DirectMessages,
      Intent.MessageContent,
    ],
    partials: [Partials.Channel],
  });
  // Before the login, so that the guild comes with READY.
  fake.bot();
  fake.guild({ id: "500", name: "Home" });
  fake.channel({ guild: "500", id: "501", name: "general" });
  const isReady = once(started, Events.ClientReady);
  await started.login(fake.bot().token);
  await isReady;
  client = started as Client<true>;
});
afterEach(async () => {
  await client.destroy();
  await fake.close();
});

/** discord.js sends fields that Discord does not know (tts in an edit): harmless, and on record. */
const refusedViolations = (): readonly string[] =>
  fake.violations().filter((violation) => !violation.includes("Discord knows no"));
const nextMessage = async (): Promise<Message<true>> =>
  (await once(client, Events.MessageCreate))[0] as Message<true>;

test("discord.js reads a guild message, replies, edits, reacts and opens a thread", async () => {
  const heard = nextMessage();
  const said = fake.as({ id: "42", name: "Alice" }).says(`hello <@${client.user.id}>`, { channel: "501" });
  const message = await heard;
  expect([
    message.guild.name,
    message.channel.name,
    message.mentions.has(client.user),
    message.author.displayName,
  ]).toEqual(["Home", "general", true, "Alice"]);
  const reply = await message.reply({ content: "hi", nonce: "n1", enforceNonce: true });
  await reply.edit("hi!");
  await message.react("👍");
  const thread = await message.startThread({ name: "Talk" });
  await thread.send({ content: "inside", files: [{ attachment: Buffer.from("x"), name: "note.txt" }] });
  expect(fake.visible("501")).toMatchObject([
    { id: said.id, reactions: ["👍"], thread: { title: "Talk" } },
    { text: "hi!", replyTo: said.id, edited: true },
  ]);
  expect(fake.visible(thread.id)).toMatchObject([
    { kind: "service" },
    { text: "inside", files: ["note.txt"] },
  ]);
  expect((await message.channel.messages.fetch({ limit: 5 })).size).toBe(2);
  expect(refusedViolations()).toEqual([]);
});

test("discord.js registers a command, hears it run and answers it", async () => {
  await client.application.commands.set([{ name: "status", description: "How it is" }]);
  const heard = once(client, Events.InteractionCreate);
  const id = fake.as("42").runs("status", { channel: "501" });
  const [interaction] = await heard;
  await interaction.deferReply();
  await interaction.editReply("fine");
  expect([interaction.commandName, interaction.user.id, fake.interaction(id).state]).toEqual([
    "status",
    "42",
    "answered",
  ]);
  expect(fake.visible("501")).toMatchObject([{ text: "fine", byBot: true }]);
  expect(refusedViolations()).toEqual([]);
});

test("discord.js resumes after a lost connection and misses nothing", async () => {
  const alice = fake.as("42");
  const first = nextMessage();
  alice.says("one");
  expect((await first).channel.type).toBe(ChannelType.DM);
  const second = nextMessage();
  fake.gateway.drop();
  alice.says("two");
  expect((await second).content).toBe("two");
  expect(fake.gateway.steps("identify")).toHaveLength(1);
  expect(fake.gateway.steps("resume")).toHaveLength(1);
});

test("as a program it says where it listens, takes any token and obeys over HTTP", async () => {
  const main = fileURLToPath(new URL("../../src/discord/main.ts", import.meta.url));
  const program = spawn(process.execPath, [main, "--port", "0"]);
  const [line] = (await once(program.stdout, "data")) as [Buffer];
  const apiRoot = /http:\S+/.exec(line.toString())?.[0] ?? "";
  const ask = async (method: string, path: string, body?: object): Promise<any> => {
    const response = await fetch(`${apiRoot.replace(/\/api$/, "")}/_control/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return await response.json();
  };
  const bot = await ask("POST", "bot", { token: "any.token.here" });
  const me = await fetch(`${apiRoot}/v10/users/@me`, { headers: { authorization: "Bot any.token.here" } });
  expect(await me.json()).toMatchObject({ id: bot.id, bot: true });
  const { guild } = await ask("POST", "guild", { name: "Home" });
  const { channel } = await ask("POST", "channel", { guild, kind: "forum" });
  const post = await ask("POST", "post", {
    user: "42",
    name: "Alice",
    channel,
    title: "Why",
    text: "Because",
    files: [{ name: "a.txt", text: "x" }],
  });
  await ask("POST", "react", { user: "43", channel: post.id, message: post.id, emoji: "👍" });
  expect(await ask("GET", `messages?channel=${channel}`)).toMatchObject([
    { from: "Alice", text: "Because", thread: { title: "Why" }, files: ["a.txt"], reactions: ["👍"] },
  ]);
  expect(await ask("POST", "gateway", { do: "refuseResume", with: [3] })).toEqual({});
  expect(await ask("POST", "say", { user: "42", channel: "1" })).toMatchObject({
    error: expect.stringContaining("there is no channel 1"),
  });
  expect(await ask("GET", "calls?route=GET /users/@me")).toHaveLength(1);
  expect(await ask("GET", "violations")).toEqual([]);
  const ended = once(program, "exit");
  program.kill("SIGTERM");
  expect((await ended)[0]).toBe(0);
});
