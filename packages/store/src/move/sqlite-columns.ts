// The columns of state.db that a move copies unchanged, by table.
import type { SQLInputValue } from "node:sqlite";

/** A record as node:sqlite reads it. */
export type Found = { readonly [column: string]: SQLInputValue };

export const rowColumns = [
  "id",
  "seq",
  "lane",
  "pool",
  "conversation",
  "authority",
  "account",
  "subject",
  "version",
  "shown",
  "state",
  "outcome",
  "reason",
  "due",
  "ticket",
  "turn",
  "accepted",
  "ended",
  "payload",
];
export const turnColumns = [
  "id",
  "lane",
  "pool",
  "conversation",
  "authority",
  "epoch",
  "attempt",
  "state",
  "tickets",
  "wake",
  "stop",
  "opened",
  "ended",
  "token",
  "seq",
  "struck",
];
export const deliveryColumns = ["id", "seq", "lane", "pool", "cause", "place", "created", "done"];
export const partColumns = [
  "content",
  "state",
  "token",
  "started",
  "attempts",
  "resends",
  "receipt",
  "reason",
];
export const deliveryFlags = ["preview", "closed", "split", "troubled", "dropped"];
