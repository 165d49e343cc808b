// A Discord channel before the strict fake: the channel's clock is virtual, the fake's sockets, windows and
// heartbeats are real.
import { silentLog } from "@parley/protocol";
import {
  defaultDiscordToken,
  type FakeDiscord,
  fakeDiscord,
  type FakeDiscordOptions,
  seededIds,
  virtualClock,
  type VirtualClock,
} from "@parley/testkit";
import { type Channel, discord, type DiscordMemory, type DiscordOptions } from "@parley/channels";

/** What outlives a channel, as a restart finds it. */
export interface KeptMemory extends DiscordMemory {
  /** Sequence of the last event that was noted as accepted. */
  sequence(): number;
}

export interface Rig {
  readonly fake: FakeDiscord;
  readonly channel: Channel;
  readonly clock: VirtualClock;
  readonly memory: KeptMemory;
  readonly guild: string;
  /** A text channel of the guild. */
  readonly room: string;
  open(options?: Partial<DiscordOptions>): Promise<Channel>;
  close(): Promise<void>;
}

export const alice = { id: "100000000000000042", name: "Alice" };
export const dm = { channel: "discord", account: "default", kind: "dm", peer: alice.id } as const;

export function keptMemory(): KeptMemory {
  const notes = new Map<string, string>();
  return {
    load: async (name) => notes.get(name) ?? null,
    save: async (name, text) => void notes.set(name, text),
    sequence: () =>
      (JSON.parse(notes.get("session") ?? "{}") as { readonly sequence?: number }).sequence ?? 0,
  };
}

export async function discordRig(
  options: Partial<DiscordOptions> = {},
  fakeOptions: FakeDiscordOptions = {},
): Promise<Rig> {
  const fake = await fakeDiscord({ rateLimits: false, ...fakeOptions });
  fake.bot();
  const guild = fake.guild({ name: "Tea House" });
  const room = fake.channel({ guild, name: "general" });
  const clock = virtualClock({ startMs: Date.now() });
  const memory = keptMemory();
  const opened: Channel[] = [];
  const open = async (more: Partial<DiscordOptions> = {}): Promise<Channel> => {
    const channel = await discord({
      account: "default",
      token: defaultDiscordToken,
      apiRoot: fake.apiRoot,
      mediaFolder: import.meta.dirname,
      memory,
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
    memory,
    guild,
    room,
    open,
    async close() {
      await Promise.all(opened.map((channel) => channel.stop()));
      await fake.close();
    },
  };
}
