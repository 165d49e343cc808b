// The scale-out driver: durable state in one Redis primary, shared by any number of processes. Leases end by time alone, because no lock
// proves anything about other machines. Every verb is one script, so it happens as a whole or not at all.
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
import { redisSessions } from "./sessions.ts";
import { checkServer, serverDangers } from "./start-check.ts";
import { redisTurns } from "./turns.ts";
import { listBootsScript, startBootScript, stopBootScript } from "./verbs/boots.ts";
import { freeLeasesScript, identifyScript, probeScript, sweepScript, troubledScript } from "./verbs/state.ts";

export interface RedisOptions extends RedisAddress {
  /** Begins the name of every key and is their hash tag; several Parleys may share a Redis under different ones. */
  readonly keyPrefix: string;
  readonly log: Log;
  readonly bootId: string;
  /** Names this process' place over its restarts: the boot enters the history of that node. Absent: an operator's look. */
  readonly node?: string;
  /** Starts on a Redis that may forget what it stored, with a warning. For trying things out. */
  readonly acceptDataLoss?: boolean;
  /** For tests. Absent: the server's own time, which is the same for all nodes. */
  readonly clock?: Pick<Clock, "now">;
  /** Events kept for replay; default 10,000. */
  readonly eventsKept?: number;
  /** The store that must be there. Absent: whatever is there is taken, and a node makes one where nothing is. */
  readonly expected?: ExpectedStore;
}

export interface RedisStore extends Store {
  /** Drawn when the store was made; empty where an operator looks at a Redis that no node has used. */
  readonly identity: string;
  /** Of this node; the newest first, at most 50. */
  bootHistory(): Promise<readonly Boot[]>;
  /** Ends leases before their time; returns how many. */
  freeLeases(of: DeadLeases): Promise<number>;
}

/**
 * `holder`: a process that is known to be dead. `outboxOf`: what others than `besides`, the account's new leader, hold of its outbox; their
 * term is over, so that the store refuses whatever they would still write.
 */
export type DeadLeases =
  | { readonly holder: string }
  | { readonly outboxOf: string; readonly besides: string };

/** Throws Fault: "unavailable" when Redis cannot be reached, "invalid" or "unsupported", with the line to change, when it must not be used;
 *  "conflict" when it does not hold the expected store. */
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

/** `fresh`: the identity of a store that is made here. */
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
