// Stores the identity of the home's store outside of the store. So the next start notices when somebody
// removed, emptied or exchanged the store, and does not silently begin anew with every acknowledged message
// gone (I1).
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "@parley/protocol";
import type { ExpectedStore } from "@parley/store";
import { z } from "zod";

const drivers = ["sqlite", "redis"] as const;
type Driver = (typeof drivers)[number];
const memory = z.partialRecord(z.enum(drivers), z.string().min(1));
type Memory = z.infer<typeof memory>;

function memoryFile(home: string): string {
  return join(home, "store.json");
}

/**
 * Empty where this home never had a store of this kind, or only one that predates this record. Throws
 * Fault("invalid") when the record cannot be read.
 */
export function rememberedStore(home: string, driver: Driver): { readonly expected?: ExpectedStore } {
  const identity = read(home)[driver];
  if (identity === undefined) return {};
  const back =
    driver === "sqlite"
      ? "put a backup in its place with `parley restore <file>`"
      : "bring its data back (docs/redis.md)";
  const anew = `or, to go on with what is there now, remove ${memoryFile(home)} and start again`;
  return { expected: { identity, advice: `${back}, ${anew}` } };
}

/** Durable once it returns. */
export function rememberStore(home: string, driver: Driver, identity: string): void {
  const before = read(home);
  if (before[driver] === identity) return;
  write(home, { ...before, [driver]: identity });
}

/** Makes the next start accept whichever store it finds. */
export function forgetStore(home: string, driver: Driver): void {
  const before = read(home);
  if (before[driver] === undefined) return;
  write(home, { ...before, [driver]: undefined });
}

function read(home: string): Memory {
  const file = memoryFile(home);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw cause;
  }
  try {
    return memory.parse(JSON.parse(text));
  } catch (cause) {
    throw new Fault(
      "invalid",
      `${file} cannot be read: it tells which store belongs to this folder. Remove it if that store is there`,
      {
        cause,
      },
    );
  }
}

function write(home: string, after: { readonly [driver in Driver]?: string | undefined }): void {
  const file = memoryFile(home);
  const partial = `${file}.${process.pid}`;
  try {
    writeFileSync(partial, `${JSON.stringify(after)}\n`, { mode: 0o600, flush: true });
    renameSync(partial, file);
    syncFolder(home);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Fault("unavailable", `${file} cannot be written (${why}): check the disk, then start again`, {
      cause,
    });
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
