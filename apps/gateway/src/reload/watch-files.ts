// Notices that a watched file changed, also when an editor replaces it, when a link to it moves (Kubernetes),
// or where the system sends no events (network disks). It watches the folders for speed and checks the files
// for certainty.
import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Clock, Log, Timer } from "@parley/protocol";

export interface WatchFilesOptions {
  readonly files: readonly string[];
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface FileWatcher {
  /** Watches these files from now on. */
  watch(files: readonly string[]): void;
  stop(): void;
}

/** A file that was left alone this long counts as written. */
const settleMs = 150;
const lookEveryMs = 2_000;

export function watchFiles({ files: first, onChange, clock, log }: WatchFilesOptions): FileWatcher {
  let files: readonly string[] = [...new Set(first)];
  let seen: string | null = null;
  let settling: Timer | null = null;
  let stopped = false;
  const folders = new Map<string, FSWatcher>();

  async function marks(): Promise<string> {
    const each = await Promise.all(
      files.map(async (file) => {
        const found = await stat(file, { bigint: true }).catch(() => null);
        return found === null
          ? `${file}:gone`
          : `${file}:${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}`;
      }),
    );
    return each.join("\n");
  }

  /** The files may have changed since they were read. */
  function begin(): void {
    const these = files;
    listen();
    void look().then(() => !stopped && files === these && onChange());
  }

  async function look(): Promise<void> {
    const these = files;
    const now = await marks();
    // Others are watched since: what is known of these would pass for a change.
    if (stopped || files !== these) return;
    if (seen === null) seen = now;
    if (now === seen) return;
    settling?.cancel();
    settling = clock.after(settleMs, () => void settle(now));
  }

  async function settle(before: string): Promise<void> {
    const now = await marks();
    if (stopped || now === seen) return;
    if (now !== before) return void (settling = clock.after(settleMs, () => void settle(now)));
    seen = now;
    onChange();
  }

  function listen(): void {
    const wanted = new Set(files.map((file) => dirname(file)));
    for (const [folder, watcher] of folders) {
      if (wanted.has(folder)) continue;
      watcher.close();
      folders.delete(folder);
    }
    for (const folder of wanted) {
      if (folders.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, (_event, name) => {
          if (name === null || files.some((file) => basename(file) === name) || name.startsWith(".."))
            void look();
        });
        watcher.on("error", (error) => {
          log.debug({ folder, error }, "a folder is no longer watched; its files are looked at");
          watcher.close();
          folders.delete(folder);
        });
        folders.set(folder, watcher);
      } catch (error) {
        log.debug({ folder, error }, "a folder cannot be watched; its files are looked at");
      }
    }
  }

  begin();
  let timer = clock.after(lookEveryMs, again);
  function again(): void {
    void look().finally(() => {
      if (!stopped) timer = clock.after(lookEveryMs, again);
    });
  }

  return {
    watch(next) {
      const wanted = [...new Set(next)];
      if (stopped || (wanted.length === files.length && wanted.every((file) => files.includes(file)))) return;
      files = wanted;
      seen = null;
      begin();
    },
    stop() {
      stopped = true;
      timer.cancel();
      settling?.cancel();
      for (const watcher of folders.values()) watcher.close();
    },
  };
}
