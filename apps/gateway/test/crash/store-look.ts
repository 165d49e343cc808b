// What a crash test reads in the database of a daemon that has stopped, and how it ages its history. Verdicts
// come from what people saw; only the flag of a possible double is the store's own to show.
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";

export interface StoreLook {
  /** Conversation and content of each part that was sent again after an unknown outcome. */
  readonly flagged: readonly string[];
  /**
   * Conversation and content of each part of which nobody knows whether it arrived, and which is not sent
   * again.
   */
  readonly ambiguous: readonly string[];
  /** Rows that have no end yet. */
  readonly openRows: number;
  /** Deliveries that are not done. */
  readonly openDeliveries: number;
  /** Rows that failed for good, with the reason. */
  readonly dead: readonly string[];
}

export function lookAt(home: string): StoreLook {
  const db = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  try {
    const texts = (sql: string): string[] =>
      db
        .prepare(sql)
        .all()
        .map((row) => String(row["it"]));
    const partsWhere = (condition: string): string[] =>
      texts(
        `select lane || ' ' || content as it from parts join deliveries on delivery = seq where ${condition}`,
      );
    return {
      flagged: partsWhere("flagged = 1"),
      ambiguous: partsWhere("state = 'ambiguous'"),
      openRows: texts("select id as it from rows where state in ('waiting', 'claimed')").length,
      openDeliveries: texts("select id as it from deliveries where done is null").length,
      dead: texts("select coalesce(reason, '') as it from rows where outcome = 'dead'"),
    };
  } finally {
    db.close();
  }
}

/**
 * Takes the database's write lock from outside, so that the next commit cannot happen. Returns how to let go.
 */
export function freeze(home: string): () => void {
  const db = new DatabaseSync(join(home, "state.db"), { timeout: 5_000 });
  db.exec("begin immediate");
  return () => {
    if (db.isOpen) db.close();
  };
}

/** Ten minutes pass over all starts so far, so that a loop of kills does not end in safe mode. */
export function ageBoots(home: string): void {
  const db = new DatabaseSync(join(home, "state.db"), { timeout: 5_000 });
  db.exec("update boots set started = started - 600000, stopped = stopped - 600000");
  db.close();
}
