// Reads the patch format that models are trained on:
//   *** Begin Patch
//   *** Add File: a.txt        then "+" lines
//   *** Update File: b.txt     then optionally *** Move to: c.txt, then hunks: "@@ a line above", " kept",
//   "-removed", "+added"
//   *** Delete File: d.txt
//   *** End Patch
import { Fault } from "@parley/protocol";

export interface Hunk {
  /** Lines that stand above it in this order, to find the place. */
  readonly anchors: readonly string[];
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** It ends where the file ends. */
  readonly atEnd: boolean;
}

export type FilePatch =
  | { readonly kind: "add"; readonly path: string; readonly lines: readonly string[] }
  | { readonly kind: "delete"; readonly path: string }
  | {
      readonly kind: "update";
      readonly path: string;
      readonly moveTo?: string;
      readonly hunks: readonly Hunk[];
    };

const header = /^\*\*\* (Add|Update|Delete) File: (.+)$/;

/** Throws Fault("invalid") that names the line. */
export function parsePatch(text: string): readonly FilePatch[] {
  const lines = text.replaceAll("\r\n", "\n").trim().split("\n");
  if (lines.shift()?.trimEnd() !== "*** Begin Patch")
    throw wrong(1, 'the first line must be "*** Begin Patch"');
  if (lines.pop()?.trimEnd() !== "*** End Patch")
    throw wrong(lines.length + 2, 'the last line must be "*** End Patch"');
  const files: FilePatch[] = [];
  let at = 0;
  const number = (): number => at + 2;
  const body = (): string[] => {
    const from = at;
    while (at < lines.length && !header.test(lines[at] ?? "")) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const [, verb, path = ""] = header.exec(lines[at] ?? "") ?? [];
    if (verb === undefined)
      throw wrong(
        number(),
        'a file begins with "*** Add File: ", "*** Update File: " or "*** Delete File: "',
      );
    const start = number();
    at += 1;
    const own = body();
    files.push(filePatch(verb, path.trim(), own, start));
  }
  if (files.length === 0) throw wrong(2, "the patch names no file");
  const paths = files.flatMap((file) =>
    file.kind === "update" && file.moveTo !== undefined ? [file.path, file.moveTo] : [file.path],
  );
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice !== undefined)
    throw new Fault("invalid", `the patch names ${twice} twice; put its hunks under one header`);
  return files;
}

function filePatch(verb: string, path: string, own: readonly string[], start: number): FilePatch {
  if (verb === "Delete") {
    if (own.some((line) => line.trim() !== "")) throw wrong(start + 1, "nothing follows a deleted file");
    return { kind: "delete", path };
  }
  if (verb === "Add") {
    const bad = own.findIndex((line) => !line.startsWith("+"));
    if (bad !== -1) throw wrong(start + 1 + bad, 'every line of an added file begins with "+"');
    return { kind: "add", path, lines: own.map((line) => line.slice(1)) };
  }
  const moveTo = /^\*\*\* Move to: (.+)$/.exec(own[0] ?? "")?.[1]?.trim();
  const hunks = parseHunks(moveTo === undefined ? own : own.slice(1), start + (moveTo === undefined ? 1 : 2));
  if (hunks.length === 0 && moveTo === undefined) throw wrong(start, `nothing is changed in ${path}`);
  return { kind: "update", path, hunks, ...(moveTo === undefined ? {} : { moveTo }) };
}

interface Draft {
  readonly anchors: string[];
  readonly before: string[];
  readonly after: string[];
  atEnd: boolean;
}

function parseHunks(lines: readonly string[], start: number): readonly Hunk[] {
  const hunks: Draft[] = [];
  let open: Draft | null = null;
  const begin = (): Draft => {
    const hunk: Draft = { anchors: [], before: [], after: [], atEnd: false };
    hunks.push(hunk);
    return (open = hunk);
  };
  const isBegun = ({ before, after }: Draft): boolean => before.length + after.length > 0;
  for (const [index, line] of lines.entries()) {
    const anchor = /^@@(?: (.*))?$/.exec(line.trimEnd());
    if (anchor !== null) {
      // Anchors that follow each other narrow the place down: a class, then a method of it.
      const hunk: Draft = open === null || isBegun(open) ? begin() : open;
      // What a unified diff has there: line numbers are not trusted, and the text behind them is no whole
      // line.
      if (anchor[1] !== undefined && anchor[1] !== "" && !/^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/.test(anchor[1]))
        hunk.anchors.push(anchor[1]);
      continue;
    }
    const hunk: Draft = open ?? begin();
    if (line.trimEnd() === "*** End of File") {
      hunk.atEnd = true;
      open = null;
      continue;
    }
    const sign = line.charAt(0);
    const rest = line.slice(1);
    // Models leave the space out of empty lines.
    if (sign === " " || line === "") {
      hunk.before.push(rest);
      hunk.after.push(rest);
    } else if (sign === "-") hunk.before.push(rest);
    else if (sign === "+") hunk.after.push(rest);
    else throw wrong(start + index, 'a line of a hunk begins with " ", "-", "+" or "@@"');
  }
  const empty = hunks.find((hunk) => !isBegun(hunk));
  if (empty !== undefined) throw wrong(start, "a hunk has no lines");
  return hunks;
}

function wrong(line: number, reason: string): Fault {
  return new Fault("invalid", `the patch cannot be read, line ${line}: ${reason}`);
}
