// Looks after a version that is being tried, at each start of the gateway. It runs in the program of the
// version before: whatever is wrong with the new one, after starts that came to nothing the old one is back.
import type { VersionFolders } from "./version-folders.ts";
import type { VersionPrograms } from "./update-world.ts";
import type { UpdateRecord } from "./update-record.ts";

export interface AtStart {
  readonly folders: VersionFolders;
  /** The state folder of the gateway that starts. */
  readonly home: string;
  readonly programs: Pick<VersionPrograms, "refusesDatabase" | "restore">;
  /** The process that updates may be about to put a database in place. */
  aloneWithDatabase(work: () => Promise<void>): Promise<void>;
  read(): UpdateRecord | null;
  write(record: UpdateRecord): void;
  schemaCopy(sinceMs: number): string | null;
  nowMs(): number;
  say(words: string): void;
}

/** A start that comes to nothing may have been ended by somebody: one more is tried. */
const mostStarts = 3;

/** Resolves when the version that `current` names then may start. */
export async function lookAfterTrial(options: AtStart): Promise<void> {
  const trial = options.folders.readTrial();
  // Another gateway of the same installation: what is tried is not for it to judge.
  if (trial === null || trial.home !== options.home) return;
  await options.aloneWithDatabase(() => lookedAfter(options));
}

async function lookedAfter(options: AtStart): Promise<void> {
  const { folders, home, programs, read, write, schemaCopy, nowMs, say } = options;
  const trial = folders.readTrial();
  let record = read();
  // Ended while this start waited.
  if (trial === null) return;
  if (record === null || record.endedAtMs !== null) return folders.endTrial();
  const put = (changes: Partial<UpdateRecord>): UpdateRecord => {
    record = { ...(record as UpdateRecord), ...changes };
    write(record);
    return record;
  };
  const isTried =
    record.state === "trying" || (record.state === "swapping" && folders.current() === record.toRef);
  if (isTried) {
    folders.writeTrial({ home, starts: trial.starts + 1 });
    if (trial.starts + 1 > mostStarts)
      put({ state: "going-back", reason: `it was started ${mostStarts} times and did not stay up` });
    else if (record.restore !== null) {
      const replaced = await programs.restore(record.toRef, record.restore, false);
      put({ restore: null, replaced });
    }
  }
  if (record.state !== "going-back") return;
  say(`${record.to} does not do: ${record.reason ?? ""}. Going back to ${record.from}.`);
  folders.swapTo(record.fromRef);
  if (record.restore === null) {
    if (record.replaced !== null) put({ restore: record.replaced, replaced: null });
    else if (await programs.refusesDatabase(record.fromRef))
      put({ restore: schemaCopy(record.begunAtMs) ?? record.backup });
  }
  if (record.restore !== null) {
    const kept = await programs.restore(record.fromRef, record.restore, record.worked === false);
    put({ restore: null, kept });
    if (kept !== null) say(`The database of ${record.to} is kept as ${kept}.`);
  }
  put({ state: "went-back", endedAtMs: nowMs() });
  folders.endTrial();
}
