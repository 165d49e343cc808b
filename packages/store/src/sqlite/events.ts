// The event log on SQLite, from which clients replay: a ring over all streams, so that a slow or absent
// client cannot grow it (I9).
import type { Events, StoredEvent } from "../store.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

interface EventRecord {
  readonly seq: number;
  readonly stream: string;
  readonly at: number;
  readonly body: string;
}

interface Ends {
  readonly first: number | null;
  readonly last: number | null;
}

/** `keep` is the number of events kept, counted over all streams. */
export function sqliteEvents({ db, clock, tx }: Scope, keep: number): Events {
  const known = query<{ readonly seq: number }>(db, "select seq from events where id = ?");
  const insert = query<{ readonly seq: number }>(
    db,
    "insert into events (id, stream, at, body) values (?, ?, ?, ?) returning seq",
  );
  const trim = query(db, "delete from events where seq <= ?");
  const select = query<EventRecord>(
    db,
    "select seq, stream, at, body from events where stream = ? and seq > ? order by seq limit ?",
  );
  const newest = query<EventRecord>(
    db,
    "select seq, stream, at, body from events where stream = ? and seq < ? order by seq desc limit ?",
  );
  // Two look-ups, because one statement with both min and max would read the whole table.
  const ends = query<Ends>(
    db,
    "select (select min(seq) from events) as first, (select max(seq) from events) as last",
  );

  return {
    append: (stream, id, body) =>
      tx.run(() => {
        const before = known.get(id);
        if (before !== undefined) return before.seq;
        const seq = insert.get(id, stream, clock.now(), body)?.seq ?? 0;
        trim.run(seq - keep);
        return seq;
      }),
    after: (stream, seq, limit) =>
      tx.read(() => {
        const { first, last } = ends.get() ?? { first: null, last: null };
        const lastSeq = last ?? 0;
        // A client whose seq is ahead of the log saw events that a restored backup does not have.
        const gone = (first !== null && seq < first - 1) || seq > lastSeq;
        return { events: select.all(stream, seq, limit).map(eventOf), gone, lastSeq };
      }),
    newest: (stream, limit, beforeSeq = Number.MAX_SAFE_INTEGER) =>
      tx.read(() => newest.all(stream, beforeSeq, limit).map(eventOf).reverse()),
  };
}

function eventOf({ seq, stream, at, body }: EventRecord): StoredEvent {
  return { seq, stream, atMs: at, body };
}
