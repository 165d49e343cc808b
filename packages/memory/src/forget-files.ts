// Takes lines out of the notes and out of the results that tools left in the workspace. Each file is replaced
// by a rename, so that a kill leaves it as it was or without the lines; running it again finishes the work.
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listFiles, readMemoryFile } from "./read-file.ts";
import type { Forgetting } from "./forgetting.ts";

interface ForgottenLine {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

export interface FoundLines {
  readonly lines: readonly ForgottenLine[];
  /** Files that could not be looked through. */
  readonly problems: readonly { readonly path: string; readonly reason: string }[];
}

const resultsFolder = ".parley/results";

/** `write` false: only looks. */
export function forgetInFiles(workspace: string, { line }: Forgetting, write: boolean): FoundLines {
  const listing = listFiles(workspace);
  const problems = [...listing.problems];
  const lines: ForgottenLine[] = [];
  for (const path of [...listing.files.map((file) => file.path), ...resultFiles(workspace)]) {
    const read = readMemoryFile(workspace, path);
    if (read.state === "refused") problems.push({ path, reason: read.reason });
    if (read.state !== "read") continue;
    const all = read.text.split("\n");
    const gone = all.flatMap((text, at) => (line(text.replace(/\r$/, "")) ? [at] : []));
    if (gone.length === 0) continue;
    for (const at of gone) lines.push({ path, line: at + 1, text: (all[at] ?? "").replace(/\r$/, "") });
    if (write) replaceFile(join(workspace, path), all.filter((_, at) => !gone.includes(at)).join("\n"));
  }
  return { lines, problems };
}

function resultFiles(workspace: string): readonly string[] {
  try {
    return readdirSync(join(workspace, resultsFolder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(workspace.length + 1));
  } catch {
    // No result was ever kept.
    return [];
  }
}

/** A new file is its owner's alone. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.parley-draft`;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600;
  writeFileSync(draft, text, { mode: mode & 0o777 });
  const file = openSync(draft, "r");
  fsyncSync(file);
  closeSync(file);
  renameSync(draft, path);
}
