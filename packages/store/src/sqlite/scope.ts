// The connection, clock, transaction and memory that every port of this driver is built from.
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "@parley/protocol";
import type { Memory } from "./memory.ts";
import type { Transactions } from "./transaction.ts";

export interface Scope {
  readonly db: DatabaseSync;
  readonly clock: Clock;
  readonly tx: Transactions;
  readonly memory: Memory;
}
