// Messages between the processes of one gateway that matter now or never: a stop, a preview's latest text, a
// hint that a stream grew. Nothing durable goes this way. A message may be lost, late or doubled, so code
// that needs the truth reads the store (I3).
import type { Ids, Log } from "@parley/protocol";
import type { RedisAddress } from "@parley/store";
import { redisPair } from "./redis-pair.ts";

export interface Bus {
  /** True when other processes can exist. */
  readonly shared: boolean;
  /** Sends to every other process, never to this one. */
  tell(topic: string, body: string): void;
  /** Returns a function that stops listening. */
  hear(topic: string, listen: (body: string) => void): () => void;
  close(): Promise<void>;
}

/** The bus of a process that runs alone. */
export const silentBus: Bus = { shared: false, tell() {}, hear: () => () => {}, close: async () => {} };

export interface RedisBusOptions extends RedisAddress {
  /** The store's key prefix. */
  readonly keyPrefix: string;
  readonly ids: Ids;
  readonly log: Log;
}

/** A bus over Redis publish and subscribe. Never rejects when Redis is down: messages are lost then. */
export async function redisBus({ keyPrefix, ids, log, ...address }: RedisBusOptions): Promise<Bus> {
  const self = ids.uuid();
  const channel = `{${keyPrefix}}:bus`;
  const listeners = new Map<string, Set<(body: string) => void>>();
  let closed = false;

  const away = (error: unknown): void => {
    if (!closed) log.debug({ error }, "words to other processes are lost while Redis is away");
  };
  const { telling, hearing, disconnect } = await redisPair(address, away);
  // ioredis subscribes again by itself after every reconnect.
  hearing.on("message", (_channel: string, text: string) => {
    const word = wordOf(text);
    if (word === null || word.from === self) return;
    for (const listen of listeners.get(word.topic) ?? []) {
      try {
        listen(word.body);
      } catch (error) {
        // A process of another version may have sent it; it must not end this one.
        log.warn({ topic: word.topic, error }, "a word of another process was not understood");
      }
    }
  });
  hearing.subscribe(channel).catch(away);

  return {
    shared: true,
    tell(topic, body) {
      if (!closed) telling.publish(channel, JSON.stringify([self, topic, body])).catch(away);
    },
    hear(topic, listen) {
      const known = listeners.get(topic) ?? new Set();
      listeners.set(topic, known.add(listen));
      return () => void known.delete(listen);
    },
    async close() {
      closed = true;
      disconnect();
    },
  };
}

function wordOf(
  text: string,
): { readonly from: string; readonly topic: string; readonly body: string } | null {
  try {
    const [from, topic, body] = JSON.parse(text) as readonly [unknown, unknown, unknown];
    return typeof from === "string" && typeof topic === "string" && typeof body === "string"
      ? { from, topic, body }
      : null;
  } catch {
    // Another program wrote to our channel; its message is ignored.
    return null;
  }
}
