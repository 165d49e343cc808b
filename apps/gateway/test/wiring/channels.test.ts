// What makes an account's channel another one, and channels that are not opened.
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secret } from "@parley/config";
import { Fault, silentLog, type Inbound } from "@parley/protocol";
import { fakeDiscord, fakeTelegram, seededIds, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { saidLog } from "../daemon/said-log.ts";
import { memoryStore } from "../receive/store.ts";
import { connections, unopenedChannels, wireChannels } from "../../src/wiring/channels.ts";
import { unopenedChannel } from "../../src/wiring/unopened-channel.ts";

const telegram = { botToken: secret("1:a"), apiRoot: "https://t" };
const discord = { token: secret("d"), apiRoot: "https://d", messageContent: true, suppressEmbeds: true };
const config = (channels: object) =>
  ({ channels: { telegram: {}, discord: {}, web: { enabled: false }, ...channels } }) as never;
const signal = new AbortController().signal;

test("an account's channel is the same until something that it is made of changes", () => {
  const made = (channels: object) => Object.fromEntries(connections(config(channels)));
  const ofTelegram = (more: object) =>
    made({ telegram: { work: { ...telegram, ...more } } })["telegram:work"];
  const ofDiscord = (more: object) => made({ discord: { work: { ...discord, ...more } } })["discord:work"];
  expect(ofTelegram({ dmPolicy: "open", botToken: secret("1:a") })).toBe(ofTelegram({}));
  expect(ofDiscord({ dmPolicy: "open", token: secret("d") })).toBe(ofDiscord({}));
  const others = [
    ...[
      { botToken: secret("1:b") },
      { apiRoot: "https://u" },
      { proxy: secret("http://p") },
      { webhook: { url: "https://h", secret: secret("s") } },
      { webhook: { url: "https://i", secret: secret("s") } },
      { webhook: { url: "https://h", secret: secret("r") } },
      {},
    ].map(ofTelegram),
    ...[
      { token: secret("e") },
      { apiRoot: "https://e" },
      { messageContent: false },
      { suppressEmbeds: false },
      { ephemeral: true },
      { ephemeral: false },
      {},
    ].map(ofDiscord),
  ];
  expect(new Set(others).size).toBe(others.length);
  const all = {
    telegram: { default: telegram, work: telegram },
    discord: { default: discord },
    web: { enabled: true },
  };
  expect([Object.keys(made(all)), Object.keys(made({}))]).toEqual([
    ["telegram:default", "telegram:work", "discord:default", "web:default"],
    [],
  ]);
});

test("the web's channel comes and goes with the config, and is the same one", async () => {
  const on = config({ web: { enabled: true } });
  const wired = await wireChannels({ config: config({}), mediaFolder: "/nowhere" } as never);
  expect([...wired.channels.keys()]).toEqual([]);
  expect(await wired.renew("web:default", on)).toBe(wired.web);
  expect([...wired.channels]).toEqual([["web:default", wired.web]]);
  // Without a config the last one counts.
  expect(await wired.renew("web:default")).toBe(wired.web);
  for (const unknown of ["telegram:gone", "discord:gone", "other:default"])
    expect(await wired.renew(unknown)).toBeNull();
  expect(await wired.renew("web:default", config({}))).toBeNull();
  expect([...wired.channels.keys()]).toEqual([]);
});

test("an account whose token is none is down with the reason, beside the others; a webhook is there as long as its account has one", async () => {
  const all = {
    telegram: {
      bad: { ...telegram, botToken: secret("no token") },
      work: { ...telegram, webhook: { url: "https://h.test/x", secret: secret("s") } },
      plain: telegram,
    },
    discord: { bad: { ...discord, token: secret("") } },
    web: { enabled: true },
  };
  const wired = await wireChannels({
    config: config(all),
    mediaFolder: "/nowhere",
    store: { cells: {} },
    clock: virtualClock(),
    ids: seededIds(1),
    log: silentLog,
  } as never);
  const shown = () =>
    [...wired.channels].map(([key, channel]) => [key, channel.name, channel.account, channel.health().state]);
  expect(shown()).toEqual([
    ["telegram:bad", "telegram", "bad", "down"],
    ["telegram:work", "telegram", "work", "starting"],
    ["telegram:plain", "telegram", "plain", "starting"],
    ["discord:bad", "discord", "bad", "down"],
    ["web:default", "web", "default", "stopped"],
  ]);
  expect([...wired.webhooks.keys()]).toEqual(["work"]);
  expect(wired.channels.get("telegram:bad")?.health()).toEqual({
    state: "down",
    reason: 'the token of Telegram account "bad" has characters that no token has',
  });
  expect(wired.channels.get("discord:bad")?.health()).toEqual({
    state: "down",
    reason: 'the token of Discord account "bad" is empty or has spaces in it',
  });
  const before = wired.channels.get("telegram:work");
  const fresh = await wired.renew("telegram:work", config({ ...all, telegram: { work: telegram } }));
  expect(fresh).not.toBe(before);
  expect([...wired.webhooks.keys()]).toEqual([]);
  await wired.renew("telegram:work", config(all));
  expect([...wired.webhooks.keys()]).toEqual(["work"]);
  expect(await wired.renew("telegram:work", config({}))).toBeNull();
  expect([[...wired.webhooks.keys()], wired.channels.has("telegram:work")]).toEqual([[], false]);
});

test("without a daemon each account is known with what its platform can, and receives and sends nothing", async () => {
  const channels = unopenedChannels(
    config({
      telegram: { default: telegram, work: telegram },
      discord: { default: discord },
      web: { enabled: true },
    }),
  );
  expect(
    [...channels].map(([key, { name, account, actions }]) => [
      key,
      name,
      account,
      (actions ?? []).length > 0,
    ]),
  ).toEqual([
    ["telegram:default", "telegram", "default", true],
    ["telegram:work", "telegram", "work", true],
    ["discord:default", "discord", "default", true],
    ["web:default", "web", "default", false],
  ]);
  expect([...unopenedChannels(config({})).keys()]).toEqual([]);
});

test("a channel that is not opened says why, refuses what it should send, and ends without trouble", async () => {
  const cause = new Fault("invalid", "the token has no form of one");
  const can = { name: "telegram", capabilities: { inlineButtons: true } } as never as { name: "telegram" };
  const channel = unopenedChannel(can as never, "work", cause);
  expect(channel.health()).toEqual({ state: "down", reason: "the token has no form of one" });
  await expect(channel.start({} as never)).rejects.toBe(cause);
  await expect(channel.send({} as never, {} as never, {} as never)).rejects.toMatchObject({
    code: "unavailable",
    message: "the account is not open: the token has no form of one",
  });
  await channel.stop();
  expect(channel).not.toHaveProperty("act");
  const acting = unopenedChannel({ ...can, actions: ["react"] } as never, "work", cause);
  await expect(acting.act?.({} as never, {} as never, { idempotencyKey: "a", signal })).rejects.toMatchObject(
    {
      code: "unavailable",
    },
  );
});

test("a Telegram account is opened with its own token and address; its first bot is remembered, and a group that moves is learnt for it", async () => {
  const fake = await fakeTelegram();
  onTestFinished(() => fake.close());
  const own = `700:${"w".repeat(35)}`;
  const hooked = `800:${"h".repeat(35)}`;
  const bot = fake.bot(own);
  fake.bot(hooked);
  const clock = virtualClock({ startMs: Date.now() });
  const store = await memoryStore(clock);
  onTestFinished(store.close);
  const { log, said } = saidLog();
  const learnt: unknown[] = [];
  const { channels } = await wireChannels({
    config: config({
      telegram: {
        work: { botToken: secret(own), apiRoot: fake.url },
        hooked: {
          botToken: secret(hooked),
          apiRoot: fake.url,
          webhook: { url: "https://h.test/hook", secret: secret("s-of-the-hook") },
        },
      },
    }),
    mediaFolder: "/nowhere",
    store,
    moved: { learn: async (...what: readonly unknown[]) => void learnt.push(what) },
    clock,
    ids: seededIds(1),
    log,
  } as never);
  const channel = channels.get("telegram:work");
  if (channel === undefined) throw new Error("there is one");
  onTestFinished(() => channel.stop());
  const got: unknown[] = [];
  await channel.start(async (events) => void got.push(...events));
  const group = fake.group({ type: "group" });
  const moved = fake.upgrade(group);
  fake.as(7, own).says("hello");
  await expect.poll(() => got.length).toBeGreaterThan(0);
  await expect.poll(() => learnt.length).toBeGreaterThan(0);
  expect(learnt[0]).toEqual([{ channel: "telegram", account: "work" }, `${group}`, `${moved}`]);
  expect(said).toContainEqual([
    "info",
    "a group became a supergroup: its conversation and its rules go on",
    { channel: "telegram", account: "work", fromChat: `${group}`, toChat: `${moved}` },
  ]);
  expect((await store.cells.get("telegram:work:first-bot"))?.value).toBe(`${bot.id}`);
  const byHook = channels.get("telegram:hooked");
  onTestFinished(() => byHook?.stop());
  await byHook?.start(async () => {});
  await expect.poll(() => fake.calls("setWebhook").length).toBe(1);
  expect(fake.calls("setWebhook")[0]).toMatchObject({
    token: hooked,
    params: { url: "https://h.test/hook", secret_token: "s-of-the-hook" },
  });
  expect(fake.violations()).toEqual([]);
});

test.each<[boolean | undefined, readonly string[]]>([
  [undefined, ["status"]],
  [true, ["status", "new"]],
  [false, []],
])(
  "with ephemeral %j a Discord account shows of its commands to their givers alone: %j",
  async (ephemeral, quiet) => {
    const fake = await fakeDiscord({ rateLimits: false });
    onTestFinished(() => fake.close());
    const { token } = fake.bot();
    const room = fake.channel({ guild: fake.guild({ name: "Tea House" }), name: "general" });
    const clock = virtualClock({ startMs: Date.now() });
    const store = await memoryStore(clock);
    onTestFinished(store.close);
    const { channels } = await wireChannels({
      config: config({
        discord: {
          work: {
            token: secret(token),
            apiRoot: fake.apiRoot,
            messageContent: true,
            suppressEmbeds: true,
            ...(ephemeral === undefined ? {} : { ephemeral }),
          },
        },
      }),
      mediaFolder: "/nowhere",
      store,
      clock,
      ids: seededIds(1),
      log: silentLog,
    } as never);
    const channel = channels.get("discord:work");
    if (channel === undefined) throw new Error("there is one");
    onTestFinished(() => channel.stop());
    const commands = ["status", "new"];
    const to = { channel: "discord", account: "work", kind: "channel", peer: room } as const;
    await channel.act?.(
      to,
      { kind: "setCommands", commands: commands.map((name) => ({ name, description: "It does something" })) },
      { idempotencyKey: "menu", signal },
    );
    const got: unknown[] = [];
    await channel.start(async (events) => void got.push(...events));
    const person = fake.as({ id: "100000000000000042", name: "Alice" });
    const shown = commands.map((name) => ({ name, id: person.runs(name, { channel: room }) }));
    await expect.poll(() => shown.every(({ id }) => fake.interaction(id).state === "deferred")).toBe(true);
    const isQuiet = (id: string): boolean =>
      (((fake.interaction(id).response as { data?: { flags?: number } } | null)?.data?.flags ?? 0) & 64) !==
      0;
    expect(shown.filter(({ id }) => isQuiet(id)).map(({ name }) => name)).toEqual(quiet);
    // What it has to know after a restart stands in the store, under its own name.
    await expect.poll(() => got.length).toBe(2);
    const kept = (await store.cells.list("discord:", 50)).map(({ key }) => key);
    expect(kept).toContain("discord:work:interactions");
    expect(kept.filter((key) => !key.startsWith("discord:work:"))).toEqual([]);
    expect(fake.violations()).toEqual([]);
  },
);

test("what the page's channel publishes is stored and told to who follows; its files lie beside those of other channels", async () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-web-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = virtualClock();
  const store = await memoryStore(clock);
  onTestFinished(store.close);
  const told: string[] = [];
  const { web } = await wireChannels({
    config: config({ web: { enabled: true } }),
    mediaFolder: folder,
    store,
    hub: { appended: (stream: string) => void told.push(stream) },
    clock,
    ids: seededIds(1),
    log: silentLog,
  } as never);
  onTestFinished(() => web.stop());
  expect([web.name, web.account]).toEqual(["web", "default"]);
  const events: Inbound[] = [];
  await web.start(
    async (batch) => void events.push(...batch.flatMap((event) => ("address" in event ? [event] : []))),
  );
  const bytes = Buffer.from("a list of teas");
  const address = { channel: "web", account: "default", kind: "dm", peer: "web-ann" } as const;
  const said = { id: "web-ann:1", address, senderName: "Ann", text: "see" };
  await web.submit({ ...said, files: [{ name: "Teas.TXT", bytes }] });
  const ref = `${createHash("sha256").update(bytes).digest("hex")}.txt`;
  expect(events[0]?.attachments).toEqual([{ kind: "file", ref, name: "Teas.TXT", bytes: 14 }]);
  expect(readFileSync(join(folder, ref), "utf8")).toBe("a list of teas");
  expect(await web.download?.(ref, 14, signal)).toEqual({ bytes });
  // A reference is a name in that folder, whatever stands before it.
  expect(await web.download?.(`../elsewhere/${ref}`, 14, signal)).toEqual({ bytes });
  await expect(web.download?.("gone.txt", 14, signal)).rejects.toMatchObject({
    code: "missing",
    message: "the file is not kept any more",
  });
  await expect(web.download?.(".", 14, signal)).rejects.toMatchObject({ code: "EISDIR" });
  const stream = "web:default:dm:web-ann";
  const { messageId } = await web.send(address, { kind: "text", text: "<p>yes</p>", plain: "yes" } as never, {
    idempotencyKey: "answer",
    signal,
  });
  expect([messageId, told]).toEqual(["answer", [stream, stream]]);
  const stored = await store.events.newest(stream, 9);
  expect(stored.map(({ seq, body }) => [seq, JSON.parse(body)])).toMatchObject([
    [1, { id: "web:default:web-ann:1", role: "user", text: "see", files: [{ name: "Teas.TXT", bytes: 14 }] }],
    [2, { id: "answer", role: "assistant", text: "yes", html: "<p>yes</p>" }],
  ]);
});
