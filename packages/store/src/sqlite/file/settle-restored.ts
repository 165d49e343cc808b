// Ends in a restored copy what was open when the copy was made: it was answered and sent since, as far as
// anybody knows. It waits for an operator in place of being answered and sent a second time.
import { DatabaseSync } from "node:sqlite";
import { query } from "../statements.ts";

export interface SettledWork {
  /** Messages that wait in the list of dead ones. */
  readonly messages: number;
  /** Answers that wait in the list of those in trouble. */
  readonly answers: number;
}

const reason = "restored from a backup: it may have been done since the backup was made";

/** Another value for a cell, or null where it stays. */
export type RestoredCell = (key: string, value: string) => string | null;

/** Nobody else has the file open. */
export function settleRestored(path: string, nowMs: number, cellOf: RestoredCell): SettledWork {
  const db = new DatabaseSync(path, { timeout: 5000 });
  try {
    db.exec("begin immediate");
    query(
      db,
      `update parts set reason = ?, state = case state when 'queued' then 'failed' else 'ambiguous' end
       where state in ('queued', 'sending') and delivery in (select seq from deliveries where done is null)`,
    ).run(reason);
    const answers = query(
      db,
      `update deliveries set done = ?, troubled = case when exists
         (select 1 from parts where parts.delivery = deliveries.seq and state in ('failed', 'ambiguous')) then 1 else 0 end
       where done is null`,
    ).run(nowMs);
    const messages = query(
      db,
      "update rows set state = 'ended', outcome = 'dead', reason = ?, ended = ? where state in ('waiting', 'claimed')",
    ).run(reason, nowMs);
    query(db, "delete from steps where turn in (select id from turns where state <> 'done')").run();
    query(db, "update turns set state = 'done', ended = ? where state <> 'done'").run(nowMs);
    query(db, "update lanes set at = null, holder = null, turn = null").run();
    const put = query(db, "update cells set value = ? where key = ?");
    const cells = query<{ readonly key: string; readonly value: string }>(db, "select key, value from cells");
    for (const { key, value } of cells.all()) {
      const after = cellOf(key, value);
      if (after !== null) put.run(after, key);
    }
    db.exec("commit");
    return { messages, answers };
  } finally {
    db.close();
  }
}
