// `parley logs`: the log files of the state folder, also while the gateway is stopped or its config is
// broken. Following goes on over rotations. On a terminal a line is told in words; elsewhere it is the same
// JSON without what nobody sees, with --json what the file has.
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { placesIn } from "@parley/config";
import { printableJson, sleep, systemClock } from "@parley/protocol";
import { line, styled, type Console, type Style } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";

export interface LogFlags {
  readonly follow?: boolean;
  readonly lines?: string;
  readonly level?: string;
  readonly grep?: string;
}

const lookEveryMs = 250;
const mostLines = 100_000;
/** Read from the end in pieces of this size. */
const pieceBytes = 65_536;

const levels: { readonly [name: string]: number } = { debug: 20, info: 30, warn: 40, error: 50 };

export async function logs(terminal: Console, flags: LogFlags): Promise<ExitCode> {
  const count = Number(flags.lines ?? 100);
  if (!Number.isInteger(count) || count < 0 || count > mostLines) {
    throw new CommandFailure(
      "invalid",
      `--lines takes a number up to ${mostLines}, not "${flags.lines}"`,
      exitCodes.usage,
    );
  }
  const least = levels[flags.level ?? "debug"];
  if (least === undefined)
    throw new CommandFailure(
      "invalid",
      `--level is one of: ${Object.keys(levels).join(", ")}`,
      exitCodes.usage,
    );
  const wanted = (text: string): boolean =>
    text !== "" && levelOf(text) >= least && (flags.grep === undefined || text.includes(flags.grep));
  const show = (text: string): void => {
    if (terminal.json) terminal.out.write(`${text}\n`);
    else if (terminal.out.isTTY === true) line(terminal.out, told(terminal, text));
    else line(terminal.out, printableJson(text));
  };

  const folder = join(placesIn(terminal.env).home, "logs");
  const files = await logFiles(folder);
  if (files.length === 0 && flags.follow !== true) {
    throw new CommandFailure(
      "missing",
      `There is no log in ${folder}: no gateway has written one yet. Start it with \`parley start\`.`,
    );
  }
  const { lines, end } = await lastLines(files, count, wanted);
  lines.forEach(show);
  if (flags.follow === true) await follow(folder, end, (text) => wanted(text) && show(text), terminal);
  return exitCodes.ok;
}

interface LogFile {
  readonly path: string;
  readonly inode: number;
}

/** The oldest first. */
async function logFiles(folder: string): Promise<LogFile[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new CommandFailure(
      "denied",
      `${folder} cannot be read: ${error.message}. Run this as the user of the daemon.`,
    );
  });
  const found = await Promise.all(
    names
      .filter((name) => /\.log(?:$|\.)/.test(name) && !name.endsWith(".gz"))
      // One that a rotation just took away.
      .map(async (name) =>
        stat(join(folder, name)).then(
          (each) => ({ path: join(folder, name), inode: each.ino, atMs: each.mtimeMs }),
          () => null,
        ),
      ),
  );
  return found.filter((each) => each !== null).toSorted((a, b) => a.atMs - b.atMs);
}

interface Position {
  readonly inode: number;
  readonly bytes: number;
}

/**
 * The last `count` lines that are wanted, over as many files as it takes; `end`: up to where the newest file
 * was read.
 */
async function lastLines(
  files: readonly LogFile[],
  count: number,
  wanted: (text: string) => boolean,
): Promise<{ readonly lines: readonly string[]; readonly end: Position | null }> {
  const lines: string[] = [];
  let end: Position | null = null;
  for (const { path, inode } of files.toReversed()) {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      let rest = Buffer.alloc(0);
      for (let at = size; at > 0 && lines.length < count;) {
        const from = Math.max(0, at - pieceBytes);
        const piece = Buffer.alloc(at - from);
        await file.read(piece, 0, piece.length, from);
        const joined: Buffer = Buffer.concat([piece, rest]);
        const cut = from === 0 ? 0 : joined.indexOf(10) + 1;
        // A line longer than a piece: look further up.
        if (from > 0 && cut === 0) rest = Buffer.from(joined);
        else {
          rest = Buffer.from(joined.subarray(0, cut));
          const found = joined.subarray(cut).toString("utf8").split("\n").filter(wanted);
          lines.unshift(...found.slice(Math.max(0, found.length - (count - lines.length))));
        }
        at = from;
      }
      end ??= { inode, bytes: size };
    } finally {
      await file.close();
    }
    if (lines.length >= count) break;
  }
  return { lines, end };
}

/**
 * Until the command is ended. A new newest file is read from its beginning, after the rest of the one before.
 */
async function follow(
  folder: string,
  from: Position | null,
  show: (text: string) => void,
  terminal: Console,
): Promise<void> {
  const clock = systemClock();
  let at = from;
  let decoder = new StringDecoder("utf8");
  let rest = "";
  while (!terminal.out.destroyed && !terminal.out.writableEnded) {
    const files = await logFiles(folder);
    const known = at;
    const index =
      known === null
        ? 0
        : Math.max(
            0,
            files.findIndex(({ inode }) => inode === known.inode),
          );
    for (const { path, inode } of known === null ? files.slice(-1) : files.slice(index)) {
      if (at?.inode !== inode) {
        at = { inode, bytes: 0 };
        decoder = new StringDecoder("utf8");
        rest = "";
      }
      const start: number = at.bytes;
      const added = await readFrom(path, start);
      // Cut to nothing in place (copytruncate): from its beginning.
      if (added === null) at = { inode, bytes: 0 };
      else {
        at = { inode, bytes: start + added.length };
        const lines = (rest + decoder.write(added)).split("\n");
        rest = lines.pop() ?? "";
        lines.forEach(show);
      }
    }
    await sleep(clock, lookEveryMs);
  }
}

/** Null when the file is shorter than that. */
async function readFrom(path: string, bytes: number): Promise<Buffer | null> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return Buffer.alloc(0);
  try {
    const { size } = await file.stat();
    if (size < bytes) return null;
    const added = Buffer.alloc(Math.min(size - bytes, 4 * 1_048_576));
    const { bytesRead } = await file.read(added, 0, added.length, bytes);
    return added.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** What is no JSON line counts as worst: it is a crash's last words. */
function levelOf(text: string): number {
  return Number(/^\{"level":(\d+)/.exec(text)?.[1] ?? 60);
}

function told(terminal: Console, text: string): string {
  let entry: { readonly [key: string]: unknown };
  try {
    entry = JSON.parse(text) as { readonly [key: string]: unknown };
  } catch {
    return text;
  }
  const { level, time, msg, ...more } = entry;
  const [name = "log"] = Object.entries(levels).find(([, number]) => number === level) ?? [];
  const colour: Style = name === "error" ? "red" : name === "warn" ? "yellow" : "dim";
  const shown = (value: unknown): string =>
    value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const facts = Object.entries(more).map(([key, value]) => `${key}=${shown(value)}`);
  return `${styled(terminal.out, terminal.env, "dim", shown(time))} ${styled(terminal.out, terminal.env, colour, name.padEnd(5))} ${shown(msg)} ${styled(terminal.out, terminal.env, "dim", facts.join(" "))}`;
}
