// Commits a turn, all or nothing: transcript, rows, deliveries, rows for other lanes, cells, session fields,
// lane (I2, I3).
import { Fault } from "@parley/protocol";
import type { SessionKey } from "@parley/protocol";
import type { Commit, Lease } from "../store.ts";
import type { AcceptRows } from "./accept.ts";
import type { CellTable } from "./cells.ts";
import { dueRule } from "./due.ts";
import type { LaneTable } from "./lanes.ts";
import type { PostDeliveries } from "./post.ts";
import type { Scope } from "./scope.ts";
import type { SessionTable } from "./sessions.ts";
import { query } from "./statements.ts";
import type { TurnTable } from "./turn-record.ts";

export type CommitTurn = (lease: Lease, turn: string, what: Commit) => { readonly seq: number };

export interface CommitParts {
  readonly lanes: LaneTable;
  readonly turns: TurnTable;
  readonly sessions: SessionTable;
  readonly cells: CellTable;
  readonly post: PostDeliveries;
  readonly accept: AcceptRows;
}

export function commitTurn(
  scope: Scope,
  { lanes, turns, sessions, cells, post, accept }: CommitParts,
): CommitTurn {
  const { db, clock } = scope;
  const due = dueRule(scope, lanes);
  const endRows = query(
    db,
    "update rows set state = 'ended', outcome = ?, reason = ?, ended = ? where turn = ? and state = 'claimed'",
  );
  const endContext = query(
    db,
    `update rows set state = 'ended', outcome = 'context', reason = 'read by the turn', turn = ?, ended = ?
     where lane = ? and state = 'context' and seq <= ?`,
  );
  const dropSteps = query(db, "delete from steps where turn = ?");
  const finish = query(db, "update turns set state = 'done', token = ?, seq = ?, ended = ? where id = ?");

  return (lease, id, what) => {
    const turn = turns.get(id);
    // The same holder asks again after its answer was lost; the lane may have moved on since.
    if (turn?.state === "done" && turn.lane === lease.lane && turn.token === lease.token)
      return { seq: turn.seq ?? 0 };
    const lane = lanes.fenced(lease);
    if (turn === undefined || lane.turn !== id)
      throw new Fault("conflict", `the turn ${id} is not open in ${lease.lane}`);

    const now = clock.now();
    const key = lane.lane as SessionKey;
    const { entries: bodies, patch } = what;
    const seq = sessions.append(key, { epoch: turn.epoch, turn: id, bodies, patch });
    endRows.run(what.outcome, what.reason ?? null, now, id);
    if (what.contextThrough !== undefined) endContext.run(id, now, lane.lane, what.contextThrough);
    cells.write(what.cells ?? []);
    post(what.deliveries ?? []);
    dropSteps.run(id);
    finish.run(lease.token, seq, now, id);
    due.settle(lane);
    accept(what.rows ?? []);
    return { seq };
  };
}
