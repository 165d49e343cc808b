// Accepts rows: two guards against duplicates, then queue, replace, keep as context, or close at once (I1,
// I2). One call is one savepoint, so a platform's batch becomes durable as a whole and in order.
import type { Accepted, As, NewRow } from "../store.ts";
import type { LaneTable } from "./lanes.ts";
import { dueRule } from "./due.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

interface OpenTurn {
  readonly state: string;
  readonly wake: string | null;
  readonly tickets: string;
  readonly conversation: string;
  readonly authority: string;
}

type Target = { readonly seq: number; readonly id: string; readonly shown: number; readonly state: string };

/**
 * Accepts rows inside the caller's transaction: that of `accept`, or of a commit that hands rows to other
 * lanes.
 */
export type AcceptRows = (rows: readonly NewRow[]) => readonly Accepted[];

export function acceptRows(scope: Scope, lanes: LaneTable): AcceptRows {
  const { db, clock } = scope;
  const due = dueRule(scope, lanes);
  const insert = query<{ readonly seq: number }>(
    db,
    `insert into rows (id, lane, pool, conversation, account, authority, subject, version, shown, state, outcome, reason, due, ticket,
       barrier, accepted, ended, payload) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
     on conflict do nothing returning seq`,
  );
  const known = query<{ readonly seq: number }>(
    db,
    `select seq from rows where id = ?1
     union all select seq from rows where subject = ?2 and version = ?3 limit 1`,
  );
  const target = query<Target>(
    db,
    `select seq, id, shown, state from rows where subject = ? and state in ('waiting', 'context', 'claimed') and seq <> ? limit 1`,
  );
  const replace = query(db, "update rows set payload = ?, shown = ? where seq = ?");
  const end = query(db, "update rows set state = 'ended', outcome = ?, reason = ?, ended = ? where seq = ?");
  const trim = query(
    db,
    `update rows set state = 'ended', outcome = 'context', reason = 'trimmed', ended = ?
     where seq in (select seq from rows where lane = ? and state = 'context' order by seq desc limit -1 offset ?)`,
  );
  const openTurn = query<OpenTurn>(
    db,
    "select state, wake, tickets, conversation, authority from turns where id = ?",
  );

  const store = (row: NewRow): number | null => {
    const { as } = row;
    const now = clock.now();
    const [state, outcome, reason] = birth(as);
    const work = as.kind === "work" ? as : null;
    const inserted = insert.get(
      row.id,
      row.lane,
      row.pool,
      row.conversation,
      accountOf(row.conversation),
      row.authority,
      row.subject ?? null,
      row.version ?? 0,
      state,
      outcome,
      reason,
      now + (work?.afterMs ?? 0),
      work?.ticket ?? null,
      work?.barrier === true ? 1 : 0,
      now,
      state === "ended" ? now : null,
      row.payload,
    );
    return inserted?.seq ?? null;
  };

  /** Schedules the lane as the new row asks. A leased lane is looked at again when its lease ends. */
  const queue = (row: NewRow, as: Extract<As, { kind: "work" }>): void => {
    const lane = lanes.open(row.lane, row.pool);
    if (lane.holder !== null) return;
    if (lane.turn === null) return due.added(lane, row.pool, as.afterMs ?? 0);
    const turn = openTurn.get(lane.turn);
    if (turn === undefined || turn.state !== "parked" || !wakes(turn, row, as)) return;
    const now = clock.now();
    lanes.schedule(lane.lane, lane.pool, Math.min(lane.at ?? now, now));
  };

  const edit = (row: NewRow, seq: number): "replaced" | "late" => {
    const found = row.subject === undefined ? undefined : target.get(row.subject, seq);
    const version = row.version ?? 0;
    if (found === undefined || found.state === "claimed" || found.shown >= version) {
      end.run("superseded", "the edited row had started or shows a newer version", clock.now(), seq);
      return "late";
    }
    replace.run(row.payload, version, found.seq);
    end.run("superseded", `its words replaced those of ${found.id}`, clock.now(), seq);
    return "replaced";
  };

  const one = (row: NewRow): Accepted => {
    const seq = store(row);
    const answer = (verdict: Accepted["verdict"], of: number): Accepted => {
      return { id: row.id, seq: of, verdict, waiting: lanes.waiting(row.lane) };
    };
    if (seq === null)
      return answer("duplicate", known.get(row.id, row.subject ?? null, row.version ?? 0)?.seq ?? 0);
    const { as } = row;
    switch (as.kind) {
      case "work":
        queue(row, as);
        return answer("queued", seq);
      case "edit":
        return answer(edit(row, seq), seq);
      case "context":
        trim.run(clock.now(), row.lane, as.keep);
        return answer("context", seq);
      case "closed":
        return answer("closed", seq);
    }
  };

  return (rows) => rows.map(one);
}

function birth(as: As): readonly [state: string, outcome: string | null, reason: string | null] {
  switch (as.kind) {
    case "work":
      return ["waiting", null, null];
    case "context":
      return ["context", null, null];
    case "edit":
      return ["ended", "superseded", null];
    case "closed":
      return ["ended", as.outcome, as.reason];
  }
}

function wakes(turn: OpenTurn, row: NewRow, as: Extract<As, { kind: "work" }>): boolean {
  if (as.ticket !== undefined) return (JSON.parse(turn.tickets) as readonly string[]).includes(as.ticket);
  return turn.wake === "any" && turn.conversation === row.conversation && turn.authority === row.authority;
}

/** Conversation keys begin with `channel:account:`; refused rows are limited per account. */
function accountOf(conversation: string): string {
  return conversation.split(":", 2).join(":");
}
