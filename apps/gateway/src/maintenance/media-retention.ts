// Deletes old media files by age and total size, as the config says (I9). A turn or delivery that uses a file
// is over within a day of its writing, so files younger than two days are never touched.
import type { Config } from "@parley/config";
import type { Clock, Log } from "@parley/protocol";
import { oldFiles, removeFiles, type OldFiles } from "./old-files.ts";

export interface MediaRetentionOptions {
  readonly folder: string;
  readonly limits: () => Config["media"];
  readonly clock: Clock;
  readonly log: Log;
}

const dayMs = 86_400_000;
const neededMs = 2 * dayMs;
const everyMs = 3_600_000;
/** A starting daemon has more urgent work. */
const firstMs = 60_000;
/** `<sha256>.<extension>`, or a draft of one. Other files in the folder are not ours. */
const ownName = /^(?:[0-9a-f]{64}\.[a-z0-9]{1,8}|\.[0-9a-f]{64}\.[a-z0-9]{1,8}\.\d+\.\d+)$/;

/** The rule of the folder. */
export function mediaFiles(folder: string, { keepDays, maxMegabytes }: Config["media"]): OldFiles {
  return {
    folder,
    names: ownName,
    keepMs: keepDays * dayMs,
    maxBytes: maxMegabytes * 1_000_000,
    neededMs,
  };
}

/** Deletes files beyond the limits, oldest first. Returns their number. */
export async function forgetMedia(folder: string, limits: Config["media"], nowMs: number): Promise<number> {
  const old = await oldFiles(mediaFiles(folder, limits), nowMs);
  await removeFiles(old);
  return old.length;
}

/** Returns a function that stops it. */
export function forgetMediaNowAndThen({ folder, limits, clock, log }: MediaRetentionOptions): () => void {
  let stopped = false;
  const look = (): void => {
    forgetMedia(folder, limits(), clock.now())
      .then(
        (files) => files > 0 && log.info({ files }, "old files were removed from media"),
        // Another node of the folder may have been faster; what remains is tried again.
        (error: unknown) => log.debug({ error }, "the media folder could not be looked through"),
      )
      .finally(() => {
        if (!stopped) timer = clock.after(everyMs, look);
      });
  };
  let timer = clock.after(firstMs, look);
  return () => {
    stopped = true;
    timer.cancel();
  };
}
