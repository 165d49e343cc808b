// What `parley status` reads when the daemon takes no connection, because it has no file handle left or its
// event loop has much to do: the newest status, in a file that was opened while there were handles, written
// now and then. A kill leaves it behind; its reader asks who runs.
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { statusFileName, type Clock, type Log, type MethodResult } from "@parley/protocol";

export interface StatusFileOptions {
  readonly home: string;
  readonly status: () => Promise<MethodResult<"status">>;
  readonly clock: Clock;
  readonly log: Log;
}

/** As often as the store is looked at. */
const writeEveryMs = 10_000;

/** Returns how to stop; the file goes then. */
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
      // As on a full disk. What was written before stays, with its time.
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

/** Whether a file can be opened now. */
export function outOfFiles(): boolean {
  try {
    closeSync(openSync("/dev/null", "r"));
    return false;
  } catch (error) {
    return ["EMFILE", "ENFILE"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}
