// Brings an index up to what the notes say now: a look at every file, and reading only those that changed.
// It works in slices of a few milliseconds, each one transaction, so that a search comes in between and a
// kill loses one slice. An edit of one line replaces the chunks around it.
import { createHash } from "node:crypto";
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { chunksOf, type Chunk, type ChunkSettings } from "./chunk.ts";
import { listFiles, readMemoryFile, type Listing } from "./read-file.ts";
import type { MemoryScope } from "./scope.ts";
import { spaced } from "./words.ts";

export type MemorySource = "memory" | "sessions";

/** Progress of one pass, for slices. */
export interface SyncStep {
  readonly filesLeft: number;
}

/** How many chunks one transaction writes. */
const sliceChunks = 100;

/**
 * A pass over the notes. Each `next` does one slice; when it is done, the index is what the listing said.
 * Problems with files are told in `problems`.
 */
export function* syncFiles(
  db: DatabaseSync,
  workspace: string,
  settings: ChunkSettings,
  problems: Map<string, string>,
): Generator<SyncStep, void> {
  const listing: Listing = listFiles(workspace);
  problems.clear();
  for (const { path, reason } of listing.problems) problems.set(path, reason);
  const known = new Map(
    (
      db
        .prepare("SELECT id, path, stamp, note, scope FROM files WHERE source = 'memory'")
        .all() as unknown as {
        id: number;
        path: string;
        stamp: string;
        note: string | null;
        scope: string;
      }[]
    ).map((row) => [row.path, row]),
  );
  const changed = listing.files.filter(({ path, stamp, scope }) => {
    const row = known.get(path);
    if (row !== undefined && row.note !== null) problems.set(path, row.note);
    return row?.stamp !== stamp || row.scope !== scope;
  });
  const here = new Set(listing.files.map(({ path }) => path));
  for (const row of known.values()) if (!here.has(row.path)) yield* removeFile(db, row.id, changed.length);

  let left = changed.length;
  for (const { path, scope, stamp } of changed) {
    const read = readMemoryFile(workspace, path);
    left -= 1;
    problems.delete(path);
    if (read.state === "missing") {
      const row = known.get(path);
      if (row !== undefined) yield* removeFile(db, row.id, left);
      continue;
    }
    const note = read.state === "refused" ? read.reason : read.note;
    if (note !== null) problems.set(path, note);
    const text = read.state === "read" ? read.text.replace(/^\ufeff/, "") : "";
    const sha256 = read.state === "read" ? read.sha256 : "";
    const chunks = chunksOf(text, settings);
    yield* putFile(db, { source: "memory", path, scope, stamp, sha256, note }, chunks, left);
  }
}

interface FileRow {
  readonly source: MemorySource;
  readonly path: string;
  readonly scope: MemoryScope;
  readonly stamp: string;
  readonly sha256: string;
  readonly note: string | null;
}

function* putFile(
  db: DatabaseSync,
  file: FileRow,
  chunks: readonly Chunk[],
  filesLeft: number,
): Generator<SyncStep, void> {
  const { source, path, scope, stamp, sha256, note } = file;
  const sql = statements(db);
  const fileId = transaction(db, () => {
    const id = (sql.fileId.get(source, path) as { id: number } | undefined)?.id;
    // Without its stamp until all of its chunks are there: a kill in between makes the next pass do it again.
    if (id === undefined)
      return Number(sql.addFile.run(source, path, scope, "", sha256, note).lastInsertRowid);
    db.prepare("UPDATE files SET stamp = '' WHERE id = ?").run(id);
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
          dropChunk(sql, id),
    ),
    ...moved.map(
      ({ id, chunk }) =>
        () =>
          sql.moveChunk.run(chunk.startLine, chunk.endLine, id),
    ),
    ...added.map(
      ({ chunk, hash }) =>
        () =>
          addChunk(sql, fileId, scope, chunk, hash),
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

function* removeFile(db: DatabaseSync, id: number, filesLeft: number): Generator<SyncStep, void> {
  const sql = statements(db);
  const chunks = sql.chunksOf.all(id) as unknown as OldChunk[];
  for (let at = 0; at < chunks.length; at += sliceChunks) {
    transaction(db, () => {
      for (const chunk of chunks.slice(at, at + sliceChunks)) dropChunk(sql, chunk.id);
    });
    yield { filesLeft: filesLeft + 1 };
  }
  transaction(db, () => db.prepare("DELETE FROM files WHERE id = ?").run(id));
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

/** The word of the `scope` column: letters and digits alone, so that no tokenizer cuts it. */
export function scopeToken(scope: string): string {
  return `x${createHash("sha256").update(scope).digest("hex").slice(0, 20)}`;
}

type Statements = ReturnType<typeof makeStatements>;
const made = new WeakMap<DatabaseSync, Statements>();

function statements(db: DatabaseSync): Statements {
  const known = made.get(db) ?? makeStatements(db);
  made.set(db, known);
  return known;
}

function makeStatements(db: DatabaseSync) {
  return {
    fileId: db.prepare("SELECT id FROM files WHERE source = ? AND path = ?"),
    addFile: db.prepare(
      "INSERT INTO files (source, path, scope, stamp, sha256, note) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    setFile: db.prepare("UPDATE files SET scope = ?, stamp = ?, sha256 = ?, note = ? WHERE id = ?"),
    chunksOf: db.prepare("SELECT id, scope, first, last, hash FROM chunks WHERE file = ? ORDER BY first, id"),
    addChunk: db.prepare(
      "INSERT INTO chunks (file, scope, first, last, heading, text, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    moveChunk: db.prepare("UPDATE chunks SET first = ?, last = ? WHERE id = ?"),
    dropChunk: db.prepare("DELETE FROM chunks WHERE id = ?"),
    addWords: db.prepare("INSERT INTO words (rowid, scope, heading, body) VALUES (?, ?, ?, ?)"),
    chunk: db.prepare("SELECT scope, heading, text FROM chunks WHERE id = ?"),
    dropWords: db.prepare(
      "INSERT INTO words (words, rowid, scope, heading, body) VALUES ('delete', ?, ?, ?, ?)",
    ),
  };
}

function addChunk(sql: Statements, file: number, scope: string, chunk: Chunk, hash: Buffer): void {
  const { startLine, endLine, heading, text } = chunk;
  const values: SQLInputValue[] = [file, scope, startLine, endLine, heading, text, hash];
  const { lastInsertRowid } = sql.addChunk.run(...values);
  sql.addWords.run(lastInsertRowid, scopeToken(scope), spaced(heading), spaced(text));
}

/** The index of words keeps no text, so it is told again what to take out. */
function dropChunk(sql: Statements, id: number): void {
  const { scope, heading, text } = sql.chunk.get(id) as { scope: string; heading: string; text: string };
  sql.dropWords.run(id, scopeToken(scope), spaced(heading), spaced(text));
  sql.dropChunk.run(id);
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
