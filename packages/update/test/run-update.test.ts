// Updates over three invented versions with schemas of their own: what is in force in the end is one whole
// version with a database that it knows.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Fault } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { runUpdate } from "../src/run-update.ts";
import { readRecord } from "../src/update-record.ts";
import { machine, removeMachines, schemaOf, ways } from "./machine.ts";

afterEach(removeMachines);

describe.each(ways)("an update from %s to %s", (from, to) => {
  test("that does well is in force, watched for its time, and remembers what was before", async () => {
    const m = machine(from, to);
    const ended = await runUpdate(m.record, m.world);
    expect(ended).toMatchObject({ state: "done", reason: null });
    expect([m.running(), m.inForce(), m.schema()]).toEqual([to, to, schemaOf(to)]);
    expect(m.messages()[0]).toBe("before");
    expect(existsSync(join(m.home, "installed/trial"))).toBe(false);
  });

  test.each([
    ["dies at its start", { broken: to }],
    ["is worse than the one before", { sick: to }],
  ])("to one that %s goes back by itself, with the whole database", async (_, sickness) => {
    const m = machine(from, to, sickness);
    const ended = await runUpdate(m.record, m.world);
    expect(ended).toMatchObject({ state: "went-back", reason: expect.any(String) as string });
    expect([m.running(), m.inForce(), m.schema()]).toEqual([from, from, schemaOf(from)]);
    expect(m.messages()[0]).toBe("before");
    expect(m.restored).toHaveLength(schemaOf(from) === schemaOf(to) ? 0 : 1);
  });

  test("to one that is worse, where a start goes back before the process that updates can, brings the database back once", async () => {
    const m = machine(from, to, { sick: to, isKeptUp: true });
    const ended = await runUpdate(m.record, m.world);
    expect(ended).toMatchObject({ state: "went-back", reason: expect.any(String) as string });
    expect([m.running(), m.inForce(), m.schema()]).toEqual([from, from, schemaOf(from)]);
    expect(m.restored).toHaveLength(schemaOf(from) === schemaOf(to) ? 0 : 1);
  });
});

test("a version whose start takes a minute, by a change of schema or a slow machine, is waited for while its process is there", async () => {
  const m = machine("1.0.0", "2.0.0", { slow: "2.0.0" });
  expect(await runUpdate(m.record, m.world)).toMatchObject({ state: "done", reason: null });
  expect([m.running(), m.inForce(), m.schema()]).toEqual(["2.0.0", "2.0.0", 2]);
});

test("a version that never stays up is given up at its starts alone, when nothing else is left to do it", async () => {
  const m = machine("1.0.0", "2.0.0", { broken: "2.0.0" });
  const { inForce, write } = m.world;
  inForce.begin(m.record);
  await inForce.swapTo("2.0.0");
  write({ ...m.record, state: "trying", worked: false });
  for (let start = 0; start < 3; start += 1) {
    await m.boot();
    expect(m.running()).toBeNull();
  }
  await m.boot();
  expect([m.running(), m.inForce(), m.schema()]).toEqual(["1.0.0", "1.0.0", 1]);
  expect(readRecord(m.home)).toMatchObject({
    state: "went-back",
    reason: expect.stringContaining("3 times") as string,
  });
});

test("an older version with a copy from before gets the whole copy, and the newer database is kept", async () => {
  const m = machine("2.0.0", "1.0.0");
  const older = join(m.home, "older.db");
  const db = new DatabaseSync(older);
  db.exec("create table messages (text); insert into messages values ('long ago'); pragma user_version = 1");
  db.close();
  const ended = await runUpdate({ ...m.record, restore: older }, m.world);
  expect(ended).toMatchObject({ state: "done", restore: null, replaced: expect.any(String) as string });
  expect([m.running(), m.schema(), m.messages()[0]]).toEqual(["1.0.0", 1, "long ago"]);
});

test("an older version with a copy from before gets it once, where a start put it in place first", async () => {
  const m = machine("2.0.0", "1.0.0", { isKeptUp: true });
  const older = join(m.home, "older.db");
  const db = new DatabaseSync(older);
  db.exec("create table messages (text); insert into messages values ('long ago'); pragma user_version = 1");
  db.close();
  const ended = await runUpdate({ ...m.record, restore: older }, m.world);
  expect(ended).toMatchObject({ state: "done", restore: null, replaced: expect.any(String) as string });
  expect([m.running(), m.schema(), m.restored]).toEqual(["1.0.0", 1, [older]]);
});

test("a refused restart changes nothing but the link, and that back", async () => {
  const m = machine("1.0.0", "3.0.0");
  const gateway = {
    ...m.world.gateway,
    restart: async (): Promise<void> => {
      throw new Fault("invalid", "the config has a mistake");
    },
  };
  const ended = await runUpdate(m.record, { ...m.world, gateway });
  expect(ended).toMatchObject({ state: "went-back", reason: "the config has a mistake" });
  expect([m.running(), m.inForce(), m.schema()]).toEqual(["1.0.0", "1.0.0", 1]);
});
