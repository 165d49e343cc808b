// Words between the processes of one gateway that matter now or never: a stop, a preview's latest text, a hint that a stream grew. Nothing
// durable goes this way. A word may be lost, late or come twice; whoever needs the truth reads the store (I3).
import type { Ids, Log } from "@parley/protocol";
import type { RedisAddress } from "@parley/store";

export interface Bus {
  /** Whether there can be other processes at all. */
  readonly shared: boolean;
  /** To every other process; never to this one. */
  tell(topic: string, body: string): void;
  /** Returns how to stop listening. */
  hear(topic: string, listen: (body: string) => void): () => void;
  close(): Promise<void>;
}

/** Of a process that is alone. */
export const silentBus: Bus = { shared: false, tell() {}, hear: () => () => {}, close: async () => {} };

export interface RedisBusOptions extends RedisAddress {
  /** Of the store. */
  readonly keyPrefix: string;
  readonly ids: Ids;
  readonly log: Log;
}

const mostReconnectMs = 1_000;
/** As the store has it: silence after a command that counts as a dead connection. */
const silenceMs = 5_000;

/** Redis' publish and subscribe. Never rejects for a Redis that is away: words are lost then. */
export async function redisBus({ url, tls, keyPrefix, ids, log }: RedisBusOptions): Promise<Bus> {
  const { Redis } = await import("ioredis");
  const self = ids.uuid();
  const channel = `{${keyPrefix}}:bus`;
  const listeners = new Map<string, Set<(body: string) => void>>();
  let closed = false;

  const away = (error: unknown): void => {
    if (!closed) log.debug({ error }, "words to other processes are lost while Redis is away");
  };
  const connect = (how: { readonly waits: boolean }) => {
    const redis = new Redis(url, {
      ...(tls === undefined ? {} : { tls }),
      keepAlive: 10_000,
      maxRetriesPerRequest: how.waits ? null : 0,
      enableOfflineQueue: how.waits,
      // What nobody answers must not pile up; who hears may hear nothing for long.
      ...(how.waits ? {} : { socketTimeout: silenceMs }),
      retryStrategy: (times) => Math.min(mostReconnectMs, 20 * 2 ** Math.min(times, 10)),
    });
    redis.on("error", away);
    return redis;
  };
  const telling = connect({ waits: false });
  // Subscribes again by itself after every reconnect.
  const hearing = connect({ waits: true });
  hearing.on("message", (_channel: string, text: string) => {
    const word = wordOf(text);
    if (word === null || word.from === self) return;
    for (const listen of listeners.get(word.topic) ?? []) {
      try {
        listen(word.body);
      } catch (error) {
        // As of another version: it must not end the process that hears it.
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
      telling.disconnect();
      hearing.disconnect();
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
    // Somebody else's word on our channel is no word.
    return null;
  }
}
