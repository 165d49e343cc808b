// Chooses the waiting rows that a turn gets: the longest prefix of one conversation and one authority, so
// that an answer goes where its question came from (I6) and a stranger's text never enters an owner's turn. A
// barrier row gets a turn of its own.
import type { Row, Step } from "../store.ts";
import { type RowRecord, rowOf } from "./rows.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";
import type { TurnRecord } from "./turn-record.ts";

type Kin = Pick<TurnRecord, "conversation" | "authority">;

export interface Claims {
  /** The rows that a new turn would get; does not claim them. */
  opening(lane: string, maxRows: number): readonly RowRecord[];
  /** The rows that a running turn may absorb. */
  following(lane: string, turn: Kin, maxRows: number): readonly RowRecord[];
  /** Waiting rows that answer one of the tickets, wherever they stand in the lane. */
  answers(lane: string, tickets: readonly string[]): readonly RowRecord[];
  /** True when a row waits that wakes a turn parked with `wake: any`. */
  hasKin(lane: string, turn: Kin): boolean;
  claim(turn: string, rows: readonly RowRecord[]): readonly Row[];
  /** Makes all rows but the first wait again, each for a turn of its own. */
  unclaim(turn: string, strikes: number): void;
}

export function absorbedStep(rows: readonly Row[]): Step {
  return { kind: "absorbed", body: JSON.stringify(rows.map((row) => row.id)) };
}

export function rowClaims({ db }: Scope): Claims {
  const waiting = query<RowRecord>(
    db,
    "select * from rows where lane = ? and state = 'waiting' order by seq limit ?",
  );
  const answers = query<RowRecord>(
    db,
    "select * from rows where lane = ? and state = 'waiting' and ticket in (select value from json_each(?)) order by seq",
  );
  const kin = query(
    db,
    "select 1 from rows where lane = ? and state = 'waiting' and conversation = ? and authority = ? and ticket is null limit 1",
  );
  const claim = query(
    db,
    `update rows set state = 'claimed', turn = ?1,
       claim = (select coalesce(max(claim) + 1, 0) from rows where turn = ?1) where seq = ?2`,
  );

  const unclaim = query(
    db,
    `update rows set state = 'waiting', turn = null, claim = null, strikes = ?2
     where turn = ?1 and state = 'claimed' and claim > (select min(claim) from rows where turn = ?1 and state = 'claimed')`,
  );

  const following: Claims["following"] = (lane, turn, maxRows) => prefix(waiting.all(lane, maxRows), turn);
  return {
    following,
    opening(lane, maxRows) {
      const rows = waiting.all(lane, maxRows);
      const [head] = rows;
      if (head === undefined) return [];
      return isAlone(head) ? [head] : prefix(rows, head);
    },
    answers: (lane, tickets) => (tickets.length === 0 ? [] : answers.all(lane, JSON.stringify(tickets))),
    hasKin: (lane, { conversation, authority }) => kin.get(lane, conversation, authority) !== undefined,
    claim(turn, rows) {
      for (const row of rows) claim.run(turn, row.seq);
      return rows.map(rowOf);
    },
    unclaim: (turn, strikes) => void unclaim.run(turn, strikes),
  };
}

/** True for a row that gets a turn of its own: a barrier, or a row that processes may have died of. */
export function isAlone(row: RowRecord): boolean {
  return row.barrier === 1 || row.strikes > 0;
}

function prefix(rows: readonly RowRecord[], { conversation, authority }: Kin): readonly RowRecord[] {
  const end = rows.findIndex(
    (row) => isAlone(row) || row.conversation !== conversation || row.authority !== authority,
  );
  return end === -1 ? rows : rows.slice(0, end);
}
