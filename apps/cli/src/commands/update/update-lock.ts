// Lets one update of a state folder run at a time; a lock of a process that is gone holds nobody up.
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRunning } from "@parley/update";
import { CommandFailure } from "../../exit.ts";

/** One update of a state folder at a time. Returns what gives it up. */
export function lockUpdate(home: string): () => void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const path = join(home, "update.lock");
  for (;;) {
    try {
      const file = openSync(path, "wx", 0o600);
      writeFileSync(file, String(process.pid));
      closeSync(file);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = Number(readOr(path, "0"));
    if (holder > 0 && holder !== process.pid && isRunning(holder))
      throw new CommandFailure("conflict", `An update runs already (process ${holder}).`);
    rmSync(path, { force: true });
  }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
