// Takes one change of a note back. Where nothing came after it, the file has its old bytes again; where
// something did, the lines of the change alone go back, if they still stand there once.
import { createHash } from "node:crypto";
import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { Fault } from "@parley/protocol";
import type { UndoRequest, Undone } from "../contract.ts";
import { replaceFile } from "./forget-files.ts";
import { readMemoryFile } from "../read-file.ts";
import { scopeOfFile } from "../scope.ts";

/** Throws Fault("conflict") when it cannot be told what the file was. */
export function undoChange(workspace: string, change: UndoRequest): Undone {
  const { path } = change;
  if (scopeOfFile(path) === null) throw new Fault("denied", `${path} is no memory file`);
  const read = readMemoryFile(workspace, path);
  if (read.state === "refused" || (read.state === "read" && read.note !== null))
    throw new Fault("conflict", `${path}: ${read.state === "refused" ? read.reason : read.note}`);
  const now = read.state === "read" ? read.text : null;
  const then = before(change, now);
  if (then === now) return { before: now, after: now };
  const at = join(workspace, path);
  if (then === null) rmSync(at, { force: true });
  else {
    mkdirSync(dirname(at), { recursive: true });
    const root = realpathSync(workspace);
    const folder = realpathSync(dirname(at));
    if (folder !== root && !folder.startsWith(root + sep))
      throw new Fault("denied", `${path} leads out of the workspace`);
    replaceFile(at, then);
  }
  return { before: now, after: then };
}

const hashOf = (text: string | null): string | null =>
  text === null ? null : createHash("sha256").update(text).digest("hex");

/** The text before the change; the same as now where it is that already. */
function before(
  { path, at, removed, added, before: was, after }: UndoRequest,
  now: string | null,
): string | null {
  const hash = hashOf(now);
  if (hash === was) return now;
  if (at < 0) throw new Fault("conflict", `the change to ${path} was too large to be kept with its text`);
  if (hash === after) {
    const then = now === null ? removed : now.slice(0, at) + removed + now.slice(at + added.length);
    const text = was === null ? null : then;
    if (hashOf(text) === was) return text;
  }
  const found = now === null || added === "" ? -1 : now.indexOf(added);
  if (now === null || found < 0 || now.includes(added, found + 1))
    throw new Fault(
      "conflict",
      `${path} was changed since, where this change was: undo what came after it, or edit the file`,
    );
  return now.slice(0, found) + removed + now.slice(found + added.length);
}
