// Planted bugs: each one is a piece of the driver's source made wrong, and the contract or the reference must
// notice it. A table like this is what shows that those tests can fail.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SqliteOptions, SqliteStore } from "../src/index.ts";
import { testClock } from "./clock.ts";
import { inboxCases } from "./cases/inbox.ts";
import { outboxCases } from "./cases/outbox.ts";
import { stateCases } from "./cases/state.ts";
import { turnEndCases } from "./cases/turn-ends.ts";
import { turnCases } from "./cases/turns.ts";
import { runCase } from "./contract.ts";
import { runSchedule, schedules } from "./model/schedule.ts";
import { options, tempDir } from "./open-sqlite.ts";
import type { OpenedStore } from "./subject.ts";

interface Mutant {
  readonly bug: string;
  /** Who must notice it: one part of the contract, or the reference. */
  readonly by: "inbox" | "turns" | "outbox" | "state" | "model";
  readonly from: string;
  readonly to: string;
}

const mutants: readonly Mutant[] = [
  {
    bug: "tokens do not grow",
    by: "turns",
    from: "token = max(token + 1, ?1), holder",
    to: "token = token, holder",
  },
  {
    bug: "take picks the newest lane",
    by: "inbox",
    from: "order by at, token limit 1",
    to: "order by at desc limit 1",
  },
  {
    bug: "a stop leaves the lease valid",
    by: "inbox",
    from: "update lanes set token = max(token + 1, ?), holder = null",
    to: "update lanes set at = ?",
  },
  {
    bug: "a release keeps the holder",
    by: "turns",
    from: "pool = ?, holder = null where",
    to: "pool = ?, holder = holder where",
  },
  {
    bug: "only the id guards",
    by: "inbox",
    from: "create unique index rows_guard on rows (subject, version)",
    to: "create index rows_guard on rows (subject, version)",
  },
  {
    bug: "an edit changes every row",
    by: "inbox",
    from: "update rows set payload = ?, shown = ? where seq",
    to: "update rows set payload = ?, shown = ? where 1 or seq",
  },
  {
    bug: "context is trimmed at the wrong end",
    by: "inbox",
    from: "state = 'context' order by seq desc limit -1",
    to: "state = 'context' order by seq limit -1",
  },
  {
    bug: "context that was read ends with the turn's rows",
    by: "inbox",
    from: "outcome = 'context', reason = 'read by the turn'",
    to: "outcome = 'answered', reason = 'read by the turn'",
  },
  {
    bug: "rows are claimed from the end",
    by: "inbox",
    from: "where lane = ? and state = 'waiting' order by seq limit ?",
    to: "where lane = ? and state = 'waiting' order by seq desc limit ?",
  },
  {
    bug: "absorbed rows lose their place",
    by: "turns",
    from: "state = 'claimed' order by claim",
    to: "state = 'claimed' order by payload desc",
  },
  { bug: "an attempt is not counted", by: "turns", from: "attempt = attempt + 1", to: "attempt = attempt" },
  {
    bug: "a park keeps the attempts",
    by: "turns",
    from: "state = 'parked', attempt = 0",
    to: "state = 'parked', attempt = attempt",
  },
  {
    bug: "any row wakes a parked turn",
    by: "turns",
    from: "and conversation = ? and authority = ? and ticket is null limit 1",
    to: "and ? <> '' and ? <> '' and ticket is null limit 1",
  },
  {
    bug: "a stop reason is overwritten",
    by: "inbox",
    from: "where id = ? and stop is null",
    to: "where id = ?",
  },
  {
    bug: "context after the turn is read",
    by: "inbox",
    from: "state = 'context' and seq < ?",
    to: "state = 'context' and seq > 0 * ?",
  },
  {
    bug: "entries carry the newest epoch",
    by: "state",
    from: "insert into entries (lane, epoch, seq, turn, body) values (?, ?,",
    to: "insert into entries (lane, epoch, seq, turn, body) values (?1, (select epoch from sessions where key = ?1) + 0 * ?2,",
  },
  {
    bug: "a delivery is queued twice",
    by: "turns",
    from: "created, place) values (?, ?, ?, ?, ?, ?,",
    to: "created, place) values (?1 || substr('!', 1, (select count(*) from deliveries where id = ?1)), ?2, ?3, ?4, ?5, ?6,",
  },
  {
    bug: "a closing delivery goes to the back",
    by: "outbox",
    from: "update deliveries set place = ? where",
    to: "update deliveries set place = 0 * ? + seq where",
  },
  {
    bug: "a resend is not marked",
    by: "outbox",
    from: "resends = ?, flagged = ?",
    to: "resends = ?, flagged = 0 * ?",
  },
  {
    bug: "resends are not counted",
    by: "outbox",
    from: "attempts = ?, resends = ?",
    to: "attempts = ?, resends = 0 * ?",
  },
  {
    bug: "the first sending forgets its token",
    by: "outbox",
    from: "update parts set state = ?, token = ?",
    to: "update parts set state = ?, token = 0 * ?",
  },
  { bug: "any term leads", by: "outbox", from: "`leader:${pool}`", to: "`none:${pool}`" },
  {
    bug: "what was begun is dropped",
    by: "outbox",
    from: "where delivery = ? and state = 'queued'",
    to: "where delivery = ?",
  },
  {
    bug: "cell versions start over",
    by: "outbox",
    from: "update counters set n = n + ? where name = 'cell'",
    to: "update counters set n = ? where name = 'cell'",
  },
  {
    bug: "an expired cell is read",
    by: "state",
    from: "expires !== null && expires <= now",
    to: "expires === now && expires === null",
  },
  {
    bug: "touch works on any version",
    by: "state",
    from: "where key = ? and version = ? and",
    to: "where key = ? and ? > 0 and",
  },
  {
    bug: "events are not unique",
    by: "state",
    from: "select seq from events where id = ?",
    to: "select seq from events where id = ? || '!'",
  },
  {
    bug: "sweep takes what is open",
    by: "state",
    from: "select seq from rows where ended < ? order by",
    to: "select seq from rows where accepted < ? order by",
  },
  // Not in the statements but around them.
  { bug: "the fence ignores the token", by: "turns", from: "found.token !== lease.token || ", to: "" },
  { bug: "the fence ignores the holder", by: "model", from: " || found.holder !== lease.holder", to: "" },
  { bug: "a stranger's row joins the turn", by: "turns", from: " || row.authority !== authority", to: "" },
  {
    bug: "another conversation's row joins the turn",
    by: "turns",
    from: " || row.conversation !== conversation",
    to: "",
  },
  { bug: "absorb reads past a barrier", by: "turns", from: "row.barrier === 1 || ", to: "" },
  { bug: "a barrier is taken with others", by: "turns", from: "isAlone(head) ? [head] : ", to: "" },
  {
    bug: "who is late counts as dead",
    by: "turns",
    from: "if (before?.holder !== holder) strike",
    to: "strike",
  },
  {
    bug: "a lost lease is never forgiven",
    by: "turns",
    from: "and struck = ? and attempt > 1",
    to: "and 0 = ? and attempt > 1",
  },
  {
    bug: "a split gives the first row back",
    by: "turns",
    from: "and claim > (select min(claim)",
    to: "and claim >= (select min(claim)",
  },
  { bug: "a row that was given back joins others", by: "turns", from: " || row.strikes > 0", to: "" },
  { bug: "a row that was given back begins anew", by: "turns", from: "head.strikes + 1", to: "1" },
  { bug: "rows join a suspect", by: "turns", from: "single.run(turn.id);", to: "" },
  {
    bug: "an answer before the park is missed",
    by: "turns",
    from: "claims.answers(lane.lane, tickets).length > 0 || ",
    to: "",
  },
  { bug: "a ticket of another wakes", by: "turns", from: " and ticket is null", to: "" },
  { bug: "a repeated commit is refused", by: "turns", from: 'turn?.state === "done" && ', to: "false && " },
  {
    bug: "a repeated checkpoint adds its steps again",
    by: "turns",
    from: "if (what.steps.length > 0 && at + what.steps.length <= length) return length;",
    to: "at = length;",
  },
  {
    bug: "a committed lane stays held",
    by: "state",
    from: "pool = ?, holder = null, turn = null where",
    to: "pool = ?, turn = null where",
  },
  {
    bug: "a committed lane forgets what waits",
    by: "turns",
    from: "due.settle(lane);\n    accept",
    to: "lanes.settle(lane.lane, lane.pool, null);\n    accept",
  },
  { bug: "an edit changes a started row", by: "inbox", from: 'found.state === "claimed" || ', to: "" },
  { bug: "an older edit wins", by: "inbox", from: " || found.shown >= version", to: "" },
  { bug: "debounce has no end", by: "inbox", from: "Math.min(now + afterMs, latest)", to: "now + afterMs" },
  { bug: "nobody is woken", by: "turns", from: "if (at !== null) tx.ready(pool);", to: "" },
  {
    bug: "a delivery overtakes the head",
    by: "outbox",
    from: "drafts.slice(0, at).some(blocks)",
    to: "false",
  },
  {
    bug: "a part overtakes the one before",
    by: "outbox",
    from: "parts.slice(0, change.part).some(isActive)",
    to: "false",
  },
  {
    bug: "a second resend is let through",
    by: "outbox",
    from: "risksDouble && part.flagged === 1",
    to: "false",
  },
  {
    bug: "a resend follows a later part",
    by: "outbox",
    from: "isResend && parts.slice(change.part + 1)",
    to: "false && parts.slice(change.part + 1)",
  },
  {
    bug: "an attempt number is not checked",
    by: "outbox",
    from: "change.attempt !== part.attempts + 1",
    to: "false",
  },
  {
    bug: "a delivery is split twice",
    by: "outbox",
    from: "draft.split || draft.parts.some",
    to: "false && draft.parts.some",
  },
  {
    bug: "a sent preview does not hold its place",
    by: "outbox",
    from: "return delivery.preview === 1 && delivery.closed === 0",
    to: "return false && delivery.closed === 0",
  },
  {
    bug: "a preview is never closed",
    by: "outbox",
    from: "replaces ? replace(preview) :",
    to: "replaces ? preview.place :",
  },
  {
    bug: "a command's answer waits for every reply",
    by: "outbox",
    from: "delivery.passes === true",
    to: "false",
  },
  {
    bug: "a command's answer splits a reply",
    by: "outbox",
    from: "select max(place) as place",
    to: "select min(place) as place",
  },
  {
    bug: "a refused call keeps what it wrote",
    by: "turns",
    from: `db.exec("rollback");
      onUndone();
      db.exec("begin immediate");`,
    to: "",
  },
  {
    bug: "expected versions of cells are ignored",
    by: "turns",
    from: "expect === undefined || (get(key)?.version ?? 0) === expect",
    to: "true || expect === key",
  },
  { bug: "what was undone is remembered", by: "turns", from: "onUndone: () => memory.clear(),", to: "" },
  {
    bug: "a reset leaves the epoch that is remembered",
    by: "state",
    from: "table.forget(key);\n        return table.open(key);",
    to: "return table.open(key);",
  },
  {
    bug: "a lane that becomes due is not seen",
    by: "turns",
    from: "due.clear();\n      set.run",
    to: "set.run",
  },
  // The reference notices these by itself, without a case that was written for them.
  {
    bug: "another conversation's row joins",
    by: "model",
    from: " || row.conversation !== conversation",
    to: "",
  },
  { bug: "a repeated commit is an error", by: "model", from: 'turn?.state === "done" && ', to: "false && " },
  {
    bug: "a lane that is free stays unscheduled",
    by: "model",
    from: "due.settle(lane);\n    accept",
    to: "lanes.settle(lane.lane, lane.pool, null);\n    accept",
  },
  {
    bug: "a delivery goes before the head",
    by: "model",
    from: "drafts.slice(0, at).some(blocks)",
    to: "false",
  },
  {
    bug: "a released lane keeps its holder",
    by: "model",
    from: "pool = ?, holder = null where",
    to: "pool = ?, holder = holder where",
  },
  {
    bug: "a reset moves a running turn",
    by: "model",
    from: "insert into entries (lane, epoch, seq, turn, body) values (?, ?,",
    to: "insert into entries (lane, epoch, seq, turn, body) values (?1, (select epoch from sessions where key = ?1) + 0 * ?2,",
  },
];

