// Writes the newest status to a file now and then, for `parley status` when the daemon accepts no connection:
// out of file handles, or too busy. The file is opened while there are handles. A kill leaves it behind, so
// its reader checks who runs.
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { statusFileName, type Clock, type Log, type MethodResult } from "@parley/protocol";

export interface StatusFileOptions {
  readonly home: string;
  readonly status: () => Promise<MethodResult<"status">>;
  readonly clock: Clock;
  readonly log: Log;
}

/** As often as the store is checked. */
const writeEveryMs = 10_000;

/** Returns a function that stops it and removes the file. */
export function keepStatusFile({ home, status, clock, log }: StatusFileOptions): () => void {
  const path = join(home, statusFileName);
  const fd = openSync(path, "w", 0o600);
  let stopped = false;
  const write = async (): Promise<void> => {
    try {
      const found = await status();
      if (stopped) return;
      ftruncateSync(fd, writeSync(fd, `${JSON.stringify({ atMs: clock.now(), status: found })}\n`, 0));
    } catch (error) {
      // A full disk, for example. The older status stays, with its time.
      log.debug({ error }, "the status could not be written down");
    }
    timer = clock.after(writeEveryMs, () => void write());
  };
  let timer = clock.after(0, () => void write());
  return () => {
    stopped = true;
    timer.cancel();
    closeSync(fd);
    rmSync(path, { force: true });
  };
}

/** Returns whether no file can be opened now. */
export function outOfFiles(): boolean {
  try {
    closeSync(openSync("/dev/null", "r"));
    return false;
  } catch (error) {
    return ["EMFILE", "ENFILE"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}
