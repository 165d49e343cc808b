// Deletes old media files by age and total size, as the config says (I9), and never what a transcript, a
// message or a delivery still names. What is written now is named soon, so files younger than two days stay.
import type { Config } from "@parley/config";
import type { Clock, Log } from "@parley/protocol";
import { oldFiles, removeFiles, type OldFiles } from "./old-files.ts";
import { referencedMedia, type ReferringStore } from "./media-references.ts";

export interface MediaRetentionOptions {
  readonly folder: string;
  readonly store: ReferringStore;
  readonly limits: () => Config["media"];
  readonly clock: Clock;
  readonly log: Log;
}

const dayMs = 86_400_000;
const neededMs = 2 * dayMs;
const everyMs = 3_600_000;
/** Looking for what is referenced reads everything, so it waits where nothing could go. */
const nothingWentMs = dayMs;
/** A starting daemon has more urgent work. */
const firstMs = 60_000;
/** `<sha256>.<extension>`, or a draft of one. Other files in the folder are not ours. */
const ownName = /^(?:[0-9a-f]{64}\.[a-z0-9]{1,8}|\.[0-9a-f]{64}\.[a-z0-9]{1,8}\.\d+\.\d+)$/;

/** The rule of the folder. */
export function mediaFiles(
  folder: string,
  { keepDays, maxMegabytes }: Config["media"],
  store: ReferringStore,
): OldFiles {
  return {
    folder,
    names: ownName,
    keepMs: keepDays * dayMs,
    maxBytes: maxMegabytes * 1_000_000,
    neededMs,
    inUse: (names) => referencedMedia(store, names),
  };
}

/** Deletes files beyond the limits, oldest first. Returns their number. */
export async function forgetMedia(
  folder: string,
  limits: Config["media"],
  store: ReferringStore,
  nowMs: number,
): Promise<number> {
  const old = await oldFiles(mediaFiles(folder, limits, store), nowMs);
  await removeFiles(old);
  return old.length;
}

/** Returns a function that stops it. */
export function forgetMediaRegularly({
  folder,
  store,
  limits,
  clock,
  log,
}: MediaRetentionOptions): () => void {
  let stopped = false;
  let readAtMono = -Infinity;
  const look = (): void => {
    oldFiles(
      {
        ...mediaFiles(folder, limits(), store),
        async inUse(names) {
          if (clock.mono() - readAtMono < nothingWentMs) return names;
          const used = await referencedMedia(store, names);
          readAtMono = clock.mono();
          return used;
        },
      },
      clock.now(),
    )
      .then(async (old) => {
        await removeFiles(old);
        // More may go at the next look.
        if (old.length > 0) readAtMono = -Infinity;
        return old.length;
      })
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
