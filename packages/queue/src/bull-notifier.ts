// Hints between processes through BullMQ: one queue per pool. A job only asks a runner to look for work;
// delayed jobs stand for lanes that are due later. Losing all of BullMQ's keys costs latency only, because
// every runner also polls. BullMQ forbids ":" in names and ids, so pools are encoded and lanes hashed.
import { createHash } from "node:crypto";
import { sleep, type Clock, type Log } from "@parley/protocol";
import type { RedisAddress } from "@parley/store";
import type { Queue, Worker } from "bullmq";
import { redisPair } from "./redis-pair.ts";
import { type HintSource, tellAll, type Wake, type WorkNotifier } from "./work-notifier.ts";

export interface BullNotifierOptions extends RedisAddress {
  /** The store's key prefix; BullMQ's keys use the same hash tag. */
  readonly keyPrefix: string;
  /** Pools whose work this process does. */
  readonly pools: readonly string[];
  readonly source: HintSource;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * A hint that reaches a process without a free slot is passed on this often, then dropped: a runner with a
 * free slot polls soon anyway.
 */
const mostHops = 3;
const hopAfterMs = 50;
/** When Redis is gone, closing waits no longer than this for BullMQ. */
const closeWithinMs = 2_000;

interface WakeJob {
  readonly pool: string;
  /** A hash: a lane names people, and nobody would find these keys when somebody is to be forgotten. */
  readonly lane: string;
  readonly hops: number;
}

/** Never rejects when Redis is down: hints are lost then, and flow again once it is back. */
export async function bullNotifier(options: BullNotifierOptions): Promise<WorkNotifier> {
  const { clock, log } = options;
  const bull = await import("bullmq");
  const prefix = `{${options.keyPrefix}}:bull`;
  const listeners = new Set<Wake>();
  const queues = new Map<string, Queue<WakeJob>>();
  const underWay = new Set<Promise<unknown>>();
  let closed = false;

  const away = (error: unknown): void => {
    if (!closed) log.debug({ error }, "hints cannot be carried; runners look by themselves");
  };
  const { telling, hearing, disconnect } = await redisPair(options, away);

  const queueOf = (pool: string): Queue<WakeJob> => {
    const known = queues.get(pool);
    if (known !== undefined) return known;
    const made = new bull.Queue<WakeJob>(encodeURIComponent(pool), {
      connection: telling,
      prefix,
      skipVersionCheck: true,
      streams: { events: { maxLen: 100 } },
    });
    made.on("error", away);
    queues.set(pool, made);
    return made;
  };

  /** Sends a hint at `atMs`; 0 means now. */
  const carry = (job: WakeJob, atMs: number): void => {
    // At most one job waits per lane and time. While one is delivered, only the last of the others is kept.
    const id = hashOf(JSON.stringify([job.pool, job.lane, atMs]));
    const deduplication = { id, keepLastIfActive: true };
    const delay = Math.max(0, Math.round(atMs - clock.now()));
    const how = { delay, attempts: 1, removeOnComplete: true, removeOnFail: true, deduplication };
    const added = queueOf(job.pool)
      .add("wake", job, how)
      .catch(away)
      .finally(() => underWay.delete(added));
    underWay.add(added);
  };

  const workers = new Map<string, Worker<WakeJob>>();
  const serve = (pool: string): void => {
    if (closed || workers.has(pool)) return;
    const hear = async ({ data }: { readonly data: WakeJob }): Promise<void> => {
      if (!tellAll(listeners, pool) && data.hops < mostHops && !closed)
        carry({ ...data, hops: data.hops + 1 }, clock.now() + hopAfterMs);
    };
    const worker: Worker<WakeJob> = new bull.Worker<WakeJob>(encodeURIComponent(pool), hear, {
      connection: hearing,
      prefix,
      concurrency: 8,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on("error", away);
    workers.set(pool, worker);
  };
  for (const pool of options.pools) serve(pool);

  const stop = options.source((pool, lane = "", atMs = 0) => {
    const later = atMs > clock.now();
    const heard = tellAll(listeners, pool);
    // A lane that is due later needs a hint then, from any process that lives at that time.
    if (!closed && (later || !heard)) carry({ pool, lane: hashOf(lane), hops: 0 }, later ? atMs : 0);
  });

  return {
    onReady(wake) {
      listeners.add(wake);
      return () => void listeners.delete(wake);
    },
    serve(pool) {
      serve(pool);
      return () => {
        const worker = workers.get(pool);
        if (worker === undefined || options.pools.includes(pool)) return;
        workers.delete(pool);
        worker.close(true).catch(away);
      };
    },
    async close() {
      if (closed) return;
      closed = true;
      stop();
      const ended = Promise.allSettled([...workers.values()].map((worker) => worker.close(true)))
        .then(() => Promise.allSettled(underWay))
        .then(() => Promise.allSettled([...queues.values()].map((queue) => queue.close())));
      await Promise.race([ended, sleep(clock, closeWithinMs)]);
      disconnect();
    },
  };
}

const hashOf = (text: string): string => createHash("sha1").update(text).digest("hex");
