// Writes the log on disk, `logs/parley.log` and its predecessors: bounded (I9), private, and never blocking
// the daemon. Before each line it notices whether somebody moved, removed or emptied the file. It tries a
// file that it cannot write again later; standard error has the lines meanwhile.
import { chmodSync, closeSync, fstatSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, openToAppend } from "@parley/config";
import type { Clock } from "@parley/protocol";

export interface LogFileOptions {
  readonly folder: string;
  /** Without the ending. */
  readonly name: string;
  readonly maxBytes: number;
  /** How many older files stay. */
  readonly keep: number;
  readonly clock: Pick<Clock, "mono">;
}

export interface LogFile {
  /** Writes a line with its line break. Never throws. */
  write(line: string): void;
  close(): void;
}

const tryAgainMs = 5_000;

export function logFile({ folder, name, maxBytes, keep, clock }: LogFileOptions): LogFile {
  const path = join(folder, `${name}.log`);
  const older = (nth: number): string => join(folder, `${name}.${nth}.log`);
  let file: { readonly fd: number; readonly ino: number; readonly dev: number } | null = null;
  let tryAtMs = -Infinity;

  function open(): NonNullable<typeof file> {
    makeFolder(folder);
    const fd = openToAppend(path);
    // The file may have existed with another mode.
    chmodSync(path, 0o600);
    const { ino, dev } = fstatSync(fd);
    return { fd, ino, dev };
  }

  function shut(): void {
    if (file !== null) closeSync(file.fd);
    file = null;
  }

  function rotate(): void {
    shut();
    rmSync(older(keep), { force: true });
    for (let nth = keep - 1; nth >= 1; nth -= 1) move(older(nth), older(nth + 1));
    if (keep > 0) move(path, older(1));
    else rmSync(path, { force: true });
  }

  /**
   * Size of the file at our path if it is still ours. Checked before each line, because a line written to a
   * file that logrotate took away may be lost.
   */
  function sizeOfOurs(): number {
    const there = statSync(path, { throwIfNoEntry: false });
    if (there !== undefined && there.ino === file?.ino && there.dev === file.dev) return there.size;
    shut();
    file = open();
    return fstatSync(file.fd).size;
  }

  function write(line: string): void {
    if (clock.mono() < tryAtMs) return;
    try {
      const size = sizeOfOurs();
      if (size > 0 && size + Buffer.byteLength(line) > maxBytes) {
        rotate();
        file = open();
      }
      if (file !== null) writeSync(file.fd, line);
    } catch {
      // A full disk must not stop the daemon; standard error has the line.
      tryAtMs = clock.mono() + tryAgainMs;
      try {
        shut();
      } catch {
        file = null;
      }
    }
  }

  return {
    write,
    close: shut,
  };
}

function move(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
