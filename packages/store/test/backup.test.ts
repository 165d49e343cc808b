// Backup while the daemon writes, restore while it does not, and the doctor's look at a file.
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { backupDatabase, describeDatabase, restoreDatabase, sqliteStore } from "../src/index.ts";
import { options, tempDir } from "./open-sqlite.ts";
import { row } from "./subject.ts";

let dir = "";
let path = "";
let copy = "";

beforeEach(() => {
  dir = tempDir();
  path = join(dir, "state.db");
  copy = join(dir, "backup.db");
});
afterEach(() => rmSync(dir, { recursive: true }));

async function rowsIn(file: string): Promise<number> {
  const store = await sqliteStore(options(file));
  const found = await store.inbox.find({ limit: 10_000 });
  await store.close();
  return found.length;
}

test("a backup taken under writes is whole, sound and of one instant", async () => {
  const store = await sqliteStore(options(path));
  for (let i = 0; i < 300; i += 1) await store.inbox.accept([row(`a${i}`, { payload: "x".repeat(2000) })]);
  let done = false;
  const writing = (async () => {
    for (let i = 0; !done; i += 1) await store.inbox.accept([row(`b${i}`), row(`c${i}`)]);
  })();
  await backupDatabase(path, copy);
  done = true;
  await writing;
  await store.close();
  expect(describeDatabase(copy, { full: true })).toMatchObject({
    findings: [],
    walBytes: 0,
    schema: 2,
    newestSchema: 2,
  });
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const found = await rowsIn(copy);
  expect(found).toBeGreaterThanOrEqual(300);
  expect(found % 2).toBe(0);
  expect(readdirSync(dir).filter((name) => name.includes("partial"))).toEqual([]);
});

test("a backup never replaces a file", async () => {
  await (await sqliteStore(options(path))).close();
  writeFileSync(copy, "precious");
  await expect(backupDatabase(path, copy)).rejects.toMatchObject({ code: "conflict" });
});

test("a place that cannot be is told, whatever is wrong with it", async () => {
  await (await sqliteStore(options(path))).close();
  const nowhere = join(dir, "none", "backup.db");
  await expect(backupDatabase(path, nowhere)).rejects.toThrow(
    `there is no folder ${join(dir, "none")} for the backup: make it first`,
  );
  const tooLong = join(dir, "x".repeat(300));
  await expect(backupDatabase(path, tooLong)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/cannot be written: ENAMETOOLONG: .*choose a place/) as string,
  });
  expect(() => restoreDatabase(nowhere, path, 7)).toThrow(`there is no file ${nowhere}`);
});

test("a restore brings back the backup and keeps the replaced file", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  await backupDatabase(path, copy);
  await store.inbox.accept([row("2"), row("3")]);
  await store.close();
  const { keptAs: aside } = restoreDatabase(copy, path, 42);
  expect(aside).toBe(`${path}.replaced-42`);
  expect(await rowsIn(path)).toBe(1);
  expect(await rowsIn(aside ?? "")).toBe(3);
});

test("a restore replaces a damaged database, and refuses a damaged backup", async () => {
  const store = await sqliteStore(options(path));
  await store.inbox.accept([row("1")]);
  await backupDatabase(path, copy);
  await store.close();
  writeFileSync(path, "not a database at all".repeat(100));
  expect(() => restoreDatabase(path, copy, 1)).toThrow("damaged");
  restoreDatabase(copy, path, 2);
  expect(await rowsIn(path)).toBe(1);
  // An empty file is a sound database without tables.
  const empty = join(dir, "empty.db");
  writeFileSync(empty, "");
  expect(() => restoreDatabase(empty, path, 3)).toThrow("is no backup of Parley");
  expect(await rowsIn(path)).toBe(1);
});

test("a restore into an empty home needs no old file", async () => {
  await (await sqliteStore(options(path))).close();
  await backupDatabase(path, copy);
  const fresh = join(dir, "fresh.db");
  expect(restoreDatabase(copy, fresh, 1).keptAs).toBeNull();
  expect(existsSync(fresh)).toBe(true);
});
