// The columns of a row, and how they become the contract's Row and RowView.
import type { ConversationKey, SessionKey } from "@parley/protocol";
import type { Outcome, Row, RowState, RowView } from "../store.ts";

export interface RowRecord {
  readonly seq: number;
  readonly id: string;
  readonly lane: string;
  readonly pool: string;
  readonly conversation: string;
  readonly authority: string;
  readonly subject: string | null;
  readonly shown: number;
  readonly state: string;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly due: number;
  readonly ticket: string | null;
  readonly barrier: number;
  readonly strikes: number;
  readonly turn: string | null;
  readonly accepted: number;
  readonly ended: number | null;
  readonly payload: string;
}

export function rowOf(record: RowRecord): Row {
  return {
    id: record.id,
    seq: record.seq,
    conversation: record.conversation as ConversationKey,
    authority: record.authority,
    version: record.shown,
    ...(record.ticket === null ? {} : { ticket: record.ticket }),
    acceptedAtMs: record.accepted,
    payload: record.payload,
  };
}

export function rowViewOf(record: RowRecord): RowView {
  return {
    ...rowOf(record),
    lane: record.lane as SessionKey,
    pool: record.pool,
    state: record.state as RowState,
    outcome: record.outcome as Outcome | null,
    reason: record.reason,
    turn: record.turn,
    endedAtMs: record.ended,
  };
}
