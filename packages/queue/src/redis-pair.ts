// Opens the two Redis connections that hints and messages between processes need beside the store's own:
// Redis takes no other command on a connection that listens.
import type { RedisAddress } from "@parley/store";
import type { Redis } from "ioredis";

const mostReconnectMs = 1_000;
/**
 * Silence after a command that counts as a dead connection, in milliseconds; the store's connection uses the
 * same.
 */
const silenceMs = 5_000;

export interface RedisPair {
  /** The sending connection: a command goes out now or not at all. */
  readonly telling: Redis;
  /** The listening connection, which waits as long as it takes. */
  readonly hearing: Redis;
  disconnect(): void;
}

export async function redisPair(
  { url, tls }: RedisAddress,
  onError: (error: unknown) => void,
): Promise<RedisPair> {
  const ioredis = await import("ioredis");
  const connect = (waits: boolean): Redis => {
    const redis = new ioredis.Redis(url, {
      ...(tls === undefined ? {} : { tls }),
      keepAlive: 10_000,
      maxRetriesPerRequest: waits ? null : 0,
      enableOfflineQueue: waits,
      // Unanswered commands must not pile up. A connection that only listens may be silent for long.
      ...(waits ? {} : { socketTimeout: silenceMs }),
      retryStrategy: (times) => Math.min(mostReconnectMs, 20 * 2 ** Math.min(times, 10)),
    });
    redis.on("error", onError);
    return redis;
  };
  const [telling, hearing] = [connect(false), connect(true)];
  return {
    telling,
    hearing,
    disconnect() {
      telling.disconnect();
      hearing.disconnect();
    },
  };
}
