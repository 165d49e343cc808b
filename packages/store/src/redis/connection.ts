// The connection of one handle: runs scripts, translates errors into Faults and reconnects. Calls are not
// queued while Redis is down but fail at once, so that no platform is acknowledged for an event that is not
// stored (I1).
import { Fault } from "@parley/protocol";
import type { Clock, FaultCode, Log } from "@parley/protocol";
import type { Redis } from "ioredis";
import { callFault, isReply, openFault } from "./failure.ts";
import type { Script } from "./script.ts";

/** Address of a Redis. The url may hold a password, so it is never shown. */
export interface RedisAddress {
  /** `redis://[user:password@]host:port[/db]`, `rediss://` for TLS, or the path of a Unix socket. */
  readonly url: string;
  /** PEM texts, for a private certificate authority and for servers that ask for a client certificate. */
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

export interface ConnectionOptions extends RedisAddress {
  /** First part of every durable key; it becomes the hash tag. */
  readonly keyPrefix: string;
  /** Default: the server's time. */
  readonly clock?: Pick<Clock, "now"> | undefined;
  readonly log: Log;
}

/** Called for each lane that a verb scheduled, with its pool, lane and due time. */
type ReadyListener = (pool: string, lane?: string, atMs?: number) => void;

export interface Connection {
  /**
   * Runs a verb. Throws the Fault that the verb refuses with, or Fault("unavailable") when Redis cannot be
   * reached or cannot write.
   */
  call<T>(script: Script, args: object): Promise<T>;
  /** A section of INFO as a map from name to value. */
  info(section: string): Promise<ReadonlyMap<string, string>>;
  /** A setting from CONFIG GET; null when the server does not tell. */
  setting(name: string): Promise<string | null>;
  /**
   * Has the server write its files anew, where it keeps some: what was overwritten is gone from them then. A
   * server that does not let us does it by its own rules.
   */
  rewriteFiles(): Promise<void>;
  onReady(listen: ReadyListener): () => void;
  /**
   * From now on Redis itself refuses every verb, before it changes anything, when the store has another
   * identity.
   */
  insist(identity: string): void;
  /** Host and port, without the password. */
  readonly place: string;
  close(): Promise<void>;
}

/**
 * Silence after a command or while connecting that counts as a dead connection, in milliseconds. Our scripts
 * take milliseconds.
 */
const silenceMs = 5_000;
const mostReconnectMs = 1_000;

type Answer = ["done", unknown, readonly (string | number)[]] | ["refused", FaultCode, string] | ["lost"];

/** Connects once and rejects with a Fault when that fails. Later losses are repaired in the background. */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  const { log, clock } = options;
  const { Redis } = await import("ioredis");
  const place = placeOf(options.url);
  const redis: Redis = new Redis(options.url, {
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    lazyConnect: true,
    connectTimeout: silenceMs,
    socketTimeout: silenceMs,
    keepAlive: 10_000,
    // A caller learns at once that the connection broke, because only the caller knows whether it may ask
    // again.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(mostReconnectMs, 20 * 2 ** Math.min(times, 10)),
    // A primary that became a replica answers READONLY; the next connection finds the new primary.
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
  });
  const listeners = new Set<ReadyListener>();
  const prefix = `{${options.keyPrefix}}:`;
  let lastError: unknown = null;
  let closing = false;
  let identity = "";
  let isLost = false;

