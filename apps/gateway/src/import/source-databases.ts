// Reads the SQLite files of newer OpenClaw homes, where conversations, pairings and schedules stand. A file
// is opened so that SQLite writes nothing beside it; one whose last writes are still in its log is read from
// a copy. One that cannot be read is told with its way out, and counts as empty.
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { zstdDecompressSync } from "node:zlib";
import type { Json } from "@parley/protocol";
import type { Met } from "./report.ts";
import { isThere, mostMegabytes, type SourceFiles } from "./source-files.ts";
import { isBlock } from "./tree.ts";

type Row = { readonly [column: string]: unknown };

export interface SourceDatabases {
  /** False also where the file is not there, or cannot be read, which is told. */
  hasTable(path: string, table: string): boolean;
  /** Column names of a table; none where it is not there. */
  columns(path: string, table: string): ReadonlySet<string>;
  /** None where the file cannot be read. */
  rows(path: string, sql: string, ...values: string[]): readonly Row[];
  /** Why files could not be read. */
  told(): readonly Met[];
  /** Called once at the end. */
  close(): void;
}

const wayOut =
  "stop OpenClaw's gateway, let `openclaw doctor --fix` mend the file, and import again; the rest is carried without it";

export function sourceDatabases(files: Pick<SourceFiles, "trouble">): SourceDatabases {
  const open = new Map<string, DatabaseSync | null>();
  const met: Met[] = [];
  let copies: string | null = null;

  const copied = (path: string): string => {
    copies ??= mkdtempSync(join(tmpdir(), "parley-import-"));
    const copy = join(copies, `${open.size}.sqlite`);
    for (const ending of ["", "-wal"])
      if (existsSync(`${path}${ending}`)) copyFileSync(`${path}${ending}`, `${copy}${ending}`);
    return copy;
  };
  const tell = (path: string, error: unknown): null => {
    const why = `it cannot be read: ${error instanceof Error ? error.message : String(error)}; ${wayOut}`;
    met.push({ what: "file", name: path, fate: "refused", why });
    return null;
  };
  const opened = (path: string): DatabaseSync | null => {
    const why = files.trouble(path, Infinity) ?? files.trouble(`${path}-wal`, Infinity);
    if (why !== null) {
      met.push({ what: "file", name: path, fate: "refused", why });
      return null;
    }
    if (!isThere(path)) return null;
    try {
      const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
      const hasLog = log !== undefined && log.size > 0;
      const address = pathToFileURL(hasLog ? copied(path) : path);
      if (!hasLog) address.search = "?immutable=1";
      const db = new DatabaseSync(address, { readOnly: !hasLog });
      db.prepare("select name from sqlite_master limit 1").all();
      return db;
    } catch (error) {
      return tell(path, error);
    }
  };
  const databaseAt = (path: string): DatabaseSync | null => {
    const known = open.get(path);
    if (known !== undefined) return known;
    const found = opened(path);
    open.set(path, found);
    return found;
  };
  const rows: SourceDatabases["rows"] = (path, sql, ...values) => {
    const db = databaseAt(path);
    if (db === null) return [];
    try {
      return db.prepare(sql).all(...values);
    } catch (error) {
      if (!met.some(({ name }) => name === path)) tell(path, error);
      return [];
    }
  };
  const columns: SourceDatabases["columns"] = (path, table) =>
    new Set(rows(path, "select name from pragma_table_info(?)", table).map(({ name }) => String(name)));

  return {
    rows,
    columns,
    hasTable: (path, table) => columns(path, table).size > 0,
    told: () => met,
    close() {
      for (const db of open.values()) db?.close();
      open.clear();
      if (copies !== null) rmSync(copies, { recursive: true, force: true });
    },
  };
}

export function agentDatabase(folder: string, agent: string): string {
  return join(folder, "agents", agent, "agent", "openclaw-agent.sqlite");
}

export function gatewayDatabase(folder: string): string {
  return join(folder, "state", "openclaw.sqlite");
}

export interface StoredSession {
  readonly name: string;
  readonly entry: Json;
  readonly sessionId: string;
}

/** Sessions of an agent; those of 2026.7.2 and later, of which 2026.9 renamed the table. */
export function storedSessions(databases: SourceDatabases, path: string): readonly StoredSession[] {
  const [table, id] = databases.hasTable(path, "session_nodes")
    ? ["session_nodes", "current_session_id"]
    : ["session_entries", "session_id"];
  if (!databases.hasTable(path, table)) return [];
  return databases
    .rows(path, `select session_key, ${id} as id, entry_json, updated_at from ${table} order by session_key`)
    .map(({ session_key: name, id: sessionId, entry_json: entry, updated_at: updatedAt }) => {
      const read = jsonOf(entry);
      const block = isBlock(read) ? read : {};
      return {
        name: String(name),
        sessionId: String(sessionId),
        entry: { ...block, ...(Number(updatedAt) > 0 ? { updatedAt: Number(updatedAt) } : {}) },
      };
    });
}

/** It has transcripts, and no list of sessions that is known. */
export function isOfUnknownForm(databases: SourceDatabases, path: string): boolean {
  const has = (table: string): boolean => databases.hasTable(path, table);
  return has("transcript_events") && !has("session_nodes") && !has("session_entries");
}

/** A transcript as the lines of its file were; empty where the database has none of it. */
export function storedTranscript(databases: SourceDatabases, path: string, sessionId: string): string {
  const packed = databases.columns(path, "transcript_events").has("event_zstd") ? ", event_zstd" : "";
  const events = databases.rows(
    path,
    `select event_json${packed} from transcript_events where session_id = ? order by seq`,
    sessionId,
  );
  if (events.length > 0)
    return events
      .map(({ event_json: text, event_zstd: bytes }) =>
        // A line break can stand between two words of JSON only.
        (typeof text === "string" ? text : unpacked(bytes)).replaceAll(/\r?\n/g, " "),
      )
      .join("\n");
  if (!databases.hasTable(path, "session_transcript_cold_archives")) return "";
  const [archive] = databases.rows(
    path,
    "select archive_blob from session_transcript_cold_archives where session_id = ? and storage = 'sqlite'",
    sessionId,
  );
  return unpacked(archive?.["archive_blob"]);
}

/**
 * Bytes that are broken, or become more than a file may have, count as a line that is no JSON, which the
 * reader of transcripts tells.
 */
function unpacked(bytes: unknown): string {
  if (!(bytes instanceof Uint8Array)) return "";
  try {
    return zstdDecompressSync(bytes, { maxOutputLength: mostMegabytes * 1e6 }).toString("utf8");
  } catch {
    return "{broken";
  }
}

/** Null for what is no JSON. */
export function jsonOf(text: unknown): Json {
  try {
    return typeof text === "string" ? (JSON.parse(text) as Json) : null;
  } catch {
    return null;
  }
}
