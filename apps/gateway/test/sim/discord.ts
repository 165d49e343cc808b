// The simulated Discord and its driver. What sets it apart: nothing is confirmed, a driver resumes a session
// behind the last event that it noted, or begins a new one and reads back the history; a nonce stops a repeat
// for a while only, and what we said can be read back; a slash command waits to be filled in.
import type { Channel, Receive, SendOptions } from "@parley/channels";
import {
  conversationKey,
  isFault,
  sleep,
  type Address,
  type Inbound,
  type Receipt,
  type RenderedPart,
} from "@parley/protocol";
import { account, plain, type DriverFlaws } from "./channels.ts";
import type { Life } from "./life.ts";
import type { Offered, Platform } from "./platform.ts";
import type { World } from "./world.ts";

/** What outlives a process: Discord's own knowledge, and the notes that the driver keeps in the store. */
export interface DiscordMemory {
  /** Conversations of which a message was accepted: their history is read back. */
  readonly watched: Set<string>;
  /** Slash commands that show "is thinking", by event id, and the send that may fill each. */
  readonly open: Map<string, { readonly atMs: number; takenBy?: string }>;
  /** Some bots may not read what stands in a channel, also not their own words. */
  readonly isBlind: boolean;
  /** How long a nonce is known. */
  readonly keyLivesMs: number;
  /** How long a slash command can be filled in. */
  readonly tokenMs: number;
}

/** As in life: Discord keeps a nonce for "the past few minutes", and the product trusts it for two. */
const nonceLivesMs = 180_000;

export function discordMemory(
  { draw, plan }: Pick<World, "draw" | "plan">,
  flaws: DriverFlaws,
): DiscordMemory {
  const isBlind = draw("discord is blind") < 0.2;
  // What a paused leader's last request does after its successor looked nobody can see but by its nonce.
  const forgets = plan.nodes === undefined && !isBlind && draw("discord forgets nonces") < 0.4;
  return {
    watched: new Set(),
    open: new Map(),
    isBlind,
    keyLivesMs: forgets || flaws.sendsBlindly === true ? 0 : nonceLivesMs,
    // A blind bot's tokens live: what was filled in and forgotten within two minutes it could neither see nor
    // repeat.
    tokenMs: !isBlind && draw("discord token") < 0.4 ? 3_000 : 14 * 60_000,
  };
}

const retryMs = 1_000;
/** Events that a new session's look at the history brings although they were accepted before. */
const overlap = 3;

