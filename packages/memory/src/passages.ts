// Puts the passages of one file into an index and takes them out, in slices of a few milliseconds, each
// one transaction: a search comes in between and a kill loses one slice. An edit of one line replaces the
// passages around it.
import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { Chunk } from "./chunk.ts";
import { prepared } from "./prepared.ts";
import type { MemoryScope } from "./scope.ts";
import { addedTo, takenFrom } from "./scope-ranges.ts";
import { spaced } from "./words.ts";

export type MemorySource = "memory" | "sessions";

/** Progress of one pass, for slices. */
export interface SyncStep {
  readonly filesLeft: number;
}

/** Told of every passage that comes or goes, inside the transaction that does it. */
export interface PassageWatch {
  added(id: number, scope: string, hash: Uint8Array): void;
  dropped(id: number, scope: string): void;
}

/** How many chunks one transaction writes. */
const sliceChunks = 100;

export interface FileRow {
  readonly source: MemorySource;
  readonly path: string;
  readonly scope: MemoryScope;
  readonly stamp: string;
  readonly sha256: string;
  readonly note: string | null;
  readonly turn?: string;
  readonly untrusted?: string | null;
}

export function* putFile(
  db: DatabaseSync,
  watch: PassageWatch | null,
  file: FileRow,
  chunks: readonly Chunk[],
  filesLeft: number,
): Generator<SyncStep, void> {
  const { source, path, scope, stamp, sha256, note, turn = null, untrusted = null } = file;
  const sql = statements(db);
  const fileId = transaction(db, () => {
    const id = (sql.fileId.get(source, path) as { id: number } | undefined)?.id;
    // Without its stamp until all of its chunks are there: a kill in between makes the next pass do it again.
    if (id === undefined)
      return Number(sql.addFile.run(source, path, scope, "", sha256, note, turn, untrusted).lastInsertRowid);
    prepared(db, "UPDATE files SET stamp = '' WHERE id = ?").run(id);
    return id;
  });
  const old = new Map<string, { id: number; first: number; last: number }[]>();
  for (const row of sql.chunksOf.all(fileId) as unknown as OldChunk[]) {
    const key = `${row.scope}:${Buffer.from(row.hash).toString("hex")}`;
    old.set(key, [...(old.get(key) ?? []), row]);
  }
  const added: { chunk: Chunk; hash: Buffer }[] = [];
  const moved: { id: number; chunk: Chunk }[] = [];
  for (const chunk of chunks) {
    const hash = chunkHash(chunk);
    const same = old.get(`${scope}:${hash.toString("hex")}`)?.shift();
    if (same === undefined) added.push({ chunk, hash });
    else if (same.first !== chunk.startLine || same.last !== chunk.endLine)
      moved.push({ id: same.id, chunk });
  }
  const gone = [...old.values()].flat();
  const work: (() => void)[] = [
    ...gone.map(
      ({ id }) =>
        () =>
          dropChunk(db, watch, sql, id),
    ),
    ...moved.map(
      ({ id, chunk }) =>
        () =>
          sql.moveChunk.run(chunk.startLine, chunk.endLine, id),
    ),
    ...added.map(
      ({ chunk, hash }) =>
        () =>
          addChunk(db, watch, sql, fileId, scope, chunk, hash),
    ),
  ];
  for (let at = 0; at < work.length; at += sliceChunks) {
    transaction(db, () => {
      for (const each of work.slice(at, at + sliceChunks)) each();
    });
    if (at + sliceChunks < work.length) yield { filesLeft: filesLeft + 1 };
  }
  transaction(db, () => sql.setFile.run(scope, stamp, sha256, note, fileId));
  yield { filesLeft };
}

export function* removeFile(
  db: DatabaseSync,
  watch: PassageWatch | null,
  id: number,
  filesLeft: number,
): Generator<SyncStep, void> {
  const sql = statements(db);
  const chunks = sql.chunksOf.all(id) as unknown as OldChunk[];
  for (let at = 0; at < chunks.length; at += sliceChunks) {
    transaction(db, () => {
      for (const chunk of chunks.slice(at, at + sliceChunks)) dropChunk(db, watch, sql, chunk.id);
    });
    yield { filesLeft: filesLeft + 1 };
  }
  transaction(db, () => prepared(db, "DELETE FROM files WHERE id = ?").run(id));
  yield { filesLeft };
}

interface OldChunk {
  readonly id: number;
  readonly scope: string;
  readonly first: number;
  readonly last: number;
  readonly hash: Uint8Array;
}

/** Content by which a chunk is known again, and under which its vector is kept. */
function chunkHash({ heading, text }: Pick<Chunk, "heading" | "text">): Buffer {
  return createHash("sha256").update(heading).update("\0").update(text).digest().subarray(0, 16);
}

type Statements = ReturnType<typeof statements>;

function statements(db: DatabaseSync) {
  return {
    fileId: prepared(db, "SELECT id FROM files WHERE source = ? AND path = ?"),
    addFile: prepared(
      db,
      "INSERT INTO files (source, path, scope, stamp, sha256, note, turn, untrusted) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    setFile: prepared(db, "UPDATE files SET scope = ?, stamp = ?, sha256 = ?, note = ? WHERE id = ?"),
    chunksOf: prepared(
      db,
      "SELECT id, scope, first, last, hash FROM chunks WHERE file = ? ORDER BY first, id",
    ),
    addChunk: prepared(
      db,
      "INSERT INTO chunks (id, file, scope, first, last, heading, text, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ),
    moveChunk: prepared(db, "UPDATE chunks SET first = ?, last = ? WHERE id = ?"),
    dropChunk: prepared(db, "DELETE FROM chunks WHERE id = ?"),
    addWords: prepared(db, "INSERT INTO words (rowid, heading, body) VALUES (?, ?, ?)"),
    chunk: prepared(db, "SELECT scope, heading, text FROM chunks WHERE id = ?"),
    dropWords: prepared(db, "INSERT INTO words (words, rowid, heading, body) VALUES ('delete', ?, ?, ?)"),
  };
}

function addChunk(
  db: DatabaseSync,
  watch: PassageWatch | null,
  sql: Statements,
  file: number,
  scope: string,
  chunk: Chunk,
  hash: Buffer,
): void {
  const { startLine, endLine, heading, text } = chunk;
  const id = addedTo(db, scope);
  sql.addChunk.run(id, file, scope, startLine, endLine, heading, text, hash);
  sql.addWords.run(id, spaced(heading), spaced(text));
  watch?.added(id, scope, hash);
}

/** The index of words keeps no text, so it is told again what to take out. */
function dropChunk(db: DatabaseSync, watch: PassageWatch | null, sql: Statements, id: number): void {
  const { scope, heading, text } = sql.chunk.get(id) as { scope: string; heading: string; text: string };
  sql.dropWords.run(id, spaced(heading), spaced(text));
  sql.dropChunk.run(id);
  takenFrom(db, scope);
  watch?.dropped(id, scope);
}

function transaction<T>(db: DatabaseSync, run: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const done = run();
    db.exec("COMMIT");
    return done;
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
