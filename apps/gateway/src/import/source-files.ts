// Reads the files of the source that the rest does not hang on. One that is broken, may not be read or leads
// elsewhere is told with its place and what to do, and counts as empty, so that everything else is carried.
import { accessSync, constants, lstatSync, readFileSync, readdirSync, realpathSync, statSync } from "node:fs";
import { sep } from "node:path";
import { parseDocument } from "@parley/config";
import type { Json } from "@parley/protocol";
import type { Met } from "./report.ts";

export interface SourceFiles {
  /** Of a JSON5 file; null where there is none, or none that can be read, which is told. */
  value(path: string): Json;
  /** Null likewise. */
  text(path: string): string | null;
  /** Names in a folder, in order; none where there is no such folder, or none that can be read. */
  names(folder: string): readonly string[];
  /**
   * Why the file cannot be read; null where it can. One that is not there has no trouble. `most` are
   * megabytes.
   */
  trouble(path: string, most?: number): string | null;
  /** What was told about files in this folder, or about itself. */
  told(folder: string): readonly Met[];
}

/** A larger one is nothing that a person keeps, or that a model could go on with. */
export const mostMegabytes = 256;

export function sourceFiles(root: string): SourceFiles {
  const met = new Map<string, Met>();
  const tell = (path: string, name: string, why: string): null => {
    met.set(path, { what: "file", name, fate: "refused", why });
    return null;
  };
  const text = (path: string): string | null => {
    const why = troubleOf(root, path, "file");
    if (why !== null) return tell(path, path, why);
    if (!isThere(path)) return null;
    try {
      return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
    } catch (error) {
      return tell(path, path, `it cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return {
    text,
    trouble: (path, most) => troubleOf(root, path, "file", most),
    value(path) {
      const written = text(path);
      if (written === null || written.trim() === "") return null;
      try {
        return JSON.parse(written) as Json;
      } catch {
        // It may be JSON5, whose reader knows the line and is much slower.
      }
      const { value, problems } = parseDocument(written);
      const [problem] = problems;
      if (problem === undefined) return value as Json;
      const { line = 1, column = 1, message } = problem;
      return tell(path, `${path}:${line}:${column}`, `${message}. Mend it there and import again`);
    },
    names(folder) {
      const why = troubleOf(root, folder, "folder");
      if (why !== null) {
        tell(folder, folder, why);
        return [];
      }
      return isThere(folder) && statSync(folder).isDirectory() ? readdirSync(folder).toSorted() : [];
    },
    told: (folder) =>
      [...met].flatMap(([path, each]) => (path === folder || path.startsWith(folder + sep) ? [each] : [])),
  };
}

export const unreadable = "this user may not read it: run the import as the user whose files these are";

function troubleOf(root: string, path: string, kind: "file" | "folder", most = mostMegabytes): string | null {
  try {
    if (!isThere(path)) return null;
    const [to, home] = [realpathSync(path), realpathSync(root)];
    if (to !== home && !to.startsWith(home + sep))
      return "a link leads out of the source, which is not followed: put what it leads to in its place";
    const found = statSync(path);
    if (kind === "folder") {
      if (found.isDirectory()) accessSync(path, constants.R_OK | constants.X_OK);
      return null;
    }
    if (!found.isFile()) return "it is no file";
    const megabytes = found.size / 1e6;
    if (megabytes > most)
      return `it has ${Math.round(megabytes)} MB, more than ${most}: copy it by hand, if it is wanted`;
    accessSync(path, constants.R_OK);
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ELOOP") return "it is a link that leads nowhere";
    if (code === "EACCES" || code === "EPERM") return unreadable;
    throw error;
  }
}

/** False below a file too: macOS puts a `.DS_Store` among the folders of agents. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return false;
    throw error;
  }
}
