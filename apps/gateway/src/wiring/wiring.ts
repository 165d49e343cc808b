// Chooses concrete drivers, and is the only file that names them: config in, ports out. Its factories load
// heavy SDKs when they are called.
import { homedir, platform } from "node:os";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  discord,
  discordActions,
  discordCapabilities,
  telegram,
  telegramActions,
  telegramCapabilities,
  webCapabilities,
  type WebFiles,
  webChannel,
  type Channel,
  type TelegramChannel,
  type WebChannel,
  type WebhookHandler,
} from "@parley/channels";
import type { Redaction } from "@parley/agent";
import {
  secretValues,
  type Config,
  type DiscordAccountConfig,
  type Env,
  type TelegramAccountConfig,
} from "@parley/config";
import type { Listener } from "@parley/media";
import {
  levelsOfEfforts,
  modelsFrom,
  transcriber,
  type Models,
  type ModelsOptions,
  type Transcribe,
} from "@parley/models";
import { accountKey, Fault, isFault, type Clock, type Ids, type Log } from "@parley/protocol";
import type { Store } from "@parley/store";
import { rehearsalTools, type Tool } from "@parley/tools";
import type { Hub } from "@parley/control";
import { knownCommands, tellingCommands } from "../commands/parse-command.ts";
import { firstBot, type MigratedChats } from "@parley/access";
import {
  extensionOf,
  mediaFolder,
  type MediaHandling,
  type FileOrigins,
  skillRegistry,
  type SkillRegistry,
} from "@parley/runner";
import { unopenedChannel } from "./unopened-channel.ts";
import { hookRegistry, type HookRegistry, type HookRegistryOptions } from "../hooks/hook-registry.ts";
import { hooksFolder, skillsFolder } from "../installation.ts";

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

/** `cacheSecret`: see `ModelsOptions`. */
export function wireModels(
  config: Config,
  folder: string,
  clock: Clock,
  log: Log,
  cacheSecret?: string,
): Models {
  const secret = cacheSecret === undefined ? {} : { cacheSecret };
  return modelsFrom({
    providers: providersOf(config),
    readImage: (path) => readFile(join(folder, path)),
    ...secret,
    clock,
    log,
  });
}

/** Throws Fault("invalid") when the provider that shall transcribe voice messages is unknown. */
export function wireMedia(
  config: Config,
  folder: string,
  { pictures, env, clock }: Pick<MediaHandling, "pictures"> & { readonly env: Env; readonly clock: Clock },
): MediaHandling {
  const { transcribe: model, cli } = config.messages.audio;
  const ways = [
    ...(model === undefined ? [] : [transcriber({ model, providers: providersOf(config), clock })]),
    ...(cli === undefined ? [] : [transcribeByProgram(cli, env, clock)]),
  ];
  const heard = inTurn(ways);
  return {
    folder: mediaFolder(folder),
    pictures,
    transcribe: heard === undefined ? undefined : asEverybodyTakesIt(heard),
  };
}

/** A browser's recording goes to services and programs as the Ogg Opus that they know from platforms. */
function asEverybodyTakesIt(transcribe: Transcribe): Transcribe {
  return async (speech, signal) => {
    const { knownSound } = await import("@parley/media");
    return transcribe(knownSound(speech.bytes) ?? speech, signal);
  };
}

/** The next way is tried when one fails; undefined where there is none. */
function inTurn(ways: readonly Transcribe[]): Transcribe | undefined {
  const [first, ...others] = ways;
  const next = others.length === 0 ? undefined : inTurn(others);
  if (first === undefined || next === undefined) return first;
  return async (speech, signal) => {
    try {
      return await first(speech, signal);
    } catch (error) {
      if (signal.aborted || !isFault(error)) throw error;
      return next(speech, signal);
    }
  };
}

function transcribeByProgram(
  { command, args }: { readonly command: string; readonly args: readonly string[] },
  env: Env,
  clock: Clock,
): Transcribe {
  const known = Object.entries(env).flatMap(([name, value]) =>
    programEnv.includes(name) && value !== undefined ? [[name, value] as const] : [],
  );
  let opened: Promise<Listener> | null = null;
  return async ({ bytes }, signal) => {
    opened ??= import("@parley/media").then(({ listener }) =>
      listener({ command, args, env: Object.fromEntries(known), clock }),
    );
    return (await opened).hear(bytes, signal);
  };
}

/** Of the environment, what a program for speech is told. */
const programEnv = ["PATH", "HOME", "LANG"];

function providersOf(config: Config): ModelsOptions["providers"] {
  return Object.fromEntries(
    Object.entries(config.models.providers).map(
      ([name, { apiKey, headers = {}, timers = {}, models, ...rest }]) => [
        name,
        {
          ...rest,
          ...(apiKey === undefined ? {} : { apiKey: apiKey.reveal() }),
          headers: Object.fromEntries(
            Object.entries(headers).map(([header, value]) => [header, value.reveal()]),
          ),
          timers: Object.fromEntries(
            Object.entries(timers).map(([timer, seconds]) => [
              timer.replace("Seconds", "Ms"),
              seconds * 1_000,
            ]),
          ),
          models: models.map(({ compat, ...model }) => ({
            ...model,
            ...(compat?.supportedReasoningEfforts === undefined
              ? {}
              : { thinking: levelsOfEfforts(compat.supportedReasoningEfforts) }),
          })),
        },
      ],
    ),
  );
}

/** Returns the tools of this build. The rehearsal tools come with the rehearsal model only. */
export function wireTools(config: Config, clock: Clock, path: string): readonly Tool[] {
  return config.tools.rehearsal ? rehearsalTools(clock, path) : [];
}

export function wireSkills(
  config: Config,
  home: string,
  env: Env,
  origins?: Pick<FileOrigins, "of">,
): SkillRegistry {
  return skillRegistry({
    config,
    home,
    bundled: skillsFolder,
    env,
    userHome: homedir(),
    platform: platform(),
    reservedCommands: knownCommands(),
    origins,
  });
}

export function wireHooks(
  config: Config,
  { home, configPath, env, clock }: Pick<HookRegistryOptions, "home" | "configPath" | "env" | "clock">,
): HookRegistry {
  return hookRegistry({ config, configPath, home, bundled: hooksFolder, env, platform: platform(), clock });
}

/**
 * Hides the state folder under every name that a model may have learnt for it. `learnt`: secrets that became
 * known while the daemon runs; the same list until there is another.
 */
export function wireRedaction(
  config: Config,
  home: string,
  tokens: readonly string[],
  learnt: () => readonly string[],
): Redaction {
  const userHome = homedir();
  const spellings = (path: string): string[] => [
    path,
    ...(path.startsWith(`${userHome}/`) ? [`~${path.slice(userHome.length)}`] : []),
  ];
  const known = [...secretValues(config), ...tokens];
  let [last, all] = [[] as readonly string[], known];
  return {
    get secrets() {
      const now = learnt();
      if (now !== last) [last, all] = [now, [...known, ...now]];
      return all;
    },
    stateDirs: spellings(home),
    workspaces: config.agents.list.flatMap((agent) => spellings(agent.workspace)),
  };
}
