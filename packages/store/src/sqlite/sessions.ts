// Sessions and their transcript on SQLite. Entries are only added, and leave only by `forget` (I11).
import type { Json, SessionKey } from "@parley/protocol";
import type { Session, Sessions, StoredEntry } from "../store.ts";
import type { Scope } from "./scope.ts";
import { query, queryShapes } from "./statements.ts";

interface SessionRecord {
  readonly key: string;
  readonly epoch: number;
  readonly last: number;
  readonly fields: string;
  readonly created: number;
  readonly updated: number;
}

interface EntryRecord {
  readonly seq: number;
  readonly epoch: number;
  readonly turn: string;
  readonly body: string;
}

const firstEpoch = 1;

type Patch = { readonly [field: string]: Json };

/** What a turn leaves in its session. */
interface Appended {
  readonly epoch: number;
  readonly turn: string;
  readonly bodies: readonly string[];
  readonly patch?: Patch | undefined;
}

/** Session access for other verbs inside their own transaction. */
export interface SessionTable {
  known(key: SessionKey): Session | null;
  open(key: SessionKey): Session;
  patch(key: SessionKey, patch: Patch): Session;
  /** Appends entries, changes fields, and returns the session's last seq. */
  append(key: SessionKey, what: Appended): number;
  /** What was remembered of it is read anew. */
  forget(key: SessionKey): void;
  /**
   * The entries that a turn added, oldest first. A commit adds them all at once, so they are contiguous and
   * end at `seq`.
   */
  added(key: SessionKey, epoch: number, turn: string, seq: number, limit: number): readonly StoredEntry[];
}

export function sessionTable({ db, clock, memory }: Scope): SessionTable {
  const insert = query(
    db,
    `insert into sessions values (?, ${firstEpoch}, 0, '{}', ?, ?) on conflict do nothing`,
  );
  const select = query<SessionRecord>(db, "select * from sessions where key = ?");
  const update = query(db, "update sessions set last = ?, fields = ?, updated = ? where key = ?");
  const before = query<EntryRecord>(
    db,
    "select * from entries where lane = ? and epoch = ? and seq <= ? order by seq desc limit ?",
  );
  const insertEntry = query(db, "insert into entries (lane, epoch, seq, turn, body) values (?, ?, ?, ?, ?)");

  const remembered = memory.of<Session>();

  const known: SessionTable["known"] = (key) => {
    const seen = remembered.get(key);
    if (seen !== undefined) return seen;
    const found = select.get(key);
    return remembered.keep(key, found === undefined ? null : sessionOf(found));
  };
  const open = (key: SessionKey): Session => {
    const found = known(key);
    if (found !== null) return found;
    const now = clock.now();
    insert.run(key, now, now);
    remembered.forget(key);
    return { key, epoch: firstEpoch, lastSeq: 0, fields: {}, createdAtMs: now, updatedAtMs: now };
  };

  const change = (session: Session, lastSeq: number, patch: Patch): Session => {
    const { key } = session;
    const merged = Object.entries({ ...session.fields, ...patch }).filter(([, value]) => value !== null);
    const fields: Patch = Object.fromEntries(merged);
    const updatedAtMs = clock.now();
    update.run(lastSeq, JSON.stringify(fields), updatedAtMs, key);
    const changed = { ...session, lastSeq, fields, updatedAtMs };
    remembered.keep(key, changed);
    return changed;
  };

  return {
    known,
    open,
    patch(key, patch) {
      const session = open(key);
      return change(session, session.lastSeq, patch);
    },
    append(key, { epoch, turn, bodies, patch = {} }) {
      const session = open(key);
      let seq = session.lastSeq;
      for (const body of bodies) insertEntry.run(key, epoch, (seq += 1), turn, body);
      if (bodies.length > 0 || Object.keys(patch).length > 0) change(session, seq, patch);
      return seq;
    },
    forget: (key) => remembered.forget(key),
    added(key, epoch, turn, seq, limit) {
      const found = before.all(key, epoch, seq, limit);
      const first = found.findIndex((entry) => entry.turn !== turn);
      return found
        .slice(0, first < 0 ? found.length : first)
        .map(entryOf)
        .reverse();
    },
  };
}

export function sqliteSessions(scope: Scope, table: SessionTable): Sessions {
  const { db, clock, tx } = scope;
  const raiseEpoch = query(db, "update sessions set epoch = epoch + 1, updated = ? where key = ?");
  const removeEntries = query(db, "delete from entries where lane = ?");
  const trimEntries = query(db, "delete from entries where lane = ? and epoch < ?");
  const shapes = queryShapes<SessionRecord>(db);
  const oldest = query<EntryRecord>(
    db,
    "select * from entries where lane = ? and epoch = ? and seq > ? order by seq limit ?",
  );
  const newest = query<EntryRecord>(
    db,
    "select * from entries where lane = ? and epoch = ? and seq > ? order by seq desc limit ?",
  );

  return {
    async open(key) {
      const known = tx.look(() => table.known(key))?.value;
      return known ?? tx.run(() => table.open(key));
    },
    patch: (key, patch) => tx.run(() => table.patch(key, patch)),
    list: ({ prefix, sinceMs, limit }) =>
      tx.read(() => {
        const list = shapes(
          "select * from sessions where substr(key, 1, length(?1)) = ?1 and updated >= ?2 order by updated desc, key limit ?3",
        );
        return list.all(prefix ?? "", sinceMs ?? 0, limit).map(sessionOf);
      }),
    reset: (key) =>
      tx.run(() => {
        table.open(key);
        raiseEpoch.run(clock.now(), key);
        table.forget(key);
        return table.open(key);
      }),
    forget: (key, record) =>
      tx.run(() => {
        table.open(key);
        const entries = removeEntries.run(key);
        const atMs = clock.now();
        raiseEpoch.run(atMs, key);
        table.forget(key);
        return { session: table.patch(key, { [record]: { atMs, entries } }), entries };
      }),
    trim: (key, beforeEpoch) => tx.run(() => trimEntries.run(key, beforeEpoch)),
    transcript: (key, { afterSeq = 0, epoch, newest: fromEnd, limit }) =>
      tx.read(() => {
        const read = fromEnd === true ? newest : oldest;
        const of = epoch ?? table.known(key)?.epoch ?? firstEpoch;
        const found = read.all(key, of, afterSeq, limit).map(entryOf);
        return fromEnd === true ? found.reverse() : found;
      }),
  };
}

function sessionOf(record: SessionRecord): Session {
  return {
    key: record.key as SessionKey,
    epoch: record.epoch,
    lastSeq: record.last,
    fields: JSON.parse(record.fields) as Patch,
    createdAtMs: record.created,
    updatedAtMs: record.updated,
  };
}

function entryOf({ seq, epoch, turn, body }: EntryRecord): StoredEntry {
  return { seq, epoch, turn, body };
}
