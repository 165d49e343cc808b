// Takes lines out of the notes and out of the results that tools left in the workspace. Each file is replaced
// by a rename, so that a kill leaves it as it was or without the lines; running it again finishes the work.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { listFiles, readMemoryFile } from "../read-file.ts";
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
  if (write) dropDrafts(workspace);
  return { lines, problems };
}

/** A kill may have left some, with what was to be forgotten since. */
function dropDrafts(workspace: string): void {
  const folders = new Set([...listFiles(workspace).files.map(({ path }) => path), ...resultFiles(workspace)]);
  for (const folder of new Set(["", ...[...folders].map((path) => dirname(path))])) {
    const names = existsSync(join(workspace, folder)) ? readdirSync(join(workspace, folder)) : [];
    for (const name of names)
      if (name.endsWith(draftEnding)) rmSync(join(workspace, folder, name), { force: true });
  }
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

const draftEnding = ".parley-draft";

/** A new file is its owner's alone. What a link names is replaced there, and the link stays one. */
export function replaceFile(path: string, text: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  const place = mode === undefined ? path : realpathSync(path);
  const draft = `${place}${draftEnding}`;
  writeFileSync(draft, text, { mode: (mode ?? 0o600) & 0o777 });
  const file = openSync(draft, "r");
  fsyncSync(file);
  closeSync(file);
  renameSync(draft, place);
}