type Open = (options: SqliteOptions) => Promise<SqliteStore>;

const cases = {
  inbox: inboxCases,
  turns: [...turnCases, ...turnEndCases],
  outbox: outboxCases,
  state: stateCases,
  model: [],
};

// Every third here, all of them in the long run: each costs a copy and an import of the driver.
const chosen = process.env["PARLEY_LONG"] === "1" ? mutants : mutants.filter((_, index) => index % 3 === 0);

for (const mutant of chosen) {
  test(`the ${mutant.by} part notices: ${mutant.bug}`, { timeout: 300_000 }, async () => {
    expect(await isNoticed(mutant)).toBe(true);
  });
}

for (const by of ["inbox", "turns", "outbox", "state", "model"] as const) {
  test(`the ${by} part finds nothing where no bug is planted`, { timeout: 300_000 }, async () => {
    expect(await isNoticed({ bug: "none", by, from: "select 1", to: "select 1" })).toBe(false);
  });
}

async function isNoticed(mutant: Mutant): Promise<boolean> {
  const dir = tempDir();
  try {
    const open = await planted(mutant, dir);
    for (const each of cases[mutant.by]) {
      const opened = await opening(open);
      if (await fails(() => runCase(each, opened))) return true;
    }
    return mutant.by === "model" && (await fails(() => checkModel(open)));
  } finally {
    rmSync(dir, { recursive: true });
  }
}

