// Planted bugs: each one is a statement of the driver made wrong, and the contract or the reference must notice it.
// A table like this is what shows that those tests can fail.
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sqliteStore } from "../src/index.ts";
import { testClock } from "./clock.ts";
import { runCase, storeCases } from "./contract.ts";
import { runSchedule, schedules } from "./model/schedule.ts";
import { options } from "./open-sqlite.ts";
import type { OpenedStore } from "./subject.ts";

interface Mutant {
  readonly bug: string;
  readonly from: string;
  readonly to: string;
}

const mutants: readonly Mutant[] = [
  { bug: "tokens do not grow", from: "token = max(token + 1, ?1), holder", to: "token = token, holder" },
  { bug: "take ignores when a lane is due", from: "at <= ?1 order by at, token", to: "at is not null order by at, token" },
  { bug: "take picks the newest lane", from: "order by at, token limit 1", to: "order by at desc limit 1" },
  {
    bug: "a stop leaves the lease valid",
    from: "update lanes set token = max(token + 1, ?), holder = null",
    to: "update lanes set at = ?",
  },
  { bug: "a release keeps the holder", from: "update lanes set holder = null where", to: "update lanes set holder = holder where" },
  {
    bug: "only the id guards",
    from: "create unique index rows_guard on rows (subject, version)",
    to: "create index rows_guard on rows (subject, version)",
  },
  {
    bug: "an edit changes a started row",
    from: "update rows set payload = ?, shown = ? where seq",
    to: "update rows set payload = ?, shown = ? where 1 or seq",
  },
  {
    bug: "context is trimmed at the wrong end",
    from: "state = 'context' order by seq desc limit -1",
    to: "state = 'context' order by seq limit -1",
  },
  {
    bug: "context that was read ends with the turn's rows",
    from: "outcome = 'context', reason = 'read by the turn'",
    to: "outcome = 'answered', reason = 'read by the turn'",
  },
  {
    bug: "rows are claimed from the end",
    from: "where lane = ? and state = 'waiting' order by seq limit ?",
    to: "where lane = ? and state = 'waiting' order by seq desc limit ?",
  },
  { bug: "absorbed rows lose their place", from: "state = 'claimed' order by claim", to: "state = 'claimed' order by payload desc" },
  { bug: "an attempt is not counted", from: "attempt = attempt + 1", to: "attempt = attempt" },
  { bug: "a park keeps the attempts", from: "state = 'parked', attempt = 0", to: "state = 'parked', attempt = attempt" },
  { bug: "any row wakes a parked turn", from: "and conversation = ? and authority = ? limit 1", to: "and ? <> '' and ? <> '' limit 1" },
  { bug: "a stop reason is overwritten", from: "where id = ? and stop is null", to: "where id = ?" },
  { bug: "context after the turn is read", from: "state = 'context' and seq < ?", to: "state = 'context' and seq > 0 * ?" },
  {
    bug: "entries carry the newest epoch",
    from: "insert into entries (lane, epoch, seq, turn, body) values (?, ?,",
    to: "insert into entries (lane, epoch, seq, turn, body) values (?1, (select epoch from sessions where key = ?1) + 0 * ?2,",
  },
  {
    bug: "a delivery is queued twice",
    from: "values (?, ?, ?, ?, ?, ?, 0)",
    to: "values (?1 || substr('!', 1, (select count(*) from deliveries where id = ?1)), ?2, ?3, ?4, ?5, ?6, 0)",
  },
  {
    bug: "a closing delivery goes to the back",
    from: "update deliveries set place = ? where",
    to: "update deliveries set place = 0 * ? + seq where",
  },
  { bug: "a resend is not marked", from: "resends = ?, flagged = ?", to: "resends = ?, flagged = 0 * ?" },
  { bug: "resends are not counted", from: "attempts = ?, resends = ?", to: "attempts = ?, resends = 0 * ?" },
  {
    bug: "the first sending forgets its token",
    from: "update parts set state = ?, token = ?",
    to: "update parts set state = ?, token = 0 * ?",
  },
  { bug: "any term leads", from: "where key = 'leader:' || ?", to: "where key = 'none:' || ?" },
  { bug: "what was begun is dropped", from: "where delivery = ? and state = 'queued'", to: "where delivery = ?" },
  {
    bug: "cell versions start over",
    from: "update counters set n = n + 1 where name = 'cell'",
    to: "update counters set n = 1 where name = 'cell'",
  },
  { bug: "an expired cell is read", from: "where key = ? and (expires is null or expires > ?)", to: "where key = ? and ? > 0" },
  { bug: "touch works on any version", from: "where key = ? and version = ? and", to: "where key = ? and ? > 0 and" },
  { bug: "events are not unique", from: "select seq from events where id = ?", to: "select seq from events where id = ? || '!'" },
  {
    bug: "sweep takes what is open",
    from: "select seq from rows where ended < ? order by",
    to: "select seq from rows where accepted < ? order by",
  },
];

for (const mutant of mutants) {
  test(`noticed: ${mutant.bug}`, async () => {
    expect(await isNoticed(mutant)).toBe(true);
  });
}

test("the driver without a planted bug passes the same run", { timeout: 30_000 }, async () => {
  expect(await isNoticed({ bug: "none", from: "select", to: "select" })).toBe(false);
});

async function isNoticed(mutant: Mutant): Promise<boolean> {
  for (const each of storeCases) {
    const opened = await openMutant(mutant);
    if (await fails(() => runCase(each, opened))) return true;
  }
  const property = fc.asyncProperty(schedules, async (moves) => {
    const { handles, clock, close } = await openMutant(mutant);
    try {
      await runSchedule(moves, handles[0] as (typeof handles)[number], clock);
    } finally {
      await close();
    }
  });
  return fails(() => fc.assert(property, { numRuns: 20, seed: 7, endOnFailure: true }));
}

async function fails(run: () => Promise<void>): Promise<boolean> {
  try {
    await run();
    return false;
  } catch {
    // Being noticed is what is asked; by what does not matter.
    return true;
  }
}

async function openMutant({ bug, from, to }: Mutant): Promise<OpenedStore> {
  let planted = 0;
  const mutate = (sql: string): string => {
    if (!sql.includes(from)) return sql;
    planted += 1;
    return sql.replace(from, () => to);
  };
  const { prepare, exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
    return prepare.call(this, mutate(sql));
  };
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
    exec.call(this, mutate(sql));
  };
  const clock = testClock();
  try {
    const handle = await sqliteStore(options(":memory:", { clock }));
    if (planted === 0) throw new Error(`"${bug}" is planted nowhere: no statement holds ${from}`);
    return { handles: [handle], clock, close: () => handle.close() };
  } finally {
    Object.assign(DatabaseSync.prototype, { prepare, exec });
  }
}
