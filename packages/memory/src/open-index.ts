// Keeps one index at work: what the notes say now is taken up before a question is answered, and a large
// backlog goes on in the background, in slices.
import type { Clock } from "@parley/protocol";
import { embedder } from "./vectors/embed.ts";
import type { MemoryTarget } from "./contract.ts";
import { openIndex, type IndexFile } from "./index-file.ts";
import type { SyncStep } from "./passages.ts";
import { syncFiles } from "./sync.ts";
import { dropAllTalk } from "./talk.ts";
import { vectorsOf, type Vectors } from "./vectors/vectors.ts";

/** How long a search waits for notes that are not indexed yet. */
export const patienceMs = 2_000;
/** Between slices of background work, so that a search comes in. */
const pauseMs = 1;

export interface OpenIndex {
  readonly target: MemoryTarget;
  readonly file: IndexFile;
  readonly problems: ReadonlyMap<string, string>;
  /** Told with answers until the index is whole again. */
  readonly rebuilt: () => string | null;
  readonly filesLeft: () => number;
  readonly vectors: Vectors | null;
  /** Takes everything out but the vectors, which the same passages get again. */
  wipe(): void;
  /** Leaves no byte in the file of what is not in the index any more. */
  shrink(): void;
  /** Something was forgotten then, maybe on another node: what is indexed goes, and is read anew. */
  forgotten(atMs: number): void;
  /** Resolves when the index is what the notes say, or after `waitMs`; the rest goes on by itself. */
  upToDate(waitMs: number): Promise<void>;
  close(): void;
}

export function openedIndex(target: MemoryTarget, clock: Clock, lost: string | null): OpenIndex {
  const { indexPath, chunking, workspace } = target;
  const file = openIndex(indexPath, JSON.stringify({ workspace, chunking }));
  const problems = new Map<string, string>();
  const settings = target.embedder;
  const vectors =
    settings === null
      ? null
      : vectorsOf(
          file.db,
          {
            current: embedder(settings),
            // The same service by another model: its key is the one that is at hand.
            byId(id) {
              const [before, after] = [`${settings.provider}/`, `@${settings.baseUrl}`];
              return id.startsWith(before) && id.endsWith(after)
                ? embedder({ ...settings, model: id.slice(before.length, -after.length) })
                : null;
            },
          },
          clock,
        );
  // The operator has taken the consent back.
  if (!target.talk && dropAllTalk(file.db, vectors)) shrink();
  let rebuilt = file.rebuilt ?? lost;
  let filesLeft = 0;
  /** The next whole pass ends with it. */
  let isShrinkDue = false;
  let closed = false;
  let running: { readonly end: Promise<void> } | null = null;

  function shrink(): void {
    file.db.exec("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM chunks)");
    // Words that were taken out stand in it until they are merged.
    file.db.exec("INSERT INTO words (words) VALUES ('optimize')");
    file.db.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
  }

  const pause = (): Promise<void> => new Promise((resolve) => clock.after(pauseMs, resolve));

  function pass(untilMs: number): void {
    const steps: Generator<SyncStep, void> = syncFiles(file.db, workspace, chunking, problems, vectors);
    for (;;) {
      if (closed) return;
      const step = steps.next();
      if (step.done === true) {
        whole();
        return;
      }
      ({ filesLeft } = step.value);
      if (clock.mono() >= untilMs) {
        running = { end: rest(steps) };
        return;
      }
    }
  }

  async function rest(steps: Generator<SyncStep, void>): Promise<void> {
    try {
      for (;;) {
        await pause();
        if (closed) return;
        const step = steps.next();
        if (step.done === true) break;
        ({ filesLeft } = step.value);
      }
      whole();
    } catch {
      // Nobody may wait, and then a rejection ends the process: the next question meets the damage.
    } finally {
      running = null;
    }
  }

  function whole(): void {
    filesLeft = 0;
    rebuilt = null;
    if (isShrinkDue) shrink();
    isShrinkDue = false;
    vectors?.fill();
  }

  function wipe(): void {
    file.db.exec(
      "DELETE FROM chunks; DELETE FROM files; DELETE FROM scopes; DELETE FROM talks; INSERT INTO words (words) VALUES ('delete-all')",
    );
    vectors?.forgetAll();
  }

  return {
    target,
    file,
    problems,
    rebuilt: () => rebuilt,
    filesLeft: () => filesLeft,
    async upToDate(waitMs) {
      const untilMs = clock.mono() + waitMs;
      if (running !== null) {
        // A pass is under way whose look at the files may be older than this question.
        if (waitMs === Infinity) await running.end;
        else await Promise.race([running.end, new Promise<void>((resolve) => clock.after(waitMs, resolve))]);
        if (running !== null) return;
      }
      pass(untilMs);
    },
    vectors,
    wipe,
    shrink,
    forgotten(atMs) {
      const known = file.db.prepare("SELECT value FROM meta WHERE key = 'forgotten'").get() as
        | { value: string }
        | undefined;
      // A pass that is under way looked at the files before; the next search does it.
      if (known?.value === String(atMs) || running !== null) return;
      if (!isEmpty(file.db)) {
        wipe();
        isShrinkDue = true;
      }
      file.db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('forgotten', ?)").run(String(atMs));
    },
    close() {
      closed = true;
      vectors?.close();
      if (file.db.isOpen) file.close();
    },
  };
}

export function isEmpty(db: IndexFile["db"]): boolean {
  return db.prepare("SELECT 1 FROM files LIMIT 1").get() === undefined;
}
