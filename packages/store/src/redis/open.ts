// The scale-out driver: keeps durable state in one Redis primary that any number of processes share. A lease
// ends by time alone, because no lock can prove that another machine is dead. Every verb is one script, so it
// happens as a whole or not at all.
import { Fault, type Clock, type Log } from "@parley/protocol";
import { eventsKept } from "../limits.ts";
import type { Boot } from "../sqlite/boots.ts";
import type { ExpectedStore, Store } from "../store.ts";
import { redisCells } from "./cells.ts";
import { connect, type Connection, type RedisAddress } from "./connection.ts";
import { redisEvents } from "./events.ts";
import { redisInbox } from "./inbox.ts";
import { lostTakes } from "./lost-takes.ts";
import { redisOutbox } from "./outbox.ts";
import { redactWith } from "./redact.ts";
import { scrubWith } from "./scrub.ts";
import { redisSessions } from "./sessions.ts";
import { checkServer, serverDangers } from "./start-check.ts";
import { redisTurns } from "./turns.ts";
import { listBootsScript, startBootScript, stopBootScript } from "./verbs/boots.ts";
import { freeLeasesScript, identifyScript, probeScript, sweepScript, troubledScript } from "./verbs/state.ts";

export interface RedisOptions extends RedisAddress {
  /**
   * First part of every key, used as the hash tag; several gateways may share a Redis under different
   * prefixes.
   */
  readonly keyPrefix: string;
  readonly log: Log;
  readonly bootId: string;
  /**
   * Name of this node, the same over restarts; this boot enters the node's history. Absent when an operator
   * only looks.
   */
  readonly node?: string;
  /** Starts on a Redis that may lose what it stored, and logs a warning. For trials. */
  readonly acceptDataLoss?: boolean;
  /** For tests. Default: the server's own time, which is the same for all nodes. */
  readonly clock?: Pick<Clock, "now">;
  /** Events kept for replay; default 10,000. */
  readonly eventsKept?: number;
  /**
   * The store that must be there. Absent: any store is accepted, and a node creates one where there is none.
   */
  readonly expected?: ExpectedStore;
}

export interface RedisStore extends Store {
  /** Drawn when the store was created; empty when an operator looks at a Redis that no node has used. */
  readonly identity: string;
  /** Boots of this node, newest first, at most 50. */
  bootHistory(): Promise<readonly Boot[]>;
  /** Ends leases early and returns how many. */
  freeLeases(of: DeadLeases): Promise<number>;
}

/**
 * `holder`: a process that is known to be dead. `outboxOf`: the leases on an account's outbox of everyone
 * except `besides`, the new leader; their term is over, so the store refuses their writes anyway.
 */
export type DeadLeases =
  | { readonly holder: string }
  | { readonly outboxOf: string; readonly besides: string };

/**
 * Throws Fault("unavailable") when Redis cannot be reached, Fault("invalid") or Fault("unsupported"), with
 * the setting to change, when it must not be used, and Fault("conflict") when it does not hold the expected
 * store.
 */
export async function redisStore(options: RedisOptions): Promise<RedisStore> {
  const connection = await connect({ ...options, clock: options.clock });
  let identity: string;
  try {
    await checkServer(connection, options);
    identity = await identify(
      connection,
      options.expected,
      options.node === undefined ? undefined : options.bootId,
    );
    if (options.node !== undefined)
      await connection.call(startBootScript, { node: options.node, boot: options.bootId });
  } catch (error) {
    await connection.close();
    throw error;
  }
  return portsOn(connection, identity, options);
}

/** `fresh` is the identity to use when the store is created here. */
export async function identify(
  connection: Connection,
  expected: ExpectedStore | undefined,
  fresh: string | undefined,
): Promise<string> {
  const { place } = connection;
  const found =
    (await connection.call<string | null>(identifyScript, {
      fresh: expected === undefined ? fresh : undefined,
    })) ?? "";
  if (expected !== undefined && found !== expected.identity) {
    const what = found === "" ? "is empty" : "holds another store than before";
    throw new Fault(
      "conflict",
      `Redis at ${place} ${what}, but this folder has had a store in it: ${expected.advice}`,
    );
  }
  connection.insist(found);
  return found;
}

type BootReply = readonly [boot: string, started: number, stopped: number | null, worked: number];

function portsOn(
  connection: Connection,
  identity: string,
  { log, node, bootId, ...options }: RedisOptions,
): RedisStore {
  const { call } = connection;
  const lost = lostTakes(bootId);
  return {
    identity,
    inbox: redisInbox(connection, bootId),
    turns: redisTurns(connection, lost),
    outbox: redisOutbox(connection, lost),
    sessions: redisSessions(connection),
    cells: redisCells(connection),
    events: redisEvents(connection, options.eventsKept ?? eventsKept),
    onReady: (wake) => connection.onReady(wake),
    redact: redactWith(connection),
    scrub: scrubWith(connection),
    sweep: async (limit) => (await call(sweepScript, { limit })) === 1,
    async troubled() {
      const [rows, deliveries] = await call<readonly [number, number]>(troubledScript, {});
      return { rows, deliveries };
    },
    async check() {
      try {
        await call(probeScript, {});
        const dangers = options.acceptDataLoss === true ? [] : await serverDangers(connection);
        return dangers.length === 0 ? { ok: true } : { ok: true, danger: dangers.join("; ") };
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : String(error) };
      }
    },
    async bootHistory() {
      if (node === undefined) return [];
      const boots = await call<readonly BootReply[]>(listBootsScript, { node });
      return boots.map(([boot, startedAtMs, stoppedAtMs, worked]) => ({
        boot,
        startedAtMs,
        stoppedAtMs,
        worked: worked === 1,
      }));
    },
    freeLeases: (of) =>
      call(freeLeasesScript, "holder" in of ? of : { pool: of.outboxOf, besides: of.besides }),
    async close() {
      if (node !== undefined)
        await call(stopBootScript, { boot: bootId }).catch((error: unknown) =>
          log.warn({ error }, "the store closes unclean"),
        );
      await connection.close();
    },
  };
}
