// Leases on lanes, shared by turns and outbox. Every verb that takes a lease first checks the fencing token
// (I3). Expiry alone refuses nothing; only a newer token, a release or a stop does.
import { Fault } from "@parley/protocol";
import { countedUpTo } from "../limits.ts";
import type { Idle, Lanes, LaneView, Lease, Want } from "../store.ts";
import type { Scope } from "./scope.ts";
import { query, type Query } from "./statements.ts";

/** `i`: session lanes of the inbox; `o`: conversation lanes of the outbox. */
export type LaneKind = "i" | "o";

export interface LaneRecord {
  readonly lane: string;
  readonly pool: string;
  readonly at: number | null;
  readonly token: number;
  readonly holder: string | null;
  readonly turn: string | null;
}

/** A lane that was just leased, with the lease that ran out for it; null where the lane was free. */
export interface Leased extends LaneRecord {
  readonly before: Pick<Lease, "holder" | "token"> | null;
}

export interface LaneTable {
  get(lane: string): LaneRecord | undefined;
  /** Creates the lane if it is new. */
  open(lane: string, pool: string): LaneRecord;
  /** Sets when a free lane may be taken and wakes the runners of its pool. */
  schedule(lane: string, pool: string, at: number | null): void;
  /** Gives the lane that has been runnable longest to the holder of `want`. */
  lease(want: Want): Leased | null;
  /** Takes the lane from its holder. */
  revoke(lane: string): void;
  /** Takes a lane from its holder and schedules it; its turn stays open. */
  giveBack(lane: string, pool: string, at: number | null): void;
  /** The same for a lane whose turn has ended. */
  settle(lane: string, pool: string, at: number | null): void;
  setTurn(lane: string, turn: string | null): void;
  /** Throws Fault("conflict") unless the lease is the current one. */
  fenced(lease: Lease): LaneRecord;
  renew(lease: Lease, leaseMs: number): void;
  nextAt(pool: string): number | null;
  /** What `take` answers when no lane is due; null when there may be work. */
  idle(pool: string): Idle | null;
  waiting(lane: string): number;
  list: Lanes<Lease>["list"];
}

export function laneTable({ db, clock, tx, memory }: Scope, kind: LaneKind): LaneTable {
  const k = `kind = '${kind}'`;
  const select = query<LaneRecord>(db, `select * from lanes where ${k} and lane = ?`);
  const insert = query(
    db,
    `insert into lanes (kind, lane, pool) values ('${kind}', ?, ?) on conflict do nothing`,
  );
  const setAt = query(db, `update lanes set at = ?, pool = ? where ${k} and lane = ?`);
  const longest = query<LaneRecord>(
    db,
    `select * from lanes where ${k} and pool = ?2 and at <= ?1 order by at, token limit 1`,
  );
  const take = query<LaneRecord>(
    db,
    `update lanes set token = max(token + 1, ?1), holder = ?2, at = ?1 + ?3 where ${k} and lane = ?4 returning *`,
  );
  const revoke = query(
    db,
    `update lanes set token = max(token + 1, ?), holder = null where ${k} and lane = ?`,
  );
  const giveBack = query(db, `update lanes set at = ?, pool = ?, holder = null where ${k} and lane = ?`);
  const settle = query(
    db,
    `update lanes set at = ?, pool = ?, holder = null, turn = null where ${k} and lane = ?`,
  );
  const setTurn = query(db, `update lanes set turn = ? where ${k} and lane = ?`);
  const renew = query(db, `update lanes set at = ? where ${k} and lane = ?`);
  const next = query<{ readonly at: number }>(
    db,
    `select at from lanes where ${k} and pool = ? and at is not null order by at limit 1`,
  );
  const work =
    kind === "i"
      ? "select 1 from rows where lane = ? and state = 'waiting' limit ?"
      : "select 1 from deliveries where lane = ? and done is null limit ?";
  const count = query<{ readonly n: number }>(db, `select count(*) as n from (${work})`);
  const all = query<LaneRecord>(
    db,
    `select * from lanes where ${k} and (?1 is null or pool = ?1) order by at is null, at, token, lane limit ?2`,
  );

  const get: LaneTable["get"] = (lane) => select.get(lane);
  /** By pool. Whatever changes a lane's time forgets all. */
  const due = memory.of<{ readonly at: number | null }>();
  const nextAt: LaneTable["nextAt"] = (pool) =>
    (due.get(pool) ?? due.keep(pool, { at: next.get(pool)?.at ?? null }))?.at ?? null;
  const scheduling =
    (set: Query<never>): LaneTable["schedule"] =>
    (lane, pool, at) => {
      due.clear();
      set.run(at, pool, lane);
      if (at !== null) tx.ready(pool);
    };
  const waiting: LaneTable["waiting"] = (lane) => count.get(lane, countedUpTo)?.n ?? 0;

  return {
    get,
    waiting,
    open(lane, pool) {
      const known = get(lane);
      if (known !== undefined) return known;
      insert.run(lane, pool);
      return { lane, pool, at: null, token: 0, holder: null, turn: null };
    },
    schedule: scheduling(setAt),
    giveBack: scheduling(giveBack),
    settle: scheduling(settle),
    lease({ pool, holder, leaseMs }) {
      const found = longest.get(clock.now(), pool);
      due.clear();
      const taken = found === undefined ? undefined : take.get(clock.now(), holder, leaseMs, found.lane);
      if (found === undefined || taken === undefined) return null;
      return {
        ...taken,
        before: found.holder === null ? null : { holder: found.holder, token: found.token },
      };
    },
    revoke: (lane) => void revoke.run(clock.now(), lane),
    setTurn: (lane, turn) => void setTurn.run(turn, lane),
    fenced(lease) {
      const found = get(lease.lane);
      if (found === undefined || found.token !== lease.token || found.holder !== lease.holder) {
        throw new Fault(
          "conflict",
          `the lease ${lease.token} on ${lease.lane} is lost: its holder writes nothing more`,
        );
      }
      return found;
    },
    renew(lease, leaseMs) {
      due.clear();
      renew.run(clock.now() + leaseMs, lease.lane);
    },
    nextAt,
    idle(pool) {
      const nextAtMs = nextAt(pool);
      return nextAtMs !== null && nextAtMs <= clock.now() ? null : { idle: true, nextAtMs };
    },
    list: (pool, limit) =>
      tx.read(() => {
        const view = (found: LaneRecord): LaneView => {
          const { lane, pool: of, at, holder, token } = found;
          return { lane, pool: of, atMs: at, holder, token, waiting: waiting(lane) };
        };
        return all.all(pool ?? null, limit).map(view);
      }),
  };
}
