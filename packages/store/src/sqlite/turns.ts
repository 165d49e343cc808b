// The consumer's side of the inbox on SQLite: one holder at a time makes one durable turn of a lane's waiting
// rows (I3). The attempt count rises before anything is handed out, so that a message which kills the process
// is counted.
import { Fault } from "@parley/protocol";
import type { SessionKey } from "@parley/protocol";
import { mostEntriesShown } from "../limits.ts";
import type { Lease, Row, Turn, Turns, TurnView, Want } from "../store.ts";
import type { AcceptRows } from "./accept.ts";
import type { CellTable } from "./cells.ts";
import { absorbedStep, isAlone, rowClaims } from "./claim.ts";
import type { LaneRecord, Leased, LaneTable } from "./lanes.ts";
import type { PostDeliveries } from "./post.ts";
import type { RowRecord } from "./rows.ts";
import type { Scope } from "./scope.ts";
import type { SessionTable } from "./sessions.ts";
import { query } from "./statements.ts";
import type { CommitTurn } from "./turn-commit.ts";
import type { TurnRecord, TurnTable } from "./turn-record.ts";

export interface TurnParts {
  readonly lanes: LaneTable;
  readonly turns: TurnTable;
  readonly sessions: SessionTable;
  readonly cells: CellTable;
  readonly post: PostDeliveries;
  readonly accept: AcceptRows;
  readonly commit: CommitTurn;
}

