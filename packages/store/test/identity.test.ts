// A store that is not the one that was there before: refused before anything is made or written, and noticed
// while it is in use.
import fs, {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  backupDatabase,
  databaseIdentity,
  restoreDatabase,
  sqliteStore,
  type SqliteStore,
} from "../src/index.ts";
import { migrations } from "../src/sqlite/schema.ts";
import { options, tempDir } from "./open-sqlite.ts";
import { row } from "./subject.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = tempDir();
  path = join(dir, "state.db");
});
afterEach(() => rmSync(dir, { recursive: true }));

async function made(): Promise<string> {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  await store.close();
  return store.identity;
}

describe("the identity of a store", () => {
  test("is its own, and that of every copy", async () => {
    const identity = await made();
    expect(identity).toMatch(/^[0-9a-f]{32}$/);
    expect(databaseIdentity(path)).toBe(identity);
    const copy = join(dir, "copy.db");
    await backupDatabase(path, copy);
    const other = await sqliteStore(options(join(dir, "other.db")));
    expect(other.identity).not.toBe(identity);
    await other.close();
    restoreDatabase(copy, join(dir, "other.db"), 1);
    expect(databaseIdentity(join(dir, "other.db"))).toBe(identity);
  });

  test("is given to a store of before there were any, once", async () => {
    const db = new DatabaseSync(path);
    for (const statement of migrations[0] ?? []) db.exec(statement);
    db.exec(`pragma user_version = 1; pragma application_id = ${0x5061726c}`);
    db.close();
    expect(databaseIdentity(path)).toBeNull();
    const first = await made();
    expect(await made()).toBe(first);
  });
});

describe("where a store is remembered", () => {
  const advice = "do this or that";

  test("itself is taken", async () => {
    const identity = await made();
    const store = await sqliteStore(options(path, { expected: { identity, advice } }));
    expect(store.identity).toBe(identity);
    await store.close();
  });

  test.each([
    ["missing", (file: string) => rmSync(file)],
    ["empty", (file: string) => truncateSync(file)],
    ["another store", (file: string) => copyFileSync(join(file, "..", "other.db"), file)],
  ])("one that is %s is refused with the advice, and nothing is made or changed", async (what, harm) => {
    const identity = await made();
    await (await sqliteStore(options(join(dir, "other.db")))).close();
    harm(path);
    const before = existsSync(path) ? readFileSync(path) : null;
    await expect(sqliteStore(options(path, { expected: { identity, advice } }))).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(new RegExp(`state\\.db is ${what}.*${advice}`)) as unknown,
    });
    expect(existsSync(path) ? readFileSync(path) : null).toEqual(before);
  });
});

describe("while it is in use", () => {
  let store: SqliteStore;
  const fatal: string[] = [];
  beforeEach(async () => {
    fatal.length = 0;
    store = await sqliteStore(options(path, { onFatal: (error) => fatal.push(String(error)) }));
    await store.inbox.accept([row("1")]);
  });
  afterEach(() => store.close());

  test.each([
    ["removed", "state\\.db was removed", (file: string) => rmSync(file)],
    [
      "removed with all beside it",
      "state\\.db was removed",
      (file: string) => ["", "-wal", "-shm"].forEach((end) => rmSync(file + end)),
    ],
    [
      "replaced",
      "replaced by another file",
      (file: string) => (writeFileSync(`${file}.new`, "x"), renameSync(`${file}.new`, file)),
    ],
    ["emptied", "was emptied", (file: string) => truncateSync(file)],
    ["robbed of its log", "state\\.db-wal was removed", (file: string) => rmSync(`${file}-wal`)],
    [
      "given another log",
      "state\\.db-wal was removed or replaced",
      (file: string) => (
        copyFileSync(`${file}-wal`, `${file}.log`),
        renameSync(`${file}.log`, `${file}-wal`)
      ),
    ],
  ])("a store that is %s confirms nothing more, and the process has to end", async (_, words, harm) => {
    harm(path);
    await expect(store.inbox.accept([row("2")])).rejects.toMatchObject({
      code: "ambiguous",
      message: expect.stringMatching(words) as unknown,
    });
    expect(fatal).toEqual([expect.stringMatching(words)]);
    await expect(store.inbox.accept([row("3")])).rejects.toMatchObject({ code: "unavailable" });
    expect(await store.check()).toMatchObject({ ok: false, reason: expect.stringMatching(words) as unknown });
  });

  test("one over which another disk was put is none any more, though its files have the same numbers", async () => {
    const { statSync } = fs;
    let disk = 0;
    const moved = (...asked: Parameters<typeof statSync>): unknown => {
      const found = statSync(...asked);
      return found === undefined ? found : Object.assign(found, { dev: Number(found.dev) + disk });
    };
    Object.assign(fs, { statSync: moved });
    syncBuiltinESMExports();
    try {
      const other = join(dir, "other.db");
      const opened = await sqliteStore(options(other, { onFatal: (error) => fatal.push(String(error)) }));
      await opened.inbox.accept([row("1")]);
      disk = 1;
      await expect(opened.inbox.accept([row("2")])).rejects.toThrow("other.db was replaced by another file");
      expect(fatal).toEqual([expect.stringContaining("other.db was replaced by another file")]);
      await opened.close();
    } finally {
      Object.assign(fs, { statSync });
      syncBuiltinESMExports();
    }
  });

  test("one that was overwritten in its place is told by the next look", async () => {
    const other = await sqliteStore(options(join(dir, "other.db")));
    await other.close();
    const bytes = readFileSync(join(dir, "other.db"));
    const log = new DatabaseSync(path);
    log.exec("pragma wal_checkpoint(truncate)");
    log.close();
    writeFileSync(path, bytes);
    expect(await store.check()).toMatchObject({ ok: false });
  });

  test("what grows, is copied or is looked at by others is still the same store", async () => {
    await backupDatabase(path, join(dir, "copy.db"));
    const look = new DatabaseSync(path);
    look.exec("pragma wal_checkpoint(truncate)");
    look.close();
    appendFileSync(join(dir, "beside.txt"), "x");
    for (let n = 2; n < 40; n += 1) await store.inbox.accept([row(`${n}`, { payload: "x".repeat(4_000) })]);
    expect(await store.check()).toEqual({ ok: true });
    expect(fatal).toEqual([]);
  });
});