async function checkModel(open: Open): Promise<void> {
  const property = fc.asyncProperty(schedules, async (moves) => {
    const { handles, clock, close } = await opening(open);
    try {
      await runSchedule(moves, handles[0] as (typeof handles)[number], clock);
    } finally {
      await close();
    }
  });
  await fc.assert(property, { numRuns: 80, seed: 7, endOnFailure: true });
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

/** The driver as copied into `dir`, with the bug in it. */
async function planted({ bug, from, to }: Mutant, dir: string): Promise<Open> {
  cpSync(new URL("../src", import.meta.url), dir, { recursive: true });
  const folder = join(dir, "sqlite");
  let found = 0;
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".ts"))) {
    const source = readFileSync(join(folder, file), "utf8");
    if (source.includes(from)) found += 1;
    writeFileSync(
      join(folder, file),
      source
        .replaceAll(from, () => to)
        .replaceAll('"@parley/protocol"', JSON.stringify(import.meta.resolve("@parley/protocol"))),
    );
  }
  if (found === 0) throw new Error(`"${bug}" is planted nowhere: no source holds ${from}`);
  const { sqliteStore } = (await import(/* @vite-ignore */ join(folder, "open.ts"))) as {
    readonly sqliteStore: Open;
  };
  return sqliteStore;
}

async function opening(open: Open): Promise<OpenedStore> {
  const clock = testClock();
  const handle = await open(options(":memory:", { clock }));
  return { handles: [handle], clock, close: () => handle.close() };
}
