// Planted bugs: each one is a piece of the Redis driver's scripts made wrong, and the contract or the
// reference must notice it.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisOptions, RedisStore } from "../../src/index.ts";
import { testClock } from "../clock.ts";
import { runCase, storeCases } from "../contract.ts";
import { runSchedule, schedules } from "../model/schedule.ts";
import { tempDir } from "../open-sqlite.ts";
import type { OpenedStore } from "../subject.ts";
import { redisOptions } from "./open-redis.ts";

type Open = (options: RedisOptions) => Promise<RedisStore>;

const mutants: readonly (readonly [bug: string, from: string, to: string])[] = [
  ["tokens do not grow", "lane.token = most(lane.token + 1, now)\n  lane.holder", "lane.holder"],
  ["take ignores when a lane is due", "'-inf', now, 'LIMIT', 0, 1)[1]", "'-inf', '+inf', 'LIMIT', 0, 1)[1]"],
  ["a stop leaves the lease valid", "    lanes.revoke(lane)\n", ""],
  ["a release keeps the holder", "'holder', 'ask')\nend", "'ask')\nend"],
  ["only the id guards", "if row or not new.subject then", "if true then"],
  ["the fence ignores the token", "lane.token == lease.token and", "true and"],
  ["the fence ignores the holder", " and lane.holder == lease.holder", ""],
  ["a stranger's row joins", " or row.authority ~= kin.authority", ""],
  ["another conversation's row joins", " or row.conversation ~= kin.conversation", ""],
  ["absorb reads past a barrier", "return row.barrier or", "return"],
  ["a barrier is taken with others", "if not list[1] or rows.isAlone(list[1]) then", "if not list[1] then"],
  [
    "who is late counts as dead",
    "if not lane.before or lane.before.holder ~= lane.holder then",
    "if true then",
  ],
  ["a lost lease is never forgiven", "elseif turn.struck == arg.lease.token and", "elseif false and"],
  ["a split gives the first row back", "for n = 2, #turn.rows do", "for n = 1, #turn.rows do"],
  ["a row that was given back joins others", " or row.strikes ~= nil", ""],
  ["a row that was given back begins anew", "(head.strikes or 0) + 1", "1"],
  ["rows join a suspect", "turn.alone = true\n", ""],
  ["an attempt is not counted", "turn.attempt + 1", "turn.attempt"],
  ["a checkpoint keeps the attempts", "turn.attempt = 1\n", ""],
  ["any row wakes a parked turn", "turn.wake == 'any' and turn.conversation", "turn.conversation"],
  ["an answer before the park is missed", "#rows.answers(lane.name, arg.tickets) > 0 or", "false or"],
  [
    "a ticket of another wakes",
    "row.authority == turn.authority and not row.ticket",
    "row.authority == turn.authority",
  ],
  ["context is trimmed at the wrong end", "key.context(lane), 0, over - 1", "key.context(lane), -over, -1"],
  ["a repeated commit is refused", "turn and turn.state == 'done' and", "false and"],
  [
    "a repeated checkpoint adds its steps again",
    "if #arg.steps > 0 and arg.at + #arg.steps <= length then return length end",
    "arg.at = length",
  ],
  ["a committed lane forgets what waits", "due.settle(lane)\naccept", "accept"],
  [
    "a committed lane stays held",
    "lanes.setTurn(lane, false)\nlanes.free(lane)",
    "lanes.setTurn(lane, false)",
  ],
  ["an older edit wins", " or found.shown >= row.version", ""],
  ["an edit changes a started row", "found.state == 'claimed' or ", ""],
  ["debounce has no end", "least(now + afterMs, latest)", "now + afterMs"],
  ["nobody is woken", "  wake(pool, lane.name, at)\n", ""],
  [
    "a refused commit leaves its entries",
    "cells.check(arg.cells)\n\nlocal seq = sessions.append(lane.name, turn.epoch, turn.id, arg.entries)",
    "local seq = sessions.append(lane.name, turn.epoch, turn.id, arg.entries)\ncells.check(arg.cells)",
  ],
  [
    "entries carry the newest epoch",
    "sessions.append(lane.name, turn.epoch,",
    "sessions.append(lane.name, sessions.open(lane.name)[1],",
  ],
  ["a delivery is queued twice", "if call('EXISTS', key.delivery(new.id)) == 1 then return end", ""],
  ["a delivery overtakes the head", "if not place or blocked(place) then", "if not place then"],
  [
    "a part overtakes the one before",
    "if deliveries.isActive(draft.parts[n]) then refused",
    "if false then refused",
  ],
  ["a second resend is let through", "if risksDouble and part.flagged then", "if false then"],
  ["a resend is not marked", "part.flagged = part.flagged or risksDouble", ""],
  ["a resend follows a later part", "if resend and draft.parts[n].attempts > 0", "if false"],
  ["an attempt number is not checked", "if change.attempt ~= part.attempts + 1 then", "if false then"],
  ["a delivery is split twice", "if begun then refused", "if false then refused"],
  [
    "a sent preview does not hold its place",
    "if not delivery.preview or delivery.closed then return false end",
    "if true then return false end",
  ],
  [
    "a command's answer waits for every reply",
    "new.passes and behindHeadReply(new.lane) or delivery.seq",
    "delivery.seq",
  ],
  [
    "a command's answer splits a reply",
    "if each.cause == cause then place = score end",
    "place = place or score",
  ],
  ["a closing delivery goes to the back", "delivery.place = preview.place\n", ""],
  ["any term leads", "if not current or current == term then return end", "if true then return end"],
  [
    "what was begun is dropped",
    "    if part.state == 'queued' then\n      part.state, part.reason",
    "    if true then\n      part.state, part.reason",
  ],
  ["expected versions are ignored", "if write.expect and write.expect ~= version then", "if false then"],
  ["an expired cell is read", " or (expires and tonumber(expires) <= now)", ""],
  ["events are not unique", "if before then return tonumber(before) end", ""],
  [
    "sweep takes what is open",
    "slice(key.ended, before, rows.remove)",
    "slice(key.ended, before, rows.remove)\nslice(key.rows, '+inf', rows.remove)",
  ],
  ["a dismissed row stays listed", "call('ZREM', key.dead, id)\n    dismissed", "dismissed"],
  ["a stop reason is overwritten", "  if not turn.stop then\n", "  if true then\n"],
];

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await redisServer({ args: ["--appendfsync", "everysec"] });
  });
  afterAll(() => server.close());

  test.each(mutants)("it is noticed: %s", { timeout: 60_000 }, async (bug, from, to) => {
    expect(await isNoticed(bug, from, to)).toBe(true);
  });

  test("nothing is noticed where no bug is planted", { timeout: 60_000 }, async () => {
    expect(await isNoticed("none", "local K", "local K")).toBe(false);
  });

  async function isNoticed(bug: string, from: string, to: string): Promise<boolean> {
    const dir = tempDir();
    try {
      const open = await planted(dir, bug, from, to);
      for (const each of storeCases) {
        const opened = await opening(open);
        if (await fails(() => runCase(each, opened))) return true;
      }
      return await fails(() => checkModel(open));
    } finally {
      rmSync(dir, { recursive: true });
    }
  }

  async function opening(open: Open): Promise<OpenedStore> {
    const clock = testClock();
    const handle = await open(redisOptions(server, { clock }));
    return { handles: [handle], clock, close: () => handle.close() };
  }

  async function checkModel(open: Open): Promise<void> {
    const property = fc.asyncProperty(schedules, async (moves) => {
      const { handles, clock, close } = await opening(open);
      try {
        await runSchedule(moves, handles[0] as RedisStore, clock);
      } finally {
        await close();
      }
    });
    await fc.assert(property, { numRuns: 20, seed: 7, endOnFailure: true });
  }
});

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
async function planted(dir: string, bug: string, from: string, to: string): Promise<Open> {
  cpSync(new URL("../../src", import.meta.url), dir, { recursive: true });
  let found = 0;
  for (const name of readdirSync(join(dir, "redis"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  )) {
    const file = join(dir, "redis", name);
    const source = readFileSync(file, "utf8");
    if (source.includes(from)) found += 1;
    const linked = ["@parley/protocol", "ioredis"].reduce(
      (text, dependency) =>
        text.replaceAll(`"${dependency}"`, JSON.stringify(import.meta.resolve(dependency))),
      source.replaceAll(from, () => to),
    );
    writeFileSync(file, linked);
  }
  if (found === 0) throw new Error(`"${bug}" is planted nowhere: no source holds ${from}`);
  const { redisStore } = (await import(/* @vite-ignore */ join(dir, "redis", "open.ts"))) as {
    readonly redisStore: Open;
  };
  return redisStore;
}
