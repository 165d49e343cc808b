// Serves `parley import`: the folder and flags as words in, one JSON document on standard output: the report,
// or why nothing was done.
import type { Writable } from "node:stream";
import { fileFault, type Env } from "@parley/config";
import { isFault, systemClock, systemIds } from "@parley/protocol";
import { importOpenclaw } from "./import-openclaw.ts";

/** Returns the exit code. */
export async function importOnce(
  [folder = "", ...flags]: readonly string[],
  output: Writable,
  env: Env,
): Promise<number> {
  const say = (document: object): void => void output.write(`${JSON.stringify(document)}\n`);
  try {
    say(
      await importOpenclaw({
        folder,
        apply: flags.includes("--apply"),
        evenIfRunning: flags.includes("--even-if-running"),
        env,
        clock: systemClock(),
        ids: systemIds(),
      }),
    );
    return 0;
  } catch (error) {
    const fault = isFault(error) ? error : fileFault(error);
    if (fault === null) throw error;
    say({ error: { code: fault.code, message: fault.message } });
    return 1;
  }
}
