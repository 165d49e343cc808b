// Brings an index up to what the notes say now: a look at every file, and reading only those that changed.
import type { DatabaseSync } from "node:sqlite";
import { chunksOf, type ChunkSettings } from "./chunk.ts";
import { putFile, removeFile, type PassageWatch, type SyncStep } from "./passages.ts";
import { prepared } from "./prepared.ts";
import { listFiles, readMemoryFile, type Listing } from "./read-file.ts";

/**
 * A pass over the notes. Each `next` does one slice; when it is done, the index is what the listing said.
 * Problems with files are told in `problems`.
 */
export function* syncFiles(
  db: DatabaseSync,
  workspace: string,
  settings: ChunkSettings,
  problems: Map<string, string>,
  watch: PassageWatch | null,
): Generator<SyncStep, void> {
  const listing: Listing = listFiles(workspace);
  problems.clear();
  for (const { path, reason } of listing.problems) problems.set(path, reason);
  const known = new Map(
    (
      prepared(
        db,
        "SELECT id, path, stamp, note, scope FROM files WHERE source = 'memory'",
      ).all() as unknown as {
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
  for (const row of known.values())
    if (!here.has(row.path)) yield* removeFile(db, watch, row.id, changed.length);

  let left = changed.length;
  for (const { path, scope, stamp } of changed) {
    const read = readMemoryFile(workspace, path);
    left -= 1;
    problems.delete(path);
    if (read.state === "missing") {
      const row = known.get(path);
      if (row !== undefined) yield* removeFile(db, watch, row.id, left);
      continue;
    }
    const note = read.state === "refused" ? read.reason : read.note;
    if (note !== null) problems.set(path, note);
    const text = read.state === "read" ? read.text.replace(/^\ufeff/, "") : "";
    const sha256 = read.state === "read" ? read.sha256 : "";
    const chunks = chunksOf(text, settings);
    yield* putFile(db, watch, { source: "memory", path, scope, stamp, sha256, note }, chunks, left);
  }
}
