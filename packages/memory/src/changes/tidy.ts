// Works out what accepted changes make of the notes: lines that say the same become one, and lines that hold
// no more are marked. A change whose lines do not all stand there any more is left out, never guessed.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { replaceFile } from "./forget-files.ts";
import { readMemoryFile } from "../read-file.ts";
import { scopeOfFile } from "../scope.ts";
import type { NoteLine } from "./alike.ts";

export interface TidyChange {
  /** All in one scope. Of a contradiction, the first is what holds now. */
  readonly lines: readonly NoteLine[];
  /** What stands in place of the first line of a merge; null: a contradiction. */
  readonly text: string | null;
}

interface FileEdit {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

export interface Tidied {
  readonly edits: readonly FileEdit[];
  /** For each change, why it is left out; null: it is in the edits. */
  readonly refused: readonly (string | null)[];
  /** Lines that are new, each with the change that made it. */
  readonly added: readonly { readonly path: string; readonly text: string; readonly change: number }[];
}

const quotedChars = 160;
/** As a list writes them. */
const listMark = /^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?/;

/** `day`: as the marks of a contradiction have it. Writes nothing. */
export function tidied(workspace: string, changes: readonly TidyChange[], day: string): Tidied {
  const files = new Map<string, { before: string; lines: (string | null)[] }>();
  const added: { path: string; text: string; change: number }[] = [];
  const fileAt = (path: string): { before: string; lines: (string | null)[] } | null => {
    const known = files.get(path);
    if (known !== undefined) return known;
    if (scopeOfFile(path) === null) return null;
    const read = readMemoryFile(workspace, path);
    if (read.state !== "read" || read.note !== null) return null;
    const file = { before: read.text, lines: read.text.split("\n") };
    files.set(path, file);
    return file;
  };
  const refused = changes.map(({ lines, text }, change): string | null => {
    const scopes = new Set(lines.map(({ path }) => scopeOfFile(path)));
    if (scopes.size !== 1) return "its lines are not for the same people";
    const taken = new Set<string>();
    const places = lines.map(({ path, line, text: said }) => {
      const file = fileAt(path);
      const at = file === null ? -1 : nearest(file.lines, said, line - 1, (n) => taken.has(`${path}#${n}`));
      taken.add(`${path}#${at}`);
      return { path, at, file };
    });
    const missing = places.findIndex(({ at }) => at < 0);
    if (missing >= 0) return `${lines[missing]?.path ?? ""} was changed since`;
    const [first] = places;
    const held = lines[0]?.text ?? "";
    for (const { path, at, file } of text === null ? places.slice(1) : places) {
      if (file === null || first === undefined) continue;
      const old = file.lines[at] ?? "";
      const end = old.endsWith("\r") ? "\r" : "";
      const isFirst = path === first.path && at === first.at;
      if (text !== null && !isFirst) {
        file.lines[at] = null;
        continue;
      }
      const fresh = text === null ? superseded(old.replace(/\r$/, ""), held, day) : merged(held, text);
      file.lines[at] = `${fresh}${end}`;
      if (`${fresh}${end}` !== old) added.push({ path, text: fresh, change });
    }
    return null;
  });
  const edits = [...files].flatMap(([path, { before, lines }]): FileEdit[] => {
    const after = lines.filter((line) => line !== null).join("\n");
    return after === before ? [] : [{ path, before, after }];
  });
  return { edits, refused, added };
}

/** The line's own mark stays; the text has none. */
function merged(first: string, text: string): string {
  const mark = listMark.exec(first)?.[0] ?? /^\s*/.exec(first)?.[0] ?? "";
  return `${mark}${text.replaceAll(/\s+/gu, " ").trim().replace(listMark, "")}`;
}

function superseded(line: string, held: string, day: string): string {
  const said = held.replace(listMark, "").trim();
  const quoted = said.length <= quotedChars ? said : `${said.slice(0, quotedChars).toWellFormed()}…`;
  return `${line.trimEnd()} [superseded ${day}: ${quoted}]`;
}

/** Of lines that read the same, the one that is nearest to where it stood. */
function nearest(
  lines: readonly (string | null)[],
  text: string,
  at: number,
  isTaken: (at: number) => boolean,
): number {
  let best = -1;
  for (const [index, line] of lines.entries())
    if (
      line?.replace(/\r$/, "") === text &&
      !isTaken(index) &&
      (best < 0 || Math.abs(index - at) < Math.abs(best - at))
    )
      best = index;
  return best;
}

/** A note as it was and as it is to be, by hashes; `text` is null where only the hash is known any more. */
export interface NoteRewrite {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly text: string | null;
}

/** `there`: it says so already. `changed`: it is neither what it was nor what it is to be. */
export type Rewritten = "written" | "there" | "changed";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

export function rewriteNote(workspace: string, { path, before, after, text }: NoteRewrite): Rewritten {
  const read = readMemoryFile(workspace, path);
  if (scopeOfFile(path) === null || read.state !== "read" || read.note !== null) return "changed";
  const now = hashOf(read.text);
  if (now === after) return "there";
  if (now !== before || text === null || hashOf(text) !== after) return "changed";
  replaceFile(join(workspace, path), text);
  return "written";
}
