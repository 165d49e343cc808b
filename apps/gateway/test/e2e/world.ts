// A whole small world for one test: fake Telegram, fake model servers, and a daemon between them.
import {
  fakeModels,
  fakeTelegram,
  type FakeModels,
  type FakeTelegram,
  type VisibleMessage,
} from "@parley/testkit";
import { eventually, startDaemon, type Daemon } from "./daemon.ts";

export interface World {
  readonly telegram: FakeTelegram;
  readonly models: FakeModels;
  /**
   * The config that points a daemon at the fakes: everybody may write, nothing is paced, nothing is streamed.
   */
  readonly config: { readonly [key: string]: unknown };
  start(more?: {
    readonly home?: string;
    readonly config?: object;
    readonly under?: readonly string[];
    readonly nodeArgs?: readonly string[];
    readonly fromSources?: boolean;
  }): Promise<Daemon>;
  /** What the bot shows in a chat. */
  answers(chat: number): readonly VisibleMessage[];
  /** Waits until the bot shows `count` messages in a chat, and returns their texts. */
  answered(chat: number, count: number, withinMs?: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function world(telegramConfig: object = {}): Promise<World> {
  const [telegram, models] = await Promise.all([fakeTelegram(), fakeModels()]);
  const bot = telegram.bot();
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
      telegram: {
        botToken: bot.token,
        apiRoot: telegram.url,
        dmPolicy: "open",
        allowFrom: ["*"],
        pacing: "off",
        streaming: "off",
        ...telegramConfig,
      },
    },
  };
  const answers = (chat: number): readonly VisibleMessage[] =>
    telegram.visible(chat).filter((message) => message.byBot);
  return {
    telegram,
    models,
    config,
    start: (more = {}) => startDaemon({ ...more, config: { ...config, ...more.config } }),
    answers,
    async answered(chat, count, withinMs = 10_000) {
      await eventually(() => answers(chat).length >= count, withinMs, `answer ${count} in chat ${chat}`);
      return answers(chat).map((message) => message.text);
    },
    async close() {
      await Promise.all([telegram.close(), models.close()]);
    },
  };
}
