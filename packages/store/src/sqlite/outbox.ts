// The outbox on SQLite: deliveries in order per conversation, one holder at a time, and only the account's
// leader where there is one.
import { Fault } from "@parley/protocol";
import type { DeliveryFilter, Outbox, DeliveryBatch, Release, Want } from "../store.ts";
import type { CellTable } from "./cells.ts";
import { type DeliveryRecord, type DeliveryTable, isActive } from "./delivery-record.ts";
import type { LaneRecord, LaneTable } from "./lanes.ts";
import type { PostDeliveries } from "./post.ts";
import { recordChanges } from "./record.ts";
import type { Scope } from "./scope.ts";
import { query, queryShapes } from "./statements.ts";

export function sqliteOutbox(
  scope: Scope,
  lanes: LaneTable,
  deliveries: DeliveryTable,
  post: PostDeliveries,
  cells: CellTable,
): Outbox {
  const { db, clock, tx } = scope;
  const record = recordChanges(scope, deliveries);
  const drop = query(
    db,
    "update deliveries set dropped = 1, closed = 1, troubled = 0 where seq = ? and dropped = 0 and (done is null or troubled = 1)",
  );
  const shapes = queryShapes<DeliveryRecord>(db);

  /** An expired cell counts too: until a new leader writes it, only the last leader's term is valid. */
  const checkTerm = (pool: string, term: number | undefined): void => {
    const current = cells.version(`leader:${pool}`);
    if (current === undefined || current === term) return;
    throw new Fault(
      "conflict",
      `the term ${term ?? "(none)"} does not lead ${pool}: its leader has term ${current}`,
    );
  };

  const take = (want: Want): DeliveryBatch | null => {
    checkTerm(want.pool, want.term);
    for (;;) {
      const lane = lanes.lease(want);
      if (lane === null) return null;
      const { lane: name, token } = lane;
      const undone = deliveries.undone(name, want.maxRows).map((found) => deliveries.view(found));
      // The head decides: behind a preview that stays open nothing can be sent.
      if (undone[0]?.parts.some(isActive) === true)
        return { lane: name, token, holder: want.holder, term: want.term, deliveries: undone };
      lanes.giveBack(lane.lane, lane.pool, null);
    }
  };

  const release = ({ lane, pool }: LaneRecord, { afterMs }: Release): void => {
    lanes.giveBack(lane, pool, deliveries.hasWork(lane) ? clock.now() + afterMs : null);
  };

  const dropOne = (id: string, reason: string): number => {
    const found = deliveries.get(id);
    if (found === undefined || drop.run(found.seq) === 0) return 0;
    if (found.done !== null) return 1;
    deliveries.failQueued(found.seq, reason);
    deliveries.settle({ ...found, closed: 1, dropped: 1 });
    const lane = lanes.get(found.lane);
    if (lane !== undefined && lane.holder === null) {
      lanes.schedule(lane.lane, lane.pool, deliveries.hasWork(lane.lane) ? (lane.at ?? clock.now()) : null);
    }
    return 1;
  };

  return {
    async take(want) {
      const idle = tx.look(() => {
        checkTerm(want.pool, want.term);
        return lanes.idle(want.pool);
      })?.value;
      return idle ?? tx.run(() => take(want) ?? { idle: true, nextAtMs: lanes.nextAt(want.pool) });
    },
    extend: (lease, leaseMs) =>
      tx.run(() => {
        checkTerm(lanes.fenced(lease).pool, lease.term);
        lanes.renew(lease, leaseMs);
        return lanes.waiting(lease.lane);
      }),
    release: (lease, how) => tx.run(() => release(lanes.fenced(lease), how)),
    list: lanes.list,
    post: (list) => tx.run(() => post(list)),
    record: (lease, changes, how) =>
      tx.run(() => {
        const lane = lanes.fenced(lease);
        checkTerm(lane.pool, lease.term);
        record(lease, changes);
        if (how !== undefined) release(lane, how);
        return how !== undefined;
      }),
    find: (filter) =>
      tx.read(() => {
        const { sql, values } = deliverySearch(filter);
        return shapes(sql)
          .all(...values)
          .map((found) => deliveries.view(found));
      }),
    drop: (ids, reason) => tx.run(() => ids.reduce((count, id) => count + dropOne(id, reason), 0)),
  };
}

function deliverySearch(filter: DeliveryFilter): {
  readonly sql: string;
  readonly values: readonly (string | number)[];
} {
  const terms: readonly (readonly [string, string | undefined])[] = [
    ["lane = ?", filter.lane],
    ["id = ?", filter.id],
    ["cause = ?", filter.cause],
    ["exists (select 1 from parts where delivery = deliveries.seq and state = ?)", filter.state],
    [
      "exists (select 1 from parts where delivery = deliveries.seq and instr(receipt, ?) > 0)",
      filter.receipt,
    ],
  ];
  const used = terms.filter(([, value]) => value !== undefined);
  const where = [...used.map(([term]) => term), ...(filter.troubled === true ? ["troubled = 1"] : [])];
  const condition = where.length === 0 ? "" : `where ${where.join(" and ")}`;
  return {
    sql: `select * from deliveries ${condition} order by seq desc limit ?`,
    values: [...used.map(([, value]) => value ?? ""), filter.limit],
  };
}