  redis.on("error", (error: unknown) => (lastError = error));
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw openFault(place, lastError ?? error);
  }
  // ioredis goes on in database 0 when the configured one is refused.
  await redis.select(redis.options.db ?? 0).catch((cause: unknown) => {
    redis.disconnect();
    if (!isReply(cause)) throw openFault(place, lastError ?? cause);
    throw new Fault(
      "invalid",
      `Redis at ${place} has no database ${redis.options.db}: correct the end of store.redis.url`,
      { cause },
    );
  });
  let away = false;
  redis.on("close", () => {
    if (closing || away) return;
    away = true;
    log.warn({ redis: place, error: lastError }, "Redis is away: nothing is accepted until it is back");
  });
  redis.on("ready", () => {
    if (away) log.info({ redis: place }, "Redis is back");
    away = false;
  });

  const evaluate = async ({ sha, lua }: Script, args: readonly string[]): Promise<unknown> => {
    try {
      return await redis.evalsha(sha, 1, ...args);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
      return await redis.eval(lua, 1, ...args);
    }
  };

  const tellLost = (now: boolean): void => {
    if (now !== isLost)
      log[now ? "error" : "info"](
        { redis: place },
        now ? lostWords(place) : "Redis holds what was stored in it again",
      );
    isLost = now;
  };

  return {
    place,
    insist: (of) => void (identity = of),
    async call<T>(script: Script, args: object): Promise<T> {
      if (redis.status !== "ready") throw callFault(place, "unsent", lastError);
      let answer: Answer;
      try {
        answer = (await evaluate(script, [
          prefix,
          clock === undefined ? "" : `${clock.now()}`,
          wellFormedJson(args),
          identity,
        ])) as Answer;
      } catch (error) {
        throw callFault(place, script.repeatable ? "repeatable" : "unknown", error);
      }
      tellLost(answer[0] === "lost");
      if (answer[0] === "lost") throw new Fault("unavailable", lostWords(place));
      if (answer[0] === "refused") throw new Fault(answer[1], answer[2]);
      const [, value, woken] = answer;
      for (let n = 0; n < woken.length; n += 3) {
        for (const listen of listeners) listen(`${woken[n]}`, `${woken[n + 1]}`, Number(woken[n + 2]));
      }
      return value as T;
    },
    async info(section) {
      const text = await redis.info(section).catch((error: unknown) => {
        throw openFault(place, error);
      });
      const lines = text.split("\r\n").filter((line) => line.includes(":"));
      return new Map(
        lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
      );
    },
    async setting(name) {
      try {
        const [, value] = (await redis.config("GET", name)) as readonly string[];
        return value ?? null;
      } catch {
        // Hosted servers forbid CONFIG; a setting that cannot be read is not judged.
        return null;
      }
    },
    async rewriteFiles() {
      const ask = async (name: string): Promise<string> =>
        ((await redis.config("GET", name)) as readonly string[])[1] ?? "";
      try {
        // It shows the arguments of commands that took long.
        await redis.call("SLOWLOG", "RESET");
        if ((await ask("appendonly")) === "yes") await redis.call("BGREWRITEAOF");
        if ((await ask("save")) !== "") await redis.call("BGSAVE", "SCHEDULE");
      } catch (error) {
        // Hosted servers forbid it, and one may be under way.
        log.warn(
          { redis: place, error },
          "Redis' own files keep what was overwritten until it writes them anew",
        );
      }
    },
    onReady(listen) {
      listeners.add(listen);
      return () => void listeners.delete(listen);
    },
    async close() {
      if (closing) return;
      closing = true;
      // Calls in flight get their answers; a server that is down has none to give.
      await redis.quit().catch(() => redis.disconnect());
    },
  };
}

function lostWords(place: string): string {
  return (
    `Redis at ${place} does not hold what this gateway stored in it: it was emptied, or exchanged. ` +
    "Nothing is acknowledged until its data is back"
  );
}

/**
 * A lone surrogate, which people can send, cannot be read back from Redis; it becomes U+FFFD, as everywhere
 * in UTF-8.
 */
function wellFormedJson(args: object): string {
  const text = JSON.stringify(args);
  if (!/\\ud[89a-f]/.test(text)) return text;
  return JSON.stringify(args, (_key, value: unknown) =>
    typeof value === "string" ? value.toWellFormed() : value,
  );
}

function placeOf(url: string): string {
  if (url.startsWith("/")) return url;
  try {
    return new URL(url).host;
  } catch (cause) {
    throw new Fault(
      "invalid",
      "store.redis.url is no address: write redis://host:6379, rediss:// for TLS, or the path of a socket",
      {
        cause,
      },
    );
  }
}
