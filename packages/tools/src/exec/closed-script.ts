// Decides whether everything that a command would run is known: system programs that start nothing else, and
// workspace scripts whose every line is such a command. Only such a command certainly runs what a person saw.
// Most scripts are not of this kind, and no makefile, package or module is: what those load shows only while
// they run.
import { createHash } from "node:crypto";
import { isFault } from "@parley/protocol";
import { readBytes, type Rooted } from "../files/rooted.ts";
import type { BoundFile } from "./bound-file.ts";
import { readCommandLine } from "./command-line.ts";
import type { KnownForm } from "./known-form.ts";
import { knownForm } from "./known-programs.ts";
import { programName } from "./program-name.ts";

export interface ScriptPlace {
  readonly files: Rooted;
  /** The path of a word, as the command would find it from its folder. */
  readonly at: (word: string) => string;
  /** A program by its name or path, absolute. */
  readonly find: (name: string) => Promise<string>;
}

export interface Closed {
  /** The scripts that it runs. */
  readonly scripts: readonly BoundFile[];
  /** What its commands touch, those of its scripts too. */
  readonly touches: readonly KnownForm[];
}

const mostScripts = 32;
const longestScript = 64 * 1024;
const shells = new Set(["sh", "bash", "dash"]);
/**
 * The kernel hands such a script to a shell and to nothing else. Blanks are what it takes for blanks, not all
 * that look like it.
 */
const shellScript =
  /^#![ \t]*(?:(?:\/usr)?\/bin\/(?:sh|bash|dash)(?: -[eux]+)?|\/usr\/bin\/env (?:sh|bash|dash))[ \t]*$/;
/** Commands of the shell itself that start nothing. */
const builtin = /^(?:echo|true|false|pwd|exit|:)$/;
const switches = /^set -[eux]+$/;
/** A shell takes any other white space for a part of the word that it stands in. */
const blanks = /^[ \t]+|[ \t]+$/g;

/** `commands`: with their programs found. Null when something in them is not known to start nothing. */
export async function closedScripts(
  commands: readonly (readonly string[])[],
  writes: readonly string[],
  place: ScriptPlace,
): Promise<Closed | null> {
  const scripts = new Map<string, BoundFile>();
  const touches: KnownForm[] = [sentTo(writes)];
  const pending = commands.map((argv) => ({ argv, nested: false }));
  for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
    const { argv, nested } = next;
    const form = knownForm(argv);
    // Inside a script nothing stands between git and what the repository names.
    if (form !== null && !(nested && programName(argv[0] ?? "") === "git")) {
      touches.push(form);
      continue;
    }
    const script = await scriptOf(argv, place);
    if (script === null || scripts.size >= mostScripts) return null;
    if (scripts.has(script.file.path)) continue;
    scripts.set(script.file.path, script.file);
    const inside = await commandsOf(script.lines, place);
    if (inside === null) return null;
    pending.push(...inside.commands.map((each) => ({ argv: each, nested: true })));
    touches.push(sentTo(inside.writes));
  }
  // A shell reads on in a script while it runs: what is written into it would run too.
  const written = new Set(touches.flatMap((form) => form.writes).map(place.at));
  if (
    scripts.size > 0 &&
    (await Promise.all([...written].map((path) => isOneOf(scripts, path, place.files)))).includes(true)
  )
    return null;
  return { scripts: [...scripts.values()], touches };
}

function sentTo(writes: readonly string[]): KnownForm {
  return { reads: [], writes: writes.filter((path) => path !== "/dev/null") };
}

/** Null when it runs no script of the workspace, or one that not only a shell reads. */
async function scriptOf(
  [program = "", ...args]: readonly string[],
  place: ScriptPlace,
): Promise<{ readonly file: BoundFile; readonly lines: readonly string[] } | null> {
  const byShell = shells.has(programName(program) ?? "");
  const [name = ""] = args;
  // A bare name that was not found is none of the workspace's files.
  if (!program.startsWith("/") || (byShell && (name === "" || /^[-+]/.test(name)))) return null;
  const path = byShell ? place.at(name) : program;
  try {
    return await place.files.withFile(path, async ({ handle, size, path: real }) => {
      if (size > longestScript) return null;
      const bytes = await readBytes(handle, 0, size);
      const text = bytes.toString();
      const lines = text.split("\n");
      if (!byShell && !shellScript.test(lines[0] ?? "")) return null;
      // What is no text is read otherwise by a shell than here.
      if (text.includes("\0") || text.includes("\ufffd")) return null;
      return { file: { path: real, sha256: createHash("sha256").update(bytes).digest("hex") }, lines };
    });
  } catch (error) {
    if (isFault(error)) return null; // No file of the workspace.
    throw error;
  }
}

/** Null when a line of the script is more than commands of plain words. */
async function commandsOf(
  lines: readonly string[],
  place: ScriptPlace,
): Promise<{ readonly commands: readonly (readonly string[])[]; readonly writes: readonly string[] } | null> {
  const commands: (readonly string[])[] = [];
  const writes: string[] = [];
  for (const line of lines.map((each) => each.replaceAll(blanks, ""))) {
    if (line === "" || line.startsWith("#") || switches.test(line)) continue;
    const read = readCommandLine(line);
    const parts = read.kind === "words" ? [read.argv] : read.parts;
    if (parts === null) return null;
    if (read.kind === "shell") writes.push(...read.writes);
    for (const [name = "", ...args] of parts)
      if (!builtin.test(name)) commands.push([await place.find(name), ...args]);
  }
  return { commands, writes };
}

/** Anything that cannot be told apart from a script counts as one. */
async function isOneOf(scripts: ReadonlyMap<string, unknown>, path: string, files: Rooted): Promise<boolean> {
  try {
    return await files.withFile(path, async ({ path: real }) => scripts.has(real));
  } catch (error) {
    if (isFault(error)) return error.code !== "missing";
    throw error;
  }
}
