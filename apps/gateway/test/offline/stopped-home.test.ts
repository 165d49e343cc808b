// The state folder while no daemon runs: who may use it, what a backup and a restore answer, and what they
// leave behind.
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { silentLog } from "@parley/protocol";
import { lockHome, sqliteStore } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import { stoppedHome, type StoppedHome } from "../../src/offline/stopped-home.ts";
import { sealFile } from "../../src/maintenance/sealed-file.ts";
import { rememberedStore, rememberStore } from "../../src/wiring/store-memory.ts";

const clock = virtualClock();
const onFatal = (error: unknown): void => expect.unreachable(String(error));
let folder: string;
let home: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-stopped-"));
  home = mkdtempSync(join(folder, "home-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});
const at = (name: string): string => join(folder, name);

function stopped(more: { readonly driver?: "redis" } = {}): StoppedHome {
  const made = stoppedHome({
    config: { store: { driver: more.driver ?? "sqlite" } } as never,
    home,
    bootId: "once",
    clock,
    ids: seededIds(7),
    log: silentLog,
  });
  onTestFinished(() => made.close());
  return made;
}

const job = (decidedMs: number): string => JSON.stringify({ name: "x", state: { decidedMs, runs: 2 } });

/** A home in which a gateway ran, with three jobs of different times; returns the identity of its store. */
async function ran(): Promise<string> {
  const path = join(home, "state.db");
  const store = await sqliteStore({ path, clock, log: silentLog, bootId: "boot", onFatal });
  await store.cells.put("job:old", job(5), {});
  await store.cells.put("job:ahead", job(clock.now() + 5_000), {});
  await store.cells.put("jobs-of:x", "plain", {});
  await store.close();
  rememberStore(home, "sqlite", store.identity);
  return store.identity;
}

const cellsOf = async (made: StoppedHome): Promise<{ readonly [key: string]: unknown }> =>
  Object.fromEntries((await (await made.store()).cells.list("", 9)).map(({ key, value }) => [key, value]));

test("a folder in which no gateway ran has no records and nothing to back up, and is left as it is", async () => {
  const made = stopped();
  const missing = {
    code: "missing",
    message: `there is no database in ${home}: no gateway has run there yet`,
  };
  await expect((async () => made.store())()).rejects.toMatchObject(missing);
  await expect(made.backup({ path: at("b.db") })).rejects.toMatchObject(missing);
  expect(readdirSync(home)).toEqual([]);
  // One that has had a store says so, and makes no new one.
  rememberStore(home, "sqlite", "other");
  await expect((async () => made.store())()).rejects.toMatchObject({ code: "conflict" });
  expect(readdirSync(home)).not.toContain("state.db");
});

test("it is one process's at a time, from the first use to the end", async () => {
  await ran();
  const made = stopped();
  lockHome(home, 41).release();
  const store = await made.store();
  expect(await made.store()).toBe(store);
  expect(() => lockHome(home, 42)).toThrow(`process ${process.pid}`);
  await made.close();
  await expect(store.cells.get("x")).rejects.toMatchObject({ code: "unavailable" });
  const lock = lockHome(home, 43);
  const late = stopped();
  await expect((async () => late.store())()).rejects.toMatchObject({ code: "conflict" });
  await expect(late.backup({ path: at("b.db") })).rejects.toMatchObject({ code: "conflict" });
  await expect(late.restore({ path: at("b.db") })).rejects.toMatchObject({ code: "conflict" });
  lock.release();
});

test("a backup is answered with its place and size; a path that depends on the folder is refused", async () => {
  await ran();
  const made = stopped();
  expect(await made.backup({ path: at("b.db") })).toEqual({
    path: at("b.db"),
    bytes: statSync(at("b.db")).size,
  });
  await expect(made.backup({ path: "b.db" })).rejects.toThrow('"b.db" is not an absolute path');
  await expect(made.restore({ path: "b.db" })).rejects.toThrow('"b.db" is not an absolute path');
  await expect(made.restore({ path: at("none.db") })).rejects.toThrow(`there is no file ${at("none.db")}`);
  execFileSync("mkfifo", [at("pipe")]);
  for (const path of [home, at("pipe"), "/dev/null"])
    await expect(made.restore({ path })).rejects.toThrow(
      `${path} is no file: name one that \`parley backup\` wrote`,
    );
  expect(await cellsOf(made)).toMatchObject({ "job:old": job(5) });
});

test("a restore answers what it kept, decides jobs of before now, and the store that is opened next is the restored one", async () => {
  const identity = await ran();
  const made = stopped();
  await made.backup({ path: at("b.db") });
  await (await made.store()).cells.put("later", "x", {});
  rememberStore(home, "sqlite", "of somebody else");
  const restored = await made.restore({ path: at("b.db") });
  const keptAs = `${join(home, "state.db")}.replaced-${clock.now()}`;
  expect(restored).toEqual({ path: at("b.db"), keptAs, messages: 0, answers: 0 });
  expect(rememberedStore(home, "sqlite").expected?.identity).toBe(identity);
  expect(await cellsOf(made)).toEqual({
    "job:old": job(clock.now()),
    "job:ahead": job(clock.now() + 5_000),
    "jobs-of:x": "plain",
  });
  await clock.advance(1);
  await made.restore({ path: at("b.db"), resume: true });
  expect(await cellsOf(made)).toMatchObject({ "job:old": job(5) });
});

test("a sealed backup wants its passphrase, and its open copy goes whatever comes of it", async () => {
  await ran();
  const made = stopped();
  await made.backup({ path: at("sealed.db"), passphrase: "correct horse" });
  expect(readFileSync(at("sealed.db")).includes("SQLite")).toBe(false);
  await expect(made.restore({ path: at("sealed.db") })).rejects.toThrow(
    `${at("sealed.db")} is encrypted: give its passphrase with --passphrase`,
  );
  await expect(made.restore({ path: at("sealed.db"), passphrase: "wrong" })).rejects.toMatchObject({
    code: "denied",
  });
  // What a killed one left is no hindrance.
  writeFileSync(join(home, "state.db.opened"), "left");
  expect(await made.restore({ path: at("sealed.db"), passphrase: "correct horse" })).toMatchObject({
    messages: 0,
  });
  expect(readdirSync(home)).not.toContain("state.db.opened");
  expect(await cellsOf(made)).toMatchObject({ "jobs-of:x": "plain" });
  // Also where what was sealed is no backup.
  writeFileSync(at("junk.db"), "no database ".repeat(1_000));
  sealFile(at("junk.db"), at("sealed junk.db"), "p", seededIds(1), 8);
  await expect(made.restore({ path: at("sealed junk.db"), passphrase: "p" })).rejects.toMatchObject({
    code: "invalid",
  });
  expect(readdirSync(home)).not.toContain("state.db.opened");
  expect(await cellsOf(made)).toMatchObject({ "jobs-of:x": "plain" });
});

test("a home that never had one takes a backup, and one of before identities makes it forget which it had", async () => {
  const identity = await ran();
  const made = stopped();
  await made.backup({ path: at("b.db") });
  await made.close();
  home = mkdtempSync(join(folder, "fresh-"));
  const fresh = stopped();
  expect(await fresh.restore({ path: at("b.db") })).toMatchObject({ keptAs: null });
  expect(rememberedStore(home, "sqlite").expected?.identity).toBe(identity);
});

test("records that lie in Redis are backed up over there", async () => {
  const made = stopped({ driver: "redis" });
  const elsewhere = {
    code: "unsupported",
    message: expect.stringContaining("the data is in Redis") as string,
  };
  await expect(made.backup({ path: at("b.db") })).rejects.toMatchObject(elsewhere);
  copyFileSync(import.meta.filename, at("b.db"));
  await expect(made.restore({ path: at("b.db") })).rejects.toMatchObject(elsewhere);
  expect(readdirSync(home)).toEqual([]);
});
