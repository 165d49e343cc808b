// A Telegram channel before the strict fake: the channel's clock is virtual, the fake's sockets and long
// polls are real.
import { silentLog } from "@parley/protocol";
import {
  defaultToken,
  type FakeTelegram,
  fakeTelegram,
  seededIds,
  virtualClock,
  type VirtualClock,
} from "@parley/testkit";
import { telegram, type TelegramChannel, type TelegramOptions } from "@parley/channels";

export interface Rig {
  readonly fake: FakeTelegram;
  readonly channel: TelegramChannel;
  readonly clock: VirtualClock;
  open(options?: Partial<TelegramOptions>): Promise<TelegramChannel>;
  close(): Promise<void>;
}

export const alice = { id: 42, name: "Alice" };
export const dm = { channel: "telegram", account: "default", kind: "dm", peer: "42" } as const;

export async function telegramRig(options: Partial<TelegramOptions> = {}): Promise<Rig> {
  const fake = await fakeTelegram();
  fake.bot(defaultToken, "parley_bot");
  const clock = virtualClock({ startMs: Date.now() });
  const opened: TelegramChannel[] = [];
  const open = async (more: Partial<TelegramOptions> = {}): Promise<TelegramChannel> => {
    const channel = await telegram({
      account: "default",
      token: defaultToken,
      apiRoot: fake.url,
      mediaFolder: import.meta.dirname,
      clock,
      ids: seededIds(1),
      log: silentLog,
      ...options,
      ...more,
    });
    opened.push(channel);
    return channel;
  };
  return {
    fake,
    channel: await open(),
    clock,
    open,
    async close() {
      await Promise.all(opened.map((channel) => channel.stop()));
      await fake.close();
    },
  };
}
