// What makes an account's channel another one, and channels that are not opened.
import { secret } from "@parley/config";
import { Fault, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
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
