// Makes the channels of the config's accounts, and makes one anew when its settings change. It is the only
// file that names drivers of platforms; their heavy SDKs are loaded when a factory is called.
import { type MigratedChats, firstBot } from "@parley/access";
import {
  type Channel,
  type WebChannel,
  type WebhookHandler,
  type WebFiles,
  webChannel,
  telegramCapabilities,
  telegramActions,
  discordCapabilities,
  discordActions,
  webCapabilities,
  type TelegramChannel,
  telegram,
  discord,
} from "@parley/channels";
import type { Config, TelegramAccountConfig, DiscordAccountConfig } from "@parley/config";
import type { Hub } from "@parley/control";
import { type Clock, type Ids, type Log, accountKey, Fault, isFault } from "@parley/protocol";
import { mediaFolder, extensionOf } from "@parley/runner";
import type { Store } from "@parley/store";
import { readFile } from "node:fs/promises";
import { join, basename } from "node:path";
import { tellingCommands, knownCommands } from "../commands/parse-command.ts";
import { unopenedChannel } from "./unopened-channel.ts";

export interface WiringPorts {
  readonly config: Config;
  readonly store: Store;
  readonly hub: Hub;
  /** The folder of deliveries' files, named by their content. */
  readonly mediaFolder: string;
  readonly moved: Pick<MigratedChats, "learn">;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export const webAccount = "default";

export interface Wired {
  /** Keyed by `<channel>:<account>`. */
  readonly channels: ReadonlyMap<string, Channel>;
  readonly web: WebChannel;
  /** Handlers of Telegram accounts in webhook mode, by account. */
  readonly webhooks: ReadonlyMap<string, WebhookHandler>;
  /**
   * Replaces a channel, because a stopped one cannot start again. Null where this config, or the last one,
   * has no such account.
   */
  renew(account: string, config?: Config): Promise<Channel | null>;
}

/**
 * Returns the settings behind each account's channel, so that a reload can keep unchanged channels. Contains
 * secrets.
 */
export function connections({ channels }: Config): ReadonlyMap<string, string> {
  const telegram = Object.entries(channels.telegram).map(
    ([account, { botToken, apiRoot, proxy, webhook }]): [string, unknown] => [
      accountKey({ channel: "telegram", account }),
      [botToken.reveal(), apiRoot, proxy?.reveal(), webhook?.url, webhook?.secret.reveal()],
    ],
  );
  const discords = Object.entries(channels.discord).map(
    ([account, { token, apiRoot, messageContent, suppressEmbeds, ephemeral }]): [string, unknown] => [
      accountKey({ channel: "discord", account }),
      [token.reveal(), apiRoot, messageContent, suppressEmbeds, ephemeral],
    ],
  );
  const web: [string, unknown][] = channels.web.enabled
    ? [[accountKey({ channel: "web", account: webAccount }), []]]
    : [];
  return new Map(
    [...telegram, ...discords, ...web].map(([account, made]) => [account, JSON.stringify(made)]),
  );
}

/** Files that people send from the page, beside those of other channels and as long as those. */
function webFiles(folder: string): WebFiles {
  const kept = mediaFolder(folder);
  return {
    keep: (bytes, name) => kept.keep(bytes, extensionOf(name)),
    async read(ref) {
      try {
        return await readFile(join(folder, basename(ref)));
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause;
        throw new Fault("missing", "the file is not kept any more", { cause });
      }
    },
  };
}

export async function wireChannels(ports: WiringPorts): Promise<Wired> {
  const { config, store, hub, clock } = ports;
  const channels = new Map<string, Channel>();
  const webhooks = new Map<string, WebhookHandler>();
  const web = webChannel({
    account: webAccount,
    clock,
    files: webFiles(ports.mediaFolder),
    async publish(stream, id, message) {
      const seq = await store.events.append(stream, id, JSON.stringify(message));
      hub.appended(stream);
      return seq;
    },
  });
  async function made(account: string, settings: Config["channels"]): Promise<Channel | null> {
    const [name, id = ""] = account.split(":");
    if (name === "web") return settings.web.enabled ? web : null;
    const [onTelegram, onDiscord] = [settings.telegram[id], settings.discord[id]];
    if (name === "discord" && onDiscord !== undefined) return wireDiscord(id, onDiscord, ports);
    if (name !== "telegram") return null;
    const channel = onTelegram === undefined ? null : await wireTelegram(id, onTelegram, ports);
    if (channel?.webhook === undefined) webhooks.delete(id);
    else webhooks.set(id, channel.webhook);
    return channel;
  }

  let latest = config;
  async function renew(account: string, now: Config = latest): Promise<Channel | null> {
    latest = now;
    const channel = await made(account, now.channels);
    if (channel === null) channels.delete(account);
    else channels.set(account, channel);
    return channel;
  }

  for (const account of connections(config).keys()) await renew(account);
  return { channels, web, webhooks, renew };
}

/** Returns every account's channel, by `<channel>:<account>`, unopened: it receives and sends nothing. */
export function unopenedChannels({ channels }: Config): ReadonlyMap<string, Channel> {
  const cause = new Fault("unavailable", "no gateway is running");
  const made = (
    surface: Pick<Channel, "name" | "capabilities" | "actions">,
    accounts: readonly string[],
  ): [string, Channel][] =>
    accounts.map((account) => [
      accountKey({ channel: surface.name, account }),
      unopenedChannel(surface, account, cause),
    ]);
  return new Map([
    ...made(
      { name: "telegram", capabilities: telegramCapabilities, actions: telegramActions },
      Object.keys(channels.telegram),
    ),
    ...made(
      { name: "discord", capabilities: discordCapabilities, actions: discordActions },
      Object.keys(channels.discord),
    ),
    ...made({ name: "web", capabilities: webCapabilities }, channels.web.enabled ? [webAccount] : []),
  ]);
}

async function wireTelegram(
  account: string,
  settings: TelegramAccountConfig,
  ports: WiringPorts,
): Promise<TelegramChannel> {
  const { store, mediaFolder, moved, clock, ids, log } = ports;
  const { botToken, apiRoot, proxy, webhook } = settings;
  const own = log.child({ channel: "telegram", account });
  try {
    return await telegram({
      account,
      token: botToken.reveal(),
      apiRoot,
      ...(proxy === undefined ? {} : { proxy: proxy.reveal() }),
      mediaFolder,
      ...(webhook === undefined ? {} : { webhook: { url: webhook.url, secret: webhook.secret.reveal() } }),
      firstBot: firstBot(store.cells, account),
      async onMigration({ fromChat, toChat }) {
        await moved.learn({ channel: "telegram", account }, fromChat, toChat);
        own.info({ fromChat, toChat }, "a group became a supergroup: its conversation and its rules go on");
      },
      clock,
      ids,
      log: own,
    });
  } catch (error) {
    if (!isFault(error, "invalid")) throw error;
    return unopenedChannel({ name: "telegram", capabilities: telegramCapabilities }, account, error);
  }
}

async function wireDiscord(
  account: string,
  settings: DiscordAccountConfig,
  ports: WiringPorts,
): Promise<Channel> {
  const { store, mediaFolder, clock, ids, log } = ports;
  const { token, apiRoot, messageContent, suppressEmbeds, ephemeral } = settings;
  const cell = (name: string): string => `discord:${account}:${name}`;
  try {
    return await discord({
      account,
      token: token.reveal(),
      apiRoot,
      mediaFolder,
      messageContent,
      suppressEmbeds,
      quietCommands: ephemeral === undefined ? tellingCommands : ephemeral ? knownCommands() : [],
      memory: {
        load: async (name) => (await store.cells.get(cell(name)))?.value ?? null,
        save: async (name, text) => void (await store.cells.put(cell(name), text, {})),
      },
      clock,
      ids,
      log: log.child({ channel: "discord", account }),
    });
  } catch (error) {
    if (!isFault(error, "invalid")) throw error;
    return unopenedChannel({ name: "discord", capabilities: discordCapabilities }, account, error);
  }
}
