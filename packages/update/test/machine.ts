// Invents a machine with four versions: a real database, real folders and the real record, and a gateway that
// is a number. A process that updates can be killed at each of its effects.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault, type Clock } from "@parley/protocol";
import { lookAfterTrial } from "../src/at-start.ts";
import type { GatewayNow, UpdateWorld } from "../src/update-world.ts";
import { readRecord, writeRecord, type UpdateRecord } from "../src/update-record.ts";
import { versionFolders } from "../src/version-folders.ts";

/** The process that updates is gone: nothing after it happens. */
export class Killed extends Error {}

export const nodeArgs: readonly string[] = ["--role", "worker", "--port", "0"];

const schemas: { readonly [version: string]: number } = { "1.0.0": 1, "2.0.0": 2, "3.0.0": 2, "4.0.0": 3 };
export const schemaOf = (version: string): number => schemas[version] ?? 0;

/** Hundreds of databases are made: in memory where the system has files there. */
const memory = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const folders: string[] = [];

/** For `afterEach`. */
export function removeMachines(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Time passes while somebody waits for it. */
function racingClock(): Clock {
  let nowMs = 1_000_000;
  return {
    now: () => nowMs,
    mono: () => nowMs,
    after(afterMs, run) {
      let isCancelled = false;
      setImmediate(() => {
        if (isCancelled) return;
        nowMs += afterMs;
        run();
      });
      return { cancel: () => (isCancelled = true) };
    },
  };
}

interface Machine {
  readonly world: UpdateWorld;
  readonly record: UpdateRecord;
  readonly home: string;
  /** The version whose program runs; null: nothing runs. */
  running(): string | null;
  /** After `parley start`, of the last start. */
  args(): readonly string[];
  inForce(): string;
  messages(): readonly string[];
  schema(): number;
  /** The service manager starts what is in force. */
  boot(): Promise<void>;
  restored: string[];
}

/**
 * `broken` versions die at their start, a `slow` one listens a minute after it; a step counts each effect,
 * and the one at `killAt` is the last.
 */
export function machine(
  from: string,
  to: string,
  options: {
    readonly broken?: string;
    readonly sick?: string;
    readonly slow?: string;
    /** A service manager starts it as soon as it ended. */
    readonly isKeptUp?: boolean;
    readonly killAt?: number;
  } = {},
): Machine & { readonly steps: () => number; live: () => void } {
  const home = mkdtempSync(join(memory, "parley-update-"));
  folders.push(home);
  const root = join(home, "installed");
  for (const version of Object.keys(schemas)) {
    const bin = join(root, "versions", version, "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "parley"), version);
  }
  const installed = versionFolders(root, from);
  installed.swapTo(from);
  const file = join(home, "state.db");
  const open = <T>(path: string, work: (db: DatabaseSync) => T): T => {
    const db = new DatabaseSync(path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  };
  const schemaIn = (path: string): number =>
    open(path, (db) => (db.prepare("pragma user_version").get() as { user_version: number }).user_version);
  const migrate = (path: string, version: string): void =>
    open(path, (db) => {
      const now = (db.prepare("pragma user_version").get() as { user_version: number }).user_version;
      if (now > schemaOf(version)) throw new Fault("unsupported", `it has schema ${now}`);
      for (let next = now + 1; next <= schemaOf(version); next += 1)
        db.exec(`begin; create table later_${next} (n); pragma user_version = ${next}; commit`);
    });
  open(file, (db) => db.exec("create table messages (text); pragma user_version = 0"));
  migrate(file, from);
  const take = (text: string): void =>
    open(file, (db) => void db.prepare("insert into messages values (?)").run(text));
  take("before");

  const clock = racingClock();
  const restored: string[] = [];
  let boots = 0;
  let listensAtMono = 0;
  let booting: Promise<void> = Promise.resolve();
  let alone: Promise<unknown> = Promise.resolve();
  const aloneWithDatabase = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = alone.then(work);
    alone = mine.catch(() => undefined);
    return mine;
  };
  let running: { readonly version: string; readonly bootId: string } | null = null;
  let args: readonly string[] = nodeArgs;
  let isArmed = options.killAt !== undefined;
  let count = 0;
  const step = (): void => {
    count += 1;
    if (isArmed && count === options.killAt) throw new Killed();
  };

  const programs: UpdateWorld["programs"] = {
    configTrouble: async () => null,
    async rehearsal(ref, backup) {
      const scratch = `${backup}.scratch`;
      cpSync(backup, scratch);
      try {
        migrate(scratch, ref);
        return null;
      } catch (error) {
        return (error as Error).message;
      } finally {
        rmSync(scratch);
      }
    },
    refusesDatabase: async (ref) => schemaIn(file) > schemaOf(ref),
    async restore(_ref, copy) {
      step();
      if (running !== null) throw new Error("restored under a gateway that runs");
      restored.push(copy);
      const aside = `${file}.replaced-${restored.length}`;
      cpSync(file, aside);
      cpSync(copy, file);
      step();
      return aside;
    },
  };
  const copies = (): readonly string[] =>
    readdirSync(home).filter((name) => name.startsWith("state.db.schema-"));
  const schemaCopy = (): string | null => {
    const last = copies().at(-1);
    return last === undefined ? null : join(home, last);
  };

  async function boot(): Promise<void> {
    await lookAfterTrial({
      aloneWithDatabase,
      folders: installed,
      home,
      programs,
      read: () => readRecord(home),
      write: (record) => writeRecord(home, record),
      schemaCopy,
      nowMs: clock.now,
      say: () => undefined,
    });
    const version = installed.current();
    boots += 1;
    if (schemaIn(file) > schemaOf(version)) throw new Error(`${version} refuses the database`);
    if (schemaIn(file) < schemaOf(version))
      cpSync(file, join(home, `state.db.schema-${schemaIn(file)}-${boots}`));
    migrate(file, version);
    running = version === options.broken ? null : { version, bootId: `boot-${boots}` };
    listensAtMono = clock.mono() + (version === options.slow ? 60_000 : 0);
    // What people say while it runs.
    if (running !== null && version !== options.sick) take(`to ${version} (${boots})`);
  }
  running = { version: from, bootId: "boot-0" };

  const world: UpdateWorld = {
    gateway: {
      async now(): Promise<GatewayNow | null> {
        if (running === null || clock.mono() < listensAtMono) return null;
        const { version, bootId } = running;
        const isSick = version === options.sick;
        return {
          bootId,
          version,
          state: isSick ? "degraded" : "ok",
          reasons: isSick ? ["sick"] : [],
          up: isSick ? [] : ["telegram:default"],
        };
      },
      isThere: async () => running !== null,
      ranAs: async () => (running === null ? null : { args: [...args], service: null }),
      async restart() {
        step();
        running = null;
        await boot();
        step();
      },
      async stop() {
        step();
        running = null;
        if (options.isKeptUp === true) booting = boot();
        step();
      },
      async start(ran) {
        step();
        await booting;
        if (running === null) {
          args = ran?.args ?? [];
          await boot();
        }
        step();
      },
      pageTrouble: async () => null,
    },
    inForce: {
      checkedAfterSwap: false,
      now: () => installed.current(),
      prepare: async () => step(),
      begin({ fromRef }) {
        step();
        installed.setPrevious(fromRef);
        installed.writeTrial({ home, starts: 0 });
        step();
      },
      async swapTo(ref) {
        step();
        installed.swapTo(ref);
        step();
      },
      end({ state, fromRef, toRef }) {
        step();
        installed.endTrial();
        if (state === "done") installed.keepOnly([fromRef, toRef]);
      },
    },
    programs,
    async backUp() {
      step();
      const path = join(home, "backup.db");
      cpSync(file, path);
      return path;
    },
    schemaCopy,
    aloneWithDatabase,
    read: () => readRecord(home),
    write(record) {
      step();
      writeRecord(home, record);
      step();
    },
    clock,
    say: () => undefined,
  };
  const record: UpdateRecord = {
    id: "one",
    root,
    from,
    to,
    fromRef: from,
    toRef: to,
    state: "preparing",
    reason: null,
    backup: null,
    restore: null,
    replaced: null,
    kept: null,
    worked: null,
    watchMs: 400,
    askedBy: null,
    driver: 1,
    before: null,
    begunAtMs: 1,
    endedAtMs: null,
  };
  return {
    world,
    record,
    home,
    running: () => running?.version ?? null,
    args: () => args,
    inForce: () => installed.current(),
    messages: () =>
      open(file, (db) =>
        db
          .prepare("select text from messages")
          .all()
          .map((row) => String(row["text"])),
      ),
    schema: () => schemaIn(file),
    boot,
    restored,
    steps: () => count,
    live: () => (isArmed = false),
  };
}

export const ways: readonly (readonly [string, string])[] = [
  ["1.0.0", "2.0.0"],
  ["2.0.0", "3.0.0"],
  ["3.0.0", "4.0.0"],
];
