// Opens the index of one agent, a cache in a SQLite file of its own. A file that is damaged, or of another
// form, is thrown away and built anew from the notes.
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * Grows with every change of the tables or of how text is cut into words. ICU does that for some scripts, and
 * what is taken out of the index must be cut as it was when it was put in.
 */
const form = `parley-memory-4 icu-${process.versions.icu}`;
/** Larger files are trusted to fail when they are read. */
const checkedBytes = 32 * 1024 * 1024;

export interface IndexFile {
  readonly db: DatabaseSync;
  /** True when an older file could not be used. */
  readonly rebuilt: string | null;
  /** False once somebody removed or replaced the file. */
  isThere(): boolean;
  close(): void;
}

export function openIndex(path: string, settings: string): IndexFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let rebuilt: string | null = null;
  try {
    const found = tryOpen(path, settings);
    if (found.db !== null) return indexFile(path, found.db, null);
    rebuilt = found.reason;
  } catch (error) {
    if (!isDamage(error)) throw error;
    rebuilt = "the index was damaged";
  }
  removeIndex(path);
  const made = tryOpen(path, settings);
  if (made.db === null) throw new Error(`the index cannot be made: ${made.reason}`);
  return indexFile(path, made.db, rebuilt);
}

export function removeIndex(path: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"]) rmSync(`${path}${ending}`, { force: true });
}

/** Of the same agent in the same folder: other nodes make theirs anew, and gone nodes need none. */
export function removeOtherIndexes(path: string): void {
  const [folder, own] = [dirname(path), basename(path)];
  const agent = own.replace(/(?:@[^@]*)?\.sqlite$/, "");
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const [whole = "", of, ending = ""] = /^(.*?)(?:@[^@]*)?\.sqlite(-wal|-shm|-journal)?$/.exec(name) ?? [];
    if (whole !== "" && of === agent && name !== `${own}${ending}`)
      rmSync(join(folder, name), { force: true });
  }
}

/** SQLITE_CORRUPT and SQLITE_NOTADB, with their extended codes. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return false;
  const code = error.errcode & 0xff;
  return code === 11 || code === 26;
}

function indexFile(path: string, db: DatabaseSync, rebuilt: string | null): IndexFile {
  const inode = statSync(path, { bigint: true }).ino;
  return {
    db,
    rebuilt,
    isThere: () => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino === inode,
    close: () => db.close(),
  };
}

function tryOpen(
  path: string,
  settings: string,
): { readonly db: DatabaseSync } | { readonly db: null; readonly reason: string } {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    db.exec("PRAGMA secure_delete = ON; PRAGMA cache_size = -8000");
    if (bytes > 0 && bytes <= checkedBytes) {
      const said = db.prepare("PRAGMA quick_check(1)").get() as { quick_check?: string } | undefined;
      if (said?.quick_check !== "ok") {
        db.close();
        return { db: null, reason: "the index was damaged" };
      }
    }
    const known = metaOf(db);
    if (known === null) create(db, settings);
    else if (known.form !== form || known.settings !== settings) {
      db.close();
      return { db: null, reason: "the index was made by another version or with other settings" };
    }
    return { db };
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}

function metaOf(db: DatabaseSync): { readonly form: string; readonly settings: string } | null {
  const there = db.prepare("SELECT count(*) AS n FROM sqlite_schema").get() as { n: number };
  if (there.n === 0) return null;
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get();
  if (table === undefined) return { form: "", settings: "" };
  const value = (key: string): string =>
    (db.prepare("SELECT value FROM meta WHERE key = ?").get(key) as { value: string } | undefined)?.value ??
    "";
  return { form: value("form"), settings: value("settings") };
}

function create(db: DatabaseSync, settings: string): void {
  db.exec(`
    BEGIN IMMEDIATE;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE files (
      id INTEGER PRIMARY KEY, source TEXT NOT NULL, path TEXT NOT NULL, scope TEXT NOT NULL,
      stamp TEXT NOT NULL, sha256 TEXT NOT NULL, note TEXT, turn TEXT, untrusted TEXT, UNIQUE (source, path)
    );
    CREATE TABLE talks (session TEXT PRIMARY KEY, since TEXT NOT NULL, through INTEGER NOT NULL);
    CREATE TABLE scopes (id INTEGER PRIMARY KEY, scope TEXT NOT NULL UNIQUE, passages INTEGER NOT NULL);
    CREATE TABLE chunks (
      id INTEGER PRIMARY KEY, file INTEGER NOT NULL, scope TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
      heading TEXT NOT NULL, text TEXT NOT NULL, hash BLOB NOT NULL
    );
    CREATE INDEX chunks_by_file ON chunks (file);
    CREATE INDEX chunks_by_hash ON chunks (hash);
    CREATE VIRTUAL TABLE words USING fts5 (
      heading, body, content = '',
      tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co So'"
    );
    CREATE TABLE vectors (model TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, hash)) WITHOUT ROWID;
    CREATE INDEX chunks_by_scope ON chunks (scope);
  `);
  const put = db.prepare("INSERT INTO meta (key, value) VALUES (?, ?)");
  put.run("form", form);
  put.run("settings", settings);
  db.exec("COMMIT");
}
