// A small world with Discord in it: the strict fake, fake model servers, and a daemon between them.
import {
  fakeDiscord,
  fakeModels,
  type DiscordVisible,
  type FakeDiscord,
  type FakeDiscordOptions,
  type FakeModels,
} from "@parley/testkit";
import { eventually, startDaemon, type Daemon } from "./daemon.ts";

export interface DiscordWorld {
  readonly discord: FakeDiscord;
  readonly models: FakeModels;
  /** The config that points a daemon at the fakes: everybody may write, nothing is paced or streamed. */
  readonly config: { readonly [key: string]: unknown };
  start(more?: {
    readonly home?: string;
    readonly config?: object;
    readonly env?: { readonly [name: string]: string };
    readonly fromSources?: boolean;
  }): Promise<Daemon>;
  /** What the bot shows in a channel. */
  answers(channel: string): readonly DiscordVisible[];
  /** Waits until the bot shows `count` whole messages in a channel, and returns their texts. */
  answered(channel: string, count: number, withinMs?: number): Promise<readonly string[]>;
  /** Waits until the bot hears. */
  live(): Promise<void>;
  close(): Promise<void>;
}

export async function discordWorld(
  settings: object = {},
  fake: FakeDiscordOptions = {},
): Promise<DiscordWorld> {
  const [discord, models] = await Promise.all([fakeDiscord({ rateLimits: false, ...fake }), fakeModels()]);
  const { token } = discord.bot();
  const config = {
    models: {
      providers: {
        fake: {
          api: "openai-completions",
          baseUrl: `${models.url}/v1`,
          apiKey: "test-key",
          models: [{ id: "m1" }],
        },
      },
    },
    agents: { defaults: { model: { primary: "fake/m1" } } },
    channels: {
      discord: {
        token,
        apiRoot: discord.apiRoot,
        dmPolicy: "open",
        allowFrom: ["*"],
        groupPolicy: "open",
        pacing: "off",
        ...settings,
      },
    },
  };
  const answers = (channel: string): readonly DiscordVisible[] =>
    discord
      .visible(channel)
      .filter((message) => message.byBot && message.kind !== "service" && !message.isLoading);
  return {
    discord,
    models,
    config,
    start: (more = {}) => startDaemon({ ...more, config: { ...config, ...more.config } }),
    answers,
    async answered(channel, count, withinMs = 15_000) {
      await eventually(
        () => answers(channel).length >= count,
        withinMs,
        `answer ${count} in channel ${channel}`,
      );
      return answers(channel).map((message) => message.text);
    },
    async live() {
      await eventually(
        () => discord.gateway.sessions().some((session) => session.isConnected),
        15_000,
        "a session with the gateway",
      );
    },
    async close() {
      await Promise.all([discord.close(), models.close()]);
    },
  };
}
