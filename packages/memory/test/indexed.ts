// An index with passages in it, without notes on a disk that it would be read from.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openIndex } from "../src/index-file.ts";
import { putFile, removeFile, type FileRow, type PassageWatch } from "../src/passages.ts";

export function indexed() {
  const folder = mkdtempSync(join(tmpdir(), "parley-indexed-"));
  const file = openIndex(join(folder, "main.sqlite"), "");
  const { db } = file;
  const run = (steps: Generator<unknown, void>): void => {
    while (steps.next().done !== true);
  };
  const idOf = (path: string): number =>
    (db.prepare("SELECT id FROM files WHERE path = ?").get(path) as { id: number }).id;
  return {
    db,
    /** One passage for each text; `heading` is that of all. */
    put(
      path: string,
      scope: FileRow["scope"],
      texts: readonly string[],
      heading = "",
      watch?: PassageWatch,
    ): void {
      const chunks = texts.map((text, at) => ({ startLine: at + 1, endLine: at + 1, heading, text }));
      const row = { source: "memory", path, scope, stamp: "s", sha256: "", note: null } as const;
      run(putFile(db, watch ?? null, row, chunks, 0));
    },
    remove: (path: string, watch?: PassageWatch) => run(removeFile(db, watch ?? null, idOf(path), 0)),
    textOf: (id: number): string =>
      (db.prepare("SELECT text FROM chunks WHERE id = ?").get(id) as { text: string }).text,
    close(): void {
      if (db.isOpen) file.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
export type Indexed = ReturnType<typeof indexed>;
