// Tells how an index stands and what a reader of its answers should know.
import { existsSync, statSync } from "node:fs";
import type { MemoryStatus, SearchRequest } from "./contract.ts";
import type { OpenIndex } from "./open-index.ts";
import { scopeOfPlace } from "./scope.ts";

/** Whoever may not see a file does not learn its name from what is wrong with it. */
export function notesOf(
  index: OpenIndex,
  rebuilt: string | null,
  scopes: SearchRequest["scopes"],
): readonly string[] {
  const left = index.filesLeft();
  const problems = [...index.problems].filter(([path]) => {
    const scope = scopeOfPlace(path);
    return scopes === "all" || (scope !== null && scopes.includes(scope));
  });
  const told = problems.slice(0, 5).map(([path, reason]) => `${path}: ${reason}`);
  const more = problems.length - told.length;
  return [
    ...(rebuilt === null ? [] : [`${rebuilt}, and was built anew from the notes`]),
    ...(left === 0 ? [] : [`${left} files are not indexed yet: search again for all of them`]),
    ...told,
    ...(more > 0 ? [`and ${more} more files with problems`] : []),
  ];
}

export function statusOf(index: OpenIndex): MemoryStatus {
  const count = (sql: string): number => (index.file.db.prepare(sql).get() as { n: number }).n;
  const { indexPath } = index.target;
  const trouble = index.vectors?.trouble() ?? null;
  return {
    index: indexPath,
    files: count("SELECT count(*) AS n FROM files WHERE sha256 <> '' OR source = 'sessions'"),
    chunks: count("SELECT count(*) AS n FROM chunks"),
    vectors: count("SELECT count(*) AS n FROM vectors"),
    vectorsLeft: index.vectors?.pending() ?? 0,
    filesLeft: index.filesLeft(),
    bytes: ["", "-wal"]
      .map((ending) => `${indexPath}${ending}`)
      .reduce((sum, path) => sum + (existsSync(path) ? statSync(path).size : 0), 0),
    problems: [...index.problems].map(([path, reason]) => ({ path, reason })),
    notes: [
      ...(trouble === null ? [] : [`meaning is not searched now: ${trouble}`]),
      ...notesOf(index, index.rebuilt(), "all"),
    ].filter((note) => !index.problems.has(note.split(": ")[0] ?? "")),
  };
}
