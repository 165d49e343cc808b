// No hot statement reads a whole table: the plan of every statement that the contract prepares is looked at.
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { sqliteStore } from "../src/index.ts";
import { migrate } from "../src/sqlite/migrate.ts";
import { testClock } from "./clock.ts";
import { runCase, storeCases } from "./contract.ts";
import { options } from "./open-sqlite.ts";
import type { OpenedStore } from "./subject.ts";

/** Statements that may read what they show: operators' lists, newest first, and tables that stay small. */
const allowed: readonly RegExp[] = [
  /^select \* from (rows|deliveries) .*order by seq desc limit \+\?$/s,
  /^select \* from sessions where substr/,
  /^select \* from lanes where .* order by at is null/s,
  / from boots /,
  // When a person is forgotten or handed out, which looks at every record; a lane's key is its kind and name.
  /^(select kind|delete from lanes where kind) \|\| ' ' \|\| lane/,
  // Once a start: the newest rows, past refused ones, of which an account keeps few.
  /^select accepted from rows where .* order by seq desc limit \d+$/,
  // Once a start, before anybody is served.
  /^update lanes set holder = null, at = min\(at, \?\) where holder is not null$/,
  // These walk an index that holds nothing but what they count.
  /^select count\(\*\) as n from \(select 1 from (rows where outcome = 'dead'|deliveries where troubled = 1)/,
];

test("every hot statement finds its rows by an index", async () => {
  const prepared = await statementsOf(async () => {
    for (const each of storeCases) await runCase(each, await openInMemory());
  });
  expect(prepared.length).toBeGreaterThan(80);
  expect(scansOf(prepared.filter((sql) => !allowed.some((list) => list.test(sql))))).toEqual([]);
});

test("a statement that reads a whole table is caught", () => {
  expect(scansOf(["select * from rows where reason = 'x'", "select * from rows where id = 'x'"])).toEqual([
    { sql: "select * from rows where reason = 'x'", scans: ["SCAN rows"] },
  ]);
});

/**
 * Without a file nothing waits for a disk: the statements are the same, and the cases take a fifth of the
 * time.
 */
async function openInMemory(): Promise<OpenedStore> {
  const clock = testClock();
  const store = await sqliteStore(options(":memory:", { clock, exclusive: true }));
  return { handles: [store], clock, close: () => store.close() };
}

/** Every text that is prepared while `run` runs. */
async function statementsOf(run: () => Promise<void>): Promise<readonly string[]> {
  const seen = new Set<string>();
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
    seen.add(sql);
    return prepare.call(this, sql);
  };
  try {
    await run();
  } finally {
    DatabaseSync.prototype.prepare = prepare;
  }
  return [...seen].filter((sql) => !sql.startsWith("pragma") && !sql.includes("sqlite_schema"));
}

function scansOf(statements: readonly string[]) {
  const db = new DatabaseSync(":memory:");
  migrate(db, ":memory:");
  const plans = statements.map((sql) => {
    const steps = db.prepare(`explain query plan ${sql}`).all() as unknown as readonly {
      readonly detail: string;
    }[];
    return { sql, scans: steps.map(({ detail }) => detail).filter(isScan) };
  });
  db.close();
  return plans.filter(({ scans }) => scans.length > 0);
}

/**
 * Subqueries and argument lists are no tables; min and max read one end of an index, which SQLite shows as
 * SEARCH.
 */
function isScan(detail: string): boolean {
  return /^SCAN (?!CONSTANT ROW|\(subquery|json_each)/.test(detail);
}
