// What a handle remembers is what the file holds, whoever wrote to it: a command of the command line, a
// second handle of this process, or a person with the sqlite3 program.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sqliteStore, type SqliteStore } from "../src/index.ts";
import { storeMemory } from "../src/sqlite/memory.ts";
import { testClock } from "./clock.ts";
import { options, tempDir } from "./open-sqlite.ts";
import { isIdle, lane, row, takeTurn, want } from "./subject.ts";

const clock = testClock();
let dir: string;
let daemon: SqliteStore;
let other: DatabaseSync;

beforeEach(async () => {
  dir = tempDir();
  daemon = await sqliteStore(options(join(dir, "state.db"), { clock, exclusive: true }));
  other = new DatabaseSync(join(dir, "state.db"), { timeout: 5_000 });
});
afterEach(async () => {
  other.close();
  await daemon.close();
  rmSync(dir, { recursive: true });
});

test("a cell that another connection changed or removed is read anew", async () => {
  await daemon.cells.put("a", "old", {});
  expect(await daemon.cells.get("a")).toMatchObject({ value: "old" });
  other.exec("update cells set value = 'new', version = version + 100 where key = 'a'");
  const found = await daemon.cells.get("a");
  expect(found).toMatchObject({ value: "new" });
  expect(await daemon.cells.put("a", "newer", { expect: found?.version ?? 0 })).toMatchObject({
    value: "newer",
  });
  other.exec("delete from cells where key = 'a'");
  expect(await daemon.cells.get("a")).toBeNull();
});

test("a write that expects a version is refused when another connection wrote, though nothing was read between", async () => {
  const known = await daemon.cells.put("a", "old", {});
  other.exec("update cells set value = 'new', version = version + 100 where key = 'a'");
  expect(await daemon.cells.put("a", "mine", { expect: known?.version ?? 0 })).toBeNull();
  expect(await daemon.cells.get("a")).toMatchObject({ value: "new" });
});

test("a session that another connection reset gets its next turn in the new epoch", async () => {
  await daemon.sessions.patch(lane("a"), { model: "one" });
  other.exec(`update sessions set epoch = 7, fields = '{"model":"two"}'`);
  expect(await daemon.sessions.open(lane("a"))).toMatchObject({ epoch: 7, fields: { model: "two" } });
  other.exec("update sessions set epoch = 8");
  await daemon.inbox.accept([row("1")]);
  expect(await takeTurn(daemon)).toMatchObject({ epoch: 8 });
});

test("a message that a second handle accepted is found by one that knew of no work", async () => {
  expect(isIdle(await daemon.turns.take(want))).toBe(true);
  const second = await sqliteStore(options(join(dir, "state.db"), { clock, bootId: "command" }));
  await second.inbox.accept([row("1")]);
  await second.close();
  expect(await takeTurn(daemon)).toMatchObject({ rows: [{ id: row("1").id }] });
});

test("what another connection wrote while a call waited for its turn is not overlooked", async () => {
  await daemon.sessions.patch(lane("a"), { model: "one" });
  const patched = daemon.sessions.patch(lane("a"), { mood: "calm" });
  other.exec(`update sessions set fields = '{"model":"two"}'`);
  expect((await patched).fields).toEqual({ model: "two", mood: "calm" });
});

test("of each kind only so many are remembered; what is known to be missing too, and each alone is forgotten", () => {
  const memory = storeMemory(other);
  const [cells, sessions] = [memory.of<number>(), memory.of<number>()];
  sessions.keep("k0", 7);
  for (let n = 0; n < 256; n += 1) cells.keep(`k${n}`, n === 5 ? null : n);
  cells.keep("k0", 100);
  expect([cells.get("k0"), cells.get("k5"), cells.get("k255"), cells.get("none")]).toEqual([
    100,
    null,
    255,
    undefined,
  ]);
  cells.keep("more", 256);
  expect([cells.get("k0"), cells.get("k1"), cells.get("more"), sessions.get("k0")]).toEqual([
    undefined,
    1,
    256,
    7,
  ]);
  cells.forget("k1");
  expect([cells.get("k1"), cells.get("k2")]).toEqual([undefined, 2]);
  sessions.clear();
  expect([sessions.get("k0"), cells.get("k2")]).toEqual([undefined, 2]);
  memory.clear();
  expect(cells.get("k2")).toBeUndefined();
});