export function sqliteTurns(scope: Scope, parts: TurnParts): Turns {
  const { db, clock, tx } = scope;
  const { lanes, turns, sessions, cells, post, accept, commit } = parts;
  const claims = rowClaims(scope);
  const insert = query(
    db,
    `insert into turns (id, lane, pool, conversation, authority, epoch, attempt, state, alone, opened)
     values (?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)`,
  );
  const resume = query(db, "update turns set state = 'running' where id = ?");
  const strike = query(db, "update turns set attempt = attempt + 1, struck = ? where id = ?");
  const forgive = query(
    db,
    "update turns set attempt = attempt - 1, struck = null where id = ? and struck = ? and attempt > 1",
  );
  const single = query(db, "update turns set alone = 1 where id = ?");
  const setAttempt = query(db, "update turns set attempt = ? where id = ?");
  /** Finds a lane that this lease holds with a log of this length, and in which nothing waits. */
  const quiet = query(
    db,
    `select 1 from lanes where kind = 'i' and lane = ?1 and token = ?2 and holder = ?3 and turn is not null
       and (select coalesce(max(n) + 1, 0) from steps where steps.turn = lanes.turn) = ?4
       and not exists (select 1 from rows where lane = ?1 and state = 'waiting')`,
  );
  const park = query(
    db,
    "update turns set state = 'parked', attempt = 0, tickets = ?, wake = ? where id = ?",
  );

  /** The open turn of a lane that the lease still holds. */
  const heldTurn = (lease: Lease): { readonly lane: LaneRecord; readonly turn: TurnRecord } => {
    const lane = lanes.fenced(lease);
    const turn = lane.turn === null ? undefined : turns.get(lane.turn);
    if (turn === undefined) throw new Fault("conflict", `the lane ${lease.lane} has no open turn any more`);
    return { lane, turn };
  };

  const open = (lane: LaneRecord, maxRows: number): Turn | null => {
    const rows = claims.opening(lane.lane, maxRows);
    const [head] = rows;
    if (head === undefined) return null;
    const id = `${lane.lane}#${lane.token}`;
    const { epoch } = sessions.open(lane.lane as SessionKey);
    const { conversation, authority } = head;
    const attempt = head.strikes + 1;
    const alone = isAlone(head) ? 1 : 0;
    const opened = clock.now();
    insert.run(id, lane.lane, lane.pool, conversation, authority, epoch, attempt, alone, opened);
    const claimed = claims.claim(id, rows);
    lanes.setTurn(lane.lane, id);
    return turns.opened(lane, { id, conversation, authority, epoch, attempt, opened }, claimed);
  };

  /** A parked turn takes the answers to its tickets along, including those from another conversation. */
  const reopen = ({ lane, holder, before }: Leased, id: string): void => {
    const turn = turns.get(id);
    // A holder that takes its own lane again was late, but nobody died.
    if (before?.holder !== holder) strike.run(before?.token ?? null, id);
    resume.run(id);
    if (turn?.state !== "parked") return;
    const answers = claims.answers(lane, JSON.parse(turn.tickets) as readonly string[]);
    if (answers.length > 0) turns.addStep(id, turns.logLength(id), absorbedStep(claims.claim(id, answers)));
  };

  const take = (want: Want): Turn | null => {
    for (;;) {
      const lane = lanes.lease(want);
      if (lane === null) return null;
      if (lane.turn !== null) {
        reopen(lane, lane.turn);
        return turns.read(lane, lane.turn);
      }
      const turn = open(lane, want.maxRows);
      if (turn !== null) return turn;
      lanes.giveBack(lane.lane, lane.pool, null);
    }
  };

  const logged = (id: string, at: number): readonly Row[] => {
    const step = turns.stepAt(id, at);
    if (step === undefined || step.kind !== "absorbed") return [];
    const ids = JSON.parse(step.body) as readonly string[];
    return turns.rows(id).filter((row) => ids.includes(row.id));
  };

  const view = (turn: TurnRecord): TurnView => ({
    id: turn.id,
    lane: turn.lane as SessionKey,
    state: turn.state as TurnView["state"],
    attempt: turn.attempt,
    openedAtMs: turn.opened,
    endedAtMs: turn.ended,
    tickets: JSON.parse(turn.tickets) as readonly string[],
    stop: turn.stop,
    log: turns.log(turn.id),
    entries:
      turn.seq === null
        ? []
        : sessions.added(turn.lane as SessionKey, turn.epoch, turn.id, turn.seq, mostEntriesShown),
  });

  return {
    find: (id) =>
      tx.read(() => {
        const found = turns.get(id);
        return found === undefined ? null : view(found);
      }),
    async take(want) {
      const idle = tx.look(() => lanes.idle(want.pool))?.value;
      return idle ?? tx.run(() => take(want) ?? { idle: true, nextAtMs: lanes.nextAt(want.pool) });
    },
    extend: (lease, leaseMs) =>
      tx.run(() => {
        lanes.fenced(lease);
        lanes.renew(lease, leaseMs);
        return lanes.waiting(lease.lane);
      }),
    release: (lease, { afterMs, refund }) =>
      tx.run(() => {
        const { lane, turn } = heldTurn(lease);
        if (refund === true) setAttempt.run(Math.max(0, turn.attempt - 1), turn.id);
        lanes.giveBack(lane.lane, lane.pool, clock.now() + afterMs);
      }),
    list: lanes.list,
    async absorb(lease, at, maxRows, { evenAlone = false } = {}) {
      const joining = (): { readonly turn: string; readonly rows: readonly RowRecord[] } | readonly Row[] => {
        const { lane, turn } = heldTurn(lease);
        const length = turns.logLength(turn.id);
        if (at < length) return logged(turn.id, at);
        if (at > length) throw stepFault(turn.id, at, length);
        const rows = turn.alone === 1 && !evenAlone ? [] : claims.following(lane.lane, turn, maxRows);
        return rows.length === 0 ? [] : { turn: turn.id, rows };
      };
      // Mostly nobody wrote meanwhile, and then there is nothing to store.
      if (tx.look(() => quiet.get(lease.lane, lease.token, lease.holder, at))?.value !== undefined) return [];
      const seen = tx.look(joining)?.value;
      if (seen !== undefined && !("turn" in seen)) return seen;
      return tx.run(() => {
        const found = joining();
        if (!("turn" in found)) return found;
        const claimed = claims.claim(found.turn, found.rows);
        turns.addStep(found.turn, at, absorbedStep(claimed));
        return claimed;
      });
    },
    checkpoint: (lease, at, what) =>
      tx.run(() => {
        const { turn } = heldTurn(lease);
        const length = turns.logLength(turn.id);
        if (what.steps.length === 0 && ((what.cells?.length ?? 0) > 0 || (what.rows?.length ?? 0) > 0)) {
          throw new Fault(
            "invalid",
            "a checkpoint that writes cells or rows needs a step, or its repeat could not be told apart",
          );
        }
        if (what.steps.length > 0 && at + what.steps.length <= length) return length;
        if (at !== length) throw stepFault(turn.id, at, length);
        if (what.steps.some((step) => step.kind === "absorbed"))
          throw new Fault("invalid", "absorbed steps are written by absorb alone");
        what.steps.forEach((step, index) => turns.addStep(turn.id, at + index, step));
        post(what.deliveries ?? []);
        cells.write(what.cells ?? []);
        accept(what.rows ?? []);
        setAttempt.run(1, turn.id);
        return at + what.steps.length;
      }),
    lived: (lease) =>
      tx.run(() => {
        const lane = lanes.get(lease.lane);
        if (lane === undefined || lane.turn === null) return;
        if (lane.token === lease.token && lane.holder === lease.holder) setAttempt.run(1, lane.turn);
        else forgive.run(lane.turn, lease.token);
      }),
    split: (lease) =>
      tx.run(() => {
        const { lane, turn } = heldTurn(lease);
        const log = turns.log(turn.id);
        single.run(turn.id);
        if (log.some(({ kind }) => kind !== "preview" && kind !== "absorbed"))
          return turns.read(lane, turn.id);
        claims.unclaim(turn.id, Math.max(1, turn.attempt - 1));
        turns.setLog(
          turn.id,
          log.filter(({ kind }) => kind === "preview"),
        );
        return turns.read(lane, turn.id);
      }),
    park: (lease, { tickets, wake, untilMs }) =>
      tx.run(() => {
        const { lane, turn } = heldTurn(lease);
        park.run(JSON.stringify(tickets), wake, turn.id);
        const awake =
          claims.answers(lane.lane, tickets).length > 0 || (wake === "any" && claims.hasKin(lane.lane, turn));
        lanes.giveBack(lane.lane, lane.pool, awake ? clock.now() : untilMs);
      }),
    commit: (lease, turn, what) => tx.run(() => commit(lease, turn, what)),
  };
}

function stepFault(turn: string, at: number, length: number): Fault {
  return new Fault(
    "invalid",
    `the log of ${turn} has ${length} steps: nothing can be written at position ${at}`,
  );
}
