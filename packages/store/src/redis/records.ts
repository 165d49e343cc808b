// Parses the scripts' answers (records as JSON text, payloads beside them) into the contract's views.
import type { ConversationKey, Json, SessionKey } from "@parley/protocol";
import type {
  DeliveryView,
  Outcome,
  PartState,
  PartView,
  Row,
  RowState,
  RowView,
  Session,
  Step,
  StoredEntry,
  TurnView,
} from "../store.ts";

interface RowRecord {
  readonly id: string;
  readonly seq: number;
  readonly lane: string;
  readonly pool: string;
  readonly conversation: string;
  readonly authority: string;
  readonly shown: number;
  readonly state: RowState;
  readonly outcome?: Outcome;
  readonly reason?: string;
  readonly ticket?: string;
  readonly turn?: string;
  readonly accepted: number;
  readonly ended?: number;
}

/** The record and the payload of a row. */
export type RowReply = readonly [record: string, payload: string];

function rowFrom(record: RowRecord, payload: string): Row {
  return {
    id: record.id,
    seq: record.seq,
    conversation: record.conversation as ConversationKey,
    authority: record.authority,
    version: record.shown,
    ...(record.ticket === undefined ? {} : { ticket: record.ticket }),
    acceptedAtMs: record.accepted,
    payload,
  };
}

export function rowOf([record, payload]: RowReply): Row {
  return rowFrom(JSON.parse(record) as RowRecord, payload);
}

export function rowViewOf([text, payload]: RowReply): RowView {
  const record = JSON.parse(text) as RowRecord;
  return {
    ...rowFrom(record, payload),
    lane: record.lane as SessionKey,
    pool: record.pool,
    state: record.state,
    outcome: record.outcome ?? null,
    reason: record.reason ?? null,
    turn: record.turn ?? null,
    endedAtMs: record.ended ?? null,
  };
}

export interface TurnRecord {
  readonly id: string;
  readonly lane: string;
  readonly pool: string;
  readonly conversation: string;
  readonly authority: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly state: TurnView["state"];
  /** A list as JSON text. */
  readonly tickets: string;
  readonly stop?: string;
  readonly opened: number;
  readonly ended?: number;
}

export function stepOf(text: string): Step {
  return JSON.parse(text) as Step;
}

export function entryOf(text: string): StoredEntry {
  return JSON.parse(text) as StoredEntry;
}

interface DeliveryRecord {
  readonly id: string;
  readonly seq: number;
  readonly lane: string;
  readonly pool: string;
  readonly cause: string;
  readonly preview?: true;
  readonly closed?: true;
  readonly split?: true;
  readonly created: number;
  readonly done?: number;
}

interface PartRecord {
  readonly into?: string;
  readonly state: PartState;
  readonly token: number;
  readonly started: number;
  readonly attempts: number;
  readonly resends: number;
  readonly flagged: boolean;
  readonly receipt?: string;
  readonly reason?: string;
}

/** The record, then state, content and edited part of each part. */
export type DeliveryReply = readonly [
  record: string,
  parts: readonly (readonly [state: string, content: string, intoReceipt: string | null])[],
];

export function deliveryOf([text, parts]: DeliveryReply): DeliveryView {
  const record = JSON.parse(text) as DeliveryRecord;
  const done = record.done !== undefined;
  return {
    id: record.id,
    pool: record.pool,
    lane: record.lane as ConversationKey,
    cause: record.cause,
    open: record.preview === true && record.closed !== true && !done,
    done,
    createdAtMs: record.created,
    split: record.split === true,
    parts: parts.map(([state, content, intoReceipt]) =>
      partOf(JSON.parse(state) as PartRecord, content, intoReceipt),
    ),
  };
}

function partOf(part: PartRecord, content: string, intoReceipt: string | null): PartView {
  return {
    content,
    ...(part.into === undefined ? {} : { into: part.into }),
    state: part.state,
    token: part.token,
    startedAtMs: part.started,
    attempts: part.attempts,
    resends: part.resends,
    receipt: part.receipt ?? null,
    intoReceipt,
    reason: part.reason ?? null,
    flagged: part.flagged,
  };
}

/** Key, epoch, last seq, created, updated, then fields and their JSON texts in turn. */
export type SessionReply = readonly [
  key: string,
  numbers: readonly [epoch: number, last: number, created: number, updated: number],
  fields: readonly string[],
];

export function sessionOf([key, [epoch, lastSeq, createdAtMs, updatedAtMs], flat]: SessionReply): Session {
  const fields: [string, Json][] = [];
  for (let n = 0; n < flat.length; n += 2)
    fields.push([flat[n] ?? "", JSON.parse(flat[n + 1] ?? "null") as Json]);
  return {
    key: key as SessionKey,
    epoch,
    lastSeq,
    fields: Object.fromEntries(fields),
    createdAtMs,
    updatedAtMs,
  };
}
