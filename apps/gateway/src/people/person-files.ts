// Finds and removes what files of the state folder and of workspaces hold of a person: their notes, kept
// results, files of their messages, lines of the log. Each file is replaced by a rename, so that a kill
// leaves it whole, and running it again finishes the work. What a command says may still grow: there bytes
// are blotted out where they stand, so that nothing is lost that it says meanwhile.
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join, relative } from "node:path";
import type { AgentConfig } from "@parley/config";
import { personFolder } from "@parley/memory";
import { stampOf } from "@parley/runner";
import type { Cells } from "@parley/store";
import type { Person, PersonMarks } from "./person.ts";
import type { Survey } from "./survey.ts";

/** A file without some of its lines; all gone: the file goes. */
export interface FileCut {
  readonly path: string;
  /** Null: the whole file goes. */
  readonly text: string | null;
  readonly lines: readonly string[];
  /** Of a file that may still grow: as many bytes as it has now, theirs blotted out. */
  readonly blotted?: Buffer;
}

export interface PersonFiles {
  readonly notes: readonly FileCut[];
  readonly results: readonly FileCut[];
  readonly logs: readonly FileCut[];
}

const notesFiles = ["MEMORY.md", "memory.md", "USER.md"];
const resultsFolder = ".parley/results";
const outputsFolder = ".parley/exec";
/** A larger file is none of a person's notes. */
const mostBytes = 4_000_000;
/** Shorter words stand in too many other texts. */
const leastWordsChars = 24;
const mostLeftovers = 50;

/** Nothing is changed. */
export async function filesOf(
  person: Person,
  marks: PersonMarks,
  survey: Survey,
  where: {
    readonly home: string;
    readonly agents: readonly AgentConfig[];
    /** What their commands said, below a workspace. */
    readonly outputs: ReadonlySet<string>;
    readonly cells: Pick<Cells, "get">;
  },
): Promise<PersonFiles> {
  const folders = new Set(
    [
      ...person.ids.map(({ channel, id }) => `${channel}:${id}`),
      ...(person.link === null ? [] : [person.link]),
    ].map((name) => `memory/people/${personFolder(name)}/`),
  );
  for (const key of survey.sessions)
    folders.add(`memory/sessions/${createHash("sha256").update(key).digest("hex").slice(0, 16)}/`);
  const resultMarks = new Set(
    [...survey.turns].map((turn) => createHash("sha256").update(turn).digest("hex").slice(0, 12)),
  );
  const notes: FileCut[] = [];
  const results: FileCut[] = [];
  for (const agent of where.agents) {
    const { workspace } = agent;
    const paths = [...notesFiles, ...filesBelow(workspace, "memory")];
    for (const path of paths) {
      const isTheirs = [...folders].some((folder) => path.startsWith(folder));
      // Of what is theirs alone a file goes that is too large to be looked into, too.
      const text = textOf(join(workspace, path)) ?? (isTheirs ? "" : null);
      if (text === null) continue;
      const all = text.split("\n");
      const gone: string[] = [];
      const kept: string[] = [];
      for (const line of all) {
        const isOut =
          isTheirs ||
          (path.endsWith(".md") && (await isTheirLine(where.cells, agent.id, line, marks, survey)));
        (isOut ? gone : kept).push(line);
      }
      if (gone.length === 0) continue;
      notes.push({ path: join(workspace, path), text: isTheirs ? null : kept.join("\n"), lines: gone });
    }
    for (const path of [...filesBelow(workspace, resultsFolder), ...filesBelow(workspace, outputsFolder)]) {
      const whole = join(workspace, path);
      if (
        where.outputs.has(path) ||
        resultMarks.has(path.slice(resultsFolder.length + 1).split("-")[0] ?? "")
      )
        results.push({ path: whole, text: null, lines: [] });
      else if (path.startsWith(`${outputsFolder}/`)) {
        const blotted = blottedOut(whole, marks, survey);
        if (blotted !== null) results.push({ path: whole, text: blotted.toString(), lines: [], blotted });
      } else {
        const text = textOf(whole);
        const clean = text === null ? null : withoutWords(text, marks, survey);
        if (text !== null && clean !== text) results.push({ path: whole, text: clean, lines: [] });
      }
    }
  }
  const logs = [...filesBelow(where.home, "logs"), ...filesBelow(where.home, "audit")].flatMap(
    (path): FileCut[] => {
      const whole = join(where.home, path);
      const text = textOf(whole, Infinity);
      if (text === null) return [];
      const [gone, kept] = parted(text.split("\n"), (line) => isAboutThem(line, marks, survey));
      return gone.length === 0 ? [] : [{ path: whole, text: kept.join("\n"), lines: gone }];
    },
  );
  return { notes, results, logs };
}

export function cutFiles(cuts: readonly FileCut[]): void {
  for (const { path, text, blotted } of cuts) {
    if (text === null) {
      rmSync(path, { force: true });
      continue;
    }
    if (blotted !== undefined) {
      writeOver(path, blotted);
      continue;
    }
    const found = statSync(path, { throwIfNoEntry: false });
    // It went meanwhile.
    if (found === undefined) continue;
    const draft = `${path}.parley-draft`;
    // What a command put there, a link to somewhere else for example, is not written through.
    rmSync(draft, { force: true, recursive: true });
    writeFileSync(draft, text, { mode: found.mode & 0o777, flag: "wx" });
    const file = openSync(draft, "r");
    fsyncSync(file);
    closeSync(file);
    renameSync(draft, path);
  }
}