export function gatewayChannel(
  world: World,
  life: Life,
  platform: Platform,
  memory: DiscordMemory,
  flaws: DriverFlaws,
): Channel {
  const inFlight = new Set<Promise<unknown>>();
  const { isBlind, tokenMs } = memory;
  /** Slash commands that this process was told of. */
  const arrived = new Map<string, { readonly atMs: number; takenBy?: string }>();
  let stopped = false;

  const accept = async (receive: Receive, events: readonly Inbound[]): Promise<void> => {
    for (const { id, messageId, atMs } of events)
      if (messageId.startsWith("interaction-")) arrived.set(id, memory.open.get(id) ?? { atMs });
    const work = receive(events);
    inFlight.add(work);
    await work.finally(() => inFlight.delete(work));
  };
  const handOver = async (receive: Receive, events: readonly Inbound[], noted: number): Promise<void> => {
    await accept(receive, events);
    // A crash in between: the next process is told all of this again.
    await life.request("discord.note", `noted ${noted}`, () => {
      for (const event of events) {
        const command = arrived.get(event.id);
        if (command !== undefined) memory.open.set(event.id, command);
        else memory.watched.add(conversationKey(event.address));
      }
      platform.confirm(noted + 1);
    });
  };

  /**
   * RESUME tells everything behind the note again; after IDENTIFY the history has messages only, of
   * conversations that we know.
   */
  const connect = async (receive: Receive): Promise<void> => {
    const { harm } = world.harmOf("discord.session");
    await life.request("discord.connect", harm === "gone" ? "identify" : "resume", () => {});
    if (harm !== "gone") return;
    platform.forget(
      ({ inbound }) => inbound.kind !== "message" || !memory.watched.has(conversationKey(inbound.address)),
    );
    const missed = platform.pending();
    const history = [...platform.recent(overlap), ...missed.map(({ inbound }) => inbound)].filter(
      ({ kind }) => kind === "message",
    );
    if (flaws.skipsHistory === true) platform.confirm((missed.at(-1)?.number ?? 0) + 1);
    else if (history.length > 0) await handOver(receive, history, missed.at(-1)?.number ?? 0);
  };

  const listen = async (receive: Receive): Promise<void> => {
    for (let isConnected = false; !stopped;) {
      try {
        if (!isConnected) await connect(receive);
        isConnected = true;
        await new Promise<void>((resolve) => platform.whenPending(() => world.time.after(1, resolve, life)));
        if (stopped) return;
        const batch: readonly Offered[] = [...platform.pending()];
        const last = batch.at(-1);
        if (last === undefined) continue;
        // The connection breaks before anything is noted: all of it comes again.
        isConnected = world.harmOf("discord.event").harm !== "drop";
        if (flaws.confirmsEarly === true) platform.confirm(last.number + 1);
        const events = batch.map(({ inbound }) => inbound);
        if (isConnected) await handOver(receive, events, last.number);
        else await accept(receive, events);
      } catch (error) {
        if (!isFault(error)) world.broken("bug", `receive threw ${String(error)}`);
        await sleep(life.clock, retryMs);
      }
    }
  };

  /** The answer to a slash command takes the place of "is thinking", as long as Discord remembers it. */
  const taken = async (
    key: string,
    { answers = [], mayHaveArrived = false }: SendOptions,
  ): Promise<string | null> => {
    for (const event of answers) {
      const open = memory.open.get(event) ?? arrived.get(event);
      if (
        open === undefined ||
        (open.takenBy === undefined ? mayHaveArrived : open.takenBy !== key) ||
        life.clock.now() - open.atMs > tokenMs
      )
        continue;
      if (open.takenBy === undefined)
        await life.request(
          "discord.note",
          `${event} is for ${key}`,
          () => void memory.open.set(event, Object.assign(open, { takenBy: key })),
        );
      return event;
    }
    return null;
  };

  const send = async (to: Address, part: RenderedPart, options: SendOptions): Promise<Receipt> => {
    const { idempotencyKey: key, signal } = options;
    const onUnknown = (): void => void platform.unknown.add(key);
    const event = await taken(key, options);
    if (event !== null) {
      const filled = await life.request(
        "discord.send",
        `${key} in place of ${event}`,
        () =>
          world.time.now() - (memory.open.get(event)?.atMs ?? 0) > tokenMs + 1_000
            ? null
            : platform.post(to, part, key, event),
        { signal, onUnknown },
      );
      if (filled !== null) return filled;
    }
    return life.request("discord.send", key, () => platform.post(to, part, key), { signal, onUnknown });
  };

  return {
    name: "discord",
    account,
    capabilities: { ...plain, idempotentSends: true },
    actions: ["edit", "remove"],
    health: () => ({ state: "ok" }),
    send,
    act: (to, action, { idempotencyKey, signal }) =>
      life.request("discord.act", `${idempotencyKey} ${action.kind}`, () => platform.perform(to, action), {
        signal,
      }),
    ...(flaws.sendsBlindly === true
      ? {}
      : {
          sentSince: (to: Address, part: RenderedPart, sinceMs: number, signal: AbortSignal) =>
            life.request(
              "discord.read",
              conversationKey(to),
              () => (isBlind ? null : platform.saying(to, part, sinceMs)),
              { signal },
            ),
        }),
    async start(receive) {
      void listen(receive);
    },
    async stop() {
      stopped = true;
      await Promise.allSettled(inFlight);
    },
  };
}
