// The record, rows and log of a durable turn, and how they become the contract's Turn.
import type { ConversationKey } from "@parley/protocol";
import type { Row, Step, Turn } from "../store.ts";
import type { LaneRecord } from "./lanes.ts";
import { type RowRecord, rowOf } from "./rows.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

export interface TurnRecord {
  readonly id: string;
  readonly lane: string;
  readonly pool: string;
  readonly conversation: string;
  readonly authority: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly state: string;
  readonly alone: number;
  readonly tickets: string;
  readonly stop: string | null;
  readonly opened: number;
  readonly ended: number | null;
  readonly token: number | null;
  readonly seq: number | null;
  readonly struck: number | null;
}

/** What a turn's record holds when it has just been opened. */
type OpenedTurn = Pick<TurnRecord, "id" | "conversation" | "authority" | "epoch" | "attempt" | "opened">;

export interface TurnTable {
  get(id: string): TurnRecord | undefined;
  rows(id: string): readonly Row[];
  logLength(id: string): number;
  stepAt(id: string, n: number): Step | undefined;
  addStep(id: string, n: number, step: Step): void;
  /** Replaces the whole log. */
  setLog(id: string, steps: readonly Step[]): void;
  log(id: string): readonly Step[];
  /** The turn as its holder gets it. */
  read(lane: LaneRecord, id: string): Turn;
  /** The same for a turn that was opened in this transaction: all but its context is known. */
  opened(lane: LaneRecord, turn: OpenedTurn, rows: readonly Row[]): Turn;
}

export function turnTable({ db }: Scope): TurnTable {
  const select = query<TurnRecord>(db, "select * from turns where id = ?");
  const rows = query<RowRecord>(db, "select * from rows where turn = ? and state = 'claimed' order by claim");
  const context = query<RowRecord>(
    db,
    "select * from rows where lane = ? and state = 'context' and seq < ? order by seq",
  );
  const length = query<{ readonly n: number }>(
    db,
    "select coalesce(max(n) + 1, 0) as n from steps where turn = ?",
  );
  const step = query<Step>(db, "select kind, body from steps where turn = ? and n = ?");
  const steps = query<Step>(db, "select kind, body from steps where turn = ? order by n");
  const dropSteps = query(db, "delete from steps where turn = ?");
  const insertStep = query(db, "insert into steps (turn, n, kind, body) values (?, ?, ?, ?)");

  const addStep: TurnTable["addStep"] = (id, n, { kind, body }) => void insertStep.run(id, n, kind, body);
  const get: TurnTable["get"] = (id) => select.get(id);
  const log: TurnTable["log"] = (id) => steps.all(id).map(({ kind, body }) => ({ kind, body }));
  const rowsOf = (id: string): readonly Row[] => rows.all(id).map(rowOf);

  const turnOf = (
    lane: LaneRecord,
    turn: OpenedTurn & Pick<TurnRecord, "pool" | "tickets" | "stop">,
    claimed: readonly Row[],
    steps: readonly Step[],
  ): Turn => ({
    lane: lane.lane,
    token: lane.token,
    holder: lane.holder ?? "",
    id: turn.id,
    attempt: turn.attempt,
    epoch: turn.epoch,
    pool: turn.pool,
    conversation: turn.conversation as ConversationKey,
    authority: turn.authority,
    openedAtMs: turn.opened,
    rows: claimed,
    context: context.all(lane.lane, Math.max(0, ...claimed.map((row) => row.seq))).map(rowOf),
    log: steps,
    tickets: JSON.parse(turn.tickets) as readonly string[],
    stop: turn.stop,
  });

  return {
    get,
    rows: rowsOf,
    logLength: (id) => length.get(id)?.n ?? 0,
    stepAt: (id, n) => step.get(id, n),
    addStep,
    setLog(id, log) {
      dropSteps.run(id);
      log.forEach((each, n) => addStep(id, n, each));
    },
    log,
    read(lane, id) {
      const turn = get(id);
      if (turn === undefined)
        throw new Error(`the lane ${lane.lane} names the turn ${id}, which has no record`);
      return turnOf(lane, turn, rowsOf(id), log(id));
    },
    opened: (lane, turn, claimed) =>
      turnOf(lane, { ...turn, pool: lane.pool, tickets: "[]", stop: null }, claimed, []),
  };
}
