// Keeps the record of the update that runs, or ran last, as `update.json` in the state folder. Every step is
// written before it is taken, so that a crash at any instant leaves a record from which the update goes on or
// goes back.
import { chmodSync, chownSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Fault } from "@parley/protocol";
import { z } from "zod";

/**
 * `preparing`: nothing in force was changed. `swapping`: the new version may be in force. `trying`: it is,
 * and is being watched. `going-back`: the old one is to be in force again. The others are ends.
 */
const states = ["preparing", "swapping", "trying", "going-back", "done", "went-back", "failed"] as const;

const ranForm = z.object({
  /** After `parley start`. */
  args: z.array(z.string()),
  /** The service that starts it; null when it was started by hand. */
  service: z
    .object({
      manager: z.enum(["systemd", "launchd"]),
      scope: z.enum(["user", "system"]),
      name: z.string(),
    })
    .nullable(),
});

const recordForm = z.object({
  id: z.string(),
  root: z.string(),
  /** How people call the two. */
  from: z.string(),
  to: z.string(),
  /** What is in force before and after: versions, or commits of a checkout. */
  fromRef: z.string(),
  toRef: z.string(),
  state: z.enum(states),
  /** Why it failed or goes back. */
  reason: z.string().nullable(),
  /** The copy of the database from before. */
  backup: z.string().nullable(),
  /** This file is to be put in the database's place before the next start. */
  restore: z.string().nullable(),
  /** The database that a restore for the new version took away; it comes back with the old one. */
  replaced: z.string().nullable(),
  /** The new version's database, after a restore for the old one. */
  kept: z.string().nullable(),
  /** False while the new version has done no work yet; null when that is not known. */
  worked: z.boolean().nullable(),
  watchMs: z.number(),
  /** Who is told how it ended: a message of a chat, or a call of a tool. */
  askedBy: z.string().nullable(),
  /** The process that updates; versions that know no lock look whether it runs. */
  driver: z.number(),
  /** How the gateway was before; null when none ran. */
  before: z
    .object({ bootId: z.string(), state: z.string(), up: z.array(z.string()), reasons: z.array(z.string()) })
    .nullable(),
  /** How a gateway that the update may end is started again; absent while it met none. */
  ran: ranForm.optional(),
  begunAtMs: z.number(),
  endedAtMs: z.number().nullable(),
});

export type UpdateRecord = z.infer<typeof recordForm>;
export type RanAs = z.infer<typeof ranForm>;

const ends: readonly UpdateRecord["state"][] = ["done", "went-back", "failed"];

export function hasEnded({ state }: Pick<UpdateRecord, "state">): boolean {
  return ends.includes(state);
}

const recordFile = (home: string): string => join(home, "update.json");

/** Null when there was no update, or nothing readable is left of it. */
export function readRecord(home: string): UpdateRecord | null {
  try {
    return recordForm.parse(JSON.parse(readFileSync(recordFile(home), "utf8")));
  } catch {
    return null;
  }
}

export function writeRecord(home: string, record: UpdateRecord): void {
  writeWhole(recordFile(home), `${JSON.stringify(record, null, 2)}\n`);
}

/** The old text or the new one, never a part; it belongs to whoever the folder belongs to. */
export function writeWhole(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  chmodSync(draft, 0o600);
  const { uid, gid } = statSync(dirname(path));
  if (process.getuid?.() === 0 && uid !== 0) chownSync(draft, uid, gid);
  renameSync(draft, path);
}

export function deniedFault(folder: string, cause: unknown): Fault {
  return new Fault("denied", `this user may not write in ${folder}: run \`parley update\` as its owner`, {
    cause,
  });
}

/** False for a process that is gone, whoever it belonged to. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
