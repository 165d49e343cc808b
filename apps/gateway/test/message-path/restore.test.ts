// A backup restored on another path: what was open when it was made is not answered or sent a second time.
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { silentLog } from "@parley/protocol";
import { seededIds } from "@parley/testkit";
import { backupDatabase, restoreDatabase } from "@parley/store";
import { stoppedHome } from "../../src/offline/stopped-home.ts";
import { stage, type Stage } from "./stage.ts";

let s: Stage;
let elsewhere = "";
afterEach(async () => {
  await s.close();
  await rm(elsewhere, { recursive: true, force: true });
});

test("is held for the operator, who may go on with it", async () => {
  s = await stage();
  elsewhere = await mkdtemp(join(tmpdir(), "parley-elsewhere-"));
  const alice = s.person("alice");
  await alice.says("first").gets("re: first");
  s.model.answers(({ text }) => ({ afterMs: 60_000, says: [`late: ${text}`] }));
  alice.says("second");
  await s.until(() => s.model.open() > 0, "a call of the model");
  const copy = join(elsewhere, "monday.db");
  await backupDatabase(join(s.home, "state.db"), copy);
  // It was answered after the backup.
  await alice.gets("late: second");
  await s.terminate();

  const home = stoppedHome({
    config: { store: { driver: "sqlite" } } as never,
    home: elsewhere,
    bootId: "once",
    clock: s.clock,
    ids: seededIds(7),
    log: silentLog,
  });
  const restored = await home.restore({ path: copy });
  expect(restored).toMatchObject({ keptAs: null, messages: 1, answers: 0 });
  await home.close();

  // The gateway goes on with the restored database: nobody hears anything twice.
  await copyFile(join(elsewhere, "state.db"), join(s.home, "state.db"));
  await rm(join(s.home, "state.db-wal"), { force: true });
  await rm(join(s.home, "state.db-shm"), { force: true });
  const asked = s.model.asked.length;
  await s.start();
  await s.pass(600_000);
  expect(s.model.asked.length).toBe(asked);
  expect(alice.sees()).toEqual(["re: first", "late: second"]);
  expect((await s.rows({ outcome: "dead" })).map(({ reason }) => reason)).toEqual([
    "restored from a backup: it may have been done since the backup was made",
  ]);
  expect(await s.store().troubled()).toEqual({ rows: 1, deliveries: 0 });
  s.model.answers(({ text }) => `re: ${text}`);
  await alice.says("third", { id: "telegram:default:later", messageId: "later" }).gets(/third/);
  await s.terminate();

  // With nobody who worked on it since, it goes on.
  const again = join(elsewhere, "again.db");
  expect(restoreDatabase(copy, again, s.clock.now())).toEqual({ keptAs: null, messages: 0, answers: 0 });
  await expect(await s.trace()).toMatchFileSnapshot("traces/restored.txt");
});