/** Who appends to the file meanwhile writes behind these bytes. One that went, or became a link, is left. */
function writeOver(path: string, bytes: Buffer): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return;
  const file = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Log lines are cut at the moment of writing them anew, because the daemon goes on writing meanwhile. */
export function cutLogs(logs: readonly FileCut[], marks: PersonMarks, survey: Survey): void {
  for (const { path } of logs) {
    const text = textOf(path, Infinity);
    if (text === null) continue;
    const [, kept] = parted(text.split("\n"), (line) => isAboutThem(line, marks, survey));
    cutFiles([{ path, text: kept.join("\n"), lines: [] }]);
  }
}

/**
 * Files that a daemon keeps locked: whoever closes one that it opened in the same process drops the lock, so
 * that a second daemon could begin beside the first.
 */
const lockedFile = /(?:^|\/)(?:daemon\.lock|state\.db)(?:-wal|-shm|-journal)?$/;

/** Files that still name one of their accounts, which nobody but the operator may change. */
export function leftovers(
  home: string,
  workspaces: readonly string[],
  marks: PersonMarks,
): readonly string[] {
  const found = new Set<string>();
  for (const root of new Set([home, ...workspaces])) {
    for (const path of filesBelow(root, "")) {
      if (found.size >= mostLeftovers) return [...found];
      if (lockedFile.test(path)) continue;
      if (/^(?:media\/|logs\/|audit\/|memory\/[^/]*\.sqlite|browser\/)/.test(path) && root === home) continue;
      const text = textOf(join(root, path));
      if (text !== null && marks.names(text)) found.add(join(root, path));
    }
  }
  return [...found];
}

/** Paths of files below a folder, relative to the root; links are not followed. */
function filesBelow(root: string, folder: string): readonly string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .toSorted();
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

function textOf(path: string, most = mostBytes): string | null {
  try {
    if (!statSync(path).isFile() || statSync(path).size > most) return null;
    return readFileSync(path, "utf8");
  } catch {
    // It went meanwhile, or may not be read: then it is told by whoever looks through the folder.
    return null;
  }
}

async function isTheirLine(
  cells: Pick<Cells, "get">,
  agent: string,
  line: string,
  marks: PersonMarks,
  survey: Survey,
): Promise<boolean> {
  if (line.trim() === "") return false;
  const stamp = await stampOf(cells, agent, line);
  if (stamp === null) return false;
  return (
    survey.turns.has(stamp.turn) ||
    survey.sessions.has(stamp.session) ||
    (stamp.by.length > 0 && stamp.by.every((by) => marks.names(by)))
  );
}

function isAboutThem(line: string, marks: PersonMarks, survey: Survey): boolean {
  if (line === "") return false;
  if (marks.names(line)) return true;
  for (const session of survey.sessions) if (line.includes(session)) return true;
  const { sender, from } = fieldsOf(line);
  return [sender, from].some((each) => each !== undefined && marks.isId("", each));
}

function fieldsOf(line: string): { readonly sender?: string; readonly from?: string } {
  try {
    const read = JSON.parse(line) as { readonly sender?: unknown; readonly senderId?: unknown };
    const id = read.senderId ?? read.sender;
    return typeof id === "string" || typeof id === "number" ? { sender: String(id) } : {};
  } catch {
    // A line of another program, or one that was cut.
    return {};
  }
}

/** Null where nothing of them stands in it. */
function blottedOut(path: string, marks: PersonMarks, survey: Survey): Buffer | null {
  const bytes = bytesOf(path);
  if (bytes === null) return null;
  // What is no text has one character for each byte, so that all others stay as they are.
  const form = isUtf8(bytes) ? "utf8" : "latin1";
  const blot = (found: string): string => "*".repeat(Buffer.byteLength(found, form));
  const text = bytes.toString(form);
  let clean = text;
  for (const words of survey.words)
    if (words.length >= leastWordsChars) {
      const written = form === "utf8" ? words : Buffer.from(words).toString("latin1");
      clean = clean.replaceAll(written, blot(written));
    }
  clean = marks.without(clean, blot);
  return clean === text ? null : Buffer.from(clean, form);
}

/** Null for a file that went meanwhile, or may not be read. */
function bytesOf(path: string): Buffer | null {
  try {
    return statSync(path).isFile() ? readFileSync(path) : null;
  } catch {
    return null;
  }
}

function withoutWords(text: string, marks: PersonMarks, survey: Survey): string {
  let clean = text;
  for (const words of survey.words)
    if (words.length >= leastWordsChars) clean = clean.replaceAll(words, "[removed]");
  return marks.without(clean);
}

function parted<T>(all: readonly T[], is: (each: T) => boolean): readonly [readonly T[], readonly T[]] {
  const yes: T[] = [];
  const no: T[] = [];
  for (const each of all) (is(each) ? yes : no).push(each);
  return [yes, no];
}
