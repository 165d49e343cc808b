// Every row of every table after each verb, but the store's identity. A wanted change:
// `vitest run --project @parley/store whole-story -u`.
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { sqliteStore } from "../src/index.ts";
import { testClock } from "./clock.ts";
import { options } from "./open-sqlite.ts";
import { fieldsOf, type Stored, wholeStory } from "./whole-story.ts";

const keys: { readonly [table: string]: readonly string[] } = {
  lanes: ["kind", "lane"],
  rows: ["seq"],
  turns: ["id"],
  steps: ["turn", "n"],
  sessions: ["key"],
  entries: ["lane", "epoch", "seq"],
  deliveries: ["seq"],
  parts: ["delivery", "n"],
  cells: ["key"],
  events: ["seq"],
  counters: ["name"],
  boots: ["boot"],
  sqlite_sequence: ["name"],
};

function recordsOf(
  db: DatabaseSync,
  table: string,
  key: readonly string[],
): readonly (readonly [string, ReadonlyMap<string, string>])[] {
  const records = db.prepare(`select * from ${table}`).all();
  return records.map((record) => {
    const fields = new Map<string, string>();
    // What is nothing, as most of it is, is left out.
    for (const [name, value] of Object.entries(record))
      if (value !== null && value !== 0 && !key.includes(name)) fieldsOf(value, name, fields);
    return [`${table} ${key.map((name) => String(record[name])).join(" ")}`, fields] as const;
  });
}

test("what each verb answers and leaves on SQLite", async () => {
  // Without a file, whose writes take their time; the connection is the store's own.
  const { prototype } = DatabaseSync;
  const { prepare } = prototype;
  const opened = new Set<DatabaseSync>();
  prototype.prepare = function (this: DatabaseSync, sql: string) {
    opened.add(this);
    return prepare.call(this, sql);
  };
  const clock = testClock();
  const store = await sqliteStore(options(":memory:", { clock, exclusive: true })).finally(
    () => (prototype.prepare = prepare),
  );
  const [db] = opened;
  if (db === undefined) throw new Error("the store opened nothing");
  const tables = db.prepare("select name from sqlite_master where type = 'table'").all();
  expect(new Set(tables.map(({ name }) => name))).toEqual(new Set([...Object.keys(keys), "identity"]));
  let last: Stored = new Map();
  const stored = async (): Promise<Stored> => {
    // Once closed, it is gone.
    if (db.isOpen) last = new Map(Object.entries(keys).flatMap(([table, key]) => recordsOf(db, table, key)));
    return last;
  };
  const { answers, left } = await wholeStory({ store, clock, stored });
  await expect(answers).toMatchFileSnapshot("tables/answers.txt");
  await expect(left).toMatchFileSnapshot("tables/sqlite-rows.txt");
});
