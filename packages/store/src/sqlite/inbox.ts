// The producer's side of the inbox on SQLite: accept, stop, and the operator's view of rows.
import { Fault } from "@parley/protocol";
import type { SessionKey } from "@parley/protocol";
import type { Inbox, RowFilter, Stop, Stopped } from "../store.ts";
import type { AcceptRows } from "./accept.ts";
import { dueRule } from "./due.ts";
import type { LaneTable } from "./lanes.ts";
import { type RowRecord, rowViewOf } from "./rows.ts";
import type { Scope } from "./scope.ts";
import { query, queryShapes } from "./statements.ts";

interface Waiting {
  readonly seq: number;
  readonly id: string;
}

export function sqliteInbox(scope: Scope, lanes: LaneTable, accept: AcceptRows): Inbox {
  const { db, clock, tx } = scope;
  const due = dueRule(scope, lanes);
  const waiting = query<Waiting>(
    db,
    "select seq, id from rows where lane = ? and state = 'waiting' order by seq",
  );
  const end = query(db, "update rows set state = 'ended', outcome = ?, reason = ?, ended = ? where seq = ?");
  const markStopped = query(db, "update turns set stop = ?, state = 'running' where id = ? and stop is null");
  const turnOf = query<{ turn: string | null }>(db, "select turn from rows where id = ?");
  const dismiss = query(
    db,
    "update rows set dismissed = 1 where id = ? and outcome = 'dead' and dismissed = 0",
  );
  const shapes = queryShapes<RowRecord>(db);

  /** A second stop changes nothing, so it cannot take the lane from the holder that is closing the turn. */
  const stopTurn = (lane: SessionKey, wanted: string, { reason, unless }: Stop): string | null => {
    const open = lanes.get(lane);
    if (open === undefined || open.turn === null || (wanted !== "open" && wanted !== open.turn)) return null;
    if (unless !== undefined && turnOf.get(unless)?.turn === open.turn) return null;
    if (markStopped.run(reason, open.turn) === 1) {
      lanes.revoke(lane);
      lanes.schedule(lane, open.pool, clock.now());
    }
    return open.turn;
  };

  const stopRows = (lane: SessionKey, what: Stop): readonly string[] => {
    if (what.rows === undefined) return [];
    const ending = chosen(waiting.all(lane), what.rows);
    for (const row of ending) end.run(what.outcome ?? "stopped", what.reason, clock.now(), row.seq);
    return ending.map((row) => row.id);
  };

  return {
    accept: (rows) => tx.run(() => accept(rows)),
    stop: (lane, what) =>
      tx.run((): Stopped => {
        const turn = what.turn === undefined ? null : stopTurn(lane, what.turn, what);
        const rows = stopRows(lane, what);
        const left = lanes.get(lane);
        if (rows.length > 0 && left !== undefined && left.holder === null && left.turn === null)
          due.thinned(left);
        return { turn, rows };
      }),
    find: (filter) =>
      tx.read(() => {
        const { sql, values } = rowSearch(filter);
        return shapes(sql)
          .all(...values)
          .map(rowViewOf);
      }),
    dismiss: (ids) => tx.run(() => ids.reduce((count, id) => count + dismiss.run(id), 0)),
  };
}

function chosen(rows: readonly Waiting[], which: NonNullable<Stop["rows"]>): readonly Waiting[] {
  if (which === "all") return rows;
  if ("ids" in which) return rows.filter((row) => which.ids.includes(row.id));
  const keep = "keepNewest" in which ? which.keepNewest : which.keepOldest;
  if (!Number.isInteger(keep) || keep < 0) throw new Fault("invalid", `stop cannot keep ${keep} rows`);
  return "keepNewest" in which ? rows.slice(0, Math.max(0, rows.length - keep)) : rows.slice(keep);
}

function rowSearch(filter: RowFilter): {
  readonly sql: string;
  readonly values: readonly (string | number)[];
} {
  const terms: readonly (readonly [string, string | undefined])[] = [
    ["lane = ?", filter.lane],
    ["id = ?", filter.id],
    ["turn = ?", filter.turn],
    ["state = ?", filter.state],
    // Spelled out, because SQLite uses the partial index of dead rows only for its exact words.
    [filter.outcome === "dead" ? "outcome = 'dead' and outcome = ?" : "outcome = ?", filter.outcome],
    ["instr(payload, ?) > 0", filter.text],
    [
      "instr(subject || char(10), ? || char(10)) > 0",
      filter.message === undefined ? undefined : `/${filter.message}`,
    ],
    ["instr(':' || conversation || char(10), ':' || ? || char(10)) > 0", filter.place],
  ];
  const used = terms.filter(([, value]) => value !== undefined);
  const where = [...used.map(([term]) => term), ...(filter.dismissed === true ? [] : ["dismissed = 0"])];
  const condition = where.length === 0 ? "" : `where ${where.join(" and ")}`;
  return {
    sql: `select * from rows ${condition} order by seq desc limit ?`,
    values: [...used.map(([, value]) => value ?? ""), filter.limit],
  };
}
